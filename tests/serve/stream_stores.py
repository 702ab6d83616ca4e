"""Small stores for the tests of the stream."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st

from memvalue.data.consolidation import Consolidation
from memvalue.data.memory import Memory

DAY = datetime(2024, 3, 1, 12, tzinfo=UTC)

_WORDS = "zebra quartz violin harbour lantern copper meadow I my the love want no longer 3 dollars really?"
_ODD = ("", " ", "\n\n", "🎉", "שלום", "\ud800", "a\0b", "x" * 5000, "- one\n- two; {}")
texts = st.one_of(st.lists(st.sampled_from(_WORDS.split()), max_size=12).map(" ".join), st.sampled_from(_ODD))
turns = st.tuples(
    st.sampled_from(("user", "user", "assistant", "Ann")), texts, st.sampled_from((None, 0.2, 1.0))
)
#: (role, text, trust) of each turn of each conversation; up to 14, so that a word can become common.
talks = st.lists(st.lists(turns, min_size=1, max_size=4), min_size=1, max_size=14)


def memories_of(talk, numbers=None):
    """One conversation a day, one turn a minute; ``numbers`` are those of the conversations."""
    return [
        Memory(
            text,
            role,
            DAY + timedelta(days=s, minutes=p),
            session=numbers[s] if numbers is not None else s,
            position=p,
            trust=trust,
        )
        for s, session in enumerate(talk)
        for p, (role, text, trust) in enumerate(session)
    ]


def store_of(memories):
    """The same as one store."""
    return Consolidation.from_memories(memories)


class Vectors:
    """An encoder whose vectors are drawn from the text alone; zeros for a blank text."""

    name = "vectors-24"
    dim = 24

    def encode(self, texts):
        rows = np.zeros((len(texts), self.dim), np.float32)
        for i, text in enumerate(texts):
            if text.strip():
                seed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]
                row = np.random.default_rng(int.from_bytes(seed, "little")).normal(size=self.dim)
                rows[i] = row / np.sqrt((row * row).sum())
        return rows
