"""Policies that fit a value over the seven factors: ours, and the simplest ways to weigh them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench, BlindBench
from memvalue.eval.policy import Inapplicable, Policy, Regime
from memvalue.features.names import FACTORS


class FactorModel:
    """An estimator of the ``train`` room, fitted on the factors of the training cases.

    Parameters
    ----------
    name
        Row name in the table.
    make
        Gives a fresh estimator with ``fit(X, y, groups=...)`` and ``predict(X)`` for a training bench, of
        which it may read what the data can inform. It is called at ``fit``, so that building a table imports
        no learner that it does not run.
    regime
        ``oracle`` to be fitted and scored with the question as goal anchor.
    """

    learns = True

    def __init__(self, name: str, make: Callable[[Bench], Any], regime: Regime = "blind") -> None:
        self.name = name
        self.regime: Regime = regime
        self._make = make
        self.estimator: Any = None

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """float64[7] of a fitted linear estimator, else None."""
        found = getattr(self.estimator, "weights_", None)
        return None if found is None else np.asarray(found, dtype=np.float64)

    def fit(self, train: Bench) -> Policy:
        """A copy fitted on ``train``."""
        check_labels(train, self.name)
        fitted = copy.copy(self)
        fitted.estimator = self._make(train).fit(train.factors, train.needed, groups=train.case_of)
        return fitted

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N]; the estimator's value of each memory."""
        if self.estimator is None:
            raise ValueError(f"{self.name!r} is not fitted; call fit(train) first")
        return np.asarray(self.estimator.predict(bench.factors), dtype=np.float64)

    def __repr__(self) -> str:
        return f"FactorModel({self.name!r})"


class UniformStandardised:
    """Equal weights over the factors, each divided by its spread over the training memories.

    Raw uniform weights let the factor with the widest range decide; this takes that away and nothing else. A
    factor that is constant in training gets weight 0.
    """

    name = "uniform_standardised"
    regime: Regime = "blind"
    learns = True

    def __init__(self) -> None:
        self._weights: NDArray[np.float64] | None = None

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """float64[7] ≥ 0 with sum 1 once fitted: the same ranking, as weights of the raw factors."""
        return self._weights

    def fit(self, train: Bench) -> Policy:
        """A copy that holds the training spread. Means cancel in a ranking and are not kept."""
        spread = train.factors.std(axis=0, dtype=np.float64)
        alive = spread > 1e-9
        raw = np.where(alive, 1.0 / np.where(alive, spread, 1.0), 0.0)
        fitted = UniformStandardised()
        fitted._weights = raw / raw.sum() if alive.any() else np.full(len(FACTORS), 1 / len(FACTORS))
        return fitted

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N]; sum of the standardised factors, up to a constant."""
        if self._weights is None:
            raise ValueError(f"{self.name!r} is not fitted; call fit(train) first")
        return bench.factors @ self._weights

    def __repr__(self) -> str:
        return "UniformStandardised()"


def check_labels(train: Bench, policy: str) -> None:
    """Raise :class:`Inapplicable` unless ``train`` has both needed memories and others to tell them from."""
    needed = int(train.needed.sum())
    if needed == 0 or needed == len(train):
        which = "none is" if needed == 0 else "all are"
        raise Inapplicable(
            f"{policy} learns what was needed, and of the {len(train)} training memories {which} labelled "
            "needed; give more labelled cases"
        )
