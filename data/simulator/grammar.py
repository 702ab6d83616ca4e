"""A small template language: slots, articles and alternatives.

``{item}`` is filled once and kept, so the second ``{item}`` of a text, or of the question about it, is the
same thing; ``{item2}`` is another draw from the same list. ``{a item}`` puts the right article before it.
``[at home|outside|]`` is one of its parts, the empty one included; alternatives may nest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

from memvalue.data.simulator.dice import Dice
from memvalue.data.simulator.words import MONTHS, WEEKDAYS, WORDS

#: A parsed template: literal text, a slot (name, wants an article), or alternatives.
Node = str | tuple[str, bool] | list[tuple["Node", ...]]

_PIECE = re.compile(r"\{(a )?(\w+)\}|[\[\]|]")
_GAP = re.compile(r"(?<=\S) {2,}")
_BEFORE_STOP = re.compile(r" +([.,;:?!])(?=\s|$)")
#: First words that keep their capital inside a sentence.
_ALWAYS_CAPITAL = re.compile(r"(I|I'm|I've|I'd|I'll)\b")


class Blanks:
    """The values that fill the slots of one story, drawn when first asked for.

    Parameters
    ----------
    dice
        Where new values come from.
    today
        The day of the session; dates are told relative to it.
    values
        Values already settled (a fact that is being told again).
    """

    __slots__ = ("dice", "today", "values")

    def __init__(self, dice: Dice, today: date, values: dict[str, str] | None = None) -> None:
        self.dice = dice
        self.today = today
        self.values = {} if values is None else values

    def __getitem__(self, name: str) -> str:
        value = self.values.get(name)
        if value is None:
            base = name.rstrip("0123456789")
            made = _MADE.get(base)
            value = made(self) if made is not None else self._fresh(base)
            self.values[name] = value
        return value

    def _fresh(self, base: str) -> str:
        """A word of the list that no other slot of this story holds, so that two things differ."""
        taken = self.values.values()
        value = self.dice.pick(WORDS[base])
        for _ in range(4):
            if value not in taken:
                break
            value = self.dice.pick(WORDS[base])
        return value


def render(template: str, blanks: Blanks) -> str:
    """``template`` filled in, with the gaps that empty alternatives leave closed.

    Raises
    ------
    KeyError
        For a slot that no list and no maker provides.
    ValueError
        For an unbalanced bracket.
    """
    out: list[str] = []
    _walk(_parse(template), blanks, out)
    return _BEFORE_STOP.sub(r"\1", _GAP.sub(" ", "".join(out))).strip()


def lower_first(sentence: str) -> str:
    """``sentence`` as it reads after a lead-in: its first letter small, unless the word is *I*."""
    return sentence if _ALWAYS_CAPITAL.match(sentence) else sentence[:1].lower() + sentence[1:]


def upper_first(sentence: str) -> str:
    """``sentence`` with a capital first letter."""
    return sentence[:1].upper() + sentence[1:]


def _walk(nodes: tuple[Node, ...], blanks: Blanks, out: list[str]) -> None:
    for node in nodes:
        if isinstance(node, str):
            out.append(node)
        elif isinstance(node, tuple):
            value = blanks[node[0]]
            out.append(f"{'an' if value[:1] in 'aeiouAEIO' else 'a'} {value}" if node[1] else value)
        else:
            _walk(blanks.dice.pick(node), blanks, out)


@lru_cache(maxsize=4096)
def _parse(template: str) -> tuple[Node, ...]:
    """The nodes of ``template``; parsed once a process, because each is used hundreds of times."""
    stack: list[list[list[Node]]] = [[[]]]
    at = 0
    for piece in _PIECE.finditer(template):
        if piece.start() > at:
            stack[-1][-1].append(template[at : piece.start()])
        at = piece.end()
        mark = piece.group()
        if mark == "[":
            stack.append([[]])
        elif mark == "|" and len(stack) > 1:
            stack[-1].append([])
        elif mark == "]":
            if len(stack) == 1:
                raise ValueError(f"template has a ']' without '[': {template!r}")
            parts = stack.pop()
            stack[-1][-1].append([tuple(part) for part in parts])
        elif piece.group(2):
            stack[-1][-1].append((piece.group(2), piece.group(1) is not None))
        else:
            stack[-1][-1].append(mark)
    if len(stack) != 1:
        raise ValueError(f"template has a '[' without ']': {template!r}")
    if at < len(template):
        stack[-1][-1].append(template[at:])
    return tuple(stack[0][0])


def _ordinal(day: int) -> str:
    suffix = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"


def day_name(day: date, dice: Dice) -> str:
    """A calendar day as people write it: ``March 3rd``, ``March 3``, ``the 3rd of March``, ``3/3``."""
    month = MONTHS[day.month - 1]
    style = dice.between(0, 4)
    if style == 0:
        return f"{month} {day.day}"
    if style == 1:
        return f"the {_ordinal(day.day)} of {month}"
    if style == 2:
        return f"{day.month}/{day.day}"
    return f"{month} {_ordinal(day.day)}"


def _when(blanks: Blanks) -> str:
    """A time in the past, relative or dated."""
    dice, today = blanks.dice, blanks.today
    style = dice.between(0, 9)
    if style == 0:
        return "yesterday"
    if style == 1:
        return f"last {dice.pick(WEEKDAYS)}"
    if style == 2:
        return f"{dice.pick(('three', 'four', 'five', '3', '4', '6', 'ten', '10'))} days ago"
    if style == 3:
        return f"{dice.pick(('two', 'three', '2', 'about two', 'a couple of'))} weeks ago"
    if style == 4:
        return dice.pick(("over the weekend", "last weekend", "earlier this week", "the other day"))
    if style == 5:
        return f"back in {MONTHS[(today.month - dice.between(2, 7)) % 12]}"
    if style == 6:
        return dice.pick(("last month", "a month ago", "last spring", "last week", "this week"))
    return f"on {day_name(today - timedelta(days=dice.between(2, 40)), dice)}"


def _soon(blanks: Blanks) -> str:
    """A time in the future, relative or dated."""
    dice = blanks.dice
    if dice.chance(0.5):
        return f"on {day_name(blanks.today + timedelta(days=dice.between(3, 40)), dice)}"
    return dice.pick(
        ("next week", f"next {dice.pick(WEEKDAYS)}", "at the end of the month", "in two weeks", "tomorrow")
    )


def _money(low: int, high: int, step: int) -> Callable[[Blanks], str]:
    def made(blanks: Blanks) -> str:
        value = blanks.dice.between(low, high) * step
        return f"${value:,}" if blanks.dice.chance(0.75) else f"{value:,} dollars"

    return made


def _number(low: int, high: int) -> Callable[[Blanks], str]:
    return lambda blanks: str(blanks.dice.between(low, high))


_SPELLED = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def _few(blanks: Blanks) -> str:
    """Two to twelve, as a word or in digits."""
    n = blanks.dice.between(2, 12)
    return _SPELLED[n - 2] if blanks.dice.chance(0.65) else str(n)


def _clock(blanks: Blanks) -> str:
    """A time of day between 6 am and 9 pm."""
    hour = blanks.dice.between(6, 21)
    minutes = blanks.dice.pick(("", ":15", ":30", ":45"))
    return f"{(hour - 1) % 12 + 1}{minutes} {'am' if hour < 12 else 'pm'}"


#: Slots that are made rather than listed.
_MADE: dict[str, Callable[[Blanks], str]] = {
    "when": _when,
    "soon": _soon,
    "price": _money(3, 90, 10),
    "bill": _money(9, 70, 1),
    "fortune": _money(18, 90, 5000),
    "few": _few,
    "digit": _number(2, 9),
    "hour": _number(8, 20),
    "some": _number(13, 58),
    "many": _number(60, 480),
    "age": _number(19, 67),
    "minutes": lambda b: str(b.dice.between(3, 18) * 5),
    "percent": lambda b: f"{b.dice.between(5, 90)}{b.dice.pick(('%', ' percent'))}",
    "year": lambda b: str(b.today.year - b.dice.between(1, 24)),
    "clock": _clock,
    "race": lambda b: f"{b.dice.between(19, 58)}:{b.dice.between(0, 59):02d}",
    # Signs that the grammar itself uses, for pasted code.
    "lb": lambda b: "[",
    "rb": lambda b: "]",
    "lc": lambda b: "{",
    "rc": lambda b: "}",
    "weekday": lambda b: b.dice.pick(WEEKDAYS),
    "month": lambda b: b.dice.pick(MONTHS),
    "shop": lambda b: f"{b['brandhead']} {b.dice.pick(WORDS['shopkind'])}",
    "company": lambda b: f"{b.dice.pick(WORDS['brandhead'])} {b.dice.pick(WORDS['firmkind'])}",
    "street": lambda b: (
        f"{b.dice.pick(WORDS['streethead'])} {b.dice.pick(('Street', 'Lane', 'Road', 'Square'))}"
    ),
    "venue": lambda b: f"the {b.dice.pick(WORDS['streethead'])} {b.dice.pick(WORDS['venuekind'])}",
    "band": lambda b: f"{b.dice.pick(WORDS['bandhead'])} {b.dice.pick(WORDS['bandtail'])}",
    "book": lambda b: f"The {b.dice.pick(WORDS['bandhead'])} {b.dice.pick(WORDS['booktail'])}",
    "eatery": lambda b: f"{b.dice.pick(WORDS['eateryhead'])} {b.dice.pick(WORDS['eaterytail'])}",
}
