"""Named columns that the factors are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Evidence:
    """What was observed of n memories, one named column each.

    Parameters
    ----------
    names
        E column names.
    values
        float32[n, E]; finite, except that NaN says that this evidence was not to be had: for a whole column
        (no encoder, no declared goals) or for a memory (trust, uses, harm). A factor that meets NaN does
        without.
    """

    names: tuple[str, ...]
    values: NDArray[np.float32]
    _where: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise ValueError(f"evidence of shape {self.values.shape} does not fit {len(self.names)} names")
        object.__setattr__(self, "_where", _places(self.names))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        """float32[n]; the column ``name``. Raises ValueError for a name that is none."""
        return self.values[:, self._place(name)]

    def _place(self, name: str) -> int:
        place = self._where.get(name)
        if place is None:
            raise ValueError(f"no evidence column {name!r}; the columns are {', '.join(self.names)}")
        return place

    def has(self, name: str) -> bool:
        """True when a column that is NaN as a whole or not at all was observed."""
        column = self[name]
        return len(column) == 0 or not bool(np.isnan(column[0]))

    @classmethod
    def stack(cls, parts: Sequence[Evidence] | Iterable[Evidence]) -> Evidence:
        """The rows of all parts below one another; all must have the same columns."""
        parts = list(parts)
        if not parts:
            raise ValueError("nothing to stack: no evidence given")
        if any(p.names != parts[0].names for p in parts):
            raise ValueError("evidence with different columns cannot be stacked; observe it in one run")
        return cls(parts[0].names, np.concatenate([p.values for p in parts]))


class OneRow(Evidence):
    """The evidence of one memory, whose columns are plain numbers of the type float32.

    A formula written for columns gives the same bits (float32 arithmetic rounds alike in both, and the
    exponential is the same loop) in a fifth of the time, which for one memory is numpy's overhead.
    """

    _row: list[NDArray[np.float32]]  # numbers, as far as the formulas need to know

    def __init__(self, evidence: Evidence) -> None:
        object.__setattr__(self, "names", evidence.names)
        object.__setattr__(self, "values", evidence.values)
        object.__setattr__(self, "_where", evidence._where)
        [row] = evidence.values
        object.__setattr__(self, "_row", list(row))

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        """The number in column ``name``, which does for numpy's functions what a column of one would."""
        return self._row[self._place(name)]

    def has(self, name: str) -> bool:
        """As of the column."""
        return not np.isnan(self[name])


@lru_cache(maxsize=8)
def _places(names: tuple[str, ...]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}
