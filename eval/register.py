"""Record a recalibration in the registry of models."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memvalue.eval.recalibration import Recalibration

if TYPE_CHECKING:
    from memvalue.eval.recalibrate_job import Start


def champion_file(registry: str, business: str, path: Path) -> Path | None:
    """The champion's file, written to ``path``; None where there is none.

    Raises
    ------
    ValueError
        For a store that cannot be used.
    """
    from memvalue.train.registry import Registry

    return None if Registry(registry).champion(business, path) is None else path


def register(registry: str, result: Recalibration, start: Start, candidate: Path, known: bool) -> str:
    """Record the outcome; the champion moves when the gate let the candidate in, or put the base back.

    Parameters
    ----------
    registry
        The store.
    result
        The outcome.
    start
        The base and the model in use.
    candidate
        The candidate's file; there is none where nothing could be fitted, and what stays is recorded.
    known
        The business has a champion. Where it has none, the model in use becomes the first one, so that there
        is always something to load and to go back to.

    Returns
    -------
    The version that was recorded last.

    Raises
    ------
    ValueError
        For a store that cannot be used.
    """
    from memvalue.train.plots import retention_plot
    from memvalue.train.registry import Registry

    store = Registry(registry)
    dataset = {
        "name": result.business,
        "digest": result.data["digest"],
        "source": result.data["source"],
        "cases": result.data["cases"],
        "memories": result.data["memories"],
    }
    with tempfile.TemporaryDirectory() as folder:

        def written(content: bytes, name: str) -> Path:
            path = Path(folder) / name
            path.write_bytes(content)
            return path

        if not known:
            first = store.record(
                result.business,
                model_path=written(start.in_use.content, "first.onnx"),
                decision="keep-current" if start.current is not None else "keep-base",
                promoted=True,
                reasons=["in use before the first recalibration"],
            )
            if result.decision != "promote" and not candidate.exists():
                return _number(first)
        back = result.decision == "keep-base" and start.current is not None
        file = candidate
        if back or not candidate.exists():
            file = written((start.base if back else start.in_use).content, "stays.onnx")
        kept = result.evidence["kept"]
        budgets = [float(b) for b in kept["base"]]
        plot = retention_plot(budgets, {name: list(row.values()) for name, row in kept.items()})
        version = store.record(
            result.business,
            model_path=file,
            decision=result.decision,
            promoted=result.decision == "promote" or back,
            reasons=result.reasons,
            gain=result.evidence["gain"],
            ci=result.evidence["ci"],
            params=_scalars(result.evidence),
            metrics={f"weight_{name}": w for name, w in result.weights.items()},
            dataset=dataset,
            tables={"weights": _weights(result), "kept": _columns(kept)},
            plots={} if plot is None else {"retention.png": plot},
            files={"report.json": result.to_json()},
        )
    return _number(version)


def _weights(result: Recalibration) -> dict[str, list[Any]]:
    names = list(result.weights)
    return {
        "factor": names,
        "base": [result.base_weights[n] for n in names],
        "candidate": [result.candidate_weights[n] for n in names],
        "accepted": [result.weights[n] for n in names],
    }


def _columns(kept: dict[str, dict[str, float]]) -> dict[str, list[Any]]:
    return {"budget": list(kept["base"]), **{name: list(row.values()) for name, row in kept.items()}}


def _scalars(evidence: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in evidence.items() if isinstance(v, int | float | str)}


def _number(version: Any) -> str:
    return str(version.number)
