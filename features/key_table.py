"""A set of 64-bit keys that numbers them in order of arrival, in flat arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.features.growing import Growing

#: Slots of an empty table, as a power of two.
_LEAST_BITS = 10

#: A table grows when more than this share of its slots is taken: searches then look at 1.5 slots on average
#: (linear probing, Knuth volume 3, section 6.4).
_FULL = 0.5


class KeyTable:
    """Distinct uint64 keys, each with its row: 0 for the first that came, then 1, …

    Open addressing with linear probing. A key takes 8 bytes (up to 16 with room to grow) and its slots 8 to
    16.
    """

    def __init__(self, keys: NDArray[np.uint64] | None = None) -> None:
        self._keys: Growing[np.uint64] = Growing(np.uint64)
        self._slots = np.zeros(1 << _LEAST_BITS, dtype=np.int32)  # row + 1; 0 where free
        if keys is not None:
            self.add(keys)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """uint64[count]; all keys by row."""
        return self._keys.values

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._keys.nbytes + self._slots.nbytes

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int64[m]; the row of each of uint64[m] keys, −1 where it is not there."""
        out = np.full(len(keys), -1, dtype=np.int64)
        if not len(self):
            return out
        known = self.keys
        todo, slot = np.arange(len(keys)), self._home(keys)
        while len(todo):
            row = self._slots[slot] - 1
            same = (row >= 0) & (known[row] == keys[todo])
            out[todo[same]] = row[same]
            on = (row >= 0) & ~same
            todo, slot = todo[on], (slot[on] + 1) & (len(self._slots) - 1)
        return out

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Number uint64[m] distinct keys that are not there yet, in their order."""
        first = len(self)
        self._keys.extend(keys)
        if len(self) > _FULL * len(self._slots):
            self._slots = np.zeros(1 << int(len(self) / _FULL).bit_length(), dtype=np.int32)
            first = 0
        self._place(first)

    def _home(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int64[m]; the slot where the search for each key begins."""
        bits = len(self._slots).bit_length() - 1
        # Fibonacci hashing spreads keys of any kind (Knuth volume 3, section 6.4).
        return ((keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)).astype(np.int64)

    def _place(self, first: int) -> None:
        """Give slots to the rows from ``first`` on."""
        rows = np.arange(first, len(self), dtype=np.int32)
        slot = self._home(self.keys[first:])
        while len(rows):
            free = self._slots[slot] == 0
            # Of several that want one slot the last to write has it; the others move on.
            self._slots[slot[free]] = rows[free] + 1
            on = self._slots[slot] != rows + 1
            rows, slot = rows[on], (slot[on] + 1) & (len(self._slots) - 1)
