"""What embeddings add: closeness to the session's talk, and to what other conversations said."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Memories compared at once; bounds the table of similarities to about 16 MB for 4,000 memories.
_BLOCK = 1024


def rehearsal_similarity(
    embedded: NDArray[np.float32],
    sessions: NDArray[np.int64],
    person: NDArray[np.bool_],
    *,
    online: bool = False,
) -> NDArray[np.float32]:
    """float32[n] in [0, 1]; cosine to the closest person's memory of another (online: earlier) conversation.

    Parameters
    ----------
    embedded
        float32[n, d]; unit rows (a zero row for a text with nothing to encode).
    sessions
        int64[n]; never decreasing.
    person
        bool[n]; only persons' memories are compared with.
    """
    n = len(embedded)
    out = np.zeros(n, dtype=np.float32)
    others = np.flatnonzero(person)
    if not len(others):
        return out
    targets = embedded[others]
    for start in range(0, n, _BLOCK):
        rows = slice(start, min(start + _BLOCK, n))
        cosine = embedded[rows] @ targets.T
        mine, theirs = sessions[rows, None], sessions[None, others]
        allowed = theirs < mine if online else theirs != mine
        out[rows] = np.where(allowed, cosine, 0.0).max(axis=1)
    return np.clip(out, 0.0, 1.0)
