"""What is made of a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class LogCases:
    """C cases of one business, in order of time.

    Parameters
    ----------
    dataset
        The cases, their keys sealed; ``skipped`` counts the consolidations that made none, and why.
    ends
        datetime64[s][C], UTC; up to when it was watched what each case needed.
    ids
        For each case, the store's ids of its memories, in the order of its rows. No policy sees them.
    """

    dataset: Dataset
    ends: NDArray[np.datetime64]
    ids: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        """C."""
        return len(self.dataset)
