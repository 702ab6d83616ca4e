"""What looked wrong about a log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogWarning:
    """One thing that looked wrong, and what was done about it.

    Parameters
    ----------
    code
        Short name; ``data/FORMATS.md`` lists them.
    message
        A sentence for people: what, how much, what was done, what may mend it.
    count
        Events (or, for ``few-…`` and ``one-memory``, what there is of them) that it concerns.
    """

    code: str
    message: str
    count: int
