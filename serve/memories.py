"""Files of memories: one JSON object a line, as any store can dump them.

``id``, ``text``, ``role`` and ``time`` (ISO 8601 with offset) are required; ``session, trust, pinned,
stratum, expires, uses, last_used`` and ``embedding`` are understood; other keys are kept and written back.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.check import as_bool, as_int, as_label, as_list, as_object, as_text, as_time, kind_of
from memvalue.data.errors import DataError
from memvalue.data.files import existing_file, iter_json_lines, write_atomic

REQUIRED = ("id", "text", "role", "time")
OPTIONAL = ("session", "trust", "pinned", "stratum", "expires", "uses", "last_used", "embedding")
_KNOWN = frozenset((*REQUIRED, *OPTIONAL))


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory as a store holds it.

    Parameters
    ----------
    id
        The store's own name of it.
    text, role, time
        What was said, by whom, when (timezone-aware; UTC).
    session
        Which conversation, any text or whole number. None: the conversation of its day in UTC.
    trust
        In [0, 1], or None when unknown.
    pinned
        The owner asked to keep it.
    stratum
        The store's label, or None.
    expires
        When it stops being true or useful, or None.
    uses
        Deliberate uses so far, 0 or more; None when the store does not count them. Being retrieved is none.
    last_used
        The latest of them, or None.
    embedding
        float32[d], or None.
    extra
        Keys that mean nothing here.
    """

    id: str
    text: str
    role: str
    time: datetime
    session: str | int | None = None
    trust: float | None = None
    pinned: bool = False
    stratum: str | None = None
    expires: datetime | None = None
    uses: float | None = None
    last_used: datetime | None = None
    embedding: NDArray[np.float32] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, item: Mapping[str, Any], where: str = "memory") -> StoredMemory:
        """Check and read a JSON object; ``where`` begins the message of an error.

        Raises
        ------
        DataError
            For a missing key, or a value of the wrong kind or out of its range.
        """
        row = as_object(dict(item) if isinstance(item, Mapping) else item, where, REQUIRED)
        name = row["id"]
        if isinstance(name, int) and not isinstance(name, bool):  # common in databases
            name = str(name)
        session = row.get("session")
        if session is not None and not isinstance(session, str):
            session = as_int(session, where, "session")
        vector = row.get("embedding")
        return cls(
            id=as_label(name, where, "id"),
            text=as_text(row["text"], where, "text"),
            role=as_label(row["role"], where, "role"),
            time=as_time(row["time"], where, "time"),
            session=session,
            trust=_number(row.get("trust"), where, "trust", 1.0),
            pinned=False if row.get("pinned") is None else as_bool(row["pinned"], where, "pinned"),
            stratum=None if row.get("stratum") is None else as_text(row["stratum"], where, "stratum"),
            expires=None if row.get("expires") is None else as_time(row["expires"], where, "expires"),
            uses=_number(row.get("uses"), where, "uses", math.inf),
            last_used=None if row.get("last_used") is None else as_time(row["last_used"], where, "last_used"),
            embedding=None if vector is None else _vector(vector, where),
            extra={k: v for k, v in row.items() if k not in _KNOWN},
        )

    def as_dict(self) -> dict[str, Any]:
        """The JSON object; what is None is left out."""
        out: dict[str, Any] = {
            "id": self.id,
            "text": self.text,
            "role": self.role,
            "time": self.time.isoformat(),
        }
        out |= {k: v for k in ("session", "trust", "stratum", "uses") if (v := getattr(self, k)) is not None}
        if self.pinned:
            out["pinned"] = True
        for key in ("expires", "last_used"):
            if (moment := getattr(self, key)) is not None:
                out[key] = moment.isoformat()
        if self.embedding is not None:
            out["embedding"] = [float(f"{v:.9g}") for v in self.embedding.tolist()]
        return out | self.extra


def read_memories(path: str | Path) -> Iterator[StoredMemory]:
    """The memories of a file, one at a time; blank lines are passed over.

    Raises
    ------
    DataError
        Names the file, the line and the remedy: not there, not UTF-8, not JSON, a key missing or malformed,
        an id for the second time, or no memory at all.
    """
    path = existing_file(path, "file of memories, one JSON object a line")
    seen: dict[str, int] = {}
    for number, item in iter_json_lines(path, "a memory"):
        where = f"{path}, line {number}"
        memory = StoredMemory.from_dict(item, where)
        if memory.id in seen:
            raise DataError(
                f"{where}: id {memory.id!r} is also that of line {seen[memory.id]}; ids must differ"
            )
        seen[memory.id] = number
        yield memory
    if not seen:
        raise DataError(f"{path} holds no memory; write one JSON object a line with {', '.join(REQUIRED)}")


def write_memories(path: str | Path, memories: Iterable[StoredMemory]) -> None:
    """Write ``memories``; the file appears whole or not at all, and :func:`read_memories` gives them back."""
    write_atomic(path, (json.dumps(m.as_dict(), allow_nan=False) + "\n" for m in memories))


def _number(value: Any, where: str, key: str, high: float) -> float | None:
    if value is None:
        return None
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits or not 0 <= value <= min(high, sys.float_info.max):  # false for NaN too
        limit = "a finite number of 0 or more" if high == math.inf else f"a number from 0 to {high:g}"
        raise DataError(f"{where}: {key} is {value!r} ({kind_of(value)}), not {limit}")
    return float(value)


def _vector(value: Any, where: str) -> NDArray[np.float32]:
    if not isinstance(value, np.ndarray):
        value = as_list(value, where, "embedding")
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in value):
            raise DataError(f"{where}: embedding must be a list of numbers")
    try:
        with np.errstate(over="ignore"):
            vector = np.asarray(value, dtype=np.float32)
    except OverflowError:  # a whole number beyond any float
        vector = np.full(1, np.inf, dtype=np.float32)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise DataError(f"{where}: embedding must be a list of one or more finite numbers")
    return vector
