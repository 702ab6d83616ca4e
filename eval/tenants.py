"""Many businesses: a folder of their data, or a table that says where these are."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memvalue.data.errors import DataError
from memvalue.data.files import iter_json_lines
from memvalue.eval.business import Business

#: What a business's event log may be called, by its ending.
LOG_SUFFIXES = (".parquet", ".jsonl", ".sqlite", ".sqlite3", ".db")

#: Names that are safe as a file's name on every system, and in a model registry.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

#: What may be a table beside the events; a file of memories has an ending.
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")

_COLUMNS = ("business", "events", "memories", "transcript")


def tenants(source: str | Path) -> list[Business]:
    """The businesses of a folder or a table, by name.

    A folder holds for each business ``NAME.parquet`` (a factor table or a log), ``NAME.jsonl`` or
    ``NAME.sqlite``, or a folder ``NAME`` with ``events.*`` (and ``memories.jsonl``) or ``transcript.jsonl``.
    A table, ``.csv`` or ``.jsonl``, has the columns ``business`` and ``events`` or ``transcript``, and where
    needed ``memories``; paths in it are relative to its folder.

    Raises
    ------
    DataError
        When nothing is there, a name occurs twice or is not one, or a row says too little.
    """
    place = Path(source)
    if place.is_dir():
        found = list(_of_folder(place))
    elif place.is_file():
        found = list(_of_table(place))
    else:
        raise DataError(f"--tenants {place} does not exist; name a folder of businesses, or a table of them")
    if not found:
        raise DataError(
            f"--tenants {place} holds no business; put NAME.parquet, NAME.jsonl or NAME.sqlite there, or a "
            "folder NAME with events.jsonl"
        )
    seen: dict[str, Business] = {}
    for business in found:
        if business.name in seen:
            raise DataError(f"--tenants {place} has the business {business.name!r} twice; names must differ")
        seen[business.name] = business
    return [seen[name] for name in sorted(seen)]


def _of_folder(place: Path) -> Iterator[Business]:
    for entry in sorted(place.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _of_business(entry)
        elif entry.suffix in LOG_SUFFIXES:
            yield Business(_name(entry.stem, str(entry)), events=str(entry))


def _of_business(folder: Path) -> Iterable[Business]:
    """What a folder NAME says; nothing when it holds no data."""
    logs = [p for suffix in LOG_SUFFIXES if (p := folder / f"events{suffix}").is_file()]
    texts, said = folder / "memories.jsonl", folder / "transcript.jsonl"
    if len(logs) > 1:
        raise DataError(f"{folder} has {', '.join(p.name for p in logs)}; keep one of them")
    if logs:
        memories = str(texts) if texts.is_file() else None
        return [Business(_name(folder.name, str(folder)), events=str(logs[0]), memories=memories)]
    if said.is_file():
        return [Business(_name(folder.name, str(folder)), transcript=str(said))]
    return []


def _of_table(place: Path) -> Iterator[Business]:
    for line, row in _rows(place):
        where = f"{place}, line {line}"
        given = {key: str(row[key]) for key in _COLUMNS if row.get(key) not in (None, "")}
        if "business" not in given:
            raise DataError(f"{where}: the column business is missing or empty")
        name = _name(given.pop("business"), where)
        paths = {key: _beside(place, value, key == "memories") for key, value in given.items()}
        try:
            yield Business(name, **paths)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from None


def _rows(place: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if place.suffix == ".csv":
        try:
            text = place.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise DataError(f"{place} is not UTF-8 text; save the table as UTF-8") from None
        yield from enumerate(csv.DictReader(text.splitlines()), 2)
        return
    for number, row in iter_json_lines(place, "a business"):
        if not isinstance(row, dict):
            raise DataError(f"{place}, line {number} is not a JSON object")
        yield number, row


def _beside(table: Path, value: str, perhaps_table: bool) -> str:
    """A path relative to the table's folder; addresses of databases, and tables in them, as they are."""
    path = table.parent / value
    named = perhaps_table and _TABLE.fullmatch(value) is not None and not path.exists()
    return value if named or "://" in value else str(path)


def _name(text: str, where: str) -> str:
    if not _NAME.fullmatch(text):
        raise DataError(
            f"{where}: {text!r} cannot name a business; use letters, digits, '.', '_' and '-', 100 at most"
        )
    return text
