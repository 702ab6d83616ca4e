"""Time the fits: the linear model over 20 splits, one candidate of its search, the convex fit, the network.

    OMP_NUM_THREADS=1 python benchmarks/fit.py [--data longmemeval:PATH] [--splits 20] [--out fit.json]

Without ``--data`` a table of LongMemEval-S's shape is drawn: 380 cases of 494 memories, 2 or 3 needed.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from _record import record

from memvalue.data.splits import paper_splits
from memvalue.train.linear import LinearValueModel
from memvalue.train.mlp import MLPValueModel
from memvalue.train.objective import RetentionObjective, retention
from memvalue.train.pairwise import PairwiseLogistic

BUDGETS = (0.05, 0.1, 0.2, 0.3)

#: Candidates a call: the populations of the search lie between.
BATCHES = (12, 24)


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factors float32[N, 7], needed bool[N] and offsets int64[381] of made-up cases."""
    cases, memories = 380, 494
    factors = rng.beta(0.6, 2.0, size=(cases * memories, 7)).astype(np.float32)
    score = factors @ np.array([0.02, 0.2, 0.01, 0.17, 0.13, 0.19, 0.28]) + rng.gumbel(0, 0.06, len(factors))
    needed = np.zeros(len(factors), bool)
    for c, row in enumerate(score.reshape(cases, memories)):
        needed[c * memories + np.argsort(-row)[: rng.integers(2, 4)]] = True
    return factors, needed, np.arange(cases + 1) * memories


def loaded(spec: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """The same from a data set, with its digest."""
    from memvalue.data import load
    from memvalue.eval.bench import Bench
    from memvalue.features import Definition

    dataset = load(spec)
    bench = Bench.build(dataset, definition=Definition.named("default"))
    return bench.factors, bench.needed, bench.offsets, dataset.digest


def rows_of(offsets: np.ndarray, cases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the cases, and the case of each row."""
    sizes = np.diff(offsets)[cases]
    rows = np.concatenate([np.arange(offsets[c], offsets[c + 1]) for c in cases])
    return rows, np.repeat(np.arange(len(cases)), sizes)


def time_fits(make: Any, table: tuple[np.ndarray, np.ndarray, np.ndarray], splits: Any) -> dict[str, Any]:
    """Seconds over all splits, and the held-out retention that they bought."""
    factors, needed, offsets = table
    seconds, kept = 0.0, []
    for train, test in splits:
        rows, groups = rows_of(offsets, np.asarray(train))
        start = time.perf_counter()
        model = make().fit(factors[rows], needed[rows], groups=groups)
        seconds += time.perf_counter() - start
        rows, groups = rows_of(offsets, np.asarray(test))
        bounds = np.concatenate([[0], np.cumsum(np.bincount(groups))])
        kept.append(
            np.nanmean(retention(model.predict(factors[rows]), bounds, needed[rows], BUDGETS), axis=0)
        )
    means = np.mean(kept, axis=0)
    return {
        "seconds": round(seconds, 2),
        "retention": {f"{b:g}": round(float(m), 4) for b, m in zip(BUDGETS, means, strict=True)},
    }


def time_candidate(
    table: tuple[np.ndarray, np.ndarray, np.ndarray], rng: np.random.Generator
) -> dict[str, float]:
    """Milliseconds a candidate over 240 cases and four budgets, by batch size; the best of 20 calls."""
    factors, needed, offsets = table
    rows, groups = rows_of(offsets, np.arange(min(240, len(offsets) - 1)))
    objective = RetentionObjective(factors[rows], needed[rows], groups, BUDGETS)
    found = {}
    for size in BATCHES:
        weights = rng.random((size, factors.shape[1]))
        objective(weights)
        best = np.inf
        for _ in range(20):
            start = time.perf_counter()
            objective(weights)
            best = min(best, time.perf_counter() - start)
        found[str(size)] = round(1e3 * best / size, 3)
    return found


def main() -> int:
    """Run and print the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a data spec, e.g. longmemeval:PATH; default: a made-up table")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the JSON here")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    if given.data:
        *table, digest = loaded(given.data)
        kind, _, path = given.data.partition(":")
        name = f"{kind}:{Path(path).name}" if "/" in path else given.data
    else:
        table = list(drawn(rng))
        name = "drawn"
        digest = hashlib.sha256(table[0].tobytes() + table[1].tobytes()).hexdigest()
    factors, needed, offsets = table
    splits = paper_splits(len(offsets) - 1, given.splits)
    figures: dict[str, Any] = {
        "cases": len(offsets) - 1,
        "memories": len(factors),
        "splits": given.splits,
        "candidate_ms": time_candidate((factors, needed, offsets), rng),
    }
    for label, make in (
        ("linear", lambda: LinearValueModel(BUDGETS, random_state=given.seed)),
        ("pairwise", lambda: PairwiseLogistic(random_state=given.seed)),
        ("mlp", lambda: MLPValueModel(random_state=given.seed)),
    ):
        sys.stderr.write(f"{label} …\n")
        figures[label] = time_fits(make, (factors, needed, offsets), splits)
    record(figures, data=name, data_digest=digest, seed=given.seed, out=given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
