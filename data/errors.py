"""The errors of the data room."""

from __future__ import annotations


class DataError(ValueError):
    """Input data cannot be used. The message says what is wrong, where, and how to mend it."""


class NoCases(DataError):
    """Sound data that say too little yet: no moment has anything needed after it."""
