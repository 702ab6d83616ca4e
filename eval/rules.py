"""One-line rules: what any learned value has to beat.

Each is a score a memory from text, role and place alone, with nothing to fit. On LongMemEval two of them beat
the published model (targets.md), which is why they stand in every table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import BlindBench
from memvalue.eval.policy import Inapplicable, Regime, Rule
from memvalue.features.names import FACTORS

Score = Callable[[BlindBench], NDArray[np.float64]]


def evidence_sum(bench: BlindBench, names: tuple[str, ...], policy: str) -> NDArray[np.float64]:
    """float64[N]; the sum of some evidence columns.

    Raises
    ------
    Inapplicable
        When the data brings its factors ready-made and so has no counts.
    """
    missing = [name for name in names if name not in bench.evidence_names]
    if missing:
        raise Inapplicable(
            f"{policy} counts words, and this data has no evidence column {', '.join(missing)}; "
            "it needs a data set with texts"
        )
    total = np.zeros(len(bench), dtype=np.float64)
    for name in names:
        total += bench.column(name)
    return total


def within_case(bench: BlindBench) -> NDArray[np.int64]:
    """int64[N]; row number of each memory within its case, 0 for the earliest."""
    return np.arange(len(bench)) - np.repeat(bench.offsets[:-1], bench.sizes)


def persons_first(bench: BlindBench, count: NDArray[np.float64]) -> NDArray[np.float64]:
    """``1 + count`` where a person spoke, else 0: every person's turn stands before every other turn."""
    return np.where(bench.person, 1.0 + count, 0.0)


def _random(bench: BlindBench) -> NDArray[np.float64]:
    # All equal: ties count in expectation, so this is the exact mean over every possible order.
    return np.zeros(len(bench))


def _recency(bench: BlindBench) -> NDArray[np.float64]:
    # Rows are chronological; the row number also orders the turns of a session, which share one time.
    return within_case(bench).astype(np.float64)


def _oldest(bench: BlindBench) -> NDArray[np.float64]:
    return persons_first(bench, -_recency(bench) / (1.0 + len(bench)))


def _length(bench: BlindBench) -> NDArray[np.float64]:
    return bench.tokens.astype(np.float64)


def _role(bench: BlindBench) -> NDArray[np.float64]:
    return bench.person.astype(np.float64)


def _user_length(bench: BlindBench) -> NDArray[np.float64]:
    return persons_first(bench, bench.tokens.astype(np.float64))


def _user_first_person(bench: BlindBench) -> NDArray[np.float64]:
    return persons_first(bench, evidence_sum(bench, FIRST_PERSON, "user_first_person"))


def _user_numbers_capitals(bench: BlindBench) -> NDArray[np.float64]:
    return persons_first(bench, evidence_sum(bench, NUMBERS_CAPITALS, "user_numbers_capitals"))


def _uniform(bench: BlindBench) -> NDArray[np.float64]:
    return np.asarray(bench.factors.mean(axis=1, dtype=np.float64))


def _question(bench: BlindBench) -> NDArray[np.float64]:
    if bench.similarity is None:
        raise Inapplicable("oracle ranks by closeness to the question, and this data set has no questions")
    return bench.similarity


#: Evidence columns behind the two counting rules (factors.md, "Transfer is the real test").
FIRST_PERSON = ("first_person",)
NUMBERS_CAPITALS = ("numbers", "capitals")


class OneLine(Rule):
    """A rule that is one expression over the bench.

    Parameters
    ----------
    name
        Row name in the table.
    formula
        ``BlindBench -> float64[N]``, higher is kept first.
    weights
        float[7] when the rule is a fixed weighting of the factors.
    regime
        ``oracle`` when the formula reads the similarity to the question.
    """

    def __init__(
        self, name: str, formula: Score, weights: Sequence[float] | None = None, regime: Regime = "blind"
    ) -> None:
        self.name = name
        self.regime = regime
        self._formula = formula
        self._weights = None if weights is None else np.asarray(weights, dtype=np.float64)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """float64[7], or None."""
        return self._weights

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N], higher is kept first."""
        return self._formula(bench)


def single_factor(name: str) -> OneLine:
    """The rule that ranks by one of the seven factors alone; its row is called ``only_<factor>``."""
    if name not in FACTORS:
        raise ValueError(f"no factor called {name!r}; one of {', '.join(FACTORS)}")
    column = FACTORS.index(name)
    unit = [float(i == column) for i in range(len(FACTORS))]
    return OneLine(f"only_{name}", lambda bench: bench.factors[:, column].astype(np.float64), unit)


#: Every rule by its row name.
RULES: dict[str, OneLine] = {
    rule.name: rule
    for rule in (
        OneLine("random", _random),
        OneLine("recency", _recency),
        OneLine("user_oldest", _oldest),
        OneLine("length", _length),
        OneLine("role", _role),
        OneLine("user_length", _user_length),
        OneLine("user_first_person", _user_first_person),
        OneLine("user_numbers_capitals", _user_numbers_capitals),
        *(single_factor(name) for name in FACTORS),
        OneLine("uniform", _uniform, [1 / len(FACTORS)] * len(FACTORS)),
        OneLine("oracle", _question, regime="oracle"),
    )
}
