"""One verb that makes cases of a business's own log: what was there at a time, and what was used after it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError, NoCases
from memvalue.data.event import Event, EventKind
from memvalue.data.logs.log import BY_DAY, KINDS, Log, kind
from memvalue.data.logs.log_cases import LogCases
from memvalue.data.memory import as_utc

#: A use that helped: at least half of it, where the log grades uses at all.
HELPED = 0.5

#: Reasons why a consolidation made no case; keys of ``Dataset.skipped``.
NO_MEMORY, NOT_NEEDED, NOT_OVER = "no memories", "nothing needed in the horizon", "horizon not over"

#: More consolidations than this are a mistake: ten years by the hour are 87,600.
MAX_CASES = 100_000

_SECOND = np.timedelta64(1, "s")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def cases_from_log(
    log: Log,
    *,
    every_days: float = 7.0,
    horizon_days: float | None = None,
    start: datetime | None = None,
    min_needed: int = 1,
    shown: bool = False,
) -> LogCases:
    """Consolidations at regular times, each with what was needed in the horizon after it.

    A case at time t holds the memories written up to t and not forgotten since, with the texts that they had
    then, and their events up to t. A memory is

    - *needed* when it was deliberately used in (t, t + horizon] (opened or confirmed with a signal of at
      least .5, or written again) while it was not superseded, and the corrections and contradictions in the
      horizon are fewer than the confirmations there, or none: a mistaken grade among many undoes no use;
    - *obsolete* when by t + horizon it was superseded, or corrected and contradicted at least as often as
      confirmed, since it was last written.

    Nothing after t changes what the case shows of t.

    Parameters
    ----------
    log
        A clean one; see :func:`~memvalue.data.logs.clean_log`.
    every_days
        Between two consolidations.
    horizon_days
        Days after t that are watched; as long as ``every_days`` where None.
    start
        The first consolidation, timezone-aware; ``every_days`` after the first event where None.
    min_needed
        Cases with fewer needed memories are left out and counted, as are those whose horizon the log does not
        cover to its end.
    shown
        Let cases hold the events of being shown too, often most of a log. No factor reads them, since being
        shown is no use; a policy that counts them as use needs them.

    Raises
    ------
    NoCases
        For a log that makes no case.
    DataError
        For a number out of range, or memories without any text.
    """
    step = _span(every_days, "every_days")
    horizon = step if horizon_days is None else _span(horizon_days, "horizon_days")
    if min_needed < 1:
        raise DataError(f"min_needed must be 1 or more, got {min_needed}")
    if not len(log):
        raise NoCases(f"{log.source} holds no event, so nothing says what was needed")
    if all(text is None for text in (*log.texts, *log.text)):
        raise DataError(
            f"{log.source} has no text of any memory; give memories=FILE (--memories FILE), or write the "
            "text on the 'written' events"
        )
    times, over = _moments(log, step, horizon, start)
    skipped = dict.fromkeys((NO_MEMORY, NOT_NEEDED), 0) | {NOT_OVER: int((~over).sum())}
    cases: list[Case] = []
    ids: list[tuple[str, ...]] = []
    ends: list[np.datetime64] = []
    verdicts = _Verdicts(log)
    for t, there, view in _views(log if shown else _unshown(log), times[over]):
        if not len(there):
            skipped[NO_MEMORY] += 1
            continue
        needed, obsolete = verdicts.after(there, t, t + horizon)
        if needed.sum() < min_needed:
            skipped[NOT_NEEDED] += 1
            continue
        cases.append(Case(f"{t}Z", view(), SealedKey(AnswerKey(needed, obsolete)), kind="log"))
        ids.append(tuple(log.ids[i] for i in there.tolist()))
        ends.append(t + horizon)
    skipped = {reason: n for reason, n in skipped.items() if n}
    if not cases:
        why = ", ".join(f"{n} × {reason}" for reason, n in skipped.items()) or "no consolidation in its time"
        raise NoCases(
            f"{log.source} makes no case ({why}): its {len(log)} events span {_days(log):.1f} days, with a "
            f"consolidation every {every_days:g} days and a horizon of {horizon / _SECOND / 86_400:g}. It "
            "takes later deliberate uses of memories whose text is known"
        )
    settings = (every_days, horizon_days, None if start is None else start.isoformat(), min_needed, shown)
    digest = hashlib.sha256(f"{log.digest()}|{settings!r}".encode()).hexdigest()
    # The log decides the cases: hashing it once is as good as hashing every event in every case.
    dataset = Dataset(log.source, "log", cases, skipped, digest)
    return LogCases(dataset, np.array(ends, dtype="datetime64[s]"), tuple(ids))


def _unshown(log: Log) -> Log:
    """The log without ``shown`` events, but for those before all others: they say that there was a log."""
    other = ~log.of("shown")
    first = int(np.argmax(other)) if other.any() else len(log)
    return log.keep(other | (np.arange(len(log)) < first))


def _span(days: float, name: str) -> np.timedelta64:
    if not 1.0 / 86_400 <= days <= 36_500:
        raise DataError(f"{name} must lie between one second and a hundred years, got {days} days")
    return np.timedelta64(round(days * 86_400), "s")


def _days(log: Log) -> float:
    return float((log.time[-1] - log.time[0]) / np.timedelta64(86_400_000_000, "us"))


def _moments(
    log: Log, step: np.timedelta64, horizon: np.timedelta64, start: datetime | None
) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
    """datetime64[s][k] up to the last event, and bool[k]: is the horizon over by then?"""
    if start is None:
        first = _ceil(log.time[0]) + step
    else:
        if start.tzinfo is None:
            raise DataError(f"start has no time zone ({start.isoformat()}); use datetime(..., tzinfo=UTC)")
        first = np.datetime64(as_utc(start, "start").replace(tzinfo=None), "s")
    last = log.time[-1]
    count = max(0, int((last - first) // step) + 1) if last >= first else 0
    if count > MAX_CASES:
        raise DataError(
            f"{count:,} consolidations between {first}Z and {last}Z; raise every_days, or drop events of a "
            "wrong year (clean_log does)"
        )
    times = first + np.arange(count) * step
    return times, np.asarray(times + horizon <= last)


def _ceil(time: np.datetime64) -> np.datetime64:
    second = time.astype("datetime64[s]")
    return cast(np.datetime64, second + _SECOND if time > second else second)


class _Verdicts:
    """Counts of uses and grades of a memory between two moments, by prefix sums over its events."""

    def __init__(self, log: Log) -> None:
        self._time, self._wide = log.time, len(log) + 1
        order = np.argsort(log.memory, kind="stable")
        base = log.memory[order] * self._wide
        self._key = base + order
        # Place of the latest writing so far, counted from 1 and 0 before any: rises along each memory.
        written = np.where(log.of("written"), np.arange(1, self._wide), 0)[order]
        self._last = np.maximum.accumulate(base + written) - base
        self._sums: dict[str, NDArray[np.int64]] = {}
        counts = log.weight > 0
        helped = counts & (log.signal >= HELPED)
        self._add("superseded", log.of("superseded")[order])
        self._add("wrong", (counts & log.of("corrected", "contradicted"))[order])
        self._add("right", (helped & log.of("confirmed"))[order])
        # A use of what was superseded and not written since is a mistake of the agent's, no need.
        superseded, since = self._sums["superseded"], np.searchsorted(self._key, base + self._last)
        stale = superseded[np.maximum(since, np.arange(len(order)))] > superseded[since]
        used = (helped & log.of("opened", "confirmed")) | (counts & log.writings_again())
        self._add("used", used[order] & ~stale)

    def _add(self, name: str, events: NDArray[np.bool_]) -> None:
        self._sums[name] = np.concatenate([[0], np.cumsum(events)])

    def after(
        self, rows: NDArray[np.int64], t: np.datetime64, end: np.datetime64
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """bool[n] needed and bool[n] obsolete, of memories at t as seen at the end of the horizon."""
        base = rows * self._wide
        lo, hi = (
            np.searchsorted(self._key, base + np.searchsorted(self._time, m, "right")) for m in (t, end)
        )

        def count(name: str, start: NDArray[np.int64]) -> NDArray[np.int64]:
            return cast(NDArray[np.int64], self._sums[name][hi] - self._sums[name][start])

        wrong = count("wrong", lo)
        needed = (count("used", lo) > 0) & ~((wrong > 0) & (wrong >= count("right", lo)))
        last = np.where(hi > np.searchsorted(self._key, base), self._last[np.maximum(hi - 1, 0)], 0)
        since = np.searchsorted(self._key, base + last)
        wrong = count("wrong", since)
        obsolete = (count("superseded", since) > 0) | ((wrong > 0) & (wrong >= count("right", since)))
        return needed, obsolete


def _views(log: Log, times: NDArray[np.datetime64]) -> Iterator[tuple[np.datetime64, NDArray[np.int64], Any]]:
    """For each time: the time, the rows of the memories there, in order, and how to make what is seen."""
    n = log.memories
    stated = np.flatnonzero(log.of("written", "forgotten"))
    forgotten = log.kind[stated] == kind("forgotten")
    gone = np.zeros(n, dtype=bool)
    texts = list(log.texts)
    known = np.array([text is not None for text in texts], dtype=bool)
    worded = np.flatnonzero([text is not None for text in log.text])
    done = read = 0
    begun = log.there()
    seconds = begun.astype("datetime64[s]")
    conversation = _conversations(log, begun)
    events = _Events(log)
    for t in times:
        upto = int(np.searchsorted(log.time[stated], t, "right"))
        gone[log.memory[stated[done:upto]]] = forgotten[done:upto]  # in order of time: the last one holds
        done = upto
        upto = int(np.searchsorted(log.time[worded], t, "right"))
        for event in worded[read:upto].tolist():
            texts[log.memory[event]] = log.text[event]
        known[log.memory[worded[read:upto]]] = True
        read = upto
        there = np.flatnonzero(known & ~gone & (begun <= t))
        rows, sessions = _in_order(there, conversation, seconds, log.positions)

        def view(
            t: np.datetime64 = t, rows: NDArray[np.int64] = rows, sessions: NDArray[np.int64] = sessions
        ) -> Consolidation:
            begins = np.flatnonzero(np.diff(sessions, prepend=-1))
            trust = log.trust[rows]
            return Consolidation(
                texts=tuple(cast(str, texts[i]) for i in rows.tolist()),
                roles=tuple(log.roles[i] for i in rows.tolist()),
                sessions=sessions,
                positions=np.arange(len(rows)) - np.repeat(begins, np.diff(np.append(begins, len(rows)))),
                # Sessions may interleave; a running maximum keeps the column sorted without splitting one.
                times=np.maximum.accumulate(seconds[rows]),
                now=t,
                events=events.upto(t, rows),
                trust=None if np.isnan(trust).all() else trust,
                pinned=log.pinned[rows],
            )

        yield t, rows, view


def _conversations(log: Log, begun: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """int64[n]; days count on after the numbers of the sessions that are named."""
    day = begun.astype("datetime64[D]").astype(np.int64)
    day += max(int(log.sessions.max(initial=-1)) + 1 - int(day.min(initial=0)), 0)
    return np.where(log.sessions == BY_DAY, day, log.sessions)


def _in_order(
    there: NDArray[np.int64],
    conversation: NDArray[np.int64],
    seconds: NDArray[np.datetime64],
    positions: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and session ordinals: sessions by their earliest memory, within them by time, then position."""
    if not len(there):
        return there, there
    _, session = np.unique(conversation[there], return_inverse=True)
    first = np.full(session.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, session, seconds[there].astype(np.int64))
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    order = np.lexsort((positions[there], seconds[there], rank[session]))
    return there[order], rank[session][order]


class _Events:
    """The log's events as Event objects; made once a row number, since most memories keep theirs."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._made: list[Event | None] = [None] * len(log)
        self._row = np.full(len(log), -1, dtype=np.int64)
        self._kinds = [cast(EventKind, KINDS[k]) for k in log.kind.tolist()]
        self._times = [_EPOCH + timedelta(microseconds=us) for us in log.time.astype(np.int64).tolist()]
        self._actors = [log.actors[a] for a in log.actor.tolist()]
        self._signals, self._weights = log.signal.tolist(), log.weight.tolist()

    def upto(self, t: np.datetime64, rows: NDArray[np.int64]) -> tuple[Event, ...]:
        """Events up to t of the memories that are there, which stand in these rows of the log."""
        log, made = self._log, self._made
        place = np.full(log.memories, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        upto = int(np.searchsorted(log.time, t, "right"))
        row = place[log.memory[:upto]]
        new = np.flatnonzero((row != self._row[:upto]) & (row >= 0))
        for i, memory in zip(new.tolist(), row[new].tolist(), strict=True):
            made[i] = Event(
                self._kinds[i], memory, self._times[i], self._actors[i], self._signals[i], self._weights[i]
            )
        self._row[new] = row[new]
        if (row >= 0).all():
            return tuple(cast(list[Event], made[:upto]))
        return tuple(cast(Event, made[i]) for i in np.flatnonzero(row >= 0).tolist())
