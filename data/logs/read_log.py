"""One verb that reads the log of a business, wherever it is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memvalue.data.check import as_object
from memvalue.data.errors import DataError
from memvalue.data.files import existing_file, iter_json_lines
from memvalue.data.logs.database import SqlSource, is_uri
from memvalue.data.logs.log import Log
from memvalue.data.logs.log_rows import DESCRIBED, LogRows

_SQLITE, _PARQUET = b"SQLite format 3\0", b"PAR1"

#: A name that ends so is a file's, not a table's.
_SUFFIXES = (".jsonl", ".json", ".parquet")

#: Columns that are read of a Parquet file; others may be anything, and large.
_EVENT_COLUMNS = (
    "id", "memory", "kind", "time", "time_us", "actor", "signal", "weight", "active_hours", *DESCRIBED
)  # fmt: skip
_MEMORY_COLUMNS = ("id", "time", "time_us", *DESCRIBED)


def read_log(source: str | Path, *, memories: str | Path | None = None, table: str | None = None) -> Log:
    """The log of a business. Read only; nothing is changed.

    Parameters
    ----------
    source
        Events: a JSONL or Parquet file, an SQLite file (:class:`memvalue.serve.history.SqliteLog` or any
        table of the same columns), or a database URI such as ``postgresql+psycopg://user@host/name``.
        ``data/FORMATS.md`` names the columns.
    memories
        What the events are about, where they do not say it themselves: a JSONL or Parquet file, or, for
        events in a database, the name of a table there.
    table
        Table of the events; ``events`` (or ``memvalue_events``) where None.

    Raises
    ------
    DataError
        What is wrong, where, and how to mend it. Passwords are never shown.
    """
    name = os.fspath(source)
    rows = LogRows()
    if is_uri(name):
        return _from_database(rows, SqlSource.of_uri(name), memories, table)
    path = existing_file(name, "event log")
    start = _start(path)
    if start.startswith(_SQLITE):
        return _from_database(rows, SqlSource.of_file(path), memories, table)
    if table is not None:
        raise DataError(f"{path} is no database, so it has no table {table!r}; leave the table out")
    if memories is not None:
        _memories_of_file(rows, memories)
    if start.startswith(_PARQUET):
        for where, item in _parquet(path, ("memory", "kind"), _EVENT_COLUMNS, "events"):
            rows.event(item, where)
    else:
        for where, item in _lines(path, "an event"):
            rows.event(item, where)
    return rows.log(str(path))


def _from_database(rows: LogRows, source: SqlSource, memories: str | Path | None, table: str | None) -> Log:
    with source:
        if memories is not None:
            if os.path.exists(memories) or not isinstance(memories, str):
                _memories_of_file(rows, memories)
            elif memories.endswith(_SUFFIXES):
                raise DataError(f"{memories} does not exist; check the path of the memories")
            else:
                for where, item in source.rows(memories, ("id", "text", "role"), "memories"):
                    rows.memory(item, where)
        for where, item in source.rows(source.events_table(table), ("memory", "kind"), "events"):
            rows.event(item, where)
    return rows.log(source.shown)


def _memories_of_file(rows: LogRows, source: str | Path) -> None:
    path = existing_file(source, "file of memories, one JSON object a line")
    start = _start(path)
    if start.startswith(_SQLITE):
        raise DataError(
            f"{path} is an SQLite file; memories come from a JSONL or Parquet file, or from a table of the "
            "database that holds the events"
        )
    if start.startswith(_PARQUET):
        for where, item in _parquet(path, ("id", "text", "role"), _MEMORY_COLUMNS, "memories"):
            rows.memory(item, where)
    else:
        for where, item in _lines(path, "a memory"):
            rows.memory(item, where)


def _start(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


def _lines(path: Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, value in iter_json_lines(path, what):
        where = f"{path}, line {number}"
        yield where, value if type(value) is dict else as_object(value, where)


def _parquet(
    path: Path, required: tuple[str, ...], known: tuple[str, ...], what: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(
            f"{path} is a Parquet file, which needs pyarrow: pip install 'memvalue[train]'"
        ) from None
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _check_columns(str(path), names, required, what)
            number = 0
            for batch in file.iter_batches(columns=[n for n in names if n in known]):
                for item in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", item
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is no sound Parquet file ({_first_line(error)}); write it again") from None


def _check_columns(where: str, names: list[str], required: tuple[str, ...], what: str) -> None:
    missing = [name for name in required if name not in names]
    if "time" not in names and "time_us" not in names:
        missing.append("time (or time_us)")
    if missing:
        raise DataError(
            f"{where} lacks the columns {', '.join(missing)} of {what}; it has {', '.join(names)}"
        )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
