"""Settings of a recalibration: of one business, or of many."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memvalue.configs.fit_config import Share
from memvalue.configs.transfer_config import TRANSFER_BUDGETS


class RecalibrateConfig(BaseModel):
    """Everything that decides the result of ``memvalue recalibrate``; frozen, and unknown keys are refused.

    Parameters
    ----------
    model
        The base model. Its weights must be linear.
    budgets
        Shares of memories for which the weights are fitted and judged.
    every_days, horizon_days
        Days between two consolidations, and days after one in which needs are watched. A horizon of None is
        as long as the time to the next consolidation.
    held_out
        Share of the cases, the latest, that the gate judges on.
    folds
        Time-ordered folds within the other cases.
    half_life_days
        A case this much older than the latest counts half.
    confidence
        Of the gate's one-sided interval.
    seed
        Of searches and bootstraps.
    cache
        Folder of the evidence cache; None for no cache.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Path
    budgets: tuple[Share, ...] = TRANSFER_BUDGETS
    every_days: float = Field(default=7.0, gt=0.0, le=3650.0)
    horizon_days: float | None = Field(default=None, gt=0.0, le=3650.0)
    held_out: float = Field(default=0.3, gt=0.0, lt=1.0)
    folds: int = Field(default=3, ge=2, le=20)
    half_life_days: float = Field(default=180.0, gt=0.0)
    confidence: float = Field(default=0.95, ge=0.5, lt=1.0)
    seed: int = Field(default=0, ge=0, lt=2**32)
    cache: Path | None = None

    @field_validator("budgets")
    @classmethod
    def _ascending(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        """Sorted without repeats, so that equal settings have equal digests."""
        if not value:
            raise ValueError("needs at least one share between 0 and 1")
        return tuple(sorted(set(value)))

    def digest(self) -> str:
        """SHA-256 of the settings that can change the result; the base counts by its own bytes."""
        settings = self.model_dump_json(exclude={"model", "cache"})
        return hashlib.sha256(settings.encode()).hexdigest()
