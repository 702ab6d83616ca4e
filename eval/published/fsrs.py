"""FSRS-6: retrievability at the moment asked about.

Ye, Su & Cao (2022), "A stochastic shortest path algorithm for optimizing spaced repetition scheduling", KDD,
and the description of FSRS-6 by its authors; the model itself is ``serve.history.fsrs``, checked there
against the package ``fsrs``, with the default weights.

Being written is a first review with the grade Good, each deliberate use another; a correction, contradiction,
replacement or unhelpful confirmation is graded Again. The events and grades are those of ``serve.history``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View
from memvalue.serve.history.fsrs import AGAIN, GOOD, Fsrs


def fsrs(view: View, *, model: Fsrs | None = None) -> NDArray[np.float64]:
    """float64[n] in (0, 1]; R."""
    model = Fsrs() if model is None else model
    n = len(view)
    unknown = np.full(n, np.nan)
    stability, difficulty = model.review(unknown, unknown, np.zeros(n), np.full(n, GOOD))
    reviewed = view.created.copy()
    reviews = view.outcomes()
    for rows, at in reviews.rounds():
        time = np.maximum(reviews.time[at], reviewed[rows])
        grade = np.where(reviews.good[at], GOOD, AGAIN)
        days = (time - reviewed[rows]) / 24.0
        stability[rows], difficulty[rows] = model.review(stability[rows], difficulty[rows], days, grade)
        reviewed[rows] = time
    return model.retrievability((view.now - reviewed) / 24.0, stability)
