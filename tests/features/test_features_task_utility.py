"""Task utility: would it help to act later?"""

from __future__ import annotations

from math import exp

import pytest
from feature_cases import column, factor, store

from memvalue.features import Definition, combine, observe
from memvalue.features.names import FACTORS


def useful(text: str, role: str = "user") -> float:
    return factor("task_utility", text, role)


def test_a_persons_worked_by_hand() -> None:
    # Numbers 3 and 120; bought after I; 120 dollars; May is capitalised: 1.2·2 + 1.2·1 + .5·1 + .15·1 = 4.25.
    # New words: bought 3 chairs for 120 dollars in may = 8, against the usual: 4·8/(8 + 1).
    specifics, new = 1 - exp(-4.25 / 1.6), 1 - exp(-(4 * 8 / 9) / 8)
    found = useful("I bought 3 chairs for 120 dollars in May.")
    assert found == pytest.approx(0.6 * specifics + 0.4 * new, rel=1e-5)


def test_an_assistants_worked_by_hand() -> None:
    # Nine words, so 20/14 a word: Rome, Paris and Oslo; recommend, try and visit; one number; two list lines.
    dense = 20 / 14 * (0.5 * 3 + 0.7 * 3 + 0.5 * 1) + 0.15 * 2
    text = "I recommend Rome and Paris.\n- Try 2 museums\n- Visit Oslo"
    assert useful(text, "assistant") == pytest.approx(1 - exp(-dense / 1.5), rel=1e-5)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I paid 40 for it.", "I paid much for it."),
        ("I bought a car.", "I like a car."),
        ("It is 5 miles long.", "It is 5 of them."),
        ("We met on Monday.", "We met on foot."),
        ("It was in Rome.", "It was in town."),
        ("It cost 40.", "Did it cost 40?"),
        ("I no longer eat meat.", "I often then eat meat."),
        ("I cancelled it.", "I mentioned it."),
    ],
)
def test_a_persons_rises_with_what_is_specific_and_with_what_has_changed(more: str, less: str) -> None:
    assert useful(more) > useful(less)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("Rome and Oslo are far.", "They and those are far."),
        ("There I recommend trains.", "There I know trains."),
        ("It takes 3 days.", "It takes some days."),
        ("- eggs\n- milk", "eggs\nmilk"),
        ("It takes 3 days.", "It takes you 3 days."),
        ("It takes 3 days.", "Overall it takes 3 days."),
        ("It takes 3 days.", "Sorry, it takes 3 days."),
    ],
)
def test_an_assistants_rises_with_products_and_falls_with_filler(more: str, less: str) -> None:
    assert useful(more, "assistant") > useful(less, "assistant")


def test_the_same_words_again_are_worth_less() -> None:
    first, again = column("task_utility", store(["My aunt sings opera"], ["My aunt sings opera"]))
    assert first > again


def test_without_novelty_repeating_costs_nothing() -> None:
    [e] = observe([store(["I bought 3 chairs"], ["I bought 3 chairs"])])
    first, again = combine(e, Definition("plain", novelty=False))[:, FACTORS.index("task_utility")]
    assert first == again == pytest.approx(1 - exp(-(1.2 + 1.2) / 1.6), rel=1e-5)


def test_a_bare_request_or_filler_has_next_to_none_however_long() -> None:
    for text in ("Write a poem about the sea please.", "ok thanks", "and so on and so on " * 50):
        assert useful(text) < 0.25


def test_pasted_text_is_not_news() -> None:
    said = "we took the ferry over to an island with goats"
    assert useful(said.replace(" ", "\n")) < useful(said)


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("text", ["", " ", "🎉"])
def test_nothing_is_zero(text: str, role: str) -> None:
    assert useful(text, role) == 0


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_no_catalogue_leaves_the_range(role: str) -> None:
    assert useful("I bought 12 Fiats for 300 dollars on Monday, no longer cancelled.\n- 7 " * 40, role) <= 1
