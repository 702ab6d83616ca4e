"""Mem0's Memory Decay: similarity times a factor between .3 and 1.5.

Mem0's documentation, "Memory Decay" (docs.mem0.ai/platform/features/memory-decay). The product's formula is
not public; its documentation gives a table, and **the curve through it is ours**: straight lines over the
logarithm of the idle hours, between the ends of the documented ranges.

| idle | documented | here |
|---|---|---|
| just now (an hour at most) | about 1.5 | 1.5 |
| a day | 1.2–1.4 within the day | 1.2 |
| two days … a week | 1.0 … .6 | 1.0 … .6 |
| four weeks | .6 … .4 over weeks | .4 |
| half a year and more | about .3, never less | .3 |

Being returned by a search is a use, as documented, and a new memory counts as just used. The documentation
says that how often plays a part too, and not which; here the last use alone decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

#: Idle hours, and the factor there.
IDLE_HOURS = (1.0, 24.0, 48.0, 168.0, 672.0, 4380.0)
FACTORS = (1.5, 1.2, 1.0, 0.6, 0.4, 0.3)


def mem0_decay(view: View) -> NDArray[np.float64]:
    """float64[n] in [.3, 1.5] times the relevance, which is 1 where nothing is asked."""
    idle = view.now - view.accesses().last(view.created)
    factor = np.interp(np.log(np.maximum(idle, IDLE_HOURS[0])), np.log(IDLE_HOURS), FACTORS)
    return factor if view.relevance is None else view.relevance * factor
