"""What counts as a use or as harm, and how both fade: one implementation for the factors and the runtime."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memvalue.data.event import DELIBERATE_USES

#: A use counts less by the hour: .995 an hour, a half-life of 5.8 days (Bizer's short clock, the better of
#: the two for recall).
DECAY_PER_HOUR = 0.995

#: A correction demotes, and is forgotten with a half-life of about four weeks: what was wrong once and has
#: been right since should recover.
HARM_PER_HOUR = 0.999

#: Kinds that say a memory was wrong or has become so. The kind says it; the signal is not asked.
HARM_KINDS: frozenset[str] = frozenset({"corrected", "contradicted", "superseded"})

#: One number, or a column of them: the formulas below and in serve.history take either.
Number = TypeVar("Number", float, NDArray[np.float64])

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds_of(time: datetime) -> int:
    """Microseconds since 1970 UTC, exactly; ``time`` must have a zone."""
    return (time - _EPOCH) // _MICROSECOND


def hours_of(time: datetime) -> float:
    """Hours since 1970 UTC; ``time`` must have a zone. Two of them differ by hours exact to a microsecond."""
    return microseconds_of(time) / 3.6e9


def use_amount(kind: str, signal: float, weight: float) -> float:
    """How much of a deliberate use an event is; 0 for what is none.

    The signal of ``opened`` and ``confirmed`` grades the use. That of ``written`` is the memory's importance
    and grades nothing. Whoever asks leaves out the first ``written``: being written is not a use of itself.
    """
    if kind not in DELIBERATE_USES:
        return 0.0
    return weight if kind == "written" else signal * weight


def fade(value: Number, hours: Number, per_hour: float) -> Number:
    """value · per_hour^hours."""
    return value * power(per_hour, hours)


def power(base: float, exponent: Number) -> Number:
    """base^exponent for base > 0, by the C library.

    A column goes through it number by number: numpy's own power rounds differently on processors with wide
    vectors, and a column must have the bits of its numbers.
    """
    if isinstance(exponent, np.ndarray):
        found = map(math.pow, repeat(base), exponent.tolist())
        return np.fromiter(found, np.float64, exponent.size)
    return math.pow(base, exponent)
