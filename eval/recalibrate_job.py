"""The job behind ``memvalue recalibrate``: one business's data in, the model that stays out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.factor_table import FactorTable
from memvalue.eval.base_model import LinearFile
from memvalue.eval.business import Business, Cases, business_cases
from memvalue.eval.candidate_file import export_candidate, fitted_until
from memvalue.eval.prepare_job import Progress
from memvalue.eval.provenance import check_target
from memvalue.eval.recalibration import Recalibration
from memvalue.eval.statistics import mean_without_nan
from memvalue.train.base_weights import BaseWeights
from memvalue.train.drift import Snapshot, drift
from memvalue.train.objective import retention
from memvalue.train.recalibrate import (
    FoldResult,
    Plan,
    Settings,
    Settled,
    fit_fold,
    plan,
    settle,
)

if TYPE_CHECKING:
    from memvalue.configs.recalibrate_config import RecalibrateConfig


@dataclass(frozen=True)
class Start:
    """What a recalibration compares: the base, and the model in use where there is another one."""

    base: LinearFile
    current: LinearFile | None = None

    @property
    def in_use(self) -> LinearFile:
        """The model in use."""
        return self.current or self.base

    @classmethod
    def load(cls, model: Path, current: Path | None) -> Start:
        """Read both.

        Raises
        ------
        ValueError
            When one cannot be trusted, is not linear, or reads other factors than the other.
        """
        base = LinearFile.load_once(model)
        if current is None:
            return cls(base)
        found = LinearFile.load(current)
        if found.sha256 == base.sha256:
            return cls(base)
        base.check_alike(found)
        return cls(base, found)


def recalibrate_job(
    config: RecalibrateConfig,
    business: Business,
    out: Path | None,
    *,
    current: Path | None = None,
    registry: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Recalibration:
    """Fit on what a business needed so far, and let later cases decide whether the fit stays.

    Parameters
    ----------
    config
        All settings.
    business
        Where its data are.
    out
        Where the model that stays is written, whichever it is, with the report beside it (``.json``). None
        writes no file.
    current
        The model in use. Default: the registry's champion, else the file at ``out``, else the base.
    registry
        MLflow store in which the outcome is recorded; None for none.
    dry_run
        Write nothing, neither files nor to the registry.
    progress
        Called as ``(done, total, label)``.

    Raises
    ------
    ValueError
        For data that cannot be read, a model that cannot be trusted, or a target that cannot be written.
    """
    from memvalue.eval.register import champion_file, register

    if out is not None:
        check_target(out)
        business.check_apart(out, config.model)
    with tempfile.TemporaryDirectory() as scratch:
        known = None
        if registry is not None:
            known = champion_file(registry, business.name, Path(scratch) / "champion.onnx")
        if current is None:
            current = known or (out if out is not None and out.exists() else None)
        start = Start.load(config.model, current)
        cases = business_cases(business, start.base.setting(config.cache), config, progress)
        settings = settings_of(config, cases.warnings)
        made = plan(cases.table, held_out=settings.held_out, folds=settings.folds)
        steps = len(made.folds) + 1
        folds = []
        for fold in range(len(made.folds)):
            folds.append(fit_fold(cases.table, made, fold, start.base.weights, settings))
            if progress is not None:
                progress(fold + 1, steps, "fits")
        candidate = Path(scratch) / "candidate.onnx"
        before = None if out is None else last_snapshot(out.with_suffix(".json"))
        result = finish(config, business, start, cases, made, folds, settings, candidate, before)
        if progress is not None:
            progress(steps, steps, "fits")
        if dry_run:
            return result
        if registry is not None:
            # First: a model that cannot be recorded must not go into use.
            result.version = register(registry, result, start, candidate, known is not None)
        if out is not None:
            from memvalue.data.files import write_atomic

            keep(result, start, candidate, out)
            write_atomic(out.with_suffix(".json"), [result.to_json()])
    return result


def settings_of(config: RecalibrateConfig, warnings: Sequence[str]) -> Settings:
    """The fit's settings; cautious where something looked wrong about the data."""
    settings = Settings(
        budgets=config.budgets,
        held_out=config.held_out,
        folds=config.folds,
        half_life_days=config.half_life_days,
        confidence=config.confidence,
        seed=config.seed,
    )
    return settings.cautious() if warnings else settings


def finish(
    config: RecalibrateConfig,
    business: Business,
    start: Start,
    cases: Cases,
    made: Plan,
    folds: Sequence[FoldResult],
    settings: Settings,
    candidate: Path,
    before: Snapshot | None = None,
) -> Recalibration:
    """The final fit and the gate; a candidate that differs from the base is exported to ``candidate``."""
    table, base = cases.table, start.base.weights
    current = None if start.current is None else start.current.weights
    settled = settle(table, made, folds, base, settings, current)
    if moved(settled, base):
        export_candidate(config, business.name, start.base, table, made, settled, candidate)
    record = settled.to_dict()
    names = settled.weights.names
    judged = table.take(made.held_out)
    kept = _kept(judged, start, settled, config.budgets)
    in_use = "base" if start.current is None else "current"
    stays = {"promote": "candidate", "keep-base": "base"}.get(settled.decision, in_use)
    seen, left = (Snapshot.of(judged, kept[name].mean(axis=1)) for name in (in_use, stays))
    return Recalibration(
        business=business.name,
        decision=settled.decision,
        evidence={k: v for k, v in record["evidence"].items() if k not in ("reasons", "cases")}
        | {k: record[k] for k in ("tier", "strength", "evaluations")}
        | {"kept": {name: _by_budget(of_case, config.budgets) for name, of_case in kept.items()}},
        weights=dict(zip(names, settled.weights.weights.tolist(), strict=True)),
        base_weights=dict(zip(names, base.weights.tolist(), strict=True)),
        candidate_weights=dict(zip(names, settled.candidate.weights.tolist(), strict=True)),
        reasons=[*settled.verdict.reasons, *settled.notes, *cases.notes, *_seen_already(start, judged.times)],
        warnings=list(cases.warnings),
        drift={} if before is None else drift(before, seen),
        snapshot=left.to_dict(),
        data={
            "source": table.source,
            "digest": table.digest(),
            "cases": len(table),
            "memories": table.rows,
            "needed": int(table.needed.sum()),
            "base": start.base.sha256,
            "in_use": start.in_use.sha256,
        },
    )


def keep(result: Recalibration, start: Start, candidate: Path, out: Path) -> None:
    """Put the model that stays at ``out``, in one step; the same file is left untouched."""
    from memvalue.serve.files import write_file

    stays = start.base if result.decision == "keep-base" else start.in_use
    content = candidate.read_bytes() if result.decision == "promote" else stays.content
    out.parent.mkdir(parents=True, exist_ok=True)
    if not (out.exists() and out.read_bytes() == content):
        write_file(str(out), content)
    result.model = str(out)


def moved(settled: Settled, base: BaseWeights) -> bool:
    """Whether there is a candidate at all."""
    return bool(np.abs(settled.candidate.weights - base.weights).max() > 1e-12)


def last_snapshot(report: Path) -> Snapshot | None:
    """What the last run left in its report; None where there is none that can be read."""
    try:
        return Snapshot.from_dict(json.loads(report.read_text(encoding="utf-8"))["snapshot"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _kept(
    judged: FactorTable, start: Start, settled: Settled, budgets: Sequence[float]
) -> dict[str, NDArray[np.float64]]:
    """Model → float64[C, B]: the share of needed memories that it keeps of each held-out case."""
    models = {"base": start.base.weights}
    if start.current is not None:
        models["current"] = start.current.weights
    if moved(settled, start.base.weights):
        models["candidate"] = settled.candidate
    scores = np.stack([m.value(judged.factors, judged.machine) for m in models.values()])
    return dict(zip(models, retention(scores, judged.offsets, judged.needed, budgets), strict=True))


def _by_budget(of_case: NDArray[np.float64], budgets: Sequence[float]) -> dict[str, float]:
    means = mean_without_nan(of_case, 0)
    return {f"{b:g}": float(m) for b, m in zip(budgets, means, strict=True)}


def _seen_already(start: Start, times: Any) -> list[str]:
    """A current model that was fitted, or let in, on what is now held out has an unfair advantage."""
    until = None if start.current is None else fitted_until(start.current.metadata)
    count = 0 if until is None else int((times < until).sum())
    if not count:
        return []
    return [f"the model in use has seen {count} of the {len(times)} held-out cases, which speaks for it"]
