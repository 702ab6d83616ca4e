"""SuperMemo-2: how far a memory is into its interval.

Woźniak (1990), "Optimization of repetition spacing in the practice of learning", master's thesis, University
of Technology in Poznań; algorithm SM-2. Intervals are 1 day, 6 days, and then the last one times the easiness
EF. After an answer of quality q in 0..5, EF ← EF + .1 − (5 − q)(.08 + (5 − q)·.02), at least 1.3, from 2.5 at
the start; below quality 3 the intervals begin anew.

SM-2 schedules and has no strength: **the score is ours**, minus the share of the interval that has gone by.
Being written is the first repetition; a success has quality 4, which leaves EF as it is, a failure quality 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

FIRST_DAYS, SECOND_DAYS = 1.0, 6.0
EASINESS, LEAST_EASINESS = 2.5, 1.3
SUCCESS, FAILURE = 4.0, 1.0


def sm2(view: View) -> NDArray[np.float64]:
    """float64[n] ≤ 0; −(days since the last repetition)/(interval), −1 when it is due."""
    n = len(view)
    easiness, interval = np.full(n, EASINESS), np.full(n, FIRST_DAYS)
    repetitions, last = np.ones(n), view.created.copy()
    answers = view.outcomes()
    for rows, at in answers.rounds():
        good = answers.good[at]
        gap = 5.0 - np.where(good, SUCCESS, FAILURE)
        easiness[rows] = np.maximum(easiness[rows] + 0.1 - gap * (0.08 + gap * 0.02), LEAST_EASINESS)
        repetitions[rows] = np.where(good, repetitions[rows] + 1.0, 1.0)
        k = repetitions[rows]
        longer = np.where(k == 2.0, SECOND_DAYS, interval[rows] * easiness[rows])
        interval[rows] = np.where(k == 1.0, FIRST_DAYS, longer)
        last[rows] = np.maximum(answers.time[at], last[rows])
    return np.asarray((last - view.now) / 24.0 / interval)
