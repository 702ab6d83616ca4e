"""Turn values into tiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

#: Edges between the paper's four depths (arXiv 2606.12945, encoding depth).
PAPER_EDGES: tuple[float, float, float] = (0.20, 0.45, 0.70)

#: Shares of memories per depth. With the paper's edges and its own factors nearly every turn was semantic and
#: none meta (targets.md); shares make all four depths reachable for every model.
TIER_SHARES: tuple[float, float, float, float] = (0.4, 0.3, 0.2, 0.1)


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
