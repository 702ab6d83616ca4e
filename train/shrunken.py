"""Weights fitted on few cases: the base, moved as far as the evidence carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from memvalue.train.affine import affine_value, as_generator
from memvalue.train.base_weights import BaseWeights
from memvalue.train.cmaes import minimise
from memvalue.train.layout import predict_table, training_table, varies_within_cases
from memvalue.train.linear import check_informed, check_machine, two_valued_target
from memvalue.train.objective import RetentionObjective, check_budgets
from memvalue.train.spread import Spread

#: How much of the weights may move: nothing, a few directions, all of them.
Tier = Literal["keep", "directions", "all"]

#: Effective cases from which a few directions are fitted, and from which all weights are. With 5, 10 and 20
#: cases both do as well (+.0019, +.0028, +.0026 and +.0055, +.0023, +.0053 of retention over 32 simulated
#: businesses, standard error .003); below, a single case decides.
FEW, MANY = 4.0, 12.0

#: Farthest that a weight may move from the base, in units of s.
TRUST = 3.0

#: Initial step of the search, in units of s.
STEP = 0.7

#: Price of a point outside the trust region, against the nearest one inside it: enough to bring the search
#: back, too little to move its minimum.
REPAIR = 1e-3


class ShrunkenLinear(BaseEstimator):
    """Weights ≥ 0 that sum to 1, between the base and the best of the cases at hand.

    Maximises mean retention − (κ/n_eff) · ½ Σ((w − w₀)/s)² by CMA-ES within |w − w₀| ≤ trust · s. That is
    the mode of a posterior; its mean, over draws from the prior or over the points of the search, kept as
    much on simulated businesses of 5 to 200 cases (differences of .001, standard error .003).

    Parameters
    ----------
    base
        Where it starts from; its machine offset is kept.
    spread
        s, κ and the directions in which businesses differ; when None the shipped one for logs of uses.
    strength
        Factor on κ; 0 fits without penalty.
    tier
        How much may move; None decides by the effective number of cases: below ``FEW`` nothing, below
        ``MANY`` the directions, else all.
    trust
        Farthest that a weight may move, in units of s; 0 keeps the base.
    budgets
        Shares of memories (of tokens when ``fit`` gets ``tokens``) over which retention is averaged.
    informed
        bool[F]: which factors the data can inform. Others, and such as are constant within every case, keep
        exactly their share of the base.
    max_evaluations
        Weight vectors tried.
    random_state
        None, an int, or a ``numpy.random.Generator`` (which is advanced).

    Attributes
    ----------
    weights_
        float64[F] ≥ 0 with sum 1.
    offset_
        The base's.
    informed_
        bool[F].
    tier_
        What was fitted.
    n_eff_
        Effective number of cases, (Σω)²/Σω² over the weights of the cases that count (Kish 1965).
    objective_
        Mean retention of the training cases, without the penalty.
    n_evaluations_
        Weight vectors tried.
    """

    def __init__(
        self,
        base: BaseWeights,
        *,
        spread: Spread | None = None,
        strength: float = 1.0,
        tier: Tier | None = None,
        trust: float = TRUST,
        budgets: Sequence[float] = (0.05, 0.1, 0.3),
        informed: ArrayLike | None = None,
        max_evaluations: int = 240,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.base = base
        self.spread = spread
        self.strength = strength
        self.tier = tier
        self.trust = trust
        self.budgets = budgets
        self.informed = informed
        self.max_evaluations = max_evaluations
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        machine: ArrayLike | None = None,
        tokens: ArrayLike | None = None,
        case_weight: ArrayLike | None = None,
    ) -> ShrunkenLinear:
        """Fit the weights.

        Parameters
        ----------
        X
            float[N, F]; factors in [0, 1].
        y
            bool[N]; needed.
        groups
            N case ids; None stands for one case.
        machine
            bool[N]; not a person's turn. Needed when the base has an offset.
        tokens, case_weight
            As in :class:`~memvalue.train.objective.RetentionObjective`.

        Raises
        ------
        ValueError
            For NaN, lengths that disagree, y without needed memories, or parameters out of range.
        """
        table, needed = training_table(self, X, y)
        rows, width = table.shape
        check_budgets(self.budgets)
        if width != len(self.base.weights):
            raise ValueError(f"X has {width} factors, the base {len(self.base.weights)}")
        for name in ("strength", "trust"):
            if not (getattr(self, name) >= 0 and np.isfinite(getattr(self, name))):
                raise ValueError(f"{name} must be finite and 0 or more, got {getattr(self, name)}")
        spread = self.spread if self.spread is not None else Spread.default()
        if len(spread.deviation) != width:
            raise ValueError(f"the spread is of {len(spread.deviation)} factors, X has {width}")
        rng = as_generator(self.random_state)
        start = self.base.weights
        informed = check_informed(self.informed, width) & varies_within_cases(table, groups)
        columns = table.astype(np.float32)
        if self.base.offset:
            columns = np.column_stack([columns, check_machine(machine, rows).astype(np.float32)])
        objective = RetentionObjective(columns, needed, groups, self.budgets, tokens, case_weight)
        self.n_eff_ = float(1.0 / (objective.case_share**2).sum())
        self.tier_ = self.tier if self.tier is not None else tier_of(self.n_eff_)
        axes = _axes(self.tier_, spread, informed)
        self.informed_ = informed
        self.offset_ = self.base.offset
        self.n_evaluations_ = 0
        self.weights_ = start.copy()

        def full(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            return (
                np.column_stack([weights, np.full(len(weights), self.offset_)]) if self.offset_ else weights
            )

        if informed.sum() > 1 and len(axes) and self.trust > 0:
            s = spread.deviation
            pull = self.strength * spread.kappa / self.n_eff_

            def loss(theta: NDArray[np.float64]) -> NDArray[np.float64]:
                asked = start + s * (theta @ axes)
                weights = within(asked, start, s, self.trust, informed)
                far = (((weights - start) / s) ** 2).sum(axis=1)
                repair = (((asked - weights) / s) ** 2).sum(axis=1)
                return np.asarray(0.5 * pull * far + REPAIR * repair - objective(full(weights)))

            found = minimise(loss, np.zeros(len(axes)), STEP, rng=rng, max_evaluations=self.max_evaluations)
            ends = np.stack([found.x, found.mean, np.zeros(len(axes))])
            best = ends[int(loss(ends).argmin())]
            self.n_evaluations_ = found.evaluations + len(ends)
            self.weights_ = within((start + s * (best @ axes))[None, :], start, s, self.trust, informed)[0]
        self.objective_ = float(objective(full(self.weights_[None, :]))[0])
        return self

    def predict(self, X: ArrayLike, machine: ArrayLike | None = None) -> NDArray[np.float64]:
        """float64[N]: the value, in [0, 1] for factors in [0, 1].

        ``machine`` bool[N] says which turns are not a person's; with an offset it is needed.
        """
        table = predict_table(self, X)
        if self.offset_ and machine is None:
            raise ValueError(
                "this model has a role offset: call predict(X, machine=...) with a flag for each row"
            )
        flags = None if machine is None else check_machine(machine, len(table))
        return affine_value(table, self.weights_, offset=self.offset_, machine=flags)

    def __sklearn_tags__(self) -> Tags:
        return two_valued_target(super().__sklearn_tags__())


def tier_of(cases: float) -> Tier:
    """What so many effective cases can carry."""
    if cases < FEW:
        return "keep"
    return "directions" if cases < MANY else "all"


def _axes(tier: Tier, spread: Spread, informed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """float64[K, F]: the directions of the search in units of s; none for ``keep``."""
    if tier == "all":
        return np.eye(len(informed))[informed]
    if tier == "directions":
        return np.where(informed, spread.directions, 0.0)
    if tier == "keep":
        return np.empty((0, len(informed)))
    raise ValueError(f"unknown tier {tier!r}; one of keep, directions, all")


def within(
    asked: NDArray[np.float64],
    base: NDArray[np.float64],
    deviation: NDArray[np.float64],
    trust: float,
    informed: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """The nearest weights that are allowed.

    Allowed is 0 ≤ w, |w − base| ≤ trust · s, Σw = 1, and w = base where uninformed; near is by
    Σ((w − asked)/s)². The answer is clip(asked + λs², low, high) with the one λ that makes the sum right,
    found by bisection.

    Parameters
    ----------
    asked
        float64[P, F].
    base, deviation
        float64[F].
    trust
        0 or more.
    informed
        bool[F].

    Returns
    -------
    float64[P, F]
    """
    low = np.where(informed, np.maximum(base - trust * deviation, 0.0), base)
    high = np.where(informed, base + trust * deviation, base)
    rate = np.where(informed, deviation**2, 0.0)
    total = base.sum()
    if not informed.any() or trust == 0:
        return np.tile(base, (len(asked), 1))
    # At the ends every informed weight is at its bound.
    reach = (np.abs(asked - base)[:, informed] + trust * deviation[informed]) / rate[informed]
    below, above = -reach.max(axis=1), reach.max(axis=1)
    for _ in range(60):
        middle = 0.5 * (below + above)
        mass = np.clip(asked + middle[:, None] * rate, low, high).sum(axis=1)
        below, above = np.where(mass < total, middle, below), np.where(mass < total, above, middle)
    found = np.clip(asked + (0.5 * (below + above))[:, None] * rate, low, high)
    return np.asarray(np.where(informed, found, base))
