"""Order what was retrieved: relevance, nudged by value, use and harm inside the spread of the scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Reciprocal rank fusion: a candidate at place r of a list gets 1 / (60 + r) (Cormack et al. 2009).
RRF_K = 60

#: Largest nudge by value and use together, up or down, and by harm downwards (Bizer, dual-signal retrieval);
#: the exported graph has the same.
NUDGE, HARM = 0.05, 0.09

#: The widest that nudges can part two equally relevant candidates.
FULL_RANGE = (1.0 + NUDGE) / (1.0 - HARM)


def fuse(lists: Sequence[Sequence[Hashable]], *, k: int = RRF_K) -> tuple[list[Any], NDArray[np.float64]]:
    """Fuse ranked lists of candidates, the best first, by reciprocal ranks.

    Returns
    -------
    Candidates in the order in which they first appear, and float64[n]: Σ over the lists of 1 / (k + place),
    places from 1.

    Raises
    ------
    ValueError
        For a candidate twice in one list, or k below 1.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more, got {k}")
    total: dict[Hashable, float] = {}
    for number, ranked in enumerate(lists):
        if len(set(ranked)) != len(ranked):
            raise ValueError(f"list {number} names a candidate twice; each has one place")
        for place, candidate in enumerate(ranked, 1):
            total[candidate] = total.get(candidate, 0.0) + 1.0 / (k + place)
    return list(total), np.fromiter(total.values(), dtype=np.float64, count=len(total))


def cosine_relevance(query: ArrayLike, embeddings: ArrayLike) -> NDArray[np.float32]:
    """float32[n] in [0, 1]: cosine of each unit row with the query, cut at 0.

    ``embeddings`` float[n, d] are unit rows (a zero row for nothing); the query is brought to unit length.

    Raises
    ------
    ValueError
        For shapes that do not fit.
    """
    rows = np.asarray(embeddings, dtype=np.float32)
    vector = np.asarray(query, dtype=np.float32)
    if rows.ndim != 2 or vector.shape != (rows.shape[1],):
        raise ValueError(f"a query of shape {vector.shape} does not fit embeddings of shape {rows.shape}")
    length = float(np.linalg.norm(vector))
    found: NDArray[np.float32] = np.asarray(rows @ (vector / max(length, 1e-30)).astype(np.float32))
    np.clip(found, 0.0, 1.0, out=found)
    return np.asarray(found, dtype=np.float32)


def nudge(
    values: NDArray[Any] | float = 0.5,
    use_strength: NDArray[Any] | float = 0.0,
    harm: NDArray[Any] | float = 0.0,
    *,
    width: float = NUDGE,
    harm_width: float = HARM,
) -> Any:
    """What relevance is multiplied by, in [0.91, 1.05]: (1 + m)(1 − harm) + 0.91·harm.

    m = 0.05·(a + b)/(1 + a·b) joins a = 2·value − 1 and b = use strength by the addition that keeps sums of
    numbers in [−1, 1] there. A value of 0.5, no use and no harm are exact no-ops. The graph's ``rank_score``
    is relevance times this. ``width`` and ``harm_width`` put other numbers in place of 0.05 and 0.09.
    """
    t, c = 2.0 * np.asarray(values), np.asarray(use_strength) - 1.0
    if np.ndim(use_strength) == 0 and use_strength == 0.0:
        joined = t - 1.0
    else:
        joined = (t + c) / np.maximum(t * np.asarray(use_strength) - c, 1e-6)
    up = 1.0 + width * joined
    if np.ndim(harm) == 0 and harm == 0.0:
        return up
    return 1.0 - harm_width * np.asarray(harm) + (up - 1.0) * (1.0 - np.asarray(harm))


@dataclass(frozen=True)
class Ranking:
    """The candidates in their new order, and what each signal did.

    Parameters
    ----------
    order
        int64[top]; rows of the candidates, best first.
    score
        float[n]; relevance times the (bounded) nudge.
    relevance, multiplier
        float[n] each.
    strength
        In [0, 1]: the power to which nudges were raised so that they stay inside the spread of the relevance;
        1 where they did anyway.
    spread
        Largest relevance over the smallest; infinite where that is 0.
    """

    order: NDArray[np.int64]
    score: NDArray[np.floating]
    relevance: NDArray[np.floating]
    multiplier: NDArray[np.floating]
    strength: float
    spread: float
    _signals: tuple[Any, Any, Any] = (0.5, 0.0, 0.0)

    def __len__(self) -> int:
        return len(self.order)

    def explain(self) -> Iterator[dict[str, Any]]:
        """For each place: the row, its place by relevance alone, and what each signal alone would move.

        ``value``, ``use`` and ``harm`` are the relative changes of the score by that signal alone; ``moved``
        is how many places up (positive) or down all of them together carried it.
        """
        before = np.empty(len(self.score), dtype=np.int64)
        before[np.argsort(-self.relevance, kind="stable")] = np.arange(1, len(self.score) + 1)
        value, use, harm = self._signals

        def alone(**signal: Any) -> float:
            return float(nudge(**signal) ** self.strength - 1.0)

        for place, row in enumerate(self.order.tolist(), 1):
            yield {
                "row": row,
                "place": place,
                "by_relevance": int(before[row]),
                "moved": int(before[row]) - place,
                "relevance": float(self.relevance[row]),
                "score": float(self.score[row]),
                "value": alone(values=_at(value, row)),
                "use": alone(use_strength=_at(use, row)),
                "harm": alone(harm=_at(harm, row)),
            }


def rank(
    relevance: ArrayLike,
    *,
    values: ArrayLike | None = None,
    use_strength: ArrayLike | None = None,
    harm: ArrayLike | None = None,
    top: int | None = None,
) -> Ranking:
    """Rank n candidates by relevance, nudged.

    Where the nudges' range (1.05 / 0.91) is wider than the spread of the relevance itself, they are raised to
    the power that makes it fit, so that no nudge can lift the least relevant candidate over the most
    relevant. Without nudges the order is that of the relevance, bit for bit. Of equal scores the more
    relevant goes first, then the one with the higher unbounded nudge, then the order given.

    Parameters
    ----------
    relevance
        float[n], 0 or more: of :func:`fuse`, :func:`cosine_relevance` or any other source.
    values
        float[n] in [0, 1]; 0.5 is neutral.
    use_strength
        float[n] in [−1, 1]; recent deliberate use. 0 is neutral.
    harm
        float[n] in [0, 1]; recent corrections. 0 is neutral.
    top
        Only so many places; default all.

    Raises
    ------
    ValueError
        For columns of another length, NaN, or numbers out of range.
    """
    scores = np.asarray(relevance)
    if scores.dtype not in (np.float32, np.float64):
        scores = scores.astype(np.float64)
    if scores.ndim != 1 or (len(scores) and not (scores.min() >= 0 and scores.max() < np.inf)):
        raise ValueError("relevance must be one column of finite numbers of 0 or more")
    if top is not None and top < 1:
        raise ValueError(f"top must be 1 or more, got {top}")
    n = len(scores)
    worth = _signal("values", values, n, 0.0, 1.0, 0.5)
    use = _signal("use_strength", use_strength, n, -1.0, 1.0, 0.0)
    hurt = _signal("harm", harm, n, 0.0, 1.0, 0.0)
    full = nudge(worth, use, hurt)
    lowest, highest = (float(scores.min()), float(scores.max())) if n else (0.0, 0.0)
    spread = highest / lowest if lowest > 0 else math.inf
    strength = 1.0 if n < 2 else strength_within(spread, FULL_RANGE, float(np.finfo(scores.dtype).eps))
    bounded = full if strength == 1.0 else full**strength
    multiplier = np.broadcast_to(np.asarray(bounded, dtype=scores.dtype), (n,))
    nudged = scores * multiplier
    return Ranking(
        order=_order(nudged, scores, np.broadcast_to(full, (n,)), n if top is None else min(top, n)),
        score=nudged,
        relevance=scores,
        multiplier=multiplier,
        strength=strength,
        spread=spread,
        _signals=(worth, use, hurt),
    )


def strength_within(spread: float, full_range: float, eps: float) -> float:
    """The power in [0, 1] to which nudges are raised so that their range fits the spread of the relevance.

    A little less than fits, so that rounding (``eps``, of the scores' type) cannot carry anything over.
    """
    return min(1.0, max(0.0, math.log(spread) - 4.0 * eps) / math.log(full_range))


def _order(
    score: NDArray[np.floating], relevance: NDArray[np.floating], full: NDArray[Any], top: int
) -> NDArray[np.int64]:
    """int64[top]; highest score first, then highest relevance, then highest nudge, then the order given."""
    rows = np.arange(len(score))
    if top < len(score):
        # Everything that may be among the first, ties at the edge included.
        edge = np.partition(score, len(score) - top)[len(score) - top]
        rows = np.flatnonzero(score >= edge)
    return rows[np.lexsort((-full[rows], -relevance[rows], -score[rows]))][:top]


def _signal(name: str, column: ArrayLike | None, n: int, low: float, high: float, neutral: float) -> Any:
    if column is None:
        return neutral
    found = np.asarray(column)
    if found.dtype not in (np.float32, np.float64):
        found = found.astype(np.float64)
    if found.shape != (n,) or (n and not (found.min() >= low and found.max() <= high)):
        raise ValueError(f"{name} must be {n} numbers from {low:g} to {high:g}, one a candidate")
    return found


def _at(signal: Any, row: int) -> float:
    return float(signal if np.ndim(signal) == 0 else signal[row])
