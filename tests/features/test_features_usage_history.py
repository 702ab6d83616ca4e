"""Usage history: deliberate uses, and the same thing coming up again elsewhere."""

from __future__ import annotations

from datetime import timedelta
from math import exp, log

import pytest
from feature_cases import DAY, column, factor, store

from memvalue.data.event import Event

VIOLIN = (["I play the violin"], ["My violin broke"])


def rehearsed() -> float:
    """By hand: violin in both of two conversations, two more words in one each."""
    twice, once = log(3 / 2.5) / log(3), log(3 / 1.5) / log(3)
    topic = twice**2 / (twice**2 + 2 * once**2 + 20)
    return 0.5 * (1 - exp(-twice / 4)) + 0.5 * topic / 0.25


def used(*events: Event, hours: float = 48, definition: str = "default") -> list[float]:
    c = store(*VIOLIN, events=events, now=DAY + timedelta(hours=hours))
    return column("usage_history", c, definition)


def test_rehearsal_worked_by_hand() -> None:
    # play, the, violin and my, violin, broke.
    assert column("usage_history", store(*VIOLIN)) == pytest.approx([rehearsed()] * 2, rel=1e-5)


def test_uses_worked_by_hand() -> None:
    found = used(
        Event("opened", 0, DAY + timedelta(hours=38)), Event("confirmed", 0, DAY + timedelta(hours=48))
    )
    want = 0.7 * (1 - exp(-(0.995**10 + 1) / 2)) + 0.3 * rehearsed()
    assert found == pytest.approx([want, 0.3 * rehearsed()], rel=1e-5)


def test_it_rises_with_deliberate_uses_and_with_recent_ones() -> None:
    late, early = (Event("opened", 0, DAY + timedelta(hours=h)) for h in (40, 1))
    assert used(late, late)[0] > used(late)[0] > used(early)[0] > used(Event("shown", 0, DAY))[0]


def test_being_shown_is_no_use() -> None:
    shown = [Event("shown", 0, DAY + timedelta(hours=h)) for h in range(40)]
    assert used(*shown) == used(shown[0])


def test_being_written_is_no_use_and_being_written_again_is() -> None:
    once, twice = used(Event("written", 0, DAY)), used(Event("written", 0, DAY), Event("written", 0, DAY))
    assert once == used(Event("shown", 0, DAY))
    assert twice[0] > once[0]


def test_it_rises_with_what_comes_up_again_elsewhere() -> None:
    [again, never] = (
        column("usage_history", store(["I play the violin"], ["violin play"]))[:1]
        + column("usage_history", store(["I play the violin"], ["Rome is far"]))[:1]
    )
    assert again > never == 0


def test_what_comes_up_again_in_the_same_conversation_is_no_rehearsal() -> None:
    assert column("usage_history", store(["I play the violin", "My violin broke"])) == [0, 0]


def test_what_an_assistant_repeats_is_no_rehearsal() -> None:
    c = store(["I play the violin"], [("assistant", "The violin is old")])
    assert column("usage_history", c) == [0, 0]


def test_without_rehearsal_only_uses_count() -> None:
    assert column("usage_history", store(*VIOLIN), "artefact-free") == [0, 0]
    found = used(Event("opened", 1, DAY + timedelta(hours=48)), definition="artefact-free")
    assert found == pytest.approx([0, 0.7 * (1 - exp(-0.5))], rel=1e-5)


@pytest.mark.parametrize("text", ["", "🎉", "hello"])
def test_a_memory_alone_has_no_history(text: str) -> None:
    assert factor("usage_history", text) == 0


def test_an_assistants_memory_can_be_used_too() -> None:
    c = store([("assistant", "The recipe")], events=[Event("opened", 0, DAY)])
    assert column("usage_history", c) == pytest.approx([0.7 * (1 - exp(-0.5))], rel=1e-5)


def test_no_habit_leaves_the_range() -> None:
    c = store(
        *[["harbour lantern copper meadow " * 20]] * 6, events=[Event("opened", 0, DAY, weight=1e9)] * 9
    )
    assert all(0 <= x <= 1 for x in column("usage_history", c))
