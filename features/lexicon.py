"""Lexicons: a language is a folder of plain word files, read once and laid out for exact vectorised lookup.

A folder ``lexicons/<language>/`` holds ``<group>.txt`` for every group of ``scan_columns.GROUPS`` and
``SUPPORT_GROUPS``, ``valence.txt`` and ``regular_past.txt``; each opens with comment lines that name its
``# Source:`` and ``# Licence:``. In a group file a line is an entry: a word, or a phrase of two to four
words. In ``valence.txt`` a tab and a whole number from -4 (worst) to 4 (best) follow the entry. In
``regular_past.txt`` a line is ``ge*t 6 lower``: a form with one star, the least number of letters, and
optionally ``lower`` if a capitalised word is none. Adding a language is adding a folder.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise

import numpy as np

from memvalue.features.scan_bytes import Bools, Ints, Tokens, fold, tokenise, where
from memvalue.features.scan_columns import GROUPS, SUPPORT_GROUPS
from memvalue.features.scan_keys import MAX_WORD, Blocks, Keys, word_keys

#: Slots of the word table, as a power of two: a few thousand words leave nine slots of ten empty, so a word
#: outside the lexicon is mostly settled by one read, and the table stays within a second-level cache.
SLOT_BITS = 15
#: Words of the longest phrase; a phrase's key packs that many word numbers into one 64-bit integer.
MAX_PHRASE = 4
_ID_BITS = 15

_ALL_GROUPS = (*GROUPS, *SUPPORT_GROUPS)
_BIT = {name: np.uint64(1 << i) for i, name in enumerate(_ALL_GROUPS)}


class LexiconError(ValueError):
    """A language is not there, or one of its files is wrong; the message says how to mend it."""


@dataclass(frozen=True)
class Pattern:
    """A shape of regular past forms: ``prefix``, anything, ``suffix``; at least ``letters`` letters."""

    prefix: bytes
    suffix: bytes
    letters: int
    lower_only: bool


@dataclass(frozen=True)
class Lexicon:
    """One language's words, ready for lookup.

    Entries are numbered from 1: words first, then phrases; 0 is "no entry". K words, E entries.
    """

    language: str
    digest: str  # SHA-256 over names and contents of the language's files, for cache keys
    words: tuple[str, ...]  # [K] entry i is words[i - 1]
    phrases: tuple[tuple[str, ...], ...]  # [E - K] entry K + 1 + i is phrases[i]
    patterns: tuple[Pattern, ...]
    bits: Keys  # [E + 1] groups of an entry, bit order GROUPS then SUPPORT_GROUPS
    valence: Ints  # [E + 1] -4..4, 0 for entries without feeling
    group_of: Ints  # [E + 1, most groups of an entry] columns of GROUPS, -1 where there are fewer
    _slots: Ints = field(repr=False)  # [2**SLOT_BITS] first entry of a slot
    _next: Ints = field(repr=False)  # [K + 1] next entry of the same slot
    _keys: Keys = field(repr=False)  # [K + 1]
    _sizes: Ints = field(repr=False)  # [K + 1] bytes
    _blocks: Keys = field(repr=False)  # [K + 1, MAX_WORD / 8] the words themselves
    _heads: Bools = field(repr=False)  # [K + 1] word opens a phrase
    _seconds: Bools = field(repr=False)  # [K + 1] word is the second of a phrase
    _tables: tuple[tuple[Ints, Ints], ...] = field(repr=False)  # for 2, 3, 4 words: sorted keys, entries

    @staticmethod
    def bit(group: str) -> np.uint64:
        """The bit of a group in ``bits``."""
        return _BIT[group]

    def lookup(self, tokens: Tokens) -> tuple[Ints, Keys]:
        """Entry of every token [T] (0: none) and its 64-bit hash [T]. Exact: see scan_keys."""
        blocks, size = Blocks(tokens.lower), tokens.end - tokens.start
        keys, hashes, long = word_keys(blocks, tokens.start, size)
        entry = self._slots.take((hashes >> np.uint64(64 - SLOT_BITS)).view(np.int64))
        other = where((self._keys.take(entry) != keys) & (entry != 0))
        while len(other):
            entry[other] = step = self._next[entry[other]]
            other = other[(step != 0) & (self._keys[step] != keys[other])]
        long = long[entry[long] != 0]
        if len(long):
            # Their keys are hashes, so compare every byte.
            found = entry[long]
            whole = blocks.read_words(tokens.start[long], size[long])
            same = (self._sizes[found] == size[long]) & (self._blocks[found] == whole).all(1)
            entry[long[~same]] = 0
        return entry, hashes

    def match_phrases(self, entry: Ints, tokens: Tokens) -> tuple[Ints, Ints]:
        """First token and entry of every phrase, given the words' entries [T]; each within one sentence."""
        head = where(self._heads.take(entry[:-1]) & self._seconds.take(entry[1:]))
        key = entry[head]
        at, found = [], []
        for step, (table, entries) in enumerate(self._tables, start=1):
            inside = head.searchsorted(len(entry) - step)
            head, key = head[:inside], key[:inside]
            inside = tokens.sentence[head + step] == tokens.sentence[head]
            head, key = head[inside], key[inside]
            if not len(head):
                break
            key = (key << _ID_BITS) | entry[head + step]
            if len(table):
                place = table.searchsorted(key)
                hit = where(table.take(place, mode="clip") == key)
                if len(hit):
                    at.append(head[hit])
                    found.append(entries[place[hit]])
        none = np.empty(0, np.int64)
        return (np.concatenate(at), np.concatenate(found)) if at else (none, none)

    @classmethod
    def read(cls, folder: Traversable, language: str) -> Lexicon:
        """The language in ``folder``. Raises LexiconError naming file and line of whatever is wrong."""
        sources = _sources(folder, language)
        entries: dict[str, tuple[int, int]] = {}  # entry -> group bits, valence
        for group in _ALL_GROUPS:
            for _, line in _lines(sources, group):
                bits, valence = entries.get(line, (0, 0))
                entries[line] = bits | int(_BIT[group]), valence
        for number, line in _lines(sources, "valence"):
            text, _, grade = line.partition("\t")
            if grade.strip().lstrip("-") not in ("1", "2", "3", "4"):
                raise LexiconError(
                    f"{language}/valence.txt line {number}: write the entry, a tab and a whole number "
                    f"from -4 to 4 other than 0, not {line!r}"
                )
            bits, valence = entries.get(text, (0, 0))
            if valence:
                raise LexiconError(
                    f"{language}/valence.txt line {number}: {text!r} is graded twice; keep one"
                )
            entries[text] = bits, int(grade)
        patterns = tuple(
            _pattern(line, f"{language}/regular_past.txt line {number}")
            for number, line in _lines(sources, "regular_past")
        )
        return cls._build(language, _digest(sources), entries, patterns)

    @classmethod
    def _build(
        cls, language: str, digest: str, entries: dict[str, tuple[int, int]], patterns: tuple[Pattern, ...]
    ) -> Lexicon:
        split = _split(list(entries), language)
        number: dict[str, int] = {}
        for words in split:
            for word in words:
                number.setdefault(word, len(number) + 1)
        # Two entries that fold to the same words (naïve in two normal forms) are one entry.
        phrase_number: dict[tuple[str, ...], int] = {}
        for words in split:
            if len(words) > 1:
                phrase_number.setdefault(words, len(number) + len(phrase_number) + 1)
        if len(number) >= 1 << _ID_BITS:
            raise LexiconError(f"{language}: {len(number)} words are too many; at most {(1 << _ID_BITS) - 1}")
        total = len(number) + len(phrase_number) + 1
        bits, valence = np.zeros(total, np.uint64), np.zeros(total, np.int64)
        for words, (group_bits, grade) in zip(split, entries.values(), strict=True):
            entry = number[words[0]] if len(words) == 1 else phrase_number[words]
            bits[entry] |= np.uint64(group_bits)
            valence[entry] = grade or valence[entry]
        heads, seconds = np.zeros(len(number) + 1, np.bool_), np.zeros(len(number) + 1, np.bool_)
        keyed: list[list[tuple[int, int]]] = [[] for _ in range(2, MAX_PHRASE + 1)]
        for words, entry in phrase_number.items():
            key = 0
            for word in words:
                key = key << _ID_BITS | number[word]
            keyed[len(words) - 2].append((key, entry))
            heads[number[words[0]]] = seconds[number[words[1]]] = True
        tables = tuple(
            (np.array([k for k, _ in pairs], np.int64), np.array([e for _, e in pairs], np.int64))
            for pairs in map(sorted, keyed)
        )
        slots, following, keys, sizes, blocks = _table(list(number))
        return cls(
            language=language,
            digest=digest,
            words=tuple(number),
            phrases=tuple(phrase_number),
            patterns=patterns,
            bits=bits,
            valence=valence,
            group_of=_columns(bits),
            _slots=slots,
            _next=following,
            _keys=keys,
            _sizes=sizes,
            _blocks=blocks,
            _heads=heads,
            _seconds=seconds,
            _tables=tables,
        )


def languages() -> tuple[str, ...]:
    """The languages shipped, sorted."""
    return tuple(sorted(f.name for f in _root().iterdir() if f.is_dir() and not f.name.startswith("_")))


@lru_cache(maxsize=8)
def load_lexicon(language: str = "en") -> Lexicon:
    """The shipped lexicon of a language, read once. Raises LexiconError for a language that is not there."""
    if language not in languages():
        raise LexiconError(f"no lexicon for language {language!r}; choose one of {', '.join(languages())}")
    return Lexicon.read(_root() / language, language)


def _root() -> Traversable:
    return files("memvalue.features") / "lexicons"


def _sources(folder: Traversable, language: str) -> dict[str, str]:
    """Text of every file of a language by stem; all there, none unknown, each with source and licence."""
    wanted = (*_ALL_GROUPS, "valence", "regular_past")
    found = {f.name: f for f in folder.iterdir() if f.is_file()}
    missing = [name for name in wanted if f"{name}.txt" not in found]
    unknown = sorted(set(found) - {f"{name}.txt" for name in wanted})
    if missing or unknown:
        raise LexiconError(
            f"lexicon {language!r}: missing files {[f'{name}.txt' for name in missing]}, unknown files "
            f"{unknown}; a language holds one file a word group (an empty group is a file of comments)"
        )
    sources = {}
    for name in wanted:
        try:
            # Checkouts that turn line ends into CRLF must not change the digest.
            text = found[f"{name}.txt"].read_bytes().decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise LexiconError(f"{language}/{name}.txt is not UTF-8 ({error}); save it as UTF-8") from None
        for need in ("# Source:", "# Licence:"):
            if need not in text:
                raise LexiconError(
                    f"{language}/{name}.txt has no line {need!r}; say where its words come from"
                )
        sources[name] = text
    return sources


def _lines(sources: dict[str, str], name: str) -> list[tuple[int, str]]:
    """Line numbers and stripped lines of a file, without comments and blanks."""
    lines = ((k, line.strip()) for k, line in enumerate(sources[name].split("\n"), start=1))
    return [(k, line) for k, line in lines if line and line[0] != "#"]


def _digest(sources: dict[str, str]) -> str:
    state = hashlib.sha256()
    for name, text in sorted(sources.items()):
        data = text.encode()
        state.update(f"{name} {len(data)}\n".encode() + data)
    return state.hexdigest()


def _pattern(line: str, where: str) -> Pattern:
    form = re.fullmatch(r"([^\s*]*)\*([^\s*]+)\s+(\d+)(\s+lower)?", line)
    if not form:
        raise LexiconError(
            f"{where}: write a form with one star, a number of letters, and 'lower' or nothing"
        )
    if int(form[3]) < len(form[1]) + len(form[2]):
        raise LexiconError(f"{where}: {form[3]} letters are fewer than the form itself shows")
    return Pattern(form[1].encode(), form[2].encode(), int(form[3]), bool(form[4]))


def _split(entries: list[str], language: str) -> list[tuple[str, ...]]:
    """Entries as lower-case words, by the very tokeniser that reads texts."""
    tokens = tokenise([fold(entry) for entry in entries])
    first, beyond = tokens.token_bounds[:-1], tokens.token_bounds[1:]
    count = beyond - first

    def refuse(wrong: Ints, why: str) -> None:
        if len(wrong):
            raise LexiconError(f"lexicon {language!r}: {entries[wrong[0]]!r} {why}")

    refuse(where((count < 1) | (count > MAX_PHRASE)), f"must be one to {MAX_PHRASE} words")
    refuse(tokens.token_text[where(tokens.is_number)], "holds a number; entries are words of letters")
    long = where(tokens.end - tokens.start > MAX_WORD)
    refuse(tokens.token_text[long], f"has a word of more than {MAX_WORD} bytes")
    torn = where(tokens.sentence[first] != tokens.sentence[beyond - 1])
    refuse(torn, "goes over a sentence end and would never match")
    data, bounds = tokens.lower.tobytes(), tokens.token_bounds.tolist()
    spans = zip(tokens.start.tolist(), tokens.end.tolist(), strict=True)
    words = [data[a:b].decode() for a, b in spans]
    return [tuple(words[a:b]) for a, b in pairwise(bounds)]


def _table(words: list[str]) -> tuple[Ints, Ints, Keys, Ints, Keys]:
    """First entry of each slot, next entry of each entry; keys, sizes and bytes of entries (0 is unused)."""
    tokens = tokenise(words)
    blocks, start, size = Blocks(tokens.lower), tokens.start, tokens.end - tokens.start
    found, hashes, _ = word_keys(blocks, start, size)
    keys = np.concatenate([np.zeros(1, np.uint64), found])
    sizes = np.concatenate([np.zeros(1, np.int64), size])
    whole = np.concatenate([np.zeros((1, MAX_WORD // 8), np.uint64), blocks.read_words(start, size)])
    if len(np.unique(keys)) != len(keys):
        raise LexiconError("two long words of the lexicon share a hash; leave one of them out")
    slots, following = [0] * (1 << SLOT_BITS), [0] * (len(words) + 1)
    for entry, slot in enumerate((hashes >> np.uint64(64 - SLOT_BITS)).tolist(), start=1):
        slots[slot], following[entry] = entry, slots[slot]
    return np.array(slots, np.int64), np.array(following, np.int64), keys, sizes, whole


def _columns(bits: Keys) -> Ints:
    """[E + 1, m] the columns of GROUPS of every entry, packed to the left, -1 beyond."""
    member = (bits[:, None] >> np.arange(len(GROUPS), dtype=np.uint64)) & np.uint64(1)
    count = member.sum(1).astype(np.int64)
    out = np.full((len(bits), max(int(count.max(initial=0)), 1)), -1, np.int64)
    entry, column = np.nonzero(member)
    first = np.cumsum(count) - count
    out[entry, np.arange(len(entry)) - first[entry]] = column
    return out
