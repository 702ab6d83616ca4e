"""From the log to the events that the factors read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memvalue.data.event import Event
from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.record import Record


def consolidation_events(records: Iterable[Record], memories: Sequence[str]) -> tuple[Event, ...]:
    """Events with row numbers in place of ids, in order of time, then id.

    Parameters
    ----------
    records
        From the log. Those of other memories are left out.
    memories
        Ids, in the order of the consolidation's rows.

    Raises
    ------
    HistoryError
        When an id occurs twice.
    """
    rows = {memory: i for i, memory in enumerate(memories)}
    if len(rows) < len(memories):
        twice = next(m for i, m in enumerate(memories) if rows[m] != i)
        raise HistoryError(f"memory {twice!r} is in the list twice; an event could not be given a row")
    mine = sorted((r for r in records if r.memory in rows), key=lambda r: (r.time, r.id))
    return tuple(Event(r.kind, rows[r.memory], r.time, r.actor, r.signal, r.weight) for r in mine)
