"""The counts of one chunk of texts. Definitions of the columns: scan_columns.

Events (positions of bytes, indices of tokens) come out sorted, so counts a text are differences of two binary
searches at the texts' bounds, which costs a text a few nanoseconds a column however many events there are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memvalue.features.lexicon import Lexicon
from memvalue.features.scan_bytes import Bools, Ints, Tokens, where
from memvalue.features.scan_columns import COLUMNS, GROUPS

_COLUMN = {name: j for j, name in enumerate(COLUMNS)}
_BLANK = bytes(range(33)).decode("ascii")  # white space and control characters
#: Columns that count one sign.
_SIGNS = (
    ("exclamations", 33),
    ("question_marks", 63),
    ("newlines", 10),
    ("money_signs", 36),
    ("quotes", 34),
)


def _among(chars: str) -> Bools:
    """[256] the bytes that are one of ``chars``."""
    out = np.zeros(256, np.bool_)
    out[[ord(c) for c in chars]] = True
    return out


_CODE, _BULLET, _CLOSE, _GAP, _DIGIT = map(_among, ("{};=<", "*+-", ".)", " \t", "0123456789"))
#: Groups whose tokens are looked at one by one.
_SOUGHT = ("subject_first", "possessive_first", "units", "_months", "_clock")
_SOUGHT_BITS = np.bitwise_or.reduce([Lexicon.bit(name) for name in _SOUGHT])
_LONG_WORD = 8  # letters; the trial's "long words"


class Counter:
    """Counts of n texts with T tokens. ``entry`` [T] are the tokens' lexicon entries."""

    def __init__(self, tokens: Tokens, entry: Ints, lexicon: Lexicon) -> None:
        self.tokens, self.lexicon = tokens, lexicon
        self.n = len(tokens.begins)
        self.entry = entry
        self.phrase_at, self.phrase = lexicon.match_phrases(entry, tokens)
        # Bits of the groups of which a word or a phrase begins here.
        self.bits = lexicon.bits.take(entry)
        if len(self.phrase_at):
            np.bitwise_or.at(self.bits, self.phrase_at, lexicon.bits[self.phrase])
        sought = where((self.bits & _SOUGHT_BITS) != 0)
        self.sought = {name: sought[self.has(sought, name)] for name in _SOUGHT}
        self.numbers = where(tokens.is_number)
        self.openers = self._openers()
        capital = tokens.upper.take(tokens.start) & (tokens.length > 1)
        capital[self.openers] = False
        found = where(capital)
        self.capitals = found[~self.has(found, "first_person")]

    def _openers(self) -> Ints:
        """First word of every sentence that has one."""
        sentence, numbers = self.tokens.sentence, self.numbers
        first = np.ones(len(sentence), np.bool_)
        np.not_equal(sentence[1:], sentence[:-1], out=first[1:])
        if len(numbers):
            # A run of numbers that opens a sentence hands over to the word after it.
            edge = np.ones(len(numbers) + 1, np.bool_)
            edge[1:-1] = (numbers[1:] != numbers[:-1] + 1) | first[numbers[1:]]
            begin, last = numbers[edge[:-1]], numbers[edge[1:]]
            opening = last[first[begin]]
            first[numbers] = False
            first[self.tokens.follows(opening, 1)] = True
        return where(first)

    def has(self, tokens: Ints, group: str) -> Bools:
        """Whether a word or phrase of ``group`` begins at each of ``tokens``."""
        out: Bools = (self.bits[tokens] & Lexicon.bit(group)) != 0
        return out

    def count(self, chunk: list[str], out: npt.NDArray[np.float32]) -> None:
        """Write every column of the texts ``chunk`` to ``out`` [n, columns]."""
        columns = np.empty((len(COLUMNS), self.n))
        self._out = columns
        self._groups()
        self._bytes(chunk)
        self._words()
        self._sentences()
        self._self()
        self._numbers()
        self._valence()
        out[:] = columns.T

    def _set(self, name: str, values: npt.ArrayLike) -> None:
        self._out[_COLUMN[name]] = values

    def _groups(self) -> None:
        t, group_of = self.tokens, self.lexicon.group_of
        hits = where((group_of[:, 0] >= 0).take(self.entry))
        entry = np.concatenate([self.entry.take(hits), self.phrase])
        owner = np.concatenate([t.token_text.take(hits), t.token_text[self.phrase_at]])
        base, cells = owner * len(GROUPS), []
        for column in group_of.T:
            group = column.take(entry)
            member = where(group >= 0)
            base, entry = base.take(member), entry.take(member)
            cells.append(base + group.take(member))
        count = np.bincount(np.concatenate(cells), minlength=self.n * len(GROUPS))
        self._out[: len(GROUPS)] = count.reshape(self.n, len(GROUPS)).T

    def _bytes(self, chunk: list[str]) -> None:
        t = self.tokens
        self._set("bytes", t.bounds[1:] - t.begins)
        self._set("uppercase", t.count_bytes(where(t.upper)))
        self._set("emoji", t.count_bytes(t.emoji))
        for name, char in _SIGNS:
            if self.n == 1:  # a lone turn would feel the arrays
                self._set(name, chunk[0].count(chr(char)))
            else:
                self._set(name, t.count_bytes(t.signs[t.sign == char]))
        self._set("code_chars", t.count_bytes(t.signs[_CODE[t.sign]]))
        self._set("list_lines", t.count_bytes(self._list_lines(t.signs[t.sign == 10])))
        self._set("ends_with_question", [text.rstrip(_BLANK).endswith("?") for text in chunk])

    def _list_lines(self, feeds: Ints) -> Ints:
        """Positions of bullets and item numbers that open a line, after up to four blanks."""
        buffer = self.tokens.buffer
        at: Ints = np.concatenate([feeds + 1, self.tokens.begins])
        at.sort()
        for _ in range(4):
            blank = _GAP[buffer[at]]
            if not blank.any():
                break
            at += blank
        first = buffer[at]
        at = at[(_BULLET | _DIGIT)[first]]
        if not len(at):
            return at
        first, second, third, fourth = (buffer[at + j] for j in range(4))
        bullet = _BULLET[first] & _GAP[second]
        short = _CLOSE[second] & _GAP[third]
        item = _DIGIT[first] & (short | (_DIGIT[second] & _CLOSE[third] & _GAP[fourth]))
        found: Ints = at[bullet | item]
        return found

    def _words(self) -> None:
        t = self.tokens
        numbers = t.count_tokens(self.numbers)
        words = t.token_bounds[1:] - t.token_bounds[:-1] - numbers
        self._set("words", words)
        self._set("numbers", numbers)
        self._set("capitals", t.count_tokens(self.capitals))
        length = t.length.copy()
        length[self.numbers] = 0
        self._set("long_words", t.count_tokens(where(length >= _LONG_WORD)))
        letters = np.zeros(len(length) + 1, np.int64)
        np.cumsum(length, out=letters[1:])
        total = letters[t.token_bounds]
        self._set("mean_word_length", (total[1:] - total[:-1]) / np.maximum(words, 1))

    def _sentences(self) -> None:
        t, openers = self.tokens, self.openers
        mark = t.breaks[t.sentence[openers]]
        asks = (t.buffer[mark] == 63) | ((t.buffer[mark] == 33) & (t.buffer[mark - 1] == 63))
        requests = self.has(openers, "request_words")
        self._set("sentences", t.count_tokens(openers))
        self._set("question_sentences", t.count_tokens(openers[asks]))
        self._set("statements", t.count_tokens(openers[~asks & ~requests]))
        self._set("request_sentences", t.count_tokens(openers[requests]))
        owner = t.token_text[openers]
        first = np.ones(len(owner), np.bool_)
        np.not_equal(owner[1:], owner[:-1], out=first[1:])
        first_words = openers[first]
        for column, group in (
            ("opens_with_request", "request_words"),
            ("opens_with_i", "subject_first"),
            ("opens_with_acknowledgement", "acknowledgements"),
        ):
            self._set(column, t.count_tokens(first_words[self.has(first_words, group)]))

    def _self(self) -> None:
        t = self.tokens
        regular = self._regular_past()
        self._set("regular_past", t.count_tokens(where(regular)))
        near = self._within("subject_first", 3)
        past = near[self.has(near, "past_tense") | regular[near]]
        self._set("i_past_tense", t.count_tokens(past))
        self._set("i_life_event", t.count_tokens(near[self.has(near, "life_events")]))
        near = self._within("possessive_first", 2)
        self._set("my_relation", t.count_tokens(near[self.has(near, "relations")]))
        after = t.follows(self.sought["possessive_first"], 1)
        noun = ~(t.is_number[after] | self.has(after, "function_words"))
        self._set("my_noun", t.count_tokens(after[noun]))

    def _within(self, group: str, steps: int) -> Ints:
        """Sorted tokens of which one of ``group`` comes at most ``steps`` earlier in the sentence."""
        sought = self.sought[group]
        if not len(sought):
            return sought
        return _distinct([self.tokens.follows(sought, k) for k in range(1, steps + 1)])

    def _regular_past(self) -> Bools:
        """[T] forms that look like a regular past tense."""
        t = self.tokens
        out = np.zeros(len(t.start), np.bool_)
        last = t.lower.take(t.end - 1)
        for pattern in self.lexicon.patterns:
            at = where(last == pattern.suffix[-1])
            at = at[(t.length[at] >= pattern.letters) & ~t.is_number[at]]
            for j, byte in enumerate(reversed(pattern.suffix)):
                at = at[t.lower[t.end[at] - 1 - j] == byte]
            for j, byte in enumerate(pattern.prefix):
                at = at[t.lower[t.start[at] + j] == byte]
            if pattern.lower_only:
                at = at[~t.upper[t.start[at]]]
            out[at[~self.has(at, "_not_past")]] = True
        return out

    def _numbers(self) -> None:
        t = self.tokens
        numbers = self.numbers
        measured = numbers
        if len(numbers):
            end = t.end[numbers]
            before, after, beyond = t.buffer[t.start[numbers] - 1], t.buffer[end], t.buffer[end + 1]
            signed = (before == 36) | (after == 36) | (after == 37) | ((after == 32) & (beyond == 36))
            measured = _distinct([numbers[signed], self._just_after_number("units")])
        self._set("number_units", t.count_tokens(measured))
        dates, times = self._shaped()
        self._set("clock_times", t.count_tokens(_distinct([times, self._just_after_number("_clock")])))
        dates = np.sort(np.concatenate([dates, self._dated_months()]))
        self._set("calendar_dates", t.count_tokens(dates))

    def _just_after_number(self, group: str) -> Ints:
        """Numbers right after which one of ``group`` begins (5kg, 5 kg, 5-minute)."""
        t = self.tokens
        at = self.sought[group]
        if not len(at):
            return at
        at = at[at > 0]
        number = at - 1
        close = t.is_number[number] & (t.start[at] - t.end[number] <= 1)
        found: Ints = number[close & (t.sentence[number] == t.sentence[at])]
        return found

    def _shaped(self) -> tuple[Ints, Ints]:
        """Numbers of the shapes of dates and of times of day, in ASCII digits."""
        t, at = self.tokens, self.tokens.separators
        if not len(at):
            return at, at
        owner = np.searchsorted(t.start, at, side="right") - 1
        opens = np.ones(len(owner) + 1, np.bool_)
        np.not_equal(owner[1:], owner[:-1], out=opens[1:-1])
        edge = where(opens)
        first, many = edge[:-1], edge[1:] - edge[:-1]
        number = owner[first]
        plain = t.length[number] == t.end[number] - t.start[number]
        sign, a = t.buffer[at[first]], at[first] - t.start[number]
        one, two = plain & (many == 1), plain & (many == 2)
        second = at[np.minimum(first + 1, len(at) - 1)]
        two &= t.buffer[second] == sign
        b = np.where(two, second - at[first], t.end[number] - at[first]) - 1
        c = t.end[number] - second - 1
        colon, listed = sign == 58, sign == 44
        time = colon & (a <= 2) & (b == 2) & (one | (two & (c == 2)))
        year_first = (a == 4) & (c <= 2)
        year_last = (a <= 2) & ((c == 2) | (c == 4))
        date = two & ~colon & ~listed & (b <= 2) & (year_first | year_last)
        return number[date], number[time]

    def _dated_months(self) -> Ints:
        """Month names with a day: May 5, 5 May, 5th May, 5th of May."""
        t, at = self.tokens, self.sought["_months"]
        if not len(at):
            return at

        def back(k: int) -> tuple[Ints, Bools]:
            earlier = np.maximum(at - k, 0)
            return earlier, (at >= k) & (t.sentence[earlier] == t.sentence[at])

        later = np.minimum(at + 1, len(t.start) - 1)
        dated = t.is_number[later] & (later > at) & (t.sentence[later] == t.sentence[at])
        (one, ok1), (two, ok2), (three, ok3) = back(1), back(2), back(3)
        dated |= ok1 & t.is_number[one]
        dated |= ok2 & self.has(one, "_ordinals") & t.is_number[two]
        dated |= ok3 & self.has(two, "_ordinals") & t.is_number[three]
        found: Ints = at[dated]
        return found

    def _valence(self) -> None:
        t, valence = self.tokens, self.lexicon.valence
        felt = where((valence != 0).take(self.entry))
        value = valence[np.concatenate([self.entry[felt], self.phrase])]
        owner = np.concatenate([t.token_text[felt], t.token_text[self.phrase_at]])
        positive = np.bincount(owner, np.maximum(value, 0), minlength=self.n)
        negative = np.bincount(owner, np.maximum(-value, 0), minlength=self.n)
        largest = np.zeros(self.n, np.int64)
        np.maximum.at(largest, owner, np.abs(value))
        self._set("positive_valence", positive)
        self._set("negative_valence", negative)
        self._set("absolute_valence", positive + negative)
        self._set("max_valence", largest)


def _distinct(arrays: list[Ints]) -> Ints:
    """The different values of some arrays, sorted (np.unique without its cost for a handful of numbers)."""
    values = np.concatenate(arrays)
    values.sort()
    keep = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values[keep]
