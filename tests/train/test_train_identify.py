"""What the data pin down is told from what they leave open, and from what they only inherit."""

import json

import numpy as np
import pytest
import scipy.stats
from train_cases import planted

from memvalue.train import LinearValueModel, mean_retention, retention
from memvalue.train.identify import SHARES, USED, identify

NAMES = ("matters", "noise", "constant", "against")


@pytest.fixture(scope="module")
def table():
    """A factor that decides, one that says nothing, one that never varies, and one that speaks against."""
    X, needed, groups = planted(cases=40, weights=(1, 0, 0, -0.6, 0, 0, 0))
    X = X[:, :4].copy()
    X[:, 2] = 0.25
    return X, needed, groups


@pytest.fixture(scope="module")
def found(table):
    model = LinearValueModel((0.05, 0.1), max_evaluations=200, restarts=1)
    return identify(model, *table, refits=20, rng=3, names=NAMES)


def small(budgets=(0.1,), **settings):
    return LinearValueModel(budgets, max_evaluations=60, restarts=1, **settings)


class TestFlags:
    def test_what_decides_is_needed_and_used_by_every_refit(self, found):
        assert found.flags(0) == ("needed",)
        assert found.plausible[0, 0] > 0
        assert found.used[0] == found.positive[0] == 1.0
        assert found.low[0] > USED

    def test_noise_can_be_done_without(self, found):
        assert "free" in found.flags(1)
        assert found.plausible[1, 0] == 0.0

    def test_a_factor_that_never_varies_keeps_its_prior_and_says_so(self, found):
        assert found.flags(2) == ("prior",)
        assert not found.informed[2]
        assert found.weights[2] == pytest.approx(0.25)
        assert found.refits[:, 2] == pytest.approx(0.25)
        assert np.isnan(found.profile[2]).all()

    def test_a_weight_held_at_zero_by_its_sign_is_found_out(self, found):
        assert {"free", "unused", "negative"} <= set(found.flags(3))
        assert found.positive[3] == 0.0


class TestProfile:
    def test_with_two_factors_it_is_the_objective_itself(self, table):
        X, needed, groups = table
        two = X[:, :2]
        found = identify(small((0.05, 0.1)), two, needed, groups, refits=0, names=("a", "b"))
        offsets = np.arange(0, len(X) + 1, 40)
        for share, weight, kept in zip(SHARES, found.profile_weights[0], found.profile[0], strict=True):
            assert weight == pytest.approx(share)
            score = (two @ np.array([share, 1 - share], np.float32)).astype(np.float32)
            assert kept == pytest.approx(float(mean_retention(score, offsets, needed, (0.05, 0.1))), abs=1e-9)

    def test_the_loss_is_paired_over_cases(self, table):
        X, needed, groups = table
        two = X[:, :2]
        found = identify(small(), two, needed, groups, refits=0, shares=(0.0, 0.8), names=("a", "b"))
        offsets = np.arange(0, len(X) + 1, 40)

        def by_case(w):
            return retention((two @ np.array([w, 1 - w], np.float32)), offsets, needed, (0.1,))[:, 0]

        best = max((0.0, 0.2, 0.8, 1.0, float(found.weights[0])), key=lambda w: by_case(w).mean())
        gap = by_case(best) - by_case(0.0)
        assert found.loss[0, 0] == pytest.approx(gap.mean(), abs=1e-9)
        assert found.loss_se[0, 0] == pytest.approx(scipy.stats.sem(gap), abs=1e-9)

    def test_no_loss_is_negative_and_the_fit_is_plausible(self, found):
        assert np.nanmin(found.loss) >= 0
        inside = found.informed
        assert (found.plausible[inside, 0] <= found.weights[inside]).all()
        assert (found.plausible[inside, 1] >= found.weights[inside]).all()

    def test_shares_are_of_what_informed_factors_have(self, found):
        assert found.profile_weights[0] == pytest.approx(0.75 * np.array(SHARES))


class TestSettings:
    def test_the_model_that_is_passed_is_not_fitted(self, table):
        model = small()
        identify(model, *table, refits=1, shares=(0.0,), names=NAMES)
        assert not hasattr(model, "weights_")

    def test_equal_seeds_give_equal_results(self, table):
        one, two = (identify(small(), *table, refits=2, shares=(0.0,), rng=7, names=NAMES) for _ in range(2))
        assert one.to_dict() == two.to_dict()

    def test_rows_outside_the_mask_have_no_say(self, table):
        X, needed, groups = table
        mask = np.arange(len(X)) % 2 == 0
        one, two = (
            identify(small(), X, labels, groups, mask=mask, refits=2, shares=(0.0, 0.4), names=NAMES)
            for labels in (needed, np.where(mask, needed, ~needed))
        )
        assert one.to_dict() == two.to_dict()

    def test_a_role_offset_is_refitted_beside_every_fixed_weight(self, table):
        X, needed, groups = table
        machine = ~needed & (np.arange(len(X)) % 2 == 0)
        model = small(role_offset=True)
        found = identify(model, X, needed, groups, machine=machine, refits=2, shares=(0.0, 0.4), names=NAMES)
        assert found.objective > identify(small(), *table, refits=0, shares=(0.0,), names=NAMES).objective
        assert found.refits.shape == (2, 4)

    def test_progress_counts_profiles_and_refits(self, table):
        told = []
        identify(small(), *table, refits=2, shares=(0.0,), names=NAMES, progress=lambda *a: told.append(a))
        assert told[0] == (1, 5, "profile of matters")
        assert told[-1] == (5, 5, "bootstrap")

    def test_a_lone_factor_has_no_profile(self, table):
        X, needed, groups = table
        found = identify(small(), X[:, :1], needed, groups, refits=1, names=("only",))
        assert found.weights.tolist() == [1.0] and np.isnan(found.profile).all()

    def test_seven_factors_are_called_by_their_names(self):
        found = identify(small(), *planted(cases=6), refits=0, shares=(0.0,))
        assert found.names[4] == "task_utility"

    def test_the_record_is_plain(self, found):
        record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert set(record) == {"cases", "objective", "refits", "factors"}
        assert record["factors"]["matters"]["flags"] == ["needed"]
        assert len(record["factors"]["matters"]["profile"]) == len(SHARES)
        assert record["factors"]["constant"]["profile"] == []
        assert record["factors"]["constant"]["plausible"] is None

    @pytest.mark.parametrize("change", [{"shares": (1.0,)}, {"shares": ()}, {"refits": -1}])
    def test_shares_and_refits_out_of_range_are_refused(self, table, change):
        with pytest.raises(ValueError, match=r"shares must lie in \[0, 1\) and refits"):
            identify(small(), *table, **change, names=NAMES)

    def test_one_case_cannot_tell_chance(self):
        with pytest.raises(ValueError, match="two cases"):
            identify(small(), *planted(cases=1), refits=0)

    def test_names_must_fit(self, table):
        with pytest.raises(ValueError, match="2 names for 4 factors"):
            identify(small(), *table, refits=0, names=("a", "b"))
