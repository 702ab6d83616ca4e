"""Cases of one business as numbers alone: enough to recalibrate, and nothing of what was said."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.data.errors import DataError

#: Columns that have one number a memory.
_ROWS = ("factors", "machine", "tokens", "age_days", "uses", "needed", "obsolete", "ids")


@dataclass(frozen=True, eq=False)
class FactorTable:
    """C cases of N memories in all, in order of time. Case c owns rows ``offsets[c]:offsets[c + 1]``.

    Parameters
    ----------
    names
        F factor names, in the order of the columns.
    definition
        Switches of the factor definitions, as plain data: what a model's metadata calls ``definition``.
    definition_version
        Version of their formulas.
    times
        datetime64[s][C]; the moments of consolidation, UTC, non-decreasing.
    ends
        datetime64[s][C]; up to when it was watched what was needed. Not before ``times``.
    offsets
        int64[C + 1]; from 0, non-decreasing.
    factors
        float32[N, F] in [0, 1].
    informed
        bool[F]; False for a factor that no case can inform.
    machine
        bool[N]; not a person's turn.
    tokens
        int64[N], 1 or more.
    age_days
        float32[N], 0 or more.
    uses
        float32[N]; deliberate uses so far, NaN where no log says.
    needed, obsolete
        bool[N]; what turned out.
    ids
        uint64[N]; salted hashes of the store's ids, None where there are none.
    source
        Where the labels come from: ``log``, ``transcript``, ``cases`` or ``simulated``.

    Raises
    ------
    DataError
        For columns of other lengths, times out of order, or numbers out of range; it names the column.
    """

    names: tuple[str, ...]
    definition: dict[str, object]
    definition_version: str
    times: NDArray[np.datetime64]
    ends: NDArray[np.datetime64]
    offsets: NDArray[np.int64]
    factors: NDArray[np.float32]
    informed: NDArray[np.bool_]
    machine: NDArray[np.bool_]
    tokens: NDArray[np.int64]
    age_days: NDArray[np.float32]
    uses: NDArray[np.float32]
    needed: NDArray[np.bool_]
    obsolete: NDArray[np.bool_]
    ids: NDArray[np.uint64] | None = None
    source: str = "cases"

    def __post_init__(self) -> None:
        cases = len(self.times)
        if len(self.ends) != cases or len(self.offsets) != cases + 1:
            raise DataError(
                f"a table of {cases} times needs as many ends and one offset more, got {len(self.ends)} and "
                f"{len(self.offsets)}"
            )
        if self.offsets[0] != 0 or (np.diff(self.offsets) < 0).any():
            raise DataError("FactorTable.offsets must rise from 0")
        n = int(self.offsets[-1])
        for name in _ROWS:
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise DataError(f"FactorTable.{name} has {len(column)} rows, offsets say {n}")
        if self.factors.shape != (n, len(self.names)) or len(self.informed) != len(self.names):
            raise DataError(
                f"FactorTable.factors has shape {self.factors.shape}, expected {(n, len(self.names))}"
            )
        still = np.timedelta64(0, "s")
        if (np.diff(self.times) < still).any():
            raise DataError("FactorTable.times must not decrease; order the cases by time")
        if (self.ends < self.times).any():
            raise DataError("FactorTable.ends lies before its case's time")
        outside = ~((self.factors >= 0) & (self.factors <= 1))
        if outside.any():
            row, column_index = np.argwhere(outside)[0]
            raise DataError(
                f"FactorTable.factors: {self.names[column_index]} of row {row} is "
                f"{self.factors[row, column_index]}, not a number from 0 to 1"
            )
        if n and self.tokens.min() < 1:
            raise DataError("FactorTable.tokens must be 1 or more")
        if not (np.isfinite(self.age_days) & (self.age_days >= 0)).all():
            raise DataError("FactorTable.age_days must be finite and 0 or more")
        if (self.uses < 0).any() or np.isinf(self.uses).any():
            raise DataError("FactorTable.uses must be finite and 0 or more, or NaN where no log says")

    def __len__(self) -> int:
        """C, the number of cases."""
        return len(self.times)

    @property
    def rows(self) -> int:
        """N, the number of memories over all cases."""
        return int(self.offsets[-1])

    @property
    def case_of(self) -> NDArray[np.int64]:
        """int64[N]; the case of each row (``groups`` of the estimators)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def take(self, cases: ArrayLike) -> FactorTable:
        """The table of some cases: ascending indices, or bool[C]."""
        chosen = np.asarray(cases)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        starts, stops = self.offsets[chosen], self.offsets[chosen + 1]
        sizes = stops - starts
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
        columns = {k: v[rows] for k in _ROWS if (v := getattr(self, k)) is not None}
        return replace(self, times=self.times[chosen], ends=self.ends[chosen], offsets=offsets, **columns)

    def digest(self) -> str:
        """SHA-256 of every number; equal tables have equal digests."""
        whole = hashlib.sha256()
        for field in fields(self):
            value = getattr(self, field.name)
            whole.update(field.name.encode())
            if isinstance(value, np.ndarray):
                whole.update(repr((value.dtype.str, value.shape)).encode())
                whole.update(np.ascontiguousarray(value).tobytes())
            else:
                ordered = sorted(value.items()) if isinstance(value, dict) else value
                whole.update(repr(ordered).encode())
        return whole.hexdigest()

    @classmethod
    def join(cls, tables: Sequence[FactorTable]) -> FactorTable:
        """One table of several that share factors and definition, its cases in order of time (stable).

        Raises
        ------
        DataError
            When there is none, or they do not agree.
        """
        if not tables:
            raise DataError("there is no table to join")
        first = tables[0]
        for other in tables[1:]:
            for name in ("names", "definition", "definition_version"):
                if getattr(other, name) != getattr(first, name):
                    raise DataError(f"tables of another {name} cannot be joined; extract them alike")
        kept = [name for name in _ROWS if all(getattr(t, name) is not None for t in tables)]
        order = sorted(
            ((table.times[c], t, c) for t, table in enumerate(tables) for c in range(len(table))),
            key=lambda place: place[0],
        )
        pieces = [tables[t].take([c]) for _, t, c in order]
        sizes = [piece.rows for piece in pieces]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(p, name) for p in pieces or tables]) for name in kept
        }
        return replace(
            first,
            times=np.array([p.times[0] for p in pieces], dtype="datetime64[s]"),
            ends=np.array([p.ends[0] for p in pieces], dtype="datetime64[s]"),
            offsets=np.cumsum([0, *sizes]).astype(np.int64),
            informed=np.any([t.informed for t in tables], axis=0),
            ids=columns.pop("ids", None),
            **columns,
        )
