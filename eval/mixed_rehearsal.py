"""An experiment: what rehearsal would gain from an encoder."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench, BlindBench
from memvalue.eval.learned import FactorModel
from memvalue.eval.policy import Inapplicable, Policy
from memvalue.features.names import FACTORS

#: Share of similarity in rehearsal (the trial's). With the static table it moves retention at 5 and 10 % of
#: turns by −.012 and +.010 on LongMemEval (+.048 and −.011 with the ``default`` definition), by +.001 and
#: −.001 on LoCoMo, by −.015 and −.025 on Memora. So no shipped definition has it.
SIMILARITY = 0.25

USAGE = FACTORS.index("usage_history")


class MixedRehearsal(FactorModel):
    """A factor model whose rehearsal is partly the similarity to other conversations' turns.

    An experiment, not a definition: similarity takes the share :data:`SIMILARITY` of usage history, scaled by
    the 5 and 95 % quantiles of the persons' turns in training.
    """

    _edges = (0.0, 1.0)

    def fit(self, train: Bench) -> Policy:
        """A copy fitted on ``train``.

        Raises
        ------
        Inapplicable
            When the bench was built without an encoder.
        """
        near = _similarity(train, self.name)
        spoken = near[train.person]
        fitted = copy.copy(self)
        if len(spoken):
            low, high = np.quantile(spoken, [0.05, 0.95])
            fitted._edges = (float(low), float(max(high, low + 1e-6)))
        return super(MixedRehearsal, fitted).fit(train)

    def _factors(self, bench: BlindBench) -> NDArray[np.float32]:
        factors = super()._factors(bench).copy()
        low, high = self._edges
        near = np.clip((_similarity(bench, self.name) - low) / (high - low), 0.0, 1.0) * bench.person
        factors[:, USAGE] = (1.0 - SIMILARITY) * factors[:, USAGE] + SIMILARITY * near
        return factors


def _similarity(bench: BlindBench, name: str) -> NDArray[np.float64]:
    near = bench.column("similarity").astype(np.float64) if "similarity" in bench.evidence_names else None
    if near is None or np.isnan(near).any():
        raise Inapplicable(f"{name} needs the similarity between turns; build the bench with an encoder")
    return near
