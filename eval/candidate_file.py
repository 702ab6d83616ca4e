"""Export what a business was fitted: one file, decided alike wherever it is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.factor_table import FactorTable
from memvalue.eval.base_model import LinearFile
from memvalue.eval.provenance import commit, now
from memvalue.features.names import FACTORS
from memvalue.train.recalibrate import Plan, Settled

if TYPE_CHECKING:
    from memvalue.configs.recalibrate_config import RecalibrateConfig

_REHEARSAL = FACTORS.index("usage_history")


def export_candidate(
    config: RecalibrateConfig,
    business: str,
    base: LinearFile,
    table: FactorTable,
    made: Plan,
    settled: Settled,
    out: Path,
) -> None:
    """Write the candidate to ``out``, in one step.

    The depths take their shares of the store as it is now, the latest case; the risk is calibrated on the
    held-out cases, which the weights were not fitted on. What the base says of forgetting scores and of
    densities stays.

    Raises
    ------
    ValueError
        When the file cannot be written.
    """
    from memvalue.train.export import export_model
    from memvalue.train.forget_risk import HeldOut
    from memvalue.train.graph import DEFAULT_BETA
    from memvalue.train.linear import LinearValueModel

    chosen = settled.candidate
    informed = _informed(base.metadata) | settled.informed
    last, judged = table.take([len(table) - 1]), table.take(made.held_out)
    export_model(
        LinearValueModel.from_weights(chosen.weights, offset=chosen.offset, informed=informed),
        out,
        reference=last.factors,
        reference_machine=last.machine,
        calibration=HeldOut(
            values=chosen.value(judged.factors, judged.machine),
            needed=judged.needed,
            age_days=judged.age_days,
            uses=judged.uses if bool(np.isfinite(judged.uses).all()) else None,
            rehearsal=judged.factors[:, _REHEARSAL],
            groups=judged.case_of,
        ),
        beta=float(base.metadata.get("beta", DEFAULT_BETA)),
        density_exponent=float(base.metadata.get("density_exponent", 0.0)),
        definition=base.metadata["definition"],
        informed=informed,
        weight_mean=chosen.weights,
        weight_ci=settled.intervals,
        budgets=config.budgets,
        data={
            "spec": f"business:{business}",
            "digest": table.digest(),
            "cases": len(table),
            "memories": table.rows,
            "needed": int(table.needed.sum()),
            "labels": table.source,
            "base": base.sha256,
            "fitted_until": _until(table, made),
        },
        config_digest=config.digest(),
        commit=commit(),
        metrics=_metrics(settled),
        seed=config.seed,
        created=now(),
    )


def fitted_until(metadata: dict[str, Any]) -> np.datetime64 | None:
    """Up to when a recalibrated model has seen what was needed; None for a model of another kind."""
    text = (metadata.get("data") or {}).get("fitted_until")
    return None if text is None else np.datetime64(str(text).removesuffix("Z"), "s")


def _until(table: FactorTable, made: Plan) -> str | None:
    """The end of the last case that was fitted on, or that let the fit in."""
    seen = np.concatenate([made.held_in, made.held_out])
    return f"{table.ends[seen].max()}Z" if len(seen) else None


def _informed(metadata: dict[str, Any]) -> NDArray[np.bool_]:
    """bool[F]; which weights of the base its own data informed."""
    return np.array([bool(metadata["weights"][n].get("informed", True)) for n in metadata["factors"]])


def _metrics(settled: Settled) -> dict[str, Any]:
    verdict = settled.verdict.to_dict()
    return {
        "of": "this model beyond the one that was in use, on later cases of the business",
        "cases_fit": settled.cases_fit,
        "cases_held_out": settled.cases_held_out,
        "gain": [x for x in (verdict["gain"], *verdict["ci"]) if x is not None],
    }
