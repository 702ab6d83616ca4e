"""Businesses for the tests of recalibration: what each needs is known, because it is drawn here."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from memvalue.data.factor_file import write_table
from memvalue.data.factor_table import FactorTable
from memvalue.eval.base_model import LinearFile
from memvalue.features.names import DEFINITION_VERSION, FACTORS
from memvalue.models import path

#: What the shipped base weighs most, and what another business might want instead.
BASE = Path(path("default"))
OTHER = np.array([0.05, 0.05, 0.05, 0.25, 0.1, 0.45, 0.05])

_DAY = np.timedelta64(86_400, "s")


def drawn(
    cases: int, seed: int, weights: np.ndarray | None = None, *, size: int = 60, first: str = "2026-01-01"
) -> FactorTable:
    """Cases a day apart in which the five memories of most value are needed; None: by the base's weights."""
    base = LinearFile.load(BASE)
    wanted = base.weights.weights if weights is None else weights
    rng = np.random.default_rng(seed)
    n = cases * size
    factors = rng.beta(1.0, 4.0, (n, len(FACTORS))).astype(np.float32)
    score = (factors @ wanted + 0.03 * rng.standard_normal(n)).reshape(cases, size)
    needed = np.zeros((cases, size), dtype=bool)
    np.put_along_axis(needed, np.argsort(-score, axis=1)[:, :5], True, axis=1)
    times = np.datetime64(first, "s") + np.arange(cases) * _DAY
    return FactorTable(
        names=FACTORS,
        definition=base.setting(None).described,
        definition_version=DEFINITION_VERSION,
        times=times,
        ends=times + _DAY,
        offsets=np.arange(cases + 1) * size,
        factors=factors,
        informed=np.ones(len(FACTORS), dtype=bool),
        machine=rng.random(n) < 0.5,
        tokens=rng.integers(1, 40, n),
        age_days=(rng.random(n) * 30).astype(np.float32),
        uses=np.full(n, np.nan, dtype=np.float32),
        needed=needed.reshape(-1),
        obsolete=np.zeros(n, dtype=bool),
        source="simulated",
    )


def written(folder: Path, name: str, table: FactorTable) -> str:
    """The table's file."""
    file = folder / f"{name}.parquet"
    write_table(table, file)
    return str(file)
