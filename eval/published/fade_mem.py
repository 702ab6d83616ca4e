"""FadeMem: strength that fades the slower the more important a memory is.

Wei, Peng, Dong, Xie & Wang (2026), "FadeMem: Biologically-Inspired Forgetting for Efficient Agent Memory",
arXiv 2601.18642, section on the dual-layer architecture:

- importance I = .4·relevance + .3·f/(1 + f) + .3·e^(−.1·age), f the number of accesses;
- strength v = v₀·e^(−λ·t^β), λ = .1·e^(−I), β = .8 in the long-term and 1.2 in the short-term layer.

Times are in days: only then does I = 0 give the half-lives that the paper prints, 11.25 and 5.02 days.

Where the paper leaves a choice: a memory is in the long-term layer when its importance now is at least .7,
its threshold of promotion (the paper also has one of demotion, which needs the whole past). t runs from the
last access and v₀ is 1, the limit of the paper's reinforcement. Where nothing is asked, relevance is left
out and the other two weights are scaled to sum to 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

#: Weights of relevance, frequency and recency, and the rate of recency a day.
RELEVANCE, FREQUENCY, RECENCY, RECENCY_RATE = 0.4, 0.3, 0.3, 0.1

#: λ of an unimportant memory, and β of the two layers.
BASE_RATE, LONG_TERM, SHORT_TERM = 0.1, 0.8, 1.2

#: Importance from which a memory is in the long-term layer.
PROMOTION = 0.7


def importance(view: View) -> NDArray[np.float64]:
    """float64[n] in [0, 1]; I."""
    count = view.accesses().count()
    known = FREQUENCY * count / (1.0 + count) + RECENCY * np.exp(-RECENCY_RATE * view.age / 24.0)
    if view.relevance is None:
        return known / (FREQUENCY + RECENCY)
    return RELEVANCE * view.relevance + known


def strength(
    days: NDArray[np.float64], important: NDArray[np.float64], long_term: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """float64[n] in [0, 1]; v after ``days`` at importance I in one of the layers."""
    shape = np.where(long_term, LONG_TERM, SHORT_TERM)
    return np.exp(-BASE_RATE * np.exp(-important) * days**shape)


def fade_mem(view: View) -> NDArray[np.float64]:
    """float64[n] in [0, 1]; v."""
    important = importance(view)
    days = (view.now - view.accesses().last(view.created)) / 24.0
    return strength(days, important, important >= PROMOTION)
