"""Value alignment: closeness to what the owner holds dear."""

from __future__ import annotations

from math import exp

import pytest
from feature_cases import Vectors, column, factor, store


def valued(text: str, role: str = "user", **options: object) -> float:
    return factor("value_alignment", text, role, **options)


def test_worked_by_hand() -> None:
    # love, prefer; honest; 2 in 7 words: 20·2/(7 + 5) = 3.3333. .7·2 + .5·1 + .5·3.3333 = 3.56667.
    want = 1 - exp(-3.5666667 / 1.5)
    assert valued("I love honest people and prefer tea.") == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I love tea.", "I drink tea."),
        ("I hate tea.", "I drink tea."),
        ("I love and prefer tea.", "I love the green tea."),
        ("Privacy is important to me.", "Music is next to me."),
        ("I love tea.", "I love tea and then there were the long days in the garden by the sea."),
    ],
)
def test_it_rises_with_likes_dislikes_and_principles(more: str, less: str) -> None:
    assert valued(more) > valued(less)


@pytest.mark.parametrize("text", ["The train leaves at 7:30.", "My sister moved to Rome!!!", "Is it far?"])
def test_facts_and_excitement_leave_it_at_zero(text: str) -> None:
    assert valued(text) == 0


def test_liking_and_disliking_count_alike() -> None:
    assert valued("I love it") == valued("I hate it") > 0


@pytest.mark.parametrize("text", ["", " ", "🎉"])
def test_nothing_is_zero(text: str) -> None:
    assert valued(text) == 0


def test_what_a_machine_likes_is_nobodys_value() -> None:
    assert valued("I love honest people and prefer tea.", "assistant") == 0


def test_a_declared_profile_comes_before_what_was_stated() -> None:
    c = store(["I love tea.", "My family moved.", ("assistant", "Family and honesty!")])
    found = column("value_alignment", c, profile=["family, honesty"])
    assert found == pytest.approx([0, 0.5, 1])
    vectors = Vectors()
    found = column("value_alignment", c, encoder=vectors, profile=["My family moved."])
    assert found[1] == pytest.approx(1, abs=1e-6) and found[0] < 0.9


def test_no_eulogy_leaves_the_range() -> None:
    assert valued("love prefer hate honest family " * 100) <= 1
