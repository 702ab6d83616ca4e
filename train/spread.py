"""How businesses differ in their weights: the prior of a recalibration, learned from many of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The shipped priors; see :meth:`Spread.default`. With a log, one direction holds four fifths of the spread:
#: usage history against task utility and the like.
_LOGGED = (
    (0.0579, 0.0256, 0.0197, 0.0975, 0.2280, 0.1361, 0.3480),
    ((-0.0705, -0.2149, -0.3858, 0.4022, 0.4804, 0.3677, -0.5217),),
    0.1,
    60,
)  # fmt: skip
_UNLOGGED = (
    (0.0100, 0.0100, 0.0100, 0.0585, 0.1861, 0.0952, 0.1625),
    (
        (-0.0614, -0.3814, -0.4097, 0.2397, -0.5766, 0.2493, 0.4805),
        (-0.3504, -0.1775, -0.0792, -0.5285, 0.1094, -0.5897, 0.4477),
    ),
    0.4,
    60,
)


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
    def default(cls, *, logged: bool = True) -> Spread:
        """The shipped one, around ``models/default.onnx`` and in the order of the seven factors.

        With a log of uses, usage history counts what was really used, and businesses lie far from a base that
        was fitted without; that prior is learned from 60 simulated businesses. Without one (transcripts), it
        is learned from 60 groups of LongMemEval's questions, and pulls four times as hard. A prior learned
        from both together let fits on 20 questions lose .007 of later retention to the base, one learned from
        questions alone .001.
        ``benchmarks/recalibrate.py --parts spread --longmemeval PATH`` gives both.

        Parameters
        ----------
        logged
            The cases know of deliberate uses.
        """
        deviation, directions, kappa, businesses = _LOGGED if logged else _UNLOGGED
        return cls(np.array(deviation), np.array(directions), kappa, businesses)
