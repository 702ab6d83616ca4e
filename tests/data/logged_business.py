"""Logs for tests: rows by hand, and what the replay of a simulated business writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from memvalue.data.logs import Log
from memvalue.data.logs.log_rows import LogRows
from memvalue.data.worlds import Graders, World, business
from memvalue.eval.rankers import rankers
from memvalue.eval.replay import replay
from memvalue.serve.history.states import States

START = datetime(2023, 1, 2, 8, tzinfo=UTC)


def iso(hours: float) -> str:
    return (START + timedelta(hours=hours)).isoformat()


def event(kind: str, hours: float = 0.0, memory: str = "a", **more: Any) -> dict[str, Any]:
    """A row of a log."""
    return {"memory": memory, "kind": kind, "time": iso(hours), **more}


def written(hours: float = 0.0, memory: str = "a", text: str = "My order is 4471.", **more: Any) -> Any:
    return event("written", hours, memory, text=text, **more)


def log_of(rows: Iterable[dict[str, Any]], memories: Iterable[dict[str, Any]] = ()) -> Log:
    made = LogRows()
    for i, row in enumerate(memories, 1):
        made.memory(row, f"memory {i}")
    for i, row in enumerate(rows, 1):
        made.event(row, f"event {i}")
    return made.log("test")


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def text_of(world: World, page: int) -> str:
    """A page about one of the business's topics."""
    topic = int(np.abs(world.embedding[page]).argmax())
    return f"Page {page}: vendor {topic} asks {page * 3 + 20} euro from {1 + page % 28} May on."


@cache
def business_rows(
    seed: int = 0,
    pages: int = 80,
    rhythm: str = "bursty",
    mistake: float = 0.03,
    helpful: float = 0.5,
    years: float = 2.0,
) -> tuple[dict[str, Any], ...]:
    """The rows of a log that a simulated business writes, in the order of writing."""
    world = business(pages, seed, rhythm=rhythm, years=years)
    rows: list[dict[str, Any]] = []
    apply = States.apply_at

    def record(self: States, name: str, kind: str, time: float, signal: float = 1.0, *more: Any) -> Any:
        row = event(kind, time, f"page-{name}", signal=signal)
        if kind == "written":
            row |= {"text": text_of(world, int(name)), "role": "user"}
        rows.append(row)
        return apply(self, name, kind, time, signal, *more)

    States.apply_at = record  # type: ignore[method-assign]
    try:
        replay(world, rankers("dual")[0], graders=Graders(helpful, mistake, 0.7 if mistake < 0.2 else 0.5))
    finally:
        States.apply_at = apply  # type: ignore[method-assign]
    return tuple(rows)
