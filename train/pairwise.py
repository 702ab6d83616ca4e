"""The convex fit of a linear value: logistic loss on pairs within a case (Burges et al. 2005)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from memvalue.train.affine import affine_value, as_generator
from memvalue.train.layout import case_offsets, predict_table, training_table, varies_within_cases
from memvalue.train.linear import check_informed, check_prior, two_valued_target

#: Curvature that keeps separable data from sending the weights to infinity; in standardised units a
#: thousandth of one case's loss, far below what moves a rank on LongMemEval.
DEFAULT_L2 = 1e-3


class PairwiseLogistic(BaseEstimator):
    """Weights that minimise log(1 + exp(−w·(x_needed − x_other))), the mean over pairs, then over cases.

    Convex, so there is one answer and no luck; every case weighs the same however many pairs it has. Factors
    are standardised inside; the weights are reported for raw factors.

    Parameters
    ----------
    nonnegative
        Keep every weight at 0 or more. Without, a weight may be negative and the value is brought to [0, 1]
        by an affine map.
    l2
        Ridge on the standardised weights, 0 or more.
    max_pairs
        Pairs used of each case; a case with more is sampled without replacement. Others are used whole.
    max_iter
        Steps of L-BFGS-B at most.
    prior, informed
        As in :class:`~memvalue.train.linear.LinearValueModel`: uninformed factors keep their prior share.
    random_state
        None, an int, or a ``numpy.random.Generator``; used only to sample pairs.

    Attributes
    ----------
    weights_
        float64[F]; absolute values sum to 1.
    offset_
        0.0: this model has no role offset.
    informed_
        bool[F].
    loss_
        Final mean loss, ridge included.
    n_iter_
        Steps taken.
    """

    offset_ = 0.0

    def __init__(
        self,
        *,
        nonnegative: bool = True,
        l2: float = DEFAULT_L2,
        max_pairs: int = 20_000,
        max_iter: int = 200,
        prior: ArrayLike | None = None,
        informed: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.nonnegative = nonnegative
        self.l2 = l2
        self.max_pairs = max_pairs
        self.max_iter = max_iter
        self.prior = prior
        self.informed = informed
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        case_weight: ArrayLike | None = None,
    ) -> PairwiseLogistic:
        """Fit on float[N, F] factors, bool[N] needed and N case ids; ``case_weight`` float[C] as elsewhere.

        Raises
        ------
        ValueError
            For NaN, lengths that disagree, parameters out of range, or when no case has both kinds of memory.
        """
        from scipy.optimize import minimize

        table, needed = training_table(self, X, y)
        width = table.shape[1]
        if not (self.l2 >= 0 and np.isfinite(self.l2)):
            raise ValueError(f"l2 must be finite and 0 or more, got {self.l2}")
        if self.max_pairs < 1 or self.max_iter < 1:
            raise ValueError("max_pairs and max_iter must be 1 or more")
        prior = check_prior(self.prior, width)
        informed = check_informed(self.informed, width) & varies_within_cases(table, groups)
        scale = table.std(axis=0, dtype=np.float64)
        scale = np.where(scale > 0, scale, 1.0)
        rng = as_generator(self.random_state)
        gaps, weight = needed_minus_other(table, needed, groups, case_weight, self.max_pairs, rng)
        gaps = gaps[:, informed] / scale[informed]

        def loss(v: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            margin = gaps @ v
            slope = -weight / (1.0 + np.exp(np.minimum(margin, 700.0)))
            return (
                float(weight @ np.logaddexp(0.0, -margin) + 0.5 * self.l2 * (v @ v)),
                slope @ gaps + self.l2 * v,
            )

        weights = prior.copy()
        free = 1.0 - prior[~informed].sum()
        self.n_iter_, self.loss_ = 1, float(np.log(2.0))
        if informed.any() and free > 0:
            bounds = [(0.0 if self.nonnegative else None, None)] * int(informed.sum())
            found = minimize(
                loss,
                np.full(len(bounds), 0.1),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": self.max_iter, "ftol": 1e-12, "gtol": 1e-7},
            )
            raw = found.x / scale[informed]
            total = np.abs(raw).sum()
            if total > 0:  # all weights 0 means no factor helps: the prior stands
                weights[informed] = free * raw / total
            self.n_iter_, self.loss_ = max(int(found.nit), 1), float(found.fun)
        self.weights_ = weights / np.abs(weights).sum()
        self.informed_ = informed
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """float64[N]: the value, in [0, 1] for factors in [0, 1]."""
        return affine_value(predict_table(self, X), self.weights_)

    def __sklearn_tags__(self) -> Tags:
        return two_valued_target(super().__sklearn_tags__())


def needed_minus_other(
    X: NDArray[np.floating],
    needed: NDArray[np.bool_],
    groups: ArrayLike | None,
    case_weight: ArrayLike | None,
    max_pairs: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Differences of all (or ``max_pairs`` sampled) needed-other pairs within each case.

    Returns
    -------
    gaps, weight
        float64[pairs, F] and float64[pairs], the weights of a case's pairs being equal and those of all pairs
        summing to 1.

    Raises
    ------
    ValueError
        When no case (of positive weight) has both a needed memory and another.
    """
    order, offsets = case_offsets(groups, len(X))
    given = np.ones(len(offsets) - 1) if case_weight is None else np.asarray(case_weight, dtype=np.float64)
    if given.shape != (len(offsets) - 1,) or not (np.isfinite(given).all() and (given >= 0).all()):
        raise ValueError(f"case_weight must be {len(offsets) - 1} finite numbers of 0 or more")
    gaps, weights = [], []
    for c, share in enumerate(given):
        rows = order[offsets[c] : offsets[c + 1]]
        yes, no = rows[needed[rows]], rows[~needed[rows]]
        pairs = len(yes) * len(no)
        if not pairs or share == 0:
            continue
        pick = (
            np.arange(pairs) if pairs <= max_pairs else np.sort(rng.choice(pairs, max_pairs, replace=False))
        )
        gaps.append(X[yes[pick // len(no)]].astype(np.float64) - X[no[pick % len(no)]])
        weights.append(np.full(len(pick), share / len(pick)))
    if not gaps:
        raise ValueError("no case has both a needed memory and another one (check y, groups and case_weight)")
    weight = np.concatenate(weights)
    return np.concatenate(gaps), weight / weight.sum()
