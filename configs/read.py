"""From a preset's name or a YAML file, and what the command line says, to a typed configuration."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from memvalue.configs.errors import ConfigError

C = TypeVar("C", bound=BaseModel)


def read_config(
    kind: type[C], source: str | Path | None = None, overrides: Mapping[str, Any] | None = None
) -> C:
    """A ``kind`` from defaults, then ``source``, then ``overrides``; the later one wins.

    Parameters
    ----------
    kind
        The configuration class.
    source
        Path of a YAML file, or the name of a shipped preset (:func:`presets`), or None.
    overrides
        Settings given by hand; entries that are None are ignored.

    Raises
    ------
    ConfigError
        For a missing file, broken YAML, an unknown key or a value out of range.
    """
    settings: dict[str, Any] = {}
    where = "the settings"
    if source is not None:
        text, where = _text(source)
        try:
            loaded = yaml.safe_load(text)
        except yaml.YAMLError as e:
            mark = getattr(e, "problem_mark", None)
            line = f", line {mark.line + 1}" if mark is not None else ""
            raise ConfigError(
                f"{where}{line}: not valid YAML; see the presets in configs/ for the form"
            ) from e
        if loaded is not None and not isinstance(loaded, dict):
            raise ConfigError(f"{where}: expected 'key: value' lines, got {type(loaded).__name__}")
        settings.update(loaded or {})
    settings.update({key: value for key, value in (overrides or {}).items() if value is not None})
    try:
        return kind.model_validate(settings)
    except ValidationError as e:
        raise ConfigError(_explain(e, kind, where)) from e


def presets() -> tuple[str, ...]:
    """Names of the presets that are shipped, sorted."""
    folder = resources.files("memvalue.configs")
    return tuple(sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".yaml")))


def _text(source: str | Path) -> tuple[str, str]:
    path = Path(source)
    if path.is_file():
        try:
            return path.read_text(encoding="utf-8"), f"config file {path}"
        except UnicodeDecodeError as e:
            raise ConfigError(f"config file {path}: not UTF-8 text") from e
    if str(source) in presets():
        preset = resources.files("memvalue.configs") / f"{source}.yaml"
        return preset.read_text(encoding="utf-8"), f"preset {source}"
    known = ", ".join(presets())
    raise ConfigError(f"no config file or preset {str(source)!r}; give a YAML file's path or one of {known}")


def _explain(error: ValidationError, kind: type[BaseModel], where: str) -> str:
    """One line: the first thing that is wrong, and how many more there are."""
    first, *rest = error.errors(include_url=False)
    key = str(first["loc"][0]) if first["loc"] else "?"
    if first["type"] == "extra_forbidden":
        text = f"{where}: unknown key {key!r}; known are {', '.join(sorted(kind.model_fields))}"
    else:
        text = f"{where}: {key}={first['input']!r}: {first['msg'].removeprefix('Value error, ')}"
    return text + (f" (and {len(rest)} more)" if rest else "")
