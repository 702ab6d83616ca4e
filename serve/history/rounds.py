"""Fold a channel of many memories at once, to the bits of folding them one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: One step of a channel: its columns and the event's inputs, to its columns; numbers or columns alike.
Step = Callable[..., tuple[Any, ...]]

#: Rounds of fewer events than this are cheaper one by one (measured: 40 to 80 break even).
NARROW = 64


def fold_rounds(
    table: NDArray[np.float64],
    columns: tuple[int, ...],
    step: Step,
    rows: NDArray[np.int64],
    mask: NDArray[np.bool_],
    inputs: tuple[NDArray[Any], ...],
) -> None:
    """Fold one channel: round k takes the k-th event of every memory at once.

    ``rows`` is sorted, with the events of a row in order. Where a few memories have many more events than
    the rest, their rounds are narrow, and are taken event by event instead.
    """
    found = np.flatnonzero(mask)
    rows, inputs = rows[found], tuple(x[found] for x in inputs)
    if not len(rows):
        return
    begins = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
    rank = np.arange(len(rows)) - np.repeat(begins, np.diff(np.append(begins, len(rows))))
    order = np.argsort(rank, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(rank)))
    for low, high in pairwise(bounds.tolist()):
        if high - low < NARROW:
            _fold_singly(table, columns, step, rows, inputs, np.sort(order[low:]))
            return
        at = order[low:high]
        where = rows[at]
        found_columns = step(*(table[where, c] for c in columns), *(x[at] for x in inputs))
        for column, values in zip(columns, found_columns, strict=True):
            table[where, column] = values


def _fold_singly(
    table: NDArray[np.float64],
    columns: tuple[int, ...],
    step: Step,
    rows: NDArray[np.int64],
    inputs: tuple[NDArray[Any], ...],
    at: NDArray[np.int64],
) -> None:
    current, values = -1, ()
    for row, *given in zip(rows[at].tolist(), *(x[at].tolist() for x in inputs), strict=True):
        if row != current:
            if current >= 0:
                table[current, columns] = values
            current, values = row, tuple(table[row, columns].tolist())
        values = step(*values, *given)
    table[current, columns] = values
