"""Keys of words: eight bytes or fewer are their own key, longer ones a 64-bit hash checked byte by byte.

For a word of at most 8 bytes the key is the word itself, read as a little-endian integer, so a lookup is
exact. A longer word is looked up by its hash with the top byte forced to 0xFF, which no UTF-8 text holds, so
it never equals a short word's key; the lexicon then compares all of its bytes (``Lexicon.lookup``).

The mixing is a murmur-style finaliser: odd multiplications and shifted exclusive-ors, each a bijection of 64
bits, so two different words of at most 8 bytes never share a hash.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memvalue.features.scan_bytes import Bytes, Ints, where

Keys = npt.NDArray[np.uint64]

#: Longest lexicon word in bytes: four blocks of eight. Longer entries are refused when loaded.
MAX_WORD = 32
#: Odd multipliers of the finaliser (the golden ratio's and murmur3's well-spread constants).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SECOND = np.uint64(0xFF51AFD7ED558CCD)
#: Marks the key of a word longer than 8 bytes.
LONG_MARK = np.uint64(0xFF << 56)

_MASK = np.array([(1 << (8 * size)) - 1 for size in range(9)], np.uint64)


def mix(x: Keys) -> Keys:
    """[k] bijective scramble of 64-bit integers."""
    x = (x ^ (x >> np.uint64(32))) * GOLDEN
    x ^= x >> np.uint64(29)
    x *= SECOND
    x ^= x >> np.uint64(32)
    return x


class Blocks:
    """Eight-byte reads at any offset of a buffer that ends with at least ``MAX_WORD`` spare bytes."""

    def __init__(self, lower: Bytes) -> None:
        self._words = lower[: len(lower) // 8 * 8].view("<u8")

    def read(self, at: Ints, size: Ints) -> Keys:
        """[k] little-endian integers of ``size`` bytes (at most 8 are read) at offsets ``at``."""
        index, shift = at >> 3, ((at & 7) << 3).view(np.uint64)
        low = self._words.take(index) >> shift
        # Two shifts, because one by 64 (an aligned read) is undefined.
        high = (self._words.take(index + 1) << np.uint64(1)) << (np.uint64(63) - shift)
        out: Keys = (low | high) & _MASK.take(np.minimum(size, 8))
        return out

    def read_words(self, at: Ints, size: Ints) -> Keys:
        """[k, MAX_WORD / 8] first ``MAX_WORD`` bytes of words of ``size`` bytes at ``at``, zero-padded."""
        step = np.arange(0, MAX_WORD, 8)
        return self.read(at[:, None] + step, np.maximum(size[:, None] - step, 0))


def word_keys(blocks: Blocks, start: Ints, size: Ints) -> tuple[Keys, Keys, Ints]:
    """Lookup keys [T], hashes [T], and the indices of words longer than 8 bytes.

    ``start`` and ``size`` are in bytes. hash(word) = mix(block) for at most 8 bytes; for longer words
    mix(size·GOLDEN + Σ_j mix(block_j + (j + 1)·GOLDEN)) modulo 2^64, blocks of 8 bytes padded with zeros.
    """
    long = where(size > 8)
    if not len(long):
        keys = blocks.read(start, size)
        return keys, mix(keys), long
    s, z = start[long], size[long]
    count = (z + 7) >> 3
    first = count.cumsum() - count
    j = np.arange(int(count.sum())) - first.repeat(count)
    step = 8 * j
    # The blocks of long words behind the first blocks of all: one pass, whose fixed cost a lone turn feels.
    total = len(start)
    read = blocks.read(
        np.concatenate([start, s.repeat(count) + step]), np.concatenate([size, z.repeat(count) - step])
    )
    keys = read[:total].copy()
    read[total:] += (j + 1).view(np.uint64) * GOLDEN
    mixed = mix(read)
    hashes = mixed[:total]
    whole = mix(np.add.reduceat(mixed[total:], first) + z.view(np.uint64) * GOLDEN)
    hashes[long] = whole
    keys[long] = whole | LONG_MARK
    return keys, hashes, long
