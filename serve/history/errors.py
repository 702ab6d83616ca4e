"""Why an event log could not be used."""

from __future__ import annotations


class HistoryError(ValueError):
    """The log cannot be opened, read or written. The message says why, where, and how to mend it."""
