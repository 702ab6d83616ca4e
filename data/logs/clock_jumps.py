"""Events whose times contradict the order in which they were logged."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from memvalue.data.logs.log import KINDS, Log

#: Late by up to a day is no contradiction: clients buffer what they could not send.
LATE = np.timedelta64(24, "h")

#: Where events are numbered, their order is known; should more than a third contradict it, it is the numbers
#: that are wrong. Lines of a file promise less: parts may have been put together, hence the smaller share,
#: within each kind and actor, and a stretch of so many events in order is a part, not a jump.
NUMBERED_SHARE, UNNUMBERED_SHARE, PART = 1 / 3, 0.1, 5


def clock_jumps(log: Log) -> NDArray[np.bool_]:
    """bool[e]; events whose time their place in the log contradicts.

    The longest run of events whose times rise in the order of logging is taken to be right (a longest
    non-decreasing subsequence); an event outside of it jumped when it is more than :data:`LATE` away from the
    times of its neighbours in that run.
    """
    jumped = np.zeros(len(log), dtype=bool)
    if log.numbered:
        groups, share = np.zeros(len(log), dtype=np.int64), NUMBERED_SHARE
    else:
        groups, share = log.actor * len(KINDS) + log.kind, UNNUMBERED_SHARE
    order = np.lexsort((log.sequence, groups))
    bounds = np.flatnonzero(np.diff(groups[order], prepend=-1))
    for part in np.split(order, bounds[1:]):
        time = log.time[part]
        if (np.diff(time) >= -LATE).all():
            continue
        kept = np.zeros(len(part), dtype=bool)
        kept[_longest_rise(time.astype(np.int64).tolist())] = True
        right = np.flatnonzero(kept)
        after = np.searchsorted(right, np.arange(len(part)))
        before = time[right[np.maximum(after - 1, 0)]]
        later = time[right[np.minimum(after, len(right) - 1)]]
        wrong = ~kept & ((time < before - LATE) | (time > later + LATE))
        if not log.numbered:
            wrong &= ~_parts(wrong, time)
        if wrong.sum() <= share * len(part):
            jumped[part] = wrong
    return jumped


def _parts(wrong: NDArray[np.bool_], time: NDArray[np.datetime64]) -> NDArray[np.bool_]:
    """bool[e]; what stands at the beginning or the end of a file, or is a stretch in order by itself."""
    edge = np.flatnonzero(~wrong)
    found = np.ones(len(wrong), dtype=bool)
    found[edge[0] : edge[-1] + 1] = False
    begins = np.flatnonzero(np.diff(wrong, prepend=False) & wrong)
    for begin, size in zip(begins.tolist(), np.diff(np.append(begins, len(wrong))).tolist(), strict=True):
        end = begin + int(np.argmin(np.append(wrong[begin : begin + size], False)))
        if end - begin >= PART and (np.diff(time[begin:end]) >= -LATE).all():
            found[begin:end] = True
    return found


def _longest_rise(values: list[int]) -> list[int]:
    """Places of a longest non-decreasing subsequence (patience sorting, with links back)."""
    tops: list[int] = []
    where: list[int] = []
    link = [-1] * len(values)
    for i, value in enumerate(values):
        pile = bisect_right(tops, value)
        link[i] = where[pile - 1] if pile else -1
        if pile == len(tops):
            tops.append(value)
            where.append(i)
        else:
            tops[pile], where[pile] = value, i
    found, at = [], where[-1] if where else -1
    while at >= 0:
        found.append(at)
        at = link[at]
    return found[::-1]
