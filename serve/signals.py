"""From the states of a log to the signals that nudge a ranking."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memvalue.features.use_clock import fade
from memvalue.serve.history.states import States

#: Recent uses at which the use strength is 1 − 2/e = .26. A single use just now gives that, two give .73.
USE_SCALE = 1.0

#: Recent corrections at which harm is 1 − 1/e = .63, so that one gives .39 (−3.5 %). At 1 the graders'
#: mistakes (3 %) cost 1.8 and 2.3 points of correct answers in a scheduled and a bursty world (200 pages, 20
#: needs a year, a fifth of them projects; four seeds) and gain nothing after a switch; at 4 a slower world
#: (400 pages, 8 needs) loses 1.5 points after a switch.
HARM_SCALE = 2.0


def recent_need(
    states: States, now: datetime | float, rows: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """float64[n or k] ≥ 0; the short clock of deliberate uses, the first writing counted as one of them."""
    age = states.age_hours(now, rows)
    written = fade(np.ones(len(age)), np.where(np.isnan(age), np.inf, age), states.formulas.use_per_hour)
    return states.recent_use(now, rows) + written


def use_strength(
    states: States,
    now: datetime | float,
    rows: NDArray[np.int64] | None = None,
    *,
    scale: float = USE_SCALE,
) -> NDArray[np.float64]:
    """float64[n or k] in [−1, 1]; 1 − 2·exp(−recent need / scale), and 0 where nothing is known.

    −1 is faded, 1 is fresh. A memory that was neither written nor used, by the log, is not faded but unknown:
    its nudge is an exact no-op.

    Raises
    ------
    ValueError
        For a scale that is not above 0.
    """
    _check("scale", scale)
    recent = recent_need(states, now, rows)
    uses = states.uses(rows)
    unknown = (uses == 0.0) & np.isnan(states.age_hours(now, rows))
    return np.where(unknown, 0.0, 1.0 - 2.0 * np.exp(-recent / scale))


def harm_strength(
    states: States,
    now: datetime | float,
    rows: NDArray[np.int64] | None = None,
    *,
    scale: float = HARM_SCALE,
) -> NDArray[np.float64]:
    """float64[n or k] in [0, 1]; 1 − exp(−recent corrections / scale). It demotes, and nothing raises it.

    Raises
    ------
    ValueError
        For a scale that is not above 0.
    """
    _check("scale", scale)
    return -np.expm1(-states.harm(now, rows) / scale)


def value_signal(states: States, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """float64[n or k] in [0, 1]; the importance V, and the neutral .5 where none was told."""
    value = states.importance(rows)
    return np.where(np.isnan(value), 0.5, value)


def _check(name: str, number: float) -> None:
    if not 0.0 < number < np.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {number}")
