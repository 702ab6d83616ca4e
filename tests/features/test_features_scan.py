"""The lexical scan: what it counts, that it is exact, and that a text's counts are its own."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_scan import reference, word_hash

from memvalue.features.scan import Scan, scan
from memvalue.features.scan_bytes import FOLDS, HEAD
from memvalue.features.scan_columns import COLUMNS

if TYPE_CHECKING:
    from conftest import SharedData

#: Scraps that meet the scan's rules: contractions, dates, units, phrases, sentence ends, scripts, oddities.
WORDS = """
I I'm I’ve my My mine we you bought Bought went visited indeed mom sister no longer used to by the way
may May May 5th of 5 12 12. 3.5 1,200.50 12/05/2023 2023-05-12 5.12.23 7:30 19:30:05 pm 5kg $50 50€ 50% miles
unfortunately unfortunatelyy love hate terrible can write? 'quoted' don''t rock'n'roll thanks signed up
Ich ich Mein Über straße STRAẞE ärgerlich gekauft Gebiet nicht mehr am Mai Uhr Grüße İstanbul ΣΑΣ мой Дом
中文字 日本語。 ？ سلام؟ עברית ०१२ ٣٫٤ ½ é é ́ 👍🏽 ❤️ 🇩🇪 👩‍👩‍👧 — … • “so” ’ ﬁne ǅ K
. ! ? ?! !? ?" ... {};=< - '
"""
SCRAPS = (
    *WORDS.split(),
    *(" ", "  ", "\n", "\r\n", "\t", "\0", "\0\0\0", "\ud800", "\udfff", "\u200b", "\ufeff", "\x85"),
    *(". ", "! ", "? ", "\n- ", "\n* ", "\n1. ", "\n  12) "),
)
scraps = st.lists(st.sampled_from(SCRAPS), max_size=40)
texts_of_scraps = st.tuples(scraps, st.sampled_from(("", " ", " "))).map(lambda x: x[1].join(x[0]))
any_text = st.one_of(st.text(st.characters(codec=None)), texts_of_scraps)


def of(text: str, language: str = "en") -> dict[str, float]:
    """The columns of one text that are not 0."""
    found = scan([text], language)
    return {name: float(x) for name, x in zip(found.names, found.counts[0], strict=True) if x}


def assert_equal_to_reference(texts: list[str], language: str = "en") -> None:
    found = scan(texts, language)
    for i, text in enumerate(texts):
        counts, words = reference(text, language)
        assert set(counts) == set(found.names)
        want = {name: np.float32(counts[name]) for name in found.names}
        assert dict(zip(found.names, found.counts[i], strict=True)) == want, text
        mine = found.word_text == i
        assert found.word_hash[mine].tolist() == [word_hash(word) for word, _, _ in words]
        assert found.word_is_capital[mine].tolist() == [capital for _, capital, _ in words]
        assert found.word_is_number[mine].tolist() == [number for _, _, number in words]


def assert_same(a: Scan, b: Scan) -> None:
    for name in ("counts", "word_hash", "word_text", "word_is_capital", "word_is_number"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# What it counts, by hand.


@pytest.mark.parametrize(
    ("text", "column", "count"),
    [
        ("I love my cat and my mother's garden", "possessive_first", 2),
        ("I love my cat and my mother's garden", "my_relation", 2),
        ("I love my cat and my mother's garden", "my_noun", 2),
        ("I'm sure I’d say so", "subject_first", 2),
        ("Im sure, and my own", "my_noun", 0),  # "own" is a function word
        ("I finally bought it. Sold hers.", "i_life_event", 1),  # no look across the sentence end
        ("I really quickly bought one", "i_life_event", 1),
        ("I and then she also bought one", "i_life_event", 0),
        ("I signed up yesterday", "i_life_event", 1),
        ("I worked on it, ended up there", "i_life_event", 1),  # phrases count where they begin
        ("I walked home and talked", "i_past_tense", 1),
        ("I walked home and talked", "regular_past", 2),
        ("Indeed the speed was red", "regular_past", 0),
        ("It no longer works, I used to like it", "retraction_phrases", 2),
        ("No. Longer texts", "retraction_phrases", 0),
        ("BY THE WAY, by the way", "by_the_way", 2),
        ("by\nthe way", "by_the_way", 0),
        ("I met Ann Lee in Rome. Paris is far", "capitals", 3),
        ("So I'm in. I am Bob", "capitals", 1),
        ("He paid 1,200.50 on 12/05/2023 at 7:30", "numbers", 3),
        ("12/05/2023, 2023-05-12, 5.12.23 and 1.2.3", "calendar_dates", 3),
        ("May 5th, 5 May, 5th May, the 5th of May and may", "calendar_dates", 4),
        ("at 7:30, 19:05:10, 7 pm, 8pm and 9 o'clock, not 1:2", "clock_times", 5),
        ("7:30 pm", "clock_times", 1),
        ("5 miles, 5kg, a 5-minute walk, $50, 20%, 30 €, miles 5", "number_units", 6),
        ("$5 dollars", "number_units", 1),
        ("Write a poem. Can you? And why not! Fine.", "request_sentences", 2),
        ("Write a poem. Can you? And why not! Fine.", "question_sentences", 1),
        ("Write a poem. Can you? And why not! Fine.", "statements", 2),
        ("Write a poem. Can you? And why not! Fine.", "opens_with_request", 1),
        ("1. Paris is big\n2) Rome\n- Oslo\n  * Bern\n-5 degrees\n2023. x", "list_lines", 4),
        ("I ate 12. Then 5. apples came", "sentences", 1),  # one or two digits: an ordinal
        ("I was there in 2019. Then I left.", "sentences", 2),
        ("Is it?!", "question_sentences", 1),
        ('He said "why?" and left', "question_sentences", 1),
        ("Wait... what? \n", "ends_with_question", 1),
        ("Wait? No", "ends_with_question", 0),
        ("thanks a lot", "opens_with_acknowledgement", 1),
        ("2 I am", "opens_with_i", 1),
        ("👍🏽 ❤️ ok 🎉", "emoji", 3),
        ("don't", "words", 1),
        ("'don''t' o'clock", "words", 3),
        ("extraordinary o'clock's but", "long_words", 2),
        ("ab abcd", "mean_word_length", 3),
        ("éé éééé", "mean_word_length", 3),
        ("ÉA Éa éa", "uppercase", 3),
        ('“quoted” "too" «hier» „da“', "quotes", 8),
        ("$5 €5 £5", "money_signs", 3),
        ("wonderful but terrible, fed up, good", "positive_valence", 5),  # 3 and 2
        ("wonderful but terrible, fed up, good", "negative_valence", 5),  # 3, and "fed up" 2
        ("wonderful but terrible, fed up, good", "absolute_valence", 10),
        ("I adore it, nice", "max_valence", 4),
        ("日本語。中文", "sentences", 2),
        ("日本語？", "question_sentences", 1),
        ("e\u0301te\u0301", "words", 1),
    ],
)
def test_counts_worked_by_hand(text: str, column: str, count: int) -> None:
    assert of(text).get(column, 0) == count


@pytest.mark.parametrize(
    ("text", "column", "count"),
    [
        ("Ich habe mir gestern ein neues Fahrrad gekauft.", "first_person", 2),
        ("Ich habe mir gestern ein neues Fahrrad gekauft.", "time_words", 1),
        ("Ich habe mir gestern ein neues Fahrrad gekauft.", "life_events", 1),
        ("ICH MÖCHTE GRÜßEN: TRÄUME", "goal_words", 1),
        ("Außerdem heißt DREIẞIG dreißig", "number_words", 2),
        ("Meine Schwester und mein Bruder", "my_relation", 2),
        ("MEINE MUTTER wohnt in Köln", "my_relation", 1),
        ("Am 5. Mai und am 12. März 2023 um 7.30 Uhr", "calendar_dates", 2),
        ("Am 5. Mai und am 12. März 2023 um 7.30 Uhr", "clock_times", 1),
        ("Am 5. Mai und am 12. März 2023 um 7.30 Uhr", "sentences", 1),
        ("Das kostet 50 € oder 3 kg Äpfel, 20 Prozent", "number_units", 3),
        ("Ich wohne nicht mehr in Berlin", "retraction_phrases", 1),
        ("Ich habe es mir anders überlegt", "retraction_phrases", 1),
        ("Ach übrigens, ich zog um", "by_the_way", 1),
        ("Ich habe gespielt und telefoniert, im Gebiet", "regular_past", 2),
        ("Könntest du mir helfen? Danke.", "request_sentences", 1),
        ("Wunderbar, aber schrecklich", "absolute_valence", 6),
        ("GRÖẞE und Übung über alles", "words", 5),
    ],
)
def test_german_counts_worked_by_hand(text: str, column: str, count: int) -> None:
    assert of(text, "de").get(column, 0) == count


def test_german_words_mean_nothing_to_the_english_lexicon() -> None:
    assert "possessive_first" not in of("meine Mutter")
    assert "possessive_first" not in of("my mother", "de")


def test_the_typographic_apostrophe_is_an_apostrophe() -> None:
    assert of("I don’t think I’m late") == of("I don't think I'm late")


def test_composed_and_decomposed_letters_are_one() -> None:
    assert_same(scan(["Mein Bru\u0308der"], "de"), scan(["Mein Br\u00fcder"], "de"))


def test_words_for_novelty_are_whole_lower_cased_words_and_numbers() -> None:
    found = scan(["I saw Ann's 3,000 Internationalizations", "", "ANN'S a 3,000"])
    want = ["saw", "ann's", "3,000", "internationalizations", "ann's", "3,000"]
    assert found.word_hash.tolist() == [word_hash(word) for word in want]
    assert found.word_text.tolist() == [0, 0, 0, 0, 2, 2]
    assert found.word_is_number.tolist() == [False, False, True, False, False, True]
    assert found.word_is_capital.tolist() == [False, True, False, True, False, False]


def test_different_words_have_different_hashes() -> None:
    words = {
        f"{a}{b}{c}"
        for a in ("", "pre", "internationalis")
        for b in "abcdefgh"
        for c in ("x", "xx", "able" * 9)
    }
    words |= {"a" * n for n in range(2, 80)} | {"ab" * n for n in range(1, 80)}
    assert len(set(scan(sorted(words)).word_hash.tolist())) == len(words)


# Exactness.


@given(st.lists(any_text, max_size=6), st.sampled_from(("en", "de")))
def test_any_texts_equal_the_reference(texts: list[str], language: str) -> None:
    assert_equal_to_reference(texts, language)


@given(st.lists(any_text, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_a_text_has_the_same_counts_in_any_company(texts: list[str], rng: random.Random) -> None:
    order = rng.sample(range(len(texts)), len(texts))
    batch, shuffled = scan(texts), scan([texts[i] for i in order])
    np.testing.assert_array_equal(batch.counts[order], shuffled.counts)
    for i, text in enumerate(texts):
        alone = scan([text])
        np.testing.assert_array_equal(alone.counts[0], batch.counts[i])
        mine = batch.word_text == i
        np.testing.assert_array_equal(alone.word_hash, batch.word_hash[mine])
        np.testing.assert_array_equal(alone.word_is_capital, batch.word_is_capital[mine])


@given(st.lists(any_text, max_size=12))
def test_the_cut_into_chunks_changes_nothing(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        whole = scan(texts)
        patch.setattr("memvalue.features.scan.CHUNK", 50)
        assert_same(scan(texts), whole)


@given(any_text)
def test_counts_are_finite_and_never_negative(text: str) -> None:
    counts = scan([text]).counts
    assert np.isfinite(counts).all() and (counts >= 0).all()


def test_every_character_of_unicode_is_legal_and_exact() -> None:
    step = 977  # every 977th, with different neighbours each: a prime, so blocks are met at all phases
    points = [chr(p) for p in range(0, 0x110000, step)]
    assert_equal_to_reference(["".join(points[i : i + 40]) for i in range(0, len(points), 40)])
    assert_equal_to_reference([f"a{c}a 1{c}1 {c}Bc. I{c}bought{c}?" for c in points[::7]])
    assert_equal_to_reference([f"x{c}my{c} {c}" for c, _ in FOLDS])


def test_only_the_first_4000_characters_count() -> None:
    long = "I bought 5 apples. " * 6000
    assert len(long) > 100_000
    found = scan([long, long[:HEAD], "é" * 100_000, "🎉" * 100_000])
    np.testing.assert_array_equal(found.counts[0], found.counts[1])
    assert found.column("bytes").tolist() == [4000, 4000, 8000, 16000]
    assert found.column("emoji")[3] == 4000


def test_words_and_numbers_of_any_length_are_exact() -> None:
    assert_equal_to_reference(["x" * n for n in (7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 4000)])
    assert_equal_to_reference(["ß" * 3999, "1" * 4000, "1." * 2000, "'" * 4000, "a'" * 2000, "中" * 4000])


def test_empty_and_blank_texts_count_nothing() -> None:
    found = scan(["", " ", "\n\n", "\0"])
    assert found.column("words").sum() == 0 and len(found.word_hash) == 0
    assert found.column("newlines").tolist() == [0, 0, 2, 0]
    empty = scan([])
    assert empty.counts.shape == (0, len(COLUMNS)) and empty.word_text.dtype == np.int64


def test_the_same_texts_give_the_same_bytes() -> None:
    texts = ["I moved to Köln on May 5th!", "ok"]
    assert_same(scan(texts), scan(texts))


# Errors.


def test_a_bare_string_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scan\(\[text\]\)"):
        scan("one text")


def test_what_is_no_string_is_named() -> None:
    with pytest.raises(ValueError, match="text 1 is a NoneType"):
        scan(["fine", None])  # type: ignore[list-item]


def test_an_unknown_language_or_column_names_the_choices() -> None:
    with pytest.raises(ValueError, match="choose one of de, en"):
        scan(["x"], language="fr")
    with pytest.raises(ValueError, match="no column 'wrods'; its columns are first_person"):
        scan(["x"]).column("wrods")


# Real text.


def test_real_turns_equal_the_reference(shared_data: SharedData) -> None:
    cases = json.loads(shared_data.longmemeval(questions=2).read_text("utf-8"))
    turns = list({t["content"]: 0 for case in cases for s in case["haystack_sessions"] for t in s})
    picked = random.Random(0).sample(turns, min(250, len(turns)))
    picked += [t for t in turns if not t.isascii()][:60]
    assert_equal_to_reference(picked)
    assert_equal_to_reference(picked[::6], "de")


@pytest.mark.slow
def test_many_real_turns_equal_the_reference(shared_data: SharedData) -> None:
    cases = json.loads(shared_data.longmemeval(questions=40).read_text("utf-8"))
    turns = list({t["content"]: 0 for case in cases for s in case["haystack_sessions"] for t in s})
    assert_equal_to_reference(random.Random(0).sample(turns, min(4000, len(turns))))
    assert_equal_to_reference([t for t in turns if not t.isascii()][:800], "de")
