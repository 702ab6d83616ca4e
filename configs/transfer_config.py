"""Settings of one transfer run: the data sets to fit on and to judge, how, and where to write."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memvalue.configs.fit_config import Share

#: Shares of turns that weights are fitted for and shown at (issue 3, "Must show").
TRANSFER_BUDGETS: tuple[float, ...] = (0.05, 0.1, 0.3)

#: Definitions shown beside the main one: what uses the place in a session, and what uses no artefact at all.
BESIDE: tuple[str, ...] = ("longmemeval", "artefact-free")

#: Pull towards equal weights. Chosen without the tested set, by weights fitted on one set and tested on
#: another: whichever of LongMemEval, Memora and LoCoMo is left out, .03 is the best of 0, .01, .03, .1, .3
#: and 1 for the other two (mean retention .601, .522, .794; .594, .509, .788 at 0; .539, .485, .750 at 1).
#: `benchmarks/transfer.py --regularisation` prints them all.
L2 = 0.03

#: Refits on resampled cases whose weights are averaged. They gain no retention over a single fit (.601, .522,
#: .794 against .601, .527, .787), but steady it: single fits jump by up to .017 between neighbouring pulls.
#: And they say how far each weight is known.
REFITS = 10


class TransferConfig(BaseModel):
    """Everything that decides the result of ``memvalue transfer``; frozen, and refused when a key is unknown.

    Parameters
    ----------
    data
        Specs of the data sets that are fitted on, and tested on by weights that have not seen them.
    judge
        Specs of data sets that are only tested on: nothing is ever fitted on them.
    out
        Where a model fitted on all of ``data`` goes; None for the table alone.
    model
        ``linear`` or ``mlp``. ``refits`` and ``l2`` concern the linear one.
    definition, beside
        Named definition of the factors, and further ones whose rows stand beside it.
    encoder, regime
        As in :class:`~memvalue.configs.FitConfig`.
    budgets, fit_budgets
        Shares of turns in the table, and those that the weights are fitted for.
    refits
        Fits on resampled cases whose weights are averaged; 1 is a single fit on the cases as they are.
    l2
        Strength of the pull towards equal weights.
    seed
        Of fits, folds and bootstrap.
    limit
        Use the first so many cases of each set; None for all.
    cache
        Folder of the evidence cache; None for no cache.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: tuple[str, ...] = Field(min_length=1)
    judge: tuple[str, ...] = ()
    out: Path | None = None
    model: Literal["linear", "mlp"] = "linear"
    definition: str = Field(default="default", min_length=1)
    beside: tuple[str, ...] = BESIDE
    encoder: str = Field(default="none", pattern=r"^(none|static|minilm|st:.+)$")
    regime: Literal["batch", "online"] = "batch"
    budgets: tuple[Share, ...] = TRANSFER_BUDGETS
    fit_budgets: tuple[Share, ...] = TRANSFER_BUDGETS
    refits: int = Field(default=REFITS, ge=1, le=1000)
    l2: float = Field(default=L2, ge=0.0, lt=1e6)
    seed: int = Field(default=0, ge=0, lt=2**32)
    limit: int | None = Field(default=None, ge=1)
    cache: Path | None = None

    @field_validator("budgets", "fit_budgets")
    @classmethod
    def _ascending(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        """Sorted without repeats, so that equal settings have equal digests."""
        if not value:
            raise ValueError("needs at least one share between 0 and 1")
        return tuple(sorted(set(value)))

    def digest(self) -> str:
        """SHA-256 of the settings that can change the exported model.

        Data sets count by their own digests, so their paths are left out here.
        """
        import hashlib

        settings = self.model_dump_json(exclude={"data", "judge", "out", "cache", "beside", "budgets"})
        return hashlib.sha256(settings.encode()).hexdigest()
