"""Something that happened to a memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from memvalue.data.memory import as_utc

EventKind = Literal[
    "written", "shown", "opened", "confirmed", "corrected",
    "contradicted", "superseded", "rescored", "imported", "forgotten",
]  # fmt: skip
EVENT_KINDS: frozenset[str] = frozenset(get_args(EventKind))

#: Kinds that are a deliberate use. Being shown (retrieved) never is one (Bizer; design.md, usage history).
DELIBERATE_USES: frozenset[str] = frozenset({"opened", "confirmed", "written"})


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the append-only log.

    Parameters
    ----------
    kind
        One of :data:`EVENT_KINDS`.
    memory
        Index of the memory within its consolidation (row number).
    time
        When it happened; timezone-aware, converted to UTC.
    actor
        Who did it.
    signal
        Outcome in [0, 1]: 1 helped, 0 harmed.
    weight
        Evidence weight, 0 or more.
    """

    kind: EventKind
    memory: int
    time: datetime
    actor: str = "user"
    signal: float = 1.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in EVENT_KINDS:
            raise ValueError(f"unknown event kind {self.kind!r}; one of {', '.join(sorted(EVENT_KINDS))}")
        if not 0.0 <= self.signal <= 1.0:
            raise ValueError(f"Event.signal must lie in [0, 1], got {self.signal}")
        if not (self.weight >= 0.0 and self.weight != float("inf")):
            raise ValueError(f"Event.weight must be finite and 0 or more, got {self.weight}")
        if self.memory < 0:
            raise ValueError(f"Event.memory must be a row number, got {self.memory}")
        object.__setattr__(self, "time", as_utc(self.time, "Event.time"))
