"""Learn how businesses differ from the tables of many of them (empirical Bayes)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memvalue.data.factor_table import FactorTable
from memvalue.train.base_weights import BaseWeights
from memvalue.train.objective import retention
from memvalue.train.plan import parted, telling
from memvalue.train.shrunken import ShrunkenLinear
from memvalue.train.spread import Spread

#: Fewest cases of a business for its own weights to be fitted on each half of them.
HALF = 10

#: Smallest deviation of a weight between businesses that is taken for one: a factor must be able to move.
LEAST = 0.01

#: Deviation that is as good as none: a weight may take all there is.
FLAT = 0.5

#: Strengths tried, in cases, and how many of the latest cases they are tried on.
KAPPAS: tuple[float, ...] = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
SIZES: tuple[int, ...] = (5, 10, 20, 50, 100)

#: Share of a business's cases, the latest, that κ is judged on.
JUDGED = 0.3

#: Directions are kept until they hold this share of the spread.
HELD = 0.8


def learn_spread(
    tables: Sequence[FactorTable],
    base: BaseWeights,
    *,
    budgets: Sequence[float] = (0.05, 0.1, 0.3),
    kappas: Sequence[float] = KAPPAS,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
    step: Callable[[], None] | None = None,
) -> Spread:
    """Deviations, directions and strength of the prior around a base.

    A business's own weights are fitted twice without a penalty, on the earlier and on the later half of its
    cases. Sampling noise of the two is independent, so the mean over businesses of (w₁ − w₀)(w₂ − w₀)ᵀ is the
    second moment of what businesses really want, around the base, with the noise already taken off. κ is then
    the strength whose fits of few cases keep most of what each business needed later, as a mean over
    businesses and numbers of cases.

    Parameters
    ----------
    tables
        One a business, of one factor definition. One with fewer than 2 · ``HALF`` telling cases is left out.
    base
        w₀.
    budgets
        As in :class:`~memvalue.train.shrunken.ShrunkenLinear`.
    kappas, sizes
        Strengths to choose from, and numbers of cases to try them on.
    seed
        Of the searches.
    step
        Called after every business.

    Raises
    ------
    ValueError
        When fewer than two businesses can be used.
    """
    moments: list[NDArray[np.float64]] = []
    usable: list[FactorTable] = []
    flat = Spread.plain(np.full(len(base.names), FLAT), kappa=0.0)
    for number, table in enumerate(tables):
        cases = telling(table)
        if len(cases) < 2 * HALF:
            continue
        early, late = parted(table, cases, len(cases) // 2)
        if len(early) < HALF or len(late) < HALF:
            continue
        own = [
            _fitted(table, half, base, flat, budgets, [seed, number, i]) - base.weights
            for i, half in enumerate((early, late))
        ]
        moments.append(0.5 * (np.outer(*own) + np.outer(*own[::-1])))
        usable.append(table)
        if step is not None:
            step()
    if len(usable) < 2:
        raise ValueError(
            f"the spread needs two businesses with {2 * HALF} cases or more; {len(usable)} of {len(tables)} "
            "have them"
        )
    moment = np.mean(moments, axis=0)
    s = np.sqrt(np.maximum(np.diag(moment), LEAST**2))
    variance, axes = np.linalg.eigh(moment)
    variance, axes = variance[::-1].clip(0.0), axes[:, ::-1]
    share = np.cumsum(variance) / variance.sum() if variance.sum() > 0 else np.ones(len(s))
    count = max(1, int(np.searchsorted(share, HELD)) + 1)
    # In units of s they are no longer at right angles; Gram–Schmidt leaves the first as it is.
    directions = np.linalg.qr(axes[:, :count] / s[:, None])[0].T
    drawn = Spread(s, directions, float(kappas[0]), len(usable))
    gains = np.zeros(len(kappas))
    for number, table in enumerate(usable):
        gains += _gains(table, base, drawn, budgets, kappas, sizes, [seed, number])
        if step is not None:
            step()
    return replace(drawn, kappa=float(kappas[int(gains.argmax())]))


def _gains(
    table: FactorTable, base: BaseWeights, spread: Spread, budgets: Sequence[float],
    kappas: Sequence[float], sizes: Sequence[int], seed: list[int],
) -> NDArray[np.float64]:  # fmt: skip
    """float64[K]: mean later retention of fits of each strength, over the numbers of cases."""
    cases = telling(table)
    early, late = parted(table, cases, len(cases) - max(1, round(JUDGED * len(cases))))
    if not len(early):
        return np.zeros(len(kappas))
    part = table.take(late)
    found = np.zeros(len(kappas))
    for size in sizes:
        if size > len(early) and size != min(sizes):
            continue
        weights = [
            _fitted(table, early[-size:], base, replace(spread, kappa=k), budgets, [*seed, size], trust=3.0)
            for k in kappas
        ]
        scores = np.stack([replace(base, weights=w).value(part.factors, part.machine) for w in weights])
        found += np.asarray(retention(scores, part.offsets, part.needed, budgets).mean(axis=(1, 2)))
    return found / len(sizes)


def _fitted(
    table: FactorTable, cases: NDArray[np.int64], base: BaseWeights, spread: Spread,
    budgets: Sequence[float], seed: list[int], trust: float = 1.0 / FLAT,
) -> NDArray[np.float64]:  # fmt: skip
    part = table.take(cases)
    model = ShrunkenLinear(
        base, spread=spread, tier="all", trust=trust, budgets=budgets, informed=table.informed,
        random_state=np.random.default_rng(seed),
    )  # fmt: skip
    fitted = model.fit(part.factors, part.needed, part.case_of, machine=part.machine)
    return np.asarray(fitted.weights_)
