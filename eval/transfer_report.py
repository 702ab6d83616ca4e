"""The outcome of a transfer run: stable JSON for machines, a matrix and its intervals for people."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from memvalue.eval.report import Section, as_count, as_number, as_percent, as_plain, as_signed, plain_table

#: Names of the rows that are not a data set's, and of the best that any ranking can do.
LEFT_OUT, ALL, CEILING = "leave one set out", "all sets", "most that can be kept"

#: Marks in the matrix.
LOSS, OWN = "!", "°"


@dataclass
class TransferReport:
    """What a transfer run found. The fields are the keys of the JSON.

    Parameters
    ----------
    sets
        Set → ``spec, digest, cases, memories, needed, use`` (``fit`` or ``judge``) and ``own``: how its own
        row is cross-fitted.
    protocol
        ``budgets, fit_budgets, headline, model, refits, l2, folds, seed, resamples, regime, encoder,
        definition``.
    matrix
        Definition → row → set → ``{"kind", "fitted_on", "turns": {budget: {"mean", "ci": [low, high]}}}``.
        Rows are the sets that were fitted on, ``leave one set out`` and ``all sets``. Kinds: ``transfer``
        (fitted on other sets), ``in domain`` and ``cross-fitted`` (on other cases of the set, alone or with
        the other sets).
    rules
        One-line rule, and ``most that can be kept`` → set → budget → ``{"mean", "ci"}``.
    weights
        Definition → sets fitted on, joined by ``+`` → factor → ``{"mean", "ci", "informed"}``; ci is the
        central 95 % over refits on resampled cases.
    losses
        Where the tested set's best rule keeps more at a headline budget: ``definition, row, tested_on,
        budget, value, rule, rule_value, difference, ci``.
    changes
        Each further definition minus the main one: ``definition, row, tested_on, budget, difference, ci``.
    model
        Path of the exported file, or None.
    notes
        Sentences that a reader of the figures has to know.
    """

    sets: dict[str, dict[str, Any]]
    protocol: dict[str, Any]
    matrix: dict[str, dict[str, dict[str, dict[str, Any]]]] = field(default_factory=dict)
    rules: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    weights: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    losses: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values in a fixed order; what is undefined is None, never NaN."""
        clean = as_plain(asdict(self))
        assert isinstance(clean, dict)
        return clean

    def to_json(self) -> str:
        """The stable JSON, two spaces deep, with a final newline."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def sections(self) -> list[Section]:
        """The matrix, the intervals of each tested set, and the weights."""
        found = [self._matrix(), *(self._tested(name) for name in self.sets), self._weights()]
        return [section for section in found if section.rows]

    def text(self) -> str:
        """Everything as plain text."""
        blocks = [self._heading(), *(plain_table(section) for section in self.sections())]
        blocks.append("\n".join(self._footer()))
        return "\n\n".join(blocks) + "\n"

    def print(self, out: TextIO) -> None:
        """Write the text to ``out``."""
        out.write(self.text())

    @property
    def _keys(self) -> list[str]:
        return [f"{b:g}" for b in self.protocol["budgets"]]

    def _heading(self) -> str:
        p = self.protocol
        sets = "; ".join(
            f"{name} {as_count(s['cases'], 'case')}, {as_count(s['memories'], 'memory')}"
            + (" (judged only)" if s["use"] == "judge" else "")
            for name, s in self.sets.items()
        )
        return (
            f"{sets}\ndefinition {p['definition']}, {p['regime']}, encoder {p['encoder'] or 'none'}, "
            f"{p['model']}; each set counts the same in a fit"
        )

    def _matrix(self) -> Section:
        header = ["fitted on"] + [
            f"{name if i == 0 else ''}\n{as_percent(key)}"
            for name in self.sets
            for i, key in enumerate(self._keys)
        ]
        blank = [""] * (len(header) - 1)
        lost = {(x["definition"], x["row"], x["tested_on"], x["budget"]) for x in self.losses}
        rows = []
        for definition, matrix in self.matrix.items():
            if definition != self.protocol["definition"]:
                rows.append([f"definition {definition}:", *blank])
            for label, cells in matrix.items():
                row = [label]
                for name in self.sets:
                    cell = cells.get(name)
                    for key in self._keys:
                        if cell is None:
                            row.append("–  ")
                            continue
                        loss = LOSS if (definition, label, name, key) in lost else " "
                        own = " " if cell["kind"] == "transfer" else OWN
                        row.append(as_number(cell["turns"][key]["mean"]) + own + loss)
                rows.append(row)
        rows.append(["rules:", *blank])
        for rule, found in self.rules.items():
            row = [_rule(rule)]
            for name in self.sets:
                row += [as_number(found.get(name, {}).get(key, {}).get("mean")) + "  " for key in self._keys]
            rows.append(row)
        return Section("Needed memories kept, share of turns kept; columns: tested on", header, rows)

    def _tested(self, name: str) -> Section:
        """One set's column with its intervals."""
        rows = []
        main = self.protocol["definition"]
        for definition, matrix in self.matrix.items():
            prefix = "" if definition == main else f"{definition}: "
            for label, cells in matrix.items():
                if name in cells:
                    turns = cells[name]["turns"]
                    kind = "" if cells[name]["kind"] == "transfer" else f" ({cells[name]['kind']})"
                    rows.append([f"{prefix}{label}{kind}", *(_with_interval(turns[k]) for k in self._keys)])
        for rule, found in self.rules.items():
            if name in found:
                rows.append([_rule(rule), *(_with_interval(found[name][k]) for k in self._keys)])
        title = f"Tested on {name}, 95 % BCa over its {as_count(self.sets[name]['cases'], 'case')}"
        return Section(title, ["fitted on", *map(as_percent, self._keys)], rows)

    def _weights(self) -> Section:
        fits = self.weights.get(self.protocol["definition"], {})
        factors = list(next(iter(fits.values()), {}))
        rows = [
            [
                factor,
                *(
                    as_number(fit[factor]["mean"]) + (" " if fit[factor]["informed"] else "p")
                    for fit in fits.values()
                ),
            ]
            for factor in factors
        ]
        header = ["factor", *(label.replace("+", "+\n") for label in fits)]
        return Section("Weights by the sets fitted on (p: not informed, the prior's)", header, rows)

    def _footer(self) -> list[str]:
        lines = [
            f"{OWN} fitted on other cases of the tested set ({self._own()}), the rest on other sets alone"
        ]
        heads = " or ".join(as_percent(f"{b:g}") for b in self.protocol["headline"])
        if heads:
            lines.append(
                f"{LOSS} at {heads}, the best one-line rule of the tested set keeps more"
                if self.losses
                else f"no row falls behind the best one-line rule of a tested set at {heads}"
            )
        for x in self.losses:
            low, high = (as_signed(edge) for edge in x["ci"])
            lines.append(
                f"loss: {x['definition']}, {x['row']}, on {x['tested_on']} at {as_percent(x['budget'])}: "
                f"{as_number(x['value'])} against {as_number(x['rule_value'])} by {_rule(x['rule'])} "
                f"({as_signed(x['difference'])} [{low}, {high}])"
            )
        heads_keys = {f"{b:g}" for b in self.protocol["headline"]}
        for x in self.changes:
            fell = x["ci"][1] is not None and x["ci"][1] < 0
            if fell and x["budget"] in heads_keys and x["row"] in self.sets:
                low, high = (as_signed(edge) for edge in x["ci"])
                lines.append(
                    f"definition {x['definition']} fitted on {x['row']} and tested on {x['tested_on']} at "
                    f"{as_percent(x['budget'])} keeps {as_signed(x['difference'])} [{low}, {high}] against "
                    f"{self.protocol['definition']}"
                )
        return lines + list(self.notes)

    def _own(self) -> str:
        ways = dict.fromkeys(s["own"] for s in self.sets.values() if s["own"])
        folds = self.protocol["folds"]
        return ", ".join([*ways, *([f"{folds} folds over all sets"] if folds else [])]) or "none here"


def _rule(name: str) -> str:
    return "role (a person's turn at random)" if name == "role" else name


def _with_interval(cell: dict[str, Any]) -> str:
    low, high = cell["ci"]
    if low is None or low != low:
        return as_number(cell["mean"]) + " " * 15
    return f"{as_number(cell['mean'])} [{as_number(low)}, {as_number(high)}]"
