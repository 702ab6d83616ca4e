"""``memvalue audit``: what of a store's dump would stay, be compressed and go, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import Debug, Json, Model, Now, moment
from memvalue.cli.output import print_json, print_text


def audit(
    model: Model,
    memories: Annotated[
        Path, typer.Option("--memories", metavar="FILE.jsonl", help="The dump: id, text, role, time a line.")
    ],
    keep: Annotated[
        str, typer.Option("--keep", metavar="BUDGET", help="10%, 500, 10%tokens or 20000tokens.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="Also write the plan, one memory a line.")
    ] = None,
    grace_days: Annotated[
        float, typer.Option("--grace-days", min=0.0, help="Keep what is younger than this.")
    ] = 0.0,
    now: Now = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what would be kept within a budget, with reasons, copies and junk. Nothing is changed or deleted.

    Needs the base install only.
    """
    with told(debug):
        from memvalue.serve import ValueModel
        from memvalue.serve.audit import audit as run
        from memvalue.serve.budget import Budget
        from memvalue.serve.memories import read_memories

        budget = Budget.parse(keep)
        loaded = ValueModel.load(model)
        found = run(loaded, list(read_memories(memories)), budget, now=moment(now), grace_days=grace_days)
        if out is not None:
            found.write(out)
        summary = found.summary() | {"model": loaded.digest, "out": None if out is None else str(out)}
    if json:
        print_json(summary)
    else:
        print_text("\n".join(_lines(summary)))


def _lines(summary: dict[str, Any]) -> list[str]:
    plan, n, tokens = summary["plan"], summary["memories"], summary["tokens"]
    lines = [f"{n:,} memories, {tokens:,} tokens; to keep: {plan['budget']}", ""]
    for name in ("keep", "compress", "forget"):
        part = plan[name]
        lines.append(f"  {name:<12}{_part(part, n, tokens)}")
        lines += [f"    {reason:<32}{count:>10,}" for reason, count in part["reasons"].items()]
    if plan["over_budget"]:
        lines.append("  pinned and recent memories alone exceed the budget; they are kept all the same")
    lines += [
        "",
        "  depth       " + ", ".join(f"{name} {count:,}" for name, count in summary["depth"].items()),
    ]
    for title in ("duplicates", "junk"):
        lines.append("")
        lines += [
            f"  {title[:-1] if title == 'duplicates' else title}: {name:<14}{_part(part, n, tokens)}"
            for name, part in summary[title].items()
        ]
    if summary["near_misses"] and plan["cut"] is not None:
        lines += ["", "  just below the cut"]
        lines += [
            f"    {row['id']:<32} value {row['value']:.4f}, {row['margin']:+.4f}"
            for row in summary["near_misses"][:5]
        ]
    if summary["out"]:
        lines += ["", f"  plan → {summary['out']}"]
    return lines


def _part(part: dict[str, Any], n: int, tokens: int) -> str:
    count, cost = part["memories"], part["tokens"]
    return f"{count:>10,} memories ({count / n:6.1%})  {cost:>12,} tokens ({cost / tokens:6.1%})"
