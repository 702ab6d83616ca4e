"""What a store's dump holds: what would stay and go, what is there twice, what is junk."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.files import write_atomic
from memvalue.data.memory import as_utc
from memvalue.serve.budget import Budget
from memvalue.serve.memories import StoredMemory
from memvalue.serve.plan import Plan, plan_forgetting
from memvalue.serve.text import TextDecisions, decide_texts
from memvalue.serve.value_model import ValueModel

#: A text of these words alone, and of few of them, says nothing that could be needed.
GREETINGS = frozenset((
    "hi", "hello", "hey", "hiya", "yo", "greetings", "good", "morning", "afternoon", "evening", "night",
    "day", "bye", "goodbye", "see", "you", "later", "soon", "cya", "thanks", "thank", "thx",
    "ty", "cheers", "please", "welcome", "ok", "okay", "k", "kk", "yes", "yeah", "yep",
    "yup", "no", "nope", "sure", "great", "cool", "nice", "perfect", "awesome", "got", "it",
    "so", "much", "very", "a", "lot", "lol", "haha", "hmm", "oh", "ah", "alright",
    "right", "fine", "well", "there", "how", "are", "doing", "your", "re", "is", "u",
    "my", "pleasure", "np", "problem", "anytime",
))  # fmt: skip
GREETING_WORDS = 6

#: So many memories of the same words are a template, not something said.
BOILERPLATE_COPIES = 5

JUNK: tuple[str, ...] = ("", "empty", "greeting", "boilerplate")
_NONE, _EMPTY, _GREETING, _BOILERPLATE = range(len(JUNK))

_WORD = re.compile(r"\w+")
_APART = {b: " " for b in range(128) if not _WORD.match(chr(b))}


@dataclass(frozen=True)
class Audit:
    """What was found in n memories.

    Parameters
    ----------
    decisions, plan
        Of all memories, in the order given.
    exact, near
        int64[n]: row of the first memory with the same text (white space apart), with the same set of words
        (case, order, punctuation and repeats apart); −1 for a first one.
    junk
        int8[n]; an index into :data:`JUNK`.
    """

    decisions: TextDecisions
    plan: Plan
    exact: NDArray[np.int64]
    near: NDArray[np.int64]
    junk: NDArray[np.int8]

    def summary(self) -> dict[str, Any]:
        """Counts and shares as plain data."""
        n = len(self.plan)
        tokens = self.plan.tokens
        assert tokens is not None  # an audit counts them
        total = int(tokens.sum())

        def part(which: NDArray[np.bool_]) -> dict[str, Any]:
            count, cost = int(which.sum()), int(tokens[which].sum())
            return {
                "memories": count,
                "share": round(count / n, 4),
                "tokens": cost,
                "token_share": round(cost / total, 4),
            }

        depth = self.decisions.decision.depth
        return {
            "memories": n,
            "tokens": total,
            "plan": self.plan.summary(),
            "depth": {
                name: int(count)
                for name, count in zip(
                    ("shallow", "semantic", "schematic", "meta"), np.bincount(depth, minlength=4), strict=True
                )
            },
            "duplicates": {"exact": part(self.exact >= 0), "near": part((self.near >= 0) & (self.exact < 0))},
            "junk": {name: part(self.junk == code) for code, name in enumerate(JUNK) if name},
            "near_misses": self.plan.near_misses(),
        }

    def write(self, path: str | Path) -> None:
        """The plan, a line a memory with depth, forget risk, copies and junk; whole or not at all."""

        def lines() -> Any:
            risk = self.decisions.decision.forget_risk.tolist()
            depth = self.decisions.decision.depth_names
            for i, row in enumerate(self.plan.rows()):
                row["depth"], row["forget_risk"] = depth[i], round(risk[i], 6)
                first = int(self.exact[i]) if self.exact[i] >= 0 else int(self.near[i])
                if first >= 0:
                    row["same_as"] = self.plan.ids[first]
                if self.junk[i]:
                    row["junk"] = JUNK[int(self.junk[i])]
                yield json.dumps(row, allow_nan=False) + "\n"

        write_atomic(path, lines())


def audit(
    model: ValueModel,
    memories: Sequence[StoredMemory],
    budget: Budget | str | float,
    *,
    now: datetime | None = None,
    grace_days: float = 0.0,
) -> Audit:
    """Decide about every memory of a store and plan what to forget; nothing is changed.

    A memory below the cut is to be compressed when it is worth more than the shallow depth, else forgotten.
    Tokens are whitespace-separated words, at least one a memory.

    Parameters
    ----------
    model
        A verified model.
    memories
        n of them, one or more.
    budget
        What is kept.
    now
        The moment; default the latest memory's.
    grace_days
        Age below which a memory is not judged yet.

    Raises
    ------
    ValueError
        For no memory, or as :func:`decide_texts` and :func:`plan_forgetting`.
    """
    if not memories:
        raise ValueError("there is no memory to audit")
    limit = Budget.parse(budget)
    decided = decide_texts(model, memories, now=now)
    moment = max(m.time for m in memories) if now is None else as_utc(now, "now")
    plan = plan_forgetting(
        decided.decision.value,
        limit,
        ids=decided.ids,
        tokens=np.fromiter((max(1, len(m.text.split())) for m in memories), np.int64, count=len(memories)),
        pinned=np.array([m.pinned for m in memories], dtype=bool),
        age_days=decided.age_days,
        grace_days=grace_days,
        expired=np.array([m.expires is not None and m.expires <= moment for m in memories], dtype=bool),
        summary_from=model.tier_edges[0],
        density_exponent=model.density_exponent,
    )
    exact, near, junk = _copies_and_junk([m.text for m in memories])
    return Audit(decided, plan, exact, near, junk)


def _copies_and_junk(
    texts: Sequence[str],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """The columns ``exact``, ``near`` and ``junk`` of :class:`Audit`."""
    n = len(texts)
    exact, near = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    junk = np.zeros(n, dtype=np.int8)
    group = np.arange(n)
    # Hashes, not what is hashed: that would be as large as the store. What they find is compared.
    first_text: dict[int, int] = {}
    first_words: dict[int, int] = {}
    for i, text in enumerate(texts):
        key = _plain(text)
        first = first_text.setdefault(hash(key), i)
        if first < i and _plain(texts[first]) == key:  # the words are those of the first
            exact[i], junk[i], group[i] = first, junk[first], group[first]
            near[i] = group[first]
            continue
        found = _words(key)
        words = frozenset(found)
        first = first_words.setdefault(hash(words), i)
        if first < i and frozenset(_words(_plain(texts[first]))) == words:
            near[i] = group[i] = first
        if not words:
            junk[i] = _EMPTY
        elif len(found) <= GREETING_WORDS and words <= GREETINGS:
            junk[i] = _GREETING
    copies = np.bincount(group, minlength=n)[group]
    junk[(copies >= BOILERPLATE_COPIES) & (junk == _NONE)] = _BOILERPLATE
    return exact, near, junk


def _plain(text: str) -> str:
    """The text, white space apart."""
    return " ".join(text.split())


def _words(text: str) -> list[str]:
    """Lower-case words in reading order."""
    lower = text.lower()
    # As the pattern, four times as fast.
    return lower.translate(_APART).split() if lower.isascii() else _WORD.findall(lower)
