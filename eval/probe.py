"""How much of a benchmark can be had by recognising who wrote a turn, with no notion of value at all.

LongMemEval hides the conversations of simulated users among real ones from other sources, and nearly all of
its evidence lies in the simulated ones. A classifier of the *source* is never told what was needed, and yet
it keeps more than the published model at 30 % (factors.md, "At 30 % this benchmark measures style").
Among held-out users' turns raw evidence tells the source with an AUC of .97, the outer form alone with .88.
"""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench, BlindBench
from memvalue.eval.measures import SIMULATED
from memvalue.eval.policy import Inapplicable, Policy, Regime
from memvalue.eval.rules import evidence_sum, persons_first
from memvalue.eval.trees import Boosted, evidence_table

#: Columns of the outer form of a turn: how long, how it is laid out and punctuated; no word's meaning.
STYLE = (
    "bytes", "words", "mean_word_length", "sentences", "newlines", "list_lines", "uppercase",
    "exclamations", "question_marks", "quotes", "code_chars", "emoji",
)  # fmt: skip


class SourceProbe:
    """Ranks persons' turns by the probability that a simulated user wrote them.

    Fitted on the source labels of the persons' turns of the training cases; never shown which were needed.

    Parameters
    ----------
    name
        Row name.
    reads
        ``evidence``: trees over all raw evidence. ``style``: a logistic regression over the outer form of a
        turn alone (:data:`STYLE`).
    seed
        Seeds the trees' choice of columns.
    """

    regime: Regime = "blind"
    learns = True
    weights = None

    def __init__(
        self, name: str = "source_probe", *, reads: Literal["evidence", "style"] = "evidence", seed: int = 0
    ) -> None:
        self.name = name
        self._reads = reads
        self._seed = seed
        self._model: Any = None

    def fit(self, train: Bench) -> Policy:
        """A copy fitted on the sources of ``train``.

        Raises
        ------
        Inapplicable
            When the data has no evidence columns, no source labels, or one source only.
        """
        table = self._table(train)
        if train.source is None:
            raise Inapplicable(
                f"{self.name} predicts where a turn came from, and this data has no source labels"
            )
        simulated = train.source == SIMULATED
        rows = np.flatnonzero(train.person)
        if not simulated[rows].any() or simulated[rows].all():
            which = "all" if simulated[rows].any() else "none"
            raise Inapplicable(
                f"{self.name} tells simulated users from others, and {which} of the {len(rows)} persons' "
                "turns in training are simulated"
            )
        fitted = copy.copy(self)
        fitted._model = self._learn(table[rows], simulated[rows])
        return fitted

    def probability(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N] in [0, 1]; the probability that a simulated user wrote the turn."""
        if self._model is None:
            raise ValueError(f"{self.name!r} is not fitted; call fit(train) first")
        return np.asarray(self._model.predict_proba(self._table(bench))[:, 1], dtype=np.float64)

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N]; 1 + the probability for a person's turn, 0 for any other."""
        return persons_first(bench, self.probability(bench))

    def auc(self, bench: Bench) -> float:
        """How well the source is told among the persons' turns of ``bench``: area under the ROC curve.

        Ties count half (Mann & Whitney 1947). NaN when only one source occurs.
        """
        if bench.source is None:
            raise Inapplicable(f"{self.name} is judged by source labels, and this data has none")
        rows = bench.person
        guess, truth = self.probability(bench)[rows], bench.source[rows] == SIMULATED
        hits, misses = int(truth.sum()), int((~truth).sum())
        if not hits or not misses:
            return float("nan")
        _, inverse, counts = np.unique(guess, return_inverse=True, return_counts=True)
        rank = np.cumsum(counts) - (counts - 1) / 2.0
        return float((rank[inverse.reshape(-1)][truth].sum() - hits * (hits + 1) / 2) / (hits * misses))

    def _table(self, bench: BlindBench) -> NDArray[np.float32]:
        if self._reads == "evidence":
            return evidence_table(bench, self.name)
        columns = [evidence_sum(bench, (name,), self.name) for name in STYLE]
        return np.log1p(np.maximum(np.column_stack(columns), 0.0)).astype(np.float32)

    def _learn(self, table: NDArray[np.float32], simulated: NDArray[np.bool_]) -> Any:
        if self._reads == "evidence":
            return Boosted(table, simulated, self._seed)
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(table, simulated)

    def __repr__(self) -> str:
        return f"SourceProbe({self.name!r}, reads={self._reads!r})"
