"""A policy that is fitted on fewer cases than it could be: learning curves, and training freed of overlap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench, BlindBench
from memvalue.eval.policy import Policy, Regime


class SomeCases:
    """Another policy, fitted on some of the training cases only.

    Parameters
    ----------
    name
        Row name.
    policy
        What is fitted.
    choose
        From a training bench to int[k], the numbers of its cases that are used. Depends on the bench alone.
    """

    learns = True
    regime: Regime = "blind"
    weights = None

    def __init__(self, name: str, policy: Policy, choose: Callable[[Bench], NDArray[np.int64]]) -> None:
        self.name = name
        self._policy = policy
        self._choose = choose

    def fit(self, train: Bench) -> Policy:
        """The other policy, fitted."""
        return self._policy.fit(train.take(self._choose(train)))

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """Raises: what :meth:`fit` returns is to be asked."""
        raise ValueError(f"{self.name!r} is not fitted; call fit(train) first")
