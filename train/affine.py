"""The arithmetic of a linear value: the estimators' and, operation for operation, the exported graph's."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def affine_coefficients(
    weights: ArrayLike, offset: float = 0.0
) -> tuple[NDArray[np.float32], np.float32, np.float32]:
    """Coefficients that bring X @ w + offset · machine into [0, 1] for factors in [0, 1].

    The lowest reachable score is Σ min(w, 0) + min(offset, 0), the highest Σ max(w, 0) + max(offset, 0); the
    value is the score's place between them, which leaves every ranking as it is.

    Returns
    -------
    w, machine, intercept
        float32[F], float32, float32.
    """
    w = np.asarray(weights, dtype=np.float64)
    low = np.minimum(w, 0.0).sum() + min(offset, 0.0)
    scale = np.abs(w).sum() + abs(offset)
    scale = scale if scale > 0 else 1.0
    return (w / scale).astype(np.float32), np.float32(offset / scale), np.float32(-low / scale)


def affine_value(
    X: ArrayLike, weights: ArrayLike, *, offset: float = 0.0, machine: ArrayLike | None = None
) -> NDArray[np.float64]:
    """float64[N]: the value of each row, computed in float32 in the exported graph's order.

    Products are added from the left, then the machine term, then the intercept, each rounded to float32, so
    the shipped file gives the same bits and keeps the same memories, ties included.
    """
    w, role, intercept = affine_coefficients(weights, offset)
    rows = np.asarray(X, dtype=np.float32)
    total = rows[:, 0] * w[0]
    for j in range(1, len(w)):
        total = total + rows[:, j] * w[j]
    flags = np.zeros(len(rows), np.float32) if machine is None else np.asarray(machine, dtype=np.float32)
    value: NDArray[np.float64] = (total + flags * role + intercept).astype(np.float64)
    # Rounding may step over the edge by a few units in the last place; anything further off comes from
    # factors outside [0, 1] and is left visible.
    slack = 1e-6
    return np.where(
        (value > 1.0) & (value < 1.0 + slack), 1.0, np.where((value < 0) & (value > -slack), 0.0, value)
    )


def as_generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """The generator itself, or a new one from a seed.

    Raises
    ------
    ValueError
        For anything else, such as numpy's legacy ``RandomState``.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    raise ValueError(
        f"random_state must be None, an int or a numpy Generator, got {type(random_state).__name__}"
    )
