"""What embeddings add: closeness to what other conversations said."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Rows and columns of similarities computed at once; bounds the working memory to some 50 MB for any store.
_ROWS, _COLUMNS = 1024, 4096


def rehearsal_similarity(
    embedded: NDArray[np.float64],
    sessions: NDArray[np.int64],
    person: NDArray[np.bool_],
    *,
    online: bool = False,
) -> NDArray[np.float32]:
    """float32[n] in [0, 1]; cosine to the closest person's memory of another (online: earlier) conversation.

    Parameters
    ----------
    embedded
        float64[n, d] of `unit_rows`, which makes the cosines exact and so the same in any company.
    sessions
        int64[n]; never decreasing.
    person
        bool[n]; only persons' memories are compared with.
    """
    n = len(embedded)
    out = np.zeros(n)
    others = np.flatnonzero(person)
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        mine = sessions[rows, None]
        for left in range(0, len(others), _COLUMNS):
            some = others[left : left + _COLUMNS]
            theirs = sessions[None, some]
            allowed = theirs < mine if online else theirs != mine
            cosine = np.where(allowed, embedded[rows] @ embedded[some].T, 0.0)
            np.maximum(out[rows], cosine.max(axis=1), out=out[rows])
    return np.minimum(out, 1.0).astype(np.float32)
