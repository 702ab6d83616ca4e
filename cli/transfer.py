"""``memvalue transfer``: do weights fitted on some data sets hold on others?"""

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
    cache_folder,
    names,
    shares,
)
from memvalue.cli.output import print_text
from memvalue.cli.progress import ProgressBar


def transfer(
    data: Annotated[
        list[str], typer.Option("--data", metavar="SPEC", help="Fitted on and tested on; give two or more.")
    ],
    judge: Annotated[
        list[str] | None, typer.Option("--judge", metavar="SPEC", help="Tested on, never fitted on.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write the model fitted on all --data sets here.")
    ] = None,
    model: ModelKind = None,
    definition: Annotated[
        str | None, typer.Option(metavar="NAME", help="Definition of the factors [default: default].")
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Further definitions in the table, or '' for none [default: longmemeval,artefact-free].",
        ),
    ] = None,
    encoder: Encoder = None,
    regime: Regime = None,
    budgets: Annotated[
        str | None,
        typer.Option(metavar="SHARES", help="Shares of turns in the table [default: 0.05,0.1,0.3]."),
    ] = None,
    fit_budgets: Annotated[
        str | None,
        typer.Option(metavar="SHARES", help="Shares that weights are fitted for [default: 0.05,0.1,0.3]."),
    ] = None,
    refits: Annotated[
        int | None, typer.Option(help="Fits on resampled cases that are averaged [default: 10].")
    ] = None,
    l2: Annotated[float | None, typer.Option(help="Pull towards equal weights [default: 0.03].")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of fits, folds and bootstrap [default: 0].")] = None,
    limit: Limit = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit on each data set, test on each other one, and leave one out at a time; --out exports all."""
    with told(debug), ProgressBar() as bar:
        from memvalue.configs import read_config
        from memvalue.configs.transfer_config import TransferConfig
        from memvalue.eval.transfer_job import transfer_job

        given = {
            "data": tuple(data),
            "judge": tuple(judge or ()),
            "out": out,
            "model": model,
            "definition": definition,
            "beside": names(beside),
            "encoder": encoder,
            "regime": regime,
            "budgets": shares(budgets, "--budgets"),
            "fit_budgets": shares(fit_budgets, "--fit-budgets"),
            "refits": refits,
            "l2": l2,
            "seed": seed,
            "limit": limit,
            "cache": cache_folder(cache, no_cache),
        }
        report = transfer_job(read_config(TransferConfig, None, given), bar)
    print_text((report.to_json() if json else report.text()).rstrip("\n"))
