"""``memvalue recalibrate``: weights for one business, or for many, let in only when later data say so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memvalue.cli.exits import BAD_INPUT, told
from memvalue.cli.options import Cache, Debug, Json, Model, NoCache, cache_folder, shares
from memvalue.cli.output import print_text
from memvalue.cli.progress import ProgressBar

if TYPE_CHECKING:
    from memvalue.eval.engines import Engine


def recalibrate(
    model: Model,
    events: Annotated[
        str | None,
        typer.Option(
            "--events",
            metavar="LOG",
            help="Event log (JSONL, Parquet, SQLite, database URI), or a factor table.",
        ),
    ] = None,
    memories: Annotated[
        str | None, typer.Option(metavar="FILE|TABLE", help="Texts of the memories, where the log has none.")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Table of the events in a database [default: events]."),
    ] = None,
    transcript: Annotated[
        str | None, typer.Option(metavar="FILE", help="Instead of a log: what was said, without labels.")
    ] = None,
    tenants: Annotated[
        str | None,
        typer.Option(metavar="DIR|TABLE", help="Many businesses: a folder of logs, or a table of paths."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Where the model that stays goes; with --tenants a folder for all of them."
        ),
    ] = None,
    current: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The model in use [default: the file at --out, else MODEL]."),
    ] = None,
    business: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the business [default: --out's].")
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(metavar="URI", help="MLflow store that keeps the versions, e.g. sqlite:///mlflow.db."),
    ] = None,
    every: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Between two consolidations [default: 7].")
    ] = None,
    horizon: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="How long needs are watched after one [default: --every]."),
    ] = None,
    held_out: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Latest cases, which the gate judges on [.3].")
    ] = None,
    confidence: Annotated[float | None, typer.Option(help="Of the gate's interval [default: .95].")] = None,
    budgets: Annotated[
        str | None, typer.Option(metavar="SHARES", help="Budgets in view [default: 0.05,0.1,0.3].")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the searches [default: 0].")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")
    ] = False,
    engine: Annotated[
        str, typer.Option(metavar="local|dask", help="With --tenants: where the work is done.")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(help="With --tenants: processes [default: one a core].")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="With --engine dask: a scheduler that runs.")
    ] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a business's own weights on its log; they stay only if they are better on later data.

    The decision is keep-base, keep-current or promote; the exit code is 0 for each of them. With --tenants it
    is 2 only when every business failed.
    """
    with told(debug), ProgressBar() as bar:
        from memvalue.configs import read_config
        from memvalue.configs.recalibrate_config import RecalibrateConfig

        given = {
            "model": model,
            "budgets": shares(budgets, "--budgets"),
            "every_days": every,
            "horizon_days": horizon,
            "held_out": held_out,
            "confidence": confidence,
            "seed": seed,
            "cache": cache_folder(cache, no_cache),
        }
        config = read_config(RecalibrateConfig, None, given)
        if out is None and not (dry_run or (registry is not None and tenants is None)):
            raise ValueError("name where the model goes with --out, or look first with --dry-run")
        if tenants is not None:
            single = {
                "--events": events, "--memories": memories, "--table": table, "--transcript": transcript,
                "--current": current, "--business": business,
            }  # fmt: skip
            if wrong := [name for name, value in single.items() if value is not None]:
                raise ValueError(f"{', '.join(wrong)} concern one business; leave out with --tenants")
            result: Any = _many(config, tenants, out, dry_run, registry, engine, workers, scheduler, bar)
        else:
            from memvalue.eval.business import Business
            from memvalue.eval.recalibrate_job import recalibrate_job

            name = business or (out.stem if out is not None else "business")
            result = recalibrate_job(
                config,
                Business(name, events=events, memories=memories, transcript=transcript, table=table),
                out,
                current=current,
                registry=registry,
                dry_run=dry_run,
                progress=bar,
            )
    print_text((result.to_json() if json else result.text()).rstrip("\n"))
    if tenants is not None and result.failed and not (result.decisions or result.skipped):
        raise typer.Exit(BAD_INPUT)


def _many(
    config: Any,
    source: str,
    out: Path | None,
    dry_run: bool,
    registry: str | None,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    bar: ProgressBar,
) -> Any:
    from memvalue.eval.tenants import tenants
    from memvalue.eval.tenants_job import tenants_job

    if out is None:
        raise ValueError("--tenants needs --out, the folder of their models, in a dry run too")
    if engine not in ("local", "dask"):
        raise ValueError(f"--engine {engine}: unknown; choose local or dask")
    if scheduler is not None and engine != "dask":
        raise ValueError("--scheduler goes with --engine dask")
    businesses = tenants(source)
    made = _engine(engine, workers, scheduler)
    try:
        return tenants_job(
            config,
            businesses,
            out,
            dry_run=dry_run,
            registry=registry,
            engine=made,
            engine_name=engine,
            progress=bar,
        )
    finally:
        made.close()


def _engine(name: str, workers: int | None, scheduler: str | None) -> Engine:
    if name == "dask":
        from memvalue.eval.engines.dask_engine import DaskEngine

        return DaskEngine(scheduler, workers)
    from memvalue.eval.engines.local_engine import LocalEngine

    return LocalEngine(workers)
