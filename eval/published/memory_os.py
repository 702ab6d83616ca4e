"""MemoryOS: the heat of a segment.

Kang, Ji, Zhao & Bai (2025), "Memory OS of AI Agent", EMNLP, arXiv 2506.06326, section 3.2:
Heat = α·N_visit + β·L_interaction + γ·R_recency, R = exp(−Δt/μ), where N_visit counts how often the segment
was retrieved, L_interaction its pages, and Δt runs from its last visit. α = β = γ = 1.

A segment is a conversation, a page one of its memories; a memory has the heat of its segment. μ is a day, as
in the project's table (systems.md) and in the released code (``RECENCY_TAU_HOURS`` = 24).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

ALPHA = BETA = GAMMA = 1.0

#: μ, in hours.
TIME_CONSTANT = 24.0


def memory_os_heat(view: View) -> NDArray[np.float64]:
    """float64[n] above 0; equal for the memories of a conversation."""
    _, segment = np.unique(view.sessions, return_inverse=True)
    segment = segment.reshape(-1)
    visits = view.accesses()
    count = int(segment.max(initial=-1)) + 1
    visited = np.bincount(segment, weights=visits.count(), minlength=count)
    pages = np.bincount(segment, minlength=count)
    latest = np.full(count, -np.inf)
    np.maximum.at(latest, segment, visits.last(view.created))
    recency = np.exp((latest - view.now) / TIME_CONSTANT)
    return (ALPHA * visited + BETA * pages + GAMMA * recency)[segment]
