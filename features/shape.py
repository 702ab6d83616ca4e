"""Small functions of the lexical evidence that several factors share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.features.evidence import Evidence

Column = NDArray[np.float32]

_SINGLE = np.dtype(np.float32)
_NONE: Any = np.float32(0.0)


def single(x: NDArray[np.floating]) -> Column:
    """``x`` as float32; itself where it is that already (np.asarray would make an array of a number)."""
    return x if x.dtype is _SINGLE else x.astype(np.float32)


def choose(which: NDArray[np.bool_], yes: Column, no: Column) -> Column:
    """np.where, which takes 2 µs to choose between two numbers."""
    if isinstance(which, np.ndarray):
        return single(np.where(which, yes, no))
    return yes if which else no


def known(x: Column) -> Column:
    """``x``, and 0 where it is NaN."""
    return choose(np.isnan(x), _NONE, x)


def unit(x: Column) -> Column:
    """``x`` cut to [0, 1] (np.clip takes 3 µs for one number)."""
    return np.minimum(np.maximum(x, 0.0), 1.0)


def saturate(x: Column, k: float) -> Column:
    """1 − exp(−x/k) in [0, 1): the first occurrences say most, and no count can dominate."""
    return single(1.0 - np.exp(-x / np.float32(k)))


def per_twenty_words(e: Evidence, name: str) -> Column:
    """Occurrences of ``name`` a 20 words; five words are added so that a two-word text has no huge rate."""
    return single(20.0 * e[name] / (e["words"] + 5.0))


def statement(e: Evidence) -> Column:
    """In [0, 1]: 1 for a text that asks nothing, 0 for one that ends in a question."""
    asked = e["ends_with_question"] + 0.5 * saturate(e["question_marks"], 1.0)
    return single(1.0 - unit(asked))


def natural(e: Evidence) -> Column:
    """In (0, 1]: 1 for plain talk; falls with extra lines and code, which mark pasted text."""
    lines = np.maximum(e["newlines"] - 1.0, 0.0)
    return single(np.exp(-lines / 2.0 - e["code_chars"] / 3.0))


def unhedged(e: Evidence) -> Column:
    """In (0, 1]: 1 without a hedge, e⁻¹ with two."""
    return single(np.exp(-e["hedges"] / 2.0))


def no_refusal(e: Evidence) -> Column:
    """In (0, 1]: 1 without words of refusal."""
    return single(np.exp(-e["refusals"] / 1.5))
