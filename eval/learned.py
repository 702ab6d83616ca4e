"""Policies that fit a value over the seven factors: ours, and the simplest ways to weigh them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench, BlindBench
from memvalue.eval.measures import source_rows
from memvalue.eval.policy import Inapplicable, Policy, Regime
from memvalue.features import Definition, Evidence, combine
from memvalue.features.names import FACTORS
from memvalue.train.density import Density, fit_density, value_density

#: Estimators fitted on a training bench, as long as that bench lives.
_FITS: WeakKeyDictionary[Bench, dict[Any, Any]] = WeakKeyDictionary()


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
    role_offset
        Tell the estimator which memories are a machine's, at fit and at scoring.
    definition
        Compute the factors anew from the bench's evidence under this definition instead of the bench's own.
    drop
        Name of a factor that is held at 0, to show what it is worth.
    density
        Rank by value / tokens^γ where the budget is in tokens, γ fitted on the training cases.
    source_controlled
        Fit only among the turns of simulated users, so that being one of them earns nothing. It scores all
        memories and needs no source labels for that.
    """

    learns = True

    def __init__(
        self,
        name: str,
        make: Callable[[Bench], Any],
        regime: Regime = "blind",
        *,
        role_offset: bool = False,
        definition: Definition | None = None,
        drop: str | None = None,
        density: bool = False,
        source_controlled: bool = False,
    ) -> None:
        if drop is not None and drop not in FACTORS:
            raise ValueError(f"no factor {drop!r} to drop; the factors are {', '.join(FACTORS)}")
        self.name = name
        self.regime: Regime = regime
        self.role_offset = role_offset
        self.definition = definition
        self.drop = drop
        self.density = density
        self.source_controlled = source_controlled
        self.found_density: Density | None = None
        self.make = make
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
        factors, roles = self._factors(train), self._roles(train)
        # Rows that differ only in how they rank by tokens have one fit: the search is the dear part.
        found = _FITS.setdefault(train, {})
        alike = (self.make, self.role_offset, self.definition, self.drop, self.source_controlled)
        if alike not in found:
            found[alike] = self.make(train).fit(
                factors, train.needed, groups=train.case_of, **roles, **self._mask(train)
            )
        fitted.estimator = found[alike]
        if self.density:
            value = fitted.estimator.predict(factors, **roles)
            fitted.found_density = fit_density(value, train.tokens, train.offsets, train.needed)
        return fitted

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N]; the estimator's value of each memory."""
        if self.estimator is None:
            raise ValueError(f"{self.name!r} is not fitted; call fit(train) first")
        value = self.estimator.predict(self._factors(bench), **self._roles(bench))
        return np.asarray(value, dtype=np.float64)

    def token_score(self, bench: BlindBench, score: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """float64[N] for token budgets: the density of the values ``score``; None without ``density``."""
        if self.found_density is None:
            return None
        return value_density(score, bench.tokens, self.found_density.exponent)

    def _factors(self, bench: BlindBench) -> NDArray[np.float32]:
        """float32[N, 7]; the bench's factors, or those of this policy's own definition."""
        factors = bench.factors
        if self.definition is not None:
            if not bench.evidence_names:
                raise Inapplicable(f"{self.name} computes its own factors; this data brings them ready-made")
            factors = combine(Evidence(bench.evidence_names, bench.evidence), self.definition)
        if self.drop is not None:
            factors = factors.copy()
            factors[:, FACTORS.index(self.drop)] = 0.0
        return factors

    def _roles(self, bench: BlindBench) -> dict[str, NDArray[np.bool_]]:
        return {"machine": ~bench.person} if self.role_offset else {}

    def _mask(self, train: Bench) -> dict[str, NDArray[np.bool_]]:
        if not self.source_controlled:
            return {}
        rows = source_rows(train)
        if rows is None:
            raise Inapplicable(
                f"{self.name} is fitted among simulated users' turns, and this data has no source labels"
            )
        if not (rows & train.needed).any():
            raise Inapplicable(f"{self.name}: no turn of a simulated user is labelled as needed in training")
        return {"mask": rows}

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
