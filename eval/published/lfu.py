"""Least frequently used goes first; counts are of the whole life and never fade.

Named in Mattson, Gecsei, Slutz & Traiger (1970), "Evaluation techniques for storage hierarchies", IBM Systems
Journal 9(2). Equal counts stay tied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View


def lfu(view: View) -> NDArray[np.float64]:
    """float64[n]; how often each memory came before the agent."""
    return view.accesses().count()
