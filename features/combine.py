"""From evidence to the seven factors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.features.definition import Definition
from memvalue.features.emotional_intensity import emotional_intensity
from memvalue.features.evidence import Evidence, OneRow
from memvalue.features.goal_relevance import goal_relevance
from memvalue.features.reliability import reliability
from memvalue.features.self_relevance import self_relevance
from memvalue.features.shape import single, unit
from memvalue.features.task_utility import task_utility
from memvalue.features.usage_history import usage_history
from memvalue.features.value_alignment import value_alignment

#: One function a factor, in the order of `FACTORS`.
_FORMULAS = (
    emotional_intensity,
    goal_relevance,
    value_alignment,
    self_relevance,
    task_utility,
    reliability,
    usage_history,
)

#: numpy 1 makes a float64 of a float32 number and a Python one, other than of a column and one (NEP 50).
_NUMBERS_STAY_SINGLE = (np.float32(1.0) * 0.5).dtype == np.float32


def combine(evidence: Evidence, definition: Definition) -> NDArray[np.float32]:
    """float32[n, 7] in [0, 1]; the factors of n memories, in the order of `FACTORS`."""
    if len(evidence) == 1 and _NUMBERS_STAY_SINGLE:
        alone = OneRow(evidence)
        row = np.array([[formula(alone, definition) for formula in _FORMULAS]], dtype=np.float32)
        return unit(row)
    columns = [formula(evidence, definition) for formula in _FORMULAS]
    return unit(single(np.column_stack(columns)))


def informed(evidence: Evidence, definition: Definition) -> NDArray[np.bool_]:
    """bool[7]; False for a factor that does not vary over these memories, so that no fit can weigh it."""
    return varying(combine(evidence, definition))


def varying(factors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """bool[7]; which of the columns of float32[n, 7] hold more than one value."""
    if len(factors) < 2:
        return np.zeros(factors.shape[1], dtype=bool)
    return np.asarray(np.ptp(factors, axis=0) > 0.0)
