"""The paper's synthetic task: does a learner find the weights that a uniform sum cannot use?

Each case has 4 needed memories among 16 that are louder, more personal and more recent (arXiv 2606.12945;
ranges in targets.md). The published figures at 40 % kept: learned 1.00, uniform 0.62, and emotion, self
relevance and recency alone 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memvalue.eval.bench import Bench
from memvalue.eval.measures import kept_share
from memvalue.eval.policy import Policy
from memvalue.eval.roster import roster

#: The published figures (arXiv 2606.12945) and how far ours may be from them (issue 2, "Must show").
EXPECTED: dict[str, tuple[float, float]] = {
    "linear": (1.0, 0.0),
    "uniform": (0.62, 0.03),
    "only_emotional_intensity": (0.0, 0.0),
    "only_self_relevance": (0.0, 0.0),
    "recency": (0.0, 0.0),
}

#: Share kept, and cases to train and to test on.
KEEP, TRAIN, TEST = 0.4, 60, 60


def run_confound(
    *, seed: int = 0, names: str | Sequence[str] = tuple(EXPECTED), policies: Sequence[Policy] = ()
) -> dict[str, float]:
    """Mean retention of each policy on the test cases of the confound task.

    Parameters
    ----------
    seed
        Draws the cases and seeds the learners.
    names
        As for :func:`memvalue.eval.roster.roster`.
    policies
        More of them.

    Returns
    -------
    dict
        Row name → mean share of the needed memories that is kept, over 60 test cases.
    """
    from memvalue.data.load import load

    bench = Bench.build(load(f"confound:seed={seed},cases={TRAIN + TEST}"))
    train = bench.take(np.arange(TRAIN))
    test = bench.take(np.arange(TRAIN, TRAIN + TEST))
    out: dict[str, float] = {}
    for policy in (*roster(names, seed=seed, budgets=(KEEP,)), *policies):
        scores = policy.fit(train).score(test.blind())
        kept = kept_share(scores, test.offsets, test.needed, (KEEP,))
        out[policy.name] = float(np.mean(kept))
    return out
