"""Utility: counts of evidence for and against a memory, as Beta(α, β).

Source: elfmem's utility channel (systems.md section 2). Outcomes, rescores, model ratings and peers add
evidence; nothing overwrites it, so no single judgement can undo many.
"""

from __future__ import annotations

from memvalue.features.use_clock import Number

#: w₀: weight of the start α = β = w₀/2; 1 is Jeffreys' prior, which the first outcomes outweigh.
PRIOR_WEIGHT = 1.0

#: κ₀: observations that a scalar confidence of another system stands for when it is taken over. Ten outcomes
#: halve its influence.
MIGRATED_WEIGHT = 10.0


def add_evidence(
    alpha: Number, beta: Number, signal: Number, weight: Number, keep: float = 1.0
) -> tuple[Number, Number]:
    """α ← λα + s·w, β ← λβ + (1 − s)·w.

    Parameters
    ----------
    alpha, beta
        Counts so far.
    signal
        In [0, 1]: 1 speaks for the memory, 0 against it.
    weight
        Observations that it stands for.
    keep
        λ: what is kept of older evidence at each new piece; 1 forgets nothing, .98 remembers about fifty.
    """
    return keep * alpha + signal * weight, keep * beta + (1.0 - signal) * weight


def mean(alpha: Number, beta: Number) -> Number:
    """α/(α + β): the expected outcome."""
    return alpha / (alpha + beta)


def variance(alpha: Number, beta: Number) -> Number:
    """αβ/((α + β)²(α + β + 1)): how unsure that is; what an exploration bonus looks at."""
    total = alpha + beta
    return alpha * beta / (total * total * (total + 1.0))
