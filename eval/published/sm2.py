"""SuperMemo-2: how far a memory is into its interval.

Woźniak (1990), "Optimization of repetition spacing in the practice of learning", master's thesis, University
of Technology in Poznań; algorithm SM-2. Intervals are 1 day, 6 days, and then the last one times the easiness
EF, rounded up to whole days. After an answer of quality q in 0..5, EF ← EF + .1 − (5 − q)(.08 + (5 − q)·.02),
at least 1.3, from 2.5 at the start; below quality 3 the intervals begin anew and EF stays as it is (step 6 of
the algorithm; many implementations lower it there too).

SM-2 schedules and has no strength: **the score is ours**, minus the share of the interval that has gone by.
So is the quality: being written is the first repetition; a success has quality 3 to 5 by its signal, and a
failure one below 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

FIRST_DAYS, SECOND_DAYS = 1.0, 6.0
EASINESS, LEAST_EASINESS = 2.5, 1.3

#: Quality of a success whose signal is 0, and of one whose signal is 1.
HARD, PERFECT = 3.0, 5.0


def sm2(view: View) -> NDArray[np.float64]:
    """float64[n] ≤ 0; −(days since the last repetition)/(interval), −1 when it is due."""
    n = len(view)
    easiness, interval = np.full(n, EASINESS), np.full(n, FIRST_DAYS)
    repetitions, last = np.ones(n), view.created.copy()
    answers = view.outcomes()
    for rows, at in answers.rounds():
        good = answers.good[at]
        gap = (PERFECT - HARD) * (1.0 - answers.signal[at])  # of the quality from 5
        changed = np.maximum(easiness[rows] + 0.1 - gap * (0.08 + gap * 0.02), LEAST_EASINESS)
        easiness[rows] = np.where(good, changed, easiness[rows])
        repetitions[rows] = np.where(good, repetitions[rows] + 1.0, 1.0)
        k = repetitions[rows]
        # The product has an error in its last digits, which must not round a whole number of days up.
        longer = np.where(k == 2.0, SECOND_DAYS, np.ceil(interval[rows] * easiness[rows] - 1e-9))
        interval[rows] = np.where(k == 1.0, FIRST_DAYS, longer)
        last[rows] = np.maximum(answers.time[at], last[rows])
    return np.asarray((last - view.now) / 24.0 / interval)
