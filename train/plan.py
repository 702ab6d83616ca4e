"""Which cases fit, which judge: always the earlier and the later ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memvalue.data.factor_table import FactorTable

#: Fewest cases that a fold fits on, and judges on: with fewer its figure is luck.
FOLD_CASES = 3


@dataclass(frozen=True, eq=False)
class Fold:
    """A moment within the held-in part: fit on what was settled before it, judge on what followed.

    ``fit``, ``judge``: int64[·], case numbers of the table, ascending.
    """

    fit: NDArray[np.int64]
    judge: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Plan:
    """How a table's cases are used.

    Parameters
    ----------
    held_in
        int64[·]; cases of the final fit.
    held_out
        int64[·]; the last cases, which only the gate sees.
    folds
        Rolling origins within ``held_in``; none where it is too short.
    embargoed
        Cases dropped because their horizon reaches into the held-out time: what they say of needs, the
        held-out cases say too.
    idle
        Cases in which nothing, or everything, was needed; they can tell no weights apart.
    overlap
        How many of the held-out cases after one begin within its horizon, at most: their figures are not
        independent of one another.
    """

    held_in: NDArray[np.int64]
    held_out: NDArray[np.int64]
    folds: tuple[Fold, ...]
    embargoed: int
    idle: int
    overlap: int


def plan(table: FactorTable, *, held_out: float = 0.3, folds: int = 3) -> Plan:
    """Divide a table by time.

    Parameters
    ----------
    table
        C cases in order of time.
    held_out
        Share of the cases that count, the latest, that judge; cases of one moment stay together.
    folds
        Rolling origins at most.

    Raises
    ------
    ValueError
        For a share outside (0, 1) or a negative number of folds.
    """
    if not 0.0 < held_out < 1.0:
        raise ValueError(f"held_out is a share between 0 and 1, got {held_out}")
    if folds < 0:
        raise ValueError(f"folds must be 0 or more, got {folds}")
    counts = telling(table)
    idle = len(table) - len(counts)
    nothing = np.empty(0, dtype=np.int64)
    if len(counts) < 2:
        return Plan(nothing, counts, (), 0, idle, 0)
    first = len(counts) - max(1, round(held_out * len(counts)))
    before, later = parted(table, counts, first)
    ends, times = table.ends[later], table.times[later]
    reach = np.searchsorted(times, ends, side="left") - np.arange(len(later)) - 1
    overlap = max(0, int(reach.max(initial=0)))
    embargoed = len(counts) - len(later) - len(before)
    return Plan(before, later, _folds(table, before, folds), embargoed, idle, overlap)


def telling(table: FactorTable) -> NDArray[np.int64]:
    """int64[·]: cases in which something was needed and something not; others tell no weights apart."""
    needed = np.bincount(table.case_of[table.needed], minlength=len(table))
    return np.flatnonzero((needed > 0) & (needed < np.diff(table.offsets)))


def parted(
    table: FactorTable, cases: NDArray[np.int64], first: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cases whose horizon ends before the moment of number ``first``, and those from that moment on."""
    moment = table.times[cases[first]]
    later = cases[table.times[cases] >= moment]
    earlier = cases[table.times[cases] < moment]
    return earlier[table.ends[earlier] <= moment], later


def _folds(table: FactorTable, cases: NDArray[np.int64], folds: int) -> tuple[Fold, ...]:
    """Origins after 1, 2, … of equal parts of the cases; the part after each one judges."""
    folds = min(folds, len(cases) // FOLD_CASES - 1)
    if folds < 1:
        return ()
    edges = np.linspace(0, len(cases), folds + 2).round().astype(int)
    found = []
    for start, stop in pairwise(edges[1:]):
        fit, later = parted(table, cases[:stop], int(start))
        if len(fit) >= FOLD_CASES and len(later) >= FOLD_CASES:
            found.append(Fold(fit, later))
    return tuple(found)
