"""Plain transcripts: what was said, by whom and when, without labels or events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.check import as_bool, as_int, as_label, as_object, as_text, as_time, kind_of
from memvalue.data.consolidation import Consolidation
from memvalue.data.errors import DataError
from memvalue.data.files import existing_file, iter_json_lines

#: Silence that ends a conversation where no line says which one it belongs to. Thirty minutes is the usual
#: bound of web analytics (Catledge & Pitkow 1995: 25.5 minutes); a talk with an assistant has longer pauses.
GAP = timedelta(hours=1)


def read_transcript(path: str | Path) -> Consolidation:
    """Read a transcript, one JSON object a line: ``text``, ``role``, ``time``, and ``session`` where known.

    Blank lines and unknown keys are ignored, so a file of memories will do. ``id``, ``position``, ``trust``
    and ``pinned`` are optional, and mean what they mean in `data/FORMATS.md`. Lines may stand in any order:
    conversations are ordered by their earliest turn, turns within one by time, then ``position``, then line.
    Where no line has a ``session``, a silence of an hour begins a new conversation. ``now`` is the time of
    the last turn.

    Raises
    ------
    DataError
        Names the file, the line and the remedy.
    """
    path = existing_file(path, "transcript, one JSON object a line")
    rows: list[dict[str, Any]] = []
    places: list[str] = []
    times: list[datetime] = []
    ids: dict[str | int, int] = {}
    for line, item in iter_json_lines(path, "a turn"):
        where = f"{path}, line {line}"
        row = as_object(item, where)
        if missing := [k for k in ("text", "role", "time") if row.get(k) is None]:
            raise DataError(f"{where} lacks {', '.join(missing)}; a turn needs text, role and time")
        as_text(row["text"], where, "text")
        as_label(row["role"], where, "role")
        times.append(as_time(row["time"], where, "time").replace(microsecond=0))
        if (name := row.get("id")) is not None:
            key = _name(name, where, "id")
            if key in ids:
                raise DataError(f"{where}: id {name!r} is also that of line {ids[key]}; ids must differ")
            ids[key] = line
        rows.append(row)
        places.append(where)
    if not rows:
        raise DataError(f"{path} holds blank lines only; write one turn a line")
    sessions = _sessions(rows, places, times)

    first: dict[str | int, datetime] = {}
    said: dict[str | int, int] = {}
    position: list[int] = []
    for row, where, time, session in zip(rows, places, times, sessions, strict=True):
        first[session] = min(time, first.get(session, time))
        place = as_int(row["position"], where, "position") if row.get("position") is not None else None
        if place is not None and place < 0:
            raise DataError(f"{where}: position is {place}, but must be 0 or more")
        position.append(said.get(session, 0) if place is None else place)
        said[session] = said.get(session, 0) + 1
    rank = {s: i for i, s in enumerate(sorted(first, key=lambda s: first[s]))}
    order = sorted(range(len(rows)), key=lambda i: (rank[sessions[i]], times[i], position[i]))
    # Conversations may interleave; a running maximum keeps the column sorted without splitting one.
    moments = np.maximum.accumulate(
        np.array([times[i].astimezone(UTC).replace(tzinfo=None) for i in order], dtype="datetime64[s]")
    )
    return Consolidation(
        texts=tuple(rows[i]["text"] for i in order),
        roles=tuple(rows[i]["role"] for i in order),
        sessions=np.array([rank[sessions[i]] for i in order], dtype=np.int64),
        positions=np.array([position[i] for i in order], dtype=np.int64),
        times=moments,
        now=moments[-1],
        trust=_trust(rows, places, order),
        pinned=_pinned(rows, places, order),
    )


def _sessions(rows: list[dict[str, Any]], places: list[str], times: list[datetime]) -> list[str | int]:
    """The conversation of each turn: as given by all lines, or from silences where none gives it."""
    given = [row.get("session") is not None for row in rows]
    if all(given):
        return [_name(row["session"], where, "session") for row, where in zip(rows, places, strict=True)]
    if any(given):
        raise DataError(
            f"{places[given.index(False)]} lacks session, but other lines have it; give it on all or on none"
        )
    number = [0] * len(rows)
    order = sorted(range(len(rows)), key=lambda i: times[i])
    for before, i in pairwise(order):
        number[i] = number[before] + (times[i] - times[before] >= GAP)
    return list(number)


def _name(value: Any, where: str, key: str) -> str | int:
    return as_label(value, where, key) if isinstance(value, str) else as_int(value, where, key)


def _trust(rows: list[dict[str, Any]], places: list[str], order: list[int]) -> NDArray[np.float64] | None:
    """float64[n], NaN where unknown; None where no line has it."""
    if all(row.get("trust") is None for row in rows):
        return None
    out = np.full(len(rows), np.nan)
    for at, i in enumerate(order):
        value = rows[i].get("trust")
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise DataError(f"{places[i]}: trust is {value!r} ({kind_of(value)}), not a number from 0 to 1")
        out[at] = value
    return out


def _pinned(rows: list[dict[str, Any]], places: list[str], order: list[int]) -> NDArray[np.bool_] | None:
    """bool[n]; None where no line has it."""
    if all(row.get("pinned") is None for row in rows):
        return None
    return np.array(
        [
            rows[i].get("pinned") is not None and as_bool(rows[i]["pinned"], places[i], "pinned")
            for i in order
        ],
        dtype=bool,
    )
