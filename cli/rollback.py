"""``memvalue rollback``: put a business's earlier model back in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import BusinessName, Debug, Json, RegistryUri
from memvalue.cli.output import print_json, print_text


def rollback(
    business: BusinessName,
    registry: RegistryUri = None,
    to: Annotated[
        int | None,
        typer.Option(
            metavar="VERSION", min=1, help="A version that was champion [default: the one before this one]."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.onnx", help="Also write the champion here, for runtimes without MLflow."),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Move BUSINESS's champion back to the one before it; again, and it goes back one further."""
    with told(debug):
        from memvalue.serve.model_store import DEFAULT_STORE
        from memvalue.train.registry import Registry

        found = Registry(registry or DEFAULT_STORE).rollback(business, to, out)
        if json:
            print_json({**found.to_dict(), "out": None if out is None else str(out)})
        else:
            written = "" if out is None else f", written to {out}"
            print_text(
                f"{business}: version {found.number} is champion (recorded {found.time:%Y-%m-%d %H:%M} UTC, "
                f"sha256 {found.sha256[:12]}){written}"
            )
