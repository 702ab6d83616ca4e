"""Retrievability: stability, difficulty and the forgetting curve of FSRS-6.

Stability S is in days and defined, as in FSRS, by R(S) = 0.9. elfmem's curve (1 + .5·t/S)^−.5 gives
R(S) = .816 for its own S, so the two are not interchangeable (:func:`elfmem_retrievability`); and elfmem
writes the exponents of S and D with the opposite sign to FSRS's. Here they are FSRS's: success lengthens S by
less the larger S and D are, and forgetting shortens it by more the harder the memory is.

A deliberate use reviews the memory with the grade Good, a correction with Again. Time is continuous; the
package ``fsrs`` counts whole days, and both agree wherever reviews are whole days apart or within a day.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.features.use_clock import Number, power

AGAIN, HARD, GOOD, EASY = 1, 2, 3, 4

#: Pseudo-grade of a peer's stability: no review, S = max(S, what it gives).
MERGE = 0

#: Default weights w0 to w20 of FSRS-6, fitted by its authors on some hundred million reviews of people.
#: What is reviewed here is an agent's memory: a starting point, not a measurement.
FSRS6: tuple[float, ...] = (
    0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796,
    1.4835, 0.0614, 0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542,
)  # fmt: skip

MIN_STABILITY = 0.001
MIN_DIFFICULTY, MAX_DIFFICULTY = 1.0, 10.0


@dataclass(frozen=True)
class Fsrs:
    """The memory model FSRS-6.

    Parameters
    ----------
    weights
        w0 to w20. w19 = 0 and w20 = .5 give FSRS-5's curve.

    Raises
    ------
    ValueError
        For another number of weights, or one that is not finite.
    """

    weights: tuple[float, ...] = FSRS6

    def __post_init__(self) -> None:
        w = tuple(float(x) for x in self.weights)
        if len(w) != len(FSRS6):
            raise ValueError(f"FSRS-6 has {len(FSRS6)} weights, got {len(w)}")
        if not all(math.isfinite(x) for x in w) or min(w[:4]) <= 0.0 or w[20] <= 0.0:
            raise ValueError("the weights of FSRS must be finite, and w0 to w3 and w20 above 0")
        object.__setattr__(self, "weights", w)

    @property
    def exponent(self) -> float:
        """C of R(t) = (1 + F·t/S)^C: −w20."""
        return -self.weights[20]

    @property
    def factor(self) -> float:
        """F of R(t), such that R(S) = 0.9."""
        return math.pow(0.9, 1.0 / self.exponent) - 1.0

    def retrievability(self, days: Number, stability: Number) -> Number:
        """R in (0, 1] after ``days`` ≥ 0; NaN where there is no stability yet."""
        return _power(1.0 + self.factor * days / stability, self.exponent)

    def review(
        self, stability: Number, difficulty: Number, days: Number, grade: int | NDArray[np.int64]
    ) -> tuple[Number, Number]:
        """Stability and difficulty after a review.

        Parameters
        ----------
        stability, difficulty
            S in days and D in [1, 10]; NaN before the first review.
        days
            Since the last review, 0 or more; within one day FSRS's same-day rule holds.
        grade
            1 again, 2 hard, 3 good, 4 easy; a column of them for columns.
        """
        if isinstance(stability, np.ndarray):
            return self._review_columns(stability, difficulty, days, np.asarray(grade))
        if stability != stability:
            return self.weights[int(grade) - 1], self._first_difficulty(int(grade))
        if days < 1.0:
            after = self._same_day(stability, int(grade))
        elif grade == AGAIN:
            after = self._lapse(stability, difficulty, self.retrievability(days, stability))
        else:
            after = self._recall(stability, difficulty, self.retrievability(days, stability), int(grade))
        return max(after, MIN_STABILITY), self._next_difficulty(difficulty, int(grade))

    def _review_columns(
        self,
        stability: NDArray[np.float64],
        difficulty: NDArray[np.float64],
        days: NDArray[np.float64],
        grades: NDArray[np.int64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        s, d = np.empty_like(stability), np.empty_like(difficulty)
        new = np.isnan(stability)
        recalled = self.retrievability(days, stability)
        for grade in np.unique(grades).tolist():
            mine = grades == grade
            s[mine & new], d[mine & new] = self.weights[grade - 1], self._first_difficulty(grade)
            at = mine & ~new & (days < 1.0)
            s[at] = np.maximum(self._same_day(stability[at], grade), MIN_STABILITY)
            at = mine & ~new & (days >= 1.0)
            if grade == AGAIN:
                after = self._lapse(stability[at], difficulty[at], recalled[at])
            else:
                after = self._recall(stability[at], difficulty[at], recalled[at], grade)
            s[at] = np.maximum(after, MIN_STABILITY)
            at = mine & ~new
            d[at] = self._next_difficulty(difficulty[at], grade)
        return s, d

    def first_difficulty(self) -> float:
        """D of a memory that nothing but a peer has spoken of: that of a first Good."""
        return self._first_difficulty(GOOD)

    def _first_difficulty(self, grade: int) -> float:
        """D₀(G) = w4 − e^(w5·(G−1)) + 1, clamped."""
        return min(max(self._start(grade), MIN_DIFFICULTY), MAX_DIFFICULTY)

    def _start(self, grade: int) -> float:
        return self.weights[4] - math.exp(self.weights[5] * (grade - 1)) + 1.0

    def _next_difficulty(self, difficulty: Number, grade: int) -> Number:
        """D moves by −w6·(G−3), damped by (10−D)/9, and reverts by w7 to a first Easy's."""
        w = self.weights
        moved = difficulty + (10.0 - difficulty) * (-w[6] * (grade - 3)) / 9.0
        after = w[7] * self._start(EASY) + (1.0 - w[7]) * moved
        return _most(_least(after, MAX_DIFFICULTY), MIN_DIFFICULTY)

    def _recall(self, stability: Number, difficulty: Number, recalled: Number, grade: int) -> Number:
        """S·(1 + e^w8·(11 − D)·S^−w9·(e^(w10(1−R)) − 1)), less for Hard, more for Easy."""
        w = self.weights
        bonus = w[15] if grade == HARD else w[16] if grade == EASY else 1.0
        gain = power(math.e, w[10] * (1.0 - recalled)) - 1.0
        return stability * (
            1.0 + math.exp(w[8]) * (11.0 - difficulty) * _power(stability, -w[9]) * gain * bonus
        )

    def _lapse(self, stability: Number, difficulty: Number, recalled: Number) -> Number:
        """w11·D^−w12·((S + 1)^w13 − 1)·e^(w14(1−R)), never above S/e^(w17·w18)."""
        w = self.weights
        after = (
            w[11]
            * _power(difficulty, -w[12])
            * (_power(stability + 1.0, w[13]) - 1.0)
            * power(math.e, w[14] * (1.0 - recalled))
        )
        return _least(after, stability / math.exp(w[17] * w[18]))

    def _same_day(self, stability: Number, grade: int) -> Number:
        """S·e^(w17(G − 3 + w18))·S^−w19, no shrinking unless the grade is Again."""
        w = self.weights
        change = math.exp(w[17] * (grade - 3 + w[18])) * _power(stability, -w[19])
        return stability * (change if grade == AGAIN else _most(change, 1.0))


def elfmem_retrievability(elapsed: Number, stability: Number) -> Number:
    """elfmem's curve (1 + .5·Δt/S)^−.5, R(S) = .816; any one unit of time for both."""
    return _power(1.0 + 0.5 * elapsed / stability, -0.5)


def _power(base: Number, exponent: float) -> Number:
    """base^exponent by the C library, for the reason given at ``features.use_clock.power``."""
    if isinstance(base, np.ndarray):
        return np.fromiter((math.pow(x, exponent) for x in base.tolist()), np.float64, base.size)
    return math.pow(base, exponent)


def _least(x: Number, limit: Number | float) -> Number:
    return np.minimum(x, limit) if isinstance(x, np.ndarray) else min(x, limit)


def _most(x: Number, limit: Number | float) -> Number:
    return np.maximum(x, limit) if isinstance(x, np.ndarray) else max(x, limit)
