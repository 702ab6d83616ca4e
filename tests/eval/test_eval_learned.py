"""Learned policies fit a copy, see the training cases alone, and weigh the factors in the open."""

from dataclasses import replace

import numpy as np
import pytest
from eval_cases import random_bench
from scipy.stats import zscore

from memvalue.eval import Inapplicable
from memvalue.eval.learned import FactorModel, UniformStandardised


class Remembering:
    """An estimator that keeps what it was fitted on and predicts the first factor."""

    def fit(self, X, y, groups=None):
        self.seen = (X, y, groups)
        self.weights_ = np.eye(7)[0]
        return self

    def predict(self, X):
        return X[:, 0]


def policy():
    return FactorModel("mine", lambda train: Remembering())


class TestFactorModel:
    def test_fit_gives_a_fitted_copy_and_leaves_the_policy_alone(self):
        mine, bench = policy(), random_bench(3)
        fitted = mine.fit(bench)
        assert mine.estimator is None and mine.weights is None
        assert fitted.name == "mine" and fitted.learns
        assert fitted.weights.tolist() == [1, 0, 0, 0, 0, 0, 0]
        X, y, groups = fitted.estimator.seen
        assert X is bench.factors and y is bench.needed
        assert groups.tolist() == bench.case_of.tolist()

    def test_the_estimator_is_made_for_the_training_bench(self):
        made_for = []
        bench = random_bench(2)
        FactorModel("mine", lambda train: made_for.append(train) or Remembering()).fit(bench)
        assert made_for == [bench]

    def test_scores_are_the_predictions(self):
        bench = random_bench(2)
        scores = policy().fit(bench).score(bench.blind())
        assert scores.dtype == np.float64
        assert np.array_equal(scores, bench.factors[:, 0].astype(np.float64))

    def test_scoring_before_fitting_says_so(self):
        with pytest.raises(ValueError, match="'mine' is not fitted"):
            policy().score(random_bench(1).blind())

    @pytest.mark.parametrize(("value", "which"), [(False, "none is"), (True, "all are")])
    def test_labels_of_one_kind_are_refused(self, value, which):
        bench = random_bench(2)
        bench = replace(bench, needed=np.full(len(bench), value))
        with pytest.raises(Inapplicable, match=f"40 training memories {which} labelled needed"):
            policy().fit(bench)

    def test_a_model_without_weights_has_none(self):
        fitted = policy().fit(random_bench(2))
        del fitted.estimator.weights_
        assert fitted.weights is None


class TestUniformStandardised:
    def test_ranks_like_the_sum_of_z_scores(self):
        bench = random_bench(3)
        fitted = UniformStandardised().fit(bench)
        expected = zscore(bench.factors.astype(np.float64), axis=0).sum(axis=1)
        got = fitted.score(bench.blind())
        assert np.corrcoef(got, expected)[0, 1] == pytest.approx(1.0, abs=1e-9)

    def test_the_spread_is_that_of_training(self):
        train, test = random_bench(3, seed=1), random_bench(3, seed=2)
        fitted = UniformStandardised().fit(train)
        spread = train.factors.std(axis=0, dtype=np.float64)
        assert np.allclose(fitted.weights, (1 / spread) / (1 / spread).sum())
        assert np.allclose(fitted.score(test.blind()), test.factors @ fitted.weights)

    def test_a_constant_factor_counts_nothing(self):
        bench = random_bench(2)
        factors = bench.factors.copy()
        factors[:, 2] = 0.4
        fitted = UniformStandardised().fit(replace(bench, factors=factors))
        assert fitted.weights[2] == 0
        assert fitted.weights.sum() == pytest.approx(1)

    def test_nothing_but_constants_still_gives_a_score(self):
        bench = random_bench(2)
        flat = replace(bench, factors=np.full_like(bench.factors, 0.5))
        assert np.ptp(UniformStandardised().fit(flat).score(flat.blind())) == 0

    def test_scoring_before_fitting_says_so(self):
        with pytest.raises(ValueError, match="'uniform_standardised' is not fitted"):
            UniformStandardised().score(random_bench(1).blind())
