"""The long clock: ACT-R's base-level activation, exact and in constant space.

B = ln Σ tₖ^−0.5 over the ages of all uses (Anderson & Schooler 1991). The constant-space form keeps the
latest uses and spreads the others evenly over the rest of the life (Petrov 2006):
B ≈ ln(Σ_{i≤k} tᵢ^−0.5 + 2(n − k)/(√tₙ + √tₖ)), which is his equation at d = .5 with the difference of roots
cancelled, so that equal ages divide nothing by zero.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.serve.history.errors import HistoryError

#: k: latest uses that are kept; up to k uses B is exact. Mean error of B beyond that, on 2,000 histories
#: each (benchmarks/history.py): .013 where uses are scattered at random over a life, .12 where they come in
#: heavy-tailed bursts (.060 and .35 with one kept, .007 and .070 with 16).
KEPT = 8

#: Uses within a minute of now count as a minute old: a use just now has no infinite activation.
MIN_AGE_HOURS = 1.0 / 60.0


def activation(ages_hours: ArrayLike) -> float:
    """B of one memory from the ages of all its uses, in hours; −inf without any.

    Raises HistoryError for a negative age: an event of the future says nothing of the past.
    """
    ages = np.asarray(ages_hours, dtype=np.float64)
    if ages.size and not ages.min() >= 0.0:
        raise HistoryError(f"an age is {ages.min()} hours; leave out events after the moment asked about")
    total = float((1.0 / np.sqrt(np.maximum(ages, MIN_AGE_HOURS))).sum())
    return math.log(total) if total > 0.0 else -math.inf


def activation_from_latest(latest: list[float], uses: float, first: float, now: float) -> float:
    """B of one memory from its ``KEPT`` latest uses.

    Parameters
    ----------
    latest
        Hours of the latest uses, newest first; −inf where there are fewer.
    uses, first
        How many uses there were, and when the first was.
    now
        Hours, on the same clock.
    """
    total = 0.0
    age = math.inf
    for time in latest:
        age = max(now - time, MIN_AGE_HOURS)
        total += 1.0 / math.sqrt(age)
    if uses > KEPT:
        total += 2.0 * (uses - KEPT) / (math.sqrt(max(now - first, MIN_AGE_HOURS)) + math.sqrt(age))
    return math.log(total) if total > 0.0 else -math.inf


def activations_from_latest(
    latest: NDArray[np.float64], uses: NDArray[np.float64], first: NDArray[np.float64], now: float
) -> NDArray[np.float64]:
    """float64[n]; the same for n memories, ``latest`` being float64[n, KEPT], to the same bits."""
    total = np.zeros(len(uses))
    age = np.full(len(uses), np.inf)
    for column in latest.T:
        age = np.maximum(now - column, MIN_AGE_HOURS)
        total += 1.0 / np.sqrt(age)
    more = uses > KEPT
    if more.any():
        life = np.sqrt(np.maximum(now - first[more], MIN_AGE_HOURS))
        total[more] += 2.0 * (uses[more] - KEPT) / (life + np.sqrt(age[more]))
    found = (math.log(x) if x > 0.0 else -math.inf for x in total.tolist())
    return np.fromiter(found, np.float64, len(total))
