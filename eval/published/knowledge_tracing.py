"""Bayesian knowledge tracing: the chance that a thing is known, from successes and failures.

Corbett & Anderson (1995), "Knowledge tracing: modeling the acquisition of procedural knowledge", User
Modeling and User-Adapted Interaction 4, equations 1 to 3. At each outcome

- after a success P(L) ← P(L)(1 − S) / (P(L)(1 − S) + (1 − P(L))G),
- after a failure P(L) ← P(L)S / (P(L)S + (1 − P(L))(1 − G)),
- and then P(L) ← P(L) + (1 − P(L))T.

Time plays no part: what is learned is never forgotten. Here "known" is "right and useful". The paper fits
the four numbers a skill; memories have no skills, so they are fixed. **They are ours**, with guess and slip
within the bounds .3 and .1 under which the model keeps its meaning (Baker, Corbett & Aleven 2008).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

#: P(L₀), P(T), P(G), P(S).
KNOWN, LEARN, GUESS, SLIP = 0.5, 0.1, 0.2, 0.1


def knowledge_tracing(view: View) -> NDArray[np.float64]:
    """float64[n] in (0, 1); P(L), the same for all that had no outcome."""
    known = np.full(len(view), KNOWN)
    outcomes = view.outcomes()
    for rows, at in outcomes.rounds():
        p, good = known[rows], outcomes.good[at]
        if_known, if_not = np.where(good, 1.0 - SLIP, SLIP), np.where(good, GUESS, 1.0 - GUESS)
        p = p * if_known / (p * if_known + (1.0 - p) * if_not)
        known[rows] = p + (1.0 - p) * LEARN
    return known
