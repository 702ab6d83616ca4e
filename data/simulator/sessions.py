"""Sessions: one conversation between a user and the assistant, with planted evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from memvalue.data.simulator.decoys import BLOCKS, FRAMES, REMARKS
from memvalue.data.simulator.dice import Dice
from memvalue.data.simulator.facts import FACTS, PREFERENCES
from memvalue.data.simulator.grammar import Blanks, lower_first, render, upper_first
from memvalue.data.simulator.replies import (
    ECHOES,
    GENERAL,
    INTROS,
    LISTINGS,
    NODS,
    OUTROS,
    WELCOMES,
    WORKINGS,
    Listing,
)  # fmt: skip
from memvalue.data.simulator.tasks import TASKS, Task
from memvalue.data.simulator.topics import FOLLOW_UPS, LEADS, PADS, THANKS, TOPICS, Topic
from memvalue.data.simulator.words import WEEKDAYS

#: Provenance labels: a chat about the persona's life, or the assistant used as a tool.
CHAT, TASK = "simulated", "tasks"

#: What a user turn without a fact is, by kind of session. Remarks, frames and blocks are the decoys; their
#: rates were set so that neither length nor first person nor numbers finds the facts (see simulated.py).
_CHAT_MOVES = (
    ("remark", 0.18), ("request", 0.32), ("frame", 0.03), ("block", 0.04),
    ("follow_up", 0.23), ("thanks", 0.15), ("listing", 0.05),
)  # fmt: skip
_TASK_MOVES = (
    ("follow_up", 0.52), ("remark", 0.11), ("block", 0.13),
    ("frame", 0.04), ("thanks", 0.14), ("listing", 0.06),
)  # fmt: skip
_REMARK_KINDS = tuple(REMARKS)
_BLOCK_KINDS = tuple(BLOCKS)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message; ``tag`` names the planted evidence that it carries, or is None."""

    role: str
    text: str
    tag: int | None = None


@dataclass(frozen=True, slots=True)
class Plant:
    """Evidence to be planted in a session.

    Parameters
    ----------
    tag
        Which evidence it is; None for a fact that nobody asks for.
    sentence
        The fact as the user states it, or "" when the assistant states it.
    echo
        What the assistant calls it.
    listing, entries
        The assistant's list and its lines, for evidence in an assistant turn.
    values
        The slots that the request shares with the list.
    """

    tag: int | None
    sentence: str = ""
    echo: str = ""
    listing: Listing | None = None
    entries: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()


def converse(
    dice: Dice, today: date, exchanges: int, plants: list[Plant], subject: Topic | Task
) -> list[Turn]:
    """A session of ``exchanges`` user turns, each answered.

    The planted turns stand at random places, never by preference at the opening. There must not be more
    plants than exchanges.

    Raises
    ------
    ValueError
        When the plants do not fit.
    """
    if len(plants) > exchanges:
        raise ValueError(f"{len(plants)} planted turns do not fit into {exchanges} exchanges")
    where = dict(zip(dice.sample(range(exchanges), len(plants)), plants, strict=True))
    thing = dice.pick(subject.things)
    turns: list[Turn] = []
    for at in range(exchanges):
        if dice.chance(0.3):
            thing = dice.pick(subject.things)
        turns += _exchange(dice, today, at, where.get(at), subject, thing)
    return turns


def _exchange(
    dice: Dice, today: date, at: int, plant: Plant | None, subject: Topic | Task, thing: str
) -> list[Turn]:
    blanks = Blanks(dice, today, {"thing": thing})
    if plant is not None and plant.listing is None:
        asked = _wrap(plant.sentence, blanks, subject, lead=0.2)
        answer = (
            render(dice.pick(ECHOES), Blanks(dice, today, {"echo": plant.echo})) if dice.chance(0.5) else ""
        )
        return [
            Turn("user", asked, plant.tag),
            Turn("assistant", upper_first(_join(answer, _advice(blanks, subject)))),
        ]
    if plant is not None and plant.listing is not None:
        blanks.values.update(plant.values)
        asked = _wrap(render(dice.pick(plant.listing.requests), blanks), blanks, subject, request=False)
        return [
            Turn("user", asked),
            Turn("assistant", _list_text(plant.listing, plant.entries, blanks), plant.tag),
        ]
    move = dice.weighted(_CHAT_MOVES if isinstance(subject, Topic) else _TASK_MOVES)
    if at == 0 and (move in ("thanks", "follow_up") or (isinstance(subject, Task) and dice.chance(0.7))):
        move = "request"
    return _MOVES[move](blanks, subject)


def _remark(blanks: Blanks, subject: Topic | Task) -> list[Turn]:
    dice = blanks.dice
    lines = dice.sample(REMARKS[dice.pick(_REMARK_KINDS)], dice.between(1, 2))
    text = _join(*(render(line, Blanks(dice, blanks.today, {"thing": blanks["thing"]})) for line in lines))
    nod = render(dice.pick(NODS), blanks) if dice.chance(0.6) else ""
    return [
        Turn("user", _wrap(text, blanks, subject)),
        Turn("assistant", _join(nod, _advice(blanks, subject))),
    ]


def _frame(blanks: Blanks, subject: Topic | Task) -> list[Turn]:
    dice = blanks.dice
    kind = dice.pick(FACTS) if dice.chance(0.8) else dice.pick(PREFERENCES)
    blanks.values["fact"] = upper_first(render(dice.pick(kind.says), Blanks(dice, blanks.today)))
    frame, answer = dice.pick(FRAMES)
    asked = _wrap(render(frame, blanks), blanks, subject, request=False)
    return [Turn("user", asked), Turn("assistant", _work(blanks, answer))]


def _block(blanks: Blanks, subject: Topic | Task) -> list[Turn]:
    dice = blanks.dice
    kind = dice.pick(_BLOCK_KINDS)
    text = render(dice.pick(BLOCKS[kind]), blanks)
    if dice.chance(0.4):
        text = f"{_pads(blanks, 1, 2)} {text}"
    return [Turn("user", text), Turn("assistant", _work(blanks, kind))]


def _request(blanks: Blanks, subject: Topic | Task) -> list[Turn]:
    dice = blanks.dice
    if isinstance(subject, Task):
        i = dice.between(0, len(subject.openers) - 1)
        asked = render(subject.openers[i], blanks)
        return [Turn("user", asked), Turn("assistant", upper_first(render(subject.replies[i], blanks)))]
    asked = _wrap(render(dice.pick(subject.requests), blanks), blanks, subject, request=False, pads=0.85)
    return [Turn("user", asked), Turn("assistant", _advice(blanks, subject))]


def _follow_up(blanks: Blanks, subject: Topic | Task) -> list[Turn]:
    dice = blanks.dice
    lines = subject.follow_ups if isinstance(subject, Task) else FOLLOW_UPS
    asked = render(dice.pick(lines), blanks)
    return [
        Turn("user", _wrap(asked, blanks, subject, request=False)),
        Turn("assistant", _advice(blanks, subject)),
    ]


def _thanks(blanks: Blanks, subject: Topic | Task) -> list[Turn]:
    dice = blanks.dice
    asked = render(dice.pick(THANKS), blanks)
    if dice.chance(0.5):
        asked = f"{asked} {_pads(blanks, 1, 3)}"
    return [Turn("user", asked), Turn("assistant", render(dice.pick(WELCOMES), blanks))]


def _listing(blanks: Blanks, subject: Topic | Task) -> list[Turn]:
    dice = blanks.dice
    listing = dice.pick(LISTINGS)
    shared, entries, _ = make_list(dice, blanks.today, listing)
    blanks.values.update(shared)
    asked = _wrap(render(dice.pick(listing.requests), blanks), blanks, subject, request=False)
    return [Turn("user", asked), Turn("assistant", _list_text(listing, entries, blanks))]


_MOVES = {
    "remark": _remark, "frame": _frame, "block": _block, "request": _request,
    "follow_up": _follow_up, "thanks": _thanks, "listing": _listing,
}  # fmt: skip


def make_list(
    dice: Dice, today: date, listing: Listing
) -> tuple[dict[str, str], tuple[str, ...], list[dict[str, str]]]:
    """The shared slots, the lines, and the slot values of each line of one list."""
    first = Blanks(dice, today)
    shared = {slot: first[slot] for slot in listing.shared}
    template = dice.pick(listing.line)
    rows: dict[str, tuple[str, dict[str, str]]] = {}
    for _ in range(dice.between(3, 6)):
        blanks = Blanks(dice, today, dict(shared))
        line = render(template, blanks)
        # One entry a name, a day or an hour: a second one of the same is dropped.
        rows.setdefault(line.partition(",")[0].partition(":")[0], (line, blanks.values))
    entries = list(rows.values())
    if listing.sort == "weekday":
        entries.sort(key=lambda entry: WEEKDAYS.index(entry[1]["weekday"]))
    elif listing.sort:
        entries.sort(key=lambda entry: int(entry[1][listing.sort]))
    return shared, tuple(line for line, _ in entries), [values for _, values in entries]


def _list_text(listing: Listing, entries: tuple[str, ...], blanks: Blanks) -> str:
    dice = blanks.dice
    intro, outro = render(dice.pick(listing.intro), blanks), render(dice.pick(OUTROS), blanks)
    return _itemised(dice, intro, entries, outro)


def _itemised(dice: Dice, intro: str, lines: tuple[str, ...], outro: str) -> str:
    style = dice.between(0, 2)
    if style == 0:
        body = "\n".join(f"{i}. {line}" for i, line in enumerate(lines, 1))
    elif style == 1:
        body = "\n".join(f"- {line}" for line in lines)
    else:
        return _join(intro, "; ".join(line.rstrip(".") for line in lines) + ".", outro)
    return f"{intro}\n{body}" + (f"\n{outro}" if outro else "")


def _advice(blanks: Blanks, subject: Topic | Task) -> str:
    """What the assistant answers to a request: a list of tips, or prose."""
    dice = blanks.dice
    if isinstance(subject, Task) and dice.chance(0.6):
        return upper_first(render(dice.pick(subject.replies), Blanks(dice, blanks.today)))
    outro = render(dice.pick(OUTROS), blanks)
    if isinstance(subject, Topic) and dice.chance(0.5):
        tips = tuple(
            render(tip, Blanks(dice, blanks.today)) for tip in dice.sample(subject.tips, dice.between(2, 5))
        )
        return _itemised(dice, render(dice.pick(INTROS), blanks), tips, outro)
    prose = dice.sample(GENERAL, dice.between(2, 4))
    return _join(
        *(render(line, Blanks(dice, blanks.today, {"thing": blanks["thing"]})) for line in prose), outro
    )


def _work(blanks: Blanks, kind: str) -> str:
    """What the assistant delivers for a frame or a block; names that were given are used again."""
    dice = blanks.dice
    text = render(dice.pick(WORKINGS[kind]), blanks)
    return _join(text, render(dice.pick(OUTROS), blanks)) if dice.chance(0.5) else text


def _wrap(
    core: str,
    blanks: Blanks,
    subject: Topic | Task,
    *,
    request: bool = True,
    lead: float = 0.25,
    pads: float = 0.55,
) -> str:
    """``core`` in small talk: the same wrapping for facts and for decoys, so that it tells nothing.

    ``lead`` is a little lower for facts, because thanks and pastes have no lead-in: over all user turns
    "by the way" is then no sign of evidence (in LongMemEval it is one: 49 % against 15 %).
    """
    dice = blanks.dice
    if dice.chance(lead):
        core = upper_first(render(dice.pick(LEADS), blanks)) + " " + lower_first(core)
    before = _pads(blanks, 1, 2) if dice.chance(pads) else ""
    after = _pads(blanks, 1, 2) if dice.chance(0.3) else ""
    asked = ""
    if request and dice.chance(0.5):
        lines = subject.requests if isinstance(subject, Topic) else subject.follow_ups
        asked = render(dice.pick(lines), Blanks(dice, blanks.today, {"thing": blanks["thing"]}))
        if dice.chance(0.3):
            return _join(asked, before, upper_first(core), after)
    return _join(before, upper_first(core), after, asked)


def _pads(blanks: Blanks, low: int, high: int) -> str:
    dice = blanks.dice
    return _join(*(render(pad, blanks) for pad in dice.sample(PADS, dice.between(low, high))))


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def pick_subject(dice: Dice, interests: list[Topic]) -> tuple[str, Topic | Task]:
    """Source label and subject of a session: two thirds chats, mostly about the persona's interests."""
    if dice.chance(0.35):
        return TASK, dice.pick(TASKS)
    return CHAT, dice.pick(interests) if dice.chance(0.7) else dice.pick(TOPICS)
