"""One value model over several data sets, each of which counts the same however many cases it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench
from memvalue.eval.learned import check_labels
from memvalue.features.names import FACTORS

#: Weight vectors tried in a refit. The search of 7 weights stands still after about 300.
EVALUATIONS = 400


@dataclass(frozen=True)
class Pooled:
    """A model of several data sets.

    Parameters
    ----------
    estimator
        Fitted; ``predict`` takes float[N, 7].
    refits
        float64[R, 7]: the weights of each refit, whose mean the estimator holds; None for a network.
    """

    estimator: Any
    refits: NDArray[np.float64] | None

    @property
    def weights(self) -> dict[str, dict[str, Any]]:
        """Factor → ``{"mean", "ci", "informed"}``, ci the central 95 % over refits; empty for networks."""
        if self.refits is None:
            return {}
        low, high = np.percentile(self.refits, [2.5, 97.5], axis=0)
        return {
            name: {
                "mean": float(self.estimator.weights_[i]),
                "ci": [float(low[i]), float(high[i])],
                "informed": bool(self.estimator.informed_[i]),
            }
            for i, name in enumerate(FACTORS)
        }


def fit_pooled(
    benches: Sequence[Bench],
    *,
    model: Literal["linear", "mlp"] = "linear",
    budgets: Sequence[float] = (0.05, 0.1, 0.3),
    refits: int = 10,
    l2: float = 0.0,
    seed: int = 0,
    step: Callable[[], None] | None = None,
) -> Pooled:
    """Fit one model on all cases of all benches, with 1 / (cases of its set) as the weight of a case.

    The linear model is the mean of ``refits`` fits, each on cases drawn anew with replacement within every
    set (bagging, Breiman 1996): weights fitted on six cases would else hang on each of them.

    Parameters
    ----------
    benches
        One a data set, of the same factor definition.
    model
        ``linear`` or ``mlp``. A network is fitted once on the cases as they are: parameters of networks
        cannot be averaged.
    budgets, l2
        As in :class:`~memvalue.train.linear.LinearValueModel`.
    refits
        1 or more; 1 is a single fit without drawing.
    seed
        Of draws and searches.
    step
        Called after every refit.

    Raises
    ------
    ValueError
        When a set has no needed memory or nothing else, or there is no set.
    """
    if not benches:
        raise ValueError("a fit needs at least one data set")
    if refits < 1:
        raise ValueError(f"refits must be 1 or more, got {refits}")
    for bench in benches:
        check_labels(bench, "a fit over several data sets")
    table = np.concatenate([b.factors for b in benches])
    needed = np.concatenate([b.needed for b in benches])
    first = np.cumsum([0, *(b.cases for b in benches[:-1])])
    groups = np.concatenate([b.case_of + start for b, start in zip(benches, first, strict=True)])
    equal = np.concatenate([np.full(b.cases, 1.0 / b.cases) for b in benches])

    if model == "mlp":
        from memvalue.train.mlp import MLPValueModel

        network = MLPValueModel(random_state=seed).fit(table, needed, groups, case_weight=equal)
        if step is not None:
            step()
        return Pooled(network, None)

    from memvalue.train.linear import LinearValueModel

    informed = np.any([b.informed for b in benches], axis=0)
    found, alive = [], np.zeros(len(FACTORS), dtype=bool)
    for r in range(refits):
        rng = np.random.default_rng([seed, r])
        weight = equal if refits == 1 else np.concatenate([_drawn(b, rng) for b in benches])
        fitted = LinearValueModel(
            budgets,
            restarts=1,
            max_evaluations=EVALUATIONS,
            informed=informed,
            l2=l2,
            random_state=rng,
        ).fit(table, needed, groups, case_weight=weight)
        found.append(fitted.weights_)
        alive |= fitted.informed_
        if step is not None:
            step()
    refitted = np.stack(found)
    return Pooled(LinearValueModel.from_weights(refitted.mean(axis=0), informed=alive), refitted)


def _drawn(bench: Bench, rng: np.random.Generator) -> NDArray[np.float64]:
    """float64[C] with sum 1: how often each case is drawn, of C draws; always one that needs something."""
    has = np.bincount(bench.case_of[bench.needed], minlength=bench.cases) > 0
    while True:
        counts = rng.multinomial(bench.cases, np.full(bench.cases, 1.0 / bench.cases))
        if counts[has].any():
            return np.asarray(counts / bench.cases, dtype=np.float64)
