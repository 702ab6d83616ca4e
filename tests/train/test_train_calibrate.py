"""Values become tiers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.train.calibrate import tier_edges


def test_tiers_take_their_shares():
    values = np.random.default_rng(0).permutation(1000) / 1000
    depth = np.searchsorted(tier_edges(values), values, side="right")
    np.testing.assert_allclose(np.bincount(depth) / 1000, [0.4, 0.3, 0.2, 0.1], atol=0.002)


@given(st.lists(st.integers(0, 5).map(lambda i: i / 5), min_size=1, max_size=50))
def test_with_ties_each_edge_comes_as_close_as_any(values):
    column = np.array(values, dtype=np.float32)
    edges = tier_edges(column)
    assert list(edges) == sorted(edges)
    for edge, want in zip(edges, (0.4, 0.7, 0.9), strict=True):
        possible = [(column < v).mean() for v in column] + [1.0]
        assert abs((column < np.float32(edge)).mean() - want) == pytest.approx(
            min(abs(p - want) for p in possible)
        )


def test_neighbouring_floats_are_told_apart():
    low = np.float32(0.5)
    high = np.nextafter(low, np.float32(1))
    edges = tier_edges([low, high], shares=(0.5, 0.5, 0, 0))
    assert low < np.float32(edges[0]) <= high


@pytest.mark.parametrize(
    ("values", "shares", "message"),
    [([], (0.25,) * 4, "non-empty"), ([np.inf], (0.25,) * 4, "finite"), ([0.1], (0.5, 0.5), "four")],
)
def test_tiers_name_bad_input(values, shares, message):
    with pytest.raises(ValueError, match=message):
        tier_edges(values, shares)
