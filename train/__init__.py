"""Fit value models and export them. Names load on first use, so importing the room loads no learner."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memvalue.train.calibrate import PAPER_EDGES, TIER_SHARES, tier_edges
    from memvalue.train.density import Density, fit_density, value_density
    from memvalue.train.export import export_model
    from memvalue.train.forget_risk import ForgetRisk, HeldOut, fit_forget_risk
    from memvalue.train.hillclimb import HillClimb
    from memvalue.train.linear import LinearValueModel
    from memvalue.train.mlp import MLPValueModel
    from memvalue.train.objective import RetentionObjective, mean_retention, retention
    from memvalue.train.pairwise import PairwiseLogistic

_HOME = {
    "PAPER_EDGES": "calibrate",
    "TIER_SHARES": "calibrate",
    "Density": "density",
    "ForgetRisk": "forget_risk",
    "HeldOut": "forget_risk",
    "HillClimb": "hillclimb",
    "LinearValueModel": "linear",
    "MLPValueModel": "mlp",
    "PairwiseLogistic": "pairwise",
    "RetentionObjective": "objective",
    "export_model": "export",
    "fit_density": "density",
    "fit_forget_risk": "forget_risk",
    "mean_retention": "objective",
    "retention": "objective",
    "tier_edges": "calibrate",
    "value_density": "density",
}

__all__ = [
    "PAPER_EDGES",
    "TIER_SHARES",
    "Density",
    "ForgetRisk",
    "HeldOut",
    "HillClimb",
    "LinearValueModel",
    "MLPValueModel",
    "PairwiseLogistic",
    "RetentionObjective",
    "export_model",
    "fit_density",
    "fit_forget_risk",
    "mean_retention",
    "retention",
    "tier_edges",
    "value_density",
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
