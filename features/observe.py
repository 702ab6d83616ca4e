"""From memories to evidence: the lexical scan, and what each memory means within its store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memvalue.data.consolidation import Consolidation
from memvalue.features.cache import EvidenceCache, code_digest
from memvalue.features.encoder import Encoder
from memvalue.features.evidence import Evidence
from memvalue.features.lexicon import load_lexicon
from memvalue.features.log_evidence import log_evidence
from memvalue.features.match import Declared, declared_match
from memvalue.features.novelty import detrend, new_words
from memvalue.features.recurrence import recurrence
from memvalue.features.scan import scan
from memvalue.features.scan_columns import COLUMNS
from memvalue.features.similarity import rehearsal_similarity

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
    "log_evidence", "match", "novelty", "observe", "recurrence", "scan", "scan_bytes", "scan_columns",
    "scan_counts", "scan_keys", "similarity", "lexicon",
)  # fmt: skip

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
        Blind views; nothing else is looked at.
    encoder
        Optional; turns texts into vectors.
    embeddings
        The caller's own vectors instead, one float32[n, d] a consolidation.
    regime
        ``batch`` looks at the whole store, ``online`` at what came before each memory.
    goals, profile
        What was declared: sentences, or vectors in the encoder's space.
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
        For an unknown regime or language, or embeddings that do not fit.
    """
    if regime not in ("batch", "online"):
        raise ValueError(f"regime must be 'batch' or 'online', got {regime!r}")
    if embeddings is not None and len(embeddings) != len(consolidations):
        raise ValueError(f"{len(embeddings)} arrays of embeddings for {len(consolidations)} consolidations")
    settings = _settings(encoder, regime, goals, profile, language) if cache is not None else ""
    out: list[Evidence] = []
    for i, c in enumerate(consolidations):
        key = ""
        if cache is not None and embeddings is None:
            key = hashlib.sha256(f"{c.digest()}|{settings}".encode()).hexdigest()
            found = cache.get(key)
            if found is not None and found["values"].shape == (len(c), len(EVIDENCE)):
                out.append(Evidence(EVIDENCE, found["values"].astype(np.float32, copy=False)))
                _tell(progress, i + 1, len(consolidations))
                continue
        evidence = _observe(
            c,
            encoder=encoder,
            embedded=None if embeddings is None else embeddings[i],
            online=regime == "online",
            goals=goals,
            profile=profile,
            language=language,
        )
        if cache is not None and key:
            cache.put(key, {"values": evidence.values})
        out.append(evidence)
        _tell(progress, i + 1, len(consolidations))
    return out


def _observe(
    c: Consolidation,
    *,
    encoder: Encoder | None,
    embedded: NDArray[np.float32] | None,
    online: bool,
    goals: Declared | None,
    profile: Declared | None,
    language: str,
) -> Evidence:
    n = len(c)
    scanned = scan(c.texts, language)
    if embedded is None and encoder is not None:
        embedded = encoder.encode(c.texts)
    if embedded is not None and (embedded.ndim != 2 or len(embedded) != n):
        raise ValueError(f"embeddings of shape {embedded.shape} do not fit {n} memories")
    person = c.person
    new = new_words(scanned.word_hash, scanned.word_text, n)
    overlap, topic = recurrence(scanned.word_hash, scanned.word_text, c.sessions, person, online=online)
    uses, harm = log_evidence(c)
    missing = np.full(n, np.nan)

    def match(declared: Declared | None) -> NDArray[np.floating]:
        if declared is None:
            return missing
        return declared_match(
            declared,
            c.texts,
            scanned.word_hash,
            scanned.word_text,
            embedded=embedded,
            encoder=encoder,
            language=language,
        )

    context: dict[str, NDArray[np.floating] | NDArray[np.bool_] | NDArray[np.int64]] = {
        "person": person,
        "position": c.positions,
        "answers_question": _answers_question(c),
        "new_words": new,
        "novelty": detrend(new, person),
        "overlap": overlap,
        "topic": topic,
        "similarity": missing
        if embedded is None
        else rehearsal_similarity(embedded, c.sessions, person, online=online),
        "goal_match": match(goals),
        "profile_match": match(profile),
        "uses": uses,
        "harm": harm,
        "trust": missing if c.trust is None else c.trust,
    }
    values = np.empty((n, len(EVIDENCE)), dtype=np.float32)
    values[:, : len(COLUMNS)] = scanned.counts
    for j, name in enumerate(CONTEXT):
        values[:, len(COLUMNS) + j] = context[name]
    return Evidence(EVIDENCE, values)


def _answers_question(c: Consolidation) -> NDArray[np.bool_]:
    """bool[n]; the memory before it, in the same conversation and by another speaker, asked something."""
    n = len(c)
    out = np.zeros(n, dtype=bool)
    if n < 2:
        return out
    asked = np.fromiter(("?" in t[-_TAIL:] for t in c.texts), dtype=bool, count=n)
    roles = np.unique(np.array(c.roles, dtype=object).astype(str), return_inverse=True)[1]
    out[1:] = asked[:-1] & (c.sessions[1:] == c.sessions[:-1]) & (roles[1:] != roles[:-1])
    return out


def _settings(
    encoder: Encoder | None,
    regime: Regime,
    goals: Declared | None,
    profile: Declared | None,
    language: str,
) -> str:
    """All that evidence depends on besides the memories, as one string."""
    parts = [
        _code(),
        load_lexicon(language).digest,
        language,
        regime,
        "none" if encoder is None else encoder.name,
    ]
    for declared in (goals, profile):
        if declared is None:
            parts.append("-")
        elif isinstance(declared, np.ndarray):
            parts.append(hashlib.sha256(np.ascontiguousarray(declared).tobytes()).hexdigest())
        else:
            parts.append(hashlib.sha256("\0".join(declared).encode("utf-8", "surrogatepass")).hexdigest())
    return "|".join(parts)


def _code() -> str:
    """Digest of the code that evidence comes from; a change of it makes old entries unreachable."""
    return code_digest(*(f"memvalue.features.{module}" for module in _MODULES))


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total, "observe")
