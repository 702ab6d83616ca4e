"""Businesses made of benchmark cases: groups of LongMemEval questions, and the weeks of a Memora persona."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memvalue.data.factor_table import FactorTable
from memvalue.eval.bench import Bench
from memvalue.features.definition import DEFINITIONS
from memvalue.features.names import DEFINITION_VERSION, FACTORS

#: Concentration of the mixtures of question types: at .5 a business asks mostly for one or two of the six.
CONCENTRATION = 0.5

#: First day, and days between two cases.
START = np.datetime64("2024-01-01T00:00:00", "s")
EVERY = np.timedelta64(7 * 86400, "s")


def bench_table(bench: Bench) -> FactorTable:
    """The cases of a bench in their order, a week from each to the next.

    Benchmark cases come from different people and have no common time; the order is whatever it is.
    """
    cases = bench.cases
    times = START + np.arange(cases) * EVERY
    definition = DEFINITIONS[bench.definition].as_dict() if bench.definition in DEFINITIONS else {}
    return FactorTable(
        names=FACTORS,
        definition=definition,
        definition_version=DEFINITION_VERSION,
        times=times,
        ends=times + EVERY,
        offsets=bench.offsets,
        factors=bench.factors,
        informed=bench.informed,
        machine=~bench.person,
        tokens=bench.tokens,
        age_days=np.maximum(bench.age_days, 0.0).astype(np.float32),
        uses=np.full(len(bench), np.nan, dtype=np.float32),
        needed=bench.needed,
        obsolete=np.zeros(len(bench), bool) if bench.obsolete is None else bench.obsolete,
    )


def question_tenants(
    table: FactorTable,
    kinds: tuple[str, ...],
    tenants: int,
    cases: int,
    rng: np.random.Generator,
    concentration: float = CONCENTRATION,
) -> Iterator[FactorTable]:
    """Businesses that differ in what they ask: mixtures of the question types of LongMemEval.

    Each draws a mixture of types from a symmetric Dirichlet distribution, and from it cases without
    replacement, in an order by chance: no case is both before and after a point in time of one business.
    Different businesses share cases, so they are not independent of one another.

    Parameters
    ----------
    table, kinds
        C cases, and the type of each.
    tenants, cases
        How many, and cases of each; at most C.
    rng
        The source of randomness.
    concentration
        Above 0; the smaller, the more the businesses differ.

    Raises
    ------
    ValueError
        For more cases than there are, or a concentration of 0 or less.
    """
    if cases > len(table) or len(kinds) != len(table):
        raise ValueError(f"a business of {cases} cases cannot be drawn from {len(table)}")
    if not concentration > 0:
        raise ValueError(f"concentration must be above 0, got {concentration}")
    names, kind = np.unique(np.array(kinds), return_inverse=True)
    times = START + np.arange(cases) * EVERY
    for _ in range(tenants):
        mixture = rng.dirichlet(np.full(len(names), concentration))
        # Every case keeps some chance, since a type may have fewer cases than the mixture asks for.
        chance = (mixture / np.bincount(kind))[kind] + 1e-6
        chosen = rng.choice(len(table), cases, replace=False, p=chance / chance.sum())
        yield _in_order(table, rng.permutation(chosen), times)


def weekly_table(bench: Bench, case: int, weeks: int) -> FactorTable:
    """The weeks of one case: what was said in each, of which the gold turns are needed.

    A consolidation sees what is new since the last one, so no memory is in two cases. The bench must be
    ``online``, where a memory's factors know only what came before it; in batch they would know the weeks
    after.

    Parameters
    ----------
    bench, case
        The case of a bench.
    weeks
        Parts of as many sessions, by time.

    Raises
    ------
    ValueError
        For a bench of the batch regime, or fewer than two weeks.
    """
    if bench.regime != "online":
        raise ValueError("weeks need the online regime; in batch, factors know what comes after the week")
    if weeks < 2:
        raise ValueError(f"weeks must be 2 or more, got {weeks}")
    one = bench.take([case])
    sessions, ordinal = np.unique(one.sessions, return_inverse=True)
    week = ordinal * weeks // len(sessions)
    offsets = np.searchsorted(week, np.arange(weeks + 1)).astype(np.int64)
    whole = bench_table(one)
    times = START + np.arange(1, weeks + 1) * EVERY
    return FactorTable(
        **{
            name: getattr(whole, name)
            for name in (
                "names", "definition", "definition_version", "factors", "informed", "machine", "tokens",
                "age_days", "uses", "needed", "obsolete",
            )
        },
        times=times, ends=times + EVERY, offsets=offsets,
    )  # fmt: skip


def _in_order(table: FactorTable, cases: NDArray[np.int64], times: NDArray[np.datetime64]) -> FactorTable:
    """The cases in the given order, at these times."""
    order = np.argsort(cases)
    part = table.take(cases[order])
    back = np.argsort(order)  # where each of the given cases is in ``part``
    starts, sizes = part.offsets[:-1][back], np.diff(part.offsets)[back]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
    columns = {
        name: getattr(part, name)[rows]
        for name in ("factors", "machine", "tokens", "age_days", "uses", "needed", "obsolete")
    }
    return replace(part, times=times, ends=times + EVERY, offsets=offsets, ids=None, **columns)
