"""The slim runtime: load a value model and decide with it. Needs numpy and onnxruntime only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memvalue.serve.decision import DEPTHS, Decision
from memvalue.serve.errors import ModelError, RefusedFile, StateError
from memvalue.serve.explain import explain
from memvalue.serve.rank import rank
from memvalue.serve.value_model import ValueModel

if TYPE_CHECKING:
    from memvalue.serve.budget import Budget
    from memvalue.serve.explain import Explanation, near_misses
    from memvalue.serve.memories import StoredMemory, read_memories, write_memories
    from memvalue.serve.plan import Plan, plan_forgetting
    from memvalue.serve.rank import cosine_relevance, fuse
    from memvalue.serve.stream import MemoryStream, StreamDecision
    from memvalue.serve.text import decide_texts

#: Loaded on first use, so that deciding from factors does not load what reads texts.
_HOME = {
    "Budget": "budget",
    "Explanation": "explain",
    "MemoryStream": "stream",
    "Plan": "plan",
    "StoredMemory": "memories",
    "StreamDecision": "stream",
    "cosine_relevance": "rank",
    "decide_texts": "text",
    "fuse": "rank",
    "near_misses": "explain",
    "plan_forgetting": "plan",
    "read_memories": "memories",
    "write_memories": "memories",
}

__all__ = [
    "DEPTHS",
    "Budget",
    "Decision",
    "Explanation",
    "MemoryStream",
    "ModelError",
    "Plan",
    "RefusedFile",
    "StateError",
    "StoredMemory",
    "StreamDecision",
    "ValueModel",
    "cosine_relevance",
    "decide_texts",
    "explain",
    "fuse",
    "near_misses",
    "plan_forgetting",
    "rank",
    "read_memories",
    "write_memories",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"memvalue.serve.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
