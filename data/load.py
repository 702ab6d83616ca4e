"""One verb that turns a data specification into cases."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError

#: Generated sets: options with their defaults. 60 and 120 cases are the paper's own sizes for its synthetic
#: task (60 train, 60 test) and enough halves of 30 for the embedded default.
GENERATED = {"simulated": {"seed": 0, "cases": 60}, "confound": {"seed": 0, "cases": 120}}

_HELP = (
    "use longmemeval:PATH, longmemeval (fetched), memora:DIR, locomo:PATH, jsonl:PATH, "
    "simulated[:seed=0,cases=60] or confound[:seed=0,cases=120]"
)


def load(spec: str, *, limit: int | None = None) -> Dataset:
    """The data set that ``spec`` names.

    Parameters
    ----------
    spec
        ``longmemeval:PATH``, ``longmemeval`` (from the hub), ``memora:DIR``, ``locomo:PATH``, ``jsonl:PATH``,
        ``simulated[:seed=…,cases=…]`` or ``confound[:seed=…,cases=…]``. ``~`` stands for the home folder.
    limit
        Only the first so many usable cases, in file order.

    Raises
    ------
    DataError
        For an unknown spec or unusable data; the message says how to mend it.
    """
    if not isinstance(spec, str) or not spec.strip():
        raise DataError(f"the data specification is empty; {_HELP}")
    if limit is not None and limit < 1:
        raise DataError(f"limit must be 1 or more, got {limit}")
    name, colon, rest = spec.strip().partition(":")
    if name in GENERATED:
        return _generate(name, rest, spec, limit)
    if name not in {"longmemeval", "memora", "locomo", "jsonl"}:
        hint = f"; for a file of that name write e.g. longmemeval:{spec}" if os.path.exists(spec) else ""
        raise DataError(f"unknown data specification {spec!r}{hint}; {_HELP}")
    if name == "longmemeval" and not colon:
        from memvalue.data.longmemeval import fetch_longmemeval

        path = fetch_longmemeval()
    elif rest:
        path = Path(rest).expanduser()
    else:
        raise DataError(f"{spec!r} names no path; {_HELP}")
    return _loader(name)(path, spec=spec, limit=limit)


def _loader(name: str) -> Callable[..., Dataset]:
    if name == "longmemeval":
        from memvalue.data.longmemeval import load_longmemeval

        return load_longmemeval
    if name == "memora":
        from memvalue.data.memora import load_memora

        return load_memora
    if name == "locomo":
        from memvalue.data.locomo import load_locomo

        return load_locomo
    from memvalue.data.jsonl import load_jsonl

    return load_jsonl


def _generate(name: str, text: str, spec: str, limit: int | None) -> Dataset:
    options = dict(GENERATED[name])
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, equals, value = part.partition("=")
        key = key.strip()
        if key not in options or not equals:
            known = ", ".join(f"{k}=…" for k in options)
            raise DataError(f"{spec!r}: {part!r} is not one of {known}")
        try:
            options[key] = int(value)
        except ValueError:
            raise DataError(f"{spec!r}: {key} is {value!r}, not a whole number") from None
    if options["cases"] < 1:
        raise DataError(f"{spec!r}: cases must be 1 or more")
    if options["seed"] < 0:
        raise DataError(f"{spec!r}: seed must be 0 or more")
    if name == "simulated":
        from memvalue.data.simulated import simulate

        dataset = simulate(cases=options["cases"], seed=options["seed"])
    else:
        from memvalue.data.confound import confound

        dataset = confound(cases=options["cases"], seed=options["seed"])
    if limit is not None and limit < len(dataset):
        return replace(dataset, spec=spec, cases=dataset.cases[:limit], digest="")
    return replace(dataset, spec=spec)
