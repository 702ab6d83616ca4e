"""Matches with declared goals and values, by words and by vectors."""

from __future__ import annotations

import numpy as np
import pytest

from memvalue.features.match import check_declared, declared_match, declared_target
from memvalue.features.scan import scan
from memvalue.features.unit_rows import unit_rows


class TwoWords:
    """An encoder that knows "music" and "money"."""

    name, dim = "two-words", 2

    def encode(self, texts: list[str]) -> np.ndarray:
        rows = np.array([[t.count("music"), t.count("money")] for t in texts], np.float32).reshape(-1, 2)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def by_words(declared: list[str], texts: list[str], language: str = "en") -> list[float]:
    found = scan(texts, language)
    match = declared_match(
        declared, found.word_hash, found.word_text, len(texts), embedded=None, language=language
    )
    return match.tolist()


def by_vectors(declared: object, texts: list[str]) -> list[float]:
    encoder, found = TwoWords(), scan(texts)
    target = declared_target(declared, "goals", encoder)  # type: ignore[arg-type]
    assert target is not None
    embedded = unit_rows(encoder.encode(texts), "embeddings")
    match = declared_match(
        target, found.word_hash, found.word_text, len(texts), embedded=embedded, language="en"
    )
    return match.tolist()


def test_words_match_by_the_share_of_content_words_found() -> None:
    # Content words: learn, play, guitar (to and the are everywhere).
    found = by_words(
        ["learn to play the guitar"],
        [
            "My GUITAR teacher says play, play, play!",
            "the to the",
            "",
            "I learn, I play: a guitar",
            "guitars",
        ],
    )
    np.testing.assert_allclose(found, [2 / 3, 0, 0, 1, 0], rtol=1e-6)


def test_the_best_of_several_sentences_counts() -> None:
    found = by_words(["buy a house", "learn French"], ["French house", "learn French", "a"])
    np.testing.assert_allclose(found, [0.5, 1, 0])


def test_a_sentence_without_content_is_left_out_and_nothing_else_can_be_said_of_it_alone() -> None:
    texts = ["I want to be there", "house"]
    assert by_words(["to be", "", "buy a house"], texts) == by_words(["buy a house"], texts)
    assert np.isnan(by_words(["to the", "🎉"], texts)).all()


def test_another_language_has_its_own_function_words() -> None:
    found = by_words(["das Haus kaufen"], ["Das ist das", "ein Haus"], "de")
    np.testing.assert_allclose(found, [0, 0.5])


def test_with_an_encoder_sentences_match_by_cosine() -> None:
    found = by_vectors(["more music", "music and money"], ["music", "money money", "neither", "music money"])
    np.testing.assert_allclose(found, [1, 0.5**0.5, 0, 1], atol=1e-6)
    assert np.isnan(by_vectors(["nothing known"], ["music", "money"])).all()


def test_declared_vectors_of_any_length_match_by_cosine_cut_at_zero() -> None:
    texts = ["music", "money", "neither"]
    np.testing.assert_allclose(by_vectors(np.array([[3.0, 4.0]]), texts), [0.6, 0.8, 0], atol=1e-6)
    assert by_vectors(np.array([3.0, 4.0]), texts) == by_vectors(np.array([[3.0, 4.0]]), texts)
    assert by_vectors(np.array([[-1, 0]]), texts) == [0, 0, 0]


def test_vectors_need_embeddings_of_the_same_width() -> None:
    target = unit_rows(np.ones((1, 3)), "goals")
    nothing = np.empty(0, np.uint64), np.empty(0, np.int64)
    with pytest.raises(ValueError, match="pass an encoder or embeddings"):
        declared_match(target, *nothing, 1, embedded=None, language="en")
    with pytest.raises(ValueError, match="3 dimensions, the memories' 2"):
        declared_match(target, *nothing, 1, embedded=np.ones((1, 2)), language="en")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ([], "goals is empty"),
        ("learn French", r"write \[text\]"),
        (np.zeros((0, 4)), r"shape \(0, 4\)"),
        (np.array(1.0), r"shape \(\)"),
        (np.array(["learn French"]), "array of <U12"),
        (["fine", [0.5, 0.5]], r"goals\[1\] is a list, not a sentence; vectors go in one array"),
    ],
)
def test_what_cannot_be_declared_is_refused_with_the_remedy(declared: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_declared(declared, "goals")  # type: ignore[arg-type]


def test_what_can_be_declared_passes() -> None:
    for declared in (None, ["learn French"], ("a", "b"), np.ones(3), np.ones((2, 3), np.float32)):
        check_declared(declared, "goals")


def test_declared_vectors_must_be_finite() -> None:
    with pytest.raises(ValueError, match="row 0 of profile holds NaN"):
        declared_target(np.array([np.nan, 1.0]), "profile", None)
