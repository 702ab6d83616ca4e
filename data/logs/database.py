"""Tables of events and memories in SQLite or in any database of SQLAlchemy, read and never written."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from memvalue.data.errors import DataError

#: Tables that are looked for when none is named: SqliteLog's, and PostgresLog's.
EVENT_TABLES = ("events", "memvalue_events")

#: Rows fetched at a time.
_PAGE = 20_000

#: A name, or two with a dot; quoted, so that case and reserved words do no harm.
_TABLE = re.compile(r"(?:([A-Za-z_][A-Za-z0-9_$]{0,62})\.)?([A-Za-z_][A-Za-z0-9_$]{0,62})")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+_.-]*://")

_DRIVERS = {"psycopg": "memvalue[postgres]", "psycopg2": "psycopg2-binary", "pymysql": "pymysql"}


def is_uri(name: str) -> bool:
    """Does it name a database rather than a file?"""
    return _URI.match(name) is not None


class SqlSource:
    """An open database; use it in a ``with`` block. ``shown`` names it without a password."""

    def __init__(self, shown: str, connection: Any, dialect: str, secrets: Sequence[str] = ()) -> None:
        self.shown = shown
        self._connection = connection
        self._dialect = dialect
        self._secrets = [s for s in secrets if s]
        self._cursors: list[Any] = []

    @classmethod
    def of_file(cls, path: Path) -> SqlSource:
        """An SQLite file, opened read-only.

        Raises
        ------
        DataError
            When it cannot be opened.
        """
        uri = f"file:{quote(str(path.resolve()))}?mode=ro"
        try:
            connection = sqlite3.connect(uri, uri=True)
            try:
                connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
            except sqlite3.OperationalError:
                # In a folder that may not be written, a log in write-ahead mode opens only when it is
                # declared unchanging, which it is as long as no writer has left a journal beside it.
                connection.close()
                if path.with_name(path.name + "-wal").exists():
                    raise
                connection = sqlite3.connect(uri + "&immutable=1", uri=True)
                connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except sqlite3.Error as error:
            raise DataError(f"{path} cannot be read as an SQLite file: {error}") from None
        return cls(str(path), connection, "sqlite")

    @classmethod
    def of_uri(cls, uri: str) -> SqlSource:
        """A database by its SQLAlchemy URI.

        Raises
        ------
        DataError
            For a URI that cannot be read, a driver that is not installed, or a server that cannot be
            reached; without the password.
        """
        try:
            import sqlalchemy as sa
        except ImportError:
            raise DataError(
                "a database URI needs SQLAlchemy: pip install 'memvalue[train]'; an SQLite file can be named "
                "by its path, which needs nothing"
            ) from None
        try:
            url = sa.make_url(uri)
        except (sa.exc.ArgumentError, ValueError):  # neither may quote the URI
            raise DataError(
                "the database URI cannot be read; write e.g. postgresql+psycopg://user:password@host/name or "
                "sqlite:///events.db (letters such as @ and / in a password as %40 and %2F)"
            ) from None
        if url.drivername in ("postgres", "postgresql"):
            url = url.set(drivername="postgresql+psycopg")
        shown = f"{url.drivername}://{url.host or ''}/{url.database or ''}"
        hidden = [str(url.password or ""), *(str(v) for k, v in url.query.items() if "pass" in k.lower())]
        if url.drivername.startswith("sqlite") and url.database and not Path(url.database).is_file():
            raise DataError(f"{url.database} does not exist; check the path in the URI {shown}")
        try:
            connection = sa.create_engine(url, poolclass=sa.pool.NullPool).connect()
        except ImportError as error:
            name = (error.name or "").partition(".")[0]
            raise DataError(
                f"{shown} needs the driver {name}: pip install '{_DRIVERS.get(name, name)}'"
            ) from None
        except sa.exc.NoSuchModuleError:
            raise DataError(
                f"SQLAlchemy knows no database called {url.drivername!r}; write e.g. postgresql+psycopg://…"
            ) from None
        except Exception as error:
            reason = _reason(error, hidden)
            raise DataError(
                f"{shown} cannot be reached: {reason}; is the server running, and are host, name and "
                "password right?"
            ) from None
        return cls(shown, connection, url.get_backend_name(), hidden)

    def events_table(self, table: str | None) -> str:
        """The table asked for, or the first of :data:`EVENT_TABLES` that is there."""
        if table is not None:
            return table
        there = set(self.tables())
        for name in EVENT_TABLES:
            if name in there:
                return name
        raise DataError(
            f"{self.shown} has no table {' or '.join(EVENT_TABLES)}; name one of "
            f"{', '.join(sorted(there)) or 'its tables (it has none)'}"
        )

    def tables(self) -> list[str]:
        """Names of tables and views."""
        with self._told():
            if isinstance(self._connection, sqlite3.Connection):
                found = self._connection.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
                )
                return [name for (name,) in found if not name.startswith("sqlite_")]
            import sqlalchemy as sa

            inspector = sa.inspect(self._connection)
            return [*inspector.get_table_names(), *inspector.get_view_names()]

    def rows(self, table: str, required: tuple[str, ...], what: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Where each row stands, and the row; events in the order of their ``id`` where they have one.

        Raises
        ------
        DataError
            For a table that is not there, or lacks a column.
        """
        match = _TABLE.fullmatch(table)
        if match is None:
            raise DataError(f"{table!r} is neither a file nor a name of a table")
        mark = "`" if self._dialect in ("mysql", "mariadb") else '"'
        quoted = ".".join(f"{mark}{part}{mark}" for part in match.groups() if part)
        with self._told(table):
            names = self._columns(quoted)
            missing = [name for name in required if name not in names]
            if "time" not in names and "time_us" not in names:
                missing.append("time (or time_us)")
            if missing:
                raise DataError(
                    f"table {table} of {self.shown} lacks the columns {', '.join(missing)} of {what}; it has "
                    f"{', '.join(names)}"
                )
            order = f" ORDER BY {mark}id{mark}" if what == "events" and "id" in names else ""
            number = 0
            for page in self._pages(f"SELECT * FROM {quoted}{order}"):
                for row in page:
                    number += 1
                    where = f"{self.shown}, table {table}, row {number}"
                    yield where, dict(zip(names, row, strict=True))

    def _columns(self, quoted: str) -> list[str]:
        sql = f"SELECT * FROM {quoted} WHERE 1 = 0"
        if isinstance(self._connection, sqlite3.Connection):
            return [column[0] for column in self._connection.execute(sql).description]
        with self._connection.exec_driver_sql(sql) as found:
            return list(found.keys())

    def _pages(self, sql: str) -> Iterator[Sequence[Sequence[Any]]]:
        if isinstance(self._connection, sqlite3.Connection):
            cursor: Any = self._connection.execute(sql)
        else:
            cursor = self._connection.exec_driver_sql(sql, execution_options={"stream_results": True})
        self._cursors.append(cursor)
        while page := cursor.fetchmany(_PAGE):
            yield page

    @contextmanager
    def _told(self, table: str | None = None) -> Iterator[None]:
        try:
            yield
        except (DataError, GeneratorExit):
            raise
        except Exception as error:
            place = self.shown if table is None else f"table {table} of {self.shown}"
            raise DataError(f"{place} cannot be read: {_reason(error, self._secrets)}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for cursor in self._cursors:  # one that was not read to its end is still open
            cursor.close()
        self._connection.close()


def _reason(error: BaseException, secrets: Sequence[str]) -> str:
    """The first line of the database's own error, with no password in it."""
    text = (str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__])[0]
    for secret in secrets:
        text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
    return text
