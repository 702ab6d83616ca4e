"""From memories to evidence: the lexical scan, and what each memory means within its store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import ne
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memvalue.data.consolidation import Consolidation
from memvalue.features.cache import EvidenceCache, code_digest
from memvalue.features.encoder import Encoder
from memvalue.features.evidence import Evidence
from memvalue.features.heard_words import HeardWords
from memvalue.features.lexicon import load_lexicon
from memvalue.features.log_evidence import log_evidence
from memvalue.features.match import Declared, check_declared, declared_match, declared_target
from memvalue.features.novelty import SLOT_BITS, detrend, new_words
from memvalue.features.past import Past
from memvalue.features.recurrence import recurrence
from memvalue.features.scan import scan
from memvalue.features.scan_columns import COLUMNS
from memvalue.features.similarity import rehearsal_similarity
from memvalue.features.unit_rows import unit_rows

Regime = Literal["batch", "online"]
Progress = Callable[[int, int, str], None]

#: Columns that describe a memory within its store, after the columns of the scan.
CONTEXT: tuple[str, ...] = (
    "person",  # 1 where a person spoke
    "position",  # place within the conversation, from 0
    "answers_question",  # 1 where another speaker's turn just before ends in a question
    "new_words",  # words the store had not heard
    "novelty",  # the same against the usual of that time
    "overlap",  # rare words shared with one memory of another conversation
    "topic",  # rare words the conversation shares with one other, as a share of its own
    "similarity",  # cosine to the closest memory of another conversation; NaN without embeddings
    "goal_match",  # match with the declared goals; NaN without
    "profile_match",  # match with the declared value profile; NaN without
    "uses",  # deliberate uses, decayed; NaN without a log
    "harm",  # recent corrections; NaN without a log
    "trust",  # declared trust; NaN where unknown
)

#: All evidence columns.
EVIDENCE: tuple[str, ...] = (*COLUMNS, *CONTEXT)

#: Modules whose code decides what the columns hold; the encoder and the lexicons have digests of their own.
_MODULES = (
    *(f"memvalue.data.{name}" for name in ("consolidation", "event", "memory")),
    *(
        f"memvalue.features.{name}"
        for name in (
            "growing", "heard_words", "key_table", "lexicon", "log_evidence", "match", "novelty", "observe",
            "past", "recurrence", "recurrence_past", "scan", "scan_bytes", "scan_columns", "scan_counts",
            "scan_keys", "similarity", "unit_rows", "use_clock",
        )
    ),
)  # fmt: skip

#: Memories whose words are held at a time, some 140 a turn of LongMemEval: 40 MB.
PART = 1 << 14

#: Only the end of the turn before is looked at for a question (trial).
_TAIL = 300


def observe(
    consolidations: Sequence[Consolidation],
    *,
    encoder: Encoder | None = None,
    embeddings: Sequence[NDArray[np.float32]] | None = None,
    regime: Regime = "batch",
    goals: Declared | None = None,
    profile: Declared | None = None,
    language: str = "en",
    cache: EvidenceCache | None = None,
    progress: Progress | None = None,
) -> list[Evidence]:
    """The evidence of every consolidation, in order.

    Parameters
    ----------
    consolidations
        Blind views; nothing else is looked at, and nothing else is taken.
    encoder
        Optional; turns texts into vectors.
    embeddings
        The caller's own vectors instead, one float[n, d] a consolidation, of any lengths (a zero row for a
        text with nothing to encode). What was observed with them is not cached.
    regime
        ``batch`` looks at the whole store, ``online`` at what came before each memory: its row has the same
        bits whatever comes later.
    goals, profile
        What was declared: sentences, or vectors in the encoder's space. Sentences are compared by embedding
        when there is an encoder, else by shared words.
    language
        Folder of lexicons.
    cache
        Keeps what was observed, one entry a consolidation, keyed by content, encoder, settings and code, so
        an interrupted run keeps what it had.
    progress
        Called as progress(done, total, "observe").

    Raises
    ------
    ValueError
        For an unknown regime or language, something that is no consolidation, or embeddings or declarations
        that do not fit.
    """
    if regime not in ("batch", "online"):
        raise ValueError(f"regime must be 'batch' or 'online', got {regime!r}")
    if isinstance(consolidations, Consolidation):
        raise ValueError("observe takes a list of consolidations; write observe([consolidation])")
    for i, c in enumerate(consolidations):
        if not isinstance(c, Consolidation):
            raise ValueError(
                f"item {i} is a {type(c).__name__}, not a Consolidation; of a case, pass its .consolidation: "
                "what observes must not see the answers"
            )
    if embeddings is not None and len(embeddings) != len(consolidations):
        raise ValueError(f"{len(embeddings)} arrays of embeddings for {len(consolidations)} consolidations")
    if embeddings is not None:
        cache = None
    check_declared(goals, "goals")
    check_declared(profile, "profile")
    settings = _settings(encoder, regime, goals, profile, language) if cache is not None else ""
    targets: tuple[Declared | None, Declared | None] | None = None
    out: list[Evidence] = []
    for i, c in enumerate(consolidations):
        key = ""
        if cache is not None:
            key = hashlib.sha256(f"{c.digest()}|{settings}".encode()).hexdigest()
            found = (cache.get(key) or {}).get("values")
            if found is not None and found.shape == (len(c), len(EVIDENCE)):
                out.append(Evidence(EVIDENCE, found.astype(np.float32, copy=False)))
                _tell(progress, i + 1, len(consolidations))
                continue
        if targets is None:
            targets = declared_target(goals, "goals", encoder), declared_target(profile, "profile", encoder)
        evidence = _observe(
            c,
            encoder=encoder,
            embedded=None if embeddings is None else embeddings[i],
            online=regime == "online",
            goals=targets[0],
            profile=targets[1],
            language=language,
        )
        if cache is not None:
            cache.put(key, {"values": evidence.values})
        out.append(evidence)
        _tell(progress, i + 1, len(consolidations))
    return out


def observe_next(
    c: Consolidation,
    past: Past,
    *,
    encoder: Encoder | None = None,
    embedded: NDArray[np.floating] | None = None,
    goals: Declared | None = None,
    profile: Declared | None = None,
    language: str = "en",
    logged: bool = False,
) -> Evidence:
    """The online evidence of memories that come after ``past``, which takes them up.

    However a store is cut into such pieces, their rows are those of `observe` of the whole in the online
    regime, bit for bit; only ``similarity`` is NaN throughout, since a history keeps no embeddings.

    Parameters
    ----------
    c
        The next memories. Equal session numbers, here and in earlier pieces, are one conversation, which
        must not be interrupted by another.
    encoder, embedded, language
        As in `observe`; ``embedded`` is float[n, d].
    goals, profile
        What `declared_target` gave.
    logged
        There was an event log before these memories.

    Raises
    ------
    ValueError
        For embeddings that do not fit; ``past`` is then as it was.
    """
    return _observe(
        c,
        encoder=encoder,
        embedded=embedded,
        online=True,
        goals=goals,
        profile=profile,
        language=language,
        past=past,
        logged=logged,
    )


def _observe(
    c: Consolidation,
    *,
    encoder: Encoder | None,
    embedded: NDArray[np.floating] | None,
    online: bool,
    goals: Declared | None,
    profile: Declared | None,
    language: str,
    past: Past | None = None,
    logged: bool = False,
) -> Evidence:
    n = len(c)
    if embedded is None and encoder is not None:
        embedded = encoder.encode(c.texts)
    unit = None if embedded is None else unit_rows(embedded, "embeddings")
    if unit is not None and len(unit) != n:
        raise ValueError(f"{len(unit)} rows of embeddings do not fit {n} memories")
    person = c.person
    uses, harm = log_evidence(c, online=online, begun=logged)
    missing = np.full(n, np.nan)
    context: dict[str, NDArray[Any]] = {
        "person": person,
        "position": c.positions,
        "similarity": missing
        if unit is None or past is not None
        else rehearsal_similarity(unit, c.sessions, person, online=online),
        "goal_match": missing if goals is None else np.empty(n),
        "profile_match": missing if profile is None else np.empty(n),
        "uses": uses,
        "harm": harm,
        "trust": missing if c.trust is None else c.trust,
    }
    values = np.empty((n, len(EVIDENCE)), dtype=np.float32)
    # Part by part, of which the counts and persons' words stay: the words of a large store fill memory.
    parts = [slice(0, n)]
    heard = None if past is None else past.heard
    if past is None and n > PART:
        parts = [slice(i, min(i + PART, n)) for i in range(0, n, PART)]
        heard = HeardWords(SLOT_BITS)
    new, words, owner = np.empty(n), [], []
    for part in parts:
        size = part.stop - part.start
        scanned = scan(c.texts[part], language)
        values[part, : len(COLUMNS)] = scanned.counts
        word, said_in = scanned.word_hash, scanned.word_text
        for name, declared in (("goal_match", goals), ("profile_match", profile)):
            if declared is not None:
                some = None if unit is None else unit[part]
                context[name][part] = declared_match(
                    declared, word, said_in, size, embedded=some, language=language
                )
        # What moves the past on comes last: nothing from here on refuses what was given.
        new[part] = new_words(word, said_in, size, heard)
        if size < n:
            kept = person[part][said_in]
            word, said_in = word[kept], said_in[kept] + part.start
        words.append(word)
        owner.append(said_in)
    context["answers_question"] = _answers_question(c, past)
    context["new_words"] = new
    context["novelty"] = detrend(new, person, None if past is None else past.usual)
    context["overlap"], context["topic"] = recurrence(
        words[0] if len(words) == 1 else np.concatenate(words),
        owner[0] if len(owner) == 1 else np.concatenate(owner),
        c.sessions,
        person,
        online=online,
        past=None if past is None else past.rehearsal,
    )
    for j, name in enumerate(CONTEXT):
        values[:, len(COLUMNS) + j] = context[name]
    return Evidence(EVIDENCE, values)


def _answers_question(c: Consolidation, past: Past | None = None) -> NDArray[np.bool_]:
    """bool[n]; the memory before it, in the same conversation and by another speaker, asked something."""
    n = len(c)
    out = np.zeros(n, dtype=bool)
    if n == 0 or (past is None and n == 1):
        return out
    asked = np.fromiter(("?" in t[-_TAIL:] for t in c.texts), dtype=bool, count=n)
    turn = np.fromiter(map(ne, c.roles[1:], c.roles), dtype=bool, count=n - 1)
    out[1:] = asked[:-1] & (c.sessions[1:] == c.sessions[:-1]) & turn
    if past is not None:
        continues = past.rehearsal.session == int(c.sessions[0])
        out[0] = continues and past.asker is not None and past.asker != c.roles[0]
        past.asker = c.roles[-1] if asked[-1] else None
    return out


def _settings(
    encoder: Encoder | None,
    regime: Regime,
    goals: Declared | None,
    profile: Declared | None,
    language: str,
) -> str:
    """All that evidence depends on besides the memories, as one string."""
    parts: list[object] = [
        _code(),
        load_lexicon(language).digest,
        language,
        regime,
        "none" if encoder is None else encoder.name,
    ]
    for declared in (goals, profile):
        if isinstance(declared, np.ndarray):
            content = hashlib.sha256(np.ascontiguousarray(declared).tobytes()).hexdigest()
            parts.append([declared.dtype.str, list(declared.shape), content])
        else:
            parts.append(None if declared is None else list(declared))
    return json.dumps(parts)


@lru_cache(maxsize=1)
def _code() -> str:
    """Digest of the code that evidence comes from; a change of it makes old entries unreachable.

    Read once: the code that runs stays what it was when an upgrade replaces the files under a running job.
    """
    return code_digest(*_MODULES)


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total, "observe")
