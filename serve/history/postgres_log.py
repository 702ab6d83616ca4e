"""The event log in a table of PostgreSQL, for stores that outgrow one file."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.event_log import COLUMNS, EventLog, Execute, as_row, check_records
from memvalue.serve.history.record import KINDS, MAX_WEIGHT, Record

if TYPE_CHECKING:
    import psycopg

#: Letters that need no quoting in SQL, and room for the suffixes of our own.
_TABLE = re.compile(r"([a-z_][a-z0-9_]{0,40}\.)?[a-z_][a-z0-9_]{0,40}")


class PostgresLog(EventLog):
    """A log in PostgreSQL, with the same interface and meaning as :class:`SqliteLog`. Needs psycopg 3.

    One append is one transaction, acknowledged when the server has committed it; whether that outlives a
    power cut is the server's ``synchronous_commit`` (on, by default). Where the connection breaks during an
    append, the error leaves open whether it was committed; reading tells.

    Writers take turns, so that ids appear in their order and a reader that asks for what is new misses
    nothing; append in batches where several write much.

    Parameters
    ----------
    conninfo
        Connection string or URI of psycopg.
    table
        Name of the table, with its schema before a dot if need be; made when absent. One table, one store.

    Raises
    ------
    HistoryError
        When psycopg is missing, the server cannot be reached, or the table is something else.
    """

    _mark = "%s"

    def __init__(self, conninfo: str, *, table: str = "memvalue_events") -> None:
        if not _TABLE.fullmatch(table):
            raise HistoryError(f"table {table!r}: use lower-case letters, digits and _, at most 40 of them")
        self._conninfo = conninfo
        self._table = table
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._pid = os.getpid()
        try:
            with self._changing() as execute:
                self._set_up(execute)
        except BaseException:
            self.close()
            raise

    def append_many(self, records: Sequence[Record]) -> list[int]:
        check_records(records)
        if not records:
            return []
        columns = [list(column) for column in zip(*map(as_row, records), strict=True)]
        types = ("text", "text", "text", "float8", "float8", "bigint", "float8", "float8")
        arrays = ", ".join(f"%s::{kind}[]" for kind in types)
        names = ", ".join(COLUMNS[1:])
        sql = (
            f"INSERT INTO {self._table} ({names}) SELECT {names} FROM unnest({arrays}) "
            f"WITH ORDINALITY AS r({names}, place) ORDER BY place RETURNING id"
        )
        with self._changing() as execute:
            return [int(row[0]) for row in execute(sql, columns)]

    def _rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._session() as connection:
            return connection.execute(sql.encode(), parameters or None).fetchall()

    @contextmanager
    def _changing(self) -> Iterator[Execute]:
        with self._session() as connection:

            def execute(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
                cursor = connection.execute(sql.encode(), parameters or None)
                return cursor.fetchall() if cursor.description else []

            with connection.transaction():
                # Held to the end of the transaction; other tables have other keys.
                execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"memvalue {self._table}"])
                yield execute

    def _reclaim(self) -> None:
        with self._session() as connection:
            connection.execute(f"VACUUM {self._table}".encode())

    def check(self) -> None:
        """As for every log; PostgreSQL verifies its pages while it reads, where it keeps checksums."""
        self._rows(f"SELECT count(*), sum(signal + weight), max(actor), max(kind) FROM {self._table}", ())

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection of this process, opened when there is none; for one thread at a time."""
        if self._pid != os.getpid():  # before the lock, which a thread of the parent may have held
            _INHERITED.append(self._connection)
            self._connection, self._pid, self._lock = None, os.getpid(), threading.RLock()
        with self._lock, self._errors():
            if self._connection is None or self._connection.closed:
                self._connection = _psycopg().connect(self._conninfo, autocommit=True)
            yield self._connection

    def _set_up(self, execute: Execute) -> None:
        table, plain = self._table, self._table.rpartition(".")[2]
        kinds = ", ".join(f"'{kind}'" for kind in KINDS)
        if execute("SELECT to_regclass(%s) IS NOT NULL", [table])[0][0]:
            found = execute("SELECT to_regclass(%s) IS NOT NULL", [f"{table}_meta"])[0][0]
            if not found:
                raise HistoryError(f"table {table} is there, but is no event log; choose another name")
            return
        for statement in (
            f"""CREATE TABLE {table} (
                id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
                memory text NOT NULL CHECK (memory <> ''),
                kind text NOT NULL CHECK (kind IN ({kinds})),
                actor text NOT NULL CHECK (actor <> ''),
                signal float8 NOT NULL CHECK (signal BETWEEN 0 AND 1),
                weight float8 NOT NULL CHECK (weight BETWEEN 0 AND {MAX_WEIGHT}),
                time_us bigint NOT NULL,
                active_hours float8 CHECK (active_hours >= 0 AND active_hours < 'infinity'),
                stability float8 CHECK (stability > 0 AND stability < 'infinity'))""",
            f"CREATE INDEX {plain}_memory ON {table} (memory, id)",
            f"CREATE INDEX {plain}_imported ON {table} (actor, time_us) WHERE kind = 'imported'",
            f"""CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$""",
            f"""CREATE TRIGGER append_only BEFORE UPDATE ON {table}
                FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse()""",
            f"""CREATE VIEW {table}_utc AS
                SELECT *, timestamptz 'epoch' + time_us * interval '1 microsecond' AS time FROM {table}""",
            f"CREATE TABLE {table}_meta (name text PRIMARY KEY, value bigint NOT NULL)",
            f"INSERT INTO {table}_meta VALUES ('generation', 0)",
        ):
            execute(statement, ())

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        errors = _psycopg()
        try:
            yield
        except errors.OperationalError as error:
            raise HistoryError(f"the PostgreSQL server cannot be used: {_first_line(error)}") from error
        except errors.Error as error:
            raise HistoryError(f"table {self._table}: {_first_line(error)}") from error

    def __repr__(self) -> str:
        return f"PostgresLog(table={self._table!r})"  # the connection string may hold a password


#: Connections inherited over a fork; closing one would close the parent's.
_INHERITED: list[Any] = []


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise HistoryError("PostgresLog needs psycopg: pip install 'memvalue[postgres]'") from None
    return psycopg


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
