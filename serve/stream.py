"""Decisions at the moment of writing: each memory judged with only what came before it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.consolidation import Consolidation
from memvalue.data.event import Event
from memvalue.data.memory import Memory
from memvalue.features.combine import combine
from memvalue.features.definition import Definition
from memvalue.features.encoder import Encoder
from memvalue.features.key_table import KeyTable
from memvalue.features.lexicon import load_lexicon
from memvalue.features.match import Declared, check_declared, declared_target
from memvalue.features.names import DEFINITION_VERSION
from memvalue.features.observe import observe_next
from memvalue.features.past import Past
from memvalue.serve.decision import DEPTHS, Decision
from memvalue.serve.errors import StateError
from memvalue.serve.stream_state import read_state, write_state
from memvalue.serve.value_model import ValueModel

#: Ended conversations whose numbers are remembered, so that one that resumes is noticed: 32 MB at most. Of
#: more than these the older half is forgotten.
MAX_ENDED = 1 << 20


@dataclass(frozen=True, slots=True)
class StreamDecision:
    """The decision about one memory when it was written.

    Parameters
    ----------
    value
        What it is worth keeping, in [0, 1].
    depth
        How deeply to encode it, 0 to 3: an index into ``DEPTHS``.
    forget_risk
        Probability that it will not be needed, in [0, 1].
    forget_score, rank_score
        As in :class:`~memvalue.serve.decision.Decision`, a day old, not used yet, at relevance 1: a memory
        that was just written has no age to tell it from others.
    factors
        float32[7] in [0, 1], in the order of ``FACTORS``.
    """

    value: float
    depth: int
    forget_risk: float
    forget_score: float
    rank_score: float
    factors: NDArray[np.float32]

    @property
    def depth_name(self) -> str:
        """``shallow``, ``semantic``, ``schematic`` or ``meta``."""
        return DEPTHS[self.depth]


class MemoryStream:
    """One store's memories as they come. Safe to call from several threads, one at a time.

    The factors are those of ``features.extract(…, regime="online")`` of all memories so far, bit for bit,
    with any encoder that gives a text the same vector in any company (the static one does). A memory takes
    the same time however many came before. The history kept is bounded: 16 MB for the words ever heard, and
    110 bytes for each word of a person up to some 60 MB; where that is full, the words that were not used for
    the longest time are forgotten (`memvalue.features.recurrence_past`).

    Memories come in time order, and conversations one after the other: numbers of ``Memory.session`` may be
    any, but one that another has followed cannot resume. Agents with several conversations at a time keep a
    stream for each channel, or number what follows an interruption as a conversation of its own.

    Parameters
    ----------
    model
        Decides. It should have been fitted on factors of the online regime.
    encoder
        Turns texts into vectors where goals or a value profile are declared and no embedding is passed.
    goals, profile
        What was declared: sentences, or vectors in the encoder's space.
    language
        Folder of lexicons.
    definition
        Which evidence the factors may use; default: as the model was fitted.

    Raises
    ------
    ValueError
        For a declaration that does not fit, an unknown language, or a model that does not say its definition.
    """

    def __init__(
        self,
        model: ValueModel,
        *,
        encoder: Encoder | None = None,
        goals: Declared | None = None,
        profile: Declared | None = None,
        language: str = "en",
        definition: Definition | None = None,
    ) -> None:
        load_lexicon(language)
        check_declared(goals, "goals")
        check_declared(profile, "profile")
        self.model = model
        self.definition = _definition(model) if definition is None else definition
        self.language = language
        self._targets = declared_target(goals, "goals", encoder), declared_target(profile, "profile", encoder)
        self._encoder = encoder if any(isinstance(t, np.ndarray) for t in self._targets) else None
        self._past = Past()
        self._time: datetime | None = None
        self._session: int | None = None  # the current conversation's own number
        self._logged = False
        self._ended = KeyTable()
        self._torn = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many memories came."""
        return self._past.rehearsal.memories

    def __repr__(self) -> str:
        past = self._past.rehearsal
        return f"MemoryStream({past.memories} memories, {past.sessions} conversations, {self.model!r})"

    def add(
        self,
        memory: Memory,
        embedding: NDArray[np.floating] | None = None,
        *,
        log: Sequence[Event] | None = None,
    ) -> StreamDecision:
        """Decide about the next memory, and remember it for those that follow.

        Parameters
        ----------
        memory
            Not earlier than the one before.
        embedding
            float[d]; needed where goals or profile are vectors and there is no encoder.
        log
            Events so far about this memory (number 0), for a store that keeps a log: mostly none, but an
            empty list says that there is a log, and from then on there is one.

        Raises
        ------
        ValueError
            For a memory out of order, a conversation that resumes, or a vector that does not fit. The stream
            is then as it was.
        """
        table = None if embedding is None else np.asarray(embedding)[None]
        return self.extend([memory], table, log=log)[0]

    def extend(
        self,
        memories: Sequence[Memory],
        embeddings: NDArray[np.floating] | None = None,
        *,
        log: Sequence[Event] | None = None,
    ) -> list[StreamDecision]:
        """As :meth:`add` of each in turn, with the same result but much faster for many.

        Parameters
        ----------
        memories
            n memories.
        embeddings
            float[n, d].
        log
            Events about these memories (numbers 0 to n − 1) up to each one's own time.

        Raises
        ------
        ValueError
            As :meth:`add`; none of the memories is taken then.
        """
        if not memories:
            return []
        with self._lock:
            if self._torn:
                raise ValueError("the stream was interrupted while it took up a memory; load its last state")
            store, begun = self._store(memories, log)
            try:
                evidence = observe_next(
                    store,
                    self._past,
                    encoder=self._encoder if embeddings is None else None,
                    embedded=embeddings,
                    goals=self._targets[0],
                    profile=self._targets[1],
                    language=self.language,
                    logged=self._logged or log is not None,
                )
            except ValueError:
                raise
            except BaseException:
                self._torn = True
                raise
            self._note(begun)
            self._time = memories[-1].time
            self._logged = self._logged or log is not None
        factors = combine(evidence, self.definition)
        decision = self.model.decide(factors, machine=~store.person)
        return _one_by_one(decision, factors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the history to a file, in one step: after a crash it is the old state or the new.

        Model, encoder, goals and profile are not part of it. Equal streams give equal bytes.

        Raises
        ------
        ValueError
            When it cannot be written, or the stream was interrupted while it took up a memory.
        """
        with self._lock:
            if self._torn:
                raise ValueError("the stream was interrupted while it took up a memory; load its last state")
            about = {
                "definition_version": DEFINITION_VERSION,
                "logged": self._logged,
                "session": self._session,
                "time": None if self._time is None else self._time.isoformat(),
            }
            text = json.dumps(about, sort_keys=True).encode()
            arrays = self._past.arrays()
            arrays["ended"] = self._ended.keys.copy()
        write_state(path, {"about": np.frombuffer(text, dtype=np.uint8), **arrays})

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: ValueModel, **options: Any) -> MemoryStream:
        """The stream that was saved at ``path``, to go on with as if nothing had happened.

        Parameters
        ----------
        path
            Written by :meth:`save`.
        model
            The same or another one, such as last night's.
        options
            As for the class: encoder, goals, profile, language, definition.

        Raises
        ------
        StateError
            With the reason, when the file is missing, damaged, no saved stream, or of another version.
        """
        name = os.fsdecode(path)
        arrays = read_state(name)
        out = cls(model, **options)
        try:
            text = arrays["about"]
            if text.dtype != np.uint8 or text.ndim != 1:
                raise ValueError("what it says about itself is no text")
            about = json.loads(text.tobytes().decode("utf-8"))
            version = about["definition_version"]
            if version != DEFINITION_VERSION:
                raise ValueError(
                    f"it holds words as factor definitions {version!r} count them, this package has "
                    f"{DEFINITION_VERSION!r}; start a new stream and extend it with the store's memories"
                )
            out._time = None if about["time"] is None else datetime.fromisoformat(about["time"])
            out._logged = bool(about["logged"])
            if out._time is not None and out._time.tzinfo is None:
                raise ValueError("its time has no zone")
            ended = arrays["ended"]
            if ended.dtype != np.uint64 or ended.ndim != 1 or len(np.unique(ended)) != len(ended):
                raise ValueError("its ended conversations are no distinct numbers")
            out._ended = KeyTable(ended.astype(np.uint64))
            out._past = Past.from_arrays(arrays)
            out._session = None if about["session"] is None else int(about["session"])
            if not (out._time is None) == (out._session is None) == (len(out) == 0):
                raise ValueError("its time, conversation and count of memories contradict one another")
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"not a sound saved stream: {error}", name) from None
        return out

    def _store(
        self, memories: Sequence[Memory], log: Sequence[Event] | None
    ) -> tuple[Consolidation, list[int]]:
        """The memories as columns, and the conversations that begin with them; refuses what is out of order.

        Conversations are numbered in order, whatever their own numbers.
        """
        time, session = self._time, self._session
        ordinal = self._past.rehearsal.sessions - 1
        begun: list[int] = []
        ordinals = np.empty(len(memories), dtype=np.int64)
        for i, memory in enumerate(memories):
            if not isinstance(memory, Memory):
                raise ValueError(f"memory {i} is a {type(memory).__name__}, not a Memory")
            if time is not None and memory.time < time:
                raise ValueError(
                    f"memory {i} is from {memory.time.isoformat()}, before the last one "
                    f"({time.isoformat()}); a stream takes memories in time order"
                )
            time = memory.time
            if memory.session != session:
                session = memory.session
                begun.append(session)
                ordinal += 1
            ordinals[i] = ordinal
        self._refuse_resumed(begun)
        times = np.array([_seconds(m.time) for m in memories], dtype="datetime64[s]")
        store = Consolidation(
            texts=tuple(m.text for m in memories),
            roles=tuple(m.role for m in memories),
            sessions=ordinals,
            positions=np.array([m.position for m in memories], dtype=np.int64),
            times=times,
            now=times[-1],
            events=tuple(sorted(log or (), key=lambda event: event.time)),
            trust=np.array([np.nan if m.trust is None else m.trust for m in memories]),
        )
        return store, begun

    def _refuse_resumed(self, begun: list[int]) -> None:
        over = self._ended.find(_keys(begun)) >= 0
        seen = {self._session}
        for session, was in zip(begun, over.tolist(), strict=True):
            if was or session in seen:
                raise ValueError(
                    f"conversation {session} ended when another began and cannot resume; number what follows "
                    "as a new conversation, or keep a stream for each channel"
                )
            seen.add(session)

    def _note(self, begun: list[int]) -> None:
        """Remember which conversations are over by now."""
        if not begun:
            return
        ended = begun[:-1] if self._session is None else [self._session, *begun[:-1]]
        self._session = begun[-1]
        self._ended.add(_keys(ended))
        if len(self._ended) > MAX_ENDED:
            self._ended = KeyTable(self._ended.keys[MAX_ENDED // 2 :])


def _definition(model: ValueModel) -> Definition:
    """The definition that the model was fitted on."""
    stored, names = model.definition, {field.name for field in fields(Definition)}
    if not names <= set(stored):
        raise ValueError(
            "the model does not say on which definition of the factors it was fitted; pass definition="
        )
    return Definition(**{name: stored[name] for name in names})


def _keys(numbers: Sequence[int]) -> NDArray[np.uint64]:
    """Numbers of conversations as keys."""
    return np.array([int(number) % 2**64 for number in numbers], dtype=np.uint64)


def _seconds(time: datetime) -> np.datetime64:
    return np.datetime64(time.replace(tzinfo=None), "s")


def _one_by_one(decision: Decision, factors: NDArray[np.float32]) -> list[StreamDecision]:
    d = decision
    columns = (d.value, d.depth, d.forget_risk, d.forget_score, d.rank_score)
    value, depth, risk, score, rank = (column.tolist() for column in columns)
    rows = zip(value, depth, risk, score, rank, factors, strict=True)
    return [StreamDecision(*row) for row in rows]
