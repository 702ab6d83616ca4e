"""What the evaluation can judge: anything that gives every memory of a case a score."""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench, BlindBench

Regime = Literal["blind", "oracle"]


class Inapplicable(ValueError):
    """The data lacks what a policy needs (a source label, an encoder, enough cases).

    Raised by ``fit`` or ``score``. The protocol leaves the policy out of the table and repeats the message
    in the report's notes, so the message says what is missing and how to supply it.
    """


@runtime_checkable
class Policy(Protocol):
    """The whole interface of a policy.

    Attributes
    ----------
    name
        Its row in the table; unique within a run.
    regime
        ``blind``, or ``oracle`` when it is to be told the question. An oracle policy is handed a bench whose
        goal relevance *is* the similarity to the question, and is never compared for significance.
    learns
        False for a rule: it is scored once over all cases. True when each split needs its own fit.
    weights
        float64[7] in the order of ``FACTORS`` once fitted, for policies that weigh the factors; else None.

    A policy that ranks otherwise where the budget is in tokens has a method ``token_score(bench, score)``
    besides: from its scores of the bench's memories it gives those for token budgets, or None to keep them.
    One that cannot do itself justice on some data has a method ``remark(bench)``, whose text (or None) joins
    the report's notes.
    """

    name: str
    regime: Regime
    learns: bool

    @property
    def weights(self) -> NDArray[np.float64] | None: ...

    def fit(self, train: Bench) -> Policy:
        """A fitted copy. Must depend on ``train`` and the policy's own seed alone."""
        ...

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N], higher is kept first. Equal scores are broken at random, in expectation."""
        ...


class Rule:
    """Base of the policies that have nothing to fit: subclasses give ``name`` and ``score``."""

    name: str = ""
    regime: Regime = "blind"
    learns: bool = False

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """float64[7] when the rule is a fixed weighting of the factors, else None."""
        return None

    def fit(self, train: Bench) -> Policy:
        """Itself: a rule has nothing to learn."""
        del train
        return self

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N], higher is kept first."""
        raise NotImplementedError(f"{type(self).__name__} gives no score")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class FixedScores(Rule):
    """Scores that were computed elsewhere for every memory of the bench: an existing model, another system.

    Parameters
    ----------
    name
        Row name.
    scores
        float[N], one a memory in bench order.
    token_scores
        float[N] for token budgets; ``scores`` when None.

    Raises
    ------
    ValueError
        When there is not exactly one finite score a memory.
    """

    def __init__(self, name: str, scores: Any, token_scores: Any = None) -> None:
        self.name = name
        self._scores = np.asarray(scores, dtype=np.float64)
        self._token_scores = None if token_scores is None else np.asarray(token_scores, dtype=np.float64)
        if self._scores.ndim != 1:
            raise ValueError(f"the scores of {name!r} must be one column, got shape {self._scores.shape}")

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """The given scores; ``bench`` must be the whole bench that they were computed for."""
        if len(self._scores) != len(bench):
            raise ValueError(
                f"{self.name!r} has {len(self._scores)} scores, the bench has {len(bench)} memories; "
                "give one score a memory, in bench order"
            )
        return self._scores

    def token_score(self, bench: BlindBench, score: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """float64[N] for token budgets, or None."""
        del bench, score
        return self._token_scores
