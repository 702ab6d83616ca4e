"""Settings of one fit: what to read, what to fit, how to judge it, where to write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

#: Shares of turns in the table (issue 2: 1, 2, 5, 10, 20, 30, 40, 50 %).
TURN_BUDGETS: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
#: Shares of tokens in the table (issue 2: 1, 2, 5, 10, 20, 30 %).
TOKEN_BUDGETS: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
#: Shares of turns that the weights are fitted for. Fitting at 30 % alone loses four points at 10 %
#: (trial of the factors), so small budgets are always among them.
FIT_BUDGETS: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3)

Share = Annotated[float, Field(gt=0.0, le=1.0)]


class FitConfig(BaseModel):
    """Everything that decides the result of ``memvalue fit``; frozen, and refused when a key is unknown.

    Parameters
    ----------
    data
        Spec of the data set (README, "Specs").
    out
        Where the exported model goes.
    model
        ``linear`` (weights ≥ 0 summing to 1, fitted by CMA-ES) or ``mlp`` (7→16→16→1).
    role_offset
        Fit what a machine's turn gains or loses besides its factors (linear model only). It buys assistant
        evidence at large budgets.
    fit_budgets
        Shares of turns over which the fitted objective is averaged.
    budgets, token_budgets
        Shares of turns and of tokens that the table shows.
    splits
        Resampled half-and-half splits; 20 is the published protocol.
    split_kind
        ``paper``: cases are shuffled freely. ``grouped``: cases that share a session stay on one side.
    seed
        Seed of everything random but the splits, which the protocol fixes.
    encoder
        ``none``, ``static``, ``minilm`` or ``st:NAME_OR_PATH``.
    regime
        ``batch`` (all memories are seen at consolidation) or ``online`` (only what came before each).
    definition
        Named definition of the factors. ``auto``: ``longmemeval`` for LongMemEval, ``default`` for any
        other data.
    policies
        Names of the policies in the table; None stands for the whole roster.
    controls
        Judge also what the figures owe to the benchmark, as ``memvalue evaluate --controls`` does.
    identify
        Say how far the data pin each weight down: profiles and a bootstrap of the fit (linear model only).
    limit
        Use the first so many cases; None for all.
    cache
        Folder of the evidence cache; None for no cache.
    track
        URI of an MLflow store; None for no tracking.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str = Field(default="simulated", min_length=1)
    out: Path = Path("model.onnx")
    model: Literal["linear", "mlp"] = "linear"
    role_offset: bool = False
    fit_budgets: tuple[Share, ...] = FIT_BUDGETS
    budgets: tuple[Share, ...] = TURN_BUDGETS
    token_budgets: tuple[Share, ...] = TOKEN_BUDGETS
    splits: int = Field(default=20, ge=1, le=1000)
    split_kind: Literal["paper", "grouped"] = "paper"
    seed: int = Field(default=0, ge=0, lt=2**32)
    encoder: str = Field(default="none", pattern=r"^(none|static|minilm|st:.+)$")
    regime: Literal["batch", "online"] = "batch"
    definition: str = Field(default="auto", min_length=1)
    policies: tuple[str, ...] | None = None
    controls: bool = False
    identify: bool = False
    limit: int | None = Field(default=None, ge=2)
    cache: Path | None = None
    track: str | None = None

    @field_validator("fit_budgets", "budgets", "token_budgets")
    @classmethod
    def _ascending(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        """Sorted without repeats, so that equal settings have equal digests."""
        if not value:
            raise ValueError("needs at least one share between 0 and 1")
        return tuple(sorted(set(value)))

    @field_validator("policies")
    @classmethod
    def _some_policy(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and not value:
            raise ValueError("is an empty list; leave the key out for the whole roster")
        return value

    @model_validator(mode="after")
    def _offset_needs_weights(self) -> FitConfig:
        if self.role_offset and self.model != "linear":
            raise ValueError("role_offset is fitted with the linear model; drop it or choose model linear")
        return self

    @property
    def row(self) -> str:
        """Name in the table of the policy that is exported."""
        return "linear_role" if self.role_offset else self.model

    def digest(self) -> str:
        """SHA-256 of the settings that can change the model (not where results go or what else is judged)."""
        import hashlib

        settings = self.model_dump_json(exclude={"out", "cache", "track", "controls", "identify"})
        return hashlib.sha256(settings.encode()).hexdigest()
