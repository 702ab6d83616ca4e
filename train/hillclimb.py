"""The published model's optimiser (arXiv 2606.12945, its code): a short hill climb at one budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from memvalue.train.affine import affine_value, as_generator
from memvalue.train.layout import predict_table, training_table, varies_within_cases
from memvalue.train.linear import two_valued_target
from memvalue.train.objective import RetentionObjective, check_budgets

#: Steps of the published optimiser.
PAPER_STEPS = 120

#: Budget of the published fit.
PAPER_BUDGET = 0.3

#: Standard deviation of a step, in units of the mean weight. The paper does not state one; this is ours.
STEP = 0.5


class HillClimb(BaseEstimator):
    """Accept-if-better search over non-negative weights, as a baseline.

    It starts from equal weights. Each step adds independent normal noise to every weight, sets negative ones
    to 0, and keeps the result when retention at the budget rises. Weights sum to 1 throughout.

    Parameters
    ----------
    budget
        Share of memories kept.
    steps
        Candidates tried.
    step
        Standard deviation of the noise, times the mean weight 1/F.
    random_state
        None, an int, or a ``numpy.random.Generator``.

    Attributes
    ----------
    weights_
        float64[F] ≥ 0 with sum 1.
    offset_
        0.0: this model has no role offset.
    informed_
        bool[F]: the factor varies within at least one case.
    objective_
        Retention of the training cases at the budget.
    n_iter_
        Steps tried.
    """

    offset_ = 0.0

    def __init__(
        self,
        *,
        budget: float = PAPER_BUDGET,
        steps: int = PAPER_STEPS,
        step: float = STEP,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.budget = budget
        self.steps = steps
        self.step = step
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> HillClimb:
        """Fit on float[N, F] factors, bool[N] needed and N case ids.

        Raises
        ------
        ValueError
            For NaN, lengths that disagree, y without needed memories, or parameters out of range.
        """
        table, needed = training_table(self, X, y)
        check_budgets([self.budget])
        if self.steps < 1 or not (self.step > 0 and np.isfinite(self.step)):
            raise ValueError("steps must be 1 or more and step a positive number")
        rng = as_generator(self.random_state)
        objective = RetentionObjective(table, needed, groups, [self.budget])
        width = table.shape[1]
        weights = np.full(width, 1.0 / width)
        best = float(objective(weights)[0])
        for _ in range(self.steps):
            trial = np.maximum(weights + rng.normal(0.0, self.step / width, size=width), 0.0)
            if trial.sum() == 0:
                continue
            trial /= trial.sum()
            value = float(objective(trial)[0])
            if value > best:
                weights, best = trial, value
        self.weights_ = weights
        self.informed_ = varies_within_cases(table, groups)
        self.objective_ = best
        self.n_iter_ = self.steps
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """float64[N]: the value, in [0, 1] for factors in [0, 1]."""
        return affine_value(predict_table(self, X), self.weights_)

    def __sklearn_tags__(self) -> Tags:
        return two_valued_target(super().__sklearn_tags__())
