"""Parity with the package fsrs wherever both mean the same."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from history_cases import at, event, folded
from hypothesis import given
from hypothesis import strategies as st

from memvalue.serve.history import Fsrs, elfmem_retrievability

#: Days between reviews: whole days, or within a day, where the package counts as we do.
GAPS = st.one_of(st.integers(1, 400).map(float), st.floats(0.0, 0.99))
REVIEWS = st.lists(st.tuples(GAPS, st.integers(1, 4)), min_size=1, max_size=12)


@given(REVIEWS, st.integers(0, 1000))
def test_stability_difficulty_and_retrievability_are_those_of_the_package(
    reviews: list[tuple[float, int]], later: int
) -> None:
    package = pytest.importorskip("fsrs", reason="the package fsrs is not installed")
    scheduler = package.Scheduler(enable_fuzzing=False)
    card, now = package.Card(), datetime(2026, 1, 5, tzinfo=UTC)
    ours = Fsrs()
    stability = difficulty = math.nan
    days = math.inf
    for gap, grade in reviews:
        card, _ = scheduler.review_card(card, package.Rating(grade), now)
        stability, difficulty = ours.review(stability, difficulty, days, grade)
        assert stability == pytest.approx(card.stability, rel=1e-9)
        assert difficulty == pytest.approx(card.difficulty, rel=1e-9)
        days = gap
        now += timedelta(days=gap)
    found = scheduler.get_card_retrievability(card, card.last_review + timedelta(days=later))
    assert ours.retrievability(float(later), stability) == pytest.approx(found, rel=1e-9)


def test_our_weights_are_the_package_s() -> None:
    package = pytest.importorskip("fsrs.scheduler", reason="the package fsrs is not installed")
    assert Fsrs().weights == package.DEFAULT_PARAMETERS


@given(st.lists(st.tuples(st.floats(0, 400), st.integers(1, 4)), min_size=1, max_size=20))
def test_columns_have_the_bits_of_numbers(cases: list[tuple[float, int]]) -> None:
    ours = Fsrs()
    days = np.array([d for d, _ in cases])
    grades = np.array([g for _, g in cases])
    stability = np.where(days > 300, np.nan, 1.0 + days)
    difficulty = np.where(days > 300, np.nan, 1.0 + days / 40)
    found = np.column_stack(ours.review(stability, difficulty, days, grades))
    single = [
        ours.review(s, d, t, g)
        for s, d, (t, g) in zip(stability.tolist(), difficulty.tolist(), cases, strict=True)
    ]
    assert np.array_equal(found, single)
    curve = ours.retrievability(days, 1.0 + days)
    assert curve.tolist() == [ours.retrievability(d, 1.0 + d) for d in days.tolist()]


def test_by_hand() -> None:
    ours = Fsrs()
    s, d = ours.review(math.nan, math.nan, math.inf, 3)
    assert s == 2.3065
    # 6.4133 − e^(.8334·2) + 1 = 7.4133 − 5.2952
    assert d == pytest.approx(2.1181, abs=1e-4)
    assert ours.retrievability(s, s) == pytest.approx(0.9)
    assert ours.retrievability(0.0, s) == 1.0


@given(st.floats(0.01, 1000), st.floats(1, 10), st.floats(1, 1000))
def test_success_lengthens_and_failure_never_does(stability: float, difficulty: float, days: float) -> None:
    ours = Fsrs()
    assert ours.review(stability, difficulty, days, 3)[0] >= stability
    assert ours.review(stability, difficulty, days, 1)[0] <= stability
    assert ours.review(stability, difficulty, days, 1)[1] >= difficulty - 0.02  # a little mean reversion


def test_the_curve_of_elfmem_means_something_else_by_stability() -> None:
    assert elfmem_retrievability(7.0, 7.0) == pytest.approx(1.5**-0.5)
    assert elfmem_retrievability(0.0, 7.0) == 1.0
    assert elfmem_retrievability(np.array([7.0, 14.0]), np.array([7.0, 7.0])) == pytest.approx(
        [0.8165, 0.7071], abs=1e-4
    )


def test_uses_are_reviews_and_corrections_are_lapses() -> None:
    used = folded(event("written", 0), event("opened", 240)).state("a", at(480))
    ours = Fsrs()
    first = ours.review(math.nan, math.nan, math.inf, 3)
    assert (used.stability, used.difficulty) == ours.review(*first, 10.0, 3)
    assert used.retrievability == ours.retrievability(10.0, used.stability)
    lapsed = folded(event("written", 0), event("corrected", 240)).state("a", at(480))
    assert (lapsed.stability, lapsed.difficulty) == ours.review(*first, 10.0, 1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [((1.0, 2.0), "has 21 weights"), ((*Fsrs().weights[:20], math.nan), "finite"), ((0.0,) * 21, "above 0")],
)
def test_weights_that_are_none_are_refused(weights: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Fsrs(weights)
