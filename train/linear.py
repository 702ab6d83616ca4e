"""The linear value V(m) = Σ wᵢ fᵢ(m) (arXiv 2606.12945), fitted on the measure itself by CMA-ES."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags

from memvalue.train.affine import affine_value, as_generator
from memvalue.train.cmaes import minimise
from memvalue.train.layout import predict_table, training_table, varies_within_cases
from memvalue.train.objective import RetentionObjective, check_budgets

#: Smallest spread that a factor is scaled by, a hundredth of its range: a factor that hardly moves must not
#: be able to take the whole weight with a tiny step of the search.
MIN_SPREAD = 0.01

#: Initial step of the search in units of the starting point, whose coordinates average 1.
STEP = 0.5

#: Largest role offset tried, in units of the value: beyond 1 it would decide every rank by itself.
MAX_OFFSET = 1.0

#: What the offset may cost persons' evidence. As the search leaves it, it keeps .66 of LongMemEval's
#: assistant evidence at 30 % and costs the other types .010 there and .021 at 10 %; held to .005 in training
#: it keeps .53 for .006 and .006 (splits 0 to 4).
ROLE_LOSS = 0.005

#: Offsets tried when the fitted one costs too much: how far below it, and how many.
OFFSET_RANGE, OFFSET_STEPS = 0.2, 81


class LinearValueModel(BaseEstimator):
    """Weights ≥ 0 that sum to 1, fitted for hard retention at several budgets at once.

    The search runs over θ with w = |θ|/σ ÷ Σ|θ|/σ, σ being each factor's spread, so that every weight vector
    of the simplex is reachable and a step means the same for a wide factor and for a narrow one.

    Parameters
    ----------
    budgets
        Shares of memories (of tokens when ``fit`` gets ``tokens``) over which retention is averaged.
    restarts
        Independent searches: the first from the prior, the others from random weights. The best one wins.
    max_evaluations
        Weight vectors tried in each search.
    prior
        float[F] ≥ 0: starting weights, and the share of factors that the data cannot inform. Default: equal.
    informed
        bool[F]: which factors the data can inform. A factor marked False, or one that is constant within
        every case, keeps exactly its prior share and is flagged in ``informed_``.
    role_offset
        Fit an offset for machine turns (assistant, tool, system). ``fit`` and ``predict`` then need
        ``machine``.
    role_loss
        With a role offset: how much retention of needed *person* memories, as a mean over the budgets, the
        offset may cost against machine turns never being kept. The fitted offset is lowered until it keeps to
        that; 1 leaves it as fitted.
    l2
        Strength of the pull towards the prior: l2 · Σ(w − prior)² is taken off the retention.
    random_state
        None, an int, or a ``numpy.random.Generator`` (which is advanced).

    Attributes
    ----------
    weights_
        float64[F] ≥ 0 with sum 1.
    offset_
        float: what a machine turn gains before the value is brought back to [0, 1]; 0 without
        ``role_offset``.
    informed_
        bool[F].
    objective_
        Mean retention of the training cases at the budgets, without the pull.
    n_iter_
        Generations, over all searches.
    n_evaluations_
        Weight vectors tried, over all searches.
    """

    def __init__(
        self,
        budgets: Sequence[float] = (0.05, 0.1, 0.2, 0.3),
        *,
        restarts: int = 2,
        max_evaluations: int = 800,
        prior: ArrayLike | None = None,
        informed: ArrayLike | None = None,
        role_offset: bool = False,
        role_loss: float = ROLE_LOSS,
        l2: float = 0.0,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.budgets = budgets
        self.restarts = restarts
        self.max_evaluations = max_evaluations
        self.prior = prior
        self.informed = informed
        self.role_offset = role_offset
        self.role_loss = role_loss
        self.l2 = l2
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
        mask: ArrayLike | None = None,
    ) -> LinearValueModel:
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
            bool[N]; the turn is not a person's. Needed with ``role_offset``.
        tokens, case_weight, mask
            As in :class:`~memvalue.train.objective.RetentionObjective`.

        Raises
        ------
        ValueError
            For NaN, lengths that disagree, y without needed memories, or parameters out of range.
        """
        table, needed = training_table(self, X, y)
        rows, width = table.shape
        check_budgets(self.budgets)
        if self.restarts < 1:
            raise ValueError(f"restarts must be 1 or more, got {self.restarts}")
        if not (self.l2 >= 0 and np.isfinite(self.l2)):
            raise ValueError(f"l2 must be finite and 0 or more, got {self.l2}")
        prior = check_prior(self.prior, width)
        rng = as_generator(self.random_state)
        informed = check_informed(self.informed, width) & varies_within_cases(table, groups)
        columns = table.astype(np.float32)
        if self.role_offset:
            columns = np.column_stack([columns, check_machine(machine, rows).astype(np.float32)])
        objective = RetentionObjective(columns, needed, groups, self.budgets, tokens, case_weight, mask)

        spread = np.maximum(table.std(axis=0, dtype=np.float64), MIN_SPREAD)[informed]
        free = 1.0 - prior[~informed].sum()
        searched = int(informed.sum())

        def weights_of(theta: NDArray[np.float64]) -> NDArray[np.float64]:
            """float64[P, F (+ 1)]: weights, and with a role offset the offset, of P points."""
            out = np.tile(prior, (len(theta), 1))
            raw = np.abs(theta[:, :searched]) / spread
            total = raw.sum(axis=1, keepdims=True)
            # θ = 0 stands for no opinion: equal steps from the origin in every direction.
            out[:, informed] = free * np.where(
                total > 0, raw / np.where(total > 0, total, 1.0), 1 / max(searched, 1)
            )
            if self.role_offset:
                out = np.column_stack([out, MAX_OFFSET * np.tanh(theta[:, searched])])
            return out

        def loss(theta: NDArray[np.float64]) -> NDArray[np.float64]:
            weights = weights_of(theta)
            pull = self.l2 * ((weights[:, :width] - prior) ** 2).sum(axis=1)
            return np.asarray(pull - objective(weights))

        best, low = weights_of(np.zeros((1, searched + self.role_offset))), np.inf
        self.n_iter_ = self.n_evaluations_ = 0
        if free > 0 and searched + self.role_offset > (0 if self.role_offset else 1):
            for restart in range(self.restarts):
                share = prior[informed] if restart == 0 else rng.exponential(size=searched) / spread
                start = np.zeros(searched + self.role_offset)
                scaled = share * spread
                start[:searched] = scaled / scaled.mean() if scaled.sum() > 0 else 1.0
                found = minimise(loss, start, STEP, rng=rng, max_evaluations=self.max_evaluations)
                # The centre of the final distribution varies less than the best point, so it wins ties.
                for point in (found.mean, found.x):
                    value = float(loss(point[None])[0])
                    if value < low:
                        best, low = weights_of(point[None]), value
                self.n_iter_ += found.iterations
                self.n_evaluations_ += found.evaluations
        self.n_iter_ = max(self.n_iter_, 1)
        if self.role_offset:
            spoken = needed & ~check_machine(machine, rows)
            best = self._within_loss(best, columns, spoken, groups, tokens, case_weight, mask)
        self.weights_ = best[0, :width] / best[0, :width].sum()
        self.offset_ = float(best[0, width]) if self.role_offset else 0.0
        self.informed_ = informed
        self.objective_ = float(objective(best)[0])
        return self

    def _within_loss(
        self,
        best: NDArray[np.float64],
        columns: NDArray[np.float32],
        spoken: NDArray[np.bool_],
        groups: ArrayLike | None,
        tokens: ArrayLike | None,
        case_weight: ArrayLike | None,
        mask: ArrayLike | None,
    ) -> NDArray[np.float64]:
        """``best`` [1, F + 1] with the largest offset, up to its own, that costs persons little enough."""
        if self.role_loss >= 1 or not spoken.any():
            return best
        persons = RetentionObjective(columns, spoken, groups, self.budgets, tokens, case_weight, mask)
        offsets = np.append(-MAX_OFFSET, np.linspace(best[0, -1] - OFFSET_RANGE, best[0, -1], OFFSET_STEPS))
        tried = np.repeat(best, len(offsets), axis=0)
        tried[:, -1] = np.maximum(offsets, -MAX_OFFSET)
        kept = persons(tried)
        return tried[[int(np.flatnonzero(kept[0] - kept <= self.role_loss).max())]]

    @classmethod
    def from_weights(
        cls, weights: ArrayLike, *, offset: float = 0.0, informed: ArrayLike | None = None
    ) -> LinearValueModel:
        """A fitted model of known weights ≥ 0, scaled to sum 1: the mean over refits, or chosen by hand.

        Raises
        ------
        ValueError
            For weights that are negative, not finite or all 0, or an offset beyond ±1.
        """
        given = np.asarray(weights, dtype=np.float64)
        if given.ndim != 1:
            raise ValueError(f"weights must be a vector, got shape {given.shape}")
        if not abs(offset) <= MAX_OFFSET:
            raise ValueError(f"offset must lie in [-{MAX_OFFSET}, {MAX_OFFSET}], got {offset}")
        model = cls(role_offset=offset != 0.0)
        model.n_features_in_ = len(given)
        model.weights_ = check_prior(given, len(given))
        model.offset_ = float(offset)
        model.informed_ = check_informed(informed, len(given))
        model.n_iter_ = 1
        return model

    def predict(self, X: ArrayLike, machine: ArrayLike | None = None) -> NDArray[np.float64]:
        """float64[N]: the value, in [0, 1] for factors in [0, 1].

        ``machine`` bool[N] says which turns are not a person's; with a fitted role offset it is needed.
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


def two_valued_target(tags: Tags) -> Tags:
    """Tags of an estimator that must be given y, of two values."""
    tags.target_tags.required = True
    tags.classifier_tags = ClassifierTags(multi_class=False)
    return tags


def check_prior(prior: ArrayLike | None, width: int) -> NDArray[np.float64]:
    """float64[width] ≥ 0 with sum 1, or a ValueError."""
    weights = np.ones(width) if prior is None else np.asarray(prior, dtype=np.float64)
    if (
        weights.shape != (width,)
        or not np.isfinite(weights).all()
        or (weights < 0).any()
        or weights.sum() <= 0
    ):
        raise ValueError(f"prior must be {width} finite weights of 0 or more, not all 0; got {prior!r}")
    return np.asarray(weights / weights.sum())


def check_informed(informed: ArrayLike | None, width: int) -> NDArray[np.bool_]:
    """bool[width], or a ValueError."""
    flags = np.ones(width, dtype=bool) if informed is None else np.asarray(informed, dtype=bool)
    if flags.shape != (width,):
        raise ValueError(f"informed must be {width} flags, got shape {flags.shape}")
    return flags


def check_machine(machine: ArrayLike | None, rows: int) -> NDArray[np.bool_]:
    """bool[rows], or a ValueError."""
    if machine is None:
        raise ValueError("role_offset=True needs machine=, a flag for each row that is not a person's turn")
    flags = np.asarray(machine, dtype=bool)
    if flags.shape != (rows,):
        raise ValueError(f"machine has shape {flags.shape}, but there are {rows} rows")
    return flags
