"""The slim runtime: load a value model and decide with it. Needs numpy and onnxruntime only."""

from __future__ import annotations

from memvalue.serve.decision import DEPTHS, Decision
from memvalue.serve.errors import ModelError
from memvalue.serve.value_model import ValueModel

__all__ = ["DEPTHS", "Decision", "ModelError", "ValueModel"]
