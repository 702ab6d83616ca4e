"""Actors whose judgement is not to be trusted: machines that tick, and floods of false confirmations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.data.logs.log import Log

#: Seconds.
DAY = 86_400

#: Nobody judges a memory every two seconds for a whole minute.
GRADES_A_MINUTE = 30

#: A tick: at least so many moments, of which this share follow each other at one and the same interval.
TICKS, TICK_SHARE = 100, 0.8

#: A grade is backed when its memory was written, shown or opened within the day before it. An actor floods
#: who gives more than half of all grades, at least so many, nearly none of them backed, where the others'
#: mostly are, or so many times as many unbacked as backed.
GRADES, BACKED_LOW, BACKED_USUAL, TIMES_BACKED = 50, 0.2, 0.5, 4.0
SEEN_WITHIN = np.timedelta64(24, "h")

#: Without such records: an actor with so many times the uses of every other, where the others have enough to
#: compare with, who meets them on the same memory in the same week about as often as chance would have it
#: (who works with them meets them more often; another department, less), or
TIMES_OTHERS, OTHERS_LEAST, BY_CHANCE, LEAST_BY_CHANCE = 4.0, 100, (0.5, 1.2), 10.0

#: who meets them not at all, and uses each of its memories so many times as often as they do theirs.
TIMES_A_MEMORY = 10.0

#: What is left must be enough to go by; an actor who does nearly everything is the business itself.
LEFT_LEAST = 30


@dataclass(frozen=True, slots=True)
class Suspect:
    """An actor, what gives it away as a code and in words, and bool[e]: the events that are not to count."""

    actor: int
    code: str
    why: str
    events: NDArray[np.bool_]


def judgements(log: Log) -> NDArray[np.bool_]:
    """bool[e]; events by which an actor judges: uses, and what says that a memory is wrong."""
    return np.asarray(log.uses() | log.of("corrected", "contradicted"))


def suspects(log: Log) -> list[Suspect]:
    """Actors whose uses and grades say nothing of what was needed; each with the first reason found."""
    found: dict[int, Suspect] = {}
    for check in (_rates, _ticks, _unseen, _alone):
        for suspect in check(log):
            found.setdefault(suspect.actor, suspect)
    return [found[actor] for actor in sorted(found)]


def resolution(log: Log) -> int:
    """Seconds to which the log's times are exact: 86,400, 3,600, 60 or 1."""
    microseconds = log.time.astype(np.int64)
    return next((step for step in (DAY, 3_600, 60) if not (microseconds % (step * 1_000_000)).any()), 1)


def rushed(log: Log) -> NDArray[np.bool_]:
    """bool[e]; grades that one actor gave in a minute with more than :data:`GRADES_A_MINUTE` of them."""
    found = np.zeros(len(log), dtype=bool)
    grades = np.flatnonzero(_grades(log))
    if resolution(log) <= 60 and len(grades):
        minute = log.time[grades].astype("datetime64[m]").astype(np.int64)
        both = (minute - minute[0]) * len(log.actors) + log.actor[grades]
        _, place, count = np.unique(both, return_inverse=True, return_counts=True)
        found[grades] = count[place] > GRADES_A_MINUTE
    return found


def _grades(log: Log) -> NDArray[np.bool_]:
    return log.of("confirmed", "corrected", "contradicted")


def _per_actor(log: Log, events: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[actors]; how many of these events each has."""
    return np.bincount(log.actor[events], minlength=len(log.actors))


def _judged_by(log: Log, actor: int) -> NDArray[np.bool_]:
    return np.asarray(judgements(log) & (log.actor == actor))


def _others_suffice(log: Log, actor: int) -> bool:
    return int((log.uses() & (log.actor != actor)).sum()) >= LEFT_LEAST


def _rates(log: Log) -> Iterator[Suspect]:
    fast, all_ = _per_actor(log, rushed(log)), _per_actor(log, _grades(log))
    for actor in np.flatnonzero(fast * 2 > all_).tolist():
        if _others_suffice(log, actor):
            why = f"gave {fast[actor]} grades faster than {GRADES_A_MINUTE} a minute"
            yield Suspect(actor, "bot", why, _judged_by(log, actor))


def _ticks(log: Log) -> Iterator[Suspect]:
    exact = resolution(log)
    if exact == DAY:  # days follow each other at a day's interval for anybody
        return
    judged = judgements(log)
    seconds = log.time.astype("datetime64[s]").astype(np.int64)
    for actor in np.flatnonzero(_per_actor(log, judged) > TICKS).tolist():
        moments = np.unique(seconds[judged & (log.actor == actor)])
        if len(moments) <= TICKS:
            continue
        gaps, count = np.unique(np.diff(moments), return_counts=True)
        usual, times = int(gaps[np.argmax(count)]), int(count.max())
        if usual > exact and times >= TICK_SHARE * count.sum() and _others_suffice(log, actor):
            why = f"acted every {usual} seconds, {times + 1} times"
            yield Suspect(actor, "bot", why, _judged_by(log, actor))


def _unseen(log: Log) -> Iterator[Suspect]:
    # Contradictions are often found by the agent itself, which reads what no log says.
    grades = log.of("confirmed", "corrected")
    counts = _per_actor(log, grades)
    actor, total = int(np.argmax(counts)), int(counts.sum())
    own = int(counts[actor])
    if own < GRADES or own * 2 <= total:
        return
    backed, mine = _backed(log), log.actor == actor
    theirs = int((backed & grades & mine).sum())
    why = (
        f"gave {own} of {total} confirmations and corrections, {own - theirs} of them of memories that "
        "nobody had written, been shown or opened within a day"
    )
    if total - own >= GRADES and theirs < BACKED_LOW * own:
        if backed[grades & ~mine].mean() >= BACKED_USUAL and _others_suffice(log, actor):
            yield Suspect(actor, "flood", why, _judged_by(log, actor))
    elif theirs >= GRADES and own - theirs >= TIMES_BACKED * theirs:
        yield Suspect(actor, "flood", f"{why}; these", mine & grades & ~backed)


def _backed(log: Log) -> NDArray[np.bool_]:
    """bool[e]; the memory was written, shown or opened within a day before, or at that time."""
    order = np.argsort(log.memory, kind="stable")
    base = log.memory * (len(log) + 1)
    key = (base + np.arange(len(log)))[order]
    seen = np.concatenate([[0], np.cumsum(log.of("written", "shown", "opened")[order])])
    first = np.searchsorted(key, base + np.searchsorted(log.time, log.time - SEEN_WITHIN))
    last = np.searchsorted(key, base + np.searchsorted(log.time, log.time, "right"))
    return np.asarray(seen[last] > seen[first])


def _alone(log: Log) -> Iterator[Suspect]:
    used = log.uses() & (log.weight > 0)
    counts = _per_actor(log, used)
    actor, total = int(np.argmax(counts)), int(counts.sum())
    own, others = int(counts[actor]), np.delete(counts, actor)
    if others.sum() < OTHERS_LEAST or own < TIMES_OTHERS * others.max():
        return
    mine = log.actor == actor
    first, week = log.time[0], np.timedelta64(7, "D")
    weeks = int((log.time[-1] - first) // week) + 1
    cells = log.memory * weeks + ((log.time - first) // week).astype(np.int64)
    begins = np.clip(((log.there() - first) // week).astype(np.int64), 0, weeks)
    ours, theirs = np.unique(cells[used & mine]), np.unique(cells[used & ~mine])
    met = len(np.intersect1d(ours, theirs, assume_unique=True))
    by_chance = len(ours) * len(theirs) / max(int((weeks - begins).sum()), 1)
    if by_chance < LEAST_BY_CHANCE:
        return
    low, high = BY_CHANCE
    apart = met < low * by_chance and _a_memory(log, used & mine) > TIMES_A_MEMORY * _a_memory(
        log, used & ~mine
    )
    if apart or low * by_chance <= met < high * by_chance:
        why = (
            f"gave {own} of {total} deliberate uses, and met the others on the same memory in the same week "
            f"{met} times, where chance alone would {by_chance:.0f} times"
        )
        yield Suspect(actor, "flood", why, _judged_by(log, actor))


def _a_memory(log: Log, events: NDArray[np.bool_]) -> float:
    """Mean number of these events over the memories that have any."""
    return float(events.sum()) / max(len(np.unique(log.memory[events])), 1)
