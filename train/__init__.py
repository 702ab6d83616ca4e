"""Fit value models and export them. Names load on first use, so importing the room loads no learner."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memvalue.train.calibrate import PAPER_EDGES, TIER_SHARES, Platt, platt, tier_edges
    from memvalue.train.export import export_model
    from memvalue.train.hillclimb import HillClimb
    from memvalue.train.linear import LinearValueModel
    from memvalue.train.mlp import MLPValueModel
    from memvalue.train.objective import RetentionObjective, mean_retention, retention
    from memvalue.train.pairwise import PairwiseLogistic

_HOME = {
    "PAPER_EDGES": "calibrate",
    "TIER_SHARES": "calibrate",
    "HillClimb": "hillclimb",
    "LinearValueModel": "linear",
    "MLPValueModel": "mlp",
    "PairwiseLogistic": "pairwise",
    "Platt": "calibrate",
    "RetentionObjective": "objective",
    "export_model": "export",
    "mean_retention": "objective",
    "platt": "calibrate",
    "retention": "objective",
    "tier_edges": "calibrate",
}

__all__ = [
    "PAPER_EDGES",
    "TIER_SHARES",
    "HillClimb",
    "LinearValueModel",
    "MLPValueModel",
    "PairwiseLogistic",
    "Platt",
    "RetentionObjective",
    "export_model",
    "mean_retention",
    "platt",
    "retention",
    "tier_edges",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"memvalue.train.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("memvalue"):
            raise
        raise ModuleNotFoundError(
            f"memvalue.train.{name} needs {error.name}; install it with: pip install 'memvalue[train]'",
            name=error.name,
        ) from error


def __dir__() -> list[str]:
    return __all__
