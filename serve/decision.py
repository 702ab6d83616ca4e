"""What the value model says about memories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Encoding depths from shallow to deep; ``Decision.depth`` indexes them (arXiv 2606.12945, encoding depth).
DEPTHS: tuple[str, str, str, str] = ("shallow", "semantic", "schematic", "meta")


@dataclass(frozen=True, slots=True)
class Decision:
    """The decisions about n memories, as columns.

    Parameters
    ----------
    value
        float32[n] in [0, 1]: what the memory is worth keeping.
    depth
        int64[n] in 0..3: how deeply to encode it, an index into :data:`DEPTHS`.
    forget_risk
        float32[n] in [0, 1]: probability that it will not be needed, calibrated on held-out cases (1 − value
        for a model exported without calibration).
    forget_score
        float32[n] ≥ 0: age^0.7 / (1 + uses) / (1 + β·value); the highest is forgotten first.
    rank_score
        float32[n]: relevance, nudged by value, use and harm within [−9 %, +5 %].
    """

    value: NDArray[np.float32]
    depth: NDArray[np.int64]
    forget_risk: NDArray[np.float32]
    forget_score: NDArray[np.float32]
    rank_score: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.value)

    @property
    def depth_names(self) -> tuple[str, ...]:
        """n names out of :data:`DEPTHS`."""
        return tuple(DEPTHS[d] for d in self.depth.tolist())
