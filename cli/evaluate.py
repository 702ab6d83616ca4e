"""``memvalue evaluate``: the table of ``fit`` for a model that exists."""

from __future__ import annotations

from typing import Annotated

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import (
    Cache,
    Data,
    Debug,
    Json,
    Limit,
    Model,
    NoCache,
    SplitKind,
    Splits,
    TokenBudgets,
    cache_folder,
    names,
    shares,
)
from memvalue.cli.output import print_report
from memvalue.cli.progress import ProgressBar


def evaluate(
    model: Model,
    data: Data = "simulated",
    budgets: Annotated[
        str | None, typer.Option(metavar="SHARES", help="Shares of turns in the table.")
    ] = None,
    token_budgets: TokenBudgets = None,
    splits: Splits = None,
    split_kind: SplitKind = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the rivals' fits and the bootstrap.")] = None,
    policies: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Rivals in the table [default: all].")
    ] = None,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls", help="Judge also what the figures owe to the benchmark; takes some minutes more."
        ),
    ] = False,
    encoders: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Encoders that the controls try, e.g. static,minilm."),
    ] = None,
    limit: Limit = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Judge MODEL beside the roster's policies on a data set; nothing of MODEL is refitted."""
    with told(debug), ProgressBar() as bar:
        from memvalue.configs import EvaluateConfig, read_config
        from memvalue.eval.evaluate_job import evaluate_job

        given = {
            "model": model,
            "data": data,
            "budgets": shares(budgets, "--budgets"),
            "token_budgets": shares(token_budgets, "--token-budgets"),
            "splits": splits,
            "split_kind": split_kind,
            "seed": seed,
            "policies": names(policies),
            "controls": controls,
            "encoders": names(encoders),
            "limit": limit,
            "cache": cache_folder(cache, no_cache),
        }
        report = evaluate_job(read_config(EvaluateConfig, None, given), bar)
    print_report(report, json)
