"""Hindsight: relevance, nudged by recency and by the number of proofs.

Latimer, Boschi, Neeser et al. (2025), "Hindsight is 20/20: Building Agent Memory that Retains, Recalls, and
Reflects", arXiv 2512.12818. The paper leaves the last stage of its ranking to a cross-encoder; the nudges are
of the released system (github.com/vectorize-io/hindsight, "combined scoring"):

relevance × (1 + .2·(recency − ½)) × (1 + .1·(proof − ½)), so at most ±10 % and ±5 %.

Recency falls in a straight line from 1 to .1 over a year. Proof is ½ + ln(count)/10, cut to [0, 1], count
being how often it was supported: itself, and each confirmation. Its third factor, nearness to a time that the
query names, is neutral here. Relevance is 1 where nothing is asked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

#: Twice the largest nudge.
RECENCY_ALPHA, PROOF_ALPHA = 0.2, 0.1

#: Days over which recency falls, and where it stops.
WINDOW_DAYS, LEAST_RECENCY = 365.0, 0.1

#: Natural logarithms of the count that take proof from neutral to its end, doubled.
PROOF_SPAN = 10.0


def hindsight(view: View) -> NDArray[np.float64]:
    """float64[n] in [0, 1.155]."""
    recency = np.clip(1.0 - view.age / 24.0 / WINDOW_DAYS, LEAST_RECENCY, 1.0)
    spoken = view.evidence()
    count = 1.0 + spoken.take(spoken.good & (spoken.signal >= 0.5)).count()
    proof = np.clip(0.5 + np.log(count) / PROOF_SPAN, 0.0, 1.0)
    nudges = (1.0 + RECENCY_ALPHA * (recency - 0.5)) * (1.0 + PROOF_ALPHA * (proof - 0.5))
    return nudges if view.relevance is None else view.relevance * nudges
