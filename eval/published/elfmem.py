"""elfmem: the composite rank of one of its frames.

"Scoring Memory for Evolving Agents" (elfmem; systems.md, section 2):
score = w_sim·cos + w_util·u + w_ret·R + w_imp·importance + κ·√(var u), with the weights and the rule for no
query of ``serve.frames``. u is the mean and var u the variance of Beta(α, β) over the evidence so far, from
α = β = ½.

R is exponential in the hours since the last deliberate use, at the rate of elfmem's standard tier
(``scoring.py`` of github.com/emson/elfmem): its paper's power law lost to it in elfmem's own later
experiments. Active hours where the view counts them. Where the view has no importance, which a model would
have rated, it is ½ for all.

The released code still has an earlier scheme: confidence, centrality and reinforcement for utility and
importance, and other weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View
from memvalue.serve.frames import UNKNOWN, frame_scores
from memvalue.serve.history.utility import PRIOR_WEIGHT, mean, variance

#: An hour's decay of the standard tier.
RATE = 0.01


def elfmem(view: View, frame: str = "attention") -> NDArray[np.float64]:
    """float64[n] above 0, by the weights of ``frame``: self, attention, task or simulate.

    Raises ValueError for another frame.
    """
    spoken = view.evidence()
    alpha = PRIOR_WEIGHT / 2.0 + spoken.total(spoken.signal * spoken.weight)
    beta = PRIOR_WEIGHT / 2.0 + spoken.total((1.0 - spoken.signal) * spoken.weight)
    return frame_scores(
        frame,
        utility=mean(alpha, beta),
        retrievability=np.exp(-RATE * (view.now - view.uses().last(view.created))),
        importance=np.full(len(view), UNKNOWN) if view.importance is None else view.importance,
        similarity=view.relevance,
        uncertainty=variance(alpha, beta),
    ).score
