"""Labels from plain transcripts: what later conversations reuse, beyond chance and topic."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memvalue.data import Consolidation, DataError, Memory
from memvalue.features import Definition, combine, observe
from memvalue.train.reuse import Reuse
from memvalue.train.self_labels import NOT_OVER, NOT_REUSED, self_labelled_cases, self_labels, up_to

START = datetime(2026, 3, 2, 9, tzinfo=UTC)

FILLER = (
    "could you explain recursion with an easy example",
    "what should dinner be tonight something quick please",
    "translate this sentence into polite french",
    "which laptop lasts longest without charging",
    "write a limerick about rainy mondays",
)


def transcript(*sessions, days=1.0):
    """One session a day; a turn is a text of the user, or (role, text)."""
    out = []
    for s, turns in enumerate(sessions):
        for p, turn in enumerate(turns):
            role, text = ("user", turn) if isinstance(turn, str) else turn
            out.append(Memory(text, role, START + timedelta(days=days * s, minutes=p), s, p))
    return Consolidation.from_memories(out)


def at(session, minutes=30, days=1.0):
    return START + timedelta(days=days * session, minutes=minutes)


def kept_and_sought(count):
    """What lies where, one conversation a day, and then a question for each."""
    names = [x + y for x in "abcdefgh" for y in "klmnopq"][:count]
    return transcript(
        *[[f"item {x} lives in drawer{x} of cabinet{x}", FILLER[i % 5]] for i, x in enumerate(names)],
        *[[f"what is in drawer{x} of cabinet{x}"] for x in names],
    )


def told_and_asked():
    return transcript(
        ["my spaniel Biscuit swallowed a walnut", ("assistant", "poor thing, watch him"), FILLER[0]],
        [FILLER[1], FILLER[2]],
        ["remember when Biscuit ate that walnut", FILLER[3]],
        [FILLER[4]],
    )


def by_hand(c, n, stop):
    """The formula of Reuse with loops over sets of words, from the texts."""
    words = [set(text.split()) for text in c.texts[:stop]]
    session = c.sessions[:stop].tolist()
    total = len(set(session))
    used = {}
    for own, s in zip(words, session, strict=True):
        for w in own:
            used.setdefault(w, set()).add(s)

    def rarity(w):
        return min(1.0, max(0.0, math.log((total + 1) / (len(used[w]) + 0.5)) / math.log(total + 1)))

    def length(i):
        return math.sqrt(sum(rarity(w) ** 2 for w in words[i]) + 5.0)

    def matched(i, j):
        both = words[i] & words[j]
        return {w for w in both if 2 <= len(used[w]) <= max(2, total / 2)}

    def agreement(i, j):
        out = 0.0
        for w in matched(i, j):
            said = sum(session[k] == session[i] and w in words[k] for k in range(n))
            out += rarity(w) ** 2 / math.sqrt(said)
        return out / (length(i) * length(j))

    later = [j for j in range(n, stop) if session[j] > session[n - 1] and c.person[j]]
    best = np.zeros(n)
    for i in range(n):
        if not c.person[i]:
            continue
        others = [k for k in range(n) if session[k] == session[i] and k != i]
        for j in later:
            if len(matched(i, j)) >= 2:
                topic = sum(agreement(k, j) for k in others) / max(len(others), 1)
                best[i] = max(best[i], agreement(i, j) - 0.5 * topic)
    return np.clip(best, 0.0, 1.0)


class TestReuse:
    def test_a_fact_that_comes_up_again_scores_highest(self):
        score, needed = self_labels(told_and_asked(), at(1))
        assert score.argmax() == 0
        assert np.flatnonzero(needed).tolist() == [0]

    @settings(max_examples=40)
    @given(
        st.lists(
            st.lists(
                st.tuples(
                    st.sampled_from(["user", "assistant", "Ann"]),
                    st.lists(st.sampled_from([f"word{x}" for x in "abcdefghijklmn"]), min_size=1, max_size=6),
                ),
                min_size=1,
                max_size=4,
            ),
            min_size=2,
            max_size=7,
        ),
        st.data(),
    )
    def test_it_is_the_formula(self, sessions, data):
        c = transcript(*[[(role, " ".join(words)) for role, words in turns] for turns in sessions])
        n = data.draw(st.integers(1, len(c)))
        stop = data.draw(st.integers(n, len(c)))
        found = Reuse(c).best(n, stop)
        assert found == pytest.approx(by_hand(c, n, stop), abs=1e-12)

    def test_blocks_do_not_change_it(self, monkeypatch):
        c = told_and_asked()
        whole = Reuse(c).best(5, len(c))
        monkeypatch.setattr("memvalue.train.reuse._CELLS", 1)
        assert Reuse(c).best(5, len(c)).tobytes() == whole.tobytes()

    def test_one_shared_word_is_chance(self):
        c = transcript(
            ["my spaniel Biscuit is ill"], [FILLER[1]], ["a biscuit recipe with oats"], [FILLER[4]]
        )
        score, needed = self_labels(c, at(1))
        assert not score.any() and not needed.any()

    def test_going_on_with_the_same_conversation_is_no_reuse(self):
        c = transcript(["Biscuit ate a walnut", "so Biscuit ate a walnut today"], [FILLER[0]], [FILLER[1]])
        assert not self_labels(c, at(0, minutes=0))[0].any()

    def test_a_machine_neither_asks_nor_is_asked(self):
        said, again = "the parcel sits at locker seventeen", "parcel at locker seventeen"
        for first, second in (("assistant", "user"), ("user", "assistant"), ("tool", "assistant")):
            c = transcript([(first, said)], [FILLER[0]], [(second, again)], [FILLER[1]])
            assert not self_labels(c, at(1))[0].any()

    def test_the_topic_of_a_conversation_counts_less_than_what_one_turn_says_of_it(self):
        c = transcript(
            [
                "planning a trip to Lisbon",
                "the Lisbon trip needs hotels",
                "Lisbon trip flight at 0640 with Vueling",
            ],
            [FILLER[1]],
            ["is that Vueling flight to Lisbon at 0640 a good trip"],
            [FILLER[2]],
        )
        score, _ = self_labels(c, at(1))
        assert score[2] > 2 * max(score[0], score[1])

    def test_a_long_text_does_not_win_by_length(self):
        pasted = "Biscuit walnut " + " ".join(
            f"fill{x}{y}" for x in "abcdefghijklmnop" for y in "qrstuvwxyzabcdefghijkl"
        )
        c = transcript(
            [pasted, "Biscuit swallowed a walnut"], [FILLER[1]], ["did Biscuit keep the walnut"], [FILLER[2]]
        )
        score, _ = self_labels(c, at(1))
        assert score[1] > 3 * score[0]

    def test_shared_feelings_are_no_reuse(self):
        c = transcript(
            ["happy excited wonderful amazing"], [FILLER[0]], ["happy excited wonderful amazing"], [FILLER[1]]
        )
        assert not self_labels(c, at(1))[0].any()

    def test_talk_that_shares_nothing_has_no_needed_memory(self):
        c = transcript(*[[" ".join(f"talk{x}{y}" for y in "abcdefgh")] for x in "klmnopqr"])
        assert not self_labels(c, at(4), share=1.0)[1].any()

    @pytest.mark.parametrize("empty", [0, 3])
    def test_nothing_before_or_after_the_cut_is_no_error(self, empty):
        score, needed = self_labels(told_and_asked(), at(empty, minutes=-1) if not empty else at(9))
        assert not score.any() and len(score) == len(needed) == (8 if empty else 0)

    def test_the_share_bounds_how_many_are_needed(self):
        c = kept_and_sought(10)
        for share, count in ((0.05, 1), (0.15, 3), (1.0, 10)):
            score, needed = self_labels(c, at(9), share=share)
            assert needed.sum() >= count
            assert score[needed].min() > (score[~needed].max() if (~needed).any() else 0)

    def test_an_end_hides_what_came_after_it(self):
        c = told_and_asked()
        assert not self_labels(c, at(1), end=at(1, minutes=50))[0].any()
        shortened = up_to(c, at(2))
        whole = self_labels(c, at(1), end=at(2))[0]
        assert whole.any()
        assert whole.tobytes() == self_labels(shortened, at(1))[0].tobytes()

    def test_mistakes_are_named(self):
        c = told_and_asked()
        with pytest.raises(DataError, match=r"share is 0.* \(0, 1\]"):
            self_labels(c, at(1), share=0)
        with pytest.raises(DataError, match="lies before the cut"):
            self_labels(c, at(2), end=at(1))
        with pytest.raises(DataError, match="cut has no time zone"):
            self_labels(c, datetime(2026, 3, 3))


class TestCases:
    def cases(self, c, **how):
        return self_labelled_cases(c, **({"every_days": 1.5, "horizon_days": None} | how))

    def test_each_shows_what_there_was_and_was_labelled_by_what_followed(self):
        made = self.cases(told_and_asked(), every_days=1.0)
        [case] = made.dataset
        assert case.consolidation.texts == told_and_asked().texts[:4]
        assert case.sealed.open().needed.tolist() == [True, False, False, False]
        assert made.ends.tolist() == [datetime(2026, 3, 5, 9, 0)]
        assert made.dataset.skipped == {NOT_REUSED: 2}

    @settings(max_examples=25)
    @given(
        st.lists(st.text(min_size=0, max_size=40), min_size=4, max_size=4), st.sampled_from(["user", "tool"])
    )
    def test_no_factor_bit_depends_on_what_was_said_later(self, texts, role):
        c = told_and_asked()
        cut = at(1)
        n = int((c.times <= np.datetime64(cut.replace(tzinfo=None), "s")).sum())
        later = len(c) - n
        changed = replace(c, texts=c.texts[:n] + tuple(texts[:later]), roles=c.roles[:n] + (role,) * later)
        before, after = up_to(c, cut), up_to(changed, cut)
        assert before.digest() == after.digest()
        for name in ("default", "longmemeval"):
            bits = [combine(e, Definition.named(name)).tobytes() for e in observe([before, after])]
            assert bits[0] == bits[1]

    def test_cases_of_a_longer_transcript_are_the_same_where_their_horizon_was_over(self):
        c = kept_and_sought(12)
        shorter = self.cases(up_to(c, at(20)), horizon_days=8.0)
        longer = self.cases(c, horizon_days=8.0)
        assert len(longer) > len(shorter) > 1
        for a, b in zip(shorter.dataset, longer.dataset, strict=False):
            assert a.id == b.id and a.consolidation.digest() == b.consolidation.digest()
            assert a.sealed.open().needed.tolist() == b.sealed.open().needed.tolist()

    def test_labels_are_those_of_self_labels(self):
        c = told_and_asked()
        [case] = self.cases(c, cuts=[at(1)]).dataset
        assert case.sealed.open().needed.tolist() == self_labels(c, at(1))[1].tolist()
        assert case.consolidation.now == np.datetime64("2026-03-03T09:30:00")

    def test_a_horizon_that_is_not_over_makes_no_case(self):
        c = told_and_asked()
        with pytest.raises(DataError, match=f"2 {NOT_OVER}"):
            self.cases(c, every_days=1.5, horizon_days=28.0)

    @pytest.mark.parametrize(
        ("how", "said"),
        [
            ({"every_days": 0.0}, "every_days is 0.0"),
            ({"horizon_days": -1.0}, "horizon_days is -1.0"),
            ({"share": 2.0}, "share is 2.0"),
            ({"every_days": 1e-5}, "more than 100000"),
            ({"cuts": [at(2), at(1)]}, r"cuts\[1\] .* does not lie after"),
        ],
    )
    def test_mistakes_are_named(self, how, said):
        with pytest.raises(DataError, match=said):
            self.cases(told_and_asked(), **how)

    def test_one_conversation_alone_says_what_it_lacks(self):
        with pytest.raises(DataError, match=r"1 conversations .* needs conversations after a consolidation"):
            self.cases(transcript(["hello there", "general"]))
        with pytest.raises(DataError, match="empty"):
            self.cases(Consolidation.from_memories([]))


class TestRealTranscripts:
    def test_labels_agree_with_gold_far_above_chance(self, shared_data):
        from sklearn.metrics import roc_auc_score

        from memvalue.data import load

        found = []
        for case in load(f"memora:{shared_data.memora()}", limit=3):
            c = case.consolidation
            cut = c.times[len(c) // 2]
            score, _ = self_labels(c, cut)
            found.append(roc_auc_score(case.sealed.open().needed[: len(score)], score))
        assert np.mean(found) > 0.7
