"""A log and the states that it comes to, kept together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from memvalue.data.event import Event
from memvalue.serve.history.activation import activation
from memvalue.serve.history.consolidation_events import consolidation_events
from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.event_columns import EventColumns
from memvalue.serve.history.event_log import Compaction, EventLog
from memvalue.serve.history.formulas import Formulas
from memvalue.serve.history.memory_state import MemoryState
from memvalue.serve.history.ordered_events import OrderedEvents
from memvalue.serve.history.peer import PeerLimit, peer_record
from memvalue.serve.history.record import Record
from memvalue.serve.history.states import States

_PEER_LIMIT = PeerLimit()


class History:
    """The states of a log, kept up to date event by event.

    They equal, to the last bit, the states folded from the whole log. A clock that jumped does no lasting
    harm: events are folded in order of time, one that arrives late folds its memory anew, and one dated in
    the future waits until its time has come.

    Parameters
    ----------
    log
        Where events are kept.
    formulas
        Constants; the defaults where None.
    """

    def __init__(self, log: EventLog, formulas: Formulas | None = None) -> None:
        self.log = log
        self.formulas = formulas or Formulas()
        self._load()

    def _load(self) -> None:
        self._generation = self.log.generation()
        events = self.log.columns()
        self._seen = int(events.ids[-1]) if len(events) else 0
        self._states = States.rebuild(events, self.formulas)

    def append(self, record: Record) -> int:
        """Append one event to the log and take it in. Returns its id."""
        return self.append_many([record])[0]

    def append_many(self, records: Sequence[Record]) -> list[int]:
        """Append a batch, all or none, and take it in. Returns the ids."""
        if self.formulas.clock == "active":
            for record in records:  # before it is in the log, where it would stay
                if record.active_hours is None:
                    raise HistoryError(f"an event of {record.memory!r} has no active hours")
        ids = self.log.append_many(records)
        mine = ids and ids[0] == self._seen + 1 and ids[-1] == self._seen + len(ids)
        if mine and self.log.generation() == self._generation:
            self._seen = ids[-1]
            self._take_in(records)
        else:  # others have written too, or taken events out
            self.refresh()
        return ids

    def refresh(self) -> int:
        """Take in what other processes have appended, purged or compacted. Returns how many events came."""
        if self.log.generation() != self._generation:
            seen = self._seen
            self._load()
            return max(0, self._seen - seen)
        records = list(self.log.read(since=self._seen))
        if records:
            self._seen = records[-1].id
            self._take_in(records)
        return len(records)

    def _take_in(self, records: Sequence[Record]) -> None:
        late: set[str] = set()
        for record in records:
            if record.memory in late:
                continue
            try:
                self._states.apply(record)
            except HistoryError:
                late.add(record.memory)
        for memory in late:
            self._states.replace(memory, self._events(memory))

    def _events(self, memory: str | None = None) -> EventColumns:
        """The events taken in so far; what others appended since comes with the next refresh."""
        events = self.log.columns(memory=memory)
        return events.take(events.ids <= self._seen)

    @property
    def states(self) -> States:
        """The states after all events known here. Not to be changed by others."""
        return self._states

    def view(self, now: datetime | float) -> States:
        """The states at ``now``: without the events after it, if there are any."""
        hours = self.formulas.hours(now)
        late = np.flatnonzero(self._states.last() > hours)
        if not len(late):
            return self._states
        if len(late) > 64:  # one pass over the log is then quicker
            return States.rebuild(self._events(), self.formulas, until=hours)
        view = self._states.copy()
        for name in [view.names[i] for i in late.tolist()]:
            view.replace(name, self._events(name), until=hours)
        return view

    def state(self, memory: str, now: datetime | float) -> MemoryState:
        """The state of one memory at ``now``; that of a new memory where it has no events by then."""
        hours = self.formulas.hours(now)
        if self._states.last_event(memory) > hours:
            return States.rebuild(self._events(memory), self.formulas, until=hours).state(memory, hours)
        return self._states.state(memory, hours)

    def exact_activation(self, memory: str, now: datetime | float) -> float:
        """The long clock of one memory from all of its uses, read from the log."""
        hours = self.formulas.hours(now)
        events = OrderedEvents.of(self._events(memory), self.formulas, hours)
        return activation(hours - events.hours[events.presented])

    def import_peer(
        self,
        memory: str,
        peer: MemoryState,
        *,
        trust: float,
        source: str,
        time: datetime,
        limit: PeerLimit = _PEER_LIMIT,
    ) -> int | None:
        """Add a peer's view of a memory, as far as its source may still bring in evidence.

        Counts what the source brought in during the window before ``time``. Two processes that import from
        one source at the same instant may each grant the same allowance.

        Returns
        -------
        int | None
            Id of the event; None when the source has used up its allowance, or trust is 0.
        """
        after = time - timedelta(hours=limit.hours)
        allowance = min(
            limit.per_memory - self.log.imported_weight(source, after, memory),
            limit.per_source - self.log.imported_weight(source, after),
        )
        record = peer_record(
            memory, peer, trust=trust, source=source, time=time, allowance=max(allowance, 0.0)
        )
        return None if record is None else self.append(record)

    def purge(self, memory: str) -> int:
        """Take every event of one memory out of the log, and its state with them. Returns how many."""
        count = self.log.purge(memory)
        self.refresh()
        return count

    def compact(self, before: datetime, *, forgotten: bool = False) -> Compaction:
        """See :meth:`EventLog.compact`."""
        done = self.log.compact(before, forgotten=forgotten)
        self.refresh()
        return done

    def consolidation_events(
        self, memories: Sequence[str], *, until: datetime | None = None
    ) -> tuple[Event, ...]:
        """The log as ``Consolidation.events``, which the factors read.

        Parameters
        ----------
        memories
            Ids, in the order of the consolidation's rows. Events of others are left out.
        until
            Leave out events after this moment.

        Returns
        -------
        tuple[Event, ...]
            In order of time, then id.
        """
        return consolidation_events(self.log.read(until=until), memories)
