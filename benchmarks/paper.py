"""The published model's table (arXiv 2606.12945), re-run on LongMemEval-S beside its printed figures.

    python benchmarks/paper.py --data longmemeval:FILE.json --cases 60 --encoder minilm --cache FOLDER

MiniLM encodes 10 to 180 turns a second on one core, so 60 cases take from minutes to an hour the first time.
Embeddings are kept in the cache case by case: an interrupted run resumes, a second one encodes nothing.
The emotion rule is a reconstruction (memvalue.eval.paper).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.load import load
from memvalue.eval import Bench, run_protocol
from memvalue.eval.paper import embed
from memvalue.eval.roster import PAPER, roster
from memvalue.features.cache import EvidenceCache
from memvalue.features.encoder import load_encoder

#: Printed figures, blind and then oracle, at each share kept (targets.md).
PUBLISHED: dict[str, dict[float, float]] = {
    "paper": {0.1: 0.2924, 0.2: 0.6321, 0.3: 0.7698, 0.4: 0.8386, 0.5: 0.8958},
    "paper_uniform": {0.1: 0.2338, 0.2: 0.4748, 0.3: 0.6575, 0.4: 0.7951, 0.5: 0.8745},
    "paper_only_self_relevance": {0.3: 0.5176},
    "paper_only_reliability": {0.1: 0.1787, 0.2: 0.3505, 0.3: 0.4974, 0.4: 0.6815, 0.5: 0.8976},
    "paper_recency": {0.1: 0.1264, 0.2: 0.2577, 0.3: 0.3676, 0.4: 0.4623, 0.5: 0.5409},
    "random": {0.3: 0.3},
    "paper_oracle": {0.3: 0.9926},
    "paper_oracle_uniform": {0.3: 0.9390},
    "paper_oracle_goal": {0.3: 0.9788},
}
BUDGETS = (0.1, 0.2, 0.3, 0.4, 0.5)


class Held:
    """An encoder whose rows for the data's turns are at hand; only questions are encoded anew."""

    def __init__(self, encoder: Any, rows: dict[str, NDArray[np.float32]]) -> None:
        self._encoder, self._rows = encoder, rows
        self.name: str = encoder.name
        self.dim: int = encoder.dim

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[n, dim]."""
        new = [t for t in dict.fromkeys(texts) if t not in self._rows]
        if new:
            self._rows.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._rows[t] for t in texts])


def evenly(count: int, wanted: int) -> list[int]:
    """``wanted`` case numbers spread evenly over ``count``: the file is ordered by question type."""
    return [i * count // wanted for i in range(wanted)] if wanted < count else list(range(count))


def encode_all(bench: Bench, encoder: Any, cache: EvidenceCache | None) -> Held:
    """Every turn's row, case by case, from the cache where it is there."""
    rows: dict[str, NDArray[np.float32]] = {}
    began = time.monotonic()
    for done, view in enumerate(bench.consolidations, 1):
        rows |= zip(view.texts, embed(view.texts, encoder, cache), strict=True)
        print(
            f"\rencoded {done}/{bench.cases} cases, {time.monotonic() - began:.0f} s", end="", file=sys.stderr
        )
    print(file=sys.stderr)
    return Held(encoder, rows)


def main() -> None:
    """Run the table and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="longmemeval:FILE.json")
    parser.add_argument("--cases", type=int, help="this many, spread over the file; all when left out")
    parser.add_argument("--encoder", default="minilm", help="minilm, static or st:NAME (default minilm)")
    parser.add_argument("--cache", help="folder for embeddings")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="the whole report instead of the table")
    a = parser.parse_args()
    encoder = load_encoder(a.encoder)
    if encoder is None:
        parser.error("the paper's factors are similarities; --encoder none cannot make them")
    cache = EvidenceCache(a.cache) if a.cache else None
    dataset = load(a.data)
    if a.cases is not None:
        chosen = [dataset.cases[i] for i in evenly(len(dataset), a.cases)]
        dataset = replace(dataset, cases=chosen, digest="")
    bench = Bench.build(dataset)
    held = encode_all(bench, encoder, cache)
    report = run_protocol(
        bench,
        roster(["random", *PAPER], bench=bench, encoder=held, seed=a.seed),
        splits=a.splits,
        budgets=BUDGETS,
        token_budgets=(),
        seed=a.seed,
        main="paper",
        question_encoder=held,
    ).to_dict()
    if a.json:
        print(json.dumps(report, indent=1))
        return
    print(f"{bench.cases} cases, {len(bench)} turns, {encoder.name}, {a.splits} splits; ours (published)")
    print(f"{'turns kept':34}" + "".join(f"{b:>15.0%}" for b in BUDGETS))
    for name, row in report["policies"].items():
        cells = []
        for b in BUDGETS:
            printed = PUBLISHED.get(name, {}).get(b)
            shown = f"({printed:.3f})" if printed is not None else ""
            cells.append(f"{row['turns'][f'{b:g}']['mean']:7.3f} {shown:>7}")
        print(f"{name:34}" + "".join(cells))


if __name__ == "__main__":
    main()
