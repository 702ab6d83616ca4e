"""How businesses differ in their weights: the prior of a recalibration, learned from many of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The shipped prior; see :meth:`Spread.default`. One direction holds four fifths of the spread: usage history
#: against task utility and the like, that is, whether there is a log of uses to go by.
_DEVIATION = (0.0331, 0.0174, 0.0178, 0.0743, 0.2128, 0.1154, 0.2817)
_DIRECTIONS = ((-0.0014, 0.1865, 0.1691, -0.3411, -0.5682, -0.3202, 0.6284),)
_KAPPA = 0.1
_BUSINESSES = 80


@dataclass(frozen=True, eq=False)
class Spread:
    """Spread of weights between businesses, around the base.

    Parameters
    ----------
    deviation
        float64[F] > 0: standard deviation of each weight between businesses, s.
    directions
        float64[K, F]: orthonormal directions of (w − w₀)/s, the ones in which businesses differ most first.
    kappa
        Strength of the penalty κ/n · ½ Σ((w − w₀)/s)², in cases: what one case's retention is worth against
        a step of one s.
    businesses
        How many it was learned from; 0 for a chosen one.
    """

    deviation: NDArray[np.float64]
    directions: NDArray[np.float64]
    kappa: float
    businesses: int = 0

    def __post_init__(self) -> None:
        width = len(self.deviation)
        if not (np.isfinite(self.deviation).all() and (self.deviation > 0).all()):
            raise ValueError("Spread.deviation must be finite and above 0, one number a factor")
        if self.directions.ndim != 2 or self.directions.shape[1] != width:
            raise ValueError(f"Spread.directions has shape {self.directions.shape}, expected (K, {width})")
        if not (self.kappa >= 0 and np.isfinite(self.kappa)):
            raise ValueError(f"Spread.kappa must be finite and 0 or more, got {self.kappa}")

    @classmethod
    def plain(cls, deviation: NDArray[np.float64], *, kappa: float) -> Spread:
        """One in which weights differ independently: every factor is a direction of its own."""
        s = np.asarray(deviation, dtype=np.float64)
        return cls(s, np.eye(len(s)), kappa)

    @classmethod
    def default(cls) -> Spread:
        """The shipped one, around ``models/default.onnx`` and in the order of the seven factors.

        Learned from 40 simulated businesses and 40 groups of LongMemEval's questions:
        ``benchmarks/recalibrate.py --parts spread --learn-from 40 --longmemeval PATH``.
        """
        return cls(np.array(_DEVIATION), np.array(_DIRECTIONS), _KAPPA, _BUSINESSES)
