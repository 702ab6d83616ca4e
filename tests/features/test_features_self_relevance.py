"""Self relevance: the person's own life."""

from __future__ import annotations

from math import exp

import pytest
from feature_cases import factor


def own(text: str, role: str = "user") -> float:
    return factor("self_relevance", text, role)


def test_worked_by_hand() -> None:
    # my, my; first person twice in five words: 20·2/(5 + 5) = 4; my dog is a relation.
    # 1.5·2 + .5·2 + .3·1 + .3·4 = 5.5.
    assert own("My dog loves my garden.") == pytest.approx(1 - exp(-5.5 / 2), rel=1e-5)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("My car is red.", "The car is red."),
        ("I drive a red car.", "They drive a red car."),
        ("My car is red.", "I see a red car."),
        ("My sister is here.", "My garden is here."),
        ("I went home.", "I went home with all of the others who had been there for the day."),
    ],
)
def test_it_rises_with_the_first_person_and_what_belongs_to_it(more: str, less: str) -> None:
    assert own(more) > own(less)


@pytest.mark.parametrize(
    "text", ["Rome is wonderful!!!", "Write a poem.", "The sister of Ann bought 3 cars."]
)
def test_it_is_not_interest_or_feeling_or_somebody_elses_life(text: str) -> None:
    assert own(text) == 0


def test_names_and_numbers_leave_it_where_it_is() -> None:
    assert own("My Fiat has twelve seats") == own("My boat has wooden seats") > 0


@pytest.mark.parametrize("text", ["", " ", "🎉"])
def test_nothing_is_zero(text: str) -> None:
    assert own(text) == 0


def test_a_machine_has_no_life_of_its_own() -> None:
    assert own("My dog loves my garden.", "assistant") == 0
    assert own("My dog loves my garden.", "Ann") == own("My dog loves my garden.")


def test_no_confession_leaves_the_range() -> None:
    assert own("I me my mine " * 200) <= 1
