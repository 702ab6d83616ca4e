"""Forget risk and forget score over several data sets, each of which counts the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench
from memvalue.eval.calibration import reliability
from memvalue.eval.forgetting import BETAS, MIN_GAIN, fit_beta
from memvalue.train.forget_risk import HeldOut, fit_forget_risk


@dataclass(frozen=True)
class PooledForgetting:
    """What is exported of forgetting.

    Parameters
    ----------
    held
        What the risk is calibrated on: as many memories of each set, evenly taken.
    figures
        ``brier``, ``skill`` and ``ece`` on cases that the curve was not fitted on.
    beta
        Weight of the value in the forget score.
    """

    held: HeldOut
    figures: dict[str, float]
    beta: float


def pooled_forgetting(
    sets: Mapping[str, Bench], values: Mapping[str, NDArray[np.float64]]
) -> PooledForgetting | None:
    """Calibrate on all sets; judge each half of the cases by the curve of the other half.

    No age goes into the risk: how long ago a benchmark's evidence was said is how it was put together. The
    forget score has it by its form; β is the smallest that keeps all but .002 of the best's needed memories.

    Parameters
    ----------
    sets
        Name → bench.
    values
        Name → float[N], by models that had not seen the memory's case.

    Returns
    -------
    None where a half has nothing needed, or nothing else.
    """
    fewest = min(len(bench) for bench in sets.values())
    value, needed, odd = [], [], []
    for name, bench in sets.items():
        rows = np.linspace(0, len(bench) - 1, fewest).astype(np.int64)
        value.append(values[name][rows])
        needed.append(bench.needed[rows])
        odd.append(bench.case_of[rows] % 2 == 1)
    v, hit, half = (np.concatenate(column) for column in (value, needed, odd))
    stated = np.empty(len(v))
    for judged in (half, ~half):
        if not 0 < int(hit[~judged].sum()) < int((~judged).sum()) or not judged.any():
            return None
        curve, _ = fit_forget_risk(HeldOut(v[~judged], hit[~judged]))
        stated[judged] = 1.0 - curve(v[judged])
    found = reliability(stated, hit)
    tables = [fit_beta(values[name], bench)[1] for name, bench in sets.items()]
    kept = np.mean([list(table.values()) for table in tables], axis=0)
    beta = BETAS[int(np.flatnonzero(kept >= kept.max() - MIN_GAIN)[0])]
    return PooledForgetting(
        HeldOut(v, hit), {"brier": found.brier, "skill": found.skill, "ece": found.ece}, float(beta)
    )
