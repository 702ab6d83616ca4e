"""Turn values into probabilities and tiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Edges between the paper's four depths (arXiv 2606.12945, encoding depth).
PAPER_EDGES: tuple[float, float, float] = (0.20, 0.45, 0.70)

#: Shares of memories per depth. With the paper's edges and its own factors nearly every turn was semantic and
#: none meta (targets.md); shares make all four depths reachable for every model.
TIER_SHARES: tuple[float, float, float, float] = (0.4, 0.3, 0.2, 0.1)


@dataclass(frozen=True, slots=True)
class Platt:
    """P(needed | value) = 1 / (1 + exp(−(slope · value + intercept))), slope ≥ 0."""

    slope: float
    intercept: float

    def __call__(self, values: ArrayLike) -> NDArray[np.float64]:
        """float64[n]: probability that a memory of this value is needed."""
        z = self.slope * np.asarray(values, dtype=np.float64) + self.intercept
        probability: NDArray[np.float64] = 0.5 * (1.0 + np.tanh(0.5 * z))  # the logistic, without overflow
        return probability


def platt(values: ArrayLike, needed: ArrayLike, *, steps: int = 100) -> Platt:
    """Fit Platt's sigmoid (1999) by Newton's method, with his smoothed targets.

    Parameters
    ----------
    values
        float[n]; *held-out* values, of cases that the model was not fitted on.
    needed
        bool[n].
    steps
        Newton steps at most.

    The targets (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2) keep the curve off 0 and 1. A slope below 0, which would make
    better memories riskier, is replaced by 0 and the base rate.

    Raises
    ------
    ValueError
        For NaN, lengths that disagree, or fewer than one memory of either kind.
    """
    v = np.asarray(values, dtype=np.float64)
    flags = np.asarray(needed, dtype=bool)
    if v.ndim != 1 or v.shape != flags.shape:
        raise ValueError(f"values {v.shape} and needed {flags.shape} must be two columns of one length")
    if not np.isfinite(v).all():
        raise ValueError("values hold NaN or infinity")
    yes, no = int(flags.sum()), int((~flags).sum())
    if not yes or not no:
        raise ValueError("calibration needs both needed and other memories among the held-out ones")
    target = np.where(flags, (yes + 1) / (yes + 2), 1 / (no + 2))
    spread = v.std()
    base = float(np.log(target.mean() / (1 - target.mean())))
    if spread == 0:
        return Platt(0.0, base)
    x = np.column_stack([(v - v.mean()) / spread, np.ones_like(v)])

    def loss(point: NDArray[np.float64]) -> float:
        z = x @ point
        return float((np.logaddexp(0.0, z) - target * z).sum())

    beta = np.array([0.0, base])
    low = loss(beta)
    for _ in range(steps):
        p = 0.5 * (1.0 + np.tanh(0.5 * (x @ beta)))
        gradient = x.T @ (p - target)
        curvature = (x * (p * (1 - p))[:, None]).T @ x + 1e-12 * np.eye(2)
        move = np.linalg.solve(curvature, gradient)
        scale = 1.0
        while loss(beta - scale * move) > low and scale > 1e-10:
            scale /= 2
        beta = beta - scale * move
        value = loss(beta)
        done = low - value < 1e-12 * len(v)
        low = min(low, value)
        if done:
            break
    slope = float(beta[0] / spread)
    if slope <= 0:
        return Platt(0.0, base)
    return Platt(slope, float(beta[1] - slope * v.mean()))


def tier_edges(values: ArrayLike, shares: Sequence[float] = TIER_SHARES) -> tuple[float, float, float]:
    """Edges that give the four depths the wanted shares of ``values``, shallow first.

    A memory is at least as deep as tier i when its value reaches edge i. Equal values cannot be parted, so
    each edge is the one whose share below comes closest to the wanted one, placed midway between two
    neighbouring values (in float32, the precision of the model's output). With fewer than four different
    values some edges coincide and the tiers between them stay empty.

    Raises
    ------
    ValueError
        For no values, NaN, or shares that are not four numbers ≥ 0 with sum 1.
    """
    v = np.asarray(values, dtype=np.float32)
    if v.ndim != 1 or not len(v) or not np.isfinite(v).all():
        raise ValueError("tier edges need a non-empty column of finite values")
    part = np.asarray(shares, dtype=np.float64)
    if part.shape != (4,) or (part < 0).any() or abs(part.sum() - 1) > 1e-9:
        raise ValueError(f"shares must be four numbers of 0 or more with sum 1, got {shares!r}")
    distinct, counts = np.unique(v, return_counts=True)
    below = np.cumsum(counts) / len(v)  # share at or below each distinct value
    # Candidate edges: under everything, between neighbours, above everything.
    between = ((distinct[:-1].astype(np.float64) + distinct[1:]) / 2).astype(np.float32)
    between = np.where(between > distinct[:-1], between, distinct[1:])
    candidates = np.concatenate([distinct[:1], between, [np.nextafter(distinct[-1], np.float32(np.inf))]])
    reached = np.concatenate([[0.0], below])
    picked = [float(candidates[np.abs(reached - want).argmin()]) for want in np.cumsum(part)[:3]]
    return picked[0], picked[1], picked[2]
