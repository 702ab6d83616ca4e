"""Recalibrate the weights for one business: folds, the final fit, and the gate, on arrays alone.

The units of work are :func:`fit_fold`, one for each fold of a business, and then :func:`settle`; each is a
pure function of a table and small settings, so any engine can map them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.factor_table import FactorTable
from memvalue.train.base_weights import BaseWeights
from memvalue.train.gate import Verdict, judge
from memvalue.train.objective import retention
from memvalue.train.plan import Plan, plan
from memvalue.train.shrunken import TRUST, ShrunkenLinear, Tier
from memvalue.train.spread import Spread

__all__ = ["FoldResult", "Plan", "Settings", "Settled", "fit_fold", "plan", "recalibrate", "settle"]

#: Trust region, in units of s, for a log in which something looked wrong.
CAUTIOUS_TRUST = 1.0

#: Confidence of the gate for such a log.
CAUTIOUS_CONFIDENCE = 0.99

_DAY = np.timedelta64(86400, "s")


@dataclass(frozen=True)
class Settings:
    """What decides a recalibration, beside the data and the base.

    Parameters
    ----------
    budgets
        Shares of memories at which retention is fitted and judged.
    held_out
        Share of the cases, the latest, that the gate judges on.
    folds
        Rolling origins within the rest, at most.
    half_life_days
        A case this much older than the latest of a fit counts half.
    confidence
        Of the gate's one-sided interval.
    trust
        Farthest that a weight moves from the base, in units of s.
    strength
        Factor on κ; 0 fits without penalty. Choosing it by the folds was tried and kept no more: +.012 and
        +.028 of retention with 30 and 100 cases either way, over 24 simulated businesses.
    max_evaluations
        Weight vectors tried in each fit.
    spread
        The prior; when None the shipped one, by whether the table knows of uses.
    tier
        What may move; None decides by evidence.
    seed
        Of the searches.

    Raises
    ------
    ValueError
        For a number out of range.
    """

    budgets: tuple[float, ...] = (0.05, 0.1, 0.3)
    held_out: float = 0.3
    folds: int = 3
    half_life_days: float = 180.0
    confidence: float = 0.95
    trust: float = TRUST
    strength: float = 1.0
    max_evaluations: int = 240
    spread: Spread | None = None
    tier: Tier | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.half_life_days > 0:
            raise ValueError(f"half_life_days must be above 0, got {self.half_life_days}")
        if not self.strength >= 0:
            raise ValueError(f"strength must be 0 or more, got {self.strength}")
        if self.max_evaluations < 1:
            raise ValueError(f"max_evaluations must be 1 or more, got {self.max_evaluations}")

    def cautious(self) -> Settings:
        """The same for a log in which something looked wrong: a smaller trust region, a stricter gate."""
        return replace(
            self,
            trust=min(self.trust, CAUTIOUS_TRUST),
            confidence=max(self.confidence, CAUTIOUS_CONFIDENCE),
        )


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold found; small, and it pickles.

    ``fold`` its number; ``cases`` int64[J] the cases it judged on; ``base`` and ``kept`` float64[J] their
    retention under the base and under the fit; ``weights`` float64[F]; ``tier`` what was fitted;
    ``evaluations`` weight vectors tried.
    """

    fold: int
    cases: NDArray[np.int64]
    base: NDArray[np.float64]
    kept: NDArray[np.float64]
    weights: NDArray[np.float64]
    tier: Tier
    evaluations: int


@dataclass(frozen=True, eq=False)
class Settled:
    """The outcome for one business.

    Parameters
    ----------
    verdict
        What the gate said.
    weights
        The model that stays: the candidate, the current one or the base.
    candidate
        The fitted weights, promoted or not; the base where nothing could be fitted.
    intervals
        float64[F, 2]: lowest and highest weight over the folds' fits and the final one; both ends are the
        weight itself where there are no folds.
    informed
        bool[F]; False for a factor whose weight is the base's share because the cases cannot inform it.
    tier, strength
        What was fitted, and the factor on κ.
    fold_gain
        Mean retention beyond the base over the folds' later cases; NaN without folds.
    cases_fit, cases_held_out
        Cases that count.
    effective_cases
        What the cases of the fit weigh, recent ones most.
    evaluations
        Weight vectors tried, over all fits.
    notes
        What a reader should know: embargoed and idle cases, what kept the fit from starting.
    """

    verdict: Verdict
    weights: BaseWeights
    candidate: BaseWeights
    intervals: NDArray[np.float64]
    informed: NDArray[np.bool_]
    tier: Tier
    strength: float
    fold_gain: float
    cases_fit: int
    cases_held_out: int
    effective_cases: float
    evaluations: int
    notes: tuple[str, ...] = field(default=())

    @property
    def decision(self) -> str:
        """``keep-base``, ``keep-current`` or ``promote``."""
        return self.verdict.decision

    def to_dict(self) -> dict[str, Any]:
        """The issue's JSON, without warnings: ``decision``, ``evidence``, ``weights`` and more."""
        gate = self.verdict.to_dict()
        evidence = {
            "cases_fit": self.cases_fit,
            "cases_held_out": self.cases_held_out,
            "gain": gate.pop("gain"),
            "ci": gate.pop("ci"),
        }
        return {
            "decision": gate.pop("decision"),
            "evidence": evidence | gate | {
                "effective_cases": self.effective_cases,
                "fold_gain": None if np.isnan(self.fold_gain) else self.fold_gain,
            },
            "weights": {
                name: {
                    "weight": float(self.weights.weights[i]),
                    "candidate": float(self.candidate.weights[i]),
                    "folds": [float(x) for x in self.intervals[i]],
                    "informed": bool(self.informed[i]),
                }
                for i, name in enumerate(self.weights.names)
            },
            "machine_offset": self.weights.offset,
            "tier": self.tier,
            "strength": self.strength,
            "evaluations": self.evaluations,
            "notes": list(self.notes),
        }  # fmt: skip


def fit_fold(
    table: FactorTable, plan: Plan, fold: int, base: BaseWeights, settings: Settings | None = None
) -> FoldResult:
    """Fit up to a fold's origin, and judge on the cases that followed.

    Raises
    ------
    ValueError
        For a fold that the plan does not have, or a table of other factors than the base.
    """
    chosen = settings or Settings()
    if not 0 <= fold < len(plan.folds):
        raise ValueError(f"there is no fold {fold}; the plan has {len(plan.folds)}")
    _check_alike(table, base)
    part = plan.folds[fold]
    fitted = _fitted(table, part.fit, base, chosen, fold + 1)
    kept = kept_by_case(table, part.judge, [base, replace(base, weights=fitted.weights_)], chosen.budgets)
    return FoldResult(
        fold, part.judge, kept[0], kept[1], fitted.weights_, fitted.tier_, fitted.n_evaluations_
    )


def settle(
    table: FactorTable,
    plan: Plan,
    folds: Sequence[FoldResult],
    base: BaseWeights,
    settings: Settings | None = None,
    current: BaseWeights | None = None,
) -> Settled:
    """Fit on all held-in cases, and let the gate decide on the held-out ones.

    Parameters
    ----------
    table, plan
        What the folds were made of.
    folds
        The results of all folds, in any order.
    base
        Where the fit starts from, and what it may never be worse than.
    settings
        The same as the folds'.
    current
        The model in use, when it is not the base.

    Raises
    ------
    ValueError
        For tables and models of different factors.
    """
    chosen = settings or Settings()
    _check_alike(table, base)
    if current is not None:
        _check_alike(table, current)
    notes = _notes(plan)
    folds = sorted(folds, key=lambda f: f.fold)
    gaps = np.concatenate([f.kept - f.base for f in folds]) if folds else np.array([np.nan])
    models = {"base": base} | ({} if current is None else {"current": current})
    candidate, effective, evaluations = base, 0.0, sum(f.evaluations for f in folds)
    tier: Tier = "keep"
    informed = np.zeros(len(base.names), dtype=bool)
    if len(plan.held_in):
        fitted = _fitted(table, plan.held_in, base, chosen, 0)
        candidate = replace(base, weights=fitted.weights_)
        tier, effective, informed = fitted.tier_, fitted.n_eff_, fitted.informed_
        evaluations += fitted.n_evaluations_
    else:
        notes = (*notes, "no case ended before the held-out time; there is nothing to fit on")
    moved = bool(np.abs(candidate.weights - base.weights).max() > 1e-12)
    if moved:
        models["candidate"] = candidate
    elif len(plan.held_in):
        notes = (*notes, f"the fit of {len(plan.held_in)} cases leaves the weights as the base has them")
    kept = kept_by_case(table, plan.held_out, list(models.values()), chosen.budgets)
    verdict = judge(
        dict(zip(models, kept, strict=True)), confidence=chosen.confidence, block=plan.overlap + 1
    )
    stays = {"promote": candidate, "keep-base": base}.get(verdict.decision, current or base)
    seen = np.stack([*(f.weights for f in folds), candidate.weights])
    return Settled(
        verdict=verdict,
        weights=stays,
        candidate=candidate,
        intervals=np.stack([seen.min(axis=0), seen.max(axis=0)], axis=1),
        informed=informed,
        tier=tier,
        strength=chosen.strength,
        fold_gain=float(gaps.mean()),
        cases_fit=len(plan.held_in),
        cases_held_out=len(plan.held_out),
        effective_cases=effective,
        evaluations=evaluations,
        notes=notes,
    )


def recalibrate(
    table: FactorTable,
    base: BaseWeights,
    current: BaseWeights | None = None,
    settings: Settings | None = None,
) -> Settled:
    """Plan, folds and verdict in this process.

    Raises
    ------
    ValueError
        As :func:`plan` and :func:`settle`.
    """
    chosen = settings or Settings()
    made = plan(table, held_out=chosen.held_out, folds=chosen.folds)
    results = [fit_fold(table, made, f, base, chosen) for f in range(len(made.folds))]
    return settle(table, made, results, base, chosen, current)


def kept_by_case(
    table: FactorTable, cases: NDArray[np.int64], models: Sequence[BaseWeights], budgets: Sequence[float]
) -> NDArray[np.float64]:
    """float64[M, J]: each case's retention under each model, the mean over the budgets."""
    part = table.take(cases)
    scores = np.stack([m.value(part.factors, part.machine) for m in models])
    mean: NDArray[np.float64] = retention(scores, part.offsets, part.needed, budgets).mean(axis=2)
    return mean


def case_weights(times: NDArray[np.datetime64], half_life_days: float) -> NDArray[np.float64]:
    """float64[C] in (0, 1]: 2^−(age/half-life), the age being that before the latest of the cases."""
    age = (times.max() - times) / _DAY
    # Older than a thousand half-lives is still a positive weight.
    weights: NDArray[np.float64] = np.maximum(0.5 ** (age / half_life_days), 1e-300)
    return weights


def prior_of(table: FactorTable, settings: Settings) -> Spread:
    """The settings' prior, or the shipped one for tables with or without a log of uses."""
    if settings.spread is not None:
        return settings.spread
    return Spread.default(logged=bool(np.isfinite(table.uses).any()))


def _fitted(
    table: FactorTable,
    cases: NDArray[np.int64],
    base: BaseWeights,
    settings: Settings,
    place: int,
) -> ShrunkenLinear:
    """A fit on some cases; its search is seeded by its place alone, so that the order of units is nothing."""
    part = table.take(cases)
    model = ShrunkenLinear(
        base,
        spread=prior_of(table, settings),
        strength=settings.strength,
        tier=settings.tier,
        trust=settings.trust,
        budgets=settings.budgets,
        informed=table.informed,
        max_evaluations=settings.max_evaluations,
        random_state=np.random.default_rng([settings.seed, place]),
    )
    return model.fit(
        part.factors,
        part.needed,
        part.case_of,
        machine=part.machine,
        case_weight=case_weights(part.times, settings.half_life_days),
    )


def _check_alike(table: FactorTable, model: BaseWeights) -> None:
    if table.names != model.names:
        raise ValueError(
            f"the table has the factors {', '.join(table.names)}, the model {', '.join(model.names)}; "
            "extract the table under the model's own definition"
        )


def _notes(plan: Plan) -> tuple[str, ...]:
    found = []
    if plan.idle:
        found.append(f"{plan.idle} cases in which nothing or everything was needed tell no weights apart")
    if plan.embargoed:
        found.append(f"{plan.embargoed} cases whose horizon reaches into the held-out time were left out")
    return tuple(found)
