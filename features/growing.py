"""A column that is added to at its end."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Item = TypeVar("Item", bound=np.generic)


class Growing(Generic[Item]):
    """Numbers of one type, held in an array that doubles when it is full."""

    def __init__(self, dtype: DTypeLike, values: NDArray[Item] | None = None) -> None:
        self._array: NDArray[Item] = np.empty(16, dtype=dtype)
        self._count = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> NDArray[Item]:
        """A view of what is there; writing to it changes the column."""
        return self._array[: self._count]

    @property
    def nbytes(self) -> int:
        """Bytes held, room to grow included."""
        return self._array.nbytes

    def extend(self, values: NDArray[np.generic]) -> None:
        """Add ``values`` at the end."""
        count = self._count + len(values)
        if count > len(self._array):
            grown = np.empty(max(count, 2 * len(self._array)), dtype=self._array.dtype)
            grown[: self._count] = self.values
            self._array = grown
        self._array[self._count : count] = values
        self._count = count
