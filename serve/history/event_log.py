"""The append-only log of events: what every store of it offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from memvalue.data.event import EVENT_KINDS
from memvalue.features.use_clock import microseconds_of
from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.event_columns import FIELDS, EventColumns
from memvalue.serve.history.record import KINDS, MAX_WEIGHT, Record

#: Columns of the table of events, in order.
COLUMNS = ("id", "memory", "kind", "actor", "signal", "weight", "time_us", "active_hours", "stability")

#: Rows read at a time: no reader holds the log open for long.
_PAGE = 20_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Execute = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction took out: how many events were shown events, and how many of forgotten memories."""

    shown: int
    forgotten: int


class EventLog(ABC):
    """Events of one store of memories, in the order in which they were acknowledged.

    Several processes and threads may append and read at once. :meth:`append` returns when the event is
    committed; an event that is not acknowledged is either wholly there or not at all. Nothing is ever
    changed. Two requests take events out: :meth:`purge` and :meth:`compact`; both raise
    :meth:`generation`, so that whoever keeps states knows to read again.
    """

    _table: str
    _mark: str  # what stands for a parameter in SQL

    @abstractmethod
    def append_many(self, records: Sequence[Record]) -> list[int]:
        """Append a batch in one transaction: all of it or none. Returns the ids.

        Raises
        ------
        HistoryError
            When the log cannot be written; nothing was.
        """

    @abstractmethod
    def _rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """All rows of a query."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[Execute]:
        """One transaction that keeps all other writers out; commits at its end."""

    @abstractmethod
    def _reclaim(self) -> None:
        """Give back, and overwrite where the database can, the space of events that were taken out."""

    @abstractmethod
    def check(self) -> None:
        """Read every page of the log. Raises HistoryError when it is damaged."""

    @abstractmethod
    def close(self) -> None:
        """Release the log; using it again opens it again."""

    def append(self, record: Record) -> int:
        """Append one event, durably; returns its id."""
        return self.append_many([record])[0]

    def read(
        self,
        *,
        memory: str | None = None,
        since: int = 0,
        kinds: Iterable[str] | None = None,
        actor: str | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
    ) -> Iterator[Record]:
        """Events in the order of their ids.

        Parameters
        ----------
        memory, kinds, actor
            Only events of these.
        since
            Only ids above this one.
        after, until
            Only times after, and up to and including; timezone-aware.

        Raises
        ------
        HistoryError
            For an unknown kind or a naive time, or when the log cannot be read.
        """
        where, parameters = self._conditions(memory, kinds, actor, after, until)
        return map(_record, self._pages(COLUMNS, where, [_id(since), *parameters]))

    def columns(self, *, since: int = 0, memory: str | None = None) -> EventColumns:
        """The events above an id as columns, for :meth:`States.rebuild`."""
        where, parameters = self._conditions(memory, None, None, None, None)
        return EventColumns.from_rows(self._pages(FIELDS, where, [_id(since), *parameters]))

    def _pages(self, columns: Sequence[str], where: str, parameters: list[Any]) -> Iterator[tuple[Any, ...]]:
        """Rows in the order of ids, read page by page; the first column and parameter are the id."""
        sql = (
            f"SELECT {', '.join(columns)} FROM {self._table} WHERE id > {self._mark}{where} "
            f"ORDER BY id LIMIT {_PAGE}"
        )
        while page := self._rows(sql, parameters):
            yield from page
            if len(page) < _PAGE:
                return
            parameters = [page[-1][0], *parameters[1:]]

    def count(self, memory: str | None = None) -> int:
        """How many events there are, of one memory or of all."""
        where, parameters = self._conditions(memory, None, None, None, None)
        sql = f"SELECT count(*) FROM {self._table} WHERE id > {self._mark}{where}"
        return int(self._rows(sql, [0, *parameters])[0][0])

    def counts(self) -> dict[str, int]:
        """How many events there are of each kind, 0 included."""
        found = dict(self._rows(f"SELECT kind, count(*) FROM {self._table} GROUP BY kind", ()))
        return {kind: int(found.get(kind, 0)) for kind in KINDS}

    def last_id(self) -> int:
        """Id of the latest event that is there; 0 when there is none."""
        return int(self._rows(f"SELECT coalesce(max(id), 0) FROM {self._table}", ())[0][0])

    def generation(self) -> int:
        """How often events were taken out."""
        return int(self._rows(f"SELECT value FROM {self._table}_meta WHERE name = 'generation'", ())[0][0])

    def imported_weight(self, actor: str, after: datetime, memory: str | None = None) -> float:
        """Evidence that a peer has brought in after a moment, to one memory or to all."""
        where, parameters = self._conditions(memory, ("imported",), actor, after, None)
        sql = f"SELECT coalesce(sum(weight), 0) FROM {self._table} WHERE id > {self._mark}{where}"
        return float(self._rows(sql, [0, *parameters])[0][0])

    def purge(self, memory: str) -> int:
        """Take out every event of one memory, its name included. Returns how many there were.

        The space is overwritten where the database can (SQLite does; PostgreSQL frees it for reuse).
        Backups and archives of the database are out of its reach.
        """
        with self._changing() as execute:
            count = self._delete(execute, f"memory = {self._mark}", memory)
        if count:
            self._reclaim()
        return count

    def compact(self, before: datetime, *, forgotten: bool = False) -> Compaction:
        """Make the log smaller, keeping what states need.

        All ``shown`` events of a memory up to ``before`` become one (more where their weights would exceed
        what one event may have), with their summed weight, the time of the last and the latest reading of
        the store's own clock. Lost: when and to whom each was shown; an as-of state between them counts
        them all at the last. No state of the log as a whole changes, under any formulas, since being shown
        is no use. On the active clock, where events may come in another order, and where one event could not
        hold them all, fractional weights add up to the same but for rounding.

        Parameters
        ----------
        before
            Timezone-aware; later events stay as they are.
        forgotten
            Also take out the history of memories that were forgotten up to ``before`` and of which nothing
            was heard since, all but the ``forgotten`` event. Their states are lost; off by default.
        """
        cut = _time("before", before)
        m, table = self._mark, self._table
        with self._changing() as execute:
            gone = 0
            if forgotten:
                # In the order of folding, time and then id: whoever keeps whole days writes a memory again
                # at the very time at which it was forgotten.
                later = (
                    f"SELECT 1 FROM {table} AS l WHERE l.memory = e.memory "
                    "AND (l.time_us > e.time_us OR l.time_us = e.time_us AND l.id > e.id)"
                )
                ended = (
                    f"SELECT memory FROM {table} AS e WHERE kind = 'forgotten' AND time_us <= {m} "
                    f"AND NOT EXISTS ({later})"
                )
                gone = self._delete(execute, f"kind <> 'forgotten' AND memory IN ({ended})", cut)
            rows = execute(
                f"SELECT {', '.join(COLUMNS)} FROM {table} WHERE kind = 'shown' AND time_us <= {m} "
                "ORDER BY memory, time_us, id",
                [cut],
            )
            merged = _merge(rows)
            if len(merged) < len(rows):
                self._delete(execute, f"kind = 'shown' AND time_us <= {m}", cut)
                marks = ", ".join([m] * len(COLUMNS))
                for row in merged:
                    execute(f"INSERT INTO {table} ({', '.join(COLUMNS)}) VALUES ({marks})", row)
        if gone or len(merged) < len(rows):
            self._reclaim()
        return Compaction(len(rows) - len(merged), gone)

    def _delete(self, execute: Execute, where: str, parameter: Any) -> int:
        """Delete events, count them, and say so in the generation."""
        found = execute(f"SELECT count(*) FROM {self._table} WHERE {where}", [parameter])
        count = int(found[0][0])
        if count:
            execute(f"DELETE FROM {self._table} WHERE {where}", [parameter])
            execute(f"UPDATE {self._table}_meta SET value = value + 1 WHERE name = 'generation'", ())
        return count

    def _conditions(
        self,
        memory: str | None,
        kinds: Iterable[str] | None,
        actor: str | None,
        after: datetime | None,
        until: datetime | None,
    ) -> tuple[str, list[Any]]:
        parts: list[str] = []
        parameters: list[Any] = []
        for name, value in (("memory", memory), ("actor", actor)):
            if value is not None:
                parts.append(f"{name} = {self._mark}")
                parameters.append(value)
        if kinds is not None:
            kinds = tuple(kinds)
            if unknown := sorted(set(kinds) - EVENT_KINDS):
                raise HistoryError(f"unknown kinds {', '.join(unknown)}; the kinds are {', '.join(KINDS)}")
            parts.append(f"kind IN ({', '.join([self._mark] * len(kinds)) or 'NULL'})")
            parameters.extend(kinds)
        for name, sign, moment in (("after", ">", after), ("until", "<=", until)):
            if moment is not None:
                parts.append(f"time_us {sign} {self._mark}")
                parameters.append(_time(name, moment))
        return "".join(f" AND {part}" for part in parts), parameters

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def as_row(record: Record) -> tuple[Any, ...]:
    """The values of :data:`COLUMNS` but the id."""
    return (
        record.memory,
        record.kind,
        record.actor,
        record.signal,
        record.weight,
        microseconds_of(record.time),
        record.active_hours,
        record.stability,
    )


def check_records(records: Sequence[Record]) -> None:
    """Raise HistoryError for what is no record, or was appended before."""
    for record in records:
        if not isinstance(record, Record):
            raise HistoryError(f"a log takes Records, got {type(record).__name__}")
        if record.id:
            raise HistoryError(
                f"event {record.id} is in a log already; append dataclasses.replace(event, id=0)"
            )


def _record(row: Sequence[Any]) -> Record:
    number, memory, kind, actor, signal, weight, time_us, active, stability = row
    try:
        time = _EPOCH + timedelta(microseconds=time_us)
        return Record(memory, kind, time, actor, signal, weight, active, stability, number)
    except (ValueError, TypeError, OverflowError) as error:
        raise HistoryError(f"event {number} of the log is not sound: {error}") from None


def _merge(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows of shown events, sorted by memory and time, as one each memory, or as few as can hold them."""
    merged: list[list[Any]] = []
    for row in rows:
        if merged and merged[-1][1] == row[1] and merged[-1][5] + row[5] <= MAX_WEIGHT:
            before = merged[-1]
            merged[-1] = list(row)
            merged[-1][5] = before[5] + row[5]
            if before[3] != row[3]:
                merged[-1][3] = "several"
            # Where one reading is missing the states on that clock are refused, and stay so.
            merged[-1][7] = None if None in (before[7], row[7]) else max(before[7], row[7])
        else:
            merged.append(list(row))
    return merged


def _id(since: int) -> int:
    """An id that every database can compare with; there are none beyond."""
    return max(0, min(int(since), 2**63 - 1))


def _time(name: str, moment: datetime) -> int:
    if moment.tzinfo is None:
        raise HistoryError(f"{name} has no time zone ({moment.isoformat()}); use datetime(..., tzinfo=UTC)")
    return microseconds_of(moment)
