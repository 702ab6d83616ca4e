"""What ``memvalue simulate`` does: draw worlds, replay every policy on each, compare them seed by seed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.configs.simulate_config import SimulateConfig
from memvalue.data.worlds import RHYTHMS, SCENARIOS, Graders, World, business, scenario
from memvalue.data.worlds.business import DEFAULT_PAGES
from memvalue.data.worlds.scenarios import SCENARIO_PAGES
from memvalue.eval.directions import directions
from memvalue.eval.rankers import MAIN, VIEWS, Ranker, rankers
from memvalue.eval.replay import MEASURES, Replayed, replay
from memvalue.eval.simulate_report import SimulateReport
from memvalue.eval.statistics import Resampling, holm, mean_without_nan

#: Share of correct answers that careless graders call harmful, and the policies replayed under them (Bizer).
CARELESS = 0.10
UNDER_CARELESS = ("relevance", "use", "dual")

#: Column of a run: for each policy, float64[seeds] of each measure.
Table = dict[str, dict[str, NDArray[np.float64]]]

Progress = Callable[[int, int, str], object]


def simulate_job(config: SimulateConfig, progress: Progress | None = None) -> SimulateReport:
    """Run the table of one world, or of both.

    Raises
    ------
    ValueError
        For an unknown policy, or a world that cannot be drawn.
    """
    chosen = rankers(config.policies)
    names = list(RHYTHMS) if config.world == "both" else [config.world]
    steps = len(names) * config.seeds
    documents = []
    for i, name in enumerate(names):

        def step(done: int, name: str = name, before: int = i * config.seeds) -> None:
            if progress is not None:
                progress(before + done, steps, name)

        documents.append(_world(name, config, chosen, step))
    return SimulateReport(config.world, config.seeds, documents)


def draw(name: str, seed: int, pages: int | None) -> World:
    """A world by its name, as ``simulate`` draws it."""
    if name in SCENARIOS:
        return scenario(name, seed, pages or SCENARIO_PAGES)
    return business(pages or DEFAULT_PAGES, seed, rhythm=name)


def _world(
    name: str, config: SimulateConfig, chosen: tuple[Ranker, ...], step: Callable[[int], None]
) -> dict[str, Any]:
    rows: dict[str, list[Replayed]] = {r.name: [] for r in chosen}
    careless: dict[str, list[Replayed]] = {r.name: [] for r in chosen if r.name in UNDER_CARELESS}
    digest, needs, pages = hashlib.sha256(), [], 0
    for done in range(config.seeds):
        step(done)
        world = draw(name, config.seed + done, config.pages)
        digest.update(world.digest().encode())
        needs.append(len(world.need_time))
        pages = world.pages
        for ranker in chosen:
            rows[ranker.name].append(replay(world, ranker))
            if ranker.name in careless:
                graders = replace(Graders(), mistake=CARELESS)
                careless[ranker.name].append(replay(world, ranker, graders=graders))
    step(config.seeds)
    table, worse = _table(rows), _table(careless)
    clocks = {
        view: np.array([r.covered()[view] for r in rows[MAIN]]) for view in VIEWS
    }  # one log, so that only the clocks differ
    resampling = Resampling(config.seeds, np.random.default_rng(config.seed))
    return {
        "world": name,
        "seeds": config.seeds,
        "first_seed": config.seed,
        "pages": pages,
        "needs": spread(np.array(needs, dtype=np.float64)),
        "digest": digest.hexdigest(),
        "policies": {
            r.name: {m: spread(table[r.name][m]) for m in MEASURES} | {"says": r.says} for r in chosen
        },
        "clocks": {view: spread(column) for view, column in clocks.items()},
        "careless": {n: {m: spread(column) for m, column in row.items()} for n, row in worse.items()},
        "comparisons": _comparisons(table, resampling),
        "directions": directions(table, clocks, worse, resampling),
    }


def _table(rows: dict[str, list[Replayed]]) -> Table:
    found = {name: [r.measures() for r in replays] for name, replays in rows.items()}
    return {name: {m: np.array([f[m] for f in figures]) for m in MEASURES} for name, figures in found.items()}


def spread(column: NDArray[np.float64]) -> dict[str, float]:
    """Mean and standard deviation over seeds, without those where it is undefined; NaN for too few."""
    known = column[~np.isnan(column)]
    return {
        "mean": float(mean_without_nan(column, 0)),
        "std": float(known.std(ddof=1)) if len(known) > 1 else math.nan,
    }


def _comparisons(table: Table, resampling: Resampling) -> list[dict[str, Any]]:
    """The product's policy minus each other one, paired by seed; Holm's correction over the whole table."""
    rows: list[dict[str, Any]] = []
    for name, row in table.items():
        if name == MAIN:
            continue
        for measure in MEASURES:
            difference = table[MAIN][measure] - row[measure]
            if np.isnan(difference).any():
                continue
            found = resampling.bca(difference)
            ci = [float(found.low[0]), float(found.high[0])]
            which: dict[str, Any] = {"main": MAIN, "policy": name, "measure": measure}
            rows.append(which | {"difference": float(found.value[0]), "ci": ci, "p": float(found.p[0])})
    adjusted = holm([comparison["p"] for comparison in rows])
    return [
        comparison | {"p_holm": p, "significant": bool(p < 0.05)}
        for comparison, p in zip(rows, adjusted.tolist(), strict=True)
    ]
