"""Which weights the data pin down, which they leave open, and which they only inherit from the constraint.

A profile holds one weight fixed and refits all others (profile likelihood, with retention in place of the
likelihood); the bootstrap refits on cases drawn with replacement (Efron 1979); a search without the sign
constraint says where a weight of 0 hides a negative one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from memvalue.features.names import FACTORS
from memvalue.train.affine import as_generator
from memvalue.train.cmaes import minimise
from memvalue.train.layout import case_offsets, training_table
from memvalue.train.linear import MIN_SPREAD, STEP, LinearValueModel, check_machine
from memvalue.train.objective import RetentionObjective

#: Weights at which each profile is taken, as shares of what informed factors have between them. Fitted
#: weights lie below .6 on all data sets, and the lower end is where they are told from 0.
SHARES: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)

#: A weight above this counts as used: below, it moves hardly any rank (issue 3).
USED = 0.02

#: Weight vectors tried in a refit; it starts from the fitted weights or the prior and stands still by then.
EVALUATIONS = 300

#: Two-sided 95 % of a normal distribution.
NORMAL_95 = 1.96

#: A factor is called used, or of a sign, when this share of the refits agree.
AGREE = 0.9

#: (done, total, label).
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Identifiability:
    """What F weights owe to the data.

    Parameters
    ----------
    names
        F names of factors.
    weights
        float64[F]: the fit on all cases.
    objective
        Its mean retention, in sample.
    informed
        bool[F]; False for a factor that no case can inform, whose weight is its prior's.
    profile_weights
        float64[F, G]: where each profile was taken. NaN for uninformed factors, here and below.
    profile
        float64[F, G]: mean retention with that weight fixed and all others refitted, in sample.
    loss, loss_se
        float64[F, G]: what that falls short of the best found, and the standard error of that over cases,
        paired.
    plausible
        float64[F, 2]: lowest and highest weight, on the grid or fitted, whose loss is within 1.96 standard
        errors of 0. A range that reaches 0 says that the data can do without the factor.
    refits
        float64[R, F]: weights of the fits on resampled cases.
    low, high
        float64[F]: central 95 % of ``refits``.
    used
        float64[F]: share of refits with a weight above .02.
    positive
        float64[F]: share of refits without the sign constraint that give a weight above 0.
    cases
        How many cases count.
    """

    names: tuple[str, ...]
    weights: NDArray[np.float64]
    objective: float
    informed: NDArray[np.bool_]
    profile_weights: NDArray[np.float64]
    profile: NDArray[np.float64]
    loss: NDArray[np.float64]
    loss_se: NDArray[np.float64]
    plausible: NDArray[np.float64]
    refits: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    used: NDArray[np.float64]
    positive: NDArray[np.float64]
    cases: int

    def flags(self, factor: int) -> tuple[str, ...]:
        """What to know about a weight.

        ``prior``: the data cannot inform it. ``needed``: without it retention falls by more than chance.
        ``free``: the data can do without. ``unused``: at most a tenth of the refits use it. ``unsteady``:
        some refits use it, some do not. ``negative``: without the constraint its sign would be negative.
        ``sign unknown``: without the constraint refits disagree on it.
        """
        if not self.informed[factor]:
            return ("prior",)
        found = ["needed" if self.plausible[factor, 0] > 0 else "free"]
        if self.used[factor] <= 1 - AGREE:
            found.append("unused")
        elif self.used[factor] < AGREE:
            found.append("unsteady")
        if self.positive[factor] <= 1 - AGREE:
            found.append("negative")
        elif self.positive[factor] < AGREE:
            found.append("sign unknown")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: ``cases, objective, refits, factors``, the last one a record a factor."""
        return {
            "cases": self.cases,
            "objective": self.objective,
            "refits": len(self.refits),
            "factors": {
                name: {
                    "weight": float(self.weights[i]),
                    "informed": bool(self.informed[i]),
                    "plausible": self.plausible[i].tolist() if self.informed[i] else None,
                    "bootstrap": [float(self.low[i]), float(self.high[i])],
                    "used": float(self.used[i]),
                    "positive": float(self.positive[i]) if np.isfinite(self.positive[i]) else None,
                    "flags": list(self.flags(i)),
                    "profile": [
                        {"weight": float(w), "retention": float(r), "loss": float(d), "se": float(s)}
                        for w, r, d, s in zip(
                            self.profile_weights[i],
                            self.profile[i],
                            self.loss[i],
                            self.loss_se[i],
                            strict=True,
                        )
                        if np.isfinite(w)
                    ],
                }
                for i, name in enumerate(self.names)
            },
        }


def identify(
    model: LinearValueModel,
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    machine: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    case_weight: ArrayLike | None = None,
    shares: Sequence[float] = SHARES,
    refits: int = 40,
    rng: np.random.Generator | int | None = 0,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Identifiability:
    """Fit ``model`` on all cases, then take the profile of every weight and bootstrap the fit.

    In a profile the weight is fixed, the others start from the fitted ones in proportion and are refitted, as
    is a role offset. All of it is in sample: it shows what the data can tell apart, not what to expect
    elsewhere.

    Parameters
    ----------
    model
        Settings of the fit (budgets, prior, informed, role offset); it is not changed.
    X, y, groups, machine, mask, case_weight
        As :meth:`~memvalue.train.linear.LinearValueModel.fit` takes them.
    shares
        Where profiles are taken, in [0, 1): shares of what the informed factors have between them.
    refits
        On resampled cases; 0 for none.
    rng
        Of the bootstrap.
    names
        F names; default: the seven factors, or numbers.

    Raises
    ------
    ValueError
        As the fit; for shares outside [0, 1), or fewer than two cases that count.
    """
    grid = np.array(sorted(set(shares)), dtype=np.float64)
    if not len(grid) or grid[0] < 0 or grid[-1] >= 1 or refits < 0:
        raise ValueError(f"shares must lie in [0, 1) and refits be 0 or more, got {shares} and {refits}")
    chance = as_generator(rng)
    extra = {"machine": machine, "mask": mask}
    best = clone(model).fit(X, y, groups, case_weight=case_weight, **extra)
    table, needed = training_table(clone(model), X, y)
    width = table.shape[1]
    labels = tuple(names or (FACTORS if width == len(FACTORS) else map(str, range(width))))
    if len(labels) != width:
        raise ValueError(f"{len(labels)} names for {width} factors")
    columns = table.astype(np.float32)
    if model.role_offset:
        columns = np.column_stack([columns, check_machine(machine, len(table)).astype(np.float32)])
    objective = RetentionObjective(columns, needed, groups, model.budgets, None, case_weight, mask)
    if objective.n_cases < 2:
        raise ValueError(
            "one case alone cannot say what is chance; bring two cases with needed memories or more"
        )
    informed = best.informed_
    # A lone informed factor has the whole of the weight that is free, and nothing to be held against.
    profiled = informed & (informed.sum() > 1)
    steps = int(profiled.sum()) + refits
    done = 0

    def tell(label: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps, label)

    weights = np.full((width, len(grid), columns.shape[1]), np.nan)
    free = 1.0 - best.weights_[~informed].sum()
    for i in np.flatnonzero(profiled).tolist():
        for g, share in enumerate(grid):
            weights[i, g] = _with_fixed(
                best, i, free * share, X, y, groups, {**extra, "case_weight": case_weight}
            )
        tell(f"profile of {labels[i]}")
    flat = np.concatenate([_vector(best)[None], weights[profiled].reshape(-1, columns.shape[1])])
    kept = objective.by_case(flat)
    mean = kept @ objective.case_share
    gap = kept[int(np.argmax(mean))] - kept
    loss = gap @ objective.case_share
    # Of a weighted mean of cases: Σ p²(x − mean)², with n/(n − 1) for the mean taken off.
    correction = objective.n_cases / (objective.n_cases - 1)
    spread = np.sqrt(correction * ((gap - loss[:, None]) ** 2) @ objective.case_share**2)

    def unfold(found: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.full((width, len(grid)), np.nan)
        out[profiled] = found[1:].reshape(-1, len(grid))
        return out

    at = weights[np.arange(width), :, np.arange(width)]
    fine = unfold(loss) <= NORMAL_95 * unfold(spread)
    reach = np.column_stack([np.where(fine, at, np.nan), best.weights_])
    plausible = np.column_stack([np.nanmin(reach, axis=1), np.nanmax(reach, axis=1)])
    plausible[~informed] = np.nan

    given = np.zeros(len(case_offsets(groups, len(table))[1]) - 1)
    given[objective.cases] = objective.case_share
    drawn, signs = np.empty((refits, width)), np.empty((refits, width))
    for r in range(refits):
        picked = np.bincount(chance.choice(objective.cases, objective.n_cases), minlength=len(given))
        again = clone(best).set_params(
            restarts=1, max_evaluations=min(model.max_evaluations, EVALUATIONS), random_state=chance
        )
        # Weighing a case by how often it was drawn is the same as repeating it, and fits faster.
        share = given * picked
        drawn[r] = again.fit(X, y, groups, case_weight=share, **extra).weights_
        loose = RetentionObjective(columns, needed, groups, model.budgets, None, share, mask)
        signs[r] = _sign_free(again, columns, loose, chance)
        tell("bootstrap")
    known = refits > 0
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0) if known else np.full((2, width), np.nan)
    return Identifiability(
        names=labels,
        weights=best.weights_,
        objective=best.objective_,
        informed=informed,
        profile_weights=at,
        profile=unfold(mean),
        loss=unfold(loss),
        loss_se=unfold(spread),
        plausible=plausible,
        refits=drawn,
        low=low,
        high=high,
        used=(drawn > USED).mean(axis=0) if known else np.full(width, np.nan),
        positive=np.where(informed, (signs > 0).mean(axis=0), np.nan) if known else np.full(width, np.nan),
        cases=objective.n_cases,
    )


def _vector(model: LinearValueModel) -> NDArray[np.float64]:
    """float64[F (+ 1)]: weights, and the offset where the model has one."""
    return np.append(model.weights_, model.offset_) if model.role_offset else model.weights_


def _with_fixed(
    best: LinearValueModel, factor: int, weight: float, X: Any, y: Any, groups: Any, extra: dict[str, Any]
) -> NDArray[np.float64]:
    """float64[F (+ 1)]: the fit with one weight held, which is the fit in which it is not informed."""
    held = best.informed_.copy()
    held[factor] = False
    others = np.where(held, best.weights_, 0.0)
    others = others if others.sum() > 0 else held.astype(np.float64)
    start = np.where(best.informed_, 0.0, best.weights_)
    start += (1.0 - start.sum() - weight) * others / others.sum()
    start[factor] = weight
    refit = clone(best).set_params(
        prior=start, informed=held, restarts=1, max_evaluations=min(best.max_evaluations, EVALUATIONS), l2=0.0
    )
    return _vector(refit.fit(X, y, groups, **extra))


def _sign_free(
    refit: LinearValueModel,
    columns: NDArray[np.float32],
    objective: RetentionObjective,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """float64[F]: a search without the constraint, from the constrained fit; scale is free, as ranks are."""
    informed = refit.informed_
    width = len(informed)
    moved = np.append(informed, True) if refit.role_offset else informed
    scale = np.maximum(columns.std(axis=0, dtype=np.float64), MIN_SPREAD)[moved]

    def weights_of(theta: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.zeros((len(theta), columns.shape[1]))
        out[:, moved] = theta / scale
        return out

    start = _vector(refit)[moved] * scale
    start = start / np.abs(start).mean() if start.any() else np.ones(len(start))
    found = minimise(
        lambda theta: -objective(weights_of(theta)), start, STEP, rng=rng, max_evaluations=EVALUATIONS
    )
    # The centre wanders least where a weight moves no rank, so its sign is a coin's there.
    return weights_of(found.mean[None])[0, :width]
