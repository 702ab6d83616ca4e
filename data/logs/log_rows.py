"""From rows of any source, one at a time, to a log: the checks that all sources share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.check import as_int, as_label, as_text, as_time, kind_of
from memvalue.data.errors import DataError
from memvalue.data.logs.log import BY_DAY, KINDS, Log

#: What a row of events must have, and what it may; times are ``time`` or ``time_us``.
REQUIRED = ("memory", "kind")

#: What describes a memory, in a row of memories or on its ``written`` event.
DESCRIBED = ("text", "role", "session", "position", "trust", "pinned")

_CODE = {name: i for i, name in enumerate(KINDS)}
_WRITTEN = _CODE["written"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

#: Years 1 to 9999, which ISO 8601 times and numpy both hold.
_LEAST_US = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_MOST_US = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


class LogRows:
    """Takes rows of memories and of events, in the order in which they were logged; then makes the log.

    A memory is described by its row of memories, else by its first ``written`` event with a text. Later
    writings bring later texts and nothing else: what they say of its trust was not known before.
    """

    def __init__(self) -> None:
        self._row: dict[str, int] = {}
        self._described: dict[int, tuple[int, dict[str, Any], str]] = {}
        self._writings: dict[int, dict[str, Any]] = {}
        self._actors: dict[str, int] = {}
        self._memory: list[int] = []
        self._kind: list[int] = []
        self._time: list[int] = []
        self._actor: list[int] = []
        self._signal: list[float] = []
        self._weight: list[float] = []
        self._active: list[float] = []
        self._number: list[Any] = []

    def memory(self, item: Mapping[str, Any], where: str) -> None:
        """A row of memories: ``id``, ``text``, ``role`` and ``time``, and what else is known of it."""
        if missing := [k for k in ("id", "text", "role") if item.get(k) is None]:
            raise DataError(f"{where} lacks {', '.join(missing)}; a memory needs id, text, role and time")
        row = self._name(item["id"], where, "id")
        if row in self._described:
            raise DataError(
                f"{where}: id {item['id']!r} is also that of {self._described[row][2]}; ids must differ"
            )
        _check_description(item, where)
        self._described[row] = (_moment(item, where), _description(item), where)

    def event(self, item: Mapping[str, Any], where: str) -> None:
        """A row of events: ``memory``, ``kind``, ``time`` or ``time_us``, and what else is known of it."""
        name = item.get("kind")
        code = _CODE.get(name) if isinstance(name, str) else None
        if code is None:
            if missing := [k for k in REQUIRED if item.get(k) is None]:
                raise DataError(f"{where} lacks {', '.join(missing)}; an event needs memory, kind and time")
            raise DataError(f"{where}: kind is {name!r}, not one of {', '.join(KINDS)}")
        if item.get("memory") is None:
            raise DataError(f"{where} lacks memory; an event needs memory, kind and time")
        row = self._name(item["memory"], where, "memory")
        time = _moment(item, where)
        actor = item.get("actor")
        if actor is None:
            actor = "user"
        elif type(actor) is not str or actor not in self._actors:
            actor = as_label(str(actor) if type(actor) is int else actor, where, "actor")
        active = item.get("active_hours")
        signal, weight = item.get("signal"), item.get("weight")
        self._signal.append(1.0 if signal is None else _number(signal, where, "signal", 1.0))
        self._weight.append(1.0 if weight is None else _number(weight, where, "weight"))
        self._active.append(math.nan if active is None else _number(active, where, "active_hours"))
        self._actor.append(self._actors.setdefault(actor, len(self._actors)))
        self._memory.append(row)
        self._kind.append(code)
        self._number.append(item.get("id"))
        self._time.append(time)
        if code == _WRITTEN:
            _check_description(item, where)
            self._writings[len(self._kind) - 1] = _description(item)

    def _name(self, value: Any, where: str, key: str) -> int:
        if type(value) is not str:
            value = str(value) if type(value) is int else as_label(value, where, key)
        row = self._row.get(value)
        if row is None:
            row = self._row[as_label(value, where, key)] = len(self._row)
        return row

    def log(self, source: str) -> Log:
        """The log of all rows so far.

        Raises
        ------
        DataError
            When there is no event.
        """
        if not self._kind:
            raise DataError(
                f"{source} holds no event; a recalibration needs to see what was used. Write one event a "
                "row with memory, kind and time"
            )
        n, e = len(self._row), len(self._kind)
        sequence, numbered = self._sequence()
        order = np.lexsort((sequence, np.array(self._time, dtype=np.int64)))
        facts: list[dict[str, Any]] = [{} for _ in range(n)]
        times = np.full(n, "NaT", dtype="datetime64[us]")
        for row, (time, described, _) in self._described.items():
            facts[row], times[row] = dict(described), np.datetime64(time, "us")
        stored = tuple(f.get("text") for f in facts)
        texts = np.full(e, None, dtype=object)
        for i in order.tolist():
            told = self._writings.get(i, {})
            if "text" in told:
                row, texts[i] = self._memory[i], told["text"]
                if row not in self._described and not facts[row]:
                    facts[row] = told
        numbers: dict[Any, int] = {}
        sessions = [
            BY_DAY if (s := f.get("session")) is None else numbers.setdefault(s, len(numbers)) for f in facts
        ]
        return Log(
            source=source,
            ids=tuple(self._row),
            texts=stored,
            roles=tuple(str(f.get("role", "user")) for f in facts),
            sessions=np.array(sessions, dtype=np.int64),
            positions=self._positions(facts),
            times=times,
            trust=np.array([f.get("trust", math.nan) for f in facts], dtype=np.float64),
            pinned=np.array([bool(f.get("pinned")) for f in facts], dtype=bool),
            kind=np.array(self._kind, dtype=np.int8)[order],
            memory=np.array(self._memory, dtype=np.int64)[order],
            time=np.array(self._time, dtype=np.int64)[order].astype("datetime64[us]"),
            actor=np.array(self._actor, dtype=np.int64)[order],
            signal=np.array(self._signal, dtype=np.float64)[order],
            weight=np.array(self._weight, dtype=np.float64)[order],
            active_hours=np.array(self._active, dtype=np.float64)[order],
            sequence=sequence[order],
            text=texts[order],
            actors=tuple(self._actors),
            numbered=numbered,
        )

    def _sequence(self) -> tuple[NDArray[np.int64], bool]:
        """int64[e], the order of logging: of ids where they are different whole numbers, else of rows."""
        whole = all(type(v) is int and -(2**63) <= v < 2**63 for v in self._number)
        if whole and len(set(self._number)) == len(self._number):
            order = np.argsort(np.array(self._number, dtype=np.int64))
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            return rank, True
        return np.arange(len(self._number)), False

    def _positions(self, facts: list[dict[str, Any]]) -> NDArray[np.int64]:
        """int64[n]; as given, else the order of first writing, else of the rows."""
        first: dict[int, int] = {}
        for i in self._writings:
            first.setdefault(self._memory[i], i)
        return np.array(
            [f["position"] if "position" in f else first.get(i, i) for i, f in enumerate(facts)],
            dtype=np.int64,
        )


def _description(item: Mapping[str, Any]) -> dict[str, Any]:
    return {k: item[k] for k in DESCRIBED if item.get(k) is not None}


def _check_description(item: Mapping[str, Any], where: str) -> None:
    """Refuse what is malformed in the description of a memory."""
    if item.get("text") is not None:
        as_text(item["text"], where, "text")
    if item.get("role") is not None:
        as_label(item["role"], where, "role")
    session = item.get("session")
    if session is not None and not isinstance(session, str):
        as_int(session, where, "session")
    if item.get("position") is not None and as_int(item["position"], where, "position") < 0:
        raise DataError(f"{where}: position is {item['position']}, but must be 0 or more")
    if item.get("trust") is not None:
        _number(item["trust"], where, "trust", 1.0)
    pinned = item.get("pinned")
    if pinned is not None and not isinstance(pinned, bool) and pinned not in (0, 1):
        raise DataError(f"{where}: pinned is {pinned!r} ({kind_of(pinned)}), not true or false")


def _number(value: Any, where: str, key: str, most: float = math.inf) -> float:
    if type(value) is float or type(value) is int:
        number = float(value) if abs(value) < 2**1000 else math.inf
    elif isinstance(value, bool) or not hasattr(value, "__float__"):  # Decimal, of a database
        number = math.nan
    else:
        number = float(value)
    if not (0.0 <= number <= most and number != math.inf):
        limit = f"a number from 0 to {most:g}" if most < math.inf else "a finite number of 0 or more"
        raise DataError(f"{where}: {key} is {value!r} ({kind_of(value)}), not {limit}")
    return number


def _moment(item: Mapping[str, Any], where: str) -> int:
    """Microseconds since 1970, UTC."""
    time = item.get("time")
    if time is None:
        stamp = item.get("time_us")
        if stamp is None:
            raise DataError(f"{where} lacks time (or time_us, in microseconds since 1970 UTC)")
        stamp = as_int(stamp, where, "time_us")
        if not _LEAST_US <= stamp <= _MOST_US:
            raise DataError(f"{where}: time_us is {stamp}, outside the years 1 to 9999; are the units right?")
        return stamp
    if isinstance(time, datetime) and time.utcoffset() is None:
        raise DataError(
            f"{where}: time is {time.isoformat()} without a time zone; store it as timestamp with time zone, "
            "as text like '2023-05-20T02:21:00Z', or as time_us"
        )
    return (as_time(time, where, "time") - _EPOCH) // _MICROSECOND
