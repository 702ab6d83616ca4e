"""The transfer matrix: weights fitted on each data set, on all but one and on all, judged on unseen cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memvalue.data.splits import paper_splits
from memvalue.eval.bench import Bench
from memvalue.eval.measures import kept_share
from memvalue.eval.pooled import Pooled, fit_pooled
from memvalue.eval.transfer_report import ALL, LEFT_OUT

if TYPE_CHECKING:
    from memvalue.configs.transfer_config import TransferConfig

#: From so many cases on, a set's own row comes from two halves; below, each case is left out in turn.
HALVES_FROM = 20

#: Folds of the row that is fitted on all sets, drawn within each set, or as many as its fewest cases.
FOLDS = 5


@dataclass(frozen=True)
class Cell:
    """One row of weights on one tested set.

    Parameters
    ----------
    kept
        float64[C, B]: share of the needed memories of each case that is kept at each budget.
    kind
        ``transfer``, ``in domain`` or ``cross-fitted`` (see TransferReport).
    fitted_on
        Names of the sets.
    values
        float64[N]: the value of each memory, by weights that had not seen its case.
    """

    kept: NDArray[np.float64]
    kind: str
    fitted_on: tuple[str, ...]
    values: NDArray[np.float64]


@dataclass
class Matrix:
    """Row → tested set → cell, and the fits of whole sets by the names of these."""

    rows: dict[str, dict[str, Cell]] = field(default_factory=dict)
    fits: dict[tuple[str, ...], Pooled] = field(default_factory=dict)


def transfer_matrix(
    sets: dict[str, Bench],
    config: TransferConfig,
    *,
    full: bool = True,
    step: Callable[[], None] | None = None,
) -> Matrix:
    """Fit and test every row of one factor definition.

    Parameters
    ----------
    sets
        Name → bench, those of ``config.data`` first, then those that are only judged.
    config
        Model, budgets, refits, l2 and seed.
    full
        Add the row of all sets.
    step
        Called after each of :func:`refit_count` refits.

    Raises
    ------
    ValueError
        When a set cannot be fitted.
    """
    fitted = tuple(sets)[: len(config.data)]
    out = Matrix()

    def fit(benches: Sequence[Bench]) -> Pooled:
        return fit_pooled(
            benches,
            model=config.model,
            budgets=config.fit_budgets,
            refits=config.refits,
            l2=config.l2,
            seed=config.seed,
            step=step,
        )

    def cell(name: str, kind: str, chosen: tuple[str, ...], values: NDArray[np.float64]) -> Cell:
        bench = sets[name]
        return Cell(kept_share(values, bench.offsets, bench.needed, config.budgets), kind, chosen, values)

    def tested(name: str, chosen: tuple[str, ...]) -> Cell:
        values = np.asarray(out.fits[chosen].estimator.predict(sets[name].factors), dtype=np.float64)
        return cell(name, "transfer", chosen, values)

    for chosen in _wholes(fitted, len(sets) > len(fitted), full):
        out.fits[chosen] = fit([sets[name] for name in chosen])
    for source in fitted:
        row: dict[str, Cell] = {}
        for name, bench in sets.items():
            if name != source:
                row[name] = tested(name, (source,))
            elif folds := own_folds(bench.cases):
                row[name] = cell(name, "in domain", (source,), _crossed([bench], folds, fit)[0])
        out.rows[source] = row
    if len(fitted) > 1:
        out.rows[LEFT_OUT] = {name: tested(name, tuple(f for f in fitted if f != name)) for name in sets}
        if full:
            row = {name: tested(name, fitted) for name in sets if name not in fitted}
            mine = [sets[name] for name in fitted]
            if joint := joint_folds([b.cases for b in mine], config.seed):
                for name, values in zip(fitted, _crossed(mine, joint, fit), strict=True):
                    row[name] = cell(name, "cross-fitted", fitted, values)
            out.rows[ALL] = {name: row[name] for name in sets if name in row}
    return out


def refit_count(sets: dict[str, Bench], config: TransferConfig, *, full: bool = True) -> int:
    """How many refits :func:`transfer_matrix` will make."""
    cases = [bench.cases for bench in sets.values()][: len(config.data)]
    fitted = tuple(sets)[: len(config.data)]
    fits = len(list(_wholes(fitted, len(sets) > len(fitted), full))) + sum(len(own_folds(c)) for c in cases)
    if full and len(cases) > 1:
        fits += len(joint_folds(cases, config.seed))
    return fits * (config.refits if config.model == "linear" else 1)


def own_folds(cases: int) -> list[list[NDArray[np.int64]]]:
    """Held-out cases of each fold of one set: two halves, or one case at a time; none for a single case."""
    if cases < 2:
        return []
    if cases < HALVES_FROM:
        return [[np.array([c])] for c in range(cases)]
    return [[np.asarray(half)] for half in paper_splits(cases, 1)[0]]


def joint_folds(cases: Sequence[int], seed: int) -> list[list[NDArray[np.int64]]]:
    """Fold → set → held-out cases; none when a set has a single case."""
    folds = min([FOLDS, *cases])
    if folds < 2:
        return []
    rng = np.random.default_rng(seed)
    parts = [np.array_split(rng.permutation(c), folds) for c in cases]
    return [[np.sort(part[k]) for part in parts] for k in range(folds)]


def _wholes(fitted: tuple[str, ...], judged: bool, full: bool) -> Iterator[tuple[str, ...]]:
    """Which sets are fitted on whole: each, all but each, and all where a row needs it."""
    n = len(fitted)
    for size in sorted({1, n - 1} | ({n} if full or judged else set())):
        if size:
            yield from combinations(fitted, size)


def _crossed(
    benches: Sequence[Bench],
    folds: Sequence[Sequence[NDArray[np.int64]]],
    fit: Callable[[Sequence[Bench]], Pooled],
) -> list[NDArray[np.float64]]:
    """float64[N] a bench: each memory's value by weights that had not seen its case."""
    values = [np.full(len(b), np.nan) for b in benches]
    for held in folds:
        rest = [b.take(np.setdiff1d(np.arange(b.cases), out)) for b, out in zip(benches, held, strict=True)]
        model = fit(rest).estimator
        for bench, out, column in zip(benches, held, values, strict=True):
            rows = np.isin(bench.case_of, out)
            column[rows] = model.predict(bench.factors[rows])
    return values
