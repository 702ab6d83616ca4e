"""Half-life regression: p = 2^(−Δ/h), h = 2^(θ·x), θ fitted.

Settles & Meeder (2016), "A trainable spaced repetition model for language learning", ACL, equations 1 to 4
and section 3.3. x holds √(1 + successes), √(1 + failures), a constant, and indicators of the item (its lexeme
tags); Δ is in days since the last practice. θ minimises

Σ (p − p̂)² + α·Σ (h − ĥ)² + λ·‖θ‖², with h = −Δ/log₂ p, α = .01 and λ = .1 (theirs, tuned by them).

What was observed is cut as in the code released with the paper, p to [.0001, .9999] and h to 15 minutes …
274 days. That code cuts p̂ and ĥ as well, and descends one instance at a time. Here they are not cut, since a
half-life at its bound has no gradient and ties with all others there, and the sum of squares is solved as
one (trust region, at most :data:`STEPS` steps: where need is rare the valley is flat), without a seed, from a
half-life of a day for all.

In place of "was it recalled" stands "was it needed", which is what a training half tells. In place of lexeme
tags stand the view's items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.eval.published.view import View

#: Weight of the half-life term and of ‖θ‖².
ALPHA, LAMBDA = 0.01, 0.1

#: Bounds of h in days, and of p from below (and from 1).
MIN_DAYS, MAX_DAYS, MIN_P = 15.0 / (24.0 * 60.0), 274.0, 0.0001

#: On three halves of LongMemEval, 200 steps move what is kept by .05 at most, in either direction.
STEPS = 50

_LN2 = math.log(2.0)


def inputs(view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x, float64[n, 3 + k], and Δ in days, float64[n]."""
    outcomes = view.outcomes()
    right, wrong = outcomes.take(outcomes.good).count(), outcomes.take(~outcomes.good).count()
    columns = [np.sqrt(1.0 + right), np.sqrt(1.0 + wrong), np.ones(len(view))]
    x = np.stack(columns, axis=1)
    if view.items is not None:
        x = np.concatenate([x, view.items], axis=1)
    return x, (view.now - outcomes.last(view.created)) / 24.0


def half_life(view: View, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n] ≤ 0; log₂ p, which ranks as p does and does not run out of digits.

    Raises ValueError when θ is not of this view's x.
    """
    x, days = inputs(view)
    if theta.shape != (x.shape[1],):
        raise ValueError(
            f"θ has shape {theta.shape}, and this view has {x.shape[1]} inputs; fit it on its like"
        )
    return -days / _half_lives(x @ theta)


def fit_half_life(views: Sequence[View], recalled: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """θ, float64[3 + k], from views and what was recalled of each: float[n] in [0, 1] a view.

    Raises ValueError for no view, or a column of another length than its view.
    """
    from scipy.optimize import least_squares

    if not views or len(views) != len(recalled):
        raise ValueError(f"a fit needs a column a view, got {len(views)} views and {len(recalled)} columns")
    for view, column in zip(views, recalled, strict=True):
        if np.shape(column) != (len(view),):
            raise ValueError(f"a view of {len(view)} memories has a column of shape {np.shape(column)}")
    pairs = [inputs(view) for view in views]
    x = np.concatenate([a for a, _ in pairs])
    days = np.concatenate([b for _, b in pairs])
    p = np.concatenate([np.asarray(c, np.float64) for c in recalled])
    # A sum of squares is solved as such: a plain descent steps into half-lives so short that all p̂ are 0,
    # where nothing leads out again.
    found = least_squares(
        residuals, np.zeros(x.shape[1]), slopes, args=(x, days, p), max_nfev=STEPS, x_scale="jac"
    )
    return np.asarray(found.x, dtype=np.float64)


def residuals(
    theta: NDArray[np.float64], x: NDArray[np.float64], days: NDArray[np.float64], p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """float64[2N + 3 + k], whose squares sum to the objective above."""
    p = np.clip(p, MIN_P, 1.0 - MIN_P)
    h = _half_lives(x @ theta)
    told = np.clip(-days / np.log2(p), MIN_DAYS, MAX_DAYS)
    parts = (np.exp2(-days / h) - p, math.sqrt(ALPHA) * (h - told), math.sqrt(LAMBDA) * theta)
    return np.concatenate(parts)


def slopes(
    theta: NDArray[np.float64], x: NDArray[np.float64], days: NDArray[np.float64], p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """float64[2N + 3 + k, 3 + k]; derivatives of the residuals by θ."""
    del p
    h = _half_lives(x @ theta)
    # dh/dθ = ln 2·h·x and dp̂/dh = ln 2·p̂·Δ/h².
    by_p = (_LN2**2 * np.exp2(-days / h) * days / h)[:, None] * x
    by_h = (math.sqrt(ALPHA) * _LN2 * h)[:, None] * x
    return np.concatenate([by_p, by_h, math.sqrt(LAMBDA) * np.eye(len(theta))])


def _half_lives(exponent: NDArray[np.float64]) -> NDArray[np.float64]:
    # Far outside any bound, so that no step of the search overflows.
    return np.exp2(np.clip(exponent, -30.0, 30.0))
