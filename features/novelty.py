"""New words: what a memory says that the store has never heard.

The surprise of a memory is counted in distinct words that no earlier memory of the store contained,
whoever spoke. It is causal (only the past counts), so batch and online agree bit for bit. Raw counts
fall as the store grows, because a large store has heard most words; so a count is divided by what is
usual for a person's turn at this point of the history (`detrend`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: A word is remembered as one bit of a table of this many. 2**27 bits are 16 MB whatever the length of the
#: history: a million memories leave about five million distinct words, so that a new word is taken for a
#: known one with probability 5e6 / 2**27 = 4 %; for a LongMemEval haystack (8,000 words) it is 0.006 %.
SLOT_BITS = 27

#: Running mean of new words in a person's turns: where it starts, and how much of it each turn keeps.
#: From the trial in targets (start 8, keep .97): a memory of about 33 turns of talk.
START = 8.0
KEEP = 0.97

#: Scale of the detrended count: the usual turn has 4 (trial).
USUAL = 4.0


def slots(word_hash: NDArray[np.uint64]) -> NDArray[np.int64]:
    """int64[m] in [0, 2**SLOT_BITS); the table slot of each word hash (its top bits)."""
    return (word_hash >> np.uint64(64 - SLOT_BITS)).astype(np.int64)


def new_words(word_hash: NDArray[np.uint64], owner: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """float64[n]; distinct words of each memory that no earlier memory contained.

    Parameters
    ----------
    word_hash
        uint64[m]; the words of all memories in reading order.
    owner
        int64[m]; the memory of each word, never decreasing.
    n
        Number of memories.
    """
    if not len(word_hash):
        return np.zeros(n)
    # Sorting (slot, owner) pairs puts the first owner of each slot first: it alone counts the word as new.
    width = max(1, int(n - 1).bit_length())
    packed = np.sort((slots(word_hash) << width) | owner)
    slot = packed >> width
    first = np.empty(len(packed), dtype=bool)
    first[0] = True
    np.not_equal(slot[1:], slot[:-1], out=first[1:])
    return np.bincount(packed[first] & ((1 << width) - 1), minlength=n).astype(np.float64)


def detrend(new: NDArray[np.float64], person: NDArray[np.bool_]) -> NDArray[np.float64]:
    """float64[n]; new words against the usual of this point in the history: 4·new / (m + 1).

    m is the running mean of new words over the person's earlier turns: it starts at 8 and moves by 3 % a
    turn. The recursion is sequential by nature and is kept so: the stream at run time does the same sums in
    the same order, and so gets the same bits.
    """
    out = np.empty(len(new))
    mean = START
    for i, (count, is_person) in enumerate(zip(new.tolist(), person.tolist(), strict=True)):
        out[i] = USUAL * count / (mean + 1.0)
        if is_person:
            mean = KEEP * mean + (1.0 - KEEP) * count
    return out
