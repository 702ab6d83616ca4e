"""The job behind ``memvalue fit``: data in, the protocol over the roster, a fitted and exported model out."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.splits import grouped_splits, paper_splits
from memvalue.eval.bench import Bench
from memvalue.eval.policy import Policy
from memvalue.eval.prepare_job import Progress, Setting, check_policies, labelled
from memvalue.eval.protocol import run_protocol
from memvalue.eval.report import Report

if TYPE_CHECKING:
    from memvalue.configs import FitConfig

#: Sections of the main policy's record that travel in the model's metadata; more would not fit its size.
_METRICS = ("turns", "tokens", "source_controlled")


@dataclass(frozen=True)
class FitResult:
    """What a fit left behind.

    Parameters
    ----------
    report
        The table; its ``model`` is the path of the exported file.
    path
        The exported file.
    metadata
        What that file says about itself.
    """

    report: Report
    path: Path
    metadata: dict[str, Any]


def fit_job(config: FitConfig, progress: Progress | None = None) -> FitResult:
    """Judge the roster on held-out halves, then fit the chosen model on all cases and export it.

    The table's figures come from held-out halves alone. The exported model is fitted once more, with the same
    settings, on every case: its siblings' figures are the best estimate of its own, and its metadata says so.
    ``forget_risk`` is calibrated on values by a model that had not seen the case (two-fold cross-fitting).

    Parameters
    ----------
    config
        All settings.
    progress
        Called as ``(done, total, label)``.

    Raises
    ------
    ValueError
        For data that cannot be read or fitted, an unknown policy, or a target that cannot be written.
    """
    from memvalue.data import load
    from memvalue.eval.roster import roster
    from memvalue.train.export import export_model

    _check_target(config.out)
    names = config.policies if config.policies is not None else ("default",)
    check_policies(names)
    setting = Setting.named(config.definition, config.encoder, config.regime, config.cache)
    dataset = load(config.data, limit=config.limit)
    bench = setting.bench(dataset, progress)
    if bench.cases < 2:
        raise ValueError(f"{config.data}: a fit needs 2 usable cases or more, there is {bench.cases}")
    policies = roster(
        _with(names, config.model),
        bench=bench,
        encoder=setting.encoder,
        cache=setting.cache,
        seed=config.seed,
        budgets=config.fit_budgets,
        progress=labelled(progress, "embeddings"),
    )
    report = run_protocol(
        bench,
        policies,
        splits=config.splits,
        budgets=config.budgets,
        token_budgets=config.token_budgets,
        seed=config.seed,
        main=config.model,
        kind=config.split_kind,
        question_encoder=setting.encoder,
        progress=progress,
    )
    policy = next(p for p in policies if p.name == config.model)
    if progress is not None:
        progress(0, 1, "final fit")
    estimator = policy.fit(bench).estimator  # type: ignore[attr-defined]
    config.out.parent.mkdir(parents=True, exist_ok=True)
    linear = config.model == "linear" and bool(report.weights)
    metadata = export_model(
        estimator,
        config.out,
        reference=bench.factors,
        calibration=_held_out(policy, bench, config.split_kind),
        definition=setting.described,
        informed=bench.informed,
        weight_mean=[w["mean"] for w in report.weights.values()] if linear else None,
        weight_ci=[w["ci"] for w in report.weights.values()] if linear else None,
        budgets=config.fit_budgets,
        data={
            "spec": bench.spec,
            "digest": bench.digest,
            "cases": bench.cases,
            "memories": len(bench),
            "needed": int(bench.needed.sum()),
        },
        config_digest=config.digest(),
        commit=_commit(),
        metrics=_metrics(report, config),
        seed=config.seed,
        created=_now(),
    )
    if progress is not None:
        progress(1, 1, "final fit")
    report.model = str(config.out)
    report.notes.append(
        f"{config.out} was fitted on all {bench.cases} cases; the figures are of models fitted on halves"
    )
    result = FitResult(report, config.out, metadata)
    if config.track is not None:
        from memvalue.eval.track_job import track_job

        track_job(config, result)
    return result


def _check_target(out: Path) -> None:
    """Say now, not after minutes of work, that the model cannot be written there."""
    if out.is_dir():
        raise ValueError(f"{out} is a folder; name a file, e.g. {out / 'model.onnx'}")
    if out.suffix != ".onnx":
        raise ValueError(f"{out}: a model is an ONNX file; name it {out.with_suffix('.onnx').name}")
    folder = out.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"{out}: {folder} is not a folder that can be written to; choose another --out")


def _with(names: tuple[str, ...], model: str) -> tuple[str, ...]:
    """``names`` and the fitted model's row, which the roster gives once however often it is named."""
    return (*names, model)


def _held_out(
    policy: Policy, bench: Bench, kind: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Values by a model fitted on the *other* half, and labels; None when a half cannot be fitted."""
    pairs = paper_splits(bench.cases, 1) if kind == "paper" else grouped_splits(bench.consolidations, 1)
    one, other = pairs[0]
    values, needed = [], []
    for fitted_on, judged in ((one, other), (other, one)):
        train, test = bench.take(np.asarray(fitted_on)), bench.take(np.asarray(judged))
        if not 0 < int(train.needed.sum()) < len(train):
            return None
        values.append(policy.fit(train).score(test.blind()))
        needed.append(test.needed)
    flags = np.concatenate(needed)
    return (np.concatenate(values), flags) if flags.any() and not flags.all() else None


def _metrics(report: Report, config: FitConfig) -> dict[str, Any]:
    """The main policy's held-out figures, and what they are figures of."""
    record = report.to_dict()["policies"].get(config.model, {})
    return {
        "of": "models fitted with these settings on half of the cases, judged on the other half",
        "splits": config.splits,
        "kind": config.split_kind,
        **{
            section: {budget: [cell["mean"], *cell["ci"]] for budget, cell in record[section].items()}
            for section in _METRICS
            if record.get(section)
        },
    }


def _commit() -> str | None:
    """The commit of the code when it runs from a checkout, with ``+`` when files differ; else None."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "HEAD")
        return head + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *args], capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def _now() -> datetime:
    """The time, or ``SOURCE_DATE_EPOCH`` where it is set, so that equal inputs can give equal bytes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
