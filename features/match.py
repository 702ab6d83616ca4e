"""How closely memories match what was declared: goals, or a value profile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memvalue.features.encoder import Encoder
from memvalue.features.lexicon import load_lexicon
from memvalue.features.scan import scan

#: What is declared: sentences, or vectors in the encoder's space (float[k, dim]).
Declared = Sequence[str] | NDArray[np.floating]


def declared_match(
    declared: Declared,
    texts: Sequence[str],
    word_hash: NDArray[np.uint64],
    owner: NDArray[np.int64],
    *,
    embedded: NDArray[np.float32] | None,
    encoder: Encoder | None,
    language: str,
) -> NDArray[np.float32]:
    """float32[n] in [0, 1]; the best match of each memory with one of the declared goals or values.

    With embeddings the cosine, cut at 0. Else the share of a declared sentence's content words that the
    memory contains.

    Raises
    ------
    ValueError
        For an empty declaration, vectors without embeddings, or vectors of another width.
    """
    if len(declared) == 0:
        raise ValueError("nothing is declared; leave goals or profile out instead of passing an empty list")
    n = len(texts)
    if isinstance(declared, np.ndarray):
        if embedded is None:
            raise ValueError("declared vectors need the memories' embeddings; pass an encoder or embeddings")
        target = np.atleast_2d(np.asarray(declared, dtype=np.float32))
    else:
        if isinstance(declared, str):
            raise ValueError("goals and profile are lists of sentences; write [text] for a single one")
        if embedded is None or encoder is None:
            return _shared_words(declared, word_hash, owner, n, language)
        target = encoder.encode(list(declared))
    if target.shape[1] != embedded.shape[1]:
        raise ValueError(
            f"declared vectors have {target.shape[1]} dimensions, the memories' {embedded.shape[1]}; "
            "encode both with the same encoder"
        )
    norms = np.linalg.norm(target, axis=1, keepdims=True)
    target = np.divide(target, norms, out=np.zeros_like(target), where=norms > 0)
    return np.asarray(np.clip((embedded @ target.T).max(axis=1), 0.0, 1.0), dtype=np.float32)


def _function_words(language: str) -> str:
    """The language's commonest words, which match everything and so mean nothing."""
    lexicon = load_lexicon(language)
    bit = lexicon.bit("function_words")
    flagged = lexicon.bits[1 : len(lexicon.words) + 1] & bit
    return " ".join(word for word, flag in zip(lexicon.words, flagged, strict=True) if flag)


def _shared_words(
    declared: Sequence[str], word_hash: NDArray[np.uint64], owner: NDArray[np.int64], n: int, language: str
) -> NDArray[np.float32]:
    """float32[n]; largest share of a sentence's content words found in the memory."""
    best = np.zeros(n, dtype=np.float32)
    common = np.unique(scan([_function_words(language)], language).word_hash)
    for sentence in declared:
        wanted = np.setdiff1d(scan([sentence], language).word_hash, common)
        if not len(wanted):
            continue
        hits = np.isin(word_hash, wanted)
        # Distinct (memory, word) pairs: saying a word twice is no closer match.
        place = np.searchsorted(wanted, word_hash[hits])
        pairs = np.unique(owner[hits] * len(wanted) + place)
        share = np.bincount(pairs // len(wanted), minlength=n) / len(wanted)
        best = np.maximum(best, share.astype(np.float32))
    return best
