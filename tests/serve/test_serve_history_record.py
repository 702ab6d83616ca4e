"""A record refuses what would be wrong in the log for ever, and survives the way through JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from history_cases import START, event, records
from hypothesis import given

from memvalue.data import EVENT_KINDS
from memvalue.serve.history import KINDS, Record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "seen"}, "unknown event kind 'seen'; one of written, shown"),
        ({"time": datetime(2026, 1, 5)}, r"no time zone.*tzinfo=UTC"),
        ({"time": "2026-01-05T09:00:00Z"}, "must be a datetime"),
        ({"memory": ""}, "memory must be a text that is not empty"),
        ({"memory": 7}, "memory must be a text"),
        ({"memory": "a\0b"}, "NUL"),
        ({"memory": "\ud800"}, "surrogate"),
        ({"actor": ""}, "actor must be a text"),
        ({"signal": 1.1}, r"signal must lie in \[0, 1\]"),
        ({"signal": float("nan")}, "signal"),
        ({"signal": "much"}, "signal must be a number"),
        ({"signal": None}, "signal must be a number, got None"),
        ({"weight": None}, "weight must be a number, got None"),
        ({"time": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))}, "outside the years 1 to 9999"),
        ({"weight": -1}, "weight"),
        ({"weight": float("inf")}, "weight"),
        ({"active_hours": -0.5}, "active_hours"),
        ({"stability": 3.0}, "belongs to 'imported'"),
        ({"kind": "imported", "stability": 0.0}, "stability must lie in"),
    ],
)
def test_a_record_refuses(change: dict[str, object], message: str) -> None:
    sound: dict[str, object] = {"memory": "a", "kind": "opened", "time": START}
    with pytest.raises(ValueError, match=message):
        Record(**{**sound, **change})  # type: ignore[arg-type]


def test_it_knows_the_kinds_of_the_data_room() -> None:
    assert set(KINDS) == EVENT_KINDS
    assert len(KINDS) == 10


def test_times_are_kept_in_utc() -> None:
    local = datetime(2026, 1, 5, 10, tzinfo=timezone(timedelta(hours=1)))
    found = Record("a", "opened", local).time
    assert found == START
    assert found.tzinfo is UTC


def test_numbers_of_numpy_become_plain_floats() -> None:
    made = Record("a", "opened", START, signal=np.float32(0.5), weight=np.int64(2))  # type: ignore[arg-type]
    assert type(made.signal) is type(made.weight) is float


@given(records())
def test_it_survives_json(made: Record) -> None:
    assert Record.from_dict(json.loads(json.dumps(made.to_dict()))) == made


def test_what_json_holds() -> None:
    assert event("opened", 1.5, signal=0.5).to_dict() == {
        "memory": "a", "kind": "opened", "time": "2026-01-05T10:30:00+00:00",
        "actor": "user", "signal": 0.5, "weight": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"memory": "a", "kind": "opened"}, "lacks time"),
        ({"memory": "a", "kind": "opened", "time": "yesterday"}, "no ISO 8601 time"),
        ({"memory": "a", "kind": "opened", "time": "2026-01-05T09:00:00"}, "no time zone"),
        ({"memory": "a", "kind": "opened", "time": "2026-01-05T09:00:00Z", "who": 1}, "a record has no who"),
    ],
)
def test_json_that_is_no_record_is_refused(data: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Record.from_dict(data)
