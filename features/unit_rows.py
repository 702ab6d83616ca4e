"""Unit vectors on a grid, so that their cosines are exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Steps of the grid in one unit. A product of two entries is a whole number of 2**-48, and the sums of such
#: products stay below 2 (Cauchy-Schwarz), so float64 (53 bits) holds every partial sum of a dot product
#: exactly: its value depends neither on the order of summation, nor on the shape of the matrix, the BLAS or
#: the number of threads. A step is half the spacing of float32 just below 1.
STEPS = float(2**24)


def unit_rows(vectors: NDArray[np.floating], what: str) -> NDArray[np.float64]:
    """float64[n, d]; the rows at length 1, rounded to the grid. A zero row stays zero.

    Parameters
    ----------
    vectors
        float[n, d]; any lengths.
    what
        What the vectors are, for messages.

    Raises
    ------
    ValueError
        For another number of axes, or a row that is not finite.
    """
    rows = np.ascontiguousarray(vectors, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"{what} must be a table of one row each, got an array of shape {rows.shape}")
    # The largest entry first: squares of tiny or huge entries would leave the range of float64.
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    if not np.isfinite(largest).all():
        row = int(np.flatnonzero(~np.isfinite(largest[:, 0]))[0])
        raise ValueError(f"row {row} of {what} holds NaN or infinity; encode it again or leave it zero")
    rows = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    rows = np.divide(rows, length, out=rows, where=length > 0)
    return np.asarray(np.rint(rows * STEPS) / STEPS)
