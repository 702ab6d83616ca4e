"""``memvalue data``: look at a data set without fitting anything."""

from __future__ import annotations

from typing import Annotated

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import Debug, Json, Limit
from memvalue.cli.output import print_json, print_text

data_app = typer.Typer(help="Look at a data set.", no_args_is_help=True)


@data_app.callback()
def group() -> None:
    """Look at a data set."""


@data_app.command()
def digest(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="Data set, e.g. longmemeval:PATH.json.")],
    limit: Limit = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Print how many cases and memories a data set has, what was skipped, and its SHA-256 digest."""
    with told(debug):
        from memvalue.data import load

        dataset = load(spec, limit=limit)
        facts = {
            "spec": dataset.spec,
            "name": dataset.name,
            "cases": len(dataset),
            "memories": dataset.memories,
            "skipped": dict(dataset.skipped),
            "digest": dataset.digest,
        }
        if json:
            print_json(facts)
        else:
            skipped = ", ".join(f"{n} {why}" for why, n in dataset.skipped.items()) or "none"
            print_text(
                f"{dataset.spec}: {len(dataset)} cases, {dataset.memories} memories; skipped: {skipped}\n"
                f"sha256 {dataset.digest}"
            )
