"""elfmem's frames: what each weighs, with and without a question, with and without links."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.serve.frames import FRAMES, Frame, frame_scores, frame_states
from memvalue.serve.history import States
from memvalue.serve.links import Links

UNIT = st.floats(0, 1)


@st.composite
def columns(draw):
    n = draw(st.integers(1, 12))
    names = ("similarity", "utility", "retrievability", "importance")
    found = {c: np.array(draw(st.lists(UNIT, min_size=n, max_size=n))) for c in names}
    found["uncertainty"] = np.array(draw(st.lists(st.floats(0, 0.25), min_size=n, max_size=n)))
    return found


def test_the_presets_are_the_papers() -> None:
    assert {name: f.weights for name, f in FRAMES.items()} == {
        "self": (0.30, 0.10, 0.15, 0.40, 0.05),
        "attention": (0.55, 0.15, 0.20, 0.05, 0.05),
        "task": (0.40, 0.30, 0.15, 0.10, 0.05),
        "simulate": (0.45, 0.15, 0.20, 0.15, 0.05),
    }
    for frame in FRAMES.values():
        assert sum(frame.weights) == pytest.approx(1.0)


def test_a_score_worked_by_hand() -> None:
    """TASK: .4·.5 + .3·.6 + .15·.8 + .1·.2 + .05·√.04 = .2 + .18 + .12 + .02 + .01."""
    found = frame_scores(
        "task", similarity=[0.5], utility=[0.6], retrievability=[0.8], importance=[0.2], uncertainty=[0.04]
    )
    assert found.score[0] == pytest.approx(0.53)
    assert {k: round(float(v[0]), 12) for k, v in found.parts.items()} == {
        "similarity": 0.2, "utility": 0.18, "retrievability": 0.12, "importance": 0.02, "exploration": 0.01,
    }  # fmt: skip


def test_without_a_question_the_other_weights_take_over() -> None:
    """SELF: .10, .15, .40 and .05 grow by 1/.70."""
    weights = FRAMES["self"].queryless().weights
    assert weights == pytest.approx((0.0, 1 / 7, 3 / 14, 4 / 7, 1 / 14))
    found = frame_scores("self", utility=[0.7], retrievability=[0.7], importance=[0.7], uncertainty=[0.0])
    assert found.score[0] == pytest.approx(0.7 * 13 / 14)
    assert FRAMES["self"].queryless().queryless().weights == weights


@given(columns(), st.sampled_from(sorted(FRAMES)))
def test_the_parts_sum_to_the_score_and_a_preset_stays_below_one(given_columns, name: str) -> None:
    found = frame_scores(name, **given_columns)
    np.testing.assert_allclose(sum(found.parts.values()), found.score)
    assert (found.score >= 0).all() and (found.score <= 1 + 1e-12).all()
    assert (np.diff(found.score[found.order]) <= 0).all()


@given(columns())
def test_a_term_of_weight_zero_changes_no_bit(given_columns) -> None:
    plain = Frame(0.5, 0.2, 0.2, 0.1)
    bare = {k: v for k, v in given_columns.items() if k != "uncertainty"}
    n = len(bare["utility"])
    links = Links([0], [n - 1], [1.0]) if n > 1 else Links([], [], [])
    expected = frame_scores(plain, **bare)
    for found in (
        frame_scores(plain, **given_columns),
        frame_scores(plain, **bare, links=links),
        frame_scores(Frame(0.5, 0.2, 0.2, 0.1, graph=0.3), **bare),
        frame_scores(Frame(0.5, 0.2, 0.2, 0.1, graph=0.3), **bare, links=Links([], [], [])),
    ):
        np.testing.assert_array_equal(found.score, expected.score)
        np.testing.assert_array_equal(found.order, expected.order)


def test_exploration_lifts_what_little_is_known_of() -> None:
    """κ·√var: a new memory's var is 1/8 (Beta(½, ½)), one with a hundred outcomes has nearly none."""
    same = {"similarity": [0.5, 0.5], "utility": [0.5, 0.5], "retrievability": [1, 1], "importance": [0, 0]}
    found = frame_scores("attention", **same, uncertainty=[0.0025, 0.125])
    assert found.order.tolist() == [1, 0]
    assert found.score[1] - found.score[0] == pytest.approx(0.05 * (np.sqrt(0.125) - 0.05))
    assert frame_scores("attention", **same).order.tolist() == [0, 1]


def test_a_good_neighbour_pulls_up_and_the_best_one_counts() -> None:
    """Scores .9, .5, .1; row 2 hears .5·.9 = .45 and 1·.5 = .5, the larger; row 0 the .5·.1 = .05."""
    frame = Frame(1.0, 0.0, 0.0, 0.0, graph=0.2)
    column = {"utility": [0, 0, 0], "retrievability": [0, 0, 0], "importance": [0, 0, 0]}
    links = Links([0, 1], [2, 2], [0.5, 1.0])
    found = frame_scores(frame, similarity=[0.9, 0.5, 0.1], **column, links=links)
    np.testing.assert_allclose(found.parts["graph"], [0.2 * 0.05, 0.2 * 0.1, 0.2 * 0.5])
    np.testing.assert_allclose(found.score, [0.91, 0.52, 0.2])


def test_the_explanation_says_what_each_term_moved() -> None:
    found = frame_scores(
        Frame(0.5, 0.5, 0.0, 0.0), similarity=[0.9, 0.8, 0.1], utility=[0.0, 1.0, 0.2],
        retrievability=[0, 0, 0], importance=[0, 0, 0],
    )  # fmt: skip
    first, second, third = found.explain()
    assert [x["row"] for x in (first, second, third)] == [1, 0, 2]
    assert first["moved"]["utility"] == 1  # by similarity alone it would be second
    assert second["moved"]["utility"] == -1
    assert second["moved"]["similarity"] == 1
    assert third["moved"]["importance"] == 0
    assert first["score"] == pytest.approx(sum(first["parts"].values()))


def test_what_is_unknown_stands_in_the_middle() -> None:
    known = frame_scores("task", utility=[0.5], retrievability=[0.5], importance=[0.5])
    unknown = frame_scores("task", utility=[0.5], retrievability=[np.nan], importance=[np.nan])
    assert unknown.score[0] == known.score[0]


def test_states_of_a_log_are_scored_as_they_are() -> None:
    states = States()
    for name, importance in (("a", 0.9), ("b", 0.1)):
        states.apply_at(name, "written", 0.0, importance)
    for t in (24.0, 48.0):
        states.apply_at("b", "confirmed", t)
    found = frame_states(states, 72.0, "attention")
    a, b = (states.state(name, 72.0) for name in "ab")
    for i, s in enumerate((a, b)):
        expected = (
            0.15 * s.utility + 0.2 * s.retrievability + 0.05 * s.importance + 0.05 * s.utility_variance**0.5
        ) / 0.45
        assert found.score[i] == pytest.approx(expected)
    assert found.order.tolist() == [1, 0]
    asked = frame_states(states, 72.0, "self", rows=np.array([1]), similarity=[0.4])
    assert asked.parts["similarity"].tolist() == [pytest.approx(0.12)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Frame(-0.1, 0.5, 0.3, 0.3), "0 or more"),
        (lambda: Frame(0.0, 0.0, 0.0, 0.0), "not all 0"),
        (lambda: Frame(1.0, 0.0, 0.0, 0.0).queryless(), "similarity alone"),
        (lambda: frame_scores("dream", utility=[1], retrievability=[1], importance=[1]), "unknown frame"),
        (lambda: frame_scores("self", utility=[1, 1], retrievability=[1], importance=[1]), "retrievability"),
        (lambda: frame_scores("self", utility=[1.5], retrievability=[1], importance=[1]), "utility must lie"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_with_the_reason(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
