"""The errors of the data room, and how any error is told in a line."""

from __future__ import annotations


class DataError(ValueError):
    """Input data cannot be used. The message says what is wrong, where, and how to mend it."""


class NoCases(DataError):
    """Sound data that say too little yet: no moment has anything needed after it."""


def one_line(error: BaseException) -> str:
    """What an error says, without line ends: the file and the system's word, or its first two lines."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) or type(error).__name__
