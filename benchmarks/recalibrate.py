"""Recalibrate simulated businesses and judge what stays on later cases that neither fit nor gate saw.

    OMP_NUM_THREADS=1 python benchmarks/recalibrate.py [--parts businesses,spoiled,cost] [--businesses 240]
    OMP_NUM_THREADS=1 python benchmarks/recalibrate.py --parts spread --longmemeval PATH
    OMP_NUM_THREADS=1 python benchmarks/recalibrate.py --parts real --longmemeval PATH --memora DIR

The parts:

- ``spread``: the shipped priors, with a log of uses from simulated businesses that no other part judges,
  without one from groups of LongMemEval's questions.
- ``businesses``: the learning curve over numbers of cases: no fit, an unpenalised fit, the shrunken fit, and
  what the gate lets through; how many businesses end up worse.
- ``population``: the same, starting from the mean of what simulated businesses want instead of the default.
- ``spoiled``: as ``businesses``, with one grade in three wrong, judged on clean labels.
- ``cost``: seconds by cases and by memories a case, folds and gate included.
- ``real``: businesses made of LongMemEval's questions and of Memora's weeks; base and prior come from another
  third of the questions.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _record import digest, record

from memvalue.data import load
from memvalue.data.factor_table import FactorTable
from memvalue.data.worlds import Graders
from memvalue.data.worlds.tenants import tenant
from memvalue.eval.bench import Bench
from memvalue.eval.grouped_tenants import bench_table, question_tenants, weekly_table
from memvalue.eval.simulated_tenants import spoiled, tenant_table
from memvalue.eval.statistics import Resampling, holm
from memvalue.features import Definition
from memvalue.features.cache import EvidenceCache
from memvalue.features.names import FACTORS
from memvalue.train.base_weights import BaseWeights
from memvalue.train.gate import compare
from memvalue.train.learn_spread import FLAT, learn_spread
from memvalue.train.recalibrate import Settings, kept_by_case, prior_of, recalibrate
from memvalue.train.shrunken import ShrunkenLinear
from memvalue.train.spread import Spread

SIZES = (5, 10, 20, 50, 100, 200, 500)

#: Cases of the clean test, after those of fit and gate.
TEST = 80

#: The same of businesses made of questions, and their most cases: with more than a third of the questions,
#: all businesses would be alike.
REAL_TEST, REAL_SIZE = 40, 50

#: Days between two consolidations.
EVERY = 3.5

#: Seeds from here on are of the businesses that the prior is learned from.
LEARNING = 1_000_000

#: One answer in three is graded wrongly: of graded right answers one in three is called harmful.
WRONG = Graders(helpful=0.35, mistake=0.175, corrected=0.47)

ARMS = ("unpenalised", "shrunken", "gated")


def simulated(seed: int, cases: int, graders: Graders | None = None) -> FactorTable:
    """A business of so many cases for fit and gate, and the test after them."""
    return tenant_table(tenant(seed, cases + TEST, every_days=EVERY, graders=graders))


def default_base() -> BaseWeights:
    """The shipped default model."""
    from importlib.resources import as_file, files

    from memvalue.serve import ValueModel

    with as_file(files("memvalue.models") / "default.onnx") as path:
        return BaseWeights.from_metadata(ValueModel.load(path).metadata)


def fitted(table: FactorTable, base: BaseWeights, settings: Settings, penalty: bool) -> BaseWeights:
    """All cases, without a gate; or a fit with nothing held back."""
    spread = prior_of(table, settings) if penalty else Spread.plain(np.full(len(FACTORS), FLAT), kappa=0.0)
    options = {"tier": settings.tier} if penalty else {"tier": "all", "trust": 1.0 / FLAT}
    model = ShrunkenLinear(
        base, spread=spread, informed=table.informed, random_state=settings.seed, **options
    )
    try:
        model.fit(table.factors, table.needed, table.case_of, machine=table.machine)
    except ValueError:  # nothing was needed in any case
        return base
    return replace(base, weights=model.weights_)


def judged(
    table: FactorTable, labels: FactorTable, sizes: Sequence[int], base: BaseWeights, settings: Settings,
    tested: int = TEST,
) -> dict[int, dict[str, Any]]:  # fmt: skip
    """Size → gains of each arm over the base on each test case, and the gate's decision.

    ``table`` is what fit and gate see, ``labels`` the same cases with the labels that the test goes by.
    """
    found: dict[int, dict[str, Any]] = {}
    last = len(table) - tested
    test = np.arange(last, len(table))
    for size in sizes:
        seen = table.take(np.arange(last - size, last))
        settled = recalibrate(seen, base, settings=settings)
        models = [
            base,
            fitted(seen, base, settings, penalty=False),
            fitted(seen, base, settings, penalty=True),
            settled.weights,
        ]
        kept = kept_by_case(labels, test, models, settings.budgets)
        kept = kept[:, np.isfinite(kept[0])]
        found[size] = {"base": kept[0], "decision": settled.decision} | {
            arm: kept[i + 1] - kept[0] for i, arm in enumerate(ARMS)
        }
    return found


def summary(results: Sequence[dict[int, dict[str, Any]]], seed: int) -> dict[str, Any]:
    """Mean gains with 95 % intervals over businesses, and the businesses that are worse beyond noise."""
    sizes = sorted({size for result in results for size in result})
    out: dict[str, Any] = {}
    for size in sizes:
        rows = [result[size] for result in results if size in result and len(result[size]["base"])]
        resampling = Resampling(len(rows), np.random.default_rng(seed))
        gains = np.array([[row[arm].mean() for arm in ARMS] for row in rows])
        columns = np.column_stack([gains, gains[:, 1] - gains[:, 0]])
        interval = resampling.bca(columns)
        line: dict[str, Any] = {
            "businesses": len(rows),
            "base": round(float(np.mean([row["base"].mean() for row in rows])), 4),
        }
        for i, arm in enumerate((*ARMS, "shrunken beyond unpenalised")):
            low, mean, high = interval.low[i], interval.value[i], interval.high[i]
            line[arm] = [round(float(x), 4) for x in (mean, low, high)]
        for arm in ARMS:
            p = [compare(row[arm], confidence=0.95).worse_p for row in rows]
            worse = np.array([row[arm].mean() < 0 for row in rows])
            line[f"{arm}: worse, at one-sided .05, at .05 after Holm"] = [
                int(worse.sum()), int((np.array(p) <= 0.05).sum()), int((holm(p) <= 0.05).sum()),
            ]  # fmt: skip
        line["promoted"] = sum(row["decision"] == "promote" for row in rows)
        out[str(size)] = line
    return out


def over_businesses(
    given: argparse.Namespace, base: BaseWeights, settings: Settings, wrong: float = 0.0
) -> dict[str, Any]:
    """The learning curve over simulated businesses."""
    results, digests = [], []
    for seed in range(given.businesses):
        # The longest histories are dear and change least, so one business in four has them.
        sizes = [s for s in given.sizes if s <= 200 or seed % 4 == 0]
        table = simulated(seed, max(sizes), WRONG if wrong else None)
        seen = spoiled(table, wrong, np.random.default_rng([seed, 3])) if wrong else table
        results.append(judged(seen, table, sizes, base, settings))
        digests.append(table.digest())
        _tell("businesses", seed + 1, given.businesses)
    return summary(results, given.seed) | {"digest": digest(digests)}


def learning(count: int) -> list[FactorTable]:
    """Businesses to learn a prior from."""
    return [simulated(LEARNING + i, 150) for i in range(count)]


def population(tables: Sequence[FactorTable], base: BaseWeights) -> BaseWeights:
    """The mean of the businesses' own weights."""
    free = Settings(seed=0)
    return replace(base, weights=np.mean([fitted(t, base, free, False).weights for t in tables], axis=0))


def plain(spread: Spread) -> dict[str, Any]:
    """The numbers of a prior."""
    return {
        "deviation": dict(zip(FACTORS, spread.deviation.round(4).tolist(), strict=True)),
        "kappa": spread.kappa,
        "businesses": spread.businesses,
        "directions": spread.directions.round(4).tolist(),
    }


def cost(seed: int) -> dict[str, Any]:
    """Seconds of one business, by cases and by memories a case."""
    base, out = default_base(), {}
    for cases, memories in (
        (50, 200), (100, 200), (200, 200), (500, 200), (1000, 200), (200, 50), (200, 500), (1000, 500),
    ):  # fmt: skip
        table = drawn(cases, memories, np.random.default_rng([seed, cases, memories]))
        start = time.perf_counter()
        settled = recalibrate(table, base)
        out[f"{cases} cases of {memories}"] = {
            "seconds": round(time.perf_counter() - start, 2), "evaluations": settled.evaluations,
        }  # fmt: skip
        _tell("cost", cases, 1000)
    return out


def drawn(cases: int, memories: int, rng: np.random.Generator) -> FactorTable:
    """A made-up business of an exact size: four needed a case, by weights that no base has."""
    whole = tenant_table(tenant(0, 2))
    rows = cases * memories
    factors = rng.beta(0.6, 2.0, (rows, len(FACTORS))).astype(np.float32)
    score = factors @ rng.dirichlet(np.ones(len(FACTORS))) + rng.gumbel(0.0, 0.06, rows)
    order = np.argsort(-score.reshape(cases, memories), axis=1)[:, :4]
    needed = np.zeros((cases, memories), dtype=bool)
    np.put_along_axis(needed, order, True, axis=1)
    times = whole.times[0] + np.arange(cases) * np.timedelta64(86400, "s")
    return replace(
        whole, times=times, ends=times + np.timedelta64(86400, "s"),
        offsets=np.arange(cases + 1) * memories, factors=factors, needed=needed.ravel(),
        informed=np.ones(len(FACTORS), bool), machine=np.zeros(rows, bool),
        tokens=np.ones(rows, np.int64), age_days=np.zeros(rows, np.float32),
        uses=np.zeros(rows, np.float32), obsolete=np.zeros(rows, bool),
    )  # fmt: skip


def longmemeval(given: argparse.Namespace) -> tuple[Bench, FactorTable]:
    """The questions, under the default definition."""
    cache = EvidenceCache(given.cache) if given.cache else None
    definition = Definition.named("default")
    bench = Bench.build(load(f"longmemeval:{given.longmemeval}"), definition=definition, cache=cache)
    return bench, bench_table(bench)


def real(given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Businesses made of benchmark cases; figures, and the digests of the data."""
    rng = np.random.default_rng(given.seed)
    out: dict[str, Any] = {}
    digests: list[str] = []
    base, settings = default_base(), Settings(folds=0, seed=given.seed)
    if given.longmemeval:
        bench, table = longmemeval(given)
        digests.append(bench.digest)
        kinds = np.array(bench.kinds)
        parts = np.array_split(rng.permutation(len(table)), [len(table) // 3])
        ours, theirs = (np.sort(part) for part in parts)
        train = table.take(ours)
        base = population([train], base)
        many = given.learn_from
        prior = learn_spread(
            [*question_tenants(train, tuple(kinds[ours]), many, 40, rng)], base, seed=given.seed
        )
        settings = replace(settings, spread=prior)
        pool = table.take(theirs)

        def tenants(cases: int) -> Iterator[FactorTable]:
            return question_tenants(pool, tuple(kinds[theirs]), given.businesses, cases, rng)

        sizes = [s for s in given.sizes if s <= REAL_SIZE]
        results = []
        for i, business in enumerate(tenants(max(sizes) + REAL_TEST)):
            results.append(judged(business, business, sizes, base, settings, REAL_TEST))
            _tell("longmemeval", i + 1, given.businesses)
        out["longmemeval"] = summary(results, given.seed) | {"prior": plain(prior)}
    if given.memora:
        cache = EvidenceCache(given.cache) if given.cache else None
        bench = Bench.build(
            load(f"memora:{given.memora}"),
            definition=Definition.named("default"),
            regime="online",
            cache=cache,
        )
        digests.append(bench.digest)
        lines = {}
        for case in range(bench.cases):
            weeks = weekly_table(bench, case, 40)
            seen, test = weeks.take(np.arange(24)), np.arange(24, 40)
            settled = recalibrate(seen, base, settings=settings)
            models = [base, fitted(seen, base, settings, True), settled.weights]
            kept = kept_by_case(weeks, test, models, settings.budgets)
            kept = kept[:, np.isfinite(kept[0])].mean(axis=1)
            lines[bench.case_ids[case]] = {
                "base": round(float(kept[0]), 4), "shrunken": round(float(kept[1] - kept[0]), 4),
                "gated": round(float(kept[2] - kept[0]), 4), "decision": settled.decision,
            }  # fmt: skip
            _tell("memora", case + 1, bench.cases)
        out["memora"] = lines
    return out, digests


def _tell(what: str, done: int, total: int) -> None:
    sys.stderr.write(f"\r{what} {done}/{total}  ")
    sys.stderr.flush()


def main() -> int:
    """Run the parts and print the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", default="businesses,population,spoiled,cost")
    parser.add_argument("--businesses", type=int, default=240)
    parser.add_argument("--learn-from", type=int, default=60)
    parser.add_argument("--sizes", type=lambda s: tuple(map(int, s.split(","))), default=SIZES)
    parser.add_argument("--longmemeval", type=Path)
    parser.add_argument("--memora", type=Path)
    parser.add_argument("--cache", type=Path, help="folder of the evidence cache (real)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the JSON here")
    given = parser.parse_args()
    base, settings = default_base(), Settings(folds=0, seed=given.seed)
    figures: dict[str, Any] = {}
    data: list[str] = []
    for part in given.parts.split(","):
        if part == "spread":
            figures[part] = {"logged": plain(learn_spread(learning(given.learn_from), base, seed=given.seed))}
            if given.longmemeval:
                bench, table = longmemeval(given)
                data.append(bench.digest)
                rng = np.random.default_rng(given.seed)
                groups = list(question_tenants(table, bench.kinds, given.learn_from, 60, rng))
                figures[part]["unlogged"] = plain(learn_spread(groups, base, seed=given.seed))
        elif part == "businesses":
            figures[part] = over_businesses(given, base, settings)
        elif part == "population":
            tables = learning(given.learn_from)
            mean = population(tables, base)
            prior = learn_spread(tables, mean, seed=given.seed)
            figures[part] = over_businesses(given, mean, replace(settings, spread=prior)) | {
                "base_weights": dict(zip(FACTORS, mean.weights.round(4).tolist(), strict=True)),
                "prior": plain(prior),
            }
        elif part == "spoiled":
            figures[part] = over_businesses(given, base, settings, wrong=1 / 3)
        elif part == "cost":
            figures[part] = cost(given.seed)
        elif part == "real":
            figures[part], data = real(given)
        else:
            parser.error(f"unknown part {part!r}")
    seen = [f["digest"] for f in figures.values() if "digest" in f]
    record(
        figures,
        data="simulated businesses",
        data_digest=digest([*seen, *data]),
        seed=given.seed,
        out=given.out,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
