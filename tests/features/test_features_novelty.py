"""New words: as a plain set counts them, and only the past counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.features import novelty
from memvalue.features.novelty import SLOT_BITS, detrend, new_words, slots
from memvalue.features.scan import scan

#: Words as memories say them; few values, so that they recur within and between memories.
memories = st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=30)
seeds = st.integers(0, 2**32 - 1)


def laid_out(words: list[list[int]], seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Hash and owner of every word; the vocabulary is drawn with ``seed``."""
    vocabulary = np.random.default_rng(seed).integers(0, 2**64, 41, dtype=np.uint64)
    flat = [w for memory in words for w in memory]
    owner = np.repeat(np.arange(len(words)), [len(m) for m in words])
    return vocabulary[np.array(flat, dtype=np.int64)], owner.astype(np.int64), len(words)


def by_a_set(word_hash: np.ndarray, owner: np.ndarray, n: int) -> list[float]:
    """What the docstring says, with a set of table slots."""
    known: set[int] = set()
    out = [0.0] * n
    for h, i in zip(word_hash.tolist(), owner.tolist(), strict=True):
        slot = h >> (64 - SLOT_BITS)
        out[i] += slot not in known
        known.add(slot)
    return out


@given(memories, seeds)
def test_counts_equal_a_plain_set(words: list[list[int]], seed: int) -> None:
    word_hash, owner, n = laid_out(words, seed)
    assert new_words(word_hash, owner, n).tolist() == by_a_set(word_hash, owner, n)


@given(memories, seeds)
def test_crowded_buckets_change_nothing(words: list[list[int]], seed: int) -> None:
    word_hash, owner, n = laid_out(words, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(novelty, "_LEAST_BUCKETS", 1)
        patch.setattr(novelty, "_MOST_BUCKETS", 2)
        assert new_words(word_hash, owner, n).tolist() == by_a_set(word_hash, owner, n)


def test_many_words_equal_a_plain_set() -> None:
    rng = np.random.default_rng(0)
    vocabulary = rng.integers(0, 2**64, 60_000, dtype=np.uint64)
    word_hash = vocabulary[rng.zipf(1.3, 200_000) % 60_000]
    owner = np.sort(rng.integers(0, 3000, 200_000))
    assert new_words(word_hash, owner, 3000).tolist() == by_a_set(word_hash, owner, 3000)


@given(memories, seeds)
def test_what_comes_later_changes_nothing_earlier(words: list[list[int]], seed: int) -> None:
    word_hash, owner, n = laid_out(words, seed)
    whole = new_words(word_hash, owner, n)
    person = np.arange(n) % 3 != 1
    for k in range(n + 1):
        past = owner < k
        part = new_words(word_hash[past], owner[past], k)
        assert part.tolist() == whole[:k].tolist()
        assert detrend(part, person[:k]).tolist() == detrend(whole, person)[:k].tolist()


def test_words_of_real_text() -> None:
    found = scan(["My aunt sings opera. Opera!", "", "the aunt sings Jazz", "Jazz opera"])
    # my aunt sings opera; nothing; the, jazz; nothing. Single letters are no words here.
    assert new_words(found.word_hash, found.word_text, 4).tolist() == [4, 0, 2, 0]


def test_a_store_without_words_or_memories() -> None:
    nothing = np.empty(0, np.uint64), np.empty(0, np.int64)
    assert new_words(*nothing, 3).tolist() == [0, 0, 0]
    assert new_words(*nothing, 0).tolist() == []
    assert detrend(np.empty(0), np.empty(0, bool)).tolist() == []


def test_the_slot_is_the_top_of_the_hash() -> None:
    hashes = np.array([0, 2**64 - 1, 1 << (64 - SLOT_BITS), (1 << (64 - SLOT_BITS)) - 1], np.uint64)
    assert slots(hashes).tolist() == [0, 2**27 - 1, 1, 0]


def test_the_usual_is_worked_by_hand() -> None:
    new = np.array([9.0, 30.0, 9.0, 0.0, 9.0])
    person = np.array([True, False, True, True, True])
    # m: 8 → .97·8 + .03·9 = 8.03 (the assistant's 30 leave it) → 8.0591 → .97·8.0591 = 7.817327
    want = [4 * 9 / 9, 4 * 30 / 9.03, 4 * 9 / 9.03, 0.0, 4 * 9 / (7.817327 + 1)]
    np.testing.assert_allclose(detrend(new, person), want, rtol=1e-12)


def test_the_same_count_is_more_of_a_surprise_late_in_a_store_that_has_heard_most() -> None:
    new = np.array([8.0] + [1.0] * 60 + [8.0])
    found = detrend(new, np.ones(len(new), bool))
    assert found[-1] > 2 * found[0]
