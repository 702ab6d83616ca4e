"""``memvalue score``: a value for every memory, as a table that joins to the raw file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import Cache, Data, Debug, Json, Limit, Model, NoCache, cache_folder
from memvalue.cli.output import print_json, print_text
from memvalue.cli.progress import ProgressBar


def score(
    model: Model,
    out: Annotated[Path, typer.Option(metavar="PATH", help="scores.parquet or scores.jsonl, by suffix.")],
    data: Data = "simulated",
    limit: Limit = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a row for each memory: where it stands in the file, its value, depth, forget risk and factors."""
    with told(debug), ProgressBar() as bar:
        from memvalue.eval.score_job import score_job

        result = score_job(model, data, out, limit=limit, cache=cache_folder(cache, no_cache), progress=bar)
    if json:
        print_json(result.to_dict())
    else:
        print_text(f"{result.rows:,} memories of {result.cases:,} cases → {result.path}")
