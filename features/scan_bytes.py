"""From texts to tokens: folding, one byte buffer for a batch, character classes, word boundaries.

Only the first ``HEAD`` characters of a text are read. They are folded, once, as strings (ASCII texts need no
folding): Unicode normal form C, then ``FOLDS`` (typographic signs to their ASCII relatives). Everything
after that is arithmetic on the UTF-8 bytes of all texts together.

Definitions, all on folded text:

- *letter*: Unicode category L, or a mark (Mn, Mc) other than a variation selector; *digit*: category Nd;
  *upper case*: Lu or Lt. Scripts without spaces therefore give one word a run of letters.
- *word*: a maximal run of letters, with single apostrophes between two letters (don't, o'clock).
- *number*: a maximal run of digits, with single ``, - . / :`` between two digits: 1,200.50, 2023-05-12, 7:30.
- *sentence end*: a line feed; or ``. ! ?`` followed by white space, the end, or one of ``" ' ) ] *``. A full
  stop right after a number of one or two ASCII digits is none (5. Mai; 1. item).
- *lower case*: each character's own lower case where that is one character of as many bytes, else itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

#: Characters of a text that are read. Evidence is stated early, and the trial's definitions, which reach the
#: black box, count over the first 4,000 characters (factors.md, "Definitions that worked").
HEAD = 4000

#: Typographic characters and what they are read as. The stops of scripts written without spaces get one, so
#: that they end a sentence.
FOLDS: tuple[tuple[str, str], ...] = (
    *((c, "'") for c in "\u2019\u2018\u02bc\uff07"),
    *((c, '"') for c in "\u201c\u201d\u201e\u00ab\u00bb"),
    *((c, "-") for c in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"),
    *((c, " ") for c in "\u00a0\u2007\u2009\u202f\u3000"),
    *((c, "*") for c in "\u2022\u2023\u25aa\u25cf\u25e6"),
    *((c, "$") for c in "\u20ac\u00a3\u00a5\u20b9"),
    ("\u2026", "..."),
    ("\u1e9e", "\u00df"),  # capital sharp s: its lower case has fewer bytes
    *((c, ". ") for c in "\u3002\u0964\u06d4"),
    ("\uff01", "! "),
    *((c, "? ") for c in "\uff1f\u061f"),
)

#: NULs before each text: the widest look back from a text's byte is three, so no text sees another.
GAP = 3
#: NULs after the last text: a word's key reads up to 32 bytes from its start (scan_keys.MAX_WORD).
TAIL = 40

_LETTER, _DIGIT, _UPPER, _EMOJI, _KNOWN = 1, 2, 4, 8, 128

# Class of every byte that stands for itself, as tables for bytes.translate: one pass each, where arithmetic
# on arrays takes several, which a lone turn would feel.
_KINDS = bytes(_LETTER if chr(b).isalpha() else _DIGIT if chr(b).isdigit() else 0 for b in range(128))
_KINDS += bytes(128)
_CAPITALS = bytes(b < 128 and chr(b).isupper() for b in range(256))
_SIGNS = bytes(b == 10 or (33 <= b < 127 and not chr(b).isalnum()) for b in range(256))
# Classes of non-ASCII characters, filled in as they are met: building them for all of Unicode would take
# longer (0.3 s) than most programs run. Untouched pages cost no memory.
_CLASS: Bytes = np.zeros(0x110000, np.uint8)
_LOWER: npt.NDArray[np.uint32] = np.zeros(0x110000, np.uint32)  # UTF-8 of the lower case, first byte lowest

_CLOSES = np.zeros(256, np.bool_)
_CLOSES[:33] = True  # white space and control characters
_CLOSES[[ord(c) for c in "\"')]*"]] = True
_STOPS = np.zeros(256, np.bool_)
_STOPS[[ord(c) for c in ".!?\n"]] = True


def where(mask: Bools) -> Ints:
    """Sorted indices of the true elements (flatnonzero without wrappers, which a lone turn would feel)."""
    return mask.nonzero()[0]


def fold(text: str) -> str:
    """The head of ``text`` as the scan reads it (module docstring)."""
    text = text[:HEAD]
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text)
    for sign, plain in FOLDS:
        text = text.replace(sign, plain)
    return text


@dataclass(frozen=True)
class Tokens:
    """One batch as bytes and tokens. n texts, T tokens, P bytes in the buffer, S sentence ends.

    Text bounds and positions are offsets into the buffer. Tokens are in reading order, so ``token_text`` does
    not decrease and the tokens of text i are ``token_bounds[i]:token_bounds[i + 1]``.
    """

    buffer: Bytes  # [P] folded text, texts apart by NULs
    lower: Bytes  # [P] the same in lower case
    upper: Bools  # [P] first byte of an upper-case letter
    signs: Ints  # [*] positions of line feeds and of printable ASCII that is no letter, digit or blank
    sign: Bytes  # [*] the bytes there
    emoji: Ints  # [*] positions of emoji
    separators: Ints  # [*] positions of separators inside numbers
    begins: Ints  # [n] first byte of each text
    bounds: Ints  # [n + 1] 0, and one past the last byte of each text
    start: Ints  # [T] first byte of each token
    end: Ints  # [T] one past its last byte
    is_number: Bools  # [T]
    length: Ints  # [T] characters
    token_bounds: Ints  # [n + 1]
    token_text: Ints  # [T]
    breaks: Ints  # [S] positions of sentence ends; each text's end is one
    sentence: Ints  # [T] index of the break that ends the token's sentence

    def count_bytes(self, positions: Ints) -> Ints | int:
        """[n] how many of the sorted byte ``positions``, none in a gap, lie in each text."""
        return self._count(positions, self.bounds)

    def count_tokens(self, tokens: Ints) -> Ints | int:
        """[n] how many of the sorted token indices ``tokens`` lie in each text."""
        return self._count(tokens, self.token_bounds)

    def _count(self, events: Ints, bounds: Ints) -> Ints | int:
        if len(self.begins) == 1:  # all events are the one text's: spares a lone turn some sixty searches
            return len(events)
        below = events.searchsorted(bounds)
        return below[1:] - below[:-1]

    def follows(self, earlier: Ints, steps: int) -> Ints:
        """Indices of the tokens ``steps`` after the sorted ``earlier`` where both are of one sentence."""
        if not len(earlier):
            return earlier
        earlier = earlier[: earlier.searchsorted(len(self.sentence) - steps)]
        later = earlier + steps
        found: Ints = later[self.sentence[earlier] == self.sentence[later]]
        return found


def tokenise(texts: Sequence[str]) -> Tokens:
    """Tokens of ``texts``, already folded. Any string is legal: NULs, lone surrogates, nothing at all."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    n = len(encoded)
    gap = b"\0" * GAP
    joined = gap + gap.join(encoded) + b"\0" * TAIL
    bounds = np.array([0, *accumulate(len(data) + GAP for data in encoded)], np.int64)
    ends = bounds[1:]

    data = bytearray(joined)  # whose copies can be written to
    buffer = np.frombuffer(joined, np.uint8)
    upper = np.frombuffer(data.translate(_CAPITALS), np.bool_)
    lower = np.frombuffer(data.lower(), np.uint8)
    kinds = np.frombuffer(data.translate(_KINDS), np.uint8)
    signs = where(np.frombuffer(data.translate(_SIGNS), np.bool_))
    sign = buffer.take(signs)
    emoji, trailing = np.empty(0, np.int64), None
    if not joined.isascii():
        emoji = _beyond_ascii(buffer, lower, kinds, upper)
        trailing = where((buffer & np.uint8(0xC0)) == 0x80)

    quotes = signs[sign == 39]
    quotes = quotes[(kinds[quotes - 1] == _LETTER) & (kinds[quotes + 1] == _LETTER)]
    separators = signs[((sign - np.uint8(44)) < 4) | (sign == 58)]  # , - . / are 44 to 47, : is 58
    separators = separators[(kinds[separators - 1] == _DIGIT) & (kinds[separators + 1] == _DIGIT)]
    kinds[quotes], kinds[separators] = _LETTER, _DIGIT
    edges = where(kinds[1:] != kinds[:-1])
    edges += 1
    runs = kinds.take(edges)
    filled = where(runs != 0)
    start, end = edges.take(filled), edges.take(filled + 1)

    length = end - start
    if trailing is not None:
        inside = trailing[kinds[trailing] != 0]
        length -= np.bincount(start.searchsorted(inside, side="right") - 1, minlength=len(start))
    token_bounds = np.zeros(n + 1, np.int64)
    token_bounds[1:] = start.searchsorted(ends)
    breaks = _sentence_ends(buffer, kinds, signs, sign, ends)
    before = start.searchsorted(breaks)
    before[1:] -= before[:-1].copy()
    return Tokens(
        buffer=buffer,
        lower=lower,
        upper=upper,
        signs=signs,
        sign=sign,
        emoji=emoji,
        separators=separators,
        begins=bounds[:-1] + GAP,
        bounds=bounds,
        start=start,
        end=end,
        is_number=runs.take(filled) == _DIGIT,
        length=length,
        token_bounds=token_bounds,
        token_text=np.arange(n).repeat(token_bounds[1:] - token_bounds[:-1]),
        breaks=breaks,
        sentence=np.arange(len(breaks)).repeat(before),
    )


def _sentence_ends(buffer: Bytes, kinds: Bytes, signs: Ints, sign: Bytes, ends: Ints) -> Ints:
    """Sorted positions of sentence ends; the end of each text is one."""
    at = signs[_STOPS[sign]]
    kind = buffer[at]
    ends_one = _CLOSES[buffer[at + 1]]
    # After one or two ASCII digits with neither digit nor separator before them, a full stop ends nothing.
    after = where((kind == 46) & ((buffer[at - 1] - np.uint8(48)) < 10))
    if len(after):
        last = at[after]
        tens = (buffer[last - 2] - np.uint8(48)) < 10
        alone = (kinds[last - 2] != _DIGIT) | (tens & (kinds[last - 3] != _DIGIT))
        ends_one[after[alone]] = False
    out = np.concatenate([at[(kind == 10) | ends_one], ends])
    out.sort()
    return out


def _beyond_ascii(buffer: Bytes, lower: Bytes, kinds: Bytes, upper: Bools) -> Ints:
    """Write class and lower case of every non-ASCII character into the arrays; return where emoji begin."""
    lead = where(buffer >= 0xC0)
    first = buffer[lead].astype(np.int64)
    width = 2 + (first >= 0xE0) + (first >= 0xF0)
    code = first & (0xFF >> (width + 1))
    for j in range(1, 4):
        more = width > j
        code[more] = (code[more] << 6) | (buffer[lead[more] + j] & 0x3F)
    unknown = code[_CLASS[code] == 0]
    if len(unknown):
        for point in np.unique(unknown).tolist():
            _LOWER[point], _CLASS[point] = _classify(chr(point))
    classes = _CLASS[code]
    kind = classes & np.uint8(_LETTER | _DIGIT)
    upper[lead] = (classes & _UPPER) != 0
    packed = _LOWER[code]
    changes = packed != 0
    for j in range(4):
        here = width > j
        kinds[lead[here] + j] = kind[here]
        here &= changes
        lower[lead[here] + j] = (packed[here] >> np.uint32(8 * j)) & np.uint32(0xFF)
    found: Ints = lead[(classes & _EMOJI) != 0]
    return found


def _classify(char: str) -> tuple[int, int]:
    """Packed lower case (0: itself) and class of one character."""
    category, point = unicodedata.category(char), ord(char)
    kind = _KNOWN
    selector = 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF
    if category[0] == "L" or (category in ("Mn", "Mc") and not selector):
        kind |= _LETTER
    if category == "Nd":
        kind |= _DIGIT
    if category in ("Lu", "Lt"):
        kind |= _UPPER
    tone = 0x1F3FB <= point <= 0x1F3FF
    if (0x1F300 <= point <= 0x1FAFF and not tone) or 0x2600 <= point <= 0x27BF:
        kind |= _EMOJI
    low = char.lower()
    if low == char or len(low) != 1:
        return 0, kind
    data = low.encode("utf-8", "surrogatepass")
    same = len(data) == len(char.encode("utf-8", "surrogatepass"))
    return (int.from_bytes(data, "little") if same else 0), kind
