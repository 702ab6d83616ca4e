"""Links between memories: given by the caller or proposed by similarity, and strengthened by outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: A proposal's weight: low, since it says only that two memories look alike (elfmem, systems.md section 2).
PROPOSED_WEIGHT = 0.1

#: Most similar memories that a memory is linked to, and the cosine that they must reach.
PROPOSED, THRESHOLD = 5, 0.6

#: How far one outcome moves the weights of the links that took part in it.
RATE = 0.1

#: Rows compared at a time: 1,024 × 100,000 float32 are 400 MB at most.
_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Links:
    """m undirected links among memories given by row.

    Parameters
    ----------
    a, b
        int64[m]; the two rows, a < b, each pair once.
    weight
        float64[m] in [0, 1].

    Raises
    ------
    ValueError
        For columns of different lengths, a link of a memory to itself, a pair twice, or a weight out of
        range.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    weight: NDArray[np.float64]

    def __post_init__(self) -> None:
        a, b = np.asarray(self.a, dtype=np.int64), np.asarray(self.b, dtype=np.int64)
        w = np.asarray(self.weight, dtype=np.float64)
        if not (a.ndim == 1 and a.shape == b.shape == w.shape):
            raise ValueError(f"links have columns of shapes {a.shape}, {b.shape} and {w.shape}; one a link")
        if len(a) and (a == b).any():
            raise ValueError(f"row {int(a[(a == b).argmax()])} is linked to itself")
        if len(a) and not (min(a.min(), b.min()) >= 0 and w.min() >= 0.0 and w.max() <= 1.0):
            raise ValueError("links need rows of 0 or more and weights in [0, 1]")
        low, high = np.minimum(a, b), np.maximum(a, b)
        if len(np.unique(np.stack([low, high]), axis=1).T) != len(a):
            raise ValueError("a pair is linked twice; give each link once")
        object.__setattr__(self, "a", low)
        object.__setattr__(self, "b", high)
        object.__setattr__(self, "weight", w)

    def __len__(self) -> int:
        return len(self.a)

    def best_neighbour(self, scores: ArrayLike) -> NDArray[np.float64]:
        """float64[n]; for each memory the largest weight · score among its neighbours, 0 without any.

        Raises
        ------
        ValueError
            For a link to a row that has no score.
        """
        given = np.asarray(scores, dtype=np.float64)
        if len(self) and self.b.max() >= len(given):
            raise ValueError(f"a link names row {int(self.b.max())}, but there are {len(given)} scores")
        best = np.zeros(len(given))
        np.maximum.at(best, self.a, self.weight * given[self.b])
        np.maximum.at(best, self.b, self.weight * given[self.a])
        return best

    def reinforce(self, rows: ArrayLike, signal: float, *, rate: float = RATE) -> Links:
        """After an outcome: links both of whose ends took part move towards its signal, w += rate·(s − w).

        Parameters
        ----------
        rows
            int[k]; the memories that were answered from.
        signal
            In [0, 1]; 1 helped.
        rate
            In [0, 1]; 0 changes nothing.
        """
        if not (0.0 <= signal <= 1.0 and 0.0 <= rate <= 1.0):
            raise ValueError(f"signal and rate must lie in [0, 1], got {signal} and {rate}")
        took_part = np.asarray(rows, dtype=np.int64)
        both = np.isin(self.a, took_part) & np.isin(self.b, took_part)
        moved = self.weight + rate * (signal - self.weight)
        return Links(self.a, self.b, np.where(both, moved, self.weight))

    def merge(self, others: Links) -> Links:
        """These, and those of ``others`` whose pair is not among them."""
        a, b = np.append(self.a, others.a), np.append(self.b, others.b)
        first = np.unique(np.stack([a, b]), axis=1, return_index=True)[1]
        keep = np.sort(first)
        return Links(a[keep], b[keep], np.append(self.weight, others.weight)[keep])


def propose_links(
    embeddings: ArrayLike,
    *,
    count: int = PROPOSED,
    threshold: float = THRESHOLD,
    weight: float = PROPOSED_WEIGHT,
) -> Links:
    """Propose a link from each memory to the ``count`` most similar ones above a cosine.

    Parameters
    ----------
    embeddings
        float[n, d]; unit rows, a zero row for nothing. Compared block by block.
    count, threshold, weight
        See above; the caller's own links come first by ``given.merge(proposed)``.

    Returns
    -------
    Links
        In order of rows.

    Raises
    ------
    ValueError
        For anything but a table of finite numbers, or a number out of range.
    """
    rows = np.asarray(embeddings, dtype=np.float32)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"embeddings must be a table of finite numbers, got shape {rows.shape}")
    if count < 1 or not -1.0 <= threshold <= 1.0:
        raise ValueError(f"count must be 1 or more and threshold a cosine, got {count} and {threshold}")
    pairs = []
    n = len(rows)
    for start in range(0, n, _ROWS):
        block = rows[start : start + _ROWS] @ rows.T
        here = np.arange(len(block))
        block[here, start + here] = -np.inf
        if count < n:
            best = np.argpartition(-block, count - 1, axis=1)[:, :count]
        else:
            best = np.broadcast_to(np.arange(n), block.shape)
        near = np.take_along_axis(block, best, axis=1) >= threshold
        i, j = here[:, None] + start + np.zeros_like(best), best
        pairs.append(np.stack([np.minimum(i, j)[near], np.maximum(i, j)[near]]))
    found = np.unique(np.concatenate(pairs, axis=1), axis=1) if pairs else np.zeros((2, 0), dtype=np.int64)
    return Links(found[0], found[1], np.full(found.shape[1], float(weight)))
