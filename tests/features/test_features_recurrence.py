"""Rehearsal by rare words: as the documented formulas say, worked slowly and by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.features import recurrence as module
from memvalue.features.recurrence import RARE, TOPIC_PRIOR, recurrence

#: (person, words) of each turn of each session. Few words over up to 14 sessions, so that some are used in
#: more than RARE of them.
turns = st.tuples(st.sampled_from((True, True, False)), st.lists(st.integers(0, 12), max_size=6))
talks = st.lists(st.lists(turns, min_size=1, max_size=3), max_size=14)
_HASHES = np.random.default_rng(7).integers(0, 2**64, 64, dtype=np.uint64)

Talk = list[list[tuple[bool, list[int]]]]


def run(talk: Talk, *, online: bool, relabel: int = 1) -> tuple[list[float], list[float]]:
    flat = [turn for session in talk for turn in session]
    owner = np.repeat(np.arange(len(flat)), [len(words) for _, words in flat]).astype(np.int64)
    overlap, topic = recurrence(
        _HASHES[np.array([w for _, words in flat for w in words], np.int64)],
        owner,
        np.repeat(np.arange(len(talk)) * relabel, [len(s) for s in talk]).astype(np.int64),
        np.array([person for person, _ in flat], bool),
        online=online,
    )
    return overlap.tolist(), topic.tolist()


def weight(df: int, total: int) -> float:
    total = max(total, 1)
    return min(max(log((total + 1) / (df + 0.5)) / log(total + 1), 0.0), 1.0)


def slowly(talk: Talk, *, online: bool, mates: int = 10**9) -> tuple[list[float], list[float]]:
    """The module's docstring, with sets; a conversation's first ``mates`` memories with a word are met."""
    said = [[set(words) if person else set() for person, words in session] for session in talk]
    vocabulary = [set().union(*session) for session in said]
    overlap, topic = [], []
    for s, session in enumerate(said):
        others = range(s) if online else [t for t in range(len(said)) if t != s]
        total = s if online else len(said)
        df = {
            w: sum(w in vocabulary[t] for t in (range(s) if online else range(len(said)))) for w in range(64)
        }
        rare = {w for w in df if df[w] <= RARE}
        so_far: set[int] = set()
        for words in session:
            shared = [
                sum(
                    weight(df[w], total)
                    for w in words & there & rare
                    if sum(w in earlier for earlier in said[t][:i]) < mates
                )
                for t in others
                for i, there in enumerate(said[t])
            ]
            overlap.append(max(shared, default=0.0))
            so_far = so_far | words if online else vocabulary[s]
            own = sum(weight(df[w], total) ** 2 for w in so_far)
            common = [sum(weight(df[w], total) ** 2 for w in so_far & vocabulary[t] & rare) for t in others]
            topic.append(max(common, default=0.0) / (own + TOPIC_PRIOR))
    return overlap, topic


@pytest.mark.parametrize("online", [False, True])
@given(talk=talks)
def test_any_talk_equals_the_slow_reference(online: bool, talk: Talk) -> None:
    for found, wanted in zip(run(talk, online=online), slowly(talk, online=online), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("online", [False, True])
@given(talk=talks, mates=st.integers(1, 2))
def test_only_the_first_mates_of_a_conversation_are_met(online: bool, talk: Talk, mates: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MATES", mates)
        found = run(talk, online=online)
    for values, wanted in zip(found, slowly(talk, online=online, mates=mates), strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("online", [False, True])
@given(talk=talks, cells=st.integers(0, 60), pairs=st.integers(1, 40))
def test_every_way_of_summing_gives_the_same_bits(online: bool, talk: Talk, cells: int, pairs: int) -> None:
    usual = run(talk, online=online)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DENSE_CELLS", cells)
        assert run(talk, online=online) == usual
        patch.setattr(module, "_PAIRS", pairs)
        assert run(talk, online=online) == usual


@pytest.mark.parametrize("online", [False, True])
def test_long_sums_have_the_same_bits_too(online: bool) -> None:
    # Conversations with many shared words of different weights: numpy's own sums of eight and more terms are
    # not added one by one, and would differ in the last bit.
    rng = np.random.default_rng(3)
    homes = [rng.choice(5, rng.integers(2, 5), replace=False).tolist() for _ in range(64)]
    talk: Talk = [[(True, [w for w in range(64) if s in homes[w]])] * 2 for s in range(5)]
    assert min(len(set(a[0][1]) & set(b[0][1])) for a in talk for b in talk) > 10
    usual = run(talk, online=online)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DENSE_CELLS", 0)
        assert run(talk, online=online) == usual
        patch.setattr(module, "_PAIRS", 5)
        assert run(talk, online=online) == usual


@given(talks)
def test_online_what_comes_later_changes_nothing_earlier(talk: Talk) -> None:
    overlap, topic = run(talk, online=True)
    flat = [(s, turn) for s, session in enumerate(talk) for turn in session]
    for k in range(1, len(flat)):
        cut: Talk = [[turn for t, turn in flat[:k] if t == s] for s in range(flat[k - 1][0] + 1)]
        assert run(cut, online=True) == (overlap[:k], topic[:k])


@pytest.mark.parametrize("online", [False, True])
@given(talk=talks)
def test_the_numbers_of_the_sessions_mean_nothing(online: bool, talk: Talk) -> None:
    assert run(talk, online=online, relabel=10**12) == run(talk, online=online)


def test_batch_worked_by_hand() -> None:
    # Words 1 and 2 are used in two of three conversations, 3 and 4 in one; ln 4 = 1.38629.
    talk: Talk = [[(True, [1, 2, 3])], [(True, [1]), (False, [2, 4]), (True, [2])], [(True, [4])]]
    twice, once = log(4 / 2.5) / log(4), log(4 / 1.5) / log(4)  # .33904, .70752
    overlap, topic = run(talk, online=False)
    # The assistant's words count for nothing, so 4 is shared by no two. The first memory meets each of the
    # two others in one word.
    np.testing.assert_allclose(overlap, [twice, twice, 0, twice, 0], rtol=1e-12)
    first = 2 * twice**2 / (2 * twice**2 + once**2 + 20)
    second = 2 * twice**2 / (2 * twice**2 + 20)
    np.testing.assert_allclose(topic, [first, second, second, second, 0], rtol=1e-12)
    np.testing.assert_allclose([twice, once], [0.33904, 0.70752], atol=1e-5)


def test_online_worked_by_hand() -> None:
    talk: Talk = [[(True, [1, 2])], [(True, [1, 3]), (False, [2]), (True, [2, 2])]]
    # In the second conversation one has been before: known words weigh ln(2/1.5)/ln 2, unknown ones 1.
    known = log(2 / 1.5) / log(2)  # .41504
    overlap, topic = run(talk, online=True)
    np.testing.assert_allclose(overlap, [0, known, 0, known], rtol=1e-12)
    some, all_ = known**2 / (known**2 + 1 + 20), 2 * known**2 / (2 * known**2 + 1 + 20)
    np.testing.assert_allclose(topic, [0, some, some, all_], rtol=1e-12)


def test_a_word_that_everybody_uses_is_no_rehearsal() -> None:
    common: Talk = [[(True, [1])] for _ in range(RARE + 1)]
    assert run(common, online=False)[0] == [0.0] * (RARE + 1)
    assert min(run(common[:RARE], online=False)[0]) > 0
    # Online the word becomes common only once RARE earlier conversations have used it.
    assert [x > 0 for x in run([*common, *common], online=True)[0]] == [False] + [True] * 8 + [False] * 9


@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize(
    "talk", [[], [[(True, [])]], [[(False, [1, 2])], [(False, [1])]], [[(True, [1, 2]), (True, [1, 2])]]]
)
def test_nothing_to_recur_is_zero(online: bool, talk: Talk) -> None:
    overlap, topic = run(talk, online=online)
    assert not any(overlap) and not any(topic)


def test_two_long_conversations_of_the_same_words_are_no_burden() -> None:
    # Everybody says the same words all the time: 2 · 1500² pairs for each of three words, but for MATES.
    talk: Talk = [[(True, [1, 2, 3])] * 1500, [(True, [1, 2, 3])] * 1500]
    overlap, topic = run(talk, online=False)
    weight_of = log(3 / 2.5) / log(3)
    np.testing.assert_allclose(overlap, 3 * weight_of, rtol=1e-12)
    np.testing.assert_allclose(topic, 3 * weight_of**2 / (3 * weight_of**2 + 20), rtol=1e-12)
