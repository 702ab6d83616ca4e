"""What one rescore costs: evidence added to what outcomes have told, against overwriting it.

A judge (a model, or a person in passing) gives every memory a new score at once. Outcomes had told how useful
each is; the damage is by how much the estimate is further from the truth afterwards. elfmem measured .152 for
overwriting and .007 for adding (systems.md section 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memvalue.serve.history.utility import PRIOR_WEIGHT, add_evidence, mean


@dataclass(frozen=True, slots=True)
class RescoreDamage:
    """Rise of the mean absolute error of the utility by one rescore of every memory.

    Parameters
    ----------
    before
        Mean absolute error from outcomes alone.
    added
        Rise when the rescore is added as evidence.
    overwritten
        Rise when it replaces the estimate.
    """

    before: float
    added: float
    overwritten: float


def rescore_damage(
    rng: np.random.Generator,
    *,
    memories: int = 10_000,
    outcomes: int = 30,
    noise: float = 0.3,
    weight: float = 1.0,
) -> RescoreDamage:
    """Simulate memories whose outcomes are known, then a rescore by a noisy judge.

    Parameters
    ----------
    rng
        Draws usefulness (uniform), outcomes (Bernoulli) and scores.
    memories
        How many.
    outcomes
        Outcomes of each before the rescore; 0 or more.
    noise
        Standard deviation of the judge's error; scores are cut to [0, 1]. .3 is a judge that says little
        (its scores explain half of the variance of usefulness).
    weight
        Observations that a rescore stands for.

    Raises
    ------
    ValueError
        For counts below their least, or a negative noise or weight.
    """
    if memories < 1 or outcomes < 0:
        raise ValueError(f"there must be memories, and 0 or more outcomes; got {memories} and {outcomes}")
    if not (noise >= 0.0 and weight >= 0.0):
        raise ValueError(f"noise and weight must be 0 or more, got {noise} and {weight}")
    truth = rng.random(memories)
    alpha = beta = np.full(memories, 0.5 * PRIOR_WEIGHT)
    one = np.ones(memories)
    for _ in range(outcomes):
        helped = (rng.random(memories) < truth).astype(np.float64)
        alpha, beta = add_evidence(alpha, beta, helped, one)
    score = np.clip(truth + noise * rng.standard_normal(memories), 0.0, 1.0)
    before = float(np.abs(mean(alpha, beta) - truth).mean())
    added = float(np.abs(mean(*add_evidence(alpha, beta, score, weight * one)) - truth).mean())
    overwritten = float(np.abs(score - truth).mean())
    return RescoreDamage(before, added - before, overwritten - before)
