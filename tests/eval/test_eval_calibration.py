"""Stated probabilities are compared with what happened, and the figures are those of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from memvalue.eval.calibration import reliability


def drawn(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, rng.random(n) < p**2


def test_brier_and_the_diagram_are_sklearns():
    p, happened = drawn()
    found = reliability(p, happened)
    assert found.brier == pytest.approx(brier_score_loss(happened, p))
    share, stated = calibration_curve(happened, p, n_bins=10, strategy="quantile")
    np.testing.assert_allclose([r["stated"] for r in found.rows], stated, atol=2e-3)
    np.testing.assert_allclose([r["found"] for r in found.rows], share, atol=2e-2)
    sizes = np.array([r["memories"] for r in found.rows])
    gaps = np.abs([r["stated"] - r["found"] for r in found.rows])
    assert found.ece == pytest.approx((sizes * gaps).sum() / 2000)
    assert found.worst == pytest.approx(gaps.max())


def test_by_hand():
    found = reliability([0.0, 0.0, 1.0, 0.5], [False, True, True, False], bins=2)
    assert found.brier == pytest.approx((0 + 1 + 0 + 0.25) / 4)
    assert found.skill == pytest.approx(1 - (1.25 / 4) / 0.25)
    assert found.rows == (
        {"memories": 2, "stated": 0.0, "found": 0.5},
        {"memories": 2, "stated": 0.75, "found": 0.5},
    )
    assert found.ece == pytest.approx(0.375)
    assert found.worst == pytest.approx(0.5)


def test_the_base_rate_has_no_skill_and_no_error():
    found = reliability(np.full(100, 0.07), np.arange(100) < 7)
    assert found.skill == pytest.approx(0)
    assert found.ece == pytest.approx(0)
    assert len(found.rows) == 1


def test_a_rare_outcome_is_not_hidden_in_one_bin():
    rng = np.random.default_rng(1)
    p = rng.random(10_000) * 0.02
    wrong = reliability(p, rng.random(10_000) < p[::-1])
    assert wrong.worst > 0.005 and len(wrong.rows) == 10


@given(st.lists(st.tuples(st.integers(0, 4).map(lambda i: i / 4), st.booleans()), min_size=1, max_size=50))
def test_equal_probabilities_share_a_bin_and_nobody_is_lost(rows):
    p, happened = (np.array(c) for c in zip(*rows, strict=True))
    found = reliability(p, happened)
    assert sum(r["memories"] for r in found.rows) == len(p)
    assert len(found.rows) <= len(np.unique(p))
    assert 0 <= found.ece <= found.worst <= 1
    assert set(found.as_dict()) == {"brier", "skill", "ece", "worst", "rows"}


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        (([], []), "columns"),
        (([0.1], [True, False]), "columns"),
        (([1.1], [True]), "probability 0 is 1.1"),
        (([np.nan], [True]), "probability 0 is nan"),
    ],
)
def test_bad_input_is_named(given_, message):
    with pytest.raises(ValueError, match=message):
        reliability(*given_)
    with pytest.raises(ValueError, match="bins"):
        reliability([0.1], [True], bins=0)
