"""Small functions of the lexical evidence that several factors share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.features.evidence import Evidence

Column = NDArray[np.float32]


def saturate(x: Column, k: float) -> Column:
    """1 − exp(−x/k) in [0, 1): the first occurrences say most, and no count can dominate."""
    return np.asarray(1.0 - np.exp(-x / np.float32(k)), dtype=np.float32)


def per_twenty_words(e: Evidence, name: str) -> Column:
    """Occurrences of ``name`` a 20 words; five words are added so that a two-word text has no huge rate."""
    return np.asarray(20.0 * e[name] / (e["words"] + 5.0), dtype=np.float32)


def statement(e: Evidence) -> Column:
    """In [0, 1]: 1 for a text that asks nothing, 0 for one that ends in a question."""
    asked = e["ends_with_question"] + 0.5 * saturate(e["question_marks"], 1.0)
    return np.asarray(1.0 - np.clip(asked, 0.0, 1.0), dtype=np.float32)


def natural(e: Evidence) -> Column:
    """In (0, 1]: 1 for plain talk; falls with extra lines and code, which mark pasted text."""
    lines = np.maximum(e["newlines"] - 1.0, 0.0)
    return np.asarray(np.exp(-lines / 2.0 - e["code_chars"] / 3.0), dtype=np.float32)


def unhedged(e: Evidence) -> Column:
    """In (0, 1]: 1 without a hedge, e⁻¹ with two."""
    return np.asarray(np.exp(-e["hedges"] / 2.0), dtype=np.float32)


def no_refusal(e: Evidence) -> Column:
    """In (0, 1]: 1 without words of refusal."""
    return np.asarray(np.exp(-e["refusals"] / 1.5), dtype=np.float32)
