"""The one error of the data room."""

from __future__ import annotations


class DataError(ValueError):
    """Input data cannot be used. The message says what is wrong, where, and how to mend it."""
