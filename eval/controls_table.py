"""The tables of the controls and of identifiability, from the report's plain data."""

from __future__ import annotations

from typing import Any

from memvalue.eval.report import Section, _column, as_number, as_percent, as_signed

#: Budget at which rows are compared with the reference in the table; the others are in the JSON.
COMPARED = "0.1"


def controls_tables(controls: dict[str, Any]) -> list[Section]:
    """A table a section; sections without a row are told of in the notes alone.

    Columns: the budgets in turns; the same among the simulated users' own turns where sources are known; the
    difference from the reference row at 10 %, with its interval.
    """
    if not controls:
        return []
    budgets: list[str] = controls["budgets"]
    tables = []
    for key, section in controls["sections"].items():
        rows = section["rows"]
        inner = any(row["source_controlled"] for row in rows.values())
        apart = COMPARED in budgets and any(row["difference"] for row in rows.values())
        header = ["policy", *(_column(b, False) for b in budgets)]
        if inner:
            header += [
                f"among simulated\n{as_percent(b)}" if b == budgets[0] else as_percent(b) for b in budgets
            ]
        if apart:
            header.append(f"minus {controls['reference']}\nat {as_percent(COMPARED)}")
        cells = []
        for name, row in rows.items():
            turns = [row["turns"].get(b, {}) for b in budgets]
            # Draws differ between splits, so the deviation over these is the curve's spread.
            ends = [f"±{as_number(t.get('std'))}" if key == "learning_curve" else "" for t in turns]
            line = [name, *(as_number(t.get("mean")) + end + " " for t, end in zip(turns, ends, strict=True))]
            if inner:
                line += [as_number(row["source_controlled"].get(b, {}).get("mean")) for b in budgets]
            if apart:
                gap = row["difference"].get(COMPARED)
                line.append(
                    f"{as_signed(gap['mean'])} [{as_signed(gap['ci'][0])}, {as_signed(gap['ci'][1])}]"
                    if gap
                    else "–"
                )
            cells.append(line)
        tables.append(Section(f"Controls. {section['title']}", header, cells))
    return tables


def controls_notes(controls: dict[str, Any], identifiability: dict[str, Any]) -> list[str]:
    """What the tables cannot say: facts of each section, and why rows are missing."""
    notes = []
    for key, section in controls.get("sections", {}).items():
        told = [*_facts(key, section["facts"]), *section["notes"]]
        notes += [f"controls, {key.replace('_', ' ')}: {line}" for line in told]
    if "missing" in identifiability:
        notes.append(f"identifiability left out: {identifiability['missing']}")
    elif identifiability:
        notes.append(
            "plausible: weights at which, all others refitted, retention is within 1.96 standard errors of "
            "the best, in sample; used: refits on resampled cases with a weight above .02; positive: refits "
            "without the sign constraint in which the weight is above 0"
        )
    return notes


def _facts(key: str, facts: dict[str, Any]) -> list[str]:
    lines = []
    for name, auc in facts.get("source_auc", {}).items():
        lines.append(f"{name} tells the source of held-out persons' turns with an AUC of {as_number(auc)}")
    if key == "overlap" and "shared_sessions" in facts:
        lines.append(
            f"{facts['shared_sessions']:,} of {facts['sessions']:,} sessions occur in two cases or more; "
            f"{100 * facts['test_sessions_in_train']:.0f} % of a test case's sessions and "
            f"{100 * facts['test_needed_sessions_in_train']:.0f} % of its needed ones are in training; "
            f"{100 * facts['test_cases_touched']:.0f} % of test cases have such a needed session"
        )
        if "purged_training_cases" in facts:
            lines.append(
                f"purging leaves {facts['purged_training_cases']:.0f} training cases; the row beside it "
                "has as few, at random"
            )
        for name, found in facts.items():
            if name.endswith("_splits"):
                lines.append(
                    f"{name.removesuffix('_splits')} splits have other test halves, with "
                    f"{100 * found['test_needed_sessions_in_train']:.0f} % of needed sessions in training"
                )
    return lines


def identifiability_table(found: dict[str, Any]) -> Section | None:
    """A row a factor: its weight, how far the data pin it down, and what to know about it."""
    if not found or "missing" in found:
        return None
    rows = []
    for name, f in found["factors"].items():
        rows.append(
            [
                name,
                as_number(f["weight"]),
                _range(f["plausible"]),
                _range(f["bootstrap"]),
                _share(f["used"]),
                _share(f["positive"]),
                ", ".join(f["flags"]),
            ]
        )
    return Section(
        f"Identifiability of the weights ({found['cases']} cases, {found['refits']} refits)",
        ["factor", "weight", "plausible", "bootstrap 95 %", "used", "positive", "flags"],
        rows,
    )


def _range(pair: list[float] | None) -> str:
    return f"[{as_number(pair[0])}, {as_number(pair[1])}]" if pair else "–"


def _share(value: float | None) -> str:
    return "–" if value is None else as_percent(f"{value:.2f}")
