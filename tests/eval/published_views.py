"""Views for the tests of published policies, written as what happened when."""

from __future__ import annotations

from typing import Any

import numpy as np

from memvalue.eval.published import View
from memvalue.serve.history import KINDS


def view(created: Any, *events: tuple[Any, ...], now: float, **columns: Any) -> View:
    """Memories written at hours ``created``; an event is (memory, kind, hour[, signal[, weight]])."""
    rows = [(m, KINDS.index(k), t, *rest, *(1.0, 1.0)[len(rest) :]) for m, k, t, *rest in events]
    memory, kind, time, signal, weight = np.array(rows, np.float64).reshape(-1, 5).T
    return View(
        np.asarray(created, np.float64),
        now,
        memory=memory.astype(int),
        kind=kind.astype(int),
        time=time,
        signal=signal,
        weight=weight,
        **{name: np.asarray(column) for name, column in columns.items()},
    )
