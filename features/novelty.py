"""New words: what a memory says that the store has never heard.

The surprise of a memory is counted in distinct words that no earlier memory of the store contained,
whoever spoke. It is causal (only the past counts), so batch and online agree bit for bit. Raw counts
fall as the store grows, because a large store has heard most words; so a count is divided by what is
usual for a person's turn at this point of the history (`detrend`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.features.heard_words import HeardWords

#: A word is remembered as one bit of a table of this many. 2**27 bits are 16 MB whatever the length of the
#: history: a million memories leave about five million distinct words, so that a new word is taken for a
#: known one with probability 5e6 / 2**27 = 4 %; for a LongMemEval haystack (8,000 words) it is 0.006 %.
SLOT_BITS = 27

#: Buckets (as powers of two) in which first sights are found without sorting: as many as there are words, so
#: that on LongMemEval one word in twenty is left to the sort, and few enough to stay in a second-level cache.
_LEAST_BUCKETS = 10
_MOST_BUCKETS = 17

#: Running mean of new words in a person's turns: where it starts, and how much of it each turn keeps.
#: From the trial in targets (start 8, keep .97): a memory of about 33 turns of talk.
START = 8.0
KEEP = 0.97

#: Scale of the detrended count: the usual turn has 4 (trial).
USUAL = 4.0


def slots(word_hash: NDArray[np.uint64]) -> NDArray[np.int64]:
    """int64[m] in [0, 2**SLOT_BITS); the table slot of each word hash (its top bits)."""
    return (word_hash >> np.uint64(64 - SLOT_BITS)).astype(np.int64)


@dataclass
class Usual:
    """Running mean of new words in a person's turns, which `detrend` moves on."""

    mean: float = START


def new_words(
    word_hash: NDArray[np.uint64],
    owner: NDArray[np.int64],
    n: int,
    heard: HeardWords | None = None,
) -> NDArray[np.float64]:
    """float64[n]; distinct words of each memory that no earlier memory contained.

    Parameters
    ----------
    word_hash
        uint64[m]; the words of all memories in reading order.
    owner
        int64[m]; the memory of each word, never decreasing.
    n
        Number of memories.
    heard
        Words of memories before these; those of these memories are added.
    """
    slot = slots(word_hash)
    if heard is not None:
        unheard = ~heard.has(slot)
        slot, owner = slot[unheard], owner[unheard]
        heard.add(slot)
    if not len(slot):
        return np.zeros(n)
    if n == 1:
        return np.array([len(set(slot.tolist()))], dtype=np.float64)
    # Most words are settled without sorting: each drops its place into a bucket, the first place stays (the
    # last to be written, going backwards), and whoever finds its own slot there knows the slot's first place.
    bits = min(max(len(slot).bit_length(), _LEAST_BUCKETS), _MOST_BUCKETS)
    bucket = slot & ((1 << bits) - 1)
    places = np.arange(len(slot))
    table = np.empty(1 << bits, dtype=np.int64)
    table[bucket[::-1]] = places[::-1]
    first = table[bucket]
    fresh = owner[first == places]
    lost = np.flatnonzero(slot[first] != slot)
    if len(lost):
        # The rest shares its bucket with another slot: sorting (slot, owner) puts the first owner first.
        width = max(1, int(n - 1).bit_length())
        packed = np.sort((slot[lost] << width) | owner[lost])
        head = np.empty(len(packed), dtype=bool)
        head[0] = True
        np.not_equal(packed[1:] >> width, packed[:-1] >> width, out=head[1:])
        fresh = np.concatenate([fresh, packed[head] & ((1 << width) - 1)])
    return np.bincount(fresh, minlength=n).astype(np.float64)


def detrend(
    new: NDArray[np.float64], person: NDArray[np.bool_], usual: Usual | None = None
) -> NDArray[np.float64]:
    """float64[n]; new words against the usual of this point in the history: 4·new / (m + 1).

    m is the running mean of new words over the person's earlier turns: it starts at 8 and moves by 3 % a
    turn. The recursion is sequential by nature and is kept so: the stream at run time does the same sums in
    the same order, and so gets the same bits. It begins and ends with ``usual``, where that is given.
    """
    out = np.empty(len(new))
    mean = START if usual is None else usual.mean
    for i, (count, is_person) in enumerate(zip(new.tolist(), person.tolist(), strict=True)):
        out[i] = USUAL * count / (mean + 1.0)
        if is_person:
            mean = KEEP * mean + (1.0 - KEEP) * count
    if usual is not None:
        usual.mean = mean
    return out
