"""Values become the probability of not being needed; other inputs speak only where the data inform them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from memvalue.train.forget_risk import ForgetRisk, HeldOut, fit_forget_risk


def logistic(z):
    return 1 / (1 + np.exp(-z))


def drawn(n=6000, *, age=0.0, uses=0.0, rehearsal=0.0, seed=0):
    """Memories whose need follows a known curve."""
    rng = np.random.default_rng(seed)
    value, days, used = rng.random(n), rng.exponential(40, n), rng.poisson(1.0, n).astype(float)
    again = rng.random(n)
    z = 6 * value - 4 + age * np.log((1 + days) / 2) + uses * np.log1p(used) + rehearsal * again
    needed = rng.random(n) < logistic(z)
    return HeldOut(value, needed, days, used, again, np.arange(n) // 20)


def test_with_the_value_alone_it_is_platts_curve_as_sklearn_fits_it():
    rng = np.random.default_rng(0)
    values = rng.random(400)
    needed = rng.random(400) < logistic(6 * values - 4)
    risk, terms = fit_forget_risk(HeldOut(values, needed))
    yes, no = needed.sum(), (~needed).sum()
    target = np.where(needed, (yes + 1) / (yes + 2), 1 / (no + 2))
    # A soft target is a yes of weight t beside a no of weight 1 − t.
    reference = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(
        np.tile(values, 2)[:, None],
        np.repeat([1, 0], 400),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    assert risk.slope == pytest.approx(reference.coef_[0, 0], rel=1e-3)
    assert risk.intercept == pytest.approx(reference.intercept_[0], rel=1e-3)
    np.testing.assert_allclose(risk(values), reference.predict_proba(values[:, None])[:, 0], atol=1e-4)
    # At its optimum the mean probability is the mean target.
    assert 1 - risk(values).mean() == pytest.approx(target.mean(), abs=1e-9)
    assert terms == {"age": "unknown", "uses": "unknown", "rehearsal": "unknown"}


def test_terms_that_matter_are_found_with_their_size():
    risk, terms = fit_forget_risk(drawn(20_000, age=-0.5, uses=0.8, rehearsal=1.5))
    assert terms == {"age": "kept", "uses": "kept", "rehearsal": "kept"}
    assert (risk.age, risk.uses, risk.rehearsal) == (
        pytest.approx(-0.5, abs=0.05),
        pytest.approx(0.8, abs=0.1),
        pytest.approx(1.5, abs=0.15),
    )


def test_terms_that_do_not_matter_are_left_out():
    risk, terms = fit_forget_risk(drawn())
    assert set(terms.values()) <= {"no gain", "wrong sign"}
    assert (risk.age, risk.uses, risk.rehearsal) == (0, 0, 0)


def test_a_use_never_counts_against_a_memory_but_age_may_speak_either_way():
    risk, terms = fit_forget_risk(drawn(uses=-1.0, rehearsal=-2.0, age=0.7))
    assert terms["uses"] == terms["rehearsal"] == "wrong sign"
    assert risk.uses == risk.rehearsal == 0
    assert terms["age"] == "kept"
    assert risk.age > 0


def test_a_constant_or_unknown_column_is_said_to_be_so():
    full = drawn(400)
    given = HeldOut(full.values, full.needed, np.full(400, 3.0), None, full.rehearsal)
    _, terms = fit_forget_risk(given)
    assert (terms["age"], terms["uses"]) == ("constant", "unknown")


def test_neutral_inputs_change_no_bit():
    risk = ForgetRisk(5.0, -2.0, age=-0.3, uses=0.4, rehearsal=0.5)
    values = np.linspace(0, 1, 50)
    np.testing.assert_array_equal(risk(values), ForgetRisk(5.0, -2.0)(values))
    np.testing.assert_array_equal(risk(values, age_days=1.0, uses=0.0, rehearsal=0.0), risk(values))


def test_separated_and_rare_labels_converge():
    values = np.linspace(0, 1, 10_000)
    risk, _ = fit_forget_risk(HeldOut(values, values > 0.95))
    assert np.isfinite([risk.slope, risk.intercept]).all()
    assert risk(1.0) < 0.5 < risk(0.9)


def test_values_that_mislead_or_never_vary_give_the_base_rate():
    values = np.linspace(0, 1, 100)
    for column in (1 - values, np.full(100, 0.3)):
        risk, _ = fit_forget_risk(HeldOut(column, values > 0.8))
        assert risk.slope == 0
        assert risk(0.5) == pytest.approx(0.8, abs=0.02)


def test_extreme_values_do_not_overflow():
    np.testing.assert_allclose(ForgetRisk(1e6, 0.0)([-1, 0, 1]), [1, 0.5, 0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (HeldOut([0.1, np.nan], [True, False]), "NaN"),
        (HeldOut([0.1], [True, False]), "one length"),
        (HeldOut([0.1, 0.2], [True, True]), "both"),
        (HeldOut([0.1, 0.2], [True, False], age_days=[1.0]), "age_days has shape"),
        (HeldOut([0.1, 0.2], [True, False], uses=[1.0, np.inf]), "uses holds NaN"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        fit_forget_risk(given)
