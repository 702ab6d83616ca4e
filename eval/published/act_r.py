"""ACT-R's base-level activation.

Anderson & Schooler (1991), "Reflections of the environment in memory", Psychological Science 2(6); as an
equation of ACT-R in Anderson et al. (2004), "An integrated theory of the mind", Psychological Review 111(4),
equation 3: B = ln Σ tₖ^−d over the times since all past presentations, d = .5.

A presentation is the writing of the memory or a deliberate use of it. Being shown is none: ACT-R strengthens
what was retrieved *and* went into a production. The sum is exact; ``serve.history`` keeps it in constant
space. Ages below a minute count as one, as there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View
from memvalue.serve.history.activation import MIN_AGE_HOURS

#: Equation 3: half a century of experiments found .5.
DECAY = 0.5


def act_r(view: View) -> NDArray[np.float64]:
    """float64[n]; B, ages in hours."""
    uses = view.uses()
    total = np.maximum(view.age, MIN_AGE_HOURS) ** -DECAY
    total += uses.total(np.maximum(view.now - uses.time, MIN_AGE_HOURS) ** -DECAY)
    return np.log(total)
