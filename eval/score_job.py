"""The job behind ``memvalue score``: a row for every memory, joinable to the raw file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.case import Case
from memvalue.data.dataset import Dataset
from memvalue.eval.prepare_job import Progress, Setting, labelled
from memvalue.features.names import FACTORS

#: Columns of the table, in order (issue 2).
COLUMNS: tuple[str, ...] = (
    "case_id", "session_index", "turn_index", "role", "value", "depth", "forget_risk", *FACTORS,
)  # fmt: skip
SUFFIXES = (".parquet", ".jsonl")


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """Where the table is, and how much is in it."""

    path: Path
    cases: int
    rows: int

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        return {"out": str(self.path), "cases": self.cases, "rows": self.rows}


def score_job(
    model: str | os.PathLike[str],
    data: str,
    out: str | os.PathLike[str],
    *,
    limit: int | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> ScoreResult:
    """Write a value and the decisions for every memory of a data set.

    Cases stand in the data's order, memories in the *file's* order of sessions and turns, from 0. ``depth``
    is a name; ``value``, ``forget_risk`` and the factors are float32 in [0, 1].

    Parameters
    ----------
    model
        An exported model; factors are made as its metadata says.
    data
        Spec of a data set.
    out
        ``.parquet`` (needs pyarrow) or ``.jsonl``; appears whole or not at all.
    limit
        The first so many cases.
    cache
        Folder of the evidence cache, or None.
    progress
        Called as ``(done, total, label)``.

    Raises
    ------
    ValueError
        For another suffix, a model that cannot be trusted, or data that cannot be read.
    """
    from memvalue.data import load
    from memvalue.serve import ValueModel

    path = Path(out)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: unknown suffix {path.suffix!r}; name the table .parquet or .jsonl")
    if path.suffix == ".parquet":
        import pyarrow  # noqa: F401  told now, not after minutes of work
    loaded = ValueModel.load(model)
    setting = Setting.of_model(loaded.metadata, cache)
    dataset = load(data, limit=limit)
    tables = _tables(dataset, loaded, setting, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            write = _write_parquet if path.suffix == ".parquet" else _write_jsonl
            rows = write(stream, tables)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return ScoreResult(path, len(dataset), rows)


_Table = dict[str, Any]


def _tables(dataset: Dataset, model: Any, setting: Setting, progress: Progress | None) -> Iterator[_Table]:
    """A table a case: column name → list or array."""
    for case, factors in zip(dataset, _factors(dataset, setting, progress), strict=True):
        view = case.consolidation
        age = np.maximum((view.now - view.times) / np.timedelta64(86400, "s"), 0.0)
        decision = model.decide(factors, age_days=age, machine=~view.person)
        order = np.lexsort((case.turn_index, case.session_index))
        depth = decision.depth_names
        table: _Table = {
            "case_id": [case.id] * len(case),
            "session_index": case.session_index[order],
            "turn_index": case.turn_index[order],
            "role": [view.roles[i] for i in order],
            "value": decision.value[order],
            "depth": [depth[i] for i in order],
            "forget_risk": decision.forget_risk[order],
        }
        for i, name in enumerate(FACTORS):
            table[name] = factors[order, i]
        yield table


def _factors(dataset: Dataset, setting: Setting, progress: Progress | None) -> list[NDArray[np.float32]]:
    """float32[n, 7] a case: the data's own where it brings them, else computed."""
    from memvalue.features import combine, observe

    made: list[Case] = [c for c in dataset if c.factors is None]
    observed = iter(
        observe(
            [c.consolidation for c in made],
            encoder=setting.encoder,
            regime=setting.regime,
            cache=setting.cache,
            progress=labelled(progress, "factors"),
        )
        if made
        else ()
    )
    return [
        np.asarray(c.factors, np.float32)
        if c.factors is not None
        else combine(next(observed), setting.definition)
        for c in dataset
    ]


def _write_jsonl(stream: IO[bytes], tables: Iterator[_Table]) -> int:
    rows = 0
    for table in tables:
        columns = [table[name] if isinstance(table[name], list) else table[name].tolist() for name in COLUMNS]
        for row in zip(*columns, strict=True):
            line = json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=True, allow_nan=False)
            stream.write(line.encode() + b"\n")
            rows += 1
    return rows


def _write_parquet(stream: IO[bytes], tables: Iterator[_Table]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"case_id": pa.string(), "role": pa.string(), "depth": pa.string()}
    kinds |= {"session_index": pa.int64(), "turn_index": pa.int64()}
    schema = pa.schema([(name, kinds.get(name, pa.float32())) for name in COLUMNS])
    rows = 0
    with pq.ParquetWriter(stream, schema) as writer:
        for table in tables:
            batch = pa.table({name: table[name] for name in COLUMNS}, schema=schema)
            writer.write_table(batch)
            rows += batch.num_rows
    return rows
