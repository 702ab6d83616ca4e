"""How long a transfer takes and what it finds, with everything needed to compare two runs.

    python benchmarks/transfer.py --data longmemeval:FILE.json --data memora:DIR --data locomo:FILE.json
    python benchmarks/transfer.py --regularisation --data … --data … --data …

The second form prints what the pull and the averaging of refits were chosen by: weights fitted on one set and
tested on another, never on the one that the choice is for.
"""

from __future__ import annotations

import argparse
import time
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from _record import record

from memvalue.configs.transfer_config import REFITS, TransferConfig
from memvalue.data.load import load
from memvalue.eval import Bench
from memvalue.eval.measures import kept_share
from memvalue.eval.pooled import fit_pooled
from memvalue.eval.prepare_job import Setting
from memvalue.eval.transfer_job import transfer_job

PULLS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)


def regularisation(config: TransferConfig) -> dict[str, Any]:
    """Mean retention over budgets and directed pairs of sets, for every pull, single fit and average.

    ``without X`` leaves out every pair that X takes part in: the best pull there is chosen without X.
    """
    setting = Setting.named(config.definition, config.encoder, config.regime, config.cache)
    sets: dict[str, Bench] = {}
    for spec in config.data:
        sets[spec.partition(":")[0]] = setting.bench(load(spec))
    out: dict[str, Any] = {}
    for refits in (1, REFITS):
        for pull in PULLS:
            kept: dict[tuple[str, str], float] = {}
            for a, b in permutations(sets, 2):
                fitted = fit_pooled([sets[a]], refits=refits, l2=pull, seed=config.seed).estimator
                scores = np.asarray(fitted.predict(sets[b].factors), dtype=np.float64)
                found = kept_share(scores, sets[b].offsets, sets[b].needed, config.budgets)
                kept[a, b] = float(found.mean())
            out[f"refits {refits}, l2 {pull:g}"] = {
                **{f"{a} -> {b}": round(x, 4) for (a, b), x in kept.items()},
                **{
                    f"without {name}": round(float(np.mean([x for p, x in kept.items() if name not in p])), 4)
                    for name in sets
                },
            }
    return out


def matrix(config: TransferConfig) -> dict[str, Any]:
    """Means of the matrix, losses, and the seconds it took."""
    began = time.perf_counter()
    report = transfer_job(config).to_dict()
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "matrix": {
            definition: {
                row: {name: [c["mean"] for c in cell["turns"].values()] for name, cell in cells.items()}
                for row, cells in rows.items()
            }
            for definition, rows in report["matrix"].items()
        },
        "losses": report["losses"],
        "digests": {name: s["digest"] for name, s in report["sets"].items()},
    }


def main() -> None:
    """Run and print the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", action="append", required=True)
    parser.add_argument("--judge", action="append", default=[])
    parser.add_argument("--regime", choices=("batch", "online"), default="batch")
    parser.add_argument("--regularisation", action="store_true")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the record here")
    a = parser.parse_args()
    config = TransferConfig(
        data=tuple(a.data), judge=tuple(a.judge), regime=a.regime, seed=a.seed, cache=a.cache
    )
    figures = regularisation(config) if a.regularisation else matrix(config)
    kinds = " + ".join(spec.partition(":")[0] for spec in (*config.data, *config.judge))
    digests = figures.get("digests") or {s: load(s).digest for s in config.data}
    record(figures, data=kinds, data_digest=" ".join(digests.values()), seed=a.seed, out=a.out)


if __name__ == "__main__":
    main()
