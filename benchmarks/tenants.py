"""How fast many businesses are recalibrated: workers, engines, and what another business or case costs.

    python benchmarks/tenants.py [--businesses 1000] [--cases 24] [--engines local,dask] [--out tenants.json]

Simulated businesses as factor tables, base model ``default``. First all of them with one worker (this
process), then with two on each engine, from the same files; then curves over tenants and cases, with one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _record import digest, record

from memvalue.configs.recalibrate_config import RecalibrateConfig
from memvalue.data.errors import DataError
from memvalue.data.factor_file import write_table
from memvalue.data.worlds.tenants import tenant
from memvalue.eval.engines import DaskEngine, Engine, LocalEngine
from memvalue.eval.prepare_job import Setting
from memvalue.eval.simulated_tenants import tenant_table
from memvalue.eval.tenants import tenants
from memvalue.eval.tenants_job import tenants_job
from memvalue.models import path
from memvalue.serve import ValueModel

#: Cases of the businesses in the curve over cases, and how many businesses each point has.
CASES, POINT = (50, 100, 200, 400, 800), 2

#: Businesses in the curve over tenants.
TENANTS = (25, 50, 100)

#: Days between consolidations: two dozen of them make a year.
EVERY = 14.0

#: First seed: businesses on which no constant was chosen.
FIRST = 70_000


def main() -> None:
    """Run and print the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--businesses", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--engines", default="local,dask")
    parser.add_argument("--out", type=Path)
    a = parser.parse_args()
    figures: dict[str, Any] = {"businesses": a.businesses, "cases": a.cases}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "all"
        whole = draw(folder, a.businesses, a.cases)
        runs = Runs(Path(scratch))
        one = runs.time(folder, None)
        figures["one_worker"] = one | {"per_second": round(a.businesses / one["seconds"], 2)}
        for name in a.engines.split(","):
            two = runs.time(folder, name)
            speedup = one["seconds"] / two["seconds"]
            figures[f"{name}_two_workers"] = two | {
                "per_second": round(a.businesses / two["seconds"], 2),
                "speedup": round(speedup, 3),
                "overhead": round(1 - speedup / 2, 3),
            }
        figures["by_tenants"] = {
            str(n): runs.time(folder, None, first=n)["seconds"] for n in TENANTS if n <= a.businesses
        }
        by_cases = {}
        for cases in CASES:
            some = Path(scratch) / f"cases{cases}"
            draw(some, POINT, cases)
            by_cases[str(cases)] = round(runs.time(some, None)["seconds"] / POINT, 3)
        figures["seconds_a_business_by_cases"] = by_cases
    figures["linear_in_tenants"] = fit(figures["by_tenants"])
    figures["linear_in_cases"] = fit(by_cases)
    record(figures, data=f"tenants:first={FIRST}", data_digest=whole, seed=FIRST, out=a.out)


class Runs:
    """Timed runs, each into a folder of its own; engines start before the clock does."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._number = 0

    def time(self, folder: Path, engine: str | None, first: int | None = None) -> dict[str, Any]:
        """Seconds of the wall clock for a folder of businesses, and what was decided."""
        self._number += 1
        every = tenants(folder)[:first]
        made: Engine = (
            LocalEngine(1)
            if engine is None
            else DaskEngine(workers=2)
            if engine == "dask"
            else LocalEngine(2)
        )
        config = RecalibrateConfig(model=Path(path("default")))
        # Workers import what they need with their first business; every run begins warm.
        tenants_job(config, every[:8], self._scratch / f"warm{self._number}", engine=made)
        began = time.perf_counter()
        summary = tenants_job(config, every, self._scratch / f"out{self._number}", engine=made)
        seconds = time.perf_counter() - began
        made.close()
        assert not summary.failed, summary.failed
        return {"seconds": round(seconds, 2), **summary.to_dict()["counts"]}


def draw(folder: Path, count: int, cases: int) -> str:
    """Write the tables of simulated businesses; SHA-256 over their digests."""
    folder.mkdir()
    described = Setting.of_model(ValueModel.load(path("default")).metadata).described

    def digests() -> Iterator[str]:
        made, seed = 0, FIRST
        while made < count:
            seed += 1
            try:
                world = tenant(seed, cases, every_days=EVERY)
            except DataError:  # one world in five hundred has too few pages that last to be replaced
                continue
            table = replace(tenant_table(world), definition=described)
            write_table(table, folder / f"b{made:05d}.parquet")
            made += 1
            yield table.digest()

    return digest(digests())


def fit(points: dict[str, float]) -> dict[str, float]:
    """Seconds = start + slope · n by least squares, and the share of variance that the line explains."""
    n, seconds = np.array([float(k) for k in points]), np.array(list(points.values()))
    slope, start = np.polyfit(n, seconds, 1)
    left = seconds - (start + slope * n)
    return {
        "start": round(float(start), 3),
        "slope": round(float(slope), 5),
        "r2": round(float(1 - left.var() / seconds.var()), 4),
    }


if __name__ == "__main__":
    main()
