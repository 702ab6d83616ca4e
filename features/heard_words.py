"""Which words a store has heard, as one bit each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class HeardWords:
    """A set of slots in [0, 2**bits): a bit table, allocated when the first slot is added.

    The system gives memory to the parts of the table that are touched, so a short history takes little.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self._table: NDArray[np.uint8] | None = None

    def has(self, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[m]; which of int64[m] slots were added."""
        if self._table is None:
            return np.zeros(len(slots), dtype=bool)
        found: NDArray[np.bool_] = (self._table[slots >> 3] >> (slots & 7)) & 1 != 0
        return found

    def add(self, slots: NDArray[np.int64]) -> None:
        """Add int64[m] slots."""
        if self._table is None:
            self._table = np.zeros(1 << (self.bits - 3), dtype=np.uint8)
        np.bitwise_or.at(self._table, slots >> 3, np.uint8(1) << (slots & 7).astype(np.uint8))

    def pack(self) -> NDArray[np.uint8] | NDArray[np.uint32]:
        """The set in few bytes: uint32[m] of the slots in rising order, or the bits where those are fewer."""
        if self._table is None:
            return np.zeros(0, dtype=np.uint32)
        taken = np.flatnonzero(self._table.view(np.uint64))  # eight bytes at a time
        bits = np.unpackbits(self._table.reshape(-1, 8)[taken].reshape(-1), bitorder="little")
        place, bit = np.nonzero(bits.reshape(-1, 64))
        if 4 * len(place) >= len(self._table):
            return self._table.copy()
        return (taken[place] * 64 + bit).astype(np.uint32)

    @classmethod
    def unpack(cls, packed: NDArray[np.generic], bits: int) -> HeardWords:
        """What `pack` gave. Raises ValueError for anything else."""
        out = cls(bits)
        if packed.ndim != 1:
            raise ValueError(f"heard words must be a column, got shape {packed.shape}")
        if packed.dtype == np.uint8 and len(packed) == 1 << (bits - 3):
            out._table = packed.astype(np.uint8)
        elif packed.dtype == np.uint32 and (not len(packed) or int(packed.max()) < 1 << bits):
            if len(packed):
                out.add(packed.astype(np.int64))
        else:
            raise ValueError(f"{len(packed)} heard words of type {packed.dtype} are no table of {bits} bits")
        return out
