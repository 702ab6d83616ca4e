"""A log with its states: they equal the recomputed ones to the last bit, whatever clocks and others do."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from history_cases import MEMORIES, START, at, event, records, same
from hypothesis import given
from hypothesis import strategies as st

from memvalue.data import Consolidation, Memory
from memvalue.features import Definition, combine, observe
from memvalue.features.log_evidence import log_evidence
from memvalue.serve.history import (
    EventLog,
    Formulas,
    History,
    HistoryError,
    Record,
    SqliteLog,
    States,
    activation,
    consolidation_events,
)


def recomputed(log: EventLog, until: float | None = None, formulas: Formulas | None = None) -> States:
    return States.rebuild(log.columns(), formulas, until=until)


@given(st.lists(st.lists(records(), max_size=4), max_size=12))
def test_states_equal_the_recomputed_ones_in_whatever_order_events_come(batches: list[list[Record]]) -> None:
    history = History(SqliteLog(":memory:"))
    for batch in batches:
        history.append_many(batch)
        assert same(history.states, recomputed(history.log))


@given(st.lists(records(), max_size=25), st.integers(0, 17_520))
def test_the_past_is_what_the_log_held_by_then(made: list[Record], hours: int) -> None:
    history = History(SqliteLog(":memory:"))
    history.append_many(made)
    now = at(hours)
    wanted = recomputed(history.log, until=history.formulas.hours(now))
    view = history.view(now)
    for memory in MEMORIES:
        assert repr(history.state(memory, now)) == repr(wanted.state(memory, now))
        assert repr(view.state(memory, now)) == repr(wanted.state(memory, now))
    assert (view.last() <= history.formulas.hours(now)).all()


def test_two_processes_see_what_the_other_writes(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with SqliteLog(path) as one, SqliteLog(path) as two:
        first, second = History(one), History(two)
        first.append(event("written", 0))
        first.append(event("opened", 1))
        second.append(event("confirmed", 2))  # takes in what it had missed, too
        assert same(second.states, recomputed(one))
        assert first.refresh() == 1
        assert first.refresh() == 0
        assert same(first.states, second.states)
        second.append(event("opened", 1.5))
        first.append(event("shown", 3))
        assert same(first.states, recomputed(one))


def test_a_purge_elsewhere_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with SqliteLog(path) as one, SqliteLog(path) as two:
        first, second = History(one), History(two)
        first.append_many([event("written", 0, "a"), event("written", 0, "b")])
        second.refresh()
        assert first.purge("a") == 1
        assert "a" not in first.states
        second.refresh()
        assert "a" not in second.states and "b" in second.states
        assert second.state("a", at(1)).uses == 0


def test_compaction_keeps_the_states(tmp_path: Path) -> None:
    history = History(SqliteLog(tmp_path / "events.db"))
    history.append_many(
        [event("written", 0), *(event("shown", h) for h in range(1, 50)), event("opened", 60)]
    )
    before = history.states.copy()
    assert history.compact(at(100)).shown == 48
    assert same(history.states, before)
    history.log.close()


def test_a_clock_that_jumped_does_no_lasting_harm() -> None:
    history = History(SqliteLog(":memory:"))
    history.append_many([event("written", 0), event("opened", 10)])
    calm = history.state("a", at(30))
    history.append(event("opened", 50 * 8766))  # a clock fifty years ahead
    history.append(event("opened", -50 * 8766))  # and one as far behind
    history.append(event("opened", 20))  # and right again
    now = history.state("a", at(30))
    assert now.recent_use == pytest.approx(calm.recent_use + 0.995**10)
    assert now.uses == 3
    assert history.state("a", at(60 * 8766)).uses == 4


def test_the_exact_long_clock_reads_the_log() -> None:
    history = History(SqliteLog(":memory:"))
    hours = np.random.default_rng(0).uniform(0, 5000, 40)
    history.append_many([event("written", 0), *(event("opened", h) for h in hours), event("shown", 1)])
    wanted = activation([6000.0, *(6000.0 - hours)])
    assert history.exact_activation("a", at(6000)) == pytest.approx(wanted, abs=1e-6)
    assert history.state("a", at(6000)).activation == pytest.approx(wanted, abs=0.1)
    assert history.exact_activation("b", at(6000)) == -math.inf


def test_an_event_without_the_clock_s_reading_never_reaches_the_log() -> None:
    history = History(SqliteLog(":memory:"), Formulas(clock="active"))
    with pytest.raises(HistoryError, match="no active hours"):
        history.append(event("written", 0))
    assert history.log.count() == 0
    history.append(event("written", 0, active_hours=1.0))
    assert history.state("a", 5.0).retrievability < 1.0


# What the factors make of the log -------------------------------------------------------------------------


def store(*hours: float) -> list[Memory]:
    return [Memory(f"text {i}", "user", at(h), session=i) for i, h in enumerate(hours)]


@given(st.lists(records(), max_size=40))
def test_states_and_factors_agree_on_use_and_harm(made: list[Record]) -> None:
    history = History(SqliteLog(":memory:"))
    history.append_many(made)
    now = at(17_521)
    memories = Consolidation.from_memories(
        store(0, 0, 0), now=now, events=consolidation_events(history.log.read(), MEMORIES)
    )
    uses, harm = log_evidence(memories)
    if not made:
        assert np.isnan(uses).all()
        return
    found = [history.state(m, now) for m in MEMORIES]
    assert uses.tolist() == pytest.approx([s.recent_use for s in found], rel=1e-9, abs=1e-12)
    assert harm.tolist() == pytest.approx([s.harm for s in found], rel=1e-9, abs=1e-12)


def test_use_raises_usage_history_and_correction_lowers_reliability() -> None:
    history = History(SqliteLog(":memory:"))
    history.append_many(
        [
            *(event("written", 0, m) for m in "abcd"),
            *(event("shown", 1, "a") for _ in range(50)),
            event("opened", 2, "b"),
            event("corrected", 2, "c"),
        ]
    )
    events = history.consolidation_events(["a", "b", "c", "d"], until=at(9))
    memories = [Memory("I moved to Lisbon in May.", "user", START, session=i) for i in range(4)]
    c = Consolidation.from_memories(memories, now=at(10), events=events)
    factors = combine(observe([c])[0], Definition.named("default"))
    reliability, usage = factors[:, 5], factors[:, 6]
    assert usage[1] > usage[0] == usage[3]
    assert reliability[2] < reliability[0] == reliability[3]


def test_events_of_a_consolidation() -> None:
    history = History(SqliteLog(":memory:"))
    history.append_many(
        [event("opened", 5, "b", weight=2.0), event("written", 1, "a"), event("shown", 9, "z")]
    )
    found = history.consolidation_events(["a", "b"])
    assert [(e.kind, e.memory, e.time, e.weight) for e in found] == [
        ("written", 0, at(1), 1.0),
        ("opened", 1, at(5), 2.0),
    ]
    assert len(history.consolidation_events(["a", "b"], until=at(2))) == 1
    with pytest.raises(HistoryError, match="'a' is in the list twice"):
        history.consolidation_events(["a", "a"])
    with pytest.raises(HistoryError, match="no time zone"):
        history.consolidation_events(["a"], until=datetime(2026, 1, 1))
