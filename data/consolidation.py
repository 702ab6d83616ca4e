"""What a blind policy may see: memories, events and the time. Nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from memvalue.data.event import Event
from memvalue.data.memory import MACHINE_ROLES, Memory


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The memories of one store at one moment, as columns, in chronological order.

    It has no question, no answer key and no ids: the type itself keeps the extractor blind
    (design.md, rule 1). ``n`` is the number of memories.

    Parameters
    ----------
    texts
        n strings.
    roles
        n role names.
    sessions
        int64[n]; ordinal of the conversation, 0 for the earliest. Non-decreasing.
    positions
        int64[n]; place within the session, from 0.
    times
        datetime64[s][n]; UTC. Non-decreasing.
    now
        datetime64[s]; the moment of consolidation, UTC.
    events
        What happened to them, in time order.
    trust
        float64[n] in [0, 1]; NaN where unknown. None stands for all unknown.
    pinned
        bool[n]. None stands for none pinned.
    """

    texts: tuple[str, ...]
    roles: tuple[str, ...]
    sessions: NDArray[np.int64]
    positions: NDArray[np.int64]
    times: NDArray[np.datetime64]
    now: np.datetime64
    events: tuple[Event, ...] = ()
    trust: NDArray[np.float64] | None = None
    pinned: NDArray[np.bool_] | None = None
    _person: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = len(self.texts)
        for name in ("roles", "sessions", "positions", "times", "trust", "pinned"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise ValueError(f"Consolidation.{name} has {len(column)} rows, texts has {n}")
        if n and bool((np.diff(self.sessions) < 0).any()):
            raise ValueError("Consolidation.sessions must not decrease; sort by session time first")
        if n and bool((np.diff(self.times) < np.timedelta64(0, "s")).any()):
            raise ValueError("Consolidation.times must not decrease; sort by time first")
        for event in self.events:
            if event.memory >= n:
                raise ValueError(f"an event names memory {event.memory}, but there are only {n}")
        person = np.fromiter((r not in MACHINE_ROLES for r in self.roles), dtype=bool, count=n)
        object.__setattr__(self, "_person", person)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def person(self) -> NDArray[np.bool_]:
        """bool[n]: True where a person spoke (not assistant, tool or system)."""
        return self._person

    @property
    def memories(self) -> Iterable[Memory]:
        """The rows, one at a time."""
        for i, text in enumerate(self.texts):
            trust = None if self.trust is None or np.isnan(self.trust[i]) else float(self.trust[i])
            yield Memory(
                text=text,
                role=self.roles[i],
                time=self.times[i].astype("datetime64[s]").item().replace(tzinfo=UTC),
                session=int(self.sessions[i]),
                position=int(self.positions[i]),
                trust=trust,
                pinned=bool(self.pinned[i]) if self.pinned is not None else False,
            )

    @classmethod
    def from_memories(
        cls, memories: Sequence[Memory], *, now: datetime | None = None, events: Sequence[Event] = ()
    ) -> Consolidation:
        """Sort ``memories`` by time (stable; a session stays together) and lay them out as columns.

        Sessions are ordered by their earliest memory and renumbered from 0. ``now`` defaults to the
        latest time. Event row numbers refer to the *given* order and are translated.
        """
        first: dict[int, datetime] = {}
        for m in memories:
            first[m.session] = min(m.time, first.get(m.session, m.time))
        rank = {s: i for i, s in enumerate(sorted(first, key=lambda s: first[s]))}
        order = sorted(
            range(len(memories)),
            key=lambda i: (rank[memories[i].session], memories[i].time, memories[i].position),
        )
        rows = [memories[i] for i in order]
        where = {old: new for new, old in enumerate(order)}
        times = np.array([_seconds(m.time) for m in rows], dtype="datetime64[s]")
        # Sessions may interleave; a running maximum keeps the column sorted without splitting a session.
        times = np.maximum.accumulate(times) if len(rows) else times
        end = _seconds(now) if now is not None else (times[-1] if len(rows) else np.datetime64(0, "s"))
        return cls(
            texts=tuple(m.text for m in rows),
            roles=tuple(m.role for m in rows),
            sessions=np.array([rank[m.session] for m in rows], dtype=np.int64),
            positions=np.array([m.position for m in rows], dtype=np.int64),
            times=times,
            now=end.astype("datetime64[s]"),
            events=tuple(
                Event(e.kind, where[e.memory], e.time, e.actor, e.signal, e.weight)
                for e in sorted(events, key=lambda e: e.time)
            ),
            trust=np.array([np.nan if m.trust is None else m.trust for m in rows], dtype=np.float64),
            pinned=np.array([m.pinned for m in rows], dtype=bool),
        )

    def digest(self) -> str:
        """SHA-256 over everything a policy may see; equal content gives an equal digest."""
        n = len(self.texts)
        h = hashlib.sha256(n.to_bytes(8, "little"))
        for words in (self.texts, self.roles):  # lengths before the joined text keep the boundaries
            h.update(np.fromiter(map(len, words), dtype="<i8", count=n).tobytes())
            h.update("".join(words).encode("utf-8", "surrogatepass"))
        h.update(np.ascontiguousarray(self.sessions, dtype="<i8").tobytes())
        h.update(np.ascontiguousarray(self.positions, dtype="<i8").tobytes())
        h.update(self.times.astype("datetime64[s]").astype("<i8").tobytes())
        h.update(int(self.now.astype("datetime64[s]").astype(np.int64)).to_bytes(8, "little", signed=True))
        for e in self.events:
            row = f"{e.kind}|{e.memory}|{e.time.isoformat()}|{e.actor!r}|{e.signal!r}|{e.weight!r};"
            h.update(row.encode("utf-8", "surrogatepass"))
        for column in (self.trust, self.pinned):
            h.update(b"-" if column is None else np.ascontiguousarray(column, dtype="<f8").tobytes())
        return h.hexdigest()


def _seconds(value: datetime) -> np.datetime64:
    return np.datetime64(value.astimezone(UTC).replace(tzinfo=None), "s")
