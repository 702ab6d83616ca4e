"""Emotional intensity: strength of feeling, either sign."""

from __future__ import annotations

from math import exp

import pytest
from feature_cases import factor


def felt(text: str, role: str = "user") -> float:
    return factor("emotional_intensity", text, role)


def test_worked_by_hand() -> None:
    # Two exclamation marks; furious and terrible are -3 each; really intensifies: 2 + .05·6 + .1·1 = 2.4.
    assert felt("I was really furious!! What a terrible day.") == pytest.approx(1 - exp(-2.4), rel=1e-5)


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        ("I got the job!", "I got the job."),
        ("I got the job!!!", "I got the job!"),
        ("It was terrible.", "It was bad."),
        ("It was wonderful.", "It was fine."),
        ("I am extremely sad.", "I am sad."),
        ("I am sad and furious.", "I am sad."),
    ],
)
def test_it_rises_with_feeling(stronger: str, weaker: str) -> None:
    assert felt(stronger) > felt(weaker)


def test_either_sign_counts_alike() -> None:
    assert felt("It was terrible.") == felt("It was wonderful.") > 0


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The train leaves at 7:30 from Rome.", "The train leaves."),
        ("I bought my sister a bicycle.", "There it is."),
        ("Is it far?", "It is far."),
    ],
)
def test_facts_and_questions_leave_it_where_it_is(text: str, other: str) -> None:
    assert felt(text) == felt(other) == 0


@pytest.mark.parametrize("text", ["", " ", "🎉"])
def test_nothing_expressed_is_zero(text: str) -> None:
    assert felt(text) == 0


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_a_machines_enthusiasm_is_no_feeling(role: str) -> None:
    assert felt("That is wonderful!!!", role) == 0


def test_any_person_feels() -> None:
    assert felt("That is wonderful!", "Ann") == felt("That is wonderful!") > 0


def test_no_outburst_leaves_the_range() -> None:
    assert felt("terrible! " * 400) <= 1
