"""A log in the order in which it is folded, and what each event means to each channel of the state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.data.event import DELIBERATE_USES
from memvalue.features.use_clock import HARM_KINDS
from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.event_columns import EventColumns
from memvalue.serve.history.formulas import Formulas
from memvalue.serve.history.fsrs import AGAIN, GOOD, MERGE
from memvalue.serve.history.record import KINDS

#: No review.
NO_GRADE = -1


@dataclass(frozen=True, eq=False)
class OrderedEvents:
    """n events of m memories, memory by memory, in order of time, then id.

    The meanings below are those of ``States._fold``, for all events at once.

    Parameters
    ----------
    names
        m memory ids.
    row
        int64[n], sorted; index into ``names``.
    hours
        float64[n]; time on the formulas' clock.
    kind
        int64[n]; index into ``KINDS``.
    signal, weight, given
        float64[n]; ``given`` is the stability of ``imported``, else NaN.
    arrived
        bool[n]; first writing.
    used, amount
        bool[n], float64[n]; deliberate use, and how much of one.
    presented
        bool[n]; counts for the long clock: arrival, use, or an import before either.
    harmed
        bool[n]; correction with weight.
    evidence, spoken
        bool[n], float64[n]; evidence for the utility, and its signal.
    grade
        int64[n]; FSRS grade, MERGE or NO_GRADE.
    """

    names: tuple[str, ...]
    row: NDArray[np.int64]
    hours: NDArray[np.float64]
    kind: NDArray[np.int64]
    signal: NDArray[np.float64]
    weight: NDArray[np.float64]
    given: NDArray[np.float64]
    arrived: NDArray[np.bool_]
    used: NDArray[np.bool_]
    amount: NDArray[np.float64]
    presented: NDArray[np.bool_]
    harmed: NDArray[np.bool_]
    evidence: NDArray[np.bool_]
    spoken: NDArray[np.float64]
    grade: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def of(cls, events: EventColumns, formulas: Formulas, until: float | None = None) -> OrderedEvents:
        """Order the events up to ``until`` (hours on the clock; all where None).

        Raises HistoryError on the active clock, for an event without active hours.
        """
        hours = event_hours(events, formulas)
        order = np.lexsort((events.ids, hours, events.memory))
        if until is not None:
            order = order[hours[order] <= until]
        # A memory all of whose events lie in the future has no row yet.
        present, row = np.unique(events.memory[order], return_inverse=True)
        hours, kind = hours[order], events.kind[order]
        signal, weight, given = events.signal[order], events.weight[order], events.stability[order]
        n = len(row)

        written, imported, confirmed = (is_kind(kind, k) for k in ("written", "imported", "confirmed"))
        harmed = is_kind(kind, *HARM_KINDS) & (weight > 0.0)
        arrived = np.zeros(n, dtype=bool)
        arrived[first_of(row, written)] = True
        amount = np.where(written, weight, signal * weight)
        used = is_kind(kind, *DELIBERATE_USES) & (amount > 0.0) & ~arrived
        presented = used | arrived
        grade = np.full(n, NO_GRADE)
        grade[presented] = GOOD
        grade[(confirmed & (weight > 0.0) & (signal < 0.5)) | harmed] = AGAIN
        grade[~np.isnan(given)] = MERGE
        earliest = first_of(row, presented | imported)
        presented[earliest[imported[earliest]]] = True
        evidence = (weight > 0.0) & (harmed | confirmed | imported | is_kind(kind, "rescored"))
        names = tuple(events.names[i] for i in present.tolist())
        spoken = np.where(harmed, 0.0, signal)
        return cls(
            names, row, hours, kind, signal, weight, given,
            arrived, used, amount, presented, harmed, evidence, spoken, grade,
        )  # fmt: skip


def event_hours(events: EventColumns, formulas: Formulas) -> NDArray[np.float64]:
    """float64[n]; the time of each event on the formulas' clock."""
    if formulas.clock == "wall":
        return events.time_us / 3.6e9
    missing = np.isnan(events.active_hours)
    if missing.any():
        name = events.names[events.memory[int(missing.argmax())]]
        raise HistoryError(f"an event of {name!r} has no active hours, but the clock runs on them")
    return events.active_hours


def is_kind(kind: NDArray[np.int64], *kinds: str) -> NDArray[np.bool_]:
    """bool[n]; True where an event is of one of the kinds."""
    return np.isin(kind, [KINDS.index(k) for k in kinds])


def first_of(row: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Index of the first event of the mask in each row that has one; ``row`` is sorted."""
    found = np.flatnonzero(mask)
    new = np.append(True, row[found][1:] != row[found][:-1])
    return np.asarray(found[new[: len(found)]])


def last_of(row: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Index of the last event of the mask in each row that has one; ``row`` is sorted."""
    found = np.flatnonzero(mask)
    old = np.append(row[found][1:] != row[found][:-1], True)
    return np.asarray(found[old[: len(found)]])
