"""Many events as columns, the form in which a whole log is folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.features.use_clock import microseconds_of
from memvalue.serve.history.record import KINDS, Record

#: What :meth:`EventColumns.from_rows` takes, in order.
FIELDS = ("id", "memory", "kind", "time_us", "signal", "weight", "active_hours", "stability")

_CODES: dict[str, int] = {kind: i for i, kind in enumerate(KINDS)}
_PAGE = 50_000


@dataclass(frozen=True, eq=False)
class EventColumns:
    """n events of m memories.

    Parameters
    ----------
    names
        m memory ids, in the order of their first event here.
    ids
        int64[n].
    memory
        int64[n]; index into ``names``.
    kind
        int64[n]; index into ``KINDS``.
    time_us
        int64[n]; microseconds since 1970 UTC.
    signal, weight
        float64[n].
    active_hours, stability
        float64[n]; NaN where None.
    """

    names: tuple[str, ...]
    ids: NDArray[np.int64]
    memory: NDArray[np.int64]
    kind: NDArray[np.int64]
    time_us: NDArray[np.int64]
    signal: NDArray[np.float64]
    weight: NDArray[np.float64]
    active_hours: NDArray[np.float64]
    stability: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, mask: NDArray[np.bool_]) -> EventColumns:
        """The events where the mask is True; names stay."""
        columns = (self.ids, self.memory, self.kind, self.time_us, self.signal, self.weight)
        more = (self.active_hours, self.stability)
        return EventColumns(self.names, *(c[mask] for c in columns), *(c[mask] for c in more))  # type: ignore[arg-type]

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Any]]) -> EventColumns:
        """Columns of rows that hold :data:`FIELDS`."""
        codes: dict[str, int] = {}
        pages: list[list[NDArray[Any]]] = []
        rows = iter(rows)
        while page := list(islice(rows, _PAGE)):  # in pages: a million tuples at once take half a gigabyte
            ids, memories, kinds, times, *numbers = zip(*page, strict=True)
            pages.append(
                [
                    np.array(ids, np.int64),
                    np.array([codes.setdefault(name, len(codes)) for name in memories], np.int64),
                    np.array([_CODES[kind] for kind in kinds], np.int64),
                    np.array(times, np.int64),
                    *map(_floats, numbers),
                ]
            )
        if not pages:
            pages = [[*(np.zeros(0, np.int64) for _ in range(4)), *(np.zeros(0) for _ in range(4))]]
        return cls(tuple(codes), *(np.concatenate(parts) for parts in zip(*pages, strict=True)))

    @classmethod
    def from_records(cls, records: Iterable[Record]) -> EventColumns:
        """Columns of records; those that have no id yet are numbered in the order given."""

        def rows() -> Iterator[tuple[Any, ...]]:
            for i, r in enumerate(records, 1):
                time = microseconds_of(r.time)
                yield r.id or i, r.memory, r.kind, time, r.signal, r.weight, r.active_hours, r.stability

        return cls.from_rows(rows())


def _floats(values: tuple[float | None, ...]) -> NDArray[np.float64]:
    """float64[n]; NaN for None."""
    if values.count(None) == len(values):  # most logs keep no active hours, and few events a stability
        return np.full(len(values), np.nan)
    return np.array(values, np.float64)
