"""The job behind ``memvalue evaluate``: a model that exists, judged beside the roster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memvalue.eval.controls_job import controls_job
from memvalue.eval.forgetting import judge_model
from memvalue.eval.prepare_job import (
    Progress,
    Setting,
    check_policies,
    fitting_threads,
    labelled,
    schedule,
)
from memvalue.eval.protocol import evaluate_fixed
from memvalue.eval.report import Report

if TYPE_CHECKING:
    from memvalue.configs import EvaluateConfig

#: Row name of the judged file: no policy of the roster has it.
ROW = "model"


def evaluate_job(config: EvaluateConfig, progress: Progress | None = None) -> Report:
    """Judge an exported model on a data set; it is never refitted, its rivals are, on each training half.

    The factors are made as the model's metadata says. A note in the report says when the model was fitted on
    the very data it is judged on.

    Parameters
    ----------
    config
        What to judge, on what, beside whom.
    progress
        Called as ``(done, total, label)``.

    Raises
    ------
    ValueError
        For a model that cannot be trusted, data that cannot be read, or an unknown policy.
    """
    from memvalue.data import load
    from memvalue.eval.roster import roster
    from memvalue.serve import ValueModel
    from memvalue.train.density import value_density

    model = ValueModel.load(config.model)
    metadata = model.metadata
    setting = Setting.of_model(metadata, config.cache)
    names = config.policies if config.policies is not None else ("default",)
    check_policies(names)
    dataset = load(config.data, limit=config.limit)
    bench = setting.bench(dataset, progress)
    grouped = config.split_kind == "grouped"
    plan = schedule(dataset, "grouped", config.splits) if grouped else config.splits
    value = model.value(bench.factors, machine=~bench.person)
    exponent = float(metadata.get("density_exponent") or 0.0)
    rivals = roster(
        names,
        bench=bench,
        encoder=setting.encoder,
        cache=setting.cache,
        seed=config.seed,
        progress=labelled(progress, "embeddings"),
    )
    with fitting_threads(len(bench)):
        report = evaluate_fixed(
            bench,
            {ROW: value},
            rivals,
            token_scores={ROW: value_density(value, bench.tokens, exponent)} if exponent else None,
            splits=plan,
            budgets=config.budgets,
            token_budgets=config.token_budgets,
            seed=config.seed,
            kind=config.split_kind,
            question_encoder=setting.encoder,
            progress=progress,
        )
        if config.controls:
            report.controls = controls_job(
                bench,
                dataset,
                setting,
                model=value,
                splits=config.splits,
                kind=config.split_kind,
                seed=config.seed,
                encoders=config.encoders,
                progress=progress,
            )
    if bench.needed.any():
        report.forgetting = judge_model(model, bench).as_dict()
    report.model = str(config.model)
    fitted_on = metadata.get("data") or {}
    seen = {fitted_on.get("digest"), *(part.get("digest") for part in fitted_on.get("sets", {}).values())}
    if bench.digest in seen:
        report.notes.insert(0, f"{config.model} was fitted on these very cases: its row is not held out")
    if exponent:
        report.notes.append(f"by tokens, {ROW} ranks by value / tokens^{exponent:g}, as its metadata says")
    return report
