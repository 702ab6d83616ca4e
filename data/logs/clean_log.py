"""One verb that finds what is spoiled in a log, takes it out, and says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from memvalue.data.logs.clock_jumps import clock_jumps
from memvalue.data.logs.grading import grading_error
from memvalue.data.logs.log import Log
from memvalue.data.logs.log_warning import LogWarning
from memvalue.data.logs.suspects import DAY, resolution, rushed, suspects
from memvalue.data.memory import as_utc

#: Uses of one memory by one actor in one day that count, in observations of weight 1: this many, or so many
#: times what 95 of 100 such days have, where one name stands for many people. Simulated businesses, in which
#: one name stands for all, reach 18, and 4 in 95 of 100.
USES_A_DAY, TIMES_USUAL_DAY = 50.0, 10.0

#: Clocks of two machines may differ by as much.
AHEAD = np.timedelta64(24, "h")

#: Should more than this share of the log be ahead of this machine's clock, it is the log's clock that holds:
#: it is simulated, or this machine's clock is behind.
AHEAD_SHARE = 1 / 3

#: Warn when graders are wrong at least one time in seven, surely, and probably one in five. One in 16 is
#: usual (systems.md: half of the correct answers are graded helpful, 3 % harmful by mistake).
GRADING_ERROR, GRADING_SURELY, GRADING_PAIRS = 0.2, 1 / 7, 20

#: Fewer deliberate uses than this cannot show what is needed; uses nearly all of one memory show only that.
FEW_USES, ONE_MEMORY_SHARE = 30, 0.9

#: Actors named in a warning.
_NAMED = 3


def clean_log(log: Log, *, now: datetime | None = None) -> tuple[Log, list[LogWarning]]:
    """The log without what is spoiled, and what was found. A sound log comes back as it is, with no warning.

    In this order:

    - ``duplicates``: events that are equal in all that is known of them count once, unless times are exact to
      the day alone. (Equal writings are no warning: to write the same twice at one time is to write it once.)
    - ``future``: events more than a day after ``now`` are left out; what was written then counts as written
      when the event before it was logged.
    - ``clock``: events whose time contradicts the order of logging, likewise.
    - ``early``: events of a memory more than a day before it was written are left out.
    - ``bot`` and ``flood``: what an actor judges who is no user (:mod:`memvalue.data.logs.suspects`) counts
      for nothing; it stays the store's history of what was written, superseded and forgotten.
    - ``rush``: grades of other actors given in bulk are left out.
    - ``repeats``: uses of one memory by one actor in one day count up to :data:`USES_A_DAY`, or a multiple
      of what is usual.
    - ``no-text``: events of memories whose text nothing tells stay, but no case can hold them.
    - ``graders``, ``one-memory``, ``few-uses``: nothing is taken out.

    Parameters
    ----------
    log
        As it was read.
    now
        Timezone-aware; this machine's time where None, unless a large part of the log lies after it.
    """
    warnings: list[LogWarning] = []
    log = _duplicates(log, warnings)
    log = _dated(log, now, warnings)
    log = _early(log, warnings)
    log = _actors(log, warnings)
    log = _repeats(log, warnings)
    _tell(log, warnings)
    return log, warnings


def _duplicates(log: Log, warnings: list[LogWarning]) -> Log:
    if resolution(log) == DAY:
        return log
    columns = [log.memory, log.kind.astype(np.int64), log.time.astype(np.int64), log.actor]
    numbers = [log.signal, log.weight, log.active_hours]
    table = np.stack([*columns, *(n.view(np.int64) for n in numbers)], axis=1)
    _, group = np.unique(table, axis=0, return_inverse=True)
    seen: set[tuple[int, str | None]] = set()
    kept = np.ones(len(log), dtype=bool)
    for i, key in enumerate(zip(group.reshape(-1).tolist(), log.text.tolist(), strict=True)):
        kept[i] = key not in seen
        seen.add(key)
    return _left_out(
        log.keep(kept | ~log.of("written")),
        kept[kept | ~log.of("written")],
        warnings,
        "duplicates",
        "{n} events are there more than once and count once; if they did happen more than once, give times "
        "to the second",
    )


def _dated(log: Log, now: datetime | None, warnings: list[LogWarning]) -> Log:
    """Events in the future, and events out of the order of logging."""
    today = np.datetime64(as_utc(now or datetime.now(UTC), "now").replace(tzinfo=None), "us")
    future = log.time > today + AHEAD
    if now is None and future.mean() > AHEAD_SHARE:
        future[:] = False
    jumped = clock_jumps(log) & ~future
    bad = future | jumped
    if not bad.any():
        return log
    # What was written, superseded or forgotten did happen: its place in the log dates it.
    moved = bad & log.of("written", "superseded", "forgotten")
    for mask, code, what in (
        (future, "future", f"{{n}} events are dated after {today.astype('datetime64[D]')}, which is today"),
        (jumped, "clock", "{n} events are dated more than a day off their place in the log: a clock jumped"),
    ):
        if count := int(mask.sum()):
            message = what.format(n=count) + "; they are left out"
            if stay := int((mask & moved).sum()):
                message += (
                    f", but for {stay} writings and the like, which are dated by their place in the log"
                )
            if code == "clock":
                message += "; if the times are right, put the log in order of time"
            warnings.append(LogWarning(code, message, count))
    time = np.where(moved, _time_of_place(log, ~bad, today), log.time)
    order = np.lexsort((log.sequence, time))
    return log.redated(time).keep((~bad | moved)[order])


def _time_of_place(log: Log, sound: NDArray[np.bool_], today: np.datetime64) -> NDArray[np.datetime64]:
    """datetime64[us][e]; the time of the latest sound event logged before each, or of the first sound one."""
    order = np.argsort(log.sequence)
    latest = np.maximum.accumulate(np.where(sound[order], np.arange(len(log)), -1))
    if not sound.any():
        return np.minimum(log.time, today)
    latest = np.where(latest < 0, np.flatnonzero(sound[order])[0], latest)
    time = np.empty(len(log), dtype=log.time.dtype)
    time[order] = log.time[order][latest]
    return time


def _early(log: Log, warnings: list[LogWarning]) -> Log:
    late = log.of("written") | (log.time >= log.there()[log.memory] - AHEAD)
    return _left_out(
        log,
        late,
        warnings,
        "early",
        "{n} events are dated more than a day before their memory was written; they are left out. Is a "
        "memory's time that of its first writing?",
    )


def _actors(log: Log, warnings: list[LogWarning]) -> Log:
    again = log.writings_again()
    kept, weight = np.ones(len(log), dtype=bool), log.weight.copy()
    reasons: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for suspect in suspects(log):
        kept[suspect.events & ~again] = False
        weight[suspect.events & again] = 0.0  # the text did change
        reasons.setdefault(suspect.code, []).append(f"{log.actors[suspect.actor]!r} {suspect.why}")
        counts[suspect.code] = counts.get(suspect.code, 0) + int(suspect.events.sum())
    for code, whys in reasons.items():
        whole = "; ".join(whys[:_NAMED]) + (f"; and {len(whys) - _NAMED} more" if len(whys) > _NAMED else "")
        warnings.append(
            LogWarning(
                code,
                f"{whole}: not counted, neither as uses nor as corrections. If several people act "
                "under one name, give each their own",
                counts[code],
            )
        )
    log = replace(log, weight=weight).keep(kept)
    return _left_out(
        log,
        ~rushed(log),
        warnings,
        "rush",
        "{n} grades were given in bulk, more than thirty a minute by one actor; they are left out",
    )


def _repeats(log: Log, warnings: list[LogWarning]) -> Log:
    """Without uses beyond what one actor has of one memory in a day; the last to count may do so in part."""
    used = np.flatnonzero(log.uses() & (log.weight > 0))
    if not len(used):
        return log
    day = log.time[used].astype("datetime64[D]").astype(np.int64)
    group = np.unique(np.stack([log.memory[used], log.actor[used], day]), axis=1, return_inverse=True)[1]
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    total = np.cumsum(log.weight[used][order])
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    before = np.concatenate([[0.0], total])[begins]
    so_far = total - np.repeat(before, np.diff(np.append(begins, len(order))))
    weight = log.weight.copy()
    own = weight[used[order]]
    a_day = np.add.reduceat(own, begins)
    most = max(USES_A_DAY, TIMES_USUAL_DAY * float(np.quantile(a_day, 0.95)))
    weight[used[order]] = np.clip(most - (so_far - own), 0.0, own)
    capped = int((weight < log.weight).sum())
    if not capped:
        return log
    warnings.append(
        LogWarning(
            "repeats",
            f"{capped} uses repeat what their actor had done {most:.0f} times to the same memory on the "
            "same day; they count for nothing",
            capped,
        )
    )
    log = replace(log, weight=weight)
    return log.keep((weight > 0) | ~log.of("opened", "confirmed"))


def _tell(log: Log, warnings: list[LogWarning]) -> None:
    """What cannot be mended."""
    known = np.array([text is not None for text in log.texts], dtype=bool)
    worded = np.array([text is not None for text in log.text], dtype=bool)
    known[log.memory[worded]] = True
    if known.any() and (lost := int((~known[log.memory]).sum())):
        names = int((~known)[np.unique(log.memory)].sum())
        warnings.append(
            LogWarning(
                "no-text",
                f"{lost} events are about {names} memories of which no text is known; no case can hold them. "
                "Were they taken out of the store?",
                lost,
            )
        )
    graded = grading_error(log)
    if graded.pairs >= GRADING_PAIRS and graded.share >= GRADING_ERROR and graded.at_least >= GRADING_SURELY:
        warnings.append(
            LogWarning(
                "graders",
                f"graders contradict each other: about {graded.share:.0%} of the grades look wrong (at least "
                f"{graded.at_least:.0%}, from {graded.pairs} pairs of grades of one memory); corrections "
                "are outvoted where confirmations are more, and the labels stay uncertain",
                graded.pairs,
            )
        )
    used = log.memory[log.uses() & (log.weight > 0)]
    if len(used) < FEW_USES:
        warnings.append(
            LogWarning(
                "few-uses",
                f"{len(used)} deliberate uses (opened, confirmed, written again) are too few to learn from; "
                f"keep logging until there are {FEW_USES} at the very least",
                len(used),
            )
        )
    most = int(np.bincount(used).max(initial=0))
    if log.memories == 1 or (len(used) >= FEW_USES and most > ONE_MEMORY_SHARE * len(used)):
        warnings.append(
            LogWarning(
                "one-memory",
                f"{most} of {len(used)} deliberate uses are of one memory ({log.memories} in all): nothing "
                "shows which memories are needed rather than others",
                most,
            )
        )


def _left_out(log: Log, kept: NDArray[np.bool_], warnings: list[LogWarning], code: str, message: str) -> Log:
    """The log with the events that are kept, and a warning with the number of the others."""
    count = int((~kept).sum())
    if not count:
        return log
    warnings.append(LogWarning(code, message.format(n=count), count))
    return log.keep(kept)
