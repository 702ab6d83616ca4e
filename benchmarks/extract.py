"""Speed of the seven factors over a whole data set: cold, with the static encoder, and from the cache.

    python benchmarks/extract.py --data longmemeval:PATH.json [--cases N] [--repeats 1] [--out extract.json]

Seconds are those of the wall clock and of the processor (other work on the machine slows the first, hardly
the second); the best of ``--repeats`` runs. Set OMP_NUM_THREADS=1 for one core. "cold" is from text to
factors, "cached" from the cache's files to factors; reading the data set comes first in both and is listed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _record import record

from memvalue.data.consolidation import Consolidation
from memvalue.data.load import load
from memvalue.features import Definition, combine, observe
from memvalue.features.cache import EvidenceCache
from memvalue.features.encoder import load_encoder

Clock = tuple[float, float]


def timed(call: Callable[[], Any]) -> tuple[Clock, Any]:
    """Wall and processor seconds of one call, and its result."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return (time.perf_counter() - wall, time.process_time() - processor), result


def factors(consolidations: Sequence[Consolidation], definition: Definition, **options: Any) -> np.ndarray:
    """float32[N, 7] of all memories, one case after the other."""
    return np.concatenate([combine(e, definition) for e in observe(consolidations, **options)])


def figures(seconds: Sequence[Clock], turns: int) -> dict[str, float]:
    """The best of some runs, by each clock."""
    wall, processor = (min(column) for column in zip(*seconds, strict=True))
    return {
        "wall_seconds": round(wall, 2),
        "processor_seconds": round(processor, 2),
        "turns_per_processor_second": round(turns / processor),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default="simulated", help="spec of the data set (default: simulated)")
    parser.add_argument("--cases", type=int, help="only the first N cases")
    parser.add_argument("--definition", default="default")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--no-encoder", action="store_true", help="leave the static encoder out")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    definition = Definition.named(options.definition)
    loading, data = timed(lambda: load(options.data, limit=options.cases))
    views = [case.consolidation for case in data.cases]
    turns = data.memories
    encoder = None if options.no_encoder else load_encoder("static")
    observe(views[:1], encoder=encoder)  # reads the lexicon

    def run(**how: Any) -> tuple[dict[str, float], np.ndarray]:
        runs = [timed(lambda: factors(views, definition, **how)) for _ in range(options.repeats)]
        return figures([seconds for seconds, _ in runs], turns), runs[0][1]

    result: dict[str, Any] = {
        "cases": len(views),
        "turns": turns,
        "loading": figures([loading], turns),
    }
    result["cold"], cold = run()
    result["cold_online"], _ = run(regime="online")
    if encoder is not None:
        # A fresh encoder for each run: words that it knows already are faster.
        runs = [
            timed(lambda: factors(views, definition, encoder=load_encoder("static")))
            for _ in range(options.repeats)
        ]
        result["cold_static_encoder"] = figures([seconds for seconds, _ in runs], turns)
    with tempfile.TemporaryDirectory() as folder:
        cache = EvidenceCache(folder)
        filling, _ = timed(lambda: factors(views, definition, cache=cache))
        result["cold_filling_the_cache"] = figures([filling], turns)
        result["cached"], cached = run(cache=cache)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*.mve"))
    result["cache_megabytes"] = round(size / 1e6, 1)
    same = cold.tobytes() == cached.tobytes()
    result["cached_equals_cold"] = same
    record(result, data=options.data.partition(":")[0], data_digest=data.digest, seed=0, out=options.out)
    if not same:
        sys.exit("the cached factors differ from the computed ones")


if __name__ == "__main__":
    main()
