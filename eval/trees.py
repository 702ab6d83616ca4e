"""Gradient-boosted trees over all raw evidence: how much a black box without any constraint can reach.

It is a ceiling to compare with, not a model to ship: on LongMemEval it also learns how the benchmark was
built, and it transfers worse than constrained factors (factors.md, "Transfer is the real test").
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench, BlindBench
from memvalue.eval.learned import check_labels
from memvalue.eval.policy import Inapplicable, Policy, Regime

#: Boosting settings. Chosen on splits 0–2 of LongMemEval (380 cases, 57 lexical columns): with context they
#: keep .575/.745/.852/.907 at 5/10/20/30 %; 150 rounds of 15 leaves without shrinkage .549/.727/.842/.898.
SETTINGS: dict[str, Any] = {
    "max_iter": 120,
    "max_leaf_nodes": 8,
    "learning_rate": 0.06,
    "l2_regularization": 10.0,
    "min_samples_leaf": 40,
    "max_features": 0.3,
    "early_stopping": False,
}

#: Memories that were not needed are sampled down to this many for each needed one. On the same splits 40 keep
#: .693 at 10 % in 2.3 s a fit, all of them .676 in 8.0 s.
OTHERS_PER_NEEDED = 40


class Boosted:
    """Boosted trees with :data:`SETTINGS` that pass over columns without a single number in training.

    Parameters
    ----------
    table
        float[N, F]; NaN where unknown.
    target
        bool[N] with both values.
    seed
        Seeds the choice of columns at each split.
    """

    def __init__(self, table: NDArray[np.float32], target: NDArray[np.bool_], seed: int) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        # scikit-learn 1.9 cannot bin a column that is NaN throughout, such as the trust of untrusted data.
        self._columns = np.flatnonzero(np.isfinite(table).any(axis=0))
        model = HistGradientBoostingClassifier(**SETTINGS, random_state=seed)
        self._model = model.fit(table[:, self._columns], target)

    def log_odds(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """float64[n]; log-odds of the target."""
        return np.asarray(self._model.decision_function(table[:, self._columns]), dtype=np.float64)

    def predict_proba(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """float64[n, 2]; probability of each value of the target."""
        return np.asarray(self._model.predict_proba(table[:, self._columns]), dtype=np.float64)


class Trees:
    """``HistGradientBoostingClassifier`` on the raw evidence, ranked by the log-odds of being needed.

    Parameters
    ----------
    name
        Row name.
    context
        Also show each memory's percentile within its case for every column, the columns of the turns before
        and after it in its session, and its place.
    seed
        Seeds the sampling of memories and of columns.
    """

    regime: Regime = "blind"
    learns = True
    weights = None

    def __init__(self, name: str = "trees", *, context: bool = False, seed: int = 0) -> None:
        self.name = name
        self._context = context
        self._seed = seed
        self._model: Boosted | None = None

    def fit(self, train: Bench) -> Policy:
        """A copy fitted on ``train``."""
        check_labels(train, self.name)
        table = self._table(train)
        rows = sampled_rows(train.needed, OTHERS_PER_NEEDED, np.random.default_rng(self._seed))
        fitted = copy.copy(self)
        fitted._model = Boosted(table[rows], train.needed[rows], self._seed)
        return fitted

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N]; log-odds of being needed."""
        if self._model is None:
            raise ValueError(f"{self.name!r} is not fitted; call fit(train) first")
        return self._model.log_odds(self._table(bench))

    def _table(self, bench: BlindBench) -> NDArray[np.float32]:
        table = evidence_table(bench, self.name)
        return np.concatenate([table, case_context(table, bench)], axis=1) if self._context else table

    def __repr__(self) -> str:
        return f"Trees({self.name!r}, context={self._context})"


def evidence_table(bench: BlindBench, policy: str) -> NDArray[np.float32]:
    """float32[N, E or E + 1]; raw evidence, and whether a person spoke where that is no evidence column.

    Raises
    ------
    Inapplicable
        When the data brings its factors ready-made and so has no evidence.
    """
    if not bench.evidence_names:
        raise Inapplicable(
            f"{policy} reads raw evidence, and this data has none; it needs a data set with texts"
        )
    if "person" in bench.evidence_names:
        return bench.evidence
    return np.column_stack([bench.evidence, bench.person]).astype(np.float32)


def case_context(table: NDArray[np.float32], bench: BlindBench) -> NDArray[np.float32]:
    """What surrounds each memory in its case.

    Parameters
    ----------
    table
        float32[N, F].
    bench
        Its cases and sessions.

    Returns
    -------
    float32[N, 3 F + 3]: percentile within the case (0 lowest, 1 highest, ties at the lower end), the columns
    of the turn before and of the turn after in the same session (NaN where there is none), place in the
    session from the front and from the back, and the session's place among the case's sessions in [0, 1].
    """
    n, width = table.shape
    rank = np.empty_like(table)
    age = np.empty(n, np.float32)
    for lo, hi in zip(bench.offsets[:-1], bench.offsets[1:], strict=True):
        if lo == hi:
            continue
        block = table[lo:hi]
        ordered = np.sort(block, axis=0)
        for j in range(width):
            rank[lo:hi, j] = np.searchsorted(ordered[:, j], block[:, j])
        rank[lo:hi] /= max(hi - lo - 1, 1)
        age[lo:hi] = bench.sessions[lo:hi] / max(int(bench.sessions[hi - 1]), 1)
    conversation = bench.case_of * (int(bench.sessions.max(initial=0)) + 1) + bench.sessions
    same = conversation[1:] == conversation[:-1]
    before = np.full_like(table, np.nan)
    after = np.full_like(table, np.nan)
    before[1:][same] = table[:-1][same]
    after[:-1][same] = table[1:][same]
    starts = np.flatnonzero(np.concatenate([[True], ~same])) if n else np.empty(0, np.int64)
    lengths = np.diff(np.append(starts, n))
    front = np.arange(n) - np.repeat(starts, lengths)
    back = np.repeat(lengths, lengths) - 1 - front
    return np.column_stack([rank, before, after, front, back, age]).astype(np.float32)


def sampled_rows(positive: NDArray[np.bool_], others: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """int64[r], ascending; every positive row, and at most ``others`` rows a positive one of the rest."""
    rest = np.flatnonzero(~positive)
    wanted = others * int(positive.sum())
    if wanted < len(rest):
        rest = rng.choice(rest, size=wanted, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(positive), rest]))
