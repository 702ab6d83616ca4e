"""The state is a view of the log: what each event does, and the same bits however it is folded."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from history_cases import at, event, folded, records, same
from hypothesis import given
from hypothesis import strategies as st

from memvalue.serve.history import KINDS, EventColumns, Formulas, Fsrs, HistoryError, Record, States, rounds


def test_golden_states_by_hand() -> None:
    # Written at 0 h with V = .6, opened at 24 h, confirmed by half and corrected at 124 h; asked at 224 h.
    states = folded(
        event("written", 0, signal=0.6),
        event("shown", 1),
        event("opened", 24),
        event("confirmed", 124, signal=0.5, weight=2.0),
        event("corrected", 124, weight=0.5),
        event("shown", 200),
    )
    state = states.state("a", at(224))
    assert state.uses == 2
    # .995^200 + .5·2·.995^100 = .366958 + .605770
    assert state.recent_use == pytest.approx(0.972728, abs=1e-6)
    # 1/√224 + 1/√200 + 1/√100 = .0668153 + .0707107 + .1
    assert state.activation == pytest.approx(math.log(0.2375260), abs=1e-6)
    # α = .5 + .5·2, β = .5 + .5·2 + .5
    assert (state.alpha, state.beta) == (1.5, 2.0)
    assert state.utility == pytest.approx(3 / 7)
    # 1.5·2/(3.5²·4.5)
    assert state.utility_variance == pytest.approx(3.0 / 55.125)
    # .5·.999^100
    assert state.harm == pytest.approx(0.5 * 0.904792, abs=1e-6)
    assert state.importance == 0.6
    assert state.shown == 2.0
    assert not state.forgotten


def test_a_memory_of_which_nothing_is_known() -> None:
    state = States().state("a", at(0))
    assert (state.uses, state.recent_use, state.harm, state.shown) == (0, 0.0, 0.0, 0.0)
    assert (state.alpha, state.beta, state.utility) == (0.5, 0.5, 0.5)
    assert state.activation == -math.inf
    assert math.isnan(state.importance) and math.isnan(state.retrievability) and math.isnan(state.stability)
    assert Formulas(prior_weight=4.0).prior_weight / 2 == folded(prior_weight=4.0).state("a", at(0)).alpha


def changed(before: States, after: States) -> set[str]:
    """Names of what differs of memory ``a``, an hour after."""
    one, two = before.state("a", at(101)), after.state("a", at(101))
    names = (n for n in type(one).__dataclass_fields__)
    return {n for n in names if repr(getattr(one, n)) != repr(getattr(two, n))}


WRITTEN = event("written", 0, signal=0.5)
USE = {"uses", "recent_use", "activation", "stability", "difficulty", "retrievability"}
FAIL = {"harm", "beta", "stability", "difficulty", "retrievability"}


@pytest.mark.parametrize(
    ("next_event", "what"),
    [
        (event("shown", 100), {"shown"}),
        (event("opened", 100), USE),
        (event("opened", 100, signal=0.0), set()),
        (event("opened", 100, weight=0.0), set()),
        (event("confirmed", 100), USE | {"alpha"}),
        (event("confirmed", 100, signal=0.0), FAIL - {"harm"}),
        (event("confirmed", 100, weight=0.0), set()),
        (event("written", 100, signal=0.5), USE),
        (event("written", 100, signal=0.9), USE | {"importance"}),
        (event("corrected", 100), FAIL),
        (event("contradicted", 100, signal=0.3), FAIL),
        (event("superseded", 100), FAIL),
        (event("superseded", 100, weight=0.0), set()),
        (event("rescored", 100, signal=0.75), {"importance", "alpha", "beta"}),
        (event("rescored", 100, signal=0.75, weight=0.0), {"importance"}),
        (event("imported", 100, signal=0.25), {"alpha", "beta"}),
        (
            event("imported", 100, signal=0.25, stability=90.0),
            {"alpha", "beta", "stability", "retrievability"},
        ),
        (event("imported", 100, signal=0.25, stability=0.1), {"alpha", "beta"}),
        (event("forgotten", 100), {"forgotten"}),
    ],
)
def test_each_event_moves_its_own_channels_and_no_other(next_event: Record, what: set[str]) -> None:
    found = changed(folded(WRITTEN), folded(WRITTEN, next_event))
    assert found == what


def test_every_kind_was_tried() -> None:
    marks = test_each_event_moves_its_own_channels_and_no_other.pytestmark[0]
    assert {case[0].kind for case in marks.args[1]} == set(KINDS)


@given(st.lists(st.integers(1, 1000), max_size=20))
def test_being_shown_any_number_of_times_is_no_use(hours: list[int]) -> None:
    shown = sorted([event("shown", h) for h in hours], key=lambda e: e.time)
    one = folded(WRITTEN).state("a", at(2000))
    two = folded(WRITTEN, *shown).state("a", at(2000))
    assert two == replace(one, shown=float(len(hours)))


def test_no_good_outcome_pays_for_harm() -> None:
    harmed = folded(WRITTEN, event("corrected", 1))
    praised = folded(WRITTEN, event("corrected", 1), *(event("confirmed", 2) for _ in range(100)))
    assert harmed.state("a", at(9)).harm == praised.state("a", at(9)).harm > 0.99
    # A half-life of ln 2/−ln .999 = 692.8 hours.
    assert harmed.state("a", at(1 + 692.8)).harm == pytest.approx(0.5, abs=1e-4)


def test_writing_brings_a_forgotten_memory_back() -> None:
    gone = folded(WRITTEN, event("forgotten", 1))
    assert gone.state("a", at(2)).forgotten
    gone.apply(event("opened", 2))
    assert gone.state("a", at(2)).forgotten
    gone.apply(event("written", 3))
    assert not gone.state("a", at(3)).forgotten


def test_old_evidence_may_be_forgotten() -> None:
    states = folded(event("confirmed", 0), event("corrected", 1), keep=0.5)
    # α: (.5·.5 + 1)·.5 + 0, β: (.5·.5 + 0)·.5 + 1
    state = states.state("a", at(1))
    assert (state.alpha, state.beta) == (0.625, 1.125)


FORMULAS = (
    Formulas(),
    Formulas(use_per_hour=0.9, harm_per_hour=0.95, prior_weight=3.0, keep=0.9, clock="active"),
    Formulas(fsrs=Fsrs((*Fsrs().weights[:19], 0.0, 0.5))),
)


@given(st.lists(records(), max_size=60), st.sampled_from(FORMULAS), st.sampled_from((1, 2, 64)))
def test_one_by_one_and_all_at_once_give_the_same_bits(
    made: list[Record], formulas: Formulas, narrow: int
) -> None:
    key = (lambda r: r.time) if formulas.clock == "wall" else (lambda r: r.active_hours)
    states = States(formulas)
    for r in sorted(made, key=key):
        states.apply(r)
    before, rounds.NARROW = rounds.NARROW, narrow
    try:
        assert same(States.rebuild(EventColumns.from_records(made), formulas), states)
    finally:
        rounds.NARROW = before


@given(st.lists(records(), min_size=1, max_size=40), st.floats(0, 20_000))
def test_columns_say_what_single_states_say(made: list[Record], later: float) -> None:
    states = States.rebuild(EventColumns.from_records(made))
    now = states.last().max() + later
    single = [states.state(name, now) for name in states.names]
    for name, column in {
        "uses": states.uses(),
        "recent_use": states.recent_use(now),
        "activation": states.activation(now),
        "alpha": states.alpha(),
        "beta": states.beta(),
        "harm": states.harm(now),
        "stability": states.stability(),
        "difficulty": states.difficulty(),
        "retrievability": states.retrievability(now),
        "importance": states.importance(),
        "shown": states.shown(),
        "forgotten": states.forgotten(),
    }.items():
        assert np.array_equal(column, [getattr(s, name) for s in single], equal_nan=True), name
    some = states.rows(states.names[::-1])
    assert np.array_equal(states.recent_use(now, some), states.recent_use(now)[::-1])
    assert np.array_equal(states.activation(now, some), states.activation(now)[::-1])


@given(st.lists(records(), max_size=40))
def test_every_number_stays_in_its_range(made: list[Record]) -> None:
    states = States.rebuild(EventColumns.from_records(made))
    now = states.last().max() + 1.0 if len(states) else 0.0
    assert (states.recent_use(now) >= 0).all() and (states.harm(now) >= 0).all()
    assert (states.alpha() > 0).all() and (states.beta() > 0).all()
    reviewed = ~np.isnan(states.stability())
    assert (states.stability()[reviewed] > 0).all()
    assert ((states.difficulty()[reviewed] >= 1) & (states.difficulty()[reviewed] <= 10)).all()
    found = states.retrievability(now)
    assert np.array_equal(~np.isnan(found), reviewed)
    assert ((found[reviewed] > 0) & (found[reviewed] <= 1)).all()
    told = states.importance()
    assert (np.isnan(told) | ((told >= 0) & (told <= 1))).all()


def test_a_log_of_many_memories_and_one_that_is_used_all_the_time() -> None:
    rng = np.random.default_rng(4)
    n = 6000
    memory = np.where(rng.random(n) < 0.5, 0, rng.integers(0, 900, n))
    made = [
        Record(
            f"m{memory[i]}",
            str(rng.choice(KINDS[:7])),
            at(float(h)),
            signal=float(rng.random()),  # type: ignore[arg-type]
        )
        for i, h in enumerate(np.sort(rng.random(n) * 5000))
    ]
    states = States()
    for r in made:
        states.apply(r)
    assert same(States.rebuild(EventColumns.from_records(made)), states)


def test_age_since_writing() -> None:
    states = folded(WRITTEN, event("written", 7), event("shown", 8, "b"))
    assert np.array_equal(states.age_hours(at(10)), [10.0, np.nan], equal_nan=True)


def test_the_active_clock_stands_still_while_the_agent_does() -> None:
    states = folded(
        event("written", 0, active_hours=0.0), event("opened", 1, active_hours=1.0), clock="active"
    )
    assert states.state("a", 3.0).recent_use == pytest.approx(0.995**2)
    with pytest.raises(HistoryError, match="run on active hours"):
        states.state("a", at(3))
    with pytest.raises(HistoryError, match="'b' has no active hours"):
        states.apply(event("opened", 2, "b"))
    with pytest.raises(HistoryError, match="'b' has no active hours"):
        States.rebuild(EventColumns.from_records([event("opened", 2, "b")]), Formulas(clock="active"))


def test_asking_wrongly() -> None:
    states = folded(WRITTEN, event("opened", 5))
    with pytest.raises(HistoryError, match="lies before its last"):
        states.apply(event("opened", 4))
    with pytest.raises(HistoryError, match="after the moment asked about"):
        states.state("a", at(4))
    with pytest.raises(HistoryError, match="'a' has an event after the moment"):
        states.recent_use(at(4))
    with pytest.raises(HistoryError, match="'b' has no events"):
        states.rows(["a", "b"])
    with pytest.raises(HistoryError, match="no time zone"):
        states.state("a", datetime(2026, 1, 6))
    with pytest.raises(HistoryError, match="finite hours"):
        states.state("a", math.nan)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"use_per_hour": 0.0}, "use_per_hour must lie"),
        ({"keep": 1.5}, "keep must lie"),
        ({"prior_weight": 0.0}, "prior_weight"),
        ({"clock": "moon"}, "'wall' or 'active'"),
    ],
)
def test_formulas_outside_their_range_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Formulas(**change)  # type: ignore[arg-type]
