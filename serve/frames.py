"""Frames: weighted sums of what is known about a memory, for different states of mind (elfmem).

score = w_sim·similarity + w_util·u + w_ret·R + w_imp·importance + κ·√var u [+ w_graph·best neighbour].
The weights are elfmem's ("Scoring Memory for Evolving Agents", systems.md section 2). Retrievability here is
FSRS's, which fades more slowly than elfmem's own curve (see ``serve.history.fsrs``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.serve.history.states import States
from memvalue.serve.history.utility import mean, variance
from memvalue.serve.links import Links

#: What stands for something unknown: an importance that was never told, a memory never reviewed.
UNKNOWN = 0.5

_TERMS = ("similarity", "utility", "retrievability", "importance", "exploration")


@dataclass(frozen=True)
class Frame:
    """Weights of the terms; those of the presets sum to 1.

    Parameters
    ----------
    similarity, utility, retrievability, importance
        Weights, 0 or more.
    exploration
        κ: bonus for memories of which little is known. elfmem measured +5.6 points at two years, −3 at one.
    graph
        w_graph: weight of the best neighbour. 0 by default, since it needs links.

    Raises
    ------
    ValueError
        For a negative weight, or none above 0.
    """

    similarity: float
    utility: float
    retrievability: float
    importance: float
    exploration: float = 0.0
    graph: float = 0.0

    def __post_init__(self) -> None:
        weights = (*self.weights, self.graph)
        if not (min(weights) >= 0.0 and 0.0 < sum(self.weights) < np.inf):
            raise ValueError(f"the weights of a frame must be 0 or more, and not all 0; got {weights}")

    @property
    def weights(self) -> tuple[float, ...]:
        """The five weights, without the graph's."""
        known = (self.similarity, self.utility, self.retrievability, self.importance)
        return (*known, self.exploration)

    def queryless(self) -> Frame:
        """Without similarity; the other four (κ is one of the five that sum to 1) grow to the same sum.

        Raises
        ------
        ValueError
            When similarity is all that the frame weighs.
        """
        if self.similarity == 0.0:
            return self
        rest = sum(self.weights) - self.similarity
        if not rest > 0.0:
            raise ValueError("this frame weighs similarity alone; it cannot rank without a question")
        by = sum(self.weights) / rest
        utility, kept, importance, exploration = (w * by for w in self.weights[1:])
        return Frame(0.0, utility, kept, importance, exploration, self.graph)


#: elfmem's frames.
FRAMES: dict[str, Frame] = {
    "self": Frame(0.30, 0.10, 0.15, 0.40, 0.05),
    "attention": Frame(0.55, 0.15, 0.20, 0.05, 0.05),
    "task": Frame(0.40, 0.30, 0.15, 0.10, 0.05),
    "simulate": Frame(0.45, 0.15, 0.20, 0.15, 0.05),
}


@dataclass(frozen=True)
class Framed:
    """n scores and what they consist of.

    Parameters
    ----------
    score
        float64[n].
    order
        int64[n]; best first, equal scores in the order given.
    parts
        Term → float64[n]; they sum to the score.
    """

    score: NDArray[np.float64]
    order: NDArray[np.int64]
    parts: dict[str, NDArray[np.float64]]

    def explain(self) -> Iterator[dict[str, Any]]:
        """For each place: the row, its score, what each term gave, and how far each term moved it.

        ``moved`` is, for each term, the places that the memory would lose (positive) or gain (negative) if
        the term were left out of all scores.
        """
        n = len(self.score)
        places = {}
        for term, part in self.parts.items():
            place = np.empty(n, dtype=np.int64)
            place[np.argsort(-(self.score - part), kind="stable")] = np.arange(1, n + 1)
            places[term] = place
        for now, row in enumerate(self.order.tolist(), 1):
            yield {
                "row": row,
                "place": now,
                "score": float(self.score[row]),
                "parts": {term: float(part[row]) for term, part in self.parts.items()},
                "moved": {term: int(without[row]) - now for term, without in places.items()},
            }


def frame_scores(
    frame: Frame | str,
    *,
    utility: ArrayLike,
    retrievability: ArrayLike,
    importance: ArrayLike,
    similarity: ArrayLike | None = None,
    uncertainty: ArrayLike | None = None,
    links: Links | None = None,
) -> Framed:
    """Score n memories.

    Parameters
    ----------
    frame
        A :class:`Frame`, or the name of a preset.
    utility, retrievability, importance
        float[n] in [0, 1]; NaN counts as .5.
    similarity
        float[n], of the question with each memory; None for no question, when the frame's other weights take
        over (:meth:`Frame.queryless`).
    uncertainty
        float[n] ≥ 0; var u. None leaves the bonus out.
    links
        Among the n rows; the best neighbour is judged by its own score without the graph's term.

    Raises
    ------
    ValueError
        For an unknown preset, columns of another length, or numbers out of range.
    """
    if isinstance(frame, str):
        if frame not in FRAMES:
            raise ValueError(f"unknown frame {frame!r}; one of {', '.join(FRAMES)}")
        frame = FRAMES[frame]
    weights = frame if similarity is not None else frame.queryless()
    u = _column("utility", utility, None)
    n = len(u)
    columns = {
        "similarity": np.zeros(n) if similarity is None else _column("similarity", similarity, n, low=-1.0),
        "utility": u,
        "retrievability": _column("retrievability", retrievability, n),
        "importance": _column("importance", importance, n),
        "exploration": np.zeros(n)
        if uncertainty is None
        else np.sqrt(_column("uncertainty", uncertainty, n)),
    }
    parts = {term: w * columns[term] for term, w in zip(_TERMS, weights.weights, strict=True)}
    score: NDArray[np.float64] = np.sum(list(parts.values()), axis=0)
    if links is not None and weights.graph > 0.0 and len(links):
        parts["graph"] = weights.graph * links.best_neighbour(score)
        score = score + parts["graph"]
    return Framed(score, np.argsort(-score, kind="stable"), parts)


def frame_states(
    states: States,
    now: datetime | float,
    frame: Frame | str,
    *,
    rows: NDArray[np.int64] | None = None,
    similarity: ArrayLike | None = None,
    links: Links | None = None,
) -> Framed:
    """Score the memories of a log (those in ``rows``, all where None) from their states at ``now``."""
    alpha, beta = states.alpha(rows), states.beta(rows)
    return frame_scores(
        frame,
        utility=mean(alpha, beta),
        retrievability=states.retrievability(now, rows),
        importance=states.importance(rows),
        similarity=similarity,
        uncertainty=variance(alpha, beta),
        links=links,
    )


def _column(name: str, given: ArrayLike, n: int | None, *, low: float = 0.0) -> NDArray[np.float64]:
    column = np.asarray(given, dtype=np.float64)
    if column.ndim != 1 or (n is not None and len(column) != n):
        raise ValueError(f"{name} must be one column of {n if n is not None else 'n'} numbers, one a memory")
    column = np.where(np.isnan(column), UNKNOWN, column)
    if len(column) and not (column.min() >= low and column.max() <= 1.0):
        raise ValueError(f"{name} must lie in [{low:g}, 1]")
    return column
