"""Settings of one evaluation of an exported model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from memvalue.configs.fit_config import TOKEN_BUDGETS, TURN_BUDGETS, Share

Encoders = Annotated[str, Field(pattern=r"^(none|static|minilm|st:.+)$")]


class EvaluateConfig(BaseModel):
    """What ``memvalue evaluate`` judges and how. Factors' definition, encoder and regime come from the model.

    Parameters
    ----------
    model
        The exported ONNX file.
    data
        Spec of the data set.
    controls
        Judge also what the figures owe to the benchmark: its sources, its construction, shared sessions.
    encoders
        Encoders that the controls try; None for ``static`` and, on few texts, ``minilm``.
    budgets, token_budgets, splits, split_kind, seed, policies, limit, cache
        As in :class:`memvalue.configs.FitConfig`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Path
    data: str = Field(default="simulated", min_length=1)
    controls: bool = False
    encoders: tuple[Encoders, ...] | None = None
    budgets: tuple[Share, ...] = TURN_BUDGETS
    token_budgets: tuple[Share, ...] = TOKEN_BUDGETS
    splits: int = Field(default=20, ge=1, le=1000)
    split_kind: Literal["paper", "grouped"] = "paper"
    seed: int = Field(default=0, ge=0, lt=2**32)
    policies: tuple[str, ...] | None = None
    limit: int | None = Field(default=None, ge=2)
    cache: Path | None = None
