"""Links: proposed by similarity at low weight, strengthened by outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.serve.links import PROPOSED_WEIGHT, Links, propose_links

ROWS = np.array([[1, 0], [0.96, 0.28], [0, 1], [0.28, 0.96], [-1, 0], [0, 0]], np.float32)


def pairs(links: Links) -> set[tuple[int, int]]:
    return set(zip(links.a.tolist(), links.b.tolist(), strict=True))


def test_the_most_similar_above_the_threshold_are_proposed_at_low_weight() -> None:
    links = propose_links(ROWS, count=1, threshold=0.9)
    assert pairs(links) == {(0, 1), (2, 3)}
    assert links.weight.tolist() == [PROPOSED_WEIGHT, PROPOSED_WEIGHT]


def test_a_lower_threshold_and_a_larger_count_propose_more() -> None:
    assert pairs(propose_links(ROWS, count=2, threshold=0.5)) == {(0, 1), (1, 3), (2, 3)}
    assert len(propose_links(ROWS[:1])) == 0
    assert len(propose_links(np.zeros((0, 3)))) == 0


@given(st.integers(2, 60), st.integers(1, 6), st.floats(-1, 1), st.integers(0, 99))
def test_proposals_are_those_of_a_plain_search(n: int, count: int, threshold: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosine = rows @ rows.T
    expected = set()
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: -cosine[i, j])[:count]
        expected |= {(min(i, j), max(i, j)) for j in others if cosine[i, j] >= threshold}
    assert pairs(propose_links(rows, count=count, threshold=threshold)) == expected


def test_the_blocks_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    whole = propose_links(rows, threshold=0.2)
    monkeypatch.setattr("memvalue.serve.links._ROWS", 7)
    assert pairs(propose_links(rows, threshold=0.2)) == pairs(whole)


def test_outcomes_move_the_links_that_took_part() -> None:
    links = Links([0, 1, 2], [1, 2, 3], [0.1, 0.1, 0.1])
    helped = links.reinforce([0, 1], 1.0)
    assert helped.weight.tolist() == pytest.approx([0.1 + 0.1 * 0.9, 0.1, 0.1])
    assert helped.reinforce([0, 1], 0.0).weight[0] == pytest.approx(0.19 * 0.9)
    for _ in range(200):
        helped = helped.reinforce([0, 1], 1.0)
    assert helped.weight[0] == pytest.approx(1.0)
    np.testing.assert_array_equal(links.reinforce([0, 1, 2, 3], 0.7, rate=0.0).weight, links.weight)


def test_the_callers_own_links_come_before_proposals() -> None:
    own = Links([3, 0], [2, 4], [0.8, 0.5])
    merged = own.merge(propose_links(ROWS, count=1, threshold=0.9))
    weights = dict(zip(zip(merged.a.tolist(), merged.b.tolist(), strict=True), merged.weight, strict=True))
    assert weights == {(2, 3): 0.8, (0, 4): 0.5, (0, 1): PROPOSED_WEIGHT}


def test_the_best_neighbour_is_the_largest_weight_times_score() -> None:
    links = Links([0, 0], [1, 2], [1.0, 0.5])
    np.testing.assert_allclose(links.best_neighbour([0.2, 0.4, 1.0]), [0.5, 0.2, 0.1])
    np.testing.assert_array_equal(Links([], [], []).best_neighbour([1.0, 2.0]), [0.0, 0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Links([0], [0], [0.5]), "row 0 is linked to itself"),
        (lambda: Links([0, 1], [1, 0], [0.5, 0.5]), "linked twice"),
        (lambda: Links([0], [1], [1.5]), "weights in"),
        (lambda: Links([-1], [1], [0.5]), "rows of 0 or more"),
        (lambda: Links([0, 1], [1], [0.5]), "columns of shapes"),
        (lambda: Links([0], [5], [0.5]).best_neighbour([1.0]), "row 5, but there are 1"),
        (lambda: Links([0], [1], [0.5]).reinforce([0], 2.0), "signal and rate"),
        (lambda: propose_links([1.0, 2.0]), "table of finite numbers"),
        (lambda: propose_links([[np.nan]]), "finite"),
        (lambda: propose_links(ROWS, count=0), "count must be 1"),
    ],
)
def test_wrong_input_is_refused_with_the_reason(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
