"""``memvalue fit``: a data set in, a fitted value model and an honest table out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import (
    Cache,
    Debug,
    Encoder,
    Json,
    Limit,
    ModelKind,
    NoCache,
    Regime,
    SplitKind,
    Splits,
    TokenBudgets,
    cache_folder,
    names,
    shares,
)
from memvalue.cli.output import print_report
from memvalue.cli.progress import ProgressBar


def fit(
    data: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Data set, e.g. longmemeval:PATH.json [default: simulated]."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where the model goes [default: model.onnx].")
    ] = None,
    model: ModelKind = None,
    role_offset: Annotated[
        bool | None,
        typer.Option(
            "--role-offset/--no-role-offset",
            help="Fit an offset for machine turns (linear only) [default: no].",
        ),
    ] = None,
    budgets: Annotated[
        str | None, typer.Option(metavar="SHARES", help="Shares of turns in the table, e.g. 0.05,0.1,0.3.")
    ] = None,
    token_budgets: TokenBudgets = None,
    fit_budgets: Annotated[
        str | None, typer.Option(metavar="SHARES", help="Shares that the weights are fitted for.")
    ] = None,
    splits: Splits = None,
    split_kind: SplitKind = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the fits and the bootstrap [default: 0].")] = None,
    encoder: Encoder = None,
    regime: Regime = None,
    definition: Annotated[
        str | None, typer.Option(metavar="NAME", help="Definition of the factors [default: auto].")
    ] = None,
    policies: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Policies in the table [default: all].")
    ] = None,
    controls: Annotated[
        bool | None,
        typer.Option("--controls/--no-controls", help="Judge also what the figures owe to the benchmark."),
    ] = None,
    identify: Annotated[
        bool | None,
        typer.Option("--identify/--no-identify", help="Say how far the data pin each weight down."),
    ] = None,
    limit: Limit = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE.yaml", help="Settings, or a preset's name; options given here win."),
    ] = None,
    track: Annotated[str | None, typer.Option(metavar="URI", help="MLflow store; off by default.")] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a value model, judge it and its rivals on held-out cases, and export it."""
    with told(debug), ProgressBar() as bar:
        from memvalue.configs import FitConfig, read_config
        from memvalue.eval.fit_job import fit_job

        given = {
            "data": data,
            "out": out,
            "model": model,
            "role_offset": role_offset,
            "budgets": shares(budgets, "--budgets"),
            "token_budgets": shares(token_budgets, "--token-budgets"),
            "fit_budgets": shares(fit_budgets, "--fit-budgets"),
            "splits": splits,
            "split_kind": split_kind,
            "seed": seed,
            "encoder": encoder,
            "regime": regime,
            "definition": definition,
            "policies": names(policies),
            "controls": controls,
            "identify": identify,
            "limit": limit,
            "track": track,
        }
        settings = read_config(FitConfig, config, given)
        if cache is not None or no_cache or settings.cache is None:
            settings = settings.model_copy(update={"cache": cache_folder(cache, no_cache)})
        result = fit_job(settings, bar)
    print_report(result.report, json)
