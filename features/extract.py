"""Seven factors of the memories of one store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.data.consolidation import Consolidation
from memvalue.features.combine import combine, varying
from memvalue.features.definition import Definition
from memvalue.features.encoder import Encoder
from memvalue.features.match import Declared
from memvalue.features.observe import Regime, observe


@dataclass(frozen=True)
class Factors:
    """What a value model takes.

    Parameters
    ----------
    values
        float32[n, 7] in [0, 1], columns in the order of ``FACTORS``.
    informed
        bool[7]; False for a factor that does not vary here.
    """

    values: NDArray[np.float32]
    informed: NDArray[np.bool_]


def extract(
    consolidation: Consolidation,
    *,
    definition: Definition | None = None,
    encoder: Encoder | None = None,
    embeddings: NDArray[np.float32] | None = None,
    regime: Regime = "batch",
    goals: Declared | None = None,
    profile: Declared | None = None,
    language: str = "en",
) -> Factors:
    """The seven factors of n memories; arguments as in `observe`, ``definition`` defaults to ``default``."""
    definition = definition or Definition.named("default")
    [evidence] = observe(
        [consolidation],
        encoder=encoder,
        embeddings=None if embeddings is None else [embeddings],
        regime=regime,
        goals=goals,
        profile=profile,
        language=language,
    )
    factors = combine(evidence, definition)
    return Factors(factors, varying(factors))
