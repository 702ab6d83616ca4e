"""Rank the candidates of many questions at once, as :func:`memvalue.serve.rank.rank` ranks those of one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.serve.rank import HARM, NUDGE, nudge


@dataclass(frozen=True)
class Rankings:
    """q rankings of up to n candidates.

    Parameters
    ----------
    order
        int64[q, top]; columns of the candidates, best first, −1 where a question has fewer.
    score, multiplier
        float64[q, n]; relevance times the bounded nudge, and that nudge; NaN where there is no candidate.
    strength
        float64[q]; the power to which each question's nudges were raised.
    """

    order: NDArray[np.int64]
    score: NDArray[np.float64]
    multiplier: NDArray[np.float64]
    strength: NDArray[np.float64]


def rank_many(
    relevance: ArrayLike,
    *,
    values: NDArray[Any] | float = 0.5,
    use_strength: NDArray[Any] | float = 0.0,
    harm: NDArray[Any] | float = 0.0,
    top: int | None = None,
    width: float = NUDGE,
    harm_width: float = HARM,
    bounded: bool = True,
) -> Rankings:
    """Rank q questions.

    Parameters
    ----------
    relevance
        float[q, n], 0 or more; NaN where a question has fewer candidates.
    values, use_strength, harm
        As :func:`~memvalue.serve.rank.rank` takes them, float[q, n] or one number for all.
    top
        Only so many places; default all.
    width, harm_width
        Largest nudges; other than the defaults only to try them.
    bounded
        Keep nudges inside the spread of each question's relevance, which only a trial may leave.

    Raises
    ------
    ValueError
        For shapes that do not fit or numbers out of range.
    """
    scores = np.asarray(relevance, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"relevance must be a table of questions and candidates, got shape {scores.shape}")
    there = ~np.isnan(scores)
    if not ((scores >= 0) & (scores < np.inf) | ~there).all():
        raise ValueError("relevance must be finite numbers of 0 or more, NaN where there is no candidate")
    if not (0.0 <= width < 1.0 and 0.0 <= harm_width < 1.0):
        raise ValueError(f"nudges must lie in [0, 1), got {width} and {harm_width}")
    if top is not None and top < 1:
        raise ValueError(f"top must be 1 or more, got {top}")
    for name, column, low, high in (
        ("values", values, 0.0, 1.0), ("use_strength", use_strength, -1.0, 1.0), ("harm", harm, 0.0, 1.0)
    ):  # fmt: skip
        given = np.asarray(column)
        if given.ndim and given.shape != scores.shape:
            raise ValueError(f"{name} has shape {given.shape}, relevance {scores.shape}")
        if not ((given >= low) & (given <= high) | ~there).all():
            raise ValueError(f"{name} must lie in [{low:g}, {high:g}], one a candidate")
    full = np.asarray(nudge(values, use_strength, harm, width=width, harm_width=harm_width))
    full = np.where(there, np.broadcast_to(full, scores.shape), np.nan)
    strength = np.ones(len(scores))
    if bounded and scores.size and (width or harm_width):
        full_range = math.log((1.0 + width) / (1.0 - harm_width))
        lowest = np.where(there, scores, np.inf).min(axis=1)
        highest = np.where(there, scores, 0.0).max(axis=1)
        some = (there.sum(axis=1) > 1) & (lowest > 0)
        room = np.maximum(0.0, np.log(highest[some] / lowest[some]) - 4.0 * np.finfo(np.float64).eps)
        strength[some] = np.minimum(1.0, room / full_range)
    multiplier = full.copy()
    weak = strength < 1.0
    multiplier[weak] = full[weak] ** strength[weak, None]
    nudged = scores * multiplier
    order = np.lexsort((-full, -scores, -nudged), axis=1)[:, : scores.shape[1] if top is None else top]
    order = np.where(np.take_along_axis(there, order, axis=1), order, -1)
    return Rankings(order, nudged, multiplier, strength)
