"""Oblivion: accessibility that decays with every turn, and is reinforced by contributing alone.

Rana, Hung, Sun, Kunkel & Lawrence (2026), "Oblivion: Self-Adaptive Agentic Memory Control through
Decay-Driven Activation", arXiv 2604.00131: R = e^(−n/S), S = (U + F + ε)·T. n is the number of turns since
the memory last contributed to an answer, U its utility, F how often it contributed, T = 10 the best of the
paper's temperatures. What was merely retrieved is not reinforced.

The paper lets U and F be any proxies. **Ours**: F counts the writing and every deliberate use, U is the
share of the evidence that speaks for it (0 without any), and ε, which keeps S off zero, is 0 since F never
is. A turn is a memory that was written, or a moment at which some were used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

#: T, in turns (its figure on the decay temperature; 1 and 3 forget all, 50 nothing).
TEMPERATURE = 10.0


def oblivion(view: View) -> NDArray[np.float64]:
    """float64[n] ≤ 0; ln R, which ranks as R does and does not run out of digits after 7,000 turns."""
    contributed = view.uses()
    frequency = 1.0 + contributed.count()
    outcomes = view.evidence()
    spoken = outcomes.total(outcomes.weight)
    helped = outcomes.total(outcomes.signal * outcomes.weight)
    utility = np.divide(helped, spoken, out=np.zeros(len(view)), where=spoken > 0.0)
    # Turns of one conversation share a time in some logs: each memory that was written is a turn.
    turns = np.sort(np.concatenate([view.created, np.unique(contributed.time)]))
    last = contributed.last(view.created)
    since = len(turns) - np.searchsorted(turns, last, side="right")
    return -since / ((utility + frequency) * TEMPERATURE)
