"""Moments at which something happened to memories, in the order in which formulas take them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Occasions:
    """k moments of n memories, sorted by memory and then by time.

    Parameters
    ----------
    n
        How many memories there are, with or without a moment.
    memory
        int64[k], never decreasing; row of the memory.
    time
        float64[k]; hours, never decreasing within a memory.
    signal, weight
        float64[k]; in [0, 1] how well it went, and how much evidence it is.
    good
        bool[k]; a success, as opposed to a failure.
    """

    n: int
    memory: NDArray[np.int64]
    time: NDArray[np.float64]
    signal: NDArray[np.float64]
    weight: NDArray[np.float64]
    good: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.memory)

    def take(self, mask: NDArray[np.bool_]) -> Occasions:
        """The moments where the mask is True."""
        columns = (self.memory, self.time, self.signal, self.weight, self.good)
        return Occasions(self.n, *(c[mask] for c in columns))  # type: ignore[arg-type]

    def count(self) -> NDArray[np.float64]:
        """float64[n]; moments a memory."""
        return np.bincount(self.memory, minlength=self.n).astype(np.float64)

    def total(self, amount: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[n]; the sum a memory of ``amount``, float64[k]."""
        return np.bincount(self.memory, weights=amount, minlength=self.n).astype(np.float64)

    def last(self, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[n]; hours of the latest moment, and never before ``otherwise``, float64[n]."""
        out = otherwise.copy()
        np.maximum.at(out, self.memory, self.time)
        return out

    def rounds(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The k-th moment of every memory that has one, for k = 1, 2, …: rows, and places in the columns.

        So a formula that goes from one moment to the next is folded for all memories at once.
        """
        if not len(self.memory):
            return
        first = np.flatnonzero(np.append(True, self.memory[1:] != self.memory[:-1]))
        rank = np.arange(len(self)) - np.repeat(first, np.diff(np.append(first, len(self))))
        order = np.argsort(rank, kind="stable")
        for at in np.split(order, np.cumsum(np.bincount(rank))[:-1]):
            yield self.memory[at], at
