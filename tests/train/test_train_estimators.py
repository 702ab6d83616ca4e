"""The estimators keep scikit-learn's contract: all its checks pass."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from train_cases import planted

from memvalue.train.hillclimb import HillClimb
from memvalue.train.linear import LinearValueModel
from memvalue.train.mlp import MLPValueModel
from memvalue.train.pairwise import PairwiseLogistic

ESTIMATORS = [
    LinearValueModel(restarts=1, max_evaluations=40),
    PairwiseLogistic(),
    HillClimb(steps=5),
    MLPValueModel(hidden=(4, 4), restarts=1, epochs=1),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_clone_fits_alike(estimator):
    X, y, g = planted(cases=6, memories=12)
    first = clone(estimator).fit(X, y, groups=g).predict(X)
    second = clone(estimator).fit(X, y, groups=g).predict(X)
    assert first.tobytes() == second.tobytes()
    assert first.dtype == "float64"
    assert first.min() >= 0 and first.max() <= 1
