"""Recall from a log: several lists fused, nudged by what was used and what was corrected."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.serve.history import States
from memvalue.serve.rank import HARM, NUDGE, fuse, nudge, rank
from memvalue.serve.rank_many import rank_many
from memvalue.serve.recall import recall
from memvalue.serve.signals import harm_strength, recent_need, use_strength, value_signal

NAMES = [f"m{i}" for i in range(12)]


def store(**events: list[tuple[float, str]]) -> States:
    states = States()
    for name in NAMES:
        states.apply_at(name, "written", 0.0, 0.5)
    for name, mine in events.items():
        for time, kind in mine:
            states.apply_at(name, kind, time)
    return states


def test_a_log_without_anything_about_the_candidates_moves_nothing() -> None:
    found = recall([NAMES, NAMES[::-1]], States(), 0.0)
    names, scores = fuse([NAMES, NAMES[::-1]])
    np.testing.assert_array_equal(found.ranking.score, scores)
    assert found.memories == tuple(names[i] for i in np.argsort(-scores, kind="stable"))
    assert found.ranking.multiplier.tolist() == [1.0] * 12


def test_what_was_used_rises_and_what_was_corrected_sinks() -> None:
    states = store(m4=[(999.0, "confirmed"), (999.0, "opened")], m0=[(999.0, "corrected")])
    found = recall([NAMES], states, 1000.0, top=5)
    # The others have faded (−5 %), so m4 (+3.6 % and more) passes four places of 1.6 % each. One correction
    # costs m0 (.95·.61 + .91·.39)/.95 − 1 = −1.7 %: one place.
    assert found.memories == ("m4", "m1", "m0", "m2", "m3")
    moved = {x["memory"]: x for x in recall([NAMES], states, 1000.0).explain()}
    assert moved["m4"]["moved"] > 0 and moved["m4"]["use"] > 0 and moved["m4"]["harm"] == 0
    assert moved["m0"]["moved"] < 0 and moved["m0"]["harm"] == pytest.approx(
        -HARM * -math.expm1(-0.4995), 1e-3
    )
    assert len(found) == 5


def test_being_shown_moves_nothing() -> None:
    shown = store(m11=[(999.0, "shown")] * 50)
    np.testing.assert_array_equal(
        recall([NAMES], shown, 1000.0).ranking.score, recall([NAMES], store(), 1000.0).ranking.score
    )


def test_forgotten_memories_are_not_recalled_and_unknown_ones_are_neutral() -> None:
    states = store(m0=[(1.0, "forgotten")])
    found = recall([["m0", "new", "m1"]], states, 2.0)
    assert set(found.memories) == {"new", "m1"}
    assert found.ranking.multiplier[found.candidates.index("new")] == 1.0


def test_importance_nudges_only_where_it_is_asked_for() -> None:
    states = States()
    states.apply_at("low", "written", 0.0, 0.1)
    states.apply_at("high", "written", 0.0, 0.9)
    lists = [["low", "high", *NAMES[:8]]]
    assert recall(lists, states, 0.0).memories[0] == "high"
    assert recall(lists, states, 0.0, value=False).memories[0] == "low"


def test_the_signals_worked_by_hand() -> None:
    """Written 200 h ago and opened 100 h ago: recent need .995^200 + .995^100 = .3670 + .6058."""
    states = store(m1=[(100.0, "opened"), (150.0, "corrected")])
    rows = states.rows(["m1", "m2"])
    need = recent_need(states, 200.0, rows)
    np.testing.assert_allclose(need, [0.995**200 + 0.995**100, 0.995**200])
    np.testing.assert_allclose(use_strength(states, 200.0, rows), 1 - 2 * np.exp(-need))
    np.testing.assert_allclose(harm_strength(states, 200.0, rows), [1 - math.exp(-(0.999**50) / 2), 0.0])
    np.testing.assert_array_equal(value_signal(states, rows), [0.5, 0.5])
    with pytest.raises(ValueError, match="scale must be"):
        use_strength(states, 200.0, scale=0.0)
    with pytest.raises(ValueError, match="scale must be"):
        harm_strength(states, 200.0, scale=math.inf)


def test_a_memory_that_was_neither_written_nor_used_is_unknown_not_faded() -> None:
    states = States()
    states.apply_at("rated", "rescored", 0.0, 0.8)
    states.apply_at("old", "written", 0.0, 0.8)
    assert use_strength(states, 9000.0)[0] == 0.0
    assert use_strength(states, 9000.0)[1] == pytest.approx(-1.0)


TABLES = st.integers(2, 12).flatmap(
    lambda n: st.lists(st.lists(st.floats(0.01, 1), min_size=n, max_size=n), min_size=1, max_size=4)
)


@given(TABLES, st.integers(0, 99), st.integers(1, 12))
def test_many_questions_are_ranked_as_each_alone(table, seed: int, top: int) -> None:
    relevance = np.array(table)
    rng = np.random.default_rng(seed)
    value, use = rng.random(relevance.shape), 2 * rng.random(relevance.shape) - 1
    harm = rng.random(relevance.shape) * (rng.random(relevance.shape) < 0.3)
    many = rank_many(relevance, values=value, use_strength=use, harm=harm, top=top)
    for i, row in enumerate(relevance):
        one = rank(row, values=value[i], use_strength=use[i], harm=harm[i], top=top)
        np.testing.assert_allclose(many.score[i], one.score, rtol=1e-13)
        np.testing.assert_allclose(many.strength[i], one.strength, rtol=1e-13)
        if one.strength > 0:  # else all scores tie up to rounding
            np.testing.assert_allclose(one.score[many.order[i]], one.score[one.order], rtol=1e-13)


@given(TABLES)
def test_neutral_signals_change_no_bit_of_many_questions(table) -> None:
    relevance = np.array(table)
    zero = np.zeros(relevance.shape)
    for signals in ({}, {"use_strength": zero, "harm": zero, "values": zero + 0.5}):
        found = rank_many(relevance, **signals)
        np.testing.assert_array_equal(found.score, relevance)
        np.testing.assert_array_equal(found.order, np.argsort(-relevance, axis=1, kind="stable"))


def test_a_missing_candidate_is_never_chosen() -> None:
    found = rank_many([[0.2, np.nan, 0.1], [np.nan, np.nan, np.nan]], use_strength=np.ones((2, 3)), top=3)
    assert found.order.tolist() == [[0, 2, -1], [-1, -1, -1]]
    shorter = rank([0.2, 0.1], use_strength=[1.0, 1.0])
    np.testing.assert_array_equal(found.score[0, [0, 2]], shorter.score)


def test_only_a_trial_may_leave_the_spread() -> None:
    relevance, use = [[1.0, 0.99]], np.array([[-1.0, 1.0]])
    kept = rank_many(relevance, use_strength=use)
    assert kept.strength[0] == pytest.approx(math.log(1 / 0.99) / math.log(1.05 / 0.91))
    assert kept.order[0, 0] == 0
    wide = rank_many(relevance, use_strength=use, width=0.5, bounded=False)
    assert wide.multiplier.tolist() == [[0.5, 1.5]]
    assert wide.order[0, 0] == 1


def test_other_widths_take_the_place_of_the_usual_ones() -> None:
    assert nudge(0.5, 1.0) == 1.0 + NUDGE
    assert nudge(0.5, 1.0, width=0.15) == 1.15
    assert nudge(0.5, 0.0, 1.0, harm_width=0.2) == pytest.approx(0.8)
    assert nudge(0.5, 1.0, width=0.0) == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"relevance": [1.0]}, "table of questions"),
        ({"relevance": [[-1.0]]}, "0 or more"),
        ({"relevance": [[np.inf]]}, "finite"),
        ({"relevance": [[1.0]], "harm": np.array([[1.5]])}, "harm must lie"),
        ({"relevance": [[1.0]], "harm": np.array([1.0, 0.0])}, "harm has shape"),
        ({"relevance": [[1.0]], "top": 0}, "top must be"),
        ({"relevance": [[1.0]], "width": 1.0}, "nudges must lie"),
    ],
)
def test_wrong_input_is_refused_with_the_reason(arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rank_many(**arguments)
