"""What a published policy is a function of: memories, events, a query or none, and now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.data import Consolidation, Event
from memvalue.data.event import EventKind
from memvalue.eval.published.occasions import Occasions
from memvalue.features.use_clock import HARM_KINDS, hours_of
from memvalue.serve.history.record import KINDS

#: Stands for the default of a column, which depends on how many rows there are.
_DEFAULT: Any = None

_EVENTS = ("memory", "kind", "time", "signal", "weight")

#: Kinds by which a memory came before the agent. Systems that count retrieval as use count all of them.
ACCESS_KINDS = ("shown", "opened", "confirmed")


@dataclass(frozen=True, eq=False)
class View:
    """n memories and m events up to one moment, as columns. It holds no text, no label and no answer.

    Times are hours since any one zero. Published papers differ in what they call a use, so the events are
    read in three ways: :meth:`accesses`, :meth:`uses` and :meth:`outcomes`.

    Parameters
    ----------
    created
        float64[n]; when each memory was written, not after ``now``.
    now
        The moment asked about.
    words
        int64[n]; length of the text in words. Default: 1.
    sessions
        int64[n]; which conversation a memory is of. Default: each its own.
    importance
        float64[n] in [0, 1], for policies that have a rating by a language model; None is uniform.
    relevance
        float64[n] in [0, 1]; closeness to the query. None where nothing is asked: each policy says what it
        ranks by then.
    items
        float64[n, k]; what is known of a memory itself, for a policy that is fitted. None is nothing.
    memory, kind, time, signal, weight
        Columns of the m events: row of the memory, index into ``KINDS``, hours, signal in [0, 1], weight.

    Raises
    ------
    ValueError
        For columns of different lengths, a number that is not finite or outside its range, an event of no
        memory, or anything later than ``now``.
    """

    created: NDArray[np.float64]
    now: float
    words: NDArray[np.int64] = _DEFAULT
    sessions: NDArray[np.int64] = _DEFAULT
    importance: NDArray[np.float64] | None = None
    relevance: NDArray[np.float64] | None = None
    items: NDArray[np.float64] | None = None
    memory: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    kind: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    time: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    signal: NDArray[np.float64] = _DEFAULT
    weight: NDArray[np.float64] = _DEFAULT

    def __post_init__(self) -> None:
        n, m = len(self.created), len(self.memory)
        defaults = {
            "words": np.ones(n, np.int64),
            "sessions": np.arange(n),
            "signal": np.ones(m),
            "weight": np.ones(m),
        }
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        for name, size in (("words", n), ("sessions", n), *((name, m) for name in _EVENTS)):
            if len(getattr(self, name)) != size:
                raise ValueError(f"View.{name} has {len(getattr(self, name))} rows, expected {size}")
        object.__setattr__(self, "created", _numbers("created", self.created, n))
        for name in ("importance", "relevance"):
            if (column := getattr(self, name)) is not None:
                object.__setattr__(self, name, _numbers(name, column, n, 1.0))
        for name, most in (("time", None), ("signal", 1.0), ("weight", np.inf)):
            object.__setattr__(self, name, _numbers(name, getattr(self, name), m, most))
        if self.items is not None and (self.items.ndim != 2 or len(self.items) != n):
            raise ValueError(f"View.items has shape {self.items.shape}, expected ({n}, k)")
        if n and self.created.max() > self.now:
            row = int(self.created.argmax())
            raise ValueError(f"memory {row} was written {self.created[row] - self.now:g} hours after now")
        if m:
            if self.memory.min() < 0 or self.memory.max() >= n:
                raise ValueError(f"an event names a memory outside 0..{n - 1}")
            if self.kind.min() < 0 or self.kind.max() >= len(KINDS):
                raise ValueError(
                    f"View.kind holds a number outside 0..{len(KINDS) - 1}, see serve.history.KINDS"
                )
            if self.time.max() > self.now:
                late = self.time.max() - self.now
                raise ValueError(f"an event happened {late:g} hours after now; leave out what is yet to come")
            order = np.lexsort((self.time, self.memory))
            for name in _EVENTS:
                object.__setattr__(self, name, np.asarray(getattr(self, name))[order])

    def __len__(self) -> int:
        """n, the number of memories."""
        return len(self.created)

    @classmethod
    def of(
        cls,
        consolidation: Consolidation,
        *,
        events: Iterable[Event] | None = None,
        importance: ArrayLike | None = None,
        relevance: ArrayLike | None = None,
        items: NDArray[np.float64] | None = None,
        words: NDArray[np.int64] | None = None,
    ) -> View:
        """The view of one store at its moment. Events after it are left out: nobody knew of them.

        ``events`` are those of the store when None. A memory that is dated after the moment counts as
        written just then.
        """
        now = _hours(consolidation.now)
        found = consolidation.events if events is None else tuple(events)
        rows = [
            (e.memory, KINDS.index(e.kind), t, e.signal, e.weight)
            for e in found
            if (t := hours_of(e.time)) <= now
        ]
        memory, kind, time, signal, weight = np.array(rows, np.float64).reshape(-1, 5).T
        if words is None:
            words = np.fromiter((max(1, len(t.split())) for t in consolidation.texts), np.int64)
        return cls(
            np.minimum(_hours(consolidation.times), now),
            float(now),
            words,
            consolidation.sessions,
            None if importance is None else np.asarray(importance, np.float64),
            None if relevance is None else np.asarray(relevance, np.float64),
            items,
            memory.astype(np.int64),
            kind.astype(np.int64),
            time,
            signal,
            weight,
        )

    @property
    def age(self) -> NDArray[np.float64]:
        """float64[n]; hours since each memory was written."""
        return self.now - self.created

    def accesses(self) -> Occasions:
        """Moments at which a memory came before the agent: shown, opened or confirmed.

        What happens to a memory at one and the same moment is one access, so a page that is logged as shown
        and opened at once is not counted twice.
        """
        found = self._occasions(self._is(*ACCESS_KINDS))
        again = np.zeros(len(found), dtype=bool)
        again[1:] = (found.memory[1:] == found.memory[:-1]) & (found.time[1:] == found.time[:-1])
        return found.take(~again)

    def uses(self) -> Occasions:
        """Deliberate uses: opened or confirmed to some good, or written anew. Being shown is none."""
        used = self._is("opened", "confirmed") & (self.signal * self.weight > 0.0)
        return self._occasions(used | self._rewritten())

    def outcomes(self) -> Occasions:
        """Moments that tell a success from a failure, as ``serve.history`` grades them for FSRS.

        A deliberate use is a success; a confirmation below one half, a correction, a contradiction and a
        replacement are failures.
        """
        harmed = self._is(*HARM_KINDS) & (self.weight > 0.0)
        doubted = self._is("confirmed") & (self.signal < 0.5) & (self.weight > 0.0)
        used = self._is("opened", "confirmed") & (self.signal * self.weight > 0.0)
        return self._occasions(harmed | doubted | used | self._rewritten(), ~(harmed | doubted))

    def evidence(self) -> Occasions:
        """Moments that speak for or against a memory: confirmations, rescores, peers, and harm (signal 0)."""
        harmed = self._is(*HARM_KINDS)
        spoken = self._occasions(harmed | self._is("confirmed", "rescored", "imported"), ~harmed)
        signal = np.where(spoken.good, spoken.signal, 0.0)
        return Occasions(spoken.n, spoken.memory, spoken.time, signal, spoken.weight, spoken.good)

    def _is(self, *kinds: str) -> NDArray[np.bool_]:
        return np.isin(self.kind, [KINDS.index(cast(EventKind, k)) for k in kinds])

    def _rewritten(self) -> NDArray[np.bool_]:
        # The writing that made the memory is no use of it.
        return self._is("written") & (self.weight > 0.0) & (self.time > self.created[self.memory])

    def _occasions(self, mask: NDArray[np.bool_], good: NDArray[np.bool_] | None = None) -> Occasions:
        well = np.ones(len(mask), dtype=bool) if good is None else good
        columns = (self.memory, self.time, self.signal, self.weight, well)
        return Occasions(len(self), *(c[mask] for c in columns))  # type: ignore[arg-type]


def _hours(times: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(np.asarray(times, "datetime64[s]").astype(np.int64) / 3600.0)


def _numbers(name: str, column: ArrayLike, size: int, most: float | None = None) -> NDArray[np.float64]:
    """float64[size], finite; in [0, most] where there is a bound."""
    out = np.asarray(column, dtype=np.float64)
    if out.shape != (size,):
        raise ValueError(f"View.{name} has shape {out.shape}, expected ({size},)")
    if not np.isfinite(out).all():
        raise ValueError(f"View.{name} holds {out[~np.isfinite(out)][0]}; it must be finite")
    if most is not None and size and not 0.0 <= out.min() <= out.max() <= most:
        raise ValueError(f"View.{name} must lie in [0, {most:g}], got {out.min():g} to {out.max():g}")
    return out
