"""The lexical scan: every count that the factors need, from one vectorised pass over a batch of texts.

Texts -> bytes and tokens (scan_bytes) -> lexicon entries (lexicon) -> counts (scan_counts). Exact: equal, bit
for bit, to a character-by-character reference (tests/features/reference_scan.py), and a text's counts do not
depend on the batch it is in. Columns and their meanings: scan_columns. Throughput: benchmarks/scan.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memvalue.features.lexicon import Lexicon, load_lexicon
from memvalue.features.scan_bytes import HEAD, Bools, Ints, fold, tokenise, where
from memvalue.features.scan_columns import COLUMNS
from memvalue.features.scan_counts import Counter

#: Characters of heads scanned at once; bounds the working memory to tens of megabytes whatever the batch.
#: Measured on LongMemEval turns: 32, 36, 38, 41, 39 thousand turns a second at 2^17 to 2^21.
CHUNK = 1 << 19


@dataclass(frozen=True)
class Scan:
    """Counts of n texts, and their words for novelty.

    ``counts[i, j]`` is column ``names[j]`` of text i. The words are all words and numbers of the heads in
    reading order, single ASCII letters left out: ``word_text`` (which text, never decreasing), ``word_hash``
    (of the whole lower-cased word; different words of at most 8 bytes never share one, longer ones with
    probability 2^-64), ``word_is_capital`` (capitalised inside a sentence, as in the column ``capitals``: a
    likely name) and ``word_is_number``.
    """

    names: tuple[str, ...]
    counts: npt.NDArray[np.float32]  # [n, len(names)], finite, >= 0
    word_hash: npt.NDArray[np.uint64]  # [total]
    word_text: Ints  # [total]
    word_is_capital: Bools  # [total]
    word_is_number: Bools  # [total]

    def column(self, name: str) -> npt.NDArray[np.float32]:
        """[n] one column. Raises ValueError for a name that is none."""
        if name not in self.names:
            raise ValueError(f"the scan has no column {name!r}; its columns are {', '.join(self.names)}")
        return self.counts[:, self.names.index(name)]


def scan(texts: Sequence[str], language: str = "en") -> Scan:
    """Scan the first 4,000 characters of every text with the lexicon of ``language``.

    Any string is legal (empty, emoji, right to left, NULs, lone surrogates, 100,000 characters). Raises
    ValueError for a bare string or something that is no string, LexiconError (a ValueError) for a language
    that is not shipped.
    """
    if isinstance(texts, str):
        raise ValueError("scan needs a list of texts, not one text: write scan([text])")
    lexicon = load_lexicon(language)
    counts = np.zeros((len(texts), len(COLUMNS)), np.float32)
    parts = [
        _scan_chunk(chunk, first, lexicon, counts[first : first + len(chunk)])
        for first, chunk in _chunks(texts)
    ]
    parts.append(
        (np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.bool_), np.empty(0, np.bool_))
    )
    hashes, owners, capitals, numbers = zip(*parts, strict=True)
    return Scan(
        names=COLUMNS,
        counts=counts,
        word_hash=np.concatenate(hashes),
        word_text=np.concatenate(owners),
        word_is_capital=np.concatenate(capitals),
        word_is_number=np.concatenate(numbers),
    )


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of folded heads of about ``CHUNK`` characters, each with its first index."""
    chunk: list[str] = []
    first = size = 0
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"text {i} is a {type(text).__name__}, not a string; convert or leave it out")
        head = fold(text)
        chunk.append(head)
        size += len(head) + HEAD // 100  # a text costs something even when empty
        if size >= CHUNK:
            yield first, chunk
            chunk, first, size = [], i + 1, 0
    if chunk:
        yield first, chunk


def _scan_chunk(
    chunk: list[str], first: int, lexicon: Lexicon, out: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.uint64], Ints, Bools, Bools]:
    """Write a chunk's counts to ``out`` [n, columns]; return its words for novelty."""
    tokens = tokenise(chunk)
    entry, hashes = lexicon.lookup(tokens)
    counter = Counter(tokens, entry, lexicon)
    counter.count(chunk, out)
    worth = where((tokens.end - tokens.start > 1) | tokens.is_number)
    capital = np.zeros(len(entry), np.bool_)
    capital[counter.capitals] = True
    return (
        hashes.take(worth),
        tokens.token_text.take(worth) + first,
        capital.take(worth),
        tokens.is_number.take(worth),
    )
