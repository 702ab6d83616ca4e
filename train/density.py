"""How much a long memory's value has to be discounted when the budget is counted in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.train.objective import check_tokens, mean_retention

#: Exponents that are tried. At 1 it is value a token, which prefers two words to a sentence. Best are .1 to
#: .25 on LongMemEval, .4 on Memora and .6 on LoCoMo, whose turns are short; farther out all three lose.
EXPONENTS: tuple[float, ...] = tuple(round(0.05 * i, 2) for i in range(15))

#: Shares of tokens for which the exponent is chosen (issue 3: the token budgets that must hold).
DENSITY_BUDGETS: tuple[float, ...] = (0.02, 0.05, 0.1)


@dataclass(frozen=True, slots=True)
class Density:
    """The exponent γ of value / tokens^γ, and how it was found.

    Parameters
    ----------
    exponent
        γ ≥ 0; 0 ranks by value alone.
    exponents
        What was tried, rising.
    retention
        Mean retention of the cases that γ was fitted on, for each of ``exponents``.
    """

    exponent: float
    exponents: tuple[float, ...]
    retention: tuple[float, ...]


def value_density(value: ArrayLike, tokens: ArrayLike, exponent: float) -> NDArray[np.float64]:
    """float64[N] ≥ 0: value / tokens^γ, by which memories are ranked within a token budget.

    With γ = 1 it is the greedy rule of the knapsack (Dantzig 1957), for values that stand to each other as
    the chances of being needed do. Those of a fitted ranking do not, so how much of the length is taken off
    has to be fitted too.

    Parameters
    ----------
    value
        float[N] ≥ 0.
    tokens
        int64[N], 1 or more.
    exponent
        γ ≥ 0.

    Raises
    ------
    ValueError
        For negative values, tokens below 1, lengths that disagree, or an exponent below 0.
    """
    worth = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(exponent) and exponent >= 0):
        raise ValueError(f"the density exponent must be finite and 0 or more, got {exponent}")
    if worth.ndim != 1 or not (worth >= 0).all():
        raise ValueError("value must be one column of numbers of 0 or more; a negative one has no density")
    return np.asarray(worth / check_tokens(tokens, len(worth)).astype(np.float64) ** exponent)


def fit_density(
    value: ArrayLike,
    tokens: ArrayLike,
    offsets: ArrayLike,
    needed: ArrayLike,
    *,
    budgets: Sequence[float] = DENSITY_BUDGETS,
    exponents: Sequence[float] = EXPONENTS,
    case_weight: ArrayLike | None = None,
) -> Density:
    """The exponent that keeps most needed memories within token budgets, on these (training) cases.

    The weights of the value stay as they are: one model serves both kinds of budget. Of equally good
    exponents the smallest is taken.

    Parameters
    ----------
    value
        float[N] ≥ 0.
    tokens, offsets, needed, case_weight
        As in :func:`~memvalue.train.objective.mean_retention`.
    budgets
        Shares of a case's tokens over which retention is averaged.
    exponents
        γ ≥ 0 to be tried.

    Raises
    ------
    ValueError
        As :func:`value_density` and ``mean_retention``; also for an empty list of exponents.
    """
    tried = tuple(sorted({float(e) for e in exponents}))
    if not tried:
        raise ValueError("exponents is empty; give at least one, such as 0")
    found = [
        float(
            mean_retention(
                value_density(value, tokens, e),
                offsets,
                needed,
                budgets,
                tokens=tokens,
                case_weight=case_weight,
            )
        )
        for e in tried
    ]
    return Density(tried[int(np.argmax(found))], tried, tuple(found))
