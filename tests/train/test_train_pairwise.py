"""The convex fit equals an independent logistic regression on differences."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from train_cases import planted

from memvalue.train.pairwise import PairwiseLogistic, needed_minus_other


def test_the_fit_equals_sklearns_logistic_regression_on_mirrored_differences():
    X, y, g = planted(cases=8, memories=12)
    rng = np.random.default_rng(1)
    y = y ^ (rng.random(len(y)) < 0.1)  # noise, so that the data are not separable
    l2 = 0.05
    model = PairwiseLogistic(nonnegative=False, l2=l2).fit(X, y, groups=g)
    scale = X.std(axis=0, dtype=np.float64)
    gaps, weights = [], []
    for c in range(8):
        rows, flags = X[g == c].astype(np.float64), y[g == c]
        part = (rows[flags][:, None, :] - rows[~flags][None, :, :]).reshape(-1, 7) / scale
        gaps.append(part)
        weights.append(np.full(len(part), 1 / 8 / len(part)))
    gaps, weights = np.concatenate(gaps), np.concatenate(weights)
    # Each difference and its mirror image, so that both classes occur; half the weight each.
    reference = LogisticRegression(C=1 / l2, fit_intercept=False, tol=1e-10, max_iter=5000).fit(
        np.concatenate([gaps, -gaps]), np.repeat([1, 0], len(gaps)), sample_weight=np.tile(weights / 2, 2)
    )
    want = reference.coef_[0] / scale
    np.testing.assert_allclose(model.weights_, want / np.abs(want).sum(), atol=1e-4)


def test_every_case_weighs_the_same_whatever_its_number_of_pairs():
    X, y, g = planted(cases=3, memories=10)
    keep = ~((g == 0) & (np.arange(len(g)) % 2 == 0) & ~y)
    _, weight = needed_minus_other(X[keep], y[keep], g[keep], None, 10**6, np.random.default_rng(0))
    assert weight.sum() == pytest.approx(1)
    sizes = [(y & (g == c) & keep).sum() * (~y & (g == c) & keep).sum() for c in range(3)]
    for part in np.split(weight, np.cumsum(sizes)[:-1]):
        assert part.sum() == pytest.approx(1 / 3)


def test_sampled_pairs_are_pairs_and_come_from_the_generator():
    X, y, g = planted(cases=2, memories=40)
    full, _ = needed_minus_other(X, y, g, None, 10**6, np.random.default_rng(0))
    some, _ = needed_minus_other(X, y, g, None, 5, np.random.default_rng(0))
    again, _ = needed_minus_other(X, y, g, None, 5, np.random.default_rng(0))
    assert len(some) == 10
    assert {tuple(r) for r in some} <= {tuple(r) for r in full}
    np.testing.assert_array_equal(some, again)


def test_nonnegative_weights_find_the_planted_factors():
    X, y, g = planted()
    model = PairwiseLogistic().fit(X, y, groups=g)
    assert (model.weights_ >= 0).all()
    assert model.weights_.sum() == pytest.approx(1)
    assert model.weights_[[1, 3]].sum() > 0.9


def test_negative_weights_still_give_values_in_the_unit_interval():
    X, y, g = planted(weights=(0, 0.5, 0, 0, -0.5, 0, 0))
    model = PairwiseLogistic(nonnegative=False).fit(X, y, groups=g)
    assert model.weights_[4] < -0.2
    value = model.predict(X)
    assert value.min() >= 0 and value.max() <= 1


def test_uninformed_factors_keep_their_share_and_hopeless_ones_the_prior():
    X, y, g = planted(cases=10)
    model = PairwiseLogistic(informed=[False] + [True] * 6).fit(X, y, groups=g)
    assert model.weights_[0] == pytest.approx(1 / 7)
    worst = PairwiseLogistic(l2=0.0).fit(1 - X[:, [1, 3]], y, groups=g)
    np.testing.assert_allclose(worst.weights_, [0.5, 0.5])


@pytest.mark.parametrize("change", [{"l2": -1.0}, {"max_pairs": 0}, {"max_iter": 0}])
def test_parameters_out_of_range_are_named(change):
    X, y, g = planted(cases=3)
    with pytest.raises(ValueError, match=next(iter(change))):
        PairwiseLogistic(**change).fit(X, y, groups=g)


def test_cases_without_both_kinds_teach_nothing():
    with pytest.raises(ValueError, match="no case has both"):
        PairwiseLogistic().fit([[0.0], [1.0]], [True, False], groups=[0, 1])
    with pytest.raises(ValueError, match="case_weight"):
        PairwiseLogistic().fit([[0.0], [1.0]], [True, False], case_weight=[1, 2])
