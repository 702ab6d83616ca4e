"""The linear model that a recalibration starts from, as numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.features.names import FACTORS
from memvalue.train.affine import affine_value
from memvalue.train.linear import check_prior


@dataclass(frozen=True, eq=False)
class BaseWeights:
    """Weights of the simplex and a machine offset; small, and it pickles.

    Parameters
    ----------
    weights
        float64[F] ≥ 0; brought to sum 1, and the offset with them, which leaves every ranking as it is.
    offset
        What a machine's turn gains.
    names
        F factor names, in the order of the columns.

    Raises
    ------
    ValueError
        For weights that are negative, not finite, all 0 or not as many as the names.
    """

    weights: NDArray[np.float64]
    offset: float = 0.0
    names: tuple[str, ...] = field(default=FACTORS)

    def __post_init__(self) -> None:
        given = np.asarray(self.weights, dtype=np.float64)
        scaled = check_prior(given, len(self.names))
        if not np.isfinite(self.offset):
            raise ValueError(f"the machine offset must be a finite number, got {self.offset}")
        object.__setattr__(self, "weights", scaled)
        object.__setattr__(self, "offset", float(self.offset / given.sum()))

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> BaseWeights:
        """The weights that a model file's metadata carries.

        Raises
        ------
        ValueError
            When the model is not linear, or a weight is negative.
        """
        if metadata.get("kind") != "linear" or "weights" not in metadata:
            raise ValueError(
                f"a recalibration needs a linear base model, this one is {metadata.get('kind')!r}; "
                "start from models/default.onnx or a model of `memvalue fit`"
            )
        names = tuple(metadata["factors"])
        weights = np.array([metadata["weights"][name]["weight"] for name in names], dtype=np.float64)
        if (weights < 0).any():
            raise ValueError(
                f"the base model's weight of {names[int(weights.argmin())]} is negative; a recalibration "
                "searches weights of 0 or more"
            )
        return cls(weights, float(metadata.get("machine_offset", 0.0)), names)

    def value(self, factors: ArrayLike, machine: ArrayLike | None = None) -> NDArray[np.float64]:
        """float64[N]: the value of float[N, F] factors, bit for bit that of the exported file."""
        return affine_value(factors, self.weights, offset=self.offset, machine=machine)
