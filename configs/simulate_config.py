"""Settings of one run of ``memvalue simulate``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

#: Worlds that can be asked for: the two rhythms of a business, both, or one of the five small scenarios.
WorldName = Literal["bursty", "scheduled", "both", "steady", "principles", "projects", "drift", "silence"]


class SimulateConfig(BaseModel):
    """Everything that decides the table; frozen, and refused when a key is unknown.

    Parameters
    ----------
    world
        ``bursty``, ``scheduled``, ``both``, or a scenario of :mod:`memvalue.data.worlds.scenarios`.
    policies
        Names of :mod:`memvalue.eval.rankers`, or ``all``; the product's is always among them.
    seeds
        Worlds drawn, each with the same settings.
    seed
        The first of them.
    pages
        Pages of a world; None for the world's own default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: WorldName = "bursty"
    policies: tuple[str, ...] = Field(default=("all",), min_length=1)
    seeds: int = Field(default=20, ge=1, le=1000)
    seed: int = Field(default=0, ge=0, lt=2**32)
    pages: int | None = Field(default=None, ge=24, le=1_000_000)
