"""The outcome of an evaluation: stable JSON for machines, one table for people."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

#: Places of a figure in JSON: far below any sampling error, and the same on every machine.
PLACES = 6

#: Budgets at which question types are shown: the smallest headline that has signal for most, and the paper's.
TYPE_BUDGETS = ("0.1", "0.3")

#: Columns of the first table that show the deviation over splits: the headlines and the paper's budget.
SPREAD_BUDGETS = ("0.05", "0.1", "0.3")

#: Sections of a policy's record that share the columns of the turn budgets: key → title.
_TURN_SECTIONS = {
    "turns": "Needed memories kept, share of turns kept (mean ± std over splits)",
    "micro": "The same, all needed memories pooled",
    "all_kept": "Probability that every needed memory is kept",
    "source_controlled": "Source-controlled: only the simulated users' own turns are ranked and counted",
    "live": "Needed memories that still hold",
    "obsolete": "Memories that have become false (lower is better)",
    "announces": "Memories that announce a deletion or an update",
}


@dataclass(frozen=True, slots=True)
class Section:
    """One table: a title, column names, rows of cells, and which columns are headlines."""

    title: str
    header: list[str]
    rows: list[list[str]]
    headline: frozenset[int] = frozenset()


@dataclass
class Report:
    """What an evaluation found. The fields are the keys of the JSON.

    Parameters
    ----------
    data
        ``spec, digest, cases, memories, needed, types``.
    protocol
        ``splits, budgets, token_budgets, headline, seed, kind, main, resamples, regime, encoder,
        definition``.
    policies
        Name → ``regime`` and the sections ``turns, tokens, by_type, source_controlled, all_kept, live,
        obsolete, announces, micro``. A section maps a budget (``"0.3"``) to
        ``{"mean", "std", "ci": [low, high]}``;
        ``by_type`` has one more level, the question type. A section that the data cannot fill is ``{}``.
    comparisons
        Rows ``main, policy, measure, budget, difference (main − policy), ci, p, p_holm, significant``.
    weights
        Factor → ``{"mean", "ci", "informed"}``; empty when no policy weighs the factors.
    model
        Path of the model that belongs to the report, or None.
    notes
        Sentences that a reader of the figures has to know.
    forgetting
        As :class:`~memvalue.eval.forgetting.Forgetting` has it: ``kept`` (order → budget → share),
        ``reliability`` (Brier score, calibration error, diagram), the fitted ``risk``, its ``terms`` and
        ``beta``; ``{}`` where it was not judged.
    controls
        What :func:`~memvalue.eval.controls_job.controls_job` gives, ``{}`` when not asked for.
    identifiability
        What :func:`~memvalue.train.identify.identify` gives, or ``{"missing": why}``; ``{}`` when not asked
        for.
    """

    data: dict[str, Any]
    protocol: dict[str, Any]
    policies: dict[str, dict[str, Any]]
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    weights: dict[str, dict[str, Any]] = field(default_factory=dict)
    model: str | None = None
    notes: list[str] = field(default_factory=list)
    forgetting: dict[str, Any] = field(default_factory=dict)
    controls: dict[str, Any] = field(default_factory=dict)
    identifiability: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values in a fixed order; what is undefined is None, never NaN."""
        clean = as_plain(asdict(self))
        assert isinstance(clean, dict)
        return clean

    def to_json(self) -> str:
        """The stable JSON, two spaces deep, with a final newline."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            When ``text`` is not such a report.
        """
        try:
            return cls(**json.loads(text))
        except (TypeError, json.JSONDecodeError) as problem:
            raise ValueError(f"this is not a report of an evaluation: {problem}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON; a reader sees the old file or the whole new one."""
        target = Path(path)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(self.to_json())
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def sections(self) -> list[Section]:
        """Every table, as text. ``*`` marks a difference from the main policy (Holm, p < 0.05)."""
        from memvalue.eval.controls_table import controls_tables, identifiability_table

        marks = {(c["measure"], c["policy"], c["budget"]) for c in self.comparisons if c["significant"]}
        turns = [f"{b:g}" for b in self.protocol["budgets"]]
        tokens = [f"{b:g}" for b in self.protocol["token_budgets"]]
        found = [
            self._section("turns", _TURN_SECTIONS["turns"], turns, marks),
            self._section("tokens", "Needed memories kept, share of tokens kept", tokens, marks),
            *(self._section(k, t, turns, marks) for k, t in _TURN_SECTIONS.items() if k != "turns"),
            *(self._types(b) for b in TYPE_BUDGETS if b in turns),
            self._gaps(),
            self._weights(),
            self._forgetting(),
            identifiability_table(self.identifiability),
            *controls_tables(self.controls),
        ]
        return [s for s in found if s is not None and s.rows]

    def _section(
        self, key: str, title: str, budgets: list[str], marks: set[tuple[str, str, str]]
    ) -> Section | None:
        rows = []
        for name, record in self.policies.items():
            cells = record.get(key) or {}
            if not any(b in cells for b in budgets):
                continue
            row = [self._label(name)]
            for b in budgets:
                cell = cells.get(b, {})
                text = as_number(cell.get("mean"))
                if key == "turns" and b in SPREAD_BUDGETS and _known(cell.get("std")):
                    text += f"±{as_number(cell['std'])}"
                row.append(text + ("*" if (key, name, b) in marks else " "))
            rows.append(row)
        heads = {f"{b:g}" for b in self.protocol.get("headline", ())}
        headline = frozenset(i for i, b in enumerate(budgets, 1) if b in heads)
        header = ["policy", *(_column(b, i in headline) for i, b in enumerate(budgets, 1))]
        return Section(title, header, rows, headline)

    def _label(self, name: str) -> str:
        if name == self.protocol.get("main"):
            return f"{name} (main)"
        return f"{name} (oracle)" if self.policies[name].get("regime") == "oracle" else name

    def _types(self, budget: str) -> Section | None:
        types = sorted({t for record in self.policies.values() for t in record.get("by_type") or {}})
        if not types:
            return None
        counts = self.data.get("types", {})
        rows = [
            [
                self._label(name),
                *(as_number(record.get("by_type", {}).get(t, {}).get(budget, {}).get("mean")) for t in types),
            ]
            for name, record in self.policies.items()
        ]
        # One word a line, so that six types fit beside each other.
        names = (f"{(t or 'none').replace('-', '- ')} ({counts.get(t, '?')})" for t in types)
        header = ["policy", *("\n".join(name.split()) for name in names)]
        return Section(f"By question type (cases), {as_percent(budget)} of turns kept", header, rows)

    def _gaps(self) -> Section | None:
        """The comparisons by turns at the headline budgets; the others are in the JSON, and starred."""
        heads = [f"{b:g}" for b in self.protocol.get("headline", ())]
        at = {(c["policy"], c["budget"]): c for c in self.comparisons if c["measure"] == "turns"}
        if not heads:
            return None
        rows = []
        for name in dict.fromkeys(policy for policy, _ in at):
            row = [name]
            for b in heads:
                c = at[name, b]
                low, high = (as_signed(edge) for edge in c["ci"])
                star = "*" if c["significant"] else " "
                row += [f"{as_signed(c['difference'])} [{low}, {high}]", _p(c["p_holm"]) + star]
            rows.append(row)
        header = ["policy", *(name for b in heads for name in (f"{as_percent(b)} of turns", "Holm p"))]
        title = f"{self.protocol.get('main')} minus each other policy, over held-out cases (95 % BCa)"
        return Section(title, header, rows)

    def _weights(self) -> Section | None:
        rows = [
            [
                factor,
                as_number(w["mean"]),
                f"[{as_number(w['ci'][0])}, {as_number(w['ci'][1])}]",
                "yes" if w["informed"] else "no: prior",
            ]
            for factor, w in self.weights.items()
        ]
        return Section(
            "Weights over the splits (central 95 %)", ["factor", "mean", "interval", "informed"], rows
        )

    def _forgetting(self) -> Section | None:
        """Orders of forgetting, and how far the risk can be believed."""
        if not self.forgetting:
            return None
        kept, found = self.forgetting["kept"], self.forgetting["reliability"]
        budgets = list(next(iter(kept.values())))
        return Section(
            "Needed memories left by each order of forgetting, share of turns kept (forget risk: Brier "
            f"{as_number(found['brier'])}, skill {as_number(found['skill'])}, calibration error "
            f"{found['ece']:.4f})",
            ["order", *map(as_percent, budgets)],
            [[name, *(as_number(row[b]) for b in budgets)] for name, row in kept.items()],
        )

    def heading(self) -> str:
        """One line: which data, how many splits, how the factors were made."""
        d, p = self.data, self.protocol
        return (
            f"{d['spec']}: {as_count(d['cases'], 'case')}, {as_count(d['memories'], 'memory')}; "
            f"{as_count(p['splits'], 'split')} ({p.get('kind', 'paper')}), {p.get('regime', 'batch')}, "
            f"encoder {p.get('encoder') or 'none'}"
        )

    def footer(self) -> list[str]:
        """What the marks mean, then the notes."""
        legend = []
        if self.protocol.get("headline"):
            legend.append("[…] headline budgets: there the benchmark measures value more than style")
        if self.comparisons:
            legend.append(
                f"* differs from {self.protocol.get('main')}: paired BCa bootstrap over held-out cases, "
                "Holm-corrected within the column, p < 0.05"
            )
        from memvalue.eval.controls_table import controls_notes

        return legend + list(self.notes) + controls_notes(self.controls, self.identifiability)

    def text(self) -> str:
        """Everything as plain text."""
        blocks = [self.heading()]
        blocks += [plain_table(s) for s in self.sections()]
        foot = self.footer()
        if foot:
            blocks.append("\n".join(foot))
        return "\n\n".join(blocks) + "\n"

    def print(self, out: TextIO) -> None:
        """Write the tables to ``out``, from the same rows either way.

        Coloured on a terminal that is wide enough and when rich is there, else plain: a cut-off figure is
        worse than a wrapped line.
        """
        text = self.text()
        if not out.isatty() or importlib.util.find_spec("rich") is None:
            out.write(text)
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(file=out)
        # Borders and padding take three columns a cell where the plain table takes two.
        if console.width < max((sum(_widths(s)) + 3 * len(s.header) + 1 for s in self.sections()), default=0):
            out.write(text)
            return
        console.print(Text(self.heading(), style="bold"))
        main = self._label(str(self.protocol.get("main")))
        for section in self.sections():
            table = Table(title=Text(section.title), title_justify="left")
            for i, name in enumerate(section.header):
                style = "bold" if i in section.headline else ""
                table.add_column(Text(name), justify="right" if i else "left", style=style, no_wrap=True)
            for row in section.rows:
                table.add_row(*(Text(cell) for cell in row), style="green" if row[0] == main else "")
            console.print(table)
        for line in self.footer():
            console.print(Text(line, style="dim"))


def as_plain(value: Any) -> Any:
    """JSON values: numpy scalars become Python's, NaN and infinities None, floats are rounded."""
    if isinstance(value, dict):
        return {str(k): as_plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return round(value, PLACES) if math.isfinite(value) else None
    return value


def _known(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def as_number(value: Any) -> str:
    return f"{value:.3f}" if _known(value) else "–"


def as_signed(value: Any) -> str:
    return f"{value:+.3f}" if _known(value) else "–"


def _p(value: Any) -> str:
    if not _known(value):
        return "–"
    return f"{value:.4f}" if value >= 0.00005 else "<0.0001"


def as_percent(budget: str) -> str:
    return f"{100 * float(budget):g} %"


def _column(budget: str, headline: bool) -> str:
    """A column's name, as wide as a figure with its mark."""
    text = as_percent(budget)
    return f"[{text}]" if headline else text + " "


def as_count(n: int, noun: str) -> str:
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{n:,} {noun if n == 1 else many}"


def _widths(section: Section) -> list[int]:
    cells = [name.split("\n") for name in section.header]
    return [
        max(len(text) for text in (*lines, *(row[i] for row in section.rows)))
        for i, lines in enumerate(cells)
    ]


def plain_table(section: Section) -> str:
    widths = _widths(section)

    def line(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        return "  ".join(cells).rstrip()

    columns = [name.split("\n") for name in section.header]
    height = max(map(len, columns))
    heads = zip(*([""] * (height - len(c)) + c for c in columns), strict=True)
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([section.title, *map(line, heads), rule, *map(line, section.rows)])
