"""Checks that every loader makes of a JSON value; each failure says where it is and what was expected."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from memvalue.data.errors import DataError

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


def kind_of(value: Any) -> str:
    """What a JSON value is, in the words of JSON."""
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)


def as_label(value: Any, where: str, key: str) -> str:
    """A name that goes into tables and files: a text, not empty, no lone surrogate (no format stores one)."""
    if not isinstance(value, str):
        raise DataError(f"{where}: {key} is {kind_of(value)}, not a name")
    if not value.strip():
        raise DataError(f"{where}: {key} is empty")
    if _SURROGATE.search(value):
        raise DataError(f"{where}: {key} {value!r} holds half a surrogate pair; rename it")
    return value


def as_text(value: Any, where: str, key: str) -> str:
    """Any text, empty and lone surrogates included."""
    if not isinstance(value, str):
        raise DataError(f"{where}: {key} is {kind_of(value)}, not a text")
    return value


def as_list(value: Any, where: str, key: str) -> list[Any]:
    """A JSON list."""
    if not isinstance(value, list):
        raise DataError(f"{where}: {key} is {kind_of(value)}, not a list")
    return value


def as_object(value: Any, where: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """A JSON object that has the ``required`` keys."""
    if not isinstance(value, dict):
        raise DataError(f"{where} is {kind_of(value)}, not an object")
    if missing := [k for k in required if k not in value]:
        raise DataError(f"{where} lacks {', '.join(missing)}")
    return value


def as_bool(value: Any, where: str, key: str) -> bool:
    """``true`` or ``false``; a number is refused, because a score is easily taken for a label."""
    if not isinstance(value, bool):
        raise DataError(f"{where}: {key} is {value!r} ({kind_of(value)}), not true or false")
    return value


def as_int(value: Any, where: str, key: str) -> int:
    """A whole number that fits 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise DataError(f"{where}: {key} is {value!r}, not a whole number")
    return value


def as_time(value: Any, where: str, key: str) -> datetime:
    """An ISO 8601 time with an offset, in UTC; anything else is a DataError that says what to write.

    A ``datetime`` is taken as its ISO form, so that a dict made in Python reads as a line of a file does.
    """
    if isinstance(value, datetime):
        value = value.isoformat()
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        else:
            raise DataError(
                f"{where}: {key} is {value!r}, which has no offset; write '...T02:21:00Z' or '...+02:00'"
            )
    raise DataError(f"{where}: {key} is {value!r}, not a time like '2023-05-20T02:21:00Z'")
