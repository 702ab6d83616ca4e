"""Bring a model card's figures up to date from the model's own metadata.

    python benchmarks/card.py models/default.onnx models/default.md

What stands between the two marks is replaced; the prose around it is left alone.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from memvalue.features.names import FACTORS
from memvalue.serve import ValueModel

BEGIN, END = "<!-- from the model: begin -->", "<!-- from the model: end -->"

#: Shares shown of a model that was judged at many.
SHOWN = ("0.05", "0.1", "0.2", "0.3")


def block(model: ValueModel) -> str:
    """The card's figures as Markdown."""
    m = model.metadata
    d, data = m["definition"], m["data"]
    lines = [
        "| | |",
        "|---|---|",
        f"| content digest | `{model.digest}` |",
        f"| factors | definition `{d['name']}`, version `{m['definition_version']}`, regime {d['regime']}, "
        f"encoder {d['encoder']} |",
        f"| fitted for | {', '.join(percent(b) for b in m['budgets'])} of the turns kept |",
        *(
            f"| fitted on | {row['cases']:,} cases, {row['memories']:,} memories of `{row['spec']}`, digest "
            f"`{row['digest'][:16]}` |"
            for row in data.get("sets", {"": data}).values()
        ),
        "",
        *weights(m),
        "",
        f"Figures are of {m['metrics']['of']}.",
        "",
        *figures(m["metrics"]),
    ]
    return "\n".join(lines)


def weights(m: dict[str, Any]) -> list[str]:
    """Weight, interval, and where several sets were fitted on, each one's own weights."""
    sets = m["data"].get("sets", {})
    alone = {name: row["weights_alone"] for name, row in sets.items() if row.get("weights_alone")}
    lines = [
        "| factor | weight | interval over fits |" + "".join(f" {n} alone |" for n in alone),
        "|---|---|---|" + "---|" * len(alone),
    ]
    for i, factor in enumerate(FACTORS):
        w = m["weights"][factor]
        low, high = w["ci"] or (None, None)
        spread = "–" if low is None else f"{low:.2f} – {high:.2f}"
        note = "" if w["informed"] else " (not informed: the prior's)"
        lines.append(
            f"| {factor} | {w['weight']:.3f}{note} | {spread} |"
            + "".join(f" {row[i]:.2f} |" for row in alone.values())
        )
    if m["machine_offset"]:
        lines.append(f"| offset of an assistant's turn | {m['machine_offset']:+.3f} | |")
    return lines


def figures(metrics: dict[str, Any]) -> list[str]:
    """A row a section, a column a budget."""
    sections = {name: cells for name, cells in metrics.items() if isinstance(cells, dict)}
    keys = [k for k in SHOWN if any(k in cells for cells in sections.values())]
    lines = [
        "| needed memories kept |" + "".join(f" {percent(k)} |" for k in keys),
        "|---|" + "---|" * len(keys),
    ]
    for name, cells in sections.items():
        row = "".join(f" {interval(cells[k])} |" if k in cells else " – |" for k in keys)
        lines.append(f"| {name.replace('_', '-')} |{row}")
    return lines


def interval(cell: list[float | None]) -> str:
    """Mean, and 95 % BCa interval over cases where there is one."""
    mean, *ci = cell
    return f"{mean:.3f} [{ci[0]:.3f}, {ci[1]:.3f}]" if ci and ci[0] is not None else f"{mean:.3f}"


def percent(budget: float | str) -> str:
    """0.05 as 5 %."""
    return f"{100 * float(budget):g} %"


def main() -> None:
    """Replace the block of the card."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("card", type=Path)
    a = parser.parse_args()
    text = a.card.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        parser.error(f"{a.card} needs the lines {BEGIN!r} and {END!r}")
    partial = a.card.with_name(a.card.name + ".partial")
    partial.write_text(f"{before}{BEGIN}\n{block(ValueModel.load(a.model))}\n{END}{after}", "utf-8")
    os.replace(partial, a.card)


if __name__ == "__main__":
    main()
