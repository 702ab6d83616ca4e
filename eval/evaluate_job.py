"""The job behind ``memvalue evaluate``: a model that exists, judged beside the roster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memvalue.eval.prepare_job import Progress, Setting, check_policies, labelled
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

    model = ValueModel.load(config.model)
    metadata = model.metadata
    setting = Setting.of_model(metadata, config.cache)
    names = config.policies if config.policies is not None else ("default",)
    check_policies(names)
    bench = setting.bench(load(config.data, limit=config.limit), progress)
    rivals = roster(
        names,
        bench=bench,
        encoder=setting.encoder,
        cache=setting.cache,
        seed=config.seed,
        progress=labelled(progress, "embeddings"),
    )
    report = evaluate_fixed(
        bench,
        {ROW: model.value(bench.factors, machine=~bench.person)},
        rivals,
        splits=config.splits,
        budgets=config.budgets,
        token_budgets=config.token_budgets,
        seed=config.seed,
        kind=config.split_kind,
        question_encoder=setting.encoder,
        progress=progress,
    )
    report.model = str(config.model)
    fitted_on = metadata.get("data") or {}
    if fitted_on.get("digest") == bench.digest:
        report.notes.insert(0, f"{config.model} was fitted on these very cases: its row is not held out")
    return report
