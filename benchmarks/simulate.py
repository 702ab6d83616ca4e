"""How long the simulated businesses take, what they show, and whether searched constants beat ours.

    python benchmarks/simulate.py [--seeds 20] [--out simulate.json]
    python benchmarks/simulate.py --constants [--objective correct] [--evaluations 180]
                                  [--seeds 20] [--out FILE]

The first form times the default table of both worlds and one replay of a two-year world of 10,000 pages. The
second searches the ranking constants on four training seeds and judges them on the held-out ones.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from _record import record

from memvalue.configs.simulate_config import SimulateConfig
from memvalue.data.worlds import business
from memvalue.eval.constants_search import search
from memvalue.eval.rankers import MAIN, rankers
from memvalue.eval.replay import replay
from memvalue.eval.simulate_job import simulate_job

LARGE = 10_000


def table(seeds: int) -> dict[str, Any]:
    """Both worlds, each timed by itself."""
    out: dict[str, Any] = {}
    for world in ("scheduled", "bursty"):
        began, busy = time.perf_counter(), time.process_time()
        document = simulate_job(SimulateConfig(world=world, seeds=seeds)).to_dict()
        out[world] = {
            "seconds": round(time.perf_counter() - began, 1),
            "processor_seconds": round(time.process_time() - busy, 1),
            **{key: document[key] for key in ("pages", "needs", "digest", "policies", "clocks", "careless")},
            "differs": [d["finding"] for d in document["directions"] if not d["holds"]],
        }
    return out


def large() -> dict[str, Any]:
    """One replay of a large world under the product's policy."""
    began = time.perf_counter()
    world = business(LARGE)
    drawn = time.perf_counter()
    busy = time.process_time()
    (ours,) = (r for r in rankers((MAIN,)))
    found = replay(world, ours)
    return {
        "pages": world.pages,
        "needs": len(world.need_time),
        "events": found.events,
        "draw_seconds": round(drawn - began, 2),
        "replay_seconds": round(time.perf_counter() - drawn, 1),
        "replay_processor_seconds": round(time.process_time() - busy, 1),
        **found.measures(),
    }


def main() -> None:
    """Run and print the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("--objective", choices=("worth", "correct"), default="worth")
    parser.add_argument("--evaluations", type=int, default=180)
    parser.add_argument("--seed", type=int, default=0, help="of the search")
    parser.add_argument("--out", type=Path, help="also write the record here")
    a = parser.parse_args()
    if a.constants:
        began = time.perf_counter()
        figures = search(
            objective=a.objective,
            evaluations=a.evaluations,
            held_out=tuple(range(a.seeds)),
            seed=a.seed,
        )
        figures["seconds"] = round(time.perf_counter() - began, 1)
    else:
        figures = {"large": large(), "worlds": table(a.seeds)}
    record(figures, data="business", data_digest=business().digest(), seed=a.seed, out=a.out)


if __name__ == "__main__":
    main()
