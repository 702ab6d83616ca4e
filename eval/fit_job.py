"""The job behind ``memvalue fit``: data in, the protocol over the roster, a fitted and exported model out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.splits import Split
from memvalue.eval.bench import Bench
from memvalue.eval.controls_job import controls_job
from memvalue.eval.forgetting import Forgetting, held_out, judge_forgetting
from memvalue.eval.policy import Inapplicable, Policy
from memvalue.eval.prepare_job import (
    Progress,
    Setting,
    check_policies,
    fitting_threads,
    labelled,
    schedule,
)
from memvalue.eval.protocol import run_protocol
from memvalue.eval.provenance import check_target, commit, now
from memvalue.eval.report import Report

if TYPE_CHECKING:
    from memvalue.configs import FitConfig
    from memvalue.data.dataset import Dataset

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
    ``forget_risk`` and the β of ``forget_score`` are fitted on values by a model that had not seen the case
    (two-fold cross-fitting), and judged in the report on cases that they were not fitted on.

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
    from memvalue.train.density import fit_density
    from memvalue.train.export import export_model
    from memvalue.train.graph import DEFAULT_BETA

    check_target(config.out)
    names = config.policies if config.policies is not None else ("default",)
    check_policies(names)
    dataset = load(config.data, limit=config.limit)
    definition = config.definition
    if definition == "auto":
        definition = "longmemeval" if dataset.name == "longmemeval" else "default"
    setting = Setting.named(definition, config.encoder, config.regime, config.cache)
    bench = setting.bench(dataset, progress)
    if bench.cases < 2:
        raise ValueError(f"{config.data}: a fit needs 2 usable cases or more, there is {bench.cases}")
    policies = roster(
        _with(names, config.row),
        bench=bench,
        encoder=setting.encoder,
        cache=setting.cache,
        seed=config.seed,
        budgets=config.fit_budgets,
        progress=labelled(progress, "embeddings"),
    )
    with fitting_threads(len(bench)):
        report = run_protocol(
            bench,
            policies,
            splits=_splits(dataset, config),
            budgets=config.budgets,
            token_budgets=config.token_budgets,
            seed=config.seed,
            main=config.row,
            kind=config.split_kind,
            question_encoder=setting.encoder,
            progress=progress,
        )
        policy = next(p for p in policies if p.name == config.row)
        if progress is not None:
            progress(0, 1, "final fit")
        value = _held_out(policy, bench, schedule(dataset, config.split_kind, 1)[0])
        forgetting = _forgetting(value, bench, report)
        fitted = policy.fit(bench)
        estimator = fitted.estimator  # type: ignore[attr-defined]
        density = fit_density(fitted.score(bench.blind()), bench.tokens, bench.offsets, bench.needed)
        if config.identify:
            report.identifiability = _identifiability(policy, bench, config, progress)
        if config.controls:
            report.controls = controls_job(
                bench,
                dataset,
                setting,
                splits=config.splits,
                kind=config.split_kind,
                seed=config.seed,
                progress=progress,
            )
    config.out.parent.mkdir(parents=True, exist_ok=True)
    linear = config.model == "linear" and bool(report.weights)
    metadata = export_model(
        estimator,
        config.out,
        reference=bench.factors,
        reference_machine=~bench.person,
        calibration=None if value is None else held_out(value, bench),
        calibration_figures=_calibration_figures(forgetting),
        beta=DEFAULT_BETA if forgetting is None or forgetting.beta is None else forgetting.beta,
        density_exponent=density.exponent,
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
        commit=commit(),
        metrics=_metrics(report, config),
        seed=config.seed,
        created=now(),
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


def _with(names: tuple[str, ...], model: str) -> tuple[str, ...]:
    """``names`` and the fitted model's row, which the roster gives once however often it is named."""
    return (*names, model)


def _splits(dataset: Dataset, config: FitConfig) -> int | list[Split]:
    """How many of the paper's splits, or the grouped ones themselves."""
    return config.splits if config.split_kind == "paper" else schedule(dataset, "grouped", config.splits)


def _identifiability(
    policy: Policy, bench: Bench, config: FitConfig, progress: Progress | None
) -> dict[str, Any]:
    """Profiles and bootstrap of the exported weights; noted as missing for a model without weights."""
    from memvalue.eval.learned import FactorModel
    from memvalue.train.identify import identify
    from memvalue.train.linear import LinearValueModel

    assert isinstance(policy, FactorModel)
    estimator = policy.make(bench)
    if not isinstance(estimator, LinearValueModel):
        return {"missing": f"{config.row} has no weights to profile; use --model linear"}
    if int((np.bincount(bench.case_of[bench.needed], minlength=bench.cases) > 0).sum()) < 2:
        return {"missing": "fewer than two cases need anything: chance cannot be told"}
    return identify(
        estimator,
        bench.factors,
        bench.needed,
        bench.case_of,
        machine=~bench.person if policy.role_offset else None,
        rng=config.seed,
        progress=progress,
    ).to_dict()


def _held_out(policy: Policy, bench: Bench, halves: Split) -> NDArray[np.float64] | None:
    """float64[N]; values by a model fitted on the *other* half; None when a half cannot be fitted."""
    one, other = halves
    value = np.empty(len(bench))
    for fitted_on, judged in ((one, other), (other, one)):
        train, test = bench.take(fitted_on), bench.take(judged)
        if not 0 < int(train.needed.sum()) < len(train):
            return None
        scored = policy.fit(train).score(test.blind())
        for c, rows in zip(judged, np.split(scored, test.offsets[1:-1]), strict=True):
            value[bench.offsets[c] : bench.offsets[c + 1]] = rows
    return value


def _forgetting(value: NDArray[np.float64] | None, bench: Bench, report: Report) -> Forgetting | None:
    """What held-out values say about forgetting; entered into the report."""
    if value is None:
        return None
    try:
        found = judge_forgetting(value, bench)
    except Inapplicable as reason:
        report.notes.append(f"orders of forgetting left out: {reason}")
        return None
    report.forgetting = found.as_dict()
    return found


def _calibration_figures(forgetting: Forgetting | None) -> dict[str, float]:
    """The single figures of the reliability; its table stays in the report."""
    if forgetting is None:
        return {}
    found = forgetting.reliability
    return {"brier": found.brier, "skill": found.skill, "ece": found.ece}


def _metrics(report: Report, config: FitConfig) -> dict[str, Any]:
    """The main policy's held-out figures, and what they are figures of."""
    policies = report.to_dict()["policies"]
    record = policies.get(config.row, {})
    # By tokens the exported model ranks by density, which has a row of its own.
    dense = policies.get(f"{config.row}_density", {}).get("tokens")
    record = {**record, "tokens": dense or record.get("tokens")}
    return {
        "of": "models fitted with these settings on half of the cases, judged on the other half",
        "splits": config.splits,
        "kind": config.split_kind,
        "tokens_ranked_by": "density" if dense else "value",
        **{
            section: {budget: [cell["mean"], *cell["ci"]] for budget, cell in record[section].items()}
            for section in _METRICS
            if record.get(section)
        },
    }
