"""From a table to the model that stays."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from factor_tables import planted_table, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

from memvalue.train.base_weights import BaseWeights
from memvalue.train.objective import mean_retention
from memvalue.train.recalibrate import (
    Settings,
    case_weights,
    fit_fold,
    kept_by_case,
    plan,
    recalibrate,
    settle,
)
from memvalue.train.spread import Spread

BASE = BaseWeights(np.array([0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2]))
QUICK = Settings(max_evaluations=60, spread=Spread.plain(np.full(7, 0.2), kappa=0.1))


def test_a_business_that_differs_gets_its_own_weights():
    settled = recalibrate(planted_table(cases=60), BASE, settings=QUICK)
    assert settled.decision == "promote"
    assert settled.weights.weights[[1, 3]].sum() > 0.5
    assert settled.verdict.gain > 0.1
    assert settled.fold_gain > 0.1
    assert (settled.cases_fit, settled.cases_held_out) == (42, 18)
    low, high = settled.intervals.T
    assert (low <= settled.candidate.weights).all()
    assert (settled.candidate.weights <= high).all()


def test_a_business_that_the_base_suits_keeps_it():
    settled = recalibrate(planted_table(cases=40, weights=BASE.weights, noise=0.02), BASE, settings=QUICK)
    assert settled.decision == "keep-base"
    assert np.array_equal(settled.weights.weights, BASE.weights)


@pytest.mark.parametrize("cases", [0, 1, 2, 5, 8])
def test_too_little_evidence_keeps_the_base_and_says_so(cases):
    table = planted_table(cases=cases) if cases else table_of(np.zeros((0, 7)), [], [0])
    settled = recalibrate(table, BASE, settings=QUICK)
    assert settled.decision == "keep-base"
    assert settled.verdict.reasons
    json.dumps(settled.to_dict(), allow_nan=False)


def test_a_log_without_any_need_keeps_the_base():
    table = planted_table(cases=12)
    settled = recalibrate(replace(table, needed=np.zeros(table.rows, bool)), BASE, settings=QUICK)
    assert settled.decision == "keep-base"
    assert "12 cases in which nothing or everything was needed" in settled.notes[0]


def test_a_business_of_one_memory_keeps_the_base():
    n = 30
    table = table_of(np.full((n, 7), 0.5), np.ones(n, bool), np.arange(n + 1))
    assert recalibrate(table, BASE, settings=QUICK).decision == "keep-base"


def test_what_is_in_use_stays_when_it_is_as_good_as_a_new_fit():
    table = planted_table(cases=60)
    current = BaseWeights(np.array([0, 0.5, 0, 0.5, 0, 0, 0]))
    settled = recalibrate(table, BASE, current, QUICK)
    assert settled.decision == "keep-current"
    assert settled.weights is current


def test_a_current_model_that_does_harm_goes():
    table = planted_table(cases=60, weights=BASE.weights, noise=0.02)
    current = BaseWeights(np.array([1.0, 0, 0, 0, 0, 0, 0]))
    settled = recalibrate(table, BASE, current, QUICK)
    assert settled.decision == "keep-base"
    assert settled.weights is BASE


def test_units_in_any_order_and_through_pickle_give_what_one_process_gives():
    table = planted_table(cases=40)
    made = plan(table)
    units = [pickle.loads(pickle.dumps(fit_fold(table, made, f, BASE, QUICK))) for f in (2, 0, 1)]
    apart = settle(table, pickle.loads(pickle.dumps(made)), units, BASE, QUICK)
    together = recalibrate(table, BASE, settings=QUICK)
    assert apart.to_dict() == together.to_dict()
    assert max(len(pickle.dumps(u)) for u in units) < 5000


def test_a_fold_judges_only_later_cases_by_the_exact_measure():
    table = planted_table(cases=40)
    made = plan(table)
    found = fit_fold(table, made, 1, BASE, QUICK)
    part = table.take(made.folds[1].judge)
    expected = mean_retention(BASE.value(part.factors), part.offsets, part.needed, QUICK.budgets)
    assert found.base.mean() == pytest.approx(float(expected))
    assert found.kept.shape == (len(part),)
    with pytest.raises(ValueError, match="no fold 3"):
        fit_fold(table, made, 3, BASE, QUICK)


def test_later_cases_change_nothing_about_an_earlier_fold():
    table = planted_table(cases=40)
    made = plan(table)
    other = replace(table, needed=table.needed.copy(), factors=table.factors.copy())
    rows = slice(int(table.offsets[made.folds[0].judge[0]]), None)
    other.needed[rows] = ~other.needed[rows]
    other.factors[rows] = 1 - other.factors[rows]
    one, two = (fit_fold(t, made, 0, BASE, QUICK) for t in (table, other))
    assert np.array_equal(one.weights, two.weights)


def test_held_out_cases_change_nothing_about_the_candidate():
    table = planted_table(cases=40)
    other = replace(table, needed=table.needed.copy())
    rows = slice(int(table.offsets[plan(table).held_out[0]]), None)
    other.needed[rows] = np.roll(other.needed[rows], 1)
    one, two = (recalibrate(t, BASE, settings=QUICK) for t in (table, other))
    assert np.array_equal(one.candidate.weights, two.candidate.weights)


def test_recent_cases_weigh_more():
    times = np.array(["2024-01-01", "2024-06-29", "2024-12-26"], dtype="datetime64[s]")
    assert case_weights(times, 180.0).tolist() == [0.25, 0.5, 1.0]
    assert (case_weights(times, 1e-3) > 0).all()


def test_a_business_that_changed_is_fitted_on_what_it_is_now():
    before = planted_table(cases=60, weights=(1, 0, 0, 0, 0, 0, 0))
    after = planted_table(cases=60, weights=(0, 1, 0, 0, 0, 0, 0), seed=1)
    mixed = table_of(
        np.concatenate([before.factors, after.factors]),
        np.concatenate([before.needed, after.needed]),
        np.concatenate([before.offsets, after.offsets[1:] + before.rows]),
    )

    def first(days):
        return recalibrate(mixed, BASE, settings=replace(QUICK, half_life_days=days)).candidate.weights[0]

    assert first(30.0) < 0.1 < first(1e6)


def test_a_log_that_looks_wrong_moves_weights_less_and_needs_more():
    careful = QUICK.cautious()
    assert careful.trust < QUICK.trust
    assert careful.confidence > QUICK.confidence
    settled = recalibrate(planted_table(cases=60), BASE, settings=careful)
    reach = careful.trust * QUICK.spread.deviation
    assert (np.abs(settled.candidate.weights - BASE.weights) <= reach + 1e-9).all()


def test_overlapping_cases_are_told_to_the_gate():
    table = planted_table(cases=60, every_days=1, horizon_days=4)
    settled = recalibrate(table, BASE, settings=QUICK)
    assert settled.verdict.comparisons["candidate-base"].block == 4
    assert any("were left out" in note for note in settled.notes)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(5, 25), st.floats(0.0, 3.0))
def test_whatever_is_promoted_is_better_on_the_held_out_cases(seed, cases, noise):
    table = planted_table(cases=cases, memories=12, seed=seed, noise=noise)
    settled = recalibrate(table, BASE, settings=replace(QUICK, folds=1, max_evaluations=24))
    late = plan(table).held_out
    kept = kept_by_case(table, late, [settled.weights, BASE], QUICK.budgets).mean(axis=1)
    assert kept[0] > kept[1] if settled.decision == "promote" else kept[0] == kept[1]


def test_tables_of_other_factors_are_refused():
    table = planted_table(cases=20)
    other = BaseWeights(np.ones(2), names=("a", "b"))
    with pytest.raises(ValueError, match="extract the table under"):
        recalibrate(table, other)
    with pytest.raises(ValueError, match="extract the table under"):
        recalibrate(table, BASE, other)


@pytest.mark.parametrize("wrong", [{"half_life_days": 0.0}, {"strength": -1.0}, {"max_evaluations": 0}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Settings(**wrong)
