"""The outcome of ``memvalue simulate``: stable JSON for machines, tables for people."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TextIO

from memvalue.eval.rankers import MAIN
from memvalue.eval.replay import MEASURES
from memvalue.eval.report import Section, as_count, as_plain, plain_table

_TITLES = {
    "correct": "correct",
    "rare_correct": "rare\ncorrect",
    "wrong_after_switch": "wrong after\na switch",
    "named_list_coverage": "named list\ncovers",
}
_CLOCKS = {
    "long": "long clock (ACT-R activation)", "short": "short clock (.995 an hour)",
    "edit": "last edit", "count": "count of uses",
}  # fmt: skip


@dataclass
class SimulateReport:
    """What a simulation found.

    Parameters
    ----------
    world, seeds
        What was asked for.
    worlds
        One document a world: ``world, seeds, first_seed, pages, needs, digest, policies, clocks, careless,
        comparisons, directions``. ``policies`` has name → measure → ``{"mean", "std"}`` over seeds.
    notes
        Sentences that a reader of the figures has to know.
    """

    world: str
    seeds: int
    worlds: list[dict[str, Any]]
    notes: list[str] = field(
        default_factory=lambda: [
            "Means ± standard deviations over seeds, in per cent. * differs from "
            f"{MAIN} by the paired bootstrap over seeds, Holm's correction at .05 over the table.",
            "Correct: the needed page is among the four answered from and no page that it replaced is above "
            "it. Nothing is judged in the first month.",
            "Sizes and rates of these worlds are ours; the article's tables are lost. Directions compare.",
        ]
    )

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the document of the world itself, or of both under ``worlds``."""
        whole: dict[str, Any]
        if len(self.worlds) == 1:
            whole = {**self.worlds[0], "notes": self.notes}
        else:
            whole = {"world": self.world, "seeds": self.seeds, "worlds": self.worlds, "notes": self.notes}
        clean = as_plain(whole)
        assert isinstance(clean, dict)
        return clean

    def to_json(self) -> str:
        """The stable JSON, two spaces deep, with a final newline."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def sections(self) -> list[Section]:
        """Policies, clocks, careless graders and findings of each world."""
        found = []
        for document in self.worlds:
            found += [_policies(document), _clocks(document), _careless(document), _directions(document)]
        return [section for section in found if section.rows]

    def text(self) -> str:
        """Everything as plain text."""
        differing = [
            f"{document['world']}: {d['finding']}: {_verdict(d)}. {d['note']}"
            for document in self.worlds
            for d in document["directions"]
            if not d["holds"]
        ]
        says = {n: row["says"] for document in self.worlds for n, row in document["policies"].items()}
        blocks = [plain_table(section) for section in self.sections()]
        ahead = [line for document in self.worlds for line in _ahead(document)]
        return (
            "\n\n".join(
                [
                    *blocks,
                    "\n".join(
                        [*self.notes, *(f"{n}: {text}." for n, text in says.items()), *ahead, *differing]
                    ),
                ]
            )
            + "\n"
        )

    def print(self, out: TextIO) -> None:
        """Write the text to ``out``."""
        out.write(self.text())


def _ahead(document: dict[str, Any]) -> list[str]:
    """Who beats the product's policy, and by how many points."""
    found = []
    for measure in MEASURES:
        sign = 1 if measure == "wrong_after_switch" else -1
        rows = [
            f"{c['policy']} by {100 * abs(c['difference']):.1f}"
            for c in document["comparisons"]
            if c["measure"] == measure and c["significant"] and sign * c["difference"] > 0
        ]
        if rows:
            title = _TITLES[measure].replace("\n", " ")
            found.append(f"{document['world']}: ahead of {MAIN} in {title!r}: {', '.join(rows)} points.")
    return found


def _verdict(direction: dict[str, Any]) -> str:
    return "in the mean, but not beyond chance" if direction["mean_agrees"] else "not so here"


def _policies(document: dict[str, Any]) -> Section:
    marked = {(c["policy"], c["measure"]) for c in document["comparisons"] if c["significant"]}
    needs = document["needs"]["mean"]
    title = (
        f"{document['world']}: {as_count(document['pages'], 'page')}, {round(needs):,} needs, "
        f"{as_count(document['seeds'], 'seed')}"
    )
    rows = [
        [name, *(_cell(row[m]) + ("*" if (name, m) in marked else " ") for m in MEASURES)]
        for name, row in document["policies"].items()
    ]
    return Section(title, ["policy", *(_TITLES[m] for m in MEASURES)], rows)


def _clocks(document: dict[str, Any]) -> Section:
    rows = [[_CLOCKS[view], _cell(found)] for view, found in document["clocks"].items()]
    return Section(f"{document['world']}: named lists of one log ({MAIN}'s)", ["by", "covers"], rows)


def _careless(document: dict[str, Any]) -> Section:
    measures = MEASURES[:3]
    rows = [[name, *(_cell(row[m]) for m in measures)] for name, row in document["careless"].items()]
    return Section(
        f"{document['world']}: one correct answer in ten graded harmful by mistake",
        ["policy", *(_TITLES[m] for m in measures)],
        rows,
    )


def _directions(document: dict[str, Any]) -> Section:
    rows = []
    for d in document["directions"]:
        low, high = d["ci"]
        span = "–" if low != low else f"[{100 * low:+.1f}, {100 * high:+.1f}]"
        pair = f"{100 * d['a']:.1f}" + ("" if d["b"] is None else f" : {100 * d['b']:.1f}")
        rows.append(
            [
                d["finding"],
                "yes" if d["holds"] else "unsure" if d["mean_agrees"] else "NO",
                pair,
                f"{100 * d['difference']:+.1f}",
                span,
            ]
        )
    return Section(
        f"{document['world']}: the article's findings, and ours",
        ["finding", "holds", "figures", "difference", "95 %"],
        rows,
    )


def _cell(found: dict[str, float]) -> str:
    mean, std = found["mean"], found["std"]
    if mean != mean:
        return "–"
    return f"{100 * mean:.1f}" + ("" if std != std else f" ± {100 * std:.1f}")
