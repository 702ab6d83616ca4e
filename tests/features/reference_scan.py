"""The lexical scan written again, slowly: one text at a time, strings, regular expressions and dictionaries.

It shares no code with ``memvalue.features``: it folds, cuts words, reads the lexicon files and counts on its
own, from the definitions in scan_bytes and scan_columns. Tests demand equality; benchmarks/scan.py times it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import memvalue.features.scan as _installed

LEXICONS = Path(_installed.__file__).parent / "lexicons"

_FOLD = {
    **dict.fromkeys(map(ord, "’‘ʼ＇"), "'"),
    **dict.fromkeys(map(ord, "“”„«»"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012–—―−"), "-"),
    **dict.fromkeys((0xA0, 0x2007, 0x2009, 0x202F, 0x3000), " "),
    **dict.fromkeys(map(ord, "•‣▪●◦"), "*"),
    **dict.fromkeys(map(ord, "€£¥₹"), "$"),
    ord("…"): "...",
    ord("ẞ"): "ß",
    **dict.fromkeys(map(ord, "。।۔"), ". "),
    ord("！"): "! ",
    **dict.fromkeys(map(ord, "？؟"), "? "),
}
_TOKEN = re.compile(r"a+(?:'a+)*|d+(?:[-,./:]d+)*")
_DATE = re.compile(
    r"[0-9]{4}([-./])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-./])[0-9]{1,2}\2(?:[0-9]{2}|[0-9]{4})"
)
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")
_LIST_LINE = re.compile(r"[ \t]{0,4}(?:[-*+]|[0-9]{1,2}[.)])[ \t]")
Words = tuple[str, ...]
_VISIBLE_END = "".join(map(chr, range(33)))


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", text[:4000]).translate(_FOLD)


@cache
def kind(char: str) -> str:
    """'a' for letters, 'd' for digits, else a blank or the ASCII character itself."""
    category, point = unicodedata.category(char), ord(char)
    if category == "Nd":
        return "d"
    if category.startswith("L"):
        return "a"
    if category in ("Mn", "Mc") and not (0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF):
        return "a"
    return char if point < 128 else " "


@cache
def size(char: str) -> int:
    return len(char.encode("utf-8", "surrogatepass"))


@cache
def low(char: str) -> str:
    lower = char.lower()
    return lower if len(lower) == 1 and size(lower) == size(char) else char


def is_upper(char: str) -> bool:
    return unicodedata.category(char) in ("Lu", "Lt")


def cut(text: str) -> list[tuple[int, int, bool, str]]:
    """Start, end, is it a number, lower-case form of every token of a folded text."""
    kinds = "".join(map(kind, text))
    return [
        (m.start(), m.end(), m[0][0] == "d", "".join(map(low, text[m.start() : m.end()])))
        for m in _TOKEN.finditer(kinds)
    ]


@cache
def read(
    language: str,
) -> tuple[dict[str, dict[tuple[str, ...], int]], dict[tuple[str, ...], int], list[tuple]]:
    """Groups (each a dictionary of entries), valences, patterns of regular past forms."""
    groups: dict[str, set[Words]] = {}
    valence: dict[Words, int] = {}
    patterns = []
    for path in sorted((LEXICONS / language).glob("*.txt")):
        lines = [x.strip() for x in path.read_text("utf-8").split("\n")]
        lines = [x for x in lines if x and not x.startswith("#")]
        if path.stem == "valence":
            for line in lines:
                entry, grade = line.split("\t")
                valence[tuple(t[3] for t in cut(fold(entry)))] = int(grade)
        elif path.stem == "regular_past":
            for line in lines:
                form, least, *rest = line.split()
                prefix, suffix = form.split("*")
                patterns.append((prefix, suffix, int(least), bool(rest)))
        else:
            groups[path.stem] = {tuple(t[3] for t in cut(fold(line))) for line in lines}
    return groups, valence, patterns


def ends_of_sentences(text: str, tokens: list[tuple[int, int, bool, str]]) -> list[int]:
    ordinals = {
        end for start, end, number, _ in tokens if number and re.fullmatch("[0-9]{1,2}", text[start:end])
    }
    ends = []
    for i, char in enumerate(text):
        if char == "\n":
            ends.append(i)
        elif char in ".!?":
            after = text[i + 1 : i + 2]
            if (not after or after <= " " or after in "\"')]*") and not (char == "." and i in ordinals):
                ends.append(i)
    return ends


def mix(x: int) -> int:
    mask = (1 << 64) - 1
    x = ((x ^ (x >> 32)) * 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 29)) * 0xFF51AFD7ED558CCD) & mask
    return x ^ (x >> 32)


def word_hash(word: str) -> int:
    data = word.encode("utf-8", "surrogatepass")
    if len(data) <= 8:
        return mix(int.from_bytes(data, "little"))
    mask, golden, total = (1 << 64) - 1, 0x9E3779B97F4A7C15, 0
    for j in range(0, len(data), 8):
        block = int.from_bytes(data[j : j + 8], "little")
        total += mix((block + (j // 8 + 1) * golden) & mask)
    return mix((total + len(data) * golden) & mask)


def reference(text: str, language: str = "en") -> tuple[dict[str, float], list[tuple[str, bool, bool]]]:
    """Counts by column, and the words for novelty: lower-case form, is it a capital, is it a number."""
    groups, valence, patterns = read(language)
    text = fold(text)
    tokens = cut(text)
    forms = [t[3] for t in tokens]
    number = [t[2] for t in tokens]
    ends = ends_of_sentences(text, tokens)
    sentence, e = [], 0
    for start, *_ in tokens:
        while e < len(ends) and ends[e] < start:
            e += 1
        sentence.append(e)
    last = len(tokens)

    def entries(i: int) -> list[tuple[str, ...]]:
        """What of one to four words begins at token i within its sentence."""
        out = []
        for k in range(1, 5):
            if i + k > last or sentence[i + k - 1] != sentence[i]:
                break
            out.append(tuple(forms[i : i + k]))
        return out

    begins = [entries(i) for i in range(last)]
    in_group = {
        name: [any(e in members for e in begins[i]) for i in range(last)] for name, members in groups.items()
    }
    c: dict[str, float] = {
        name: sum(e in members for i in range(last) for e in begins[i])
        for name, members in groups.items()
        if not name.startswith("_")
    }

    def same(i: int, j: int) -> bool:
        return 0 <= i < last and 0 <= j < last and sentence[i] == sentence[j]

    openers = []
    for i in range(last):
        if not number[i] and (not openers or sentence[openers[-1]] != sentence[i]):
            openers.append(i)
    capitals = [
        i
        for i, (start, end, is_number, _) in enumerate(tokens)
        if not is_number
        and end - start > 1
        and is_upper(text[start])
        and i not in openers
        and not in_group["first_person"][i]
    ]
    words = [i for i in range(last) if not number[i]]
    c["bytes"] = sum(map(size, text))
    c["words"], c["numbers"] = len(words), last - len(words)
    c["capitals"] = len(capitals)
    c["uppercase"] = sum(map(is_upper, text))
    length = {i: tokens[i][1] - tokens[i][0] for i in range(last)}
    c["long_words"] = sum(length[i] >= 8 for i in words)
    c["mean_word_length"] = sum(length[i] for i in words) / len(words) if words else 0.0
    for name, char in (
        ("exclamations", "!"),
        ("question_marks", "?"),
        ("newlines", "\n"),
        ("money_signs", "$"),
    ):
        c[name] = text.count(char)
    c["quotes"] = text.count('"')
    c["code_chars"] = sum(text.count(x) for x in "{};=<")
    c["emoji"] = sum(
        0x2600 <= ord(x) <= 0x27BF or (0x1F300 <= ord(x) <= 0x1FAFF and not 0x1F3FB <= ord(x) <= 0x1F3FF)
        for x in text
    )
    c["list_lines"] = sum(bool(_LIST_LINE.match(line)) for line in text.split("\n"))
    c["sentences"] = len(openers)

    def asks(i: int) -> bool:
        if sentence[i] == len(ends):
            return False
        at = ends[sentence[i]]
        return text[at] == "?" or text[at - 1 : at + 1] == "?!"

    request = in_group["request_words"]
    c["question_sentences"] = sum(asks(i) for i in openers)
    c["statements"] = sum(not asks(i) and not request[i] for i in openers)
    c["request_sentences"] = sum(request[i] for i in openers)
    for name, group in (
        ("opens_with_request", "request_words"),
        ("opens_with_i", "subject_first"),
        ("opens_with_acknowledgement", "acknowledgements"),
    ):
        c[name] = bool(words) and in_group[group][words[0]]
    c["ends_with_question"] = text.rstrip(_VISIBLE_END).endswith("?")

    def regular(i: int) -> bool:
        start, _, is_number, form = tokens[i]
        return (
            not is_number
            and not in_group["_not_past"][i]
            and any(
                form.startswith(a)
                and form.endswith(b)
                and len(form) >= n
                and not (lower and is_upper(text[start]))
                for a, b, n, lower in patterns
            )
        )

    def near(i: int, group: str, steps: int) -> bool:
        return any(same(i - k, i) and in_group[group][i - k] for k in range(1, steps + 1))

    past = [regular(i) for i in range(last)]
    c["regular_past"] = sum(past)
    by_i = [i for i in range(last) if near(i, "subject_first", 3)]
    c["i_past_tense"] = sum(past[i] or in_group["past_tense"][i] for i in by_i)
    c["i_life_event"] = sum(in_group["life_events"][i] for i in by_i)
    c["my_relation"] = sum(in_group["relations"][i] and near(i, "possessive_first", 2) for i in range(last))
    c["my_noun"] = sum(
        in_group["possessive_first"][i]
        and same(i, i + 1)
        and not number[i + 1]
        and not in_group["function_words"][i + 1]
        for i in range(last)
    )

    def followed_by(i: int, group: str) -> bool:
        return same(i, i + 1) and in_group[group][i + 1] and tokens[i + 1][0] - tokens[i][1] <= 1

    units = times = dates = 0
    for i, (start, end, is_number, _) in enumerate(tokens):
        if is_number:
            before, after = text[start - 1 : start], text[end : end + 2]
            signed = before == "$" or after[:1] in ("$", "%") or after == " $"
            units += signed or followed_by(i, "units")
            times += bool(_TIME.fullmatch(text[start:end])) or followed_by(i, "_clock")
            dates += bool(_DATE.fullmatch(text[start:end]))
        elif in_group["_months"][i]:
            dates += (
                (same(i, i + 1) and number[i + 1])
                or (same(i, i - 1) and number[i - 1])
                or (same(i, i - 2) and in_group["_ordinals"][i - 1] and number[i - 2])
                or (same(i, i - 3) and in_group["_ordinals"][i - 2] and number[i - 3])
            )
    c["number_units"], c["clock_times"], c["calendar_dates"] = units, times, dates

    felt = [valence[e] for i in range(last) for e in begins[i] if e in valence]
    c["positive_valence"] = sum(v for v in felt if v > 0)
    c["negative_valence"] = -sum(v for v in felt if v < 0)
    c["absolute_valence"] = sum(map(abs, felt))
    c["max_valence"] = max(map(abs, felt), default=0)
    kept = [
        (form, i in capitals, is_number)
        for i, (start, end, is_number, form) in enumerate(tokens)
        if is_number or sum(map(size, text[start:end])) > 1
    ]
    return c, kept
