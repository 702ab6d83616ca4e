"""An explanation adds up, and the change it names does turn the decision."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve_models import WEIGHTS, held_out
from serve_stores import model

from memvalue.features.names import FACTORS
from memvalue.serve.explain import explain, near_misses

ROW = st.lists(st.floats(0, 1, width=32), min_size=7, max_size=7)


def test_linear_contributions_are_weight_times_distance_from_the_mean():
    row = np.array([0.9, 0.1, 0.5, 0.3, 0.7, 0.2, 1.0])
    mean = held_out()[0].mean(axis=0)
    found = explain(model(), row)
    np.testing.assert_allclose(list(found.contributions.values()), WEIGHTS * (row - mean), atol=2e-6)
    assert found.baseline == pytest.approx(WEIGHTS @ mean, abs=1e-5)
    assert found.cut is None and found.margin is None and found.kept is None and found.flip is None


@settings(max_examples=25)
@given(ROW, st.sampled_from(["linear", "offset", "mlp"]), st.booleans())
def test_the_parts_add_up_to_the_value(row, kind, machine):
    found = explain(model(kind), row, machine=machine)
    total = found.baseline + found.role + sum(found.contributions.values())
    assert total == pytest.approx(found.value, abs=1e-5)
    assert found.value == model(kind).value(row, machine=machine)[0]
    assert machine or found.role == 0


def test_a_networks_contributions_are_shapley_values():
    net, rng = model("mlp"), np.random.default_rng(0)
    row, mean = rng.random(7).astype(np.float32), net.reference_mean

    def value(present):
        return float(net.value(np.where(np.isin(np.arange(7), present), row, mean))[0])

    want = np.zeros(7)
    for i in range(7):
        rest = [j for j in range(7) if j != i]
        for size in range(7):
            for team in combinations(rest, size):
                weight = factorial(size) * factorial(6 - size) / factorial(7)
                want[i] += weight * (value([*team, i]) - value(list(team)))
    np.testing.assert_allclose(list(explain(net, row).contributions.values()), want, atol=1e-5)


def test_a_machines_offset_is_told_apart_from_the_factors():
    found = explain(model("offset"), np.full(7, 0.5), machine=True)
    assert found.role < 0
    assert "said by a machine" in str(found)


@settings(max_examples=40)
@given(ROW, st.floats(0.05, 0.95), st.sampled_from(["linear", "mlp"]))
def test_every_flip_turns_the_decision_and_a_little_less_does_not(row, cut, kind):
    chosen = model(kind)
    found = explain(chosen, row, cut=cut)
    assert found.kept == (found.margin >= 0)
    changes = [abs(f.change) for f in found.flips]
    assert changes == sorted(changes)
    for flip in found.flips:
        assert 0 <= flip.to <= 1
        turned = np.array(row, np.float32)
        turned[FACTORS.index(flip.factor)] = flip.to
        assert (chosen.value(turned)[0] >= cut) != found.kept
        if abs(flip.change) > 1e-3:
            turned[FACTORS.index(flip.factor)] = np.float32(flip.to - 1e-3 * np.sign(flip.change))
            assert (chosen.value(turned)[0] >= cut) == found.kept


def test_the_smallest_flip_of_a_linear_model_is_by_its_largest_weight():
    row = np.full(7, 0.5)
    found = explain(model(), row, cut=0.52)
    assert not found.kept
    assert found.flip.factor == "usage_history"
    assert found.flip.change == pytest.approx(0.02 / 0.28, abs=1e-4)
    assert "would turn with usage_history +0.071" in str(found)


def test_what_no_single_factor_can_turn_says_so():
    found = explain(model(), np.zeros(7), cut=0.9)
    assert found.flip is None
    assert "no single factor" in str(found)


def test_the_cut_may_come_from_a_store_and_a_budget():
    X, _ = held_out()
    values = model().value(X)
    found = explain(model(), X[0], among=values, budget="10%")
    assert found.cut == pytest.approx(np.sort(values)[-40])
    assert set(found.as_dict()) == {
        "value", "baseline", "contributions", "role", "factors", "reference", "cut", "margin", "kept",
        "flips",
    }  # fmt: skip


def test_near_misses_are_the_closest_below_the_cut():
    X, _ = held_out()
    values = model().value(X)
    found = near_misses(model(), X, 0.1, count=3)
    below = np.argsort(-values, kind="stable")[40:43]
    assert [name for name, _ in found] == [str(i) for i in below]
    margins = [e.margin for _, e in found]
    assert margins == sorted(margins, reverse=True) and max(margins) < 0


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"factors": np.zeros((2, 7))}, "one memory"),
        ({"cut": np.nan}, "finite"),
        ({"cut": 0.5, "budget": 0.1}, "not both"),
        ({"budget": 0.1}, "needs the values"),
        ({"among": [0.1, 0.2], "budget": "10%tokens"}, "in memories"),
    ],
)
def test_bad_questions_are_named(given_, message):
    with pytest.raises(ValueError, match=message):
        explain(model(), **{"factors": np.zeros(7), **given_})
