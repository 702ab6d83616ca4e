"""The fit stays near the base, and moves as far as the evidence carries."""

from itertools import pairwise

import numpy as np
import pytest
from factor_tables import planted_table
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from memvalue.train.base_weights import BaseWeights
from memvalue.train.shrunken import ShrunkenLinear, tier_of, within
from memvalue.train.spread import Spread

BASE = BaseWeights(np.array([0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2]))
WIDE = Spread.plain(np.full(7, 0.2), kappa=0.1)


def fitted(table, base=BASE, **options):
    model = ShrunkenLinear(base, **({"spread": WIDE, "max_evaluations": 120} | options))
    machine = table.machine if base.offset else None
    return model.fit(table.factors, table.needed, table.case_of, machine=machine)


def distance(weights):
    return float((((weights - BASE.weights) / WIDE.deviation) ** 2).sum())


def test_with_many_cases_it_finds_what_the_business_needs():
    model = fitted(planted_table(cases=80), tier="all")
    assert model.weights_[[1, 3]].sum() > 0.7
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.objective_ > 0.6


def test_with_hardly_any_case_it_is_the_base():
    model = fitted(planted_table(cases=2))
    assert model.tier_ == "keep"
    assert np.array_equal(model.weights_, BASE.weights)
    assert model.n_evaluations_ == 0


def test_a_penalty_beyond_all_evidence_is_the_base():
    model = fitted(planted_table(cases=30), tier="all", strength=1e9)
    assert model.weights_ == pytest.approx(BASE.weights, abs=1e-4)


def test_the_stronger_the_penalty_the_nearer_the_base():
    table = planted_table(cases=20, noise=0.3)
    found = [distance(fitted(table, tier="all", strength=k).weights_) for k in (0.0, 1.0, 10.0, 100.0)]
    # The search is by chance, so neighbours may differ by a little.
    assert all(b <= a + 0.1 for a, b in pairwise(found))
    assert found[-1] < 0.2 * found[0]


def test_the_fit_is_no_worse_than_the_base_by_its_own_measure():
    for seed in range(5):
        table = planted_table(cases=10, seed=seed, noise=2.0)
        model = fitted(table, tier="all", max_evaluations=24)
        pull = 0.5 * WIDE.kappa / 10 * distance(model.weights_)
        base = ShrunkenLinear(BASE, spread=WIDE, tier="keep")
        start = base.fit(table.factors, table.needed, table.case_of).objective_
        assert model.objective_ - pull >= start - 1e-12


def test_uninformed_factors_keep_exactly_their_share():
    table = planted_table(cases=30)
    X = table.factors.copy()
    X[:, 6] = 0.25
    informed = np.array([True, True, True, True, True, False, True])
    model = ShrunkenLinear(BASE, spread=WIDE, tier="all", informed=informed, max_evaluations=120)
    model.fit(X, table.needed, table.case_of)
    assert model.weights_[5] == BASE.weights[5]
    assert model.weights_[6] == BASE.weights[6]
    assert model.informed_.tolist() == [True, True, True, True, True, False, False]
    assert not np.allclose(model.weights_, BASE.weights)


def test_the_trust_region_holds_in_every_tier():
    table = planted_table(cases=60)
    for tier in ("directions", "all"):
        model = fitted(table, tier=tier, trust=0.3, strength=0.0)
        assert (np.abs(model.weights_ - BASE.weights) <= 0.3 * WIDE.deviation + 1e-9).all()
    assert np.array_equal(fitted(table, trust=0.0).weights_, BASE.weights)


def test_directions_move_along_the_directions_only():
    axis = np.zeros((1, 7))
    axis[0, [1, 5]] = [np.sqrt(0.5), -np.sqrt(0.5)]
    spread = Spread(np.full(7, 0.1), axis, 0.01)
    moved = (
        fitted(planted_table(cases=40), spread=spread, trust=1.0, tier="directions").weights_ - BASE.weights
    )
    assert moved[1] > 0.05
    assert moved[5] == pytest.approx(-moved[1], abs=1e-6)
    assert np.delete(moved, [1, 5]) == pytest.approx(0.0, abs=1e-6)


def test_the_machine_offset_stays_as_the_base_has_it():
    table = planted_table(cases=30)
    table.machine[::2] = True
    base = BaseWeights(BASE.weights, offset=-0.2)
    model = fitted(table, base, tier="all")
    assert model.offset_ == -0.2
    moved = BaseWeights(model.weights_, -0.2)
    expected = moved.value(table.factors, table.machine)
    assert np.array_equal(model.predict(table.factors, table.machine), expected)
    with pytest.raises(ValueError, match="machine"):
        model.predict(table.factors)


def test_weights_of_cases_decide_how_many_they_are():
    table = planted_table(cases=10)
    model = ShrunkenLinear(BASE, spread=WIDE, max_evaluations=24)
    model.fit(table.factors, table.needed, table.case_of, case_weight=[1.0] * 5 + [1e-9] * 5)
    assert model.n_eff_ == pytest.approx(5.0, abs=0.01)


def test_the_same_seed_gives_the_same_bits():
    table = planted_table(cases=20)
    one, other = (fitted(table, random_state=3) for _ in range(2))
    assert np.array_equal(one.weights_, other.weights_)


def test_tiers_rise_with_the_evidence():
    tiers = [tier_of(n) for n in (0, 2, 10, 1000)]
    assert tiers[0] == "keep"
    assert tiers[-1] == "all"
    order = ["keep", "directions", "all"]
    assert [order.index(t) for t in tiers] == sorted(order.index(t) for t in tiers)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.05, 5.0))
def test_the_nearest_allowed_weights_are_those_of_a_general_solver(seed, trust):
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.ones(5))
    s = rng.uniform(0.02, 0.3, 5)
    informed = rng.random(5) < 0.8
    informed[:2] = True
    asked = base + 0.3 * rng.standard_normal(5)
    found = within(asked[None, :], base, s, trust, informed)[0]
    assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert (found >= 0).all()
    assert (np.abs(found - base) <= trust * s + 1e-9).all()
    assert np.array_equal(found[~informed], base[~informed])
    free = np.flatnonzero(informed)

    def far(v):
        return float((((v - asked[free]) / s[free]) ** 2).sum())

    reference = minimize(
        far, base[free], method="SLSQP",
        bounds=[(max(0.0, base[i] - trust * s[i]), base[i] + trust * s[i]) for i in free],
        constraints={"type": "eq", "fun": lambda v: v.sum() - base[free].sum()},
        options={"ftol": 1e-12, "maxiter": 300},
    )  # fmt: skip
    assert far(found[free]) <= reference.fun + 1e-5 * (1.0 + reference.fun)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": -1.0}, "strength"),
        ({"trust": np.nan}, "trust"),
        ({"tier": "some"}, "unknown tier"),
        ({"spread": Spread.plain(np.ones(3), kappa=1.0)}, "spread is of 3 factors"),
        ({"budgets": (0.0,)}, "budget"),
    ],
)
def test_wrong_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(planted_table(cases=6), **options)


@pytest.mark.parametrize("weights", [np.zeros(7), -np.ones(7), np.ones(6), np.full(7, np.nan)])
def test_a_base_must_lie_on_the_simplex(weights):
    with pytest.raises(ValueError, match="prior must be 7 finite weights"):
        BaseWeights(weights)


def test_a_base_comes_from_a_linear_model_file_only():
    metadata = {"kind": "linear", "factors": ["a", "b"], "weights": {"a": {"weight": 3}, "b": {"weight": 1}}}
    base = BaseWeights.from_metadata(metadata | {"machine_offset": -0.4})
    assert base.weights.tolist() == [0.75, 0.25]
    assert base.offset == -0.1
    with pytest.raises(ValueError, match="linear base model"):
        BaseWeights.from_metadata({"kind": "mlp"})
    with pytest.raises(ValueError, match="weight of b is negative"):
        BaseWeights.from_metadata(metadata | {"weights": {"a": {"weight": 3}, "b": {"weight": -1}}})
