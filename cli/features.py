"""``memvalue features``: the numbers behind the decisions, without the texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memvalue.cli.exits import say, told
from memvalue.cli.options import Cache, Debug, Encoder, Json, Limit, NoCache, Regime, cache_folder
from memvalue.cli.output import print_json, print_text
from memvalue.cli.progress import ProgressBar

features_app = typer.Typer(help="Export factors as numbers.", no_args_is_help=True)


@features_app.callback()
def group() -> None:
    """Export factors as numbers."""


@features_app.command()
def export(
    out: Annotated[Path, typer.Option(metavar="PATH", help="The table, e.g. acme.parquet.")],
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="LOG", help="Event log (JSONL, Parquet, SQLite, database URI)."),
    ] = None,
    memories: Annotated[
        str | None,
        typer.Option(metavar="FILE|TABLE", help="Texts of the memories, where the log has none."),
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Table of the events in a database [default: events].")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Instead of a log: labelled cases, e.g. memora:DIR.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Make the factors as this model needs them.")
    ] = None,
    definition: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Without a model: definition of the factors [default: default]."),
    ] = None,
    encoder: Encoder = None,
    regime: Regime = None,
    every: Annotated[float, typer.Option(metavar="DAYS", help="Between two consolidations.")] = 7.0,
    horizon: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="How long needs are watched after one [default: --every]."),
    ] = None,
    salt: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="MEMVALUE_SALT",
            help="Secret by which ids become numbers, 16 letters or more [default: random].",
        ),
    ] = None,
    limit: Limit = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a factor table: numbers and salted ids, no text; enough to recalibrate elsewhere."""
    with told(debug), ProgressBar() as bar:
        from memvalue.eval.features_job import features_job

        made = features_job(
            out,
            events=events,
            memories=memories,
            events_table=table,
            data=data,
            model=model,
            definition=definition,
            encoder=encoder,
            regime=regime,
            every_days=every,
            horizon_days=horizon,
            salt=salt,
            limit=limit,
            cache=cache_folder(cache, no_cache),
            progress=bar,
        )
    if made.salt == "random":
        say("no --salt: ids are salted at random, so tables of two exports cannot be joined by them")
    if json:
        print_json(made.to_dict())
    else:
        print_text(made.text())
