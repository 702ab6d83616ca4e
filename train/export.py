"""Write a fitted value model as one self-describing ONNX file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.data.memory import as_utc
from memvalue.features.names import DEFINITION_VERSION, FACTORS
from memvalue.serve.value_model import ValueModel
from memvalue.serve.verify import (
    DIGEST_KEY,
    FORMAT,
    INPUTS,
    METADATA_KEY,
    OPTIONAL_INPUTS,
    OUTPUTS,
    content_digest,
)
from memvalue.train.calibrate import PAPER_EDGES, TIER_SHARES, tier_edges
from memvalue.train.forget_risk import ForgetRisk, HeldOut, fit_forget_risk
from memvalue.train.graph import DEFAULT_BETA, LinearParameters, MLPParameters, build_graph

#: A value model is small enough to sit in a repository or a message.
MAX_EXPORT_BYTES = 20_000

#: Rows that are run at export and again at every load.
GOLDEN_ROWS = 16

#: Graph and estimator may differ by rounding only.
PARITY = 1e-6


def export_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    reference: ArrayLike | None = None,
    reference_machine: ArrayLike | None = None,
    calibration: HeldOut | tuple[ArrayLike, ArrayLike] | None = None,
    calibration_figures: Mapping[str, float] | None = None,
    edges: Literal["shares", "paper"] | Sequence[float] = "shares",
    beta: float = DEFAULT_BETA,
    density_exponent: float = 0.0,
    definition: Mapping[str, Any] | None = None,
    informed: ArrayLike | None = None,
    weight_mean: ArrayLike | None = None,
    weight_ci: ArrayLike | None = None,
    budgets: Sequence[float] | None = None,
    data: Mapping[str, Any] | None = None,
    config_digest: str | None = None,
    commit: str | None = None,
    metrics: Mapping[str, Any] | None = None,
    seed: int | None = None,
    created: datetime | None = None,
) -> dict[str, Any]:
    """Export ``model`` to ``path``, load it back, and check that it decides as ``model`` does.

    The same arguments give the same bytes. The file appears whole or not at all.

    Parameters
    ----------
    model
        A fitted estimator of this room for the seven factors.
    path
        Where to write; its folder must exist. An existing file is replaced.
    reference
        float[n, 7]: factors of typical memories. Needed for tier edges by shares.
    reference_machine
        bool[n]: which of these a machine said; default none. Only a model with a role offset asks.
    calibration
        What *held-out* cases say, for ``forget_risk``; ``(values float[n], needed bool[n])`` where ages and
        uses are unknown. Without, it is 1 − value.
    calibration_figures
        What was measured of it on cases that it was not fitted on (Brier score, calibration error).
    edges
        ``shares``: depths take 40, 30, 20 and 10 % of ``reference``; ``paper``: 0.20, 0.45, 0.70; or three
        rising numbers. ``shares`` without ``reference`` falls back to the paper's.
    beta
        Weight of the value in ``forget_score``.
    density_exponent
        γ ≥ 0: within a token budget memories are ranked by value / tokens^γ.
    definition
        Switches of the factor definitions that the model was fitted on, as plain data.
    informed
        bool[7]; default: the model's own ``informed_``.
    weight_mean, weight_ci
        float[7] and float[7, 2]: mean and interval of each weight over refits, if there were any.
    budgets, data, config_digest, commit, metrics, seed
        Provenance, as plain data; ``data`` holds at least ``spec`` and ``digest``.
    created
        Timezone-aware; default now.

    Returns
    -------
    The metadata that was written.

    Raises
    ------
    ValueError
        For an estimator that is not fitted or not for seven factors, malformed arguments, a folder that does
        not exist, or a graph that disagrees with the estimator.
    """
    import onnx

    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a directory; name a file, e.g. {target / 'model.onnx'}")
    if not target.parent.is_dir():
        raise ValueError(f"the folder {target.parent} does not exist; make it first")
    parameters = parameters_of(model)
    kind = "linear" if isinstance(parameters, LinearParameters) else "mlp"
    rows = None if reference is None else _table(reference)
    chosen, how = _edges(edges, None if rows is None else _values(model, rows, reference_machine))
    if not (np.isfinite(density_exponent) and density_exponent >= 0):
        raise ValueError(f"density_exponent must be finite and 0 or more, got {density_exponent}")
    held = calibration if calibration is None or isinstance(calibration, HeldOut) else HeldOut(*calibration)
    curve, terms = (None, {}) if held is None else fit_forget_risk(held)
    graph = build_graph(parameters, edges=chosen, calibration=curve, beta=beta)
    stamp = as_utc(created or datetime.now(UTC), "created")
    flags = np.asarray(
        getattr(model, "informed_", np.ones(len(FACTORS), bool)) if informed is None else informed
    )
    metadata = {
        "format": FORMAT,
        "factors": list(FACTORS),
        "definition_version": DEFINITION_VERSION,
        "definition": dict(definition or {}),
        "kind": kind,
        "estimator": type(model).__name__,
        "weights": _weights(parameters, flags, weight_mean, weight_ci),
        "machine_offset": parameters.offset if isinstance(parameters, LinearParameters) else 0.0,
        "tier_edges": list(chosen),
        "tiers": how,
        "calibration": _calibration(curve, terms, held) | dict(calibration_figures or {}),
        "beta": float(beta),
        "density_exponent": float(density_exponent),
        # What a factor contributes is told against these.
        "reference_mean": None if rows is None else [float(f"{m:.6g}") for m in rows.mean(axis=0)],
        "neutral_inputs": dict(OPTIONAL_INPUTS),
        "budgets": None if budgets is None else [float(b) for b in budgets],
        "data": dict(data or {}),
        "config_digest": config_digest,
        "commit": commit,
        "metrics": dict(metrics or {}),
        "seed": seed,
        "created": stamp.isoformat(timespec="seconds"),
        "golden": _golden(graph.SerializeToString(deterministic=True)),
    }
    blob = graph.SerializeToString(deterministic=True)
    text = canonical_json(metadata)
    for key, value in ((METADATA_KEY, text), (DIGEST_KEY, content_digest(blob, text.encode()))):
        graph.metadata_props.append(onnx.StringStringEntryProto(key=key, value=value))
    content = graph.SerializeToString(deterministic=True)
    if len(content) > MAX_EXPORT_BYTES:
        raise ValueError(
            f"the model would take {len(content)} bytes, more than {MAX_EXPORT_BYTES}; "
            "shorten metrics or definition"
        )
    _check_parity(model, ValueModel.from_bytes(content), rows)
    _write(target, content)
    found: dict[str, Any] = json.loads(text)
    return found


def parameters_of(model: Any) -> LinearParameters | MLPParameters:
    """What the graph needs of a fitted estimator for the seven factors, or a ValueError."""
    width = len(FACTORS)
    if hasattr(model, "coefs_"):
        if len(model.mean_) != width:
            raise ValueError(
                f"the model was fitted on {len(model.mean_)} factors; only {width} can be exported"
            )
        coefs = [np.array(c, dtype=np.float32) for c in model.coefs_]
        # Factors that never varied have no effect in the estimator; zero rows say so in the graph.
        coefs[0][~np.asarray(model.informed_, dtype=bool)] = 0.0
        return MLPParameters(
            mean=np.asarray(model.mean_, dtype=np.float32),
            scale=np.asarray(model.scale_, dtype=np.float32),
            coefs=coefs,
            intercepts=[np.asarray(b, dtype=np.float32) for b in model.intercepts_],
            score_mean=float(model.score_mean_),
            score_scale=float(model.score_scale_),
        )
    if not hasattr(model, "weights_"):
        raise ValueError(f"{type(model).__name__} is not a fitted value model; call fit first")
    weights = np.asarray(model.weights_, dtype=np.float64)
    if weights.shape != (width,) or not np.isfinite(weights).all():
        raise ValueError(f"only {width} finite weights can be exported, got shape {weights.shape}")
    return LinearParameters(weights, float(getattr(model, "offset_", 0.0)))


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and no NaN: equal data, equal text."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must be plain finite data ({error})") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not plain data")


def _table(reference: ArrayLike) -> NDArray[np.float32]:
    rows = np.asarray(reference, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != len(FACTORS) or not len(rows):
        raise ValueError(f"reference must be a non-empty [n, {len(FACTORS)}] table, got shape {rows.shape}")
    if not ((rows >= 0) & (rows <= 1)).all():
        raise ValueError("reference holds factors outside [0, 1]")
    return rows


def _values(model: Any, rows: NDArray[np.float32], machine: ArrayLike | None = None) -> NDArray[np.float64]:
    """float64[n]; the estimator's values, told who spoke where it asks."""
    if not getattr(model, "role_offset", False):
        return np.asarray(model.predict(rows))
    flags = np.zeros(len(rows), dtype=bool) if machine is None else np.asarray(machine, dtype=bool)
    return np.asarray(model.predict(rows, machine=flags))


def _edges(
    edges: str | Sequence[float], values: NDArray[np.float64] | None
) -> tuple[tuple[float, float, float], dict[str, Any]]:
    """The three edges as float32 numbers, and how they came about."""
    if isinstance(edges, str):
        if edges not in ("shares", "paper"):
            raise ValueError(f"edges must be 'shares', 'paper' or three numbers, got {edges!r}")
        if edges == "shares" and values is not None:
            return tier_edges(values), {"by": "shares", "shares": list(TIER_SHARES), "memories": len(values)}
        return _float32(PAPER_EDGES), {"by": "paper"}
    given = [float(e) for e in edges]
    if len(given) != 3 or sorted(given) != given or not np.isfinite(given).all():
        raise ValueError(f"edges must be three rising numbers, got {edges!r}")
    return _float32(given), {"by": "given"}


def _float32(edges: Sequence[float]) -> tuple[float, float, float]:
    a, b, c = (float(np.float32(e)) for e in edges)
    return a, b, c


def _weights(
    parameters: LinearParameters | MLPParameters,
    informed: NDArray[Any],
    mean: ArrayLike | None,
    ci: ArrayLike | None,
) -> dict[str, dict[str, Any]]:
    width = len(FACTORS)
    if informed.shape != (width,):
        raise ValueError(f"informed must be {width} flags, got shape {informed.shape}")
    own = parameters.weights if isinstance(parameters, LinearParameters) else None
    means = own if mean is None else np.asarray(mean, dtype=np.float64)
    bounds = None if ci is None else np.asarray(ci, dtype=np.float64)
    if means is not None and means.shape != (width,):
        raise ValueError(f"weight_mean must be {width} numbers, got shape {means.shape}")
    if bounds is not None and bounds.shape != (width, 2):
        raise ValueError(f"weight_ci must be [{width}, 2], got shape {bounds.shape}")
    return {
        name: {
            "weight": None if own is None else float(own[i]),
            "mean": None if means is None else float(means[i]),
            "ci": None if bounds is None else bounds[i].tolist(),
            "informed": bool(informed[i]),
        }
        for i, name in enumerate(FACTORS)
    }


def _calibration(curve: ForgetRisk | None, terms: Mapping[str, str], held: HeldOut | None) -> dict[str, Any]:
    if curve is None or held is None:
        return {"by": "none"}
    needed = np.asarray(held.needed, dtype=bool)
    return {
        "by": "platt",
        **curve.as_dict(),
        "terms": dict(terms),
        "memories": len(needed),
        "needed": int(needed.sum()),
    }


def _golden(graph: bytes) -> dict[str, dict[str, Any]]:
    """Made-up rows that reach the corners and the inside, and what the graph says about them."""
    import onnxruntime as ort

    rng = np.random.default_rng(0)  # fixed: the rows are part of the format, not of the fit
    factors = rng.random((GOLDEN_ROWS, len(FACTORS))).round(3)
    factors[0], factors[1] = 0.0, 1.0
    factors[2:9] = np.where(np.eye(7) > 0, 1.0, factors[2:9])
    columns = {
        "factors": factors,
        "age_days": (rng.random(GOLDEN_ROWS) * 400).round(1),
        "uses": rng.integers(0, 6, GOLDEN_ROWS).astype(float),
        "relevance": rng.random(GOLDEN_ROWS).round(3),
        "use_strength": (2 * rng.random(GOLDEN_ROWS) - 1).round(3),
        "harm": np.where(rng.random(GOLDEN_ROWS) < 0.5, 0.0, rng.random(GOLDEN_ROWS).round(3)),
        "machine": (rng.random(GOLDEN_ROWS) < 0.5).astype(float),
    }
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    feeds = {name: columns[name].astype(np.float32) for name in INPUTS}
    found = session.run(list(OUTPUTS), feeds)
    return {
        "inputs": {name: columns[name].tolist() for name in INPUTS},
        # Nine digits give a float32 back exactly.
        "outputs": {
            name: column.tolist() if name == "depth" else [float(f"{v:.9g}") for v in column.tolist()]
            for name, column in zip(OUTPUTS, found, strict=True)
        },
    }


def _check_parity(model: Any, served: ValueModel, rows: NDArray[np.float32] | None) -> None:
    """The file must give the estimator's values."""
    probe = np.array(served.metadata["golden"]["inputs"]["factors"], dtype=np.float32)
    table = probe if rows is None else np.concatenate([probe, rows])
    worst = 0.0
    for machine in (False, True) if getattr(model, "role_offset", False) else (False,):
        flags = np.full(len(table), machine)
        worst = max(
            worst, float(np.abs(served.value(table, machine=flags) - _values(model, table, flags)).max())
        )
    if not worst <= PARITY:
        raise ValueError(
            f"the exported graph differs from the model by {worst:.2g}; this is a bug, please report it"
        )


def _write(target: Path, content: bytes) -> None:
    """Replace ``target`` in one step."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp's own mode would hide the file from other users
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
