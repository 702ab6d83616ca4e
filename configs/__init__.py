"""Typed configuration and its YAML presets."""

from memvalue.configs.errors import ConfigError
from memvalue.configs.evaluate_config import EvaluateConfig
from memvalue.configs.fit_config import FIT_BUDGETS, TOKEN_BUDGETS, TURN_BUDGETS, FitConfig
from memvalue.configs.read import presets, read_config

__all__ = [
    "FIT_BUDGETS", "TOKEN_BUDGETS", "TURN_BUDGETS",
    "ConfigError", "EvaluateConfig", "FitConfig", "presets", "read_config",
]  # fmt: skip
