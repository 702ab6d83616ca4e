"""The prior is learned from businesses, their sampling noise taken off."""

from dataclasses import replace

import numpy as np
import pytest
from factor_tables import planted_table

from memvalue.features.names import FACTORS
from memvalue.train.base_weights import BaseWeights
from memvalue.train.learn_spread import LEAST, learn_spread
from memvalue.train.recalibrate import Settings, prior_of
from memvalue.train.spread import Spread

BASE = BaseWeights(np.array([0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2]))


def businesses(count, apart, cases=24, noise=0.1):
    """Businesses that put weight on the first or on the second factor, ``apart`` from the base."""
    for seed in range(count):
        weights = BASE.weights.copy()
        weights[[0, 1]] = [0.2, 0.0] if seed % 2 else [0.0, 0.2]
        mixed = (1 - apart) * BASE.weights + apart * weights
        yield planted_table(cases=cases, memories=24, seed=seed, weights=mixed, noise=noise)


def test_what_differs_between_businesses_has_the_widest_spread():
    sharp = BaseWeights(np.array([0.5, 0.5, 0, 0, 0, 0, 0]))
    left, right = (0.9, 0.1, 0, 0, 0, 0, 0), (0.1, 0.9, 0, 0, 0, 0, 0)
    tables = [planted_table(cases=24, seed=s, weights=left if s % 2 else right) for s in range(8)]
    found = learn_spread(tables, sharp, kappas=(0.1,), sizes=(5,))
    assert found.deviation[:2] == pytest.approx(0.4, abs=0.12)
    assert found.deviation[2:].max() < 0.1
    assert found.businesses == 8
    # … and they differ in one direction: what one gains the other loses.
    first = found.directions[0]
    assert first[0] * first[1] < 0
    assert np.abs(first[:2]).min() > 0.5
    assert found.directions @ found.directions.T == pytest.approx(np.eye(len(found.directions)), abs=1e-9)


def test_noise_alone_is_not_taken_for_a_spread():
    # All want the same as the base; what their own fits differ by is sampling noise.
    tables = list(businesses(6, apart=0.0, noise=0.3))
    own = learn_spread(tables, BASE, kappas=(0.1,), sizes=(5,))
    assert own.deviation.mean() < 0.12
    assert (own.deviation >= LEAST).all()


def test_the_strength_is_chosen_by_what_is_kept_later():
    # Noisy labels around the base call for a strong pull, far businesses with clean labels for a weak one.
    near = learn_spread(list(businesses(4, 0.0, noise=0.6)), BASE, kappas=(0.0, 100.0), sizes=(5,))
    far = [planted_table(cases=30, seed=s, weights=np.eye(7)[s % 2]) for s in range(4)]
    assert near.kappa == 100.0
    assert learn_spread(far, BASE, kappas=(0.0, 100.0), sizes=(5,)).kappa == 0.0


def test_it_is_the_same_every_time():
    tables = list(businesses(3, 1.0))
    one, other = (learn_spread(tables, BASE, kappas=(0.1,), sizes=(5,)) for _ in range(2))
    assert np.array_equal(one.deviation, other.deviation)
    assert np.array_equal(one.directions, other.directions)


def test_businesses_with_too_few_cases_are_left_out():
    with pytest.raises(ValueError, match="needs two businesses with 20 cases or more; 1 of 2"):
        learn_spread([planted_table(cases=30), planted_table(cases=6)], BASE, kappas=(0.1,), sizes=(5,))


@pytest.mark.parametrize("logged", [True, False])
def test_the_shipped_priors_fit_the_shipped_factors(logged):
    shipped = Spread.default(logged=logged)
    assert len(shipped.deviation) == len(FACTORS)
    assert shipped.kappa > 0
    assert shipped.businesses > 0
    inner = shipped.directions @ shipped.directions.T
    assert inner == pytest.approx(np.eye(len(inner)), abs=1e-3)


def test_a_table_without_uses_is_pulled_harder():
    table = planted_table(cases=6)
    used = replace(table, uses=np.zeros(table.rows, dtype=np.float32))
    without, with_log = (prior_of(t, Settings()) for t in (table, used))
    assert without.kappa > with_log.kappa
    chosen = Spread.plain(np.ones(7), kappa=2.0)
    assert prior_of(used, Settings(spread=chosen)) is chosen


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((np.array([0.1, 0.0]), np.eye(2), 1.0), "deviation"),
        ((np.array([0.1, np.nan]), np.eye(2), 1.0), "deviation"),
        ((np.array([0.1, 0.1]), np.eye(3), 1.0), "directions"),
        ((np.array([0.1, 0.1]), np.eye(2), -1.0), "kappa"),
    ],
)
def test_a_prior_out_of_range_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Spread(*wrong)
