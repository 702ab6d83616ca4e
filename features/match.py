"""How closely memories match what was declared: goals, or a value profile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memvalue.features.encoder import Encoder
from memvalue.features.lexicon import load_lexicon
from memvalue.features.scan import scan
from memvalue.features.unit_rows import unit_rows

#: What is declared: sentences, or vectors in the encoder's space (float[k, dim]; float[dim] for one).
Declared = Sequence[str] | NDArray[np.floating]


def check_declared(declared: Declared | None, what: str) -> None:
    """Raise ValueError for an empty declaration, one bare sentence, or what is neither text nor vectors."""
    if declared is None:
        return
    if isinstance(declared, str):
        raise ValueError(f"{what} is one text; {what} are lists of sentences, so write [text]")
    if isinstance(declared, np.ndarray):
        if declared.size == 0 or declared.ndim not in (1, 2) or declared.dtype.kind not in "fiu":
            raise ValueError(
                f"{what} is an array of {declared.dtype} of shape {declared.shape}; declared vectors are "
                "float[k, dim], and what is not declared is left out"
            )
        return
    if len(declared) == 0:
        raise ValueError(f"{what} is empty, so nothing is declared; leave it out instead")
    for i, sentence in enumerate(declared):
        if not isinstance(sentence, str):
            kind = type(sentence).__name__
            raise ValueError(f"{what}[{i}] is a {kind}, not a sentence; vectors go in one array")


def declared_target(declared: Declared | None, what: str, encoder: Encoder | None) -> Declared | None:
    """What `declared_match` takes: unit rows of vectors, or of sentences where there is an encoder."""
    if isinstance(declared, np.ndarray):
        return unit_rows(np.atleast_2d(declared), what)
    if declared is None or encoder is None:
        return declared
    return unit_rows(encoder.encode(list(declared)), what)


def declared_match(
    declared: Declared,
    word_hash: NDArray[np.uint64],
    owner: NDArray[np.int64],
    n: int,
    *,
    embedded: NDArray[np.float64] | None,
    language: str,
) -> NDArray[np.float32]:
    """float32[n] in [0, 1]; the best match of each memory with one of the declared goals or values.

    Vectors: the cosine, cut at 0. Sentences: the share of a sentence's content words found in the memory.
    NaN throughout when nothing that was declared has content (no word but function words; zero vectors).

    Parameters
    ----------
    declared
        As `declared_target` returned it.
    word_hash, owner
        uint64[m], int64[m]; words of all memories, and the memory of each.
    n
        Number of memories.
    embedded
        float64[n, d] of `unit_rows`.

    Raises
    ------
    ValueError
        For vectors without embeddings, or of another width.
    """
    if not isinstance(declared, np.ndarray):
        return _shared_words(declared, word_hash, owner, n, language)
    if embedded is None:
        raise ValueError("declared vectors need the memories' embeddings; pass an encoder or embeddings")
    if declared.shape[1] != embedded.shape[1]:
        raise ValueError(
            f"declared vectors have {declared.shape[1]} dimensions, the memories' {embedded.shape[1]}; "
            "encode both with the same encoder"
        )
    declared = declared[declared.any(axis=1)]
    if not len(declared):
        return np.full(n, np.nan, dtype=np.float32)
    return np.asarray(np.clip((embedded @ declared.T).max(axis=1), 0.0, 1.0), dtype=np.float32)


@lru_cache(maxsize=8)
def _function_words(language: str) -> NDArray[np.uint64]:
    """Hashes of the language's commonest words, which match everything and so mean nothing."""
    lexicon = load_lexicon(language)
    flagged = (lexicon.bits[1 : len(lexicon.words) + 1] & lexicon.bit("function_words")) != 0
    words = [word for word, flag in zip(lexicon.words, flagged, strict=True) if flag]
    return np.unique(scan(words, language).word_hash)


@lru_cache(maxsize=256)
def _content_words(sentence: str, language: str) -> NDArray[np.uint64]:
    """Sorted hashes of a sentence's words that are no function words."""
    return np.setdiff1d(scan([sentence], language).word_hash, _function_words(language))


def _shared_words(
    declared: Sequence[str], word_hash: NDArray[np.uint64], owner: NDArray[np.int64], n: int, language: str
) -> NDArray[np.float32]:
    """float32[n]; largest share of a sentence's content words found in the memory."""
    sentences = [_content_words(sentence, language) for sentence in declared]
    sentences = [wanted for wanted in sentences if len(wanted)]
    if not sentences:
        return np.full(n, np.nan, dtype=np.float32)
    best = np.zeros(n, dtype=np.float32)
    hits = np.isin(word_hash, np.concatenate(sentences))
    word_hash, owner = word_hash[hits], owner[hits]
    for wanted in sentences:
        place = np.minimum(np.searchsorted(wanted, word_hash), len(wanted) - 1)
        here = wanted[place] == word_hash
        # Distinct (memory, word) pairs: saying a word twice is no closer match.
        pairs = np.unique(owner[here] * len(wanted) + place[here])
        share = np.bincount(pairs // len(wanted), minlength=n) / len(wanted)
        best = np.maximum(best, share.astype(np.float32))
    return best
