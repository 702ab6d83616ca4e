"""How sure a figure is: the paired BCa bootstrap over cases, and Holm's correction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Resamples of a bootstrap (issue 2). One less than 10,000, so that (resamples + 1) · 0.05 is whole.
RESAMPLES = 9_999

#: Columns handled at once: 9,999 × 64 doubles are 5 MB, which stays in cache while it is sorted.
_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class Interval:
    """Point, interval and p-value of K statistics; each array is float64[K], NaN where undefined."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]


class Resampling:
    """Bootstrap resamples of n cases, drawn once and shared by every statistic over the same cases.

    Sharing the resamples is what makes comparisons paired and the whole table deterministic.

    Parameters
    ----------
    n
        Cases.
    rng
        The source of randomness; ``rng.integers(0, n, (resamples, n))`` is the only draw.
    resamples
        How many.

    Raises
    ------
    ValueError
        For fewer than one case or resample.
    """

    def __init__(self, n: int, rng: np.random.Generator, resamples: int = RESAMPLES) -> None:
        if n < 1 or resamples < 1:
            raise ValueError(f"a bootstrap needs cases and resamples, got {n} and {resamples}")
        self.n = n
        self.resamples = resamples
        drawn = rng.integers(0, n, (resamples, n))
        drawn += np.arange(resamples)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=resamples * n)
        self._counts = counts.astype(np.float64).reshape(resamples, n)

    def bca(
        self, values: ArrayLike, weights: ArrayLike | None = None, *, confidence: float = 0.95
    ) -> Interval:
        """Bias-corrected and accelerated interval of the (weighted) mean over cases of each column.

        Efron 1987, as in Efron & Tibshirani 1993, eq. 14.9–14.15: bias from the share of resamples below
        the observed mean (half of the ties), acceleration from the jackknife. A paired comparison is the
        same thing over differences. The two-sided p-value inverts the interval: it is the level at which
        its edge touches 0, counted with one extra resample on either side (Davison & Hinkley 1997, eq. 4.11)
        and never below 2^(1 − n), the least that n paired differences can support (the sign-flip test's).

        Parameters
        ----------
        values
            float[n] or float[n, K]; finite.
        weights
            float[n], positive; None weighs all cases alike.
        confidence
            Coverage in (0, 1).

        Returns
        -------
        Interval
            Arrays of K. One case gives its value with an undefined interval; columns in which all resamples
            agree have an interval of zero width.

        Raises
        ------
        ValueError
            For a wrong number of rows, a value that is not finite, or a weight that is not positive.
        """
        x = np.asarray(values, dtype=np.float64)
        x = x[:, None] if x.ndim == 1 else x
        w = np.ones(self.n) if weights is None else np.asarray(weights, dtype=np.float64)
        if len(x) != self.n or len(w) != self.n:
            raise ValueError(f"expected {self.n} rows, one a case, got {len(x)} values and {len(w)} weights")
        if not np.isfinite(x).all():
            raise ValueError("a bootstrap needs finite values; leave out the cases that have none")
        if not (w > 0).all():
            raise ValueError("weights of a bootstrap must be positive")
        total = w.sum()
        value = (w @ x) / total
        k = x.shape[1]
        low, high, p = np.full(k, np.nan), np.full(k, np.nan), np.full(k, np.nan)
        if self.n == 1:
            return Interval(value, low, high, p)
        mass = self._counts @ w
        for start in range(0, k, _COLUMNS):
            part = slice(start, min(start + _COLUMNS, k))
            weighted = w[:, None] * x[:, part]
            means = (weighted.T @ self._counts.T) / mass
            left_out = (weighted.sum(axis=0) - weighted) / (total - w)[:, None]
            low[part], high[part], p[part] = _bca_columns(means, value[part], left_out, confidence)
        floor = 2.0 ** (1 - self.n) if self.n < 60 else 0.0
        return Interval(value, low, high, np.clip(p, floor, 1.0))


def _bca_columns(
    means: NDArray[np.float64],
    value: NDArray[np.float64],
    left_out: NDArray[np.float64],
    confidence: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Low, high and p of each column from its resampled means [K, R] and jackknife means [n, K]."""
    from scipy.special import ndtr, ndtri

    r = means.shape[1]
    # Retention takes few values, so resampled means often equal the observed one up to rounding: a tie.
    close = 1e-12 * np.maximum(1.0, np.abs(value))
    means = np.sort(means, axis=1)
    below = _rank(means, value - close, "left")
    at_most = _rank(means, value + close, "right")
    bias = ndtri(np.clip((below + at_most) / (2.0 * r), 0.5 / r, 1.0 - 0.5 / r))
    gap = left_out.mean(axis=0) - left_out
    spread = (gap**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = np.where(spread > 1e-24, (gap**3).sum(axis=0) / (6.0 * spread**1.5), 0.0)
    flat = means[:, -1] - means[:, 0] <= 2 * close
    tail = ndtri((1.0 - confidence) / 2.0)

    def level(z: float) -> NDArray[np.float64]:
        moved = bias + z
        return np.asarray(ndtr(bias + moved / (1.0 - skew * moved)), dtype=np.float64)

    low, high = _quantile(means, level(tail)), _quantile(means, level(-tail))

    # The share of resamples on the far side of 0, seen through the same correction.
    under = (_rank(means, -close, "left") + _rank(means, close, "right")) / 2.0
    edge = ndtri((under + 1.0) / (r + 2.0)) - bias
    one_sided = ndtr(edge / (1.0 + skew * edge) - bias)
    p = np.maximum(2.0 * np.minimum(one_sided, 1.0 - one_sided), 2.0 / (r + 1.0))  # all that r can resolve
    low, high = np.where(flat, value, low), np.where(flat, value, high)
    p = np.where(flat, np.where(np.abs(value) <= close, 1.0, 2.0 / (r + 1.0)), p)
    return low, high, p


def _rank(
    ordered: NDArray[np.float64], at: NDArray[np.float64], side: Literal["left", "right"]
) -> NDArray[np.float64]:
    """float64[K]; how many of each sorted row lie below (left), or at or below (right), its threshold."""
    found = (np.searchsorted(row, x, side) for row, x in zip(ordered, at, strict=True))
    return np.fromiter(found, np.float64, count=len(ordered))


def _quantile(ordered: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[K]; a quantile of each sorted row, linear between order statistics."""
    last = ordered.shape[1] - 1
    at = share * last
    lower = np.floor(at).astype(np.int64)
    row = np.arange(len(ordered))
    a, b = ordered[row, lower], ordered[row, np.minimum(lower + 1, last)]
    return np.asarray(a + (b - a) * (at - lower), dtype=np.float64)


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjusted p-values (Holm 1979), in the given order.

    Parameters
    ----------
    p
        float[m] in [0, 1]; NaN marks a comparison that was not made and does not count.

    Returns
    -------
    float64[m]
        Reject at level α exactly where the value is at most α; NaN stays NaN.

    Raises
    ------
    ValueError
        For a p-value outside [0, 1].
    """
    given = np.asarray(p, dtype=np.float64)
    made = np.flatnonzero(~np.isnan(given))
    if len(made) and not ((given[made] >= 0) & (given[made] <= 1)).all():
        raise ValueError("p-values must lie in [0, 1]")
    order = made[np.argsort(given[made], kind="stable")]
    adjusted = np.full(given.shape, np.nan)
    factor = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factor * given[order]))
    return adjusted


def mean_without_nan(
    values: NDArray[np.float64], axis: int | tuple[int, ...], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Mean over ``axis``, leaving out NaN; NaN, without a warning, where nothing is left.

    ``weights`` broadcasts against ``values``; None weighs all alike.
    """
    there = ~np.isnan(values)
    w = there if weights is None else np.where(there, weights, 0.0)
    total = np.sum(np.where(there, values, 0.0) * w, axis=axis)
    mass = np.sum(w, axis=axis, dtype=np.float64)
    return np.asarray(np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), math.nan), dtype=np.float64)
