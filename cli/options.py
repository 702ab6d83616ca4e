"""Options that several commands share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
Data = Annotated[str, typer.Option("--data", metavar="SPEC", help="Data set, e.g. longmemeval:PATH.json.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use only the first N cases.")]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Evidence cache [default: the user's cache folder]."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the evidence cache.")]
TokenBudgets = Annotated[str | None, typer.Option(metavar="SHARES", help="Shares of tokens in the table.")]
Splits = Annotated[int | None, typer.Option(help="Half-and-half splits [default: 20].")]
SplitKind = Annotated[
    str | None,
    typer.Option(metavar="paper|grouped", help="grouped: no session on both sides [default: paper]."),
]
ModelKind = Annotated[str | None, typer.Option(metavar="linear|mlp", help="Kind of model [default: linear].")]
Encoder = Annotated[
    str | None,
    typer.Option(metavar="none|static|minilm|st:NAME", help="Embeddings as evidence [default: none]."),
]
Regime = Annotated[
    str | None, typer.Option(metavar="batch|online", help="What a memory may look at [default: batch].")
]


def _shipped(given: Path) -> Path:
    """A file as it is given; else the shipped model of that name."""
    from memvalue.models import path

    known = given.suffix == "" and len(given.parts) == 1 and not given.exists()
    try:
        return Path(path(given.name)) if known else given
    except (ValueError, FileNotFoundError, KeyError):
        return given


Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        callback=_shipped,
        help="An exported model, model.onnx, or a shipped one: default, longmemeval.",
    ),
]
BusinessName = Annotated[
    str, typer.Argument(metavar="BUSINESS", help="Name that its model is registered under.")
]
RegistryUri = Annotated[
    str | None,
    typer.Option(
        "--registry",
        metavar="URI",
        envvar="MLFLOW_TRACKING_URI",
        help="MLflow store with the models [default: sqlite:///mlflow.db].",
    ),
]

Now = Annotated[
    str | None,
    typer.Option(
        "--now",
        metavar="TIME",
        help="Moment of the decision, ISO 8601 with offset [default: the latest memory's].",
    ),
]


def moment(text: str | None) -> datetime | None:
    """``--now`` as a time in UTC; None stays None.

    Raises
    ------
    ValueError
        When it is not a time with an offset.
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"--now: {text!r} is not a time; write e.g. 2026-01-05T09:00:00Z") from None
    if found.tzinfo is None:
        raise ValueError(f"--now: {text!r} has no offset; write e.g. {text}Z")
    return found.astimezone(UTC)


def cache_folder(cache: Path | None, no_cache: bool) -> Path | None:
    """Where evidence is cached: what was asked for, else the user's cache folder.

    Raises
    ------
    ValueError
        When a folder is given together with ``--no-cache``.
    """
    if no_cache:
        if cache is not None:
            raise ValueError("--cache and --no-cache contradict each other; give one of them")
        return None
    if cache is not None:
        return cache
    from memvalue.features.cache import default_cache_dir

    return default_cache_dir()


def shares(text: str | None, option: str) -> tuple[float, ...] | None:
    """``0.05,0.1`` or ``5%,10%`` as numbers; None stays None.

    Raises
    ------
    ValueError
        When a part is not a number.
    """
    if text is None:
        return None
    values = []
    for part in text.split(","):
        number = part.strip()
        try:
            values.append(float(number[:-1]) / 100 if number.endswith("%") else float(number))
        except ValueError:
            raise ValueError(f"{option}: {number!r} is not a share; write e.g. 0.05,0.1,0.3") from None
    return tuple(values)


def names(text: str | None) -> tuple[str, ...] | None:
    """``a,b`` as names without blanks; None stays None."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
