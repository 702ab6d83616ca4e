"""Shipped artefacts: value models and the static encoder."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def names() -> tuple[str, ...]:
    """The value models that are shipped, sorted."""
    folder = resources.files(__name__)
    return tuple(sorted(f.name.removesuffix(".onnx") for f in folder.iterdir() if f.name.endswith(".onnx")))


def path(name: str) -> Path:
    """The file of a shipped value model, for ``ValueModel.load``; its card is the ``.md`` beside it.

    Raises
    ------
    ValueError
        For a name that is not shipped; the message lists those that are.
    """
    if name not in names():
        raise ValueError(f"no shipped model {name!r}; there is {', '.join(names()) or 'none'}")
    return Path(str(resources.files(__name__) / f"{name}.onnx"))
