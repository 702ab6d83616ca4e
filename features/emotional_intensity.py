"""Emotional intensity: how strongly something was felt, either sign.

Source: emotional arousal strengthens consolidation (McGaugh 2000).
Uses: exclamation marks, graded valence of words, intensifiers; a person's turns only.
Range: [0, 1); neutral value 0 (nothing expressed).
It is not sentiment: joy and grief count alike.
"""

from __future__ import annotations

from memvalue.features.definition import Definition
from memvalue.features.evidence import Evidence
from memvalue.features.shape import Column, saturate, single


def emotional_intensity(e: Evidence, definition: Definition) -> Column:
    """float32[n] in [0, 1): person · sat(exclamations + valence/20 + intensifiers/10, 1).

    A word of valence ±4 is the strongest and weighs a fifth of an exclamation mark.
    """
    felt = e["exclamations"] + 0.05 * e["absolute_valence"] + 0.1 * e["intensifiers"]
    return single(e["person"] * saturate(felt, 1.0))
