"""The states of all memories: a fold of the log, kept as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.features.use_clock import HARM_KINDS, fade, hours_of, use_amount
from memvalue.serve.history.activation import KEPT, activation_from_latest, activations_from_latest
from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.event_columns import EventColumns
from memvalue.serve.history.formulas import Formulas
from memvalue.serve.history.fsrs import AGAIN, GOOD, MERGE, MIN_STABILITY
from memvalue.serve.history.memory_state import MemoryState
from memvalue.serve.history.ordered_events import NO_GRADE, OrderedEvents, is_kind, last_of
from memvalue.serve.history.record import Record
from memvalue.serve.history.rounds import fold_rounds
from memvalue.serve.history.utility import add_evidence

# Columns of the table. Each channel has its own, and no channel reads another's.
_LAST, _WRITTEN, _IMPORTANCE, _FORGOTTEN, _SHOWN = range(5)
_USES, _RECENT, _USED_AT = range(5, 8)
_HARM, _HARMED_AT = range(8, 10)
_ALPHA, _BETA = range(10, 12)
_STABILITY, _DIFFICULTY, _REVIEWED_AT = range(12, 15)
_PRESENTED, _FIRST = range(15, 17)
_LATEST = 17
_WIDTH = _LATEST + KEPT


class States:
    """The states of n memories.

    Events are folded memory by memory in order of time, then id. :meth:`apply` takes one more event,
    :meth:`rebuild` a whole log at once; both give the same bits. What is asked about a moment must not lie
    before the last event (:class:`memvalue.serve.history.History` reads the log again for that).

    Attributes
    ----------
    formulas
        The constants in force.
    """

    def __init__(self, formulas: Formulas | None = None) -> None:
        self.formulas = formulas or Formulas()
        self._names: list[str] = []
        self._rows: dict[str, int] = {}
        self._table = np.empty((0, _WIDTH))

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, memory: object) -> bool:
        return memory in self._rows

    @property
    def names(self) -> tuple[str, ...]:
        """n memory ids, in the order of the columns."""
        return tuple(self._names)

    def rows(self, memories: Sequence[str]) -> NDArray[np.int64]:
        """int64[k]; the row of each memory. Raises HistoryError for one without events."""
        try:
            return np.fromiter((self._rows[m] for m in memories), np.int64, len(memories))
        except KeyError as error:
            raise HistoryError(f"memory {error.args[0]!r} has no events") from None

    # Folding --------------------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Take in one event.

        Raises
        ------
        HistoryError
            When it lies before the memory's last event (fold that memory's events again), or lacks the
            active hours that the clock needs.
        """
        if self.formulas.clock == "wall":
            hours = hours_of(record.time)
        elif record.active_hours is not None:
            hours = record.active_hours
        else:
            raise HistoryError(
                f"an event of {record.memory!r} has no active hours, but the clock runs on them"
            )
        self.apply_at(
            record.memory, record.kind, hours, record.signal, record.weight, stability=record.stability
        )

    def apply_at(
        self,
        memory: str,
        kind: str,
        hours: float,
        signal: float = 1.0,
        weight: float = 1.0,
        *,
        stability: float | None = None,
    ) -> None:
        """As :meth:`apply`, from the parts of an event that is known to be sound; ``hours`` on the clock."""
        i = self._row(memory)
        row = self._table[i].tolist()
        if hours < row[_LAST]:
            raise HistoryError(
                f"an event of {memory!r} at hour {hours} lies before its last, at {row[_LAST]}; fold it anew"
            )
        self._fold(row, kind, hours, signal, weight, stability)
        self._table[i] = row

    def _fold(
        self, row: list[float], kind: str, t: float, signal: float, weight: float, stability: float | None
    ) -> None:
        row[_LAST] = t
        if kind == "shown":
            row[_SHOWN] += weight
            return
        harmed = kind in HARM_KINDS and weight > 0.0
        amount = use_amount(kind, signal, weight)
        if kind in ("written", "rescored"):
            row[_IMPORTANCE] = signal
        if kind in ("written", "forgotten"):
            row[_FORGOTTEN] = float(kind == "forgotten")
        presented = amount > 0.0 or (kind == "imported" and row[_PRESENTED] == 0.0)
        grade = GOOD if amount > 0.0 else None
        if kind == "written" and row[_WRITTEN] == math.inf:
            row[_WRITTEN] = t
            amount, presented, grade = 0.0, True, GOOD
        elif (kind == "confirmed" and weight > 0.0 and signal < 0.5) or harmed:
            grade = AGAIN
        elif stability is not None:
            grade = MERGE
        if amount > 0.0:
            row[_USES] += 1.0
            row[_RECENT], row[_USED_AT] = self._use(row[_RECENT], row[_USED_AT], t, amount)
        if presented:
            row[_PRESENTED] += 1.0
            row[_FIRST] = min(row[_FIRST], t)
            row[_LATEST:] = [t, *row[_LATEST:-1]]
        if harmed:
            row[_HARM], row[_HARMED_AT] = self._harm(row[_HARM], row[_HARMED_AT], t, weight)
        if weight > 0.0 and (harmed or kind in ("confirmed", "rescored", "imported")):
            signal = 0.0 if harmed else signal
            row[_ALPHA], row[_BETA] = self._evidence(row[_ALPHA], row[_BETA], signal, weight)
        if grade is not None:
            row[_STABILITY], row[_DIFFICULTY], row[_REVIEWED_AT] = self._review(
                row[_STABILITY],
                row[_DIFFICULTY],
                row[_REVIEWED_AT],
                t,
                grade,
                math.nan if stability is None else stability,
            )

    # One step of each channel. All take numbers or columns alike.

    def _use(self, recent: Any, used_at: Any, t: Any, amount: Any) -> tuple[Any, Any]:
        return fade(recent, t - used_at, self.formulas.use_per_hour) + amount, t

    def _harm(self, harm: Any, harmed_at: Any, t: Any, weight: Any) -> tuple[Any, Any]:
        return fade(harm, t - harmed_at, self.formulas.harm_per_hour) + weight, t

    def _evidence(self, alpha: Any, beta: Any, signal: Any, weight: Any) -> tuple[Any, Any]:
        return add_evidence(alpha, beta, signal, weight, self.formulas.keep)

    def _review(
        self, stability: Any, difficulty: Any, reviewed_at: Any, t: Any, grade: Any, given: Any
    ) -> tuple[Any, Any, Any]:
        fsrs = self.formulas.fsrs
        if not isinstance(stability, np.ndarray):
            if grade != MERGE:
                return *fsrs.review(stability, difficulty, (t - reviewed_at) / 24.0, grade), t
            given = max(given, MIN_STABILITY)
            if stability != stability:
                return given, fsrs.first_difficulty(), t
            return max(stability, given), difficulty, reviewed_at
        s, d, at = stability.copy(), difficulty.copy(), reviewed_at.copy()
        given = np.maximum(given, MIN_STABILITY)
        new = (grade == MERGE) & np.isnan(stability)
        s[new], d[new], at[new] = given[new], fsrs.first_difficulty(), t[new]
        old = (grade == MERGE) & ~new
        s[old] = np.maximum(s[old], given[old])
        real = grade != MERGE
        days = (t[real] - at[real]) / 24.0
        s[real], d[real] = fsrs.review(s[real], d[real], days, grade[real])
        at[real] = t[real]
        return s, d, at

    @classmethod
    def rebuild(
        cls, events: EventColumns, formulas: Formulas | None = None, *, until: datetime | float | None = None
    ) -> States:
        """The states that a log comes to.

        Parameters
        ----------
        events
            The log; any order.
        formulas
            Constants; the defaults where None.
        until
            Leave out events after this moment.

        Raises
        ------
        HistoryError
            On the active clock, for an event without active hours.
        """
        states = cls(formulas)
        states._fold_all(events, None if until is None else states.formulas.hours(until))
        return states

    def _fold_all(self, events: EventColumns, until: float | None) -> None:
        e = OrderedEvents.of(events, self.formulas, until)
        n = len(e.names)
        self._names = list(e.names)
        self._rows = {name: i for i, name in enumerate(e.names)}
        self._table = table = np.tile(np.array(self._blank()), (n, 1))
        if not n:
            return
        written = is_kind(e.kind, "written")
        for column, mask, value in (
            (_LAST, np.ones(len(e), dtype=bool), e.hours),
            (_IMPORTANCE, written | is_kind(e.kind, "rescored"), e.signal),
            (_FORGOTTEN, written | is_kind(e.kind, "forgotten"), (~written).astype(np.float64)),
        ):
            last = last_of(e.row, mask)
            table[e.row[last], column] = value[last]
        table[e.row[e.arrived], _WRITTEN] = e.hours[e.arrived]
        # bincount adds in the order of the events, as the fold does.
        table[:, _SHOWN] = np.bincount(e.row, np.where(is_kind(e.kind, "shown"), e.weight, 0.0), n)
        table[:, _USES] = np.bincount(e.row[e.used], minlength=n)

        times, count = e.hours[e.presented], np.bincount(e.row[e.presented], minlength=n)
        end = np.cumsum(count)
        table[:, _PRESENTED] = count
        for column, place in ((_FIRST, end - count), *((_LATEST + j, end - 1 - j) for j in range(KEPT))):
            enough = count > (0 if column == _FIRST else column - _LATEST)
            table[enough, column] = times[place[enough]]

        fold_rounds(table, (_RECENT, _USED_AT), self._use, e.row, e.used, (e.hours, e.amount))
        fold_rounds(table, (_HARM, _HARMED_AT), self._harm, e.row, e.harmed, (e.hours, e.weight))
        fold_rounds(table, (_ALPHA, _BETA), self._evidence, e.row, e.evidence, (e.spoken, e.weight))
        channel = (_STABILITY, _DIFFICULTY, _REVIEWED_AT)
        inputs = (e.hours, e.grade, e.given)
        fold_rounds(table, channel, self._review, e.row, e.grade != NO_GRADE, inputs)

    def _row(self, memory: str) -> int:
        i = self._rows.get(memory)
        if i is None:
            i = len(self._names)
            if i == len(self._table):
                grown = np.empty((max(64, 2 * i), _WIDTH))
                grown[:i] = self._table
                self._table = grown
            self._table[i] = self._blank()
            self._names.append(memory)
            self._rows[memory] = i
        return i

    def _blank(self) -> list[float]:
        """A memory of which nothing is known. The infinities make the first event no special case."""
        row = [0.0] * _WIDTH
        row[_LAST] = row[_USED_AT] = row[_HARMED_AT] = row[_REVIEWED_AT] = -math.inf
        row[_WRITTEN] = row[_FIRST] = math.inf
        row[_IMPORTANCE] = row[_STABILITY] = row[_DIFFICULTY] = math.nan
        row[_ALPHA] = row[_BETA] = 0.5 * self.formulas.prior_weight
        row[_LATEST:] = [-math.inf] * KEPT
        return row

    def replace(self, memory: str, events: EventColumns, *, until: datetime | float | None = None) -> None:
        """Fold one memory anew from all of its events; without any it is as if it had never been."""
        fresh = States.rebuild(events, self.formulas, until=until)
        if any(name != memory for name in fresh.names):
            raise HistoryError(f"the events of {memory!r} were asked for, but others are among them")
        if memory in self._rows or len(fresh):
            self._table[self._row(memory)] = fresh._table[0] if len(fresh) else self._blank()

    def copy(self) -> States:
        """An independent copy."""
        out = States(self.formulas)
        out._names, out._rows = list(self._names), dict(self._rows)
        out._table = self._table[: len(self)].copy()
        return out

    # Asking ---------------------------------------------------------------------------------------------

    def last(self) -> NDArray[np.float64]:
        """float64[n]; hours of the last event of each memory, −inf where it has none."""
        return self._column(_LAST).copy()

    def last_event(self, memory: str) -> float:
        """Hours of the last event of one memory, −inf where it has none."""
        i = self._rows.get(memory)
        return -math.inf if i is None else float(self._table[i, _LAST])

    def state(self, memory: str, now: datetime | float) -> MemoryState:
        """The state of one memory at ``now``; that of a new memory where it has no events.

        Raises HistoryError when its last event lies after ``now``.
        """
        hours = self.formulas.hours(now)
        i = self._rows.get(memory)
        row = self._blank() if i is None else self._table[i].tolist()
        if row[_LAST] > hours:
            raise HistoryError(f"{memory!r} has an event after the moment asked about; ask History instead")
        f = self.formulas
        return MemoryState(
            memory,
            int(row[_USES]),
            fade(row[_RECENT], hours - row[_USED_AT], f.use_per_hour),
            activation_from_latest(row[_LATEST:], row[_PRESENTED], row[_FIRST], hours),
            row[_ALPHA],
            row[_BETA],
            fade(row[_HARM], hours - row[_HARMED_AT], f.harm_per_hour),
            row[_STABILITY],
            row[_DIFFICULTY],
            f.fsrs.retrievability((hours - row[_REVIEWED_AT]) / 24.0, row[_STABILITY]),
            row[_IMPORTANCE],
            row[_SHOWN],
            row[_FORGOTTEN] > 0.0,
        )

    def _column(self, column: int, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        return self._table[: len(self), column] if rows is None else self._table[rows, column]

    def _ages(
        self, column: int, now: datetime | float, rows: NDArray[np.int64] | None
    ) -> NDArray[np.float64]:
        """Hours from the times in a column to ``now``, which no event may follow."""
        hours = self.formulas.hours(now)
        late = self._column(_LAST, rows) > hours
        if late.any():
            i = int(late.argmax()) if rows is None else int(rows[int(late.argmax())])
            raise HistoryError(
                f"{self._names[i]!r} has an event after the moment asked about; take History.view(now)"
            )
        return hours - self._column(column, rows)

    def uses(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k]; deliberate uses. ``rows``, here and below: only these (see :meth:`rows`)."""
        return self._column(_USES, rows).copy()

    def recent_use(self, now: datetime | float, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k] ≥ 0; the short clock."""
        return fade(self._column(_RECENT, rows), self._ages(_USED_AT, now, rows), self.formulas.use_per_hour)

    def activation(self, now: datetime | float, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k]; the long clock, −inf where it was never written nor used."""
        hours = self.formulas.hours(now)
        self._ages(_LAST, now, rows)
        latest = self._table[: len(self), _LATEST:] if rows is None else self._table[rows, _LATEST:]
        return activations_from_latest(
            latest, self._column(_PRESENTED, rows), self._column(_FIRST, rows), hours
        )

    def harm(self, now: datetime | float, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k] ≥ 0; recent corrections. 1 − exp(−harm) is the share that reliability loses."""
        return fade(self._column(_HARM, rows), self._ages(_HARMED_AT, now, rows), self.formulas.harm_per_hour)

    def retrievability(
        self, now: datetime | float, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """float64[n or k] in (0, 1]; NaN before the first review."""
        days = self._ages(_REVIEWED_AT, now, rows) / 24.0
        return self.formulas.fsrs.retrievability(days, self._column(_STABILITY, rows))

    def age_hours(self, now: datetime | float, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k]; since it was first written, NaN where it never was."""
        ages = self._ages(_WRITTEN, now, rows)
        return np.where(np.isfinite(ages), ages, np.nan)

    def alpha(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k] > 0; evidence for each memory, the prior included."""
        return self._column(_ALPHA, rows).copy()

    def beta(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k] > 0; evidence against each memory, the prior included."""
        return self._column(_BETA, rows).copy()

    def stability(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k]; FSRS's S in days, NaN before the first review."""
        return self._column(_STABILITY, rows).copy()

    def difficulty(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k]; FSRS's D in [1, 10], NaN before the first review."""
        return self._column(_DIFFICULTY, rows).copy()

    def importance(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k] in [0, 1]; NaN where none was told."""
        return self._column(_IMPORTANCE, rows).copy()

    def shown(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """float64[n or k]; how often each was shown."""
        return self._column(_SHOWN, rows).copy()

    def forgotten(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """bool[n or k]; forgotten by the store and not written again."""
        return self._column(_FORGOTTEN, rows) > 0.0
