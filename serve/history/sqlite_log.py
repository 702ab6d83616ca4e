"""The event log in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.event_log import COLUMNS, EventLog, Execute, as_row, check_records
from memvalue.serve.history.record import KINDS, MAX_WEIGHT, Record

#: Marks the file as ours ("memv"), so that no other SQLite file is taken for a log.
_APPLICATION_ID = 0x6D656D76
_VERSION = 1

Durability = Literal["process", "power"]
_SYNCHRONOUS: dict[str, str] = {"process": "NORMAL", "power": "FULL"}

_SCHEMA = f"""
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    memory TEXT NOT NULL CHECK (memory <> ''),
    kind TEXT NOT NULL CHECK (kind IN ({", ".join(repr(k) for k in KINDS)})),
    actor TEXT NOT NULL CHECK (actor <> ''),
    signal REAL NOT NULL CHECK (signal BETWEEN 0 AND 1),
    weight REAL NOT NULL CHECK (weight BETWEEN 0 AND {MAX_WEIGHT}),
    time_us INTEGER NOT NULL CHECK (typeof(time_us) = 'integer'),
    active_hours REAL CHECK (active_hours >= 0),
    stability REAL CHECK (stability > 0)
);
CREATE INDEX events_memory ON events (memory, id);
CREATE INDEX events_imported ON events (actor, time_us) WHERE kind = 'imported';
CREATE TRIGGER events_append_only BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE VIEW events_utc AS
    SELECT id, memory, kind, actor, signal, weight, time_us, active_hours, stability,
        strftime('%Y-%m-%dT%H:%M:%S', (time_us - us) / 1000000, 'unixepoch') || printf('.%06dZ', us) AS time
    FROM (SELECT *, (time_us % 1000000 + 1000000) % 1000000 AS us FROM events);
CREATE TABLE events_meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO events_meta VALUES ('generation', 0);
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
"""

#: Connections inherited over a fork. Closing one would meddle with files that the parent has open.
_INHERITED: list[sqlite3.Connection] = []


class SqliteLog(EventLog):
    """A log in a file, in write-ahead mode. Processes and threads may share the file.

    One appended event is one transaction. Kept through the death of any process, kill −9 included, in either
    mode. ``durability="process"`` (the default; ``synchronous=NORMAL``) writes to the system without waiting
    for the disk: a power cut may cost the last acknowledged events, and never damages the file.
    ``durability="power"`` (``synchronous=FULL``) waits for the disk at each transaction, so that
    acknowledged events outlive a power cut too; batches pay once.

    The file must lie on a local disk: write-ahead mode does not work over a network.

    Parameters
    ----------
    path
        The file; made when absent. ``:memory:`` keeps the log in this object alone.
    durability
        See above.
    timeout
        Seconds to wait for other writers.

    Raises
    ------
    HistoryError
        When the file is damaged, is something else, or cannot be opened.
    """

    _table = "events"
    _mark = "?"

    def __init__(
        self, path: str | os.PathLike[str], *, durability: Durability = "process", timeout: float = 30.0
    ) -> None:
        if durability not in _SYNCHRONOUS:
            raise ValueError(f"durability must be 'process' or 'power', got {durability!r}")
        self.path = os.fspath(path)
        self.durability = durability
        self._timeout = timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._pid = os.getpid()
        with self._session():
            pass

    def append_many(self, records: Sequence[Record]) -> list[int]:
        check_records(records)
        rows = [as_row(r) for r in records]
        if not rows:
            return []
        if len(rows) == 1:
            with self._session() as connection:
                return [int(connection.execute(_INSERT, rows[0]).lastrowid or 0)]
        with self._session() as connection, self._changing() as execute:
            found = execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'", ())
            first = (int(found[0][0]) if found else 0) + 1
            connection.executemany(_INSERT_WITH_ID, [(first + i, *row) for i, row in enumerate(rows)])
        return list(range(first, first + len(rows)))

    def _rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._session() as connection:
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _changing(self) -> Iterator[Execute]:
        with self._session() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield lambda sql, parameters: connection.execute(sql, parameters).fetchall()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _reclaim(self) -> None:
        with self._session() as connection:
            try:
                connection.execute("VACUUM")
            except sqlite3.OperationalError as error:
                if not (_is_busy(error) or _is_full(error)):
                    raise
                # Others are writing, or there is no room for a copy: what was taken out is out, its space is
                # overwritten already and will be used again.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def check(self) -> None:
        found = self._rows("PRAGMA integrity_check", ())
        if found != [("ok",)]:
            raise HistoryError(f"{self.path}: damaged: {str(found[0][0]).splitlines()[0]}. {_REMEDY}")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        """The connection of this process, opened when there is none, for one thread at a time."""
        if self._pid != os.getpid():  # before the lock, which a thread of the parent may have held
            if self.path == ":memory:":
                raise HistoryError("a log in memory belongs to the process that made it; give it a file")
            if self._connection is not None:
                _INHERITED.append(self._connection)
            self._connection, self._pid, self._lock = None, os.getpid(), threading.RLock()
        with self._lock, self._errors():
            if self._connection is None:
                self._connection = self._open()
            yield self._connection

    def _open(self) -> sqlite3.Connection:
        # SQLite starts transactions by itself for nothing; ours are written out.
        connection = sqlite3.connect(
            self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        deadline = time.monotonic() + self._timeout
        while True:  # the change of mode does not wait for other processes by itself
            try:
                # Before the change, which is written into the file; at one moment, since another process may
                # be making the log.
                connection.execute("BEGIN")
                try:
                    self._examine(connection)
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        if mode not in ("wal", "memory"):
            raise HistoryError(f"{self.path}: this file system takes no write-ahead log; use a local disk")
        connection.execute(f"PRAGMA synchronous = {_SYNCHRONOUS[self.durability]}")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not self._examine(connection):
                for statement in _statements(_SCHEMA):
                    connection.execute(statement)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _examine(self, connection: sqlite3.Connection) -> bool:
        """Is there a log? False for an empty file; HistoryError for a file that is something else."""
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        if mark == 0 and not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
            return False
        if mark != _APPLICATION_ID:
            raise HistoryError(f"{self.path}: an SQLite file, but no event log; give the log its own file")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise HistoryError(
                f"{self.path}: log format {version}, this package reads {_VERSION}; install the "
                "memvalue that wrote it"
            )
        return True

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the database's errors into ours, with the remedy."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            if _is_busy(error):
                reason = f"another process kept it locked for {self._timeout:g} s; raise timeout, or stop it"
            elif "unable to open" in text:
                reason = "cannot be opened; does its folder exist, and may it be written?"
            elif _is_full(error):
                reason = "the disk is full; nothing of this was written"
            elif "readonly" in text:
                reason = "may not be written"
            elif isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                reason = text
            elif any(sign in text for sign in _DAMAGE):
                reason = f"damaged or not a log: {text}. {_REMEDY}"
            else:
                reason = text
            raise HistoryError(f"{self.path}: {reason}") from error

    def __repr__(self) -> str:
        return f"SqliteLog({self.path!r}, durability={self.durability!r})"


#: What SQLite says of a file that lost something.
_DAMAGE = ("malformed", "not a database", "corrupt", "no such table", "no such column")

_REMEDY = "Restore it from a backup, or save what can be read with sqlite3's .recover"
_NAMES = ", ".join(COLUMNS[1:])
_INSERT = f"INSERT INTO events ({_NAMES}) VALUES ({', '.join('?' * (len(COLUMNS) - 1))})"
_INSERT_WITH_ID = f"INSERT INTO events (id, {_NAMES}) VALUES ({', '.join('?' * len(COLUMNS))})"


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return "locked" in str(error) or "busy" in str(error)


def _is_full(error: sqlite3.DatabaseError) -> bool:
    return "is full" in str(error)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; executescript would end our transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
