"""Values become probabilities and tiers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from memvalue.train.calibrate import Platt, platt, tier_edges


def test_platt_equals_sklearns_logistic_regression_on_smoothed_targets():
    rng = np.random.default_rng(0)
    values = rng.random(400)
    needed = rng.random(400) < 1 / (1 + np.exp(-(6 * values - 4)))
    curve = platt(values, needed)
    yes, no = needed.sum(), (~needed).sum()
    target = np.where(needed, (yes + 1) / (yes + 2), 1 / (no + 2))
    # A soft target is a yes of weight t beside a no of weight 1 − t.
    reference = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(
        np.tile(values, 2)[:, None],
        np.repeat([1, 0], 400),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    assert curve.slope == pytest.approx(reference.coef_[0, 0], rel=1e-4)
    assert curve.intercept == pytest.approx(reference.intercept_[0], rel=1e-4)
    np.testing.assert_allclose(curve(values), reference.predict_proba(values[:, None])[:, 1], atol=1e-5)
    # At its optimum the mean probability is the mean target.
    assert curve(values).mean() == pytest.approx(target.mean(), abs=1e-9)


def test_separated_and_rare_labels_converge():
    values = np.linspace(0, 1, 10_000)
    curve = platt(values, values > 0.95)
    assert np.isfinite([curve.slope, curve.intercept]).all()
    assert curve(1.0) > 0.5 > curve(0.9)


def test_values_that_mislead_or_never_vary_give_the_base_rate():
    values = np.linspace(0, 1, 100)
    for column in (1 - values, np.full(100, 0.3)):
        curve = platt(column, values > 0.8)
        assert curve.slope == 0
        assert curve(0.5) == pytest.approx(0.2, abs=0.02)


def test_extreme_values_do_not_overflow():
    np.testing.assert_allclose(Platt(1e6, 0.0)([-1, 0, 1]), [0, 0.5, 1])


@pytest.mark.parametrize(
    ("values", "needed", "message"),
    [
        ([0.1, np.nan], [True, False], "NaN"),
        ([0.1], [True, False], "one length"),
        ([0.1, 0.2], [True, True], "both"),
    ],
)
def test_calibration_names_bad_input(values, needed, message):
    with pytest.raises(ValueError, match=message):
        platt(values, needed)


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
