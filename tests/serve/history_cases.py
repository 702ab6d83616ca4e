"""Events for the tests of the history: by hand, and any at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st

from memvalue.serve.history import KINDS, Record, States

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
MEMORIES = ("a", "b", "c")


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def event(kind: str, hours: float = 0.0, memory: str = "a", **more: object) -> Record:
    return Record(memory, kind, at(hours), **more)  # type: ignore[arg-type]


def folded(*events: Record, **formulas: object) -> States:
    """The states of these events, one by one."""
    from memvalue.serve.history import Formulas

    states = States(Formulas(**formulas))  # type: ignore[arg-type]
    for e in events:
        states.apply(e)
    return states


def same(one: States, other: States) -> bool:
    """Equal to the last bit, whatever the order of the rows."""
    if sorted(one.names) != sorted(other.names):
        return False
    names = sorted(one.names)
    mine, theirs = one._table[one.rows(names)], other._table[other.rows(names)]
    return mine.tobytes() == theirs.tobytes() or np.array_equal(mine, theirs, equal_nan=True)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any event: whole minutes over two years, so that equal times and long gaps both occur."""
    kind = draw(st.sampled_from(KINDS))
    minutes = draw(st.one_of(st.integers(0, 120), st.integers(0, 2 * 525_600)))
    return Record(
        draw(st.sampled_from(MEMORIES)),
        kind,
        START + timedelta(minutes=minutes),
        draw(st.sampled_from(("user", "agent"))),
        draw(st.sampled_from((0.0, 0.25, 0.5, 1.0)) | st.floats(0.0, 1.0)),
        draw(st.sampled_from((0.0, 1.0, 2.0)) | st.floats(0.0, 50.0)),
        float(minutes // 2),
        draw(st.none() | st.floats(0.01, 1000.0)) if kind == "imported" else None,
    )
