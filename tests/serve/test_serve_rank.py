"""Nudges move what is close, never what is far, and nothing when they are neutral."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serve_models import held_out
from serve_stores import model

from memvalue.serve.rank import FULL_RANGE, cosine_relevance, fuse, nudge, rank
from memvalue.serve.rank_many import rank_many

UNIT = st.floats(0, 1, width=32)
RELEVANCE = st.lists(st.floats(0.125, 1, width=32), min_size=2, max_size=20)


def test_fusion_adds_reciprocal_ranks():
    names, scores = fuse([["a", "b", "c"], ["c", "a"]])
    assert names == ["a", "b", "c"]
    np.testing.assert_allclose(scores, [1 / 61 + 1 / 62, 1 / 62, 1 / 63 + 1 / 61])
    assert fuse([]) == ([], pytest.approx(np.array([])))
    with pytest.raises(ValueError, match="list 1 names a candidate twice"):
        fuse([["a"], ["b", "b"]])
    with pytest.raises(ValueError, match="k must be"):
        fuse([["a"]], k=0)


def test_cosine_is_that_of_the_query_cut_at_zero():
    rows = np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8], [0, 0]], np.float32)
    np.testing.assert_allclose(cosine_relevance([3, 0], rows), [1, 0, 0, 0.6, 0], atol=1e-7)
    np.testing.assert_array_equal(cosine_relevance([0, 0], rows), np.zeros(5))
    with pytest.raises(ValueError, match="does not fit"):
        cosine_relevance([1, 0, 0], rows)


def test_the_nudge_is_the_graphs_own():
    X, _ = held_out()
    rng = np.random.default_rng(0)
    use, harm = rng.random(400) * 2 - 1, rng.random(400)
    decided = model().decide(X, relevance=1.0, use_strength=use, harm=harm)
    np.testing.assert_allclose(nudge(decided.value, use, harm), decided.rank_score, rtol=1e-6)
    np.testing.assert_allclose(nudge(decided.value), model().decide(X).rank_score, rtol=1e-6)


@given(RELEVANCE)
def test_without_nudges_nothing_moves_by_a_bit(relevance):
    column = np.array(relevance, np.float32)
    n = len(column)
    neutral = {"values": np.full(n, 0.5), "use_strength": np.zeros(n), "harm": np.zeros(n)}
    for signals in ({}, neutral):
        found = rank(column, **signals)
        np.testing.assert_array_equal(found.score, column)
        np.testing.assert_array_equal(found.order, np.argsort(-column, kind="stable"))


@given(RELEVANCE, st.data())
def test_no_nudge_lifts_the_least_relevant_over_the_most(relevance, data):
    column = np.array(relevance)
    n = len(column)
    draw = lambda low: np.array(data.draw(st.lists(st.floats(low, 1), min_size=n, max_size=n)))  # noqa: E731
    found = rank(column, values=draw(0), use_strength=draw(-1), harm=draw(0))
    place = np.empty(n)
    place[found.order] = np.arange(n)
    most, least = column == column.max(), column == column.min()
    if not (most & least).any():
        assert place[least].min() > place[most].max()
    assert 0 <= found.strength <= 1
    assert found.multiplier.min() >= 0.91 - 1e-9 and found.multiplier.max() <= 1.05 + 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nor_do_the_strongest_nudges_with_all_their_rounding(dtype):
    rng = np.random.default_rng(0)
    for size in range(2, 13):
        for scores in (1 / (60 + np.arange(1, size + 1)), 1 - 1e-3 * rng.random(size), rng.random(size) + 1):
            column = np.sort(scores)[::-1].astype(dtype)
            last = np.arange(size) == size - 1  # everything for the last, everything against the others
            signals = {
                "values": last.astype(float), "use_strength": 2.0 * last - 1.0, "harm": 1.0 - last
            }  # fmt: skip
            assert rank(column, **signals).order[0] != size - 1
            table = {name: signal[None] for name, signal in signals.items()}
            assert rank_many(column[None], **table).order[0, 0] != size - 1


def test_twelve_fused_candidates_leave_nudges_their_full_size():
    _, scores = fuse([list(range(12))])
    found = rank(scores, values=np.linspace(0, 1, 12))
    assert found.spread == pytest.approx(72 / 61) and found.spread > FULL_RANGE
    assert found.strength == 1.0
    assert rank(np.array([1.0, 1.05]), values=np.array([1.0, 0.0])).strength == pytest.approx(
        np.log(1.05) / np.log(FULL_RANGE)
    )


def test_value_and_use_lift_and_harm_sinks_neighbours():
    _, scores = fuse([list(range(12))])
    third = np.arange(12) == 2
    assert rank(scores, values=np.where(third, 1.0, 0.5)).order.tolist()[:2] == [2, 0]
    assert rank(scores, use_strength=np.where(third, 1.0, 0.0)).order.tolist()[:2] == [2, 0]
    assert rank(scores, harm=np.where(third, 1.0, 0.0)).order.tolist().index(2) == 8  # 0.91/63 < 1/69


def test_equally_relevant_candidates_are_told_apart_by_their_signals():
    found = rank(np.ones(3), values=np.array([0.2, 0.9, 0.9]))
    assert found.order.tolist() == [1, 2, 0]
    np.testing.assert_array_equal(found.score, np.ones(3))


@given(RELEVANCE, st.integers(1, 25), st.data())
def test_the_first_places_are_those_of_the_whole(relevance, top, data):
    column = np.round(np.array(relevance), 1)
    values = np.round(np.array(data.draw(st.lists(UNIT, min_size=len(column), max_size=len(column)))), 1)
    whole, some = rank(column, values=values), rank(column, values=values, top=top)
    np.testing.assert_array_equal(some.order, whole.order[:top])
    assert len(some) == min(top, len(column))


def test_the_explanation_says_what_each_signal_moved():
    _, scores = fuse([list("abcd")])
    found = rank(scores, values=np.array([0.0, 1.0, 0.5, 0.5]), harm=np.array([0, 0, 0, 1.0]))
    told = list(found.explain())
    assert [t["row"] for t in told] == found.order.tolist()
    first = told[0]
    assert (first["row"], first["by_relevance"], first["moved"]) == (1, 2, 1)
    share = found.strength
    assert first["value"] == pytest.approx(1.05**share - 1)
    assert first["use"] == 0 and first["harm"] == 0
    hurt = next(t for t in told if t["row"] == 3)
    assert hurt["harm"] == pytest.approx(0.91**share - 1) and hurt["value"] == 0
    for t in told:
        assert t["score"] == pytest.approx(t["relevance"] * found.multiplier[t["row"]])


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"relevance": [-1.0, 1]}, "0 or more"),
        ({"relevance": [np.nan, 1]}, "finite"),
        ({"relevance": [[1.0]]}, "one column"),
        ({"values": [0.5]}, "values must be 2"),
        ({"values": [0.5, 1.5]}, "from 0 to 1"),
        ({"use_strength": [-2, 0]}, "from -1 to 1"),
        ({"harm": [np.nan, 0]}, "from 0 to 1"),
        ({"top": 0}, "top must be"),
    ],
)
def test_bad_input_is_named(given_, message):
    with pytest.raises(ValueError, match=message):
        rank(**{"relevance": [1.0, 0.5], **given_})


def test_no_candidate_and_one_are_fine():
    assert len(rank([])) == 0
    assert rank([0.0], values=[1.0]).order.tolist() == [0]
