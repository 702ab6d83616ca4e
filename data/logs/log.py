"""A business's memories and what happened to them, as columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from memvalue.data.errors import DataError
from memvalue.data.event import EventKind

#: Kinds of events in a fixed order; the column ``kind`` holds the index.
KINDS: tuple[str, ...] = get_args(EventKind)

#: Columns with one row a memory, and one row an event.
_MEMORIES = ("ids", "texts", "roles", "sessions", "positions", "times", "trust", "pinned")
_EVENTS = ("kind", "memory", "time", "actor", "signal", "weight", "active_hours", "sequence", "text")

#: The session of a memory that names none: the conversation of its day in UTC, as in a store.
BY_DAY = -1


def kind(name: str) -> int:
    """The index of a kind of event."""
    return KINDS.index(name)


@dataclass(frozen=True, eq=False)
class Log:
    """n memories and e events of one business, events in order of time.

    Parameters
    ----------
    source
        Where it was read, fit to be shown: without a password.
    ids
        n different names of the store's own.
    texts
        n texts, those of a dump of the store; None where only events say them, or nothing does.
    roles
        n roles.
    sessions
        int64[n]; equal within a conversation, :data:`BY_DAY` where none is named.
    positions
        int64[n]; place within the conversation, 0 or more. Orders what has equal times.
    times
        datetime64[us][n], UTC, as a dump of the store has them; NaT where only events say.
    trust
        float64[n] in [0, 1], NaN where unknown.
    pinned
        bool[n].
    kind
        int8[e]; index into :data:`KINDS`.
    memory
        int64[e]; row of the memory.
    time
        datetime64[us][e], UTC, non-decreasing.
    actor
        int64[e]; index into ``actors``.
    signal
        float64[e] in [0, 1].
    weight
        float64[e], finite, 0 or more.
    active_hours
        float64[e], NaN where no such clock is kept.
    sequence
        int64[e], all different; the order in which events were logged, as far as the source shows it.
    text
        object[e]; what a memory was written as, None for events that do not say.
    actors
        Names of those who acted.
    numbered
        The source numbers its events, so that ``sequence`` is the order in which they were acknowledged.

    Raises
    ------
    DataError
        For columns of other lengths, out of order, or numbers out of range; it names the column.
    """

    source: str
    ids: tuple[str, ...]
    texts: tuple[str | None, ...]
    roles: tuple[str, ...]
    sessions: NDArray[np.int64]
    positions: NDArray[np.int64]
    times: NDArray[np.datetime64]
    trust: NDArray[np.float64]
    pinned: NDArray[np.bool_]
    kind: NDArray[np.int8]
    memory: NDArray[np.int64]
    time: NDArray[np.datetime64]
    actor: NDArray[np.int64]
    signal: NDArray[np.float64]
    weight: NDArray[np.float64]
    active_hours: NDArray[np.float64]
    sequence: NDArray[np.int64]
    text: NDArray[np.object_]
    actors: tuple[str, ...]
    numbered: bool = False

    def __post_init__(self) -> None:
        for names in (_MEMORIES, _EVENTS):
            n = len(getattr(self, names[0]))
            for name in names:
                if len(getattr(self, name)) != n:
                    raise DataError(f"Log.{name} has {len(getattr(self, name))} rows, Log.{names[0]} has {n}")
        if len(set(self.ids)) < len(self.ids):
            raise DataError("Log.ids must differ from each other")
        _inside("memory", self.memory, len(self.ids))
        _inside("actor", self.actor, len(self.actors))
        _inside("kind", self.kind, len(KINDS))
        for name in ("times", "time"):
            if getattr(self, name).dtype != np.dtype("datetime64[us]"):
                raise DataError(f"Log.{name} must be datetime64[us], got {getattr(self, name).dtype}")
        if np.isnat(self.time).any():
            raise DataError("Log.time must not be NaT")
        if (np.diff(self.time) < np.timedelta64(0, "us")).any():
            raise DataError("Log.time must not decrease; sort by time first")
        if len(self.positions) and self.positions.min() < 0:
            raise DataError("Log.positions must be 0 or more")
        if not ((self.signal >= 0) & (self.signal <= 1)).all():
            raise DataError("Log.signal must lie in [0, 1]")
        if not ((self.weight >= 0) & np.isfinite(self.weight)).all():
            raise DataError("Log.weight must be finite and 0 or more")
        if ((self.trust < 0) | (self.trust > 1)).any():
            raise DataError("Log.trust must lie in [0, 1], or be NaN where it is unknown")
        if (self.active_hours < 0).any() or np.isinf(self.active_hours).any():
            raise DataError("Log.active_hours must be finite and 0 or more, or NaN")

    def __len__(self) -> int:
        """e, the number of events."""
        return len(self.kind)

    @property
    def memories(self) -> int:
        """n, the number of memories."""
        return len(self.ids)

    def of(self, *kinds: str) -> NDArray[np.bool_]:
        """bool[e]; events of these kinds."""
        return np.isin(self.kind, [KINDS.index(k) for k in kinds])

    def writings_again(self) -> NDArray[np.bool_]:
        """bool[e]; a memory was written, not for the first time: a deliberate use."""
        written = np.flatnonzero(self.of("written"))
        again = np.zeros(len(self), dtype=bool)
        again[written] = True
        _, first = np.unique(self.memory[written], return_index=True)
        again[written[first]] = False
        return again

    def there(self) -> NDArray[np.datetime64]:
        """datetime64[us][n]; from when each memory is there.

        The earlier of its time in the store and its first writing; where neither is known, its first event.
        """
        found = np.full(self.memories, np.iinfo(np.int64).max)
        stated = ~np.isnat(self.times)
        found[stated] = self.times[stated].astype(np.int64)
        time = self.time.astype(np.int64)
        written = self.of("written")
        np.minimum.at(found, self.memory[written], time[written])
        unknown = found[self.memory] == np.iinfo(np.int64).max
        np.minimum.at(found, self.memory[unknown], time[unknown])
        return found.astype("datetime64[us]")

    def uses(self) -> NDArray[np.bool_]:
        """bool[e]; opened, confirmed, or written again: deliberate uses, however they went."""
        return np.asarray(self.of("opened", "confirmed") | self.writings_again())

    def keep(self, events: NDArray[np.bool_]) -> Log:
        """The log with some of its events, bool[e]; all memories stay."""
        return replace(self, **{name: getattr(self, name)[events] for name in _EVENTS})

    def redated(self, time: NDArray[np.datetime64]) -> Log:
        """The log with other times, datetime64[us][e], its events in their order."""
        order = np.lexsort((self.sequence, time))
        changed = {name: getattr(self, name)[order] for name in _EVENTS}
        return replace(self, **(changed | {"time": time[order]}))

    def digest(self) -> str:
        """SHA-256 over memories and events; logs of equal content have equal digests."""
        whole = hashlib.sha256()
        for field in fields(self):
            if field.name in ("source", "numbered"):
                continue
            value: Any = getattr(self, field.name)
            whole.update(field.name.encode())
            if isinstance(value, np.ndarray) and value.dtype != object:
                whole.update(repr((value.dtype.str, value.shape)).encode())
                whole.update(np.ascontiguousarray(value).tobytes())
            else:
                lengths = [-1 if text is None else len(text) for text in value]
                whole.update(np.array([len(value), *lengths], dtype="<i8").tobytes())
                whole.update("".join(filter(None, value)).encode("utf-8", "surrogatepass"))
        return whole.hexdigest()


def _inside(name: str, column: NDArray[Any], size: int) -> None:
    if len(column) and not (column.min() >= 0 and column.max() < size):
        raise DataError(f"Log.{name} names row {column.min()} or {column.max()}, but there are only {size}")
