"""The paper's synthetic confound: what is vivid, recent and about oneself is not what is needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.event import Event

#: Memories a case (arXiv 2606.12945, synthetic task): needed ones and distractors.
GOLD, DISTRACTORS = 4, 16
#: The budget of the published figures, as a share of the memories.
KEEP = 0.4

#: Uniform ranges (needed, distractor) of the paper's synthetic task; ages in days.
RANGES: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "age": ((4.0, 10.0), (0.0, 3.0)),
    "valence": ((-0.2, 0.2), (-0.9, 0.9)),
    "arousal": ((0.2, 0.5), (0.5, 1.0)),
    "self_relevance": ((0.1, 0.4), (0.7, 1.0)),
    "goal_relevance": ((0.7, 1.0), (0.0, 0.3)),
    "value_alignment": ((0.1, 0.4), (0.7, 1.0)),
    "task_utility": ((0.7, 1.0), (0.0, 0.3)),
    "reliability": ((0.7, 1.0), (0.0, 0.3)),
}
#: Most retrievals of a needed memory and of a distractor; whole numbers from 0, each as likely.
RETRIEVALS = (1, 4)

#: When the cases are consolidated; only differences to it matter.
_NOW = datetime(2026, 6, 11, 12, tzinfo=UTC)


def confound(cases: int = 120, seed: int = 0) -> Dataset:
    """Cases of 20 memories whose factors are drawn, not read from text (``Case.factors`` is set).

    Four needed memories are old, calm, impersonal and rarely retrieved, but relevant to the goal, useful and
    reliable; sixteen distractors are the opposite. All draws are uniform, with the ranges of
    arXiv 2606.12945. The paper draws valence, arousal, age and retrievals where its factors are emotional
    intensity and usage history, and the description of the task leaves open how they are joined. Here:

    - emotional intensity = |valence| · arousal, the size of the feeling times how strongly it is felt;
    - usage history = r / (1 + r) for r retrievals, which counts each further one less and has no constant.

    Of the joinings tried at 4,000 cases (products, means and maxima of |valence| and arousal; r/4,
    log(1+r)/log 5, 1−e^(−r/2), r/(1+r), each with and without a week's decay) this is the one without a free
    constant that gives the published uniform figure: kept at 40 %, uniform weights .62 (paper .62); emotion
    alone, self alone and newest first 0; goal, task and reliability 1. With r/4·e^(−age/7) it is .629, so
    the figure does not tell the two apart. Over 40 seeds of 120 cases the uniform figure is .620 ± .022 (85 %
    within .03); the default seed gives .642.

    The texts are placeholders, numbered at random. Retrievals are also events of kind ``shown``, because the
    paper's count does not say that a retrieved memory was used.

    Parameters
    ----------
    cases
        How many cases, 1 or more; the paper has 60 to fit on and 60 to test.
    seed
        0 or more; the same seed gives the same bytes, and a smaller set is the beginning of a larger one.

    Raises
    ------
    DataError
        When ``cases`` is below 1 or ``seed`` below 0.
    """
    if cases < 1:
        raise DataError(f"confound: cases must be 1 or more, got {cases}")
    if seed < 0:
        raise DataError(f"confound: seed must be 0 or more, got {seed}")
    return Dataset(
        spec=f"confound:seed={seed},cases={cases}",
        name="confound",
        cases=[_case(seed, i) for i in range(cases)],
    )


def _case(seed: int, index: int) -> Case:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    n = GOLD + DISTRACTORS
    drawn = {
        name: np.concatenate([rng.uniform(*needed, GOLD), rng.uniform(*other, DISTRACTORS)])
        for name, (needed, other) in RANGES.items()
    }
    retrievals = np.concatenate(
        [rng.integers(0, RETRIEVALS[0] + 1, GOLD), rng.integers(0, RETRIEVALS[1] + 1, DISTRACTORS)]
    )
    numbers = rng.permutation(n) + 1
    # Columns of a consolidation stand in the order of time: oldest first.
    order = np.argsort(-drawn["age"], kind="stable")
    seconds = np.rint(drawn["age"][order] * 86400.0).astype("timedelta64[s]")
    now = np.datetime64(_NOW.replace(tzinfo=None), "s")
    consolidation = Consolidation(
        texts=tuple(f"Memory number {number}." for number in numbers[order]),
        roles=("user",) * n,
        sessions=np.arange(n, dtype=np.int64),
        positions=np.zeros(n, dtype=np.int64),
        times=now - seconds,
        now=now,
        events=_retrieved(retrievals[order], drawn["age"][order], rng),
    )
    factors = _factors(drawn, retrievals)[order]
    return Case(
        id=f"confound_{seed}_{index:04d}",
        consolidation=consolidation,
        sealed=SealedKey(AnswerKey(needed=order < GOLD)),
        factors=factors,
        session_index=np.arange(n, dtype=np.int64),
        turn_index=np.zeros(n, dtype=np.int64),
    )


def _factors(drawn: dict[str, NDArray[np.float64]], retrievals: NDArray[np.int64]) -> NDArray[np.float32]:
    """float32[n, 7] in [0, 1], in the order of the seven factors."""
    columns = [
        np.abs(drawn["valence"]) * drawn["arousal"],
        drawn["goal_relevance"],
        drawn["value_alignment"],
        drawn["self_relevance"],
        drawn["task_utility"],
        drawn["reliability"],
        retrievals / (1.0 + retrievals),
    ]
    return np.column_stack(columns).astype(np.float32)


def _retrieved(
    retrievals: NDArray[np.int64], age: NDArray[np.float64], rng: np.random.Generator
) -> tuple[Event, ...]:
    """Each retrieval as an event, at a uniform time between the writing and now."""
    rows = np.repeat(np.arange(len(retrievals)), retrievals)
    ago = age[rows] * rng.uniform(0.0, 1.0, len(rows))
    return tuple(
        Event("shown", int(rows[i]), _NOW - timedelta(days=float(ago[i])), actor="agent")
        for i in np.argsort(-ago, kind="stable")
    )
