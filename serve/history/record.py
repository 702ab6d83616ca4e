"""One entry of the event log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast, get_args

from memvalue.data.event import EVENT_KINDS, EventKind

#: Kinds in a fixed order; columns of events hold the index.
KINDS: tuple[EventKind, ...] = get_args(EventKind)

#: A billion observations in one event is a mistake, and sums stay far from overflow.
MAX_WEIGHT = 1e9

_OPTIONAL = ("active_hours", "stability")

#: A hundred years, the longest interval of the package ``fsrs``.
MAX_STABILITY_DAYS = 36_500.0


@dataclass(frozen=True, slots=True)
class Record:
    """Something that happened to a memory, as the log keeps it.

    Parameters
    ----------
    memory
        The store's own id of the memory.
    kind
        One of :data:`memvalue.data.EVENT_KINDS`.
    time
        When it happened; timezone-aware, kept in UTC to the microsecond.
    actor
        Who did it; for ``imported``, the peer it came from.
    signal
        In [0, 1]. ``opened`` and ``confirmed``: how helpful (1 helped, 0 did not). ``written`` and
        ``rescored``: the importance V. ``imported``: the peer's utility. Other kinds say all by themselves.
    weight
        How much evidence it is, in observations; 0 or more.
    active_hours
        Reading of the store's own clock, which runs only while the agent works; None where none is kept.
    stability
        ``imported`` only: the peer's stability in days, times trust.
    id
        Given by the log; 0 before. Ids grow in the order in which events were acknowledged.

    Raises
    ------
    ValueError
        For an unknown kind, a naive time, or a number outside its range.
    """

    memory: str
    kind: EventKind
    time: datetime
    actor: str = "user"
    signal: float = 1.0
    weight: float = 1.0
    active_hours: float | None = None
    stability: float | None = None
    id: int = 0

    def __post_init__(self) -> None:
        for name in ("memory", "actor"):
            _check_name(name, getattr(self, name))
        if self.kind not in EVENT_KINDS:
            raise ValueError(f"unknown event kind {self.kind!r}; one of {', '.join(KINDS)}")
        if not isinstance(self.time, datetime):
            raise ValueError(f"Record.time must be a datetime, got {type(self.time).__name__}")
        if self.time.tzinfo is not UTC:
            if self.time.utcoffset() is None:
                raise ValueError(
                    f"Record.time has no time zone ({self.time.isoformat()}); use datetime(..., tzinfo=UTC)"
                )
            try:
                object.__setattr__(self, "time", self.time.astimezone(UTC))
            except OverflowError:
                raise ValueError(
                    f"Record.time {self.time.isoformat()} lies outside the years 1 to 9999 in UTC"
                ) from None
        # Plain floats: a database driver would store another number type as bytes, or refuse it.
        for name in ("signal", "weight", "active_hours", "stability"):
            value = getattr(self, name)
            if type(value) is not float and not (value is None and name in _OPTIONAL):
                object.__setattr__(self, name, _as_float(name, value))
        if not 0.0 <= self.signal <= 1.0:
            raise ValueError(f"Record.signal must lie in [0, 1], got {self.signal}")
        if not 0.0 <= self.weight <= MAX_WEIGHT:
            raise ValueError(f"Record.weight must lie in [0, {MAX_WEIGHT:g}], got {self.weight}")
        if self.active_hours is not None and not 0.0 <= self.active_hours < math.inf:
            raise ValueError(f"Record.active_hours must be finite and 0 or more, got {self.active_hours}")
        if self.stability is not None:
            if self.kind != "imported":
                raise ValueError(f"Record.stability belongs to 'imported', not to {self.kind!r}")
            if not 0.0 < self.stability <= MAX_STABILITY_DAYS:
                raise ValueError(
                    f"Record.stability must lie in (0, {MAX_STABILITY_DAYS:g}] days, got {self.stability}"
                )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the time in ISO 8601, UTC. What is not known is left out."""
        out: dict[str, Any] = {"id": self.id} if self.id else {}
        out |= {"memory": self.memory, "kind": self.kind, "time": self.time.isoformat()}
        out |= {"actor": self.actor, "signal": self.signal, "weight": self.weight}
        for name in ("active_hours", "stability"):
            if (value := getattr(self, name)) is not None:
                out[name] = value
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """The record that :meth:`to_dict` wrote; ``time`` is ISO 8601 with an offset.

        Raises ValueError for a missing or unknown key, or a time that is not one.
        """
        known = set(cls.__dataclass_fields__)
        if unknown := sorted(set(data) - known):
            raise ValueError(f"a record has no {', '.join(unknown)}; its keys are {', '.join(sorted(known))}")
        if missing := [name for name in ("memory", "kind", "time") if name not in data]:
            raise ValueError(f"a record lacks {', '.join(missing)}")
        try:
            time = datetime.fromisoformat(data["time"])
        except (TypeError, ValueError):
            raise ValueError(f"{data['time']!r} is no ISO 8601 time, such as 2026-01-05T09:00:00Z") from None
        return cls(**{**data, "time": time, "kind": cast(EventKind, data["kind"])})


def _check_name(name: str, value: object) -> None:
    """A name that every database stores: a text, not empty, no NUL, no half of a surrogate pair."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"Record.{name} must be a text that is not empty, got {value!r}")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"Record.{name} {value!r} holds half a surrogate pair; rename it") from None
    if "\0" in value:
        raise ValueError(f"Record.{name} {value!r} holds a NUL character; rename it")


def _as_float(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"Record.{name} must be a number, got {value!r}") from None
