"""Published memory policies beside ours on real conversations, blind, at the same budgets.

    python benchmarks/published.py --data longmemeval:FILE.json --out FILE.json
    python benchmarks/published.py --data memora:FOLDER --out FILE.json

Rows are the groups ``published`` (no use is logged in these data, so most formulas rank by age) and
``published_replay`` (uses made up from later turns that take an earlier one up again), the one-line rules of
the same table, and our linear model and trees, fitted on the training half of each split. The figures are the
share of needed memories kept, as mean and standard deviation over the splits, and the notes say what the data
leaves of each formula.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from _record import record

from memvalue.data.load import load
from memvalue.eval import run_protocol
from memvalue.eval.prepare_job import Setting, fitting_threads
from memvalue.eval.roster import roster

BUDGETS = (0.05, 0.1, 0.3)
TOKEN_BUDGETS = (0.05, 0.1)

#: Ours, last in the table.
OURS = ("uniform", "linear")


def main() -> None:
    """Run the table and print it as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="longmemeval:FILE.json or memora:FOLDER")
    parser.add_argument("--limit", type=int, help="only the first this many cases")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="file for the JSON")
    a = parser.parse_args()
    dataset = load(a.data, limit=a.limit)
    # The definition that `memvalue fit` takes for the data by itself.
    definition = "longmemeval" if dataset.name == "longmemeval" else "default"
    bench = Setting.named(definition, "none", "batch").bench(dataset)
    with fitting_threads(len(bench)):
        report = run_protocol(
            bench,
            roster(["published", "published_replay", *OURS], bench=bench, seed=a.seed),
            splits=a.splits,
            budgets=BUDGETS,
            token_budgets=TOKEN_BUDGETS,
            seed=a.seed,
            resamples=999,
            progress=_tell,
        ).to_dict()
    print(file=sys.stderr)
    record(
        {
            "cases": bench.cases,
            "memories": len(bench),
            "definition": definition,
            "policies": {
                name: {measure: _cells(row[measure]) for measure in ("turns", "tokens")}
                for name, row in report["policies"].items()
            },
            "notes": report["notes"],
        },
        data=dataset.name,
        data_digest=dataset.digest,
        seed=a.seed,
        out=a.out,
    )


def _cells(row: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {budget: {k: round(cell[k], 4) for k in ("mean", "std")} for budget, cell in row.items()}


def _tell(done: int, total: int, label: str) -> None:
    print(f"\r{done}/{total} {label:40}", end="", file=sys.stderr)


if __name__ == "__main__":
    main()
