"""From texts to decisions with the base install: the lexical scan is the runtime's too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from memvalue.data.consolidation import Consolidation
from memvalue.data.errors import DataError
from memvalue.data.event import Event
from memvalue.data.memory import Memory, as_utc
from memvalue.features.definition import Definition
from memvalue.features.encoder import Encoder, load_encoder
from memvalue.features.extract import extract
from memvalue.features.match import Declared
from memvalue.features.names import FACTORS
from memvalue.serve.decision import Decision
from memvalue.serve.memories import StoredMemory
from memvalue.serve.value_model import ValueModel

_DAY = np.timedelta64(86_400, "s")

#: What a model states about its factors.
_SWITCHES = tuple(f.name for f in fields(Definition))
_STATED = frozenset((*_SWITCHES, "encoder", "regime"))


@dataclass(frozen=True, slots=True)
class TextDecisions:
    """The decisions about n memories, in the order in which they were given.

    Parameters
    ----------
    ids
        n names: the store's ids; row numbers as text for memories without.
    decision
        The five columns of :class:`~memvalue.serve.decision.Decision`.
    factors
        float32[n, 7] in [0, 1], in the order of ``FACTORS``.
    age_days
        float64[n], 0 or more: from the memory to ``now``.
    person
        bool[n]; a person said it.
    """

    ids: tuple[str, ...]
    decision: Decision
    factors: NDArray[np.float32]
    age_days: NDArray[np.float64]
    person: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A plain object a memory: id, value, depth (a name), forget_risk, forget_score, rank_score, factors.

        Numbers are float32 and are written with the nine digits that give them back.
        """
        d = self.decision
        columns = [_nine(c) for c in (d.value, d.forget_risk, d.forget_score, d.rank_score)]
        for id_, depth, numbers, row in zip(
            self.ids, d.depth_names, zip(*columns, strict=True), map(_nine, self.factors), strict=True
        ):
            value, risk, forget, rank = numbers
            yield {
                "id": id_,
                "value": value,
                "depth": depth,
                "forget_risk": risk,
                "forget_score": forget,
                "rank_score": rank,
                "factors": dict(zip(FACTORS, row, strict=True)),
            }


def decide_texts(
    model: ValueModel,
    memories: Sequence[StoredMemory | Memory | Mapping[str, Any]],
    *,
    now: datetime | None = None,
    encoder: Encoder | None = None,
    embeddings: NDArray[np.floating] | None = None,
    goals: Declared | None = None,
    profile: Declared | None = None,
    regime: Literal["batch", "online"] | None = None,
    language: str = "en",
) -> TextDecisions:
    """Decide about memories from what was said; the factors are made as the model's metadata says.

    All memories are one store, in any order: each is seen among the others (``batch``) or among those before
    it (``online``).

    Parameters
    ----------
    model
        A verified model.
    memories
        n memories: as stored (:class:`StoredMemory` or its JSON object), or plain ``Memory``.
    now
        The moment of the decision, timezone-aware; default the latest memory's. Nothing may be later.
    encoder, embeddings
        The memories' vectors, for a model that was fitted with some: an encoder, or float[n, d] in the order
        given. Default: the memories' own ``embedding`` where all have one, else the encoder that the model
        names, if it is one of this project's.
    goals, profile
        What was declared: sentences, or vectors in the embeddings' space.
    regime
        Default: the one that the model was fitted in.
    language
        Folder of lexicons.

    Raises
    ------
    ValueError
        For a model that does not say how its factors are made, a malformed memory, a moment before the latest
        memory, or vectors that do not fit.
    """
    stored = [_stored(m, i) for i, m in enumerate(memories)]
    how = _setting(model)
    view, order = lay_out(stored, now=now)
    vectors = _vectors(stored, how, encoder, embeddings)
    made = extract(
        view,
        definition=how.definition,
        encoder=encoder if vectors is None else None,
        embeddings=None if vectors is None else vectors[order],
        regime=how.regime if regime is None else regime,
        goals=goals,
        profile=profile,
        language=language,
    )
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    factors = made.values[back]
    age = ((view.now - view.times) / _DAY)[back]
    person = view.person[back]
    used = [m.uses for m in stored]
    decision = model.decide(
        factors,
        age_days=age,
        uses=np.array([u or 0.0 for u in used]) if any(used) else None,
        machine=~person,
    )
    return TextDecisions(tuple(m.id for m in stored), decision, factors, age, person)


def lay_out(
    memories: Sequence[StoredMemory], *, now: datetime | None = None
) -> tuple[Consolidation, NDArray[np.int64]]:
    """The memories as one store, in its order: sessions by their earliest memory, within them by time.

    A memory without a session belongs to the conversation of its day in UTC. Counted uses become one use of
    that weight at ``last_used`` (at the memory's own time where that is not known).

    Returns
    -------
    Consolidation, and int64[n]: which of ``memories`` stands in each of its rows.

    Raises
    ------
    DataError
        When ``now`` lies before a memory.
    """
    n = len(memories)
    if n == 1:
        return _lone(memories[0], now), np.zeros(1, dtype=np.int64)
    seconds = np.fromiter((_seconds(m.time) for m in memories), dtype=np.int64, count=n)
    numbers: dict[Any, int] = {}
    session = np.fromiter(
        (
            numbers.setdefault(("day", second // 86_400) if m.session is None else m.session, len(numbers))
            for m, second in zip(memories, seconds.tolist(), strict=True)
        ),
        dtype=np.int64,
        count=n,
    )
    first = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(first, session, seconds)
    rank = np.empty(len(numbers), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(numbers))
    session = rank[session]
    order = np.lexsort((seconds, session))  # stable: equals keep the order given
    sessions, times = session[order], seconds[order]
    # Sessions may interleave; a running maximum keeps the column sorted without splitting a session.
    times = np.maximum.accumulate(times) if n else times
    end = _end(memories[int(np.argmax(seconds))], now) if n else _moment(now, 0)
    starts = np.flatnonzero(np.diff(sessions, prepend=-1))
    rows = np.arange(n)
    trust = None
    if any(m.trust is not None for m in memories):
        trust = np.array([np.nan if memories[i].trust is None else memories[i].trust for i in order])
    row_of = {int(old): new for new, old in enumerate(order)}
    events = sorted(
        (
            Event("opened", row_of[i], _use_time(m, end), weight=m.uses)
            for i, m in enumerate(memories)
            if m.uses
        ),
        key=lambda event: event.time,
    )
    return (
        Consolidation(
            texts=tuple(memories[i].text for i in order),
            roles=tuple(memories[i].role for i in order),
            sessions=sessions,
            positions=rows - np.repeat(starts, np.diff(np.append(starts, n))),
            times=times.astype("datetime64[s]"),
            now=np.datetime64(end, "s"),
            events=tuple(events),
            trust=trust,
            pinned=np.array([memories[i].pinned for i in order], dtype=bool),
        ),
        order,
    )


def _lone(memory: StoredMemory, now: datetime | None) -> Consolidation:
    """As `lay_out` of one memory, in a tenth of the time."""
    end = _end(memory, now)
    return Consolidation(
        texts=(memory.text,),
        roles=(memory.role,),
        sessions=np.zeros(1, dtype=np.int64),
        positions=np.zeros(1, dtype=np.int64),
        times=np.array([_seconds(memory.time)], dtype=np.int64).view("datetime64[s]"),
        now=np.datetime64(end, "s"),
        events=(Event("opened", 0, _use_time(memory, end), weight=memory.uses),) if memory.uses else (),
        trust=None if memory.trust is None else np.array([memory.trust]),
        pinned=np.array([memory.pinned], dtype=bool),
    )


def _end(latest: StoredMemory, now: datetime | None) -> int:
    """The moment of the decision in seconds since 1970 UTC, not before the latest memory."""
    last = _seconds(latest.time)
    end = _moment(now, last)
    if end < last:
        raise DataError(
            f"now is {np.datetime64(end, 's')}Z, but memory {latest.id!r} is from "
            f"{np.datetime64(last, 's')}Z; give a later 'now' or leave the memory out"
        )
    return end


def _moment(now: datetime | None, otherwise: int) -> int:
    return otherwise if now is None else _seconds(as_utc(now, "now"))


@dataclass(frozen=True, slots=True)
class _Setting:
    definition: Definition
    regime: Literal["batch", "online"]
    encoder: str


def _setting(model: ValueModel) -> _Setting:
    """How the model's factors are made."""
    stored = model.definition
    if stored.keys() != _STATED or stored["regime"] not in ("batch", "online"):
        raise ValueError(
            "the model does not say how its factors are made, or says it in another version's words; export "
            "it with `memvalue fit`, or compute the factors yourself and call ValueModel.decide"
        )
    return _Setting(
        Definition(**{name: stored[name] for name in _SWITCHES}),
        cast(Literal["batch", "online"], stored["regime"]),
        str(stored["encoder"]),
    )


def _vectors(
    stored: Sequence[StoredMemory],
    how: _Setting,
    encoder: Encoder | None,
    embeddings: NDArray[np.floating] | None,
) -> NDArray[np.float32] | None:
    """float32[n, d] in the order given, or None where the factors do without or an encoder makes them."""
    if embeddings is not None:
        table = np.asarray(embeddings, dtype=np.float32)
        if table.ndim != 2 or len(table) != len(stored):
            raise ValueError(f"embeddings must be [{len(stored)}, d], one row a memory, got {table.shape}")
        return table
    if encoder is not None:
        return None
    if stored and all(m.embedding is not None for m in stored):
        widths = {len(m.embedding) for m in stored if m.embedding is not None}
        if len(widths) > 1:
            raise DataError(
                f"the memories' embeddings have {len(widths)} different lengths ({min(widths)} to "
                f"{max(widths)}); they must come from one encoder"
            )
        return np.stack([m.embedding for m in stored if m.embedding is not None])
    if how.encoder == "none":
        return None
    if how.encoder.startswith("st:"):  # a model file is not to say what is fetched or opened
        raise ValueError(
            f"the model was fitted with the encoder {how.encoder!r}, which may lie in a folder or on a hub; "
            "if you trust it, pass encoder=load_encoder(...) with that name, or give the memories embeddings"
        )
    found = load_encoder(how.encoder)
    assert found is not None  # only "none" stands for no encoder
    return found.encode([m.text for m in stored])


def _stored(memory: StoredMemory | Memory | Mapping[str, Any], row: int) -> StoredMemory:
    if isinstance(memory, StoredMemory):
        return memory
    if isinstance(memory, Memory):
        return StoredMemory(
            id=str(row),
            text=memory.text,
            role=memory.role,
            time=memory.time,
            session=memory.session,
            trust=memory.trust,
            pinned=memory.pinned,
            stratum=memory.stratum,
            expires=memory.expires,
        )
    if isinstance(memory, Mapping):
        return StoredMemory.from_dict(memory, f"memory {row}")
    raise ValueError(
        f"memory {row} is a {type(memory).__name__}; give a StoredMemory, a Memory, or an object with "
        "id, text, role and time"
    )


def _use_time(memory: StoredMemory, end: int) -> datetime:
    """When it was used last, as far as is known; never after the decision."""
    moment = memory.time if memory.last_used is None else as_utc(memory.last_used, "last_used")
    return min(moment, datetime.fromtimestamp(end, UTC))


def _seconds(moment: datetime) -> int:
    """Whole seconds since 1970 UTC."""
    return int(as_utc(moment, "time").timestamp() // 1)


def _nine(column: NDArray[np.float32]) -> list[float]:
    return [float(f"{v:.9g}") for v in column.tolist()]
