"""Small stores for the tests of the factors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st

from memvalue.data.consolidation import Consolidation
from memvalue.data.event import EVENT_KINDS, Event
from memvalue.data.memory import Memory
from memvalue.features import Definition, Evidence, combine, observe
from memvalue.features.names import FACTORS

DAY = datetime(2024, 3, 1, 12, tzinfo=UTC)

#: (role, text), or a text of the user.
Turn = tuple[str, str] | str


def store(*sessions: Sequence[Turn], **options: object) -> Consolidation:
    """One session a day, one turn a minute, from ``DAY`` on."""
    memories = [
        Memory(text, role, DAY + timedelta(days=s, minutes=p), session=s, position=p)
        for s, session in enumerate(sessions)
        for p, (role, text) in enumerate(t if isinstance(t, tuple) else ("user", t) for t in session)
    ]
    return Consolidation.from_memories(memories, **options)  # type: ignore[arg-type]


def prefix(c: Consolidation, n: int) -> Consolidation:
    """The store as it was when its n-th memory had just been said."""
    now = c.times[n - 1]
    end = int(now.astype("datetime64[s]").astype(np.int64))
    return Consolidation(
        texts=c.texts[:n],
        roles=c.roles[:n],
        sessions=c.sessions[:n],
        positions=c.positions[:n],
        times=c.times[:n],
        now=now,
        events=tuple(e for e in c.events if e.memory < n and e.time.timestamp() // 1 <= end),
        trust=None if c.trust is None else c.trust[:n],
    )


def factor(name: str, text: str, role: str = "user", definition: str = "default", **options: object) -> float:
    """One factor of a lone text."""
    [evidence] = observe([store([(role, text)])], **options)  # type: ignore[arg-type]
    return float(combine(evidence, Definition.named(definition))[0, FACTORS.index(name)])


def column(name: str, c: Consolidation, definition: str = "default", **options: object) -> list[float]:
    """One factor of every memory of a store."""
    [evidence] = observe([c], **options)  # type: ignore[arg-type]
    found: list[float] = combine(evidence, Definition.named(definition))[:, FACTORS.index(name)].tolist()
    return found


def same(a: Evidence, b: Evidence) -> bool:
    """Equal to the last bit (NaN equal to NaN)."""
    return a.names == b.names and a.values.tobytes() == b.values.tobytes()


#: Few words, so that they recur; some that every factor's lexicon knows; oddities that any store may hold.
_WORDS = """
zebra quartz violin harbour lantern copper meadow saffron glacier orchid
I my the and love want bought cancelled maybe 3 120 dollars sister Rome really terrible? great!
"""
_VOCABULARY = tuple(_WORDS.split())
_ODD = ("", " ", "\n\n", "🎉", "שלום עולם", "\ud800", "a\0b", "x" * 5000, "- one\n- two\n- three; {}")
texts = st.one_of(
    st.lists(st.sampled_from(_VOCABULARY), max_size=12).map(" ".join),
    st.sampled_from(_ODD),
)
roles = st.sampled_from(("user", "user", "assistant", "Ann", "tool"))


@st.composite
def stores(draw: st.DrawFn, max_sessions: int = 12, max_turns: int = 4, log: bool = False) -> Consolidation:
    """Stores of few or many sessions by persons and machines, with a log and trust when asked for."""
    sessions = draw(
        st.lists(st.lists(st.tuples(roles, texts), min_size=1, max_size=max_turns), max_size=max_sessions)
    )
    plain = store(*sessions)
    n = len(plain)
    if not log or not n:
        return plain
    memories = [
        Memory(m.text, m.role, m.time, session=m.session, position=m.position, trust=draw(_trust))
        for m in plain.memories
    ]
    minutes = st.integers(-60, 1440 * (len(sessions) + 2))
    events = draw(
        st.lists(
            st.builds(
                Event,
                st.sampled_from(sorted(EVENT_KINDS)),
                st.integers(0, n - 1),
                minutes.map(lambda m: DAY + timedelta(minutes=m, microseconds=7 * m % 1000)),
                signal=st.floats(0, 1),
                weight=st.floats(0, 5),
            ),
            max_size=12,
        )
    )
    return Consolidation.from_memories(memories, events=events)


_trust = st.one_of(st.none(), st.floats(0, 1))


class Vectors:
    """An encoder whose vectors are drawn from the text alone; zeros for a blank text. Counts its calls."""

    dim = 24

    def __init__(self, name: str = "vectors-24") -> None:
        self.name = name
        self.calls = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += 1
        rows = np.zeros((len(texts), self.dim), np.float32)
        for i, text in enumerate(texts):
            if text.strip():
                seed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]
                row = np.random.default_rng(int.from_bytes(seed, "little")).normal(size=self.dim)
                rows[i] = row / np.sqrt((row * row).sum())
        return rows
