"""How far a stated probability can be believed: Brier score, calibration error, reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Bins of the reliability diagram. They hold equally many memories: with 0.5 to 7 % of the memories needed,
#: bins of equal width would put nearly all of them into one, and its error would say nothing.
BINS = 10


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability of n stated probabilities.

    Parameters
    ----------
    brier
        Mean (p − outcome)², in [0, 1] (Brier 1950).
    skill
        1 − brier / (brier of always stating the base rate): 0 says nothing beyond the base rate.
    ece
        Expected calibration error: mean over the bins of |mean p − share of outcomes|, weighted by size
        (Naeini et al. 2015, with bins of equal size).
    worst
        The largest of these gaps.
    rows
        A bin each, from the lowest p: ``{"memories", "stated", "found"}``.
    """

    brier: float
    skill: float
    ece: float
    worst: float
    rows: tuple[dict[str, float], ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for a report or a model's metadata."""
        return {
            "brier": self.brier,
            "skill": self.skill,
            "ece": self.ece,
            "worst": self.worst,
            "rows": [dict(row) for row in self.rows],
        }


def reliability(probability: ArrayLike, outcome: ArrayLike, *, bins: int = BINS) -> Reliability:
    """Compare what was stated with what happened.

    Parameters
    ----------
    probability
        float[n] in [0, 1].
    outcome
        bool[n].
    bins
        1 or more. Equal probabilities always share a bin, so there may be fewer.

    Raises
    ------
    ValueError
        For nothing to judge, lengths that disagree, or a probability outside [0, 1].
    """
    p = np.asarray(probability, dtype=np.float64)
    happened = np.asarray(outcome, dtype=bool)
    if p.ndim != 1 or p.shape != happened.shape or not len(p):
        raise ValueError(
            f"probabilities {p.shape} and outcomes {happened.shape} must be columns of one length"
        )
    if not ((p >= 0) & (p <= 1)).all():
        row = int(np.argmin((p >= 0) & (p <= 1)))
        raise ValueError(f"probability {row} is {p[row]}; it must lie in [0, 1]")
    if bins < 1:
        raise ValueError(f"bins must be 1 or more, got {bins}")
    order = np.argsort(p, kind="stable")
    p, hits = p[order], happened[order].astype(np.float64)
    starts = _bin_starts(p, bins)
    sizes = np.diff(np.append(starts, len(p)))
    stated = np.add.reduceat(p, starts) / sizes
    found = np.add.reduceat(hits, starts) / sizes
    gaps = np.abs(stated - found)
    base = hits.mean()
    brier, reference = float(((p - hits) ** 2).mean()), float(base * (1 - base))
    return Reliability(
        brier=brier,
        skill=1.0 - brier / reference if reference else float("nan"),
        ece=float((gaps * sizes).sum() / len(p)),
        worst=float(gaps.max()),
        rows=tuple(
            {"memories": int(n), "stated": float(s), "found": float(f)}
            for n, s, f in zip(sizes, stated, found, strict=True)
        ),
    )


def _bin_starts(p: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    """First row of each bin of the sorted ``p``; a cut inside a run of equals moves to the run's start."""
    wanted = np.arange(bins) * len(p) // bins
    return np.unique(np.searchsorted(p, p[wanted], side="left"))
