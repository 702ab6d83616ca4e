"""Our own format: one case a line, so that anyone can bring labelled cases. Described in ``FORMATS.md``."""

from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.check import as_bool, as_int, as_label, as_list, as_object, as_text, as_time, kind_of
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.event import EVENT_KINDS, Event, EventKind
from memvalue.data.files import existing_file, iter_json_lines, write_atomic

#: Numbers a memory may bring in ``factors``, in the order of ``features.FACTORS``.
N_FACTORS = 7


def load_jsonl(path: str | Path, *, spec: str | None = None, limit: int | None = None) -> Dataset:
    """Read labelled cases, one JSON object a line. Blank lines and unknown keys are ignored.

    Sessions are ordered by their earliest memory, memories within a session by time, then ``position``, then
    their order in the list. Cases without memories or without a needed memory are skipped and counted.

    Raises
    ------
    DataError
        Names the file, the line, the case, the memory and the remedy.
    """
    path = existing_file(path, "file of cases, one JSON object a line")
    reader = _Reader()
    cases: list[Case] = []
    skipped: dict[str, int] = {}
    seen: dict[str, int] = {}
    for line, item in iter_json_lines(path, "a case"):
        where = f"{path}, line {line}"
        item = as_object(item, where, ("id", "memories"))
        case_id = as_label(item["id"], where, "id")
        if case_id in seen:
            raise DataError(f"{where}: id {case_id!r} is also that of line {seen[case_id]}; ids must differ")
        seen[case_id] = line
        case = reader.case(item, case_id, f"{where} (case {case_id!r})")
        if isinstance(case, str):
            skipped[case] = skipped.get(case, 0) + 1
            continue
        cases.append(case)
        if limit is not None and len(cases) >= limit:
            break
    if not cases:
        raise DataError(
            f"{path} holds {len(seen)} cases, but none with a memory that is needed; mark what was "
            'needed with "needed": true'
        )
    return Dataset(spec or f"jsonl:{path}", "jsonl", cases, skipped)


def dump_jsonl(dataset: Dataset, path: str | Path) -> None:
    """Write ``dataset`` so that :func:`load_jsonl` gives equal cases (and so an equal digest).

    The answer keys are opened. The file appears whole or not at all. Texts are written in ASCII with escapes,
    which keeps lone surrogates and right-to-left text intact.

    Raises
    ------
    ValueError
        When the order of a case's memories contradicts their times and positions, or lies after ``now``: the
        file could not bring it back.
    """
    write_atomic(path, (json.dumps(_as_object(c), allow_nan=False) + "\n" for c in dataset))


class _Reader:
    """Turns lines into cases; texts that recur over the file are kept once."""

    def __init__(self) -> None:
        self.pool: dict[str, str] = {}

    def case(self, item: dict[str, Any], case_id: str, where: str) -> Case | str:
        """The case, or why it cannot be used."""
        kind = "" if item.get("kind") in (None, "") else as_label(item["kind"], where, "kind")
        question = None if item.get("question") is None else as_text(item["question"], where, "question")
        rows = [
            as_object(m, f"{where}, memory {i}", ("text", "role", "time", "needed"))
            for i, m in enumerate(as_list(item["memories"], where, "memories"))
        ]
        if not rows:
            return "no memories"
        places = [f"{where}, memory {i}" for i in range(len(rows))]
        # Whole seconds from the start: what falls into one second is ordered by position.
        times = [
            as_time(m["time"], p, "time").replace(microsecond=0) for m, p in zip(rows, places, strict=True)
        ]
        sessions = [_session(m.get("session", 0), p) for m, p in zip(rows, places, strict=True)]

        first: dict[str | int, datetime] = {}
        count: dict[str | int, int] = {}
        turns = []
        for session, time in zip(sessions, times, strict=True):
            first[session] = min(time, first.get(session, time))
            turns.append(count.get(session, 0))
            count[session] = turns[-1] + 1
        appearance = {s: i for i, s in enumerate(first)}
        rank = {s: i for i, s in enumerate(sorted(first, key=lambda s: first[s]))}
        positions = [_index(m, "position", t, p) for m, t, p in zip(rows, turns, places, strict=True)]
        order = sorted(range(len(rows)), key=lambda i: (rank[sessions[i]], times[i], positions[i]))

        needed = _flags(rows, places, "needed")
        assert needed is not None  # a required key
        if not needed.any():
            return "no needed memory"
        ordered = np.array(order, dtype=np.int64)
        latest = max(times)
        now = latest if item.get("now") is None else as_time(item["now"], where, "now").replace(microsecond=0)
        if now < latest:
            raise DataError(
                f"{where}: now is {now.isoformat()}, but memory {times.index(latest)} is from "
                f"{latest.isoformat()}; a case holds only what was there by then: drop 'now' or the memory"
            )
        sources = [as_text(m.get("source", ""), p, "source") for m, p in zip(rows, places, strict=True)]
        seconds = np.array([times[i].replace(tzinfo=None) for i in order], dtype="datetime64[s]")

        def take(column: NDArray[Any] | None) -> Any:
            return None if column is None else column[ordered]

        return Case(
            id=case_id,
            consolidation=Consolidation(
                texts=tuple(self._intern(as_text(rows[i]["text"], places[i], "text")) for i in order),
                roles=tuple(self._intern(as_label(rows[i]["role"], places[i], "role")) for i in order),
                sessions=np.array([rank[sessions[i]] for i in order], dtype=np.int64),
                positions=np.array(positions, dtype=np.int64)[ordered],
                # Sessions may interleave; a running maximum keeps the column sorted without splitting one.
                times=np.maximum.accumulate(seconds),
                now=np.datetime64(now.replace(tzinfo=None), "s"),
                events=_events(item.get("events") or [], order, where),
                trust=take(_trust(rows, places)),
                pinned=take(_flags(rows, places, "pinned")),
            ),
            sealed=SealedKey(
                AnswerKey(
                    needed=take(needed),
                    obsolete=take(_flags(rows, places, "obsolete")),
                    announces=take(_flags(rows, places, "announces")),
                    source=tuple(sources[i] for i in order) if any("source" in m for m in rows) else None,
                    question=question,
                )
            ),
            kind=kind,
            factors=take(_factors(rows, places)),
            session_index=np.array(
                [
                    _index(m, "session_index", appearance[s], p)
                    for m, s, p in zip(rows, sessions, places, strict=True)
                ],
                dtype=np.int64,
            )[ordered],
            turn_index=np.array(
                [_index(m, "turn_index", t, p) for m, t, p in zip(rows, turns, places, strict=True)],
                dtype=np.int64,
            )[ordered],
        )

    def _intern(self, text: str) -> str:
        return self.pool.setdefault(text, text)


def _session(value: Any, where: str) -> str | int:
    if isinstance(value, str):
        return value
    return as_int(value, where, "session")


def _index(row: dict[str, Any], key: str, default: int, where: str) -> int:
    value = as_int(row.get(key, default), where, key)
    if value < 0:
        raise DataError(f"{where}: {key} is {value}, but must be 0 or more")
    return value


def _flags(rows: list[dict[str, Any]], places: list[str], key: str) -> NDArray[np.bool_] | None:
    """bool[n], false where a memory lacks ``key``; None when all do."""
    if not any(key in m for m in rows):
        return None
    return np.array(
        [as_bool(m.get(key, False), p, key) for m, p in zip(rows, places, strict=True)], dtype=bool
    )


def _unit(value: Any, where: str, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise DataError(f"{where}: {key} is {value!r}, not a number from 0 to 1")
    return float(value)


def _trust(rows: list[dict[str, Any]], places: list[str]) -> NDArray[np.float64] | None:
    """float64[n], NaN where unknown; None when no memory has the key."""
    if not any("trust" in m for m in rows):
        return None
    return np.array(
        [
            math.nan if m.get("trust") is None else _unit(m["trust"], p, "trust")
            for m, p in zip(rows, places, strict=True)
        ],
        dtype=np.float64,
    )


def _factors(rows: list[dict[str, Any]], places: list[str]) -> NDArray[np.float32] | None:
    """float32[n, 7]; None when no memory has the key."""
    if not any("factors" in m for m in rows):
        return None
    table = []
    for m, p in zip(rows, places, strict=True):
        if "factors" not in m:
            raise DataError(f"{p} lacks factors, but other memories of its case have them; give all or none")
        values = as_list(m["factors"], p, "factors")
        if len(values) != N_FACTORS:
            raise DataError(f"{p}: factors has {len(values)} numbers, not {N_FACTORS}")
        table.append([_unit(v, p, f"factors[{k}]") for k, v in enumerate(values)])
    return np.array(table, dtype=np.float32)


def _events(value: Any, order: list[int], where: str) -> tuple[Event, ...]:
    """Events in time order, their row numbers turned from the list's into the consolidation's."""
    row = {old: new for new, old in enumerate(order)}
    out = []
    for i, raw in enumerate(as_list(value, where, "events")):
        here = f"{where}, event {i}"
        e = as_object(raw, here, ("kind", "memory", "time"))
        if not isinstance(e["kind"], str) or e["kind"] not in EVENT_KINDS:
            raise DataError(f"{here}: kind is {e['kind']!r}, not one of {', '.join(sorted(EVENT_KINDS))}")
        memory = as_int(e["memory"], here, "memory")
        if memory not in row:
            raise DataError(f"{here}: memory is {memory}, but the case has memories 0 to {len(order) - 1}")
        weight = e.get("weight", 1.0)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise DataError(f"{here}: weight is {weight!r} ({kind_of(weight)}), not a number of 0 or more")
        actor = as_label(e.get("actor", "user"), here, "actor")
        signal = _unit(e.get("signal", 1.0), here, "signal")
        out.append(
            Event(
                cast(EventKind, e["kind"]),
                row[memory],
                as_time(e["time"], here, "time"),
                actor,
                signal,
                float(weight),
            )
        )
    return tuple(sorted(out, key=lambda e: e.time))


def _as_object(case: Case) -> dict[str, Any]:
    c, key = case.consolidation, case.sealed.open()
    n = len(c)
    keys = [
        (int(s), t, int(p))
        for s, t, p in zip(c.sessions, c.times.astype("M8[s]").astype(np.int64), c.positions, strict=True)
    ]
    if keys != sorted(keys):
        raise ValueError(
            f"case {case.id!r}: positions contradict times within a session; sort or renumber them first"
        )
    if n and c.now < c.times[-1]:
        raise ValueError(f"case {case.id!r}: now ({c.now}) is earlier than its last memory ({c.times[-1]})")
    iso = [f"{t}Z" for t in c.times.astype("M8[s]")]
    memories: list[dict[str, Any]] = []
    for i in range(n):
        memory: dict[str, Any] = {
            "text": c.texts[i],
            "role": c.roles[i],
            "time": iso[i],
            "session": int(c.sessions[i]),
            "position": int(c.positions[i]),
            "needed": bool(key.needed[i]),
        }
        if c.trust is not None:
            memory["trust"] = None if np.isnan(c.trust[i]) else float(c.trust[i])
        for name, flags in (("pinned", c.pinned), ("obsolete", key.obsolete), ("announces", key.announces)):
            if flags is not None:
                memory[name] = bool(flags[i])
        if key.source is not None:
            memory["source"] = key.source[i]
        if case.factors is not None:
            memory["factors"] = [float(v) for v in case.factors[i]]
        for name, index in (("session_index", case.session_index), ("turn_index", case.turn_index)):
            if len(index):
                memory[name] = int(index[i])
        memories.append(memory)
    out: dict[str, Any] = {
        "id": case.id,
        "kind": case.kind,
        "now": f"{c.now.astype('M8[s]')}Z",
        "memories": memories,
    }
    if key.question is not None:
        out["question"] = key.question
    if c.events:
        out["events"] = [
            {
                "kind": e.kind,
                "memory": e.memory,
                "time": e.time.isoformat(),
                "actor": e.actor,
                "signal": e.signal,
                "weight": e.weight,
            }
            for e in c.events
        ]
    return out
