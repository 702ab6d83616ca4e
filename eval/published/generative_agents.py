"""Generative Agents: recency + importance + relevance.

Park, O'Brien, Cai, Morris, Liang & Bernstein (2023), "Generative Agents: Interactive Simulacra of Human
Behavior", UIST, arXiv 2304.03442, section 4.1 (Retrieval).

- Recency is .995 to the power of the hours since the memory was last retrieved. The paper counts the hours of
  its sandbox; here they are hours of the log.
- Importance is a language model's rating from 1 to 10. Here it is what the view gives, uniform where None: a
  constant, which scales to nothing.
- Relevance is the cosine to the query; nothing where nothing is asked.

Each is scaled to [0, 1] by its least and largest value among the memories, and the weights α are 1.

The released code (github.com/joonspk-research/generative_agents, ``cognitive_modules/retrieve.py``) differs:
it sorts memories by last access, oldest first, and gives the i-th of them .995^i, so that *the oldest is the
most recent*; weights are .5, 3 and 2 for recency, relevance and importance; and a part that is constant
becomes .5 throughout. ``released=True`` is that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

#: Section 4.1.
DECAY = 0.995

#: Recency, importance, relevance: the paper's α, and the ``gw`` of the released code.
WEIGHTS, RELEASED_WEIGHTS = (1.0, 1.0, 1.0), (0.5, 2.0, 3.0)


def generative_agents(view: View, *, released: bool = False) -> NDArray[np.float64]:
    """float64[n] in [0, 3]; in [0, 5.5] as released."""
    n = len(view)
    last = view.accesses().last(view.created)
    if released:
        place = np.empty(n)
        place[np.argsort(last, kind="stable")] = np.arange(1, n + 1)
        recency = DECAY**place
    else:
        recency = DECAY ** (view.now - last)
    flat = 0.5 if released else 0.0
    parts = [
        _scaled(np.zeros(n) if part is None else part, flat)
        for part in (recency, view.importance, view.relevance)
    ]
    weights = RELEASED_WEIGHTS if released else WEIGHTS
    return np.asarray(sum(w * part for w, part in zip(weights, parts, strict=True)))


def _scaled(part: NDArray[np.float64], flat: float) -> NDArray[np.float64]:
    """float64[n] in [0, 1] by least and largest; ``flat`` where all are equal (the paper is silent there)."""
    low, span = part.min(initial=np.inf), np.ptp(part) if len(part) else 0.0
    return (part - low) / span if span > 0.0 else np.full(len(part), flat)
