"""The bootstrap equals scipy's and Holm's correction a case worked by hand."""

import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from memvalue.eval.statistics import Resampling, holm, mean_without_nan


class TestBootstrap:
    def test_a_paired_comparison_equals_scipys_bca_with_the_same_draws(self):
        rng = np.random.default_rng(3)
        a, b = rng.beta(4, 2, 60), rng.beta(3, 2, 60)
        theirs = stats.bootstrap(
            (a, b),
            lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
            paired=True,
            vectorized=True,
            method="BCa",
            n_resamples=999,
            rng=np.random.default_rng(8),
        ).confidence_interval
        ours = Resampling(60, np.random.default_rng(8), 999).bca(a - b)
        assert [ours.low[0], ours.high[0]] == pytest.approx([theirs.low, theirs.high], abs=1e-12)

    def test_a_weighted_mean_equals_scipys_bca_of_the_ratio(self):
        rng = np.random.default_rng(4)
        values, weights = rng.random(40), rng.integers(1, 6, 40).astype(float)

        def ratio(v, w, axis):
            return np.sum(v * w, axis=axis) / np.sum(w, axis=axis)

        theirs = stats.bootstrap(
            (values, weights), ratio, paired=True, method="BCa", n_resamples=999, rng=np.random.default_rng(1)
        ).confidence_interval
        ours = Resampling(40, np.random.default_rng(1), 999).bca(values, weights)
        assert [ours.low[0], ours.high[0]] == pytest.approx([theirs.low, theirs.high], abs=1e-12)

    def test_many_columns_give_what_each_gives_alone(self):
        rng = np.random.default_rng(0)
        table = rng.normal(0.1, 1, (30, 130))
        draws = Resampling(30, np.random.default_rng(2), 199)
        together = draws.bca(table)
        for k in (0, 63, 64, 129):
            alone = draws.bca(table[:, k])
            assert together.low[k] == pytest.approx(alone.low[0], abs=1e-12)
            assert together.p[k] == pytest.approx(alone.p[0], abs=1e-12)

    def test_p_is_below_five_percent_exactly_when_the_interval_leaves_out_zero(self):
        rng = np.random.default_rng(5)
        table = rng.normal(0, 1, (50, 200)) + np.linspace(-0.6, 0.6, 200)
        found = Resampling(50, np.random.default_rng(6), 1999).bca(table)
        leaves_out = (found.low > 0) | (found.high < 0)
        clear = np.abs(found.p - 0.05) > 0.005  # the p-value counts one extra resample a side
        assert (leaves_out == (found.p < 0.05))[clear].all()
        assert clear.sum() > 150

    def test_p_is_near_the_t_tests_for_well_behaved_differences(self):
        x = np.random.default_rng(7).normal(0.25, 1, 100)
        ours = Resampling(100, np.random.default_rng(0), 9999).bca(x).p[0]
        assert ours == pytest.approx(stats.ttest_1samp(x, 0).pvalue, abs=0.01)

    def test_differences_that_are_all_alike_have_no_width(self):
        found = Resampling(12, np.random.default_rng(0), 99).bca(
            np.column_stack([np.zeros(12), np.full(12, 0.2)])
        )
        assert found.low.tolist() == pytest.approx([0.0, 0.2])
        assert found.high.tolist() == pytest.approx([0.0, 0.2])
        assert found.p[0] == 1.0
        assert found.p[1] == pytest.approx(2 / 100)

    def test_a_single_case_has_a_value_and_no_interval(self):
        found = Resampling(1, np.random.default_rng(0), 99).bca([0.5])
        assert found.value[0] == 0.5
        assert np.isnan([found.low[0], found.high[0], found.p[0]]).all()

    def test_two_cases_cannot_be_significant(self):
        # Two paired differences have four signings, so the sign-flip test never falls below 1/2.
        assert Resampling(2, np.random.default_rng(0), 999).bca([0.4, 0.5]).p[0] == 0.5

    @pytest.mark.parametrize(
        ("values", "says"), [([0.1, np.nan], "finite"), ([0.1, 0.2, 0.3], "expected 2 rows")]
    )
    def test_unusable_values_are_refused(self, values, says):
        with pytest.raises(ValueError, match=says):
            Resampling(2, np.random.default_rng(0), 9).bca(values)

    def test_weights_that_are_not_positive_are_refused(self):
        with pytest.raises(ValueError, match="positive"):
            Resampling(2, np.random.default_rng(0), 9).bca([0.1, 0.2], [1.0, 0.0])

    @given(st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), min_size=2, max_size=30))
    def test_any_retentions_give_an_ordered_interval_within_their_range(self, values):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = Resampling(len(values), np.random.default_rng(0), 99).bca(values)
        assert min(values) - 1e-9 <= found.low[0] <= found.high[0] <= max(values) + 1e-9
        assert 0 < found.p[0] <= 1

    def test_it_covers_the_truth_about_as_often_as_it_says(self):
        rng = np.random.default_rng(11)
        hits = 0
        for i in range(400):
            x = rng.beta(2, 1, 60)
            found = Resampling(60, np.random.default_rng(i), 999).bca(x)
            hits += found.low[0] <= 2 / 3 <= found.high[0]
        assert 0.91 <= hits / 400 <= 0.98

    @pytest.mark.slow
    def test_the_resamples_of_479_cases_take_a_fraction_of_a_second(self):
        x = np.random.default_rng(0).random(479)
        start = time.process_time()
        Resampling(479, np.random.default_rng(0)).bca(x)
        assert time.process_time() - start < 0.6  # 0.15 s where measured; room for a loaded machine


class TestHolm:
    def test_a_case_worked_by_hand(self):
        # Sorted .005 .01 .03 .04 times 4 3 2 1 = .02 .03 .06 .04, made non-decreasing: .02 .03 .06 .06.
        assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])

    def test_it_never_exceeds_one(self):
        assert holm([0.6, 0.9]).tolist() == [1.0, 1.0]

    def test_comparisons_that_were_not_made_do_not_count(self):
        adjusted = holm([0.02, np.nan, 0.5])
        assert adjusted[0] == pytest.approx(0.04)
        assert np.isnan(adjusted[1])

    def test_none_at_all(self):
        assert holm([]).shape == (0,)

    def test_what_is_no_probability_is_refused(self):
        with pytest.raises(ValueError, match=r"\[0, 1\]"):
            holm([0.2, 1.5])

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
    def test_it_keeps_order_and_lies_between_raw_and_bonferroni(self, p):
        adjusted = holm(p)
        raw = np.array(p)
        assert (adjusted >= raw - 1e-12).all()
        assert (adjusted <= np.minimum(1, raw * len(p)) + 1e-12).all()
        assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0).all()


class TestMean:
    def test_gaps_are_left_out(self):
        assert mean_without_nan(np.array([[1.0, np.nan], [3.0, np.nan]]), 0).tolist()[0] == 2.0

    def test_nothing_at_all_is_undefined_without_a_warning(self):
        assert np.isnan(mean_without_nan(np.array([[1.0, np.nan], [3.0, np.nan]]), 0)[1])

    def test_weights_count(self):
        assert mean_without_nan(np.array([1.0, 0.0, np.nan]), 0, np.array([3.0, 1.0, 9.0])) == 0.75
