"""Memories, events and consolidations refuse what would silently go wrong later."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.data import AnswerKey, Case, Consolidation, Dataset, Event, Memory, SealedKey

DAY = datetime(2026, 1, 5, 9, tzinfo=UTC)


def memory(text: str = "hello", minute: int = 0, **more: object) -> Memory:
    return Memory(text, "user", DAY + timedelta(minutes=minute), **more)  # type: ignore[arg-type]


def case(consolidation: Consolidation, name: str = "a") -> Case:
    return Case(name, consolidation, SealedKey(AnswerKey(np.ones(len(consolidation), dtype=bool))))


def test_a_naive_time_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"no time zone.*tzinfo=UTC"):
        Memory("x", "user", datetime(2026, 1, 5))


def test_times_are_kept_in_utc() -> None:
    local = datetime(2026, 1, 5, 10, tzinfo=timezone(timedelta(hours=1)))
    assert Memory("x", "user", local).time == DAY
    assert Memory("x", "user", local).time.tzinfo is UTC


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"role": ""}, "role"),
        ({"position": -1}, "position"),
        ({"trust": 1.5}, "trust"),
        ({"text": 3}, "text"),
    ],
)
def test_bad_memories_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(memory(), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change", [{"kind": "liked"}, {"signal": 2.0}, {"weight": float("nan")}, {"memory": -1}]
)
def test_bad_events_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"event kind|Event\."):
        replace(Event("opened", 0, DAY), **change)  # type: ignore[arg-type]


def test_columns_of_unequal_length_or_out_of_order_are_refused() -> None:
    good = Consolidation.from_memories([memory("a"), memory("b", 1)])
    with pytest.raises(ValueError, match="roles has 1 rows"):
        replace(good, roles=("user",))
    with pytest.raises(ValueError, match="times must not decrease"):
        replace(good, times=good.times[::-1].copy())
    with pytest.raises(ValueError, match="sessions must not decrease"):
        replace(good, sessions=np.array([1, 0]))
    with pytest.raises(ValueError, match="names memory 5"):
        replace(good, events=(Event("opened", 5, DAY),))


def test_memories_are_sorted_by_session_start_and_events_follow_them() -> None:
    given_order = [memory("late", 30, session=7), memory("b", 1, session=3), memory("a", 0, session=3)]
    c = Consolidation.from_memories(given_order, events=[Event("opened", 0, DAY + timedelta(hours=2))])
    assert c.texts == ("a", "b", "late")
    assert c.sessions.tolist() == [0, 0, 1]
    assert c.events[0].memory == 2


def test_who_is_a_person_is_decided_by_role() -> None:
    rows = [Memory("x", role, DAY) for role in ("user", "assistant", "tool", "system", "Melanie")]
    assert Consolidation.from_memories(rows).person.tolist() == [True, False, False, False, True]


def test_a_sealed_key_counts_its_openings_and_hides_its_content() -> None:
    key = SealedKey(AnswerKey(np.array([True])))
    assert key.looks == 0
    key.open()
    assert key.looks == 1
    assert "True" not in repr(key)


@given(st.lists(st.text(), min_size=1, max_size=6), st.lists(st.text(), min_size=1, max_size=6))
def test_digests_are_equal_exactly_when_the_texts_are(left: list[str], right: list[str]) -> None:
    a, b = (Consolidation.from_memories([memory(t) for t in texts]) for texts in (left, right))
    assert (a.digest() == b.digest()) == (left == right)


def test_a_digest_depends_on_every_column() -> None:
    c = Consolidation.from_memories([memory("ab"), memory("c", 1)], events=[Event("opened", 0, DAY)])
    changed = [
        replace(c, texts=("a", "bc")),
        replace(c, roles=("user", "assistant")),
        replace(c, sessions=np.array([0, 1])),
        replace(c, positions=np.array([0, 3])),
        replace(c, times=c.times + np.timedelta64(1, "s")),
        replace(c, now=c.now + np.timedelta64(1, "s")),
        replace(c, events=()),
        replace(c, events=(Event("opened", 0, DAY, actor="\ud800"),)),
        replace(c, trust=None),
        replace(c, pinned=np.array([True, False])),
    ]
    assert len({c.digest(), *(d.digest() for d in changed)}) == 1 + len(changed)


def test_lone_surrogates_and_huge_texts_have_a_digest() -> None:
    c = Consolidation.from_memories([memory("\ud83d"), memory("x" * 100_000), memory("مرحبا 🙂")])
    assert len(c.digest()) == 64


def test_a_data_set_knows_its_size_and_its_digest_follows_its_cases() -> None:
    cases = [case(Consolidation.from_memories([memory(str(i))] * 3), str(i)) for i in range(2)]
    data = Dataset("test", "test", cases)
    assert (len(data), data.memories) == (2, 6)
    assert data.digest != Dataset("test", "test", cases[:1]).digest
