"""Least recently used goes first.

The oldest replacement policy: Mattson, Gecsei, Slutz & Traiger (1970), "Evaluation techniques for storage
hierarchies", IBM Systems Journal 9(2). A memory is used when it comes before the agent, and when written.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View


def lru(view: View) -> NDArray[np.float64]:
    """float64[n] ≤ 0; minus the hours since the last access."""
    return view.accesses().last(view.created) - view.now
