"""What every log does alike, in SQLite and on a real server of PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from history_cases import at, event, records, same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memvalue.serve.history import KINDS, Compaction, EventLog, Formulas, HistoryError, Record, States


def test_what_is_appended_is_read_back_in_order(log: EventLog) -> None:
    made = [
        event("written", 0.0, "قهوة ☕", signal=0.25),
        event("opened", 1e-6 / 3600, "a", actor="agent", weight=2.5, active_hours=7.125),
        event("imported", 2.0, "b", actor="peer", signal=0.3, weight=4.0, stability=11.5),
    ]
    ids = [log.append(made[0]), *log.append_many(made[1:])]
    assert ids == sorted(set(ids))
    assert list(log.read()) == [replace(m, id=i) for m, i in zip(made, ids, strict=True)]
    assert log.last_id() == ids[-1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(made=st.lists(records(), max_size=12))
def test_any_event_survives(log: EventLog, made: list[Record]) -> None:
    before = log.last_id()
    ids = log.append_many(made)
    assert list(log.read(since=before)) == [replace(m, id=i) for m, i in zip(made, ids, strict=True)]


def test_columns_hold_what_records_do(log: EventLog) -> None:
    log.append_many(
        [event("written", 0, "b"), event("opened", 1, "a", active_hours=3.0), event("shown", 2, "b")]
    )
    found = log.columns()
    assert found.names == ("b", "a")
    assert found.memory.tolist() == [0, 1, 0]
    assert [KINDS[k] for k in found.kind] == ["written", "opened", "shown"]
    assert (np.diff(found.time_us) == 3_600_000_000).all()
    assert np.isnan(found.active_hours).tolist() == [True, False, True]
    assert len(log.columns(since=found.ids[1])) == 1
    assert log.columns(memory="b").names == ("b",)


def test_an_empty_log(log: EventLog) -> None:
    assert list(log.read()) == []
    assert len(log.columns()) == log.count() == log.last_id() == log.generation() == 0
    assert log.counts() == dict.fromkeys(KINDS, 0)
    assert log.append_many([]) == []
    log.check()


def test_reading_a_part(log: EventLog) -> None:
    log.append_many(
        [
            event("written", 0, "a"),
            event("opened", 5, "a", actor="agent"),
            event("opened", 3, "b"),
            event("shown", 5, "b"),
        ]
    )
    first = log.last_id() - 3

    def ids(**what: object) -> list[int]:
        return [r.id - first for r in log.read(**what)]  # type: ignore[arg-type]

    assert ids(memory="a") == [0, 1]
    assert ids(since=first + 1) == [2, 3]
    assert ids(kinds=("opened", "written")) == [0, 1, 2]
    assert ids(kinds=()) == []
    assert ids(actor="agent") == [1]
    assert ids(after=at(3)) == [1, 3]
    assert ids(until=at(3)) == [0, 2]
    assert log.count("b") == 2
    assert log.counts() == {**dict.fromkeys(KINDS, 0), "written": 1, "opened": 2, "shown": 1}
    with pytest.raises(HistoryError, match="unknown kinds seen"):
        log.read(kinds=["seen"])
    with pytest.raises(HistoryError, match="until has no time zone"):
        log.read(until=datetime(2026, 1, 1))


def test_reading_more_than_a_page(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memvalue.serve.history.event_log._PAGE", 3)
    log.append_many([event("shown", i) for i in range(7)])
    assert [r.time for r in log.read()] == [at(i) for i in range(7)]
    assert len(log.columns()) == 7


def test_a_batch_is_all_or_nothing(log: EventLog) -> None:
    log.append(event("written"))
    bad = event("opened")
    object.__setattr__(bad, "signal", 7.0)  # past our own check, to meet the database's
    with pytest.raises(HistoryError):
        log.append_many([event("opened"), bad])
    with pytest.raises(HistoryError):
        log.append(bad)
    assert [r.kind for r in log.read()] == ["written"]
    assert log.append(event("shown")) > 0


def test_only_new_records_are_taken(log: EventLog) -> None:
    log.append(event("written"))
    with pytest.raises(HistoryError, match="in a log already"):
        log.append_many(list(log.read()))
    with pytest.raises(HistoryError, match="takes Records, got dict"):
        log.append({"memory": "a"})  # type: ignore[arg-type]


def test_events_cannot_be_changed(log: EventLog) -> None:
    log.append(event("written"))
    with pytest.raises(HistoryError, match="append-only"), log._changing() as execute:
        execute(f"UPDATE {log._table} SET signal = 0", ())
    assert next(iter(log.read())).signal == 1.0


def test_the_times_can_be_read_by_people(log: EventLog) -> None:
    log.append(Record("a", "shown", datetime(2026, 1, 5, 9, 0, 0, 250_000, tzinfo=UTC)))
    log.append(Record("a", "shown", datetime(1969, 12, 31, 23, 59, 59, 750_000, tzinfo=UTC)))
    found = [str(row[0]) for row in log._rows(f"SELECT time FROM {log._table}_utc ORDER BY id", ())]
    assert [text.replace(" ", "T")[:22] for text in found] == [
        "2026-01-05T09:00:00.25",
        "1969-12-31T23:59:59.75",
    ]


def test_purging_a_memory(log: EventLog) -> None:
    log.append_many([event("written", 0, "a"), event("written", 0, "b"), event("opened", 1, "b")])
    last = log.last_id()
    assert log.purge("b") == 2
    assert [r.memory for r in log.read()] == ["a"]
    assert log.generation() == 1
    assert log.purge("b") == 0
    assert log.generation() == 1
    assert log.append(event("shown")) > last  # an id is never given twice


def test_compaction_merges_what_was_shown(log: EventLog) -> None:
    log.append_many(
        [
            event("written", 0),
            event("shown", 2, actor="agent"),
            event("shown", 1, weight=2.0),
            event("shown", 3, "b"),
            event("shown", 9),
        ]
    )
    assert log.compact(at(5)) == Compaction(shown=1, forgotten=0)
    assert log.generation() == 1
    shown = [(r.memory, r.time, r.actor, r.weight) for r in log.read(kinds=["shown"])]
    assert sorted(shown) == [
        ("a", at(2), "several", 3.0),
        ("a", at(9), "user", 1.0),
        ("b", at(3), "user", 1.0),
    ]
    assert log.compact(at(5)) == Compaction(0, 0)
    assert log.generation() == 1
    with pytest.raises(HistoryError, match="before has no time zone"):
        log.compact(datetime(2026, 1, 1))


def test_compaction_drops_the_history_of_the_forgotten_on_request(log: EventLog) -> None:
    log.append_many(
        [
            event("written", 0, "gone"),
            event("opened", 1, "gone"),
            event("forgotten", 2, "gone"),
            event("written", 0, "back"),
            event("forgotten", 2, "back"),
            event("written", 3, "back"),
            event("written", 0, "later"),
            event("forgotten", 9, "later"),
        ]
    )
    assert log.compact(at(5)).forgotten == 0
    assert log.compact(at(5), forgotten=True).forgotten == 2
    assert [r.kind for r in log.read(memory="gone")] == ["forgotten"]
    assert log.count("back") == 3
    assert log.count("later") == 2


def test_a_memory_written_again_at_the_time_it_was_forgotten_keeps_its_history(log: EventLog) -> None:
    log.append_many([event("written", 0), event("forgotten", 2), event("written", 2), event("opened", 2)])
    log.append_many([event("written", 0, "b"), event("opened", 2, "b"), event("forgotten", 2, "b")])
    log.append_many([event("written", 0, "c"), event("forgotten", 2, "c"), event("forgotten", 9, "c")])
    assert log.compact(at(5), forgotten=True) == Compaction(0, 2)
    assert log.count("a") == 4
    assert [r.kind for r in log.read(memory="b")] == ["forgotten"]
    assert log.count("c") == 3


def test_compaction_of_weights_that_one_event_cannot_hold(log: EventLog) -> None:
    log.append_many([event("shown", hour, weight=weight) for hour, weight in enumerate((6e8, 3e8, 2e8, 1e8))])
    before = States.rebuild(log.columns())
    assert log.compact(at(9)) == Compaction(2, 0)
    assert [(r.time, r.weight) for r in log.read()] == [(at(1), 9e8), (at(3), 3e8)]
    assert same(before, States.rebuild(log.columns()))
    assert log.compact(at(9)) == Compaction(0, 0)


def test_compaction_keeps_the_latest_reading_of_the_active_clock(log: EventLog) -> None:
    # The time of day was set back between the two.
    log.append_many([event("shown", 5, active_hours=1.0), event("shown", 2, active_hours=3.0)])
    active = Formulas(clock="active")
    before = States.rebuild(log.columns(), active)
    assert log.compact(at(9)).shown == 1
    assert same(before, States.rebuild(log.columns(), active))
    assert States.rebuild(log.columns(), active).last_event("a") == 3.0
    log.append(event("shown", 6))
    log.compact(at(9))
    with pytest.raises(HistoryError, match="no active hours"):
        States.rebuild(log.columns(), active)


def test_ids_that_no_database_has(log: EventLog) -> None:
    log.append(event("written"))
    assert list(log.read(since=10**30)) == []
    assert len(log.columns(since=-(10**30))) == 1


OTHER = Formulas(use_per_hour=0.99, harm_per_hour=0.9, keep=0.97, prior_weight=4.0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(made=st.lists(records(), max_size=25), hours=st.floats(0, 17_520))
def test_compaction_changes_no_state_under_any_formulas(
    log: EventLog, made: list[Record], hours: float
) -> None:
    for memory in "abc":
        log.purge(memory)
    # Whole weights add up exactly in any order.
    log.append_many([replace(r, weight=float(round(r.weight))) for r in made])
    before = [States.rebuild(log.columns(), f) for f in (Formulas(), OTHER)]
    log.compact(at(hours))
    after = [States.rebuild(log.columns(), f) for f in (Formulas(), OTHER)]
    assert all(same(x, y) for x, y in zip(before, after, strict=True))


def test_a_closed_log_opens_again_by_itself(log: EventLog) -> None:
    log.append(event("written"))
    log.close()
    log.close()
    assert log.count() == 1
