"""One thing remembered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

#: Roles that are not a person. Every other role is a person: ``user``, or a speaker's name (LoCoMo).
MACHINE_ROLES = frozenset({"assistant", "tool", "system"})


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered: text, who said it, when, and where in the conversation.

    Parameters
    ----------
    text
        What was said, any Unicode, any length.
    role
        ``user``, ``assistant``, ``tool``, ``system``, or a person's name.
    time
        When it was said; timezone-aware. Converted to UTC.
    session
        Which conversation it belongs to; any integer, equal within a conversation.
    position
        Place within the session, from 0.
    trust
        How far its source is trusted, in [0, 1], or None when unknown.
    stratum, scope
        Optional labels of the store that holds it.
    expires
        When it stops being true or useful; timezone-aware, or None.
    pinned
        The owner asked to keep it whatever its value.

    Raises
    ------
    ValueError
        For a naive time, a negative position, an empty role or a trust outside [0, 1].
    """

    text: str
    role: str
    time: datetime
    session: int = 0
    position: int = 0
    trust: float | None = None
    stratum: str | None = None
    scope: str | None = None
    expires: datetime | None = None
    pinned: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ValueError(f"Memory.text must be a string, got {type(self.text).__name__}")
        if not self.role:
            raise ValueError("Memory.role is empty; say who spoke, e.g. role='user'")
        if self.position < 0:
            raise ValueError(f"Memory.position must be 0 or more, got {self.position}")
        if self.trust is not None and not 0.0 <= self.trust <= 1.0:
            raise ValueError(f"Memory.trust must lie in [0, 1], got {self.trust}")
        object.__setattr__(self, "time", as_utc(self.time, "Memory.time"))
        if self.expires is not None:
            object.__setattr__(self, "expires", as_utc(self.expires, "Memory.expires"))

    @property
    def is_person(self) -> bool:
        """True when a person said it (``user`` or a named speaker)."""
        return self.role not in MACHINE_ROLES


def as_utc(value: datetime, what: str) -> datetime:
    """``value`` in UTC; a naive time is refused, because its meaning would depend on the machine."""
    if value.tzinfo is None:
        raise ValueError(f"{what} has no time zone ({value.isoformat()}); use datetime(..., tzinfo=UTC)")
    return value.astimezone(UTC)
