"""One file a factor table: Parquet, what the numbers mean in its metadata, and a digest over them all."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.errors import DataError
from memvalue.data.factor_table import FactorTable
from memvalue.data.files import existing_file

#: Marks the file as ours; the metadata key holds everything but the rows.
FORMAT, VERSION = "memvalue factor table", 1
KEY = b"memvalue.factor_table"

#: A table of this many rows takes about a gigabyte in memory; more is refused before it is read.
MAX_ROWS = 20_000_000

#: A table has a few dozen factors at most; its metadata holds two times a case.
MAX_FACTORS, MAX_METADATA = 256, 1 << 28

#: Columns after ``case`` and the factors, with the types that the file has.
_COLUMNS = {
    "machine": "bool", "tokens": "int64", "age_days": "float32", "uses": "float32",
    "needed": "bool", "obsolete": "bool", "ids": "uint64",
}  # fmt: skip
_FACTOR = "factor:"

#: Shorter salts can be tried out one after the other, and ids with them.
SALT_BYTES = 16


def salted_ids(ids: Iterable[str], salt: bytes) -> NDArray[np.uint64]:
    """uint64[n]; the first eight bytes of HMAC-SHA256(salt, id): the same memory has the same number, and
    without the salt no number leads back to an id.

    Raises
    ------
    DataError
        For an empty salt. One of fewer than :data:`SALT_BYTES` bytes is taken, but can be guessed.
    """
    if not salt:
        raise DataError("the salt is empty: anyone could compute the numbers from the ids")
    found = [hmac.digest(salt, name.encode("utf-8", "surrogatepass"), "sha256")[:8] for name in ids]
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)


def is_table(path: str | Path) -> bool:
    """Is the file a factor table? False for any other Parquet file, and for what is none."""
    try:
        return KEY in (_parquet().ParquetFile(path).schema_arrow.metadata or {})
    except (OSError, ValueError):
        return False


def write_table(table: FactorTable, path: str | Path) -> None:
    """Write ``table`` to one Parquet file, which appears whole or not at all; equal tables, equal bytes.

    Raises
    ------
    DataError
        When the folder is not there, or pyarrow is not installed.
    """
    path = Path(path)
    pq = _parquet()
    import pyarrow as pa

    table = _plain(table)
    if not path.parent.is_dir():
        raise DataError(f"the folder {path.parent} does not exist; make it first")
    if path.is_dir():
        raise DataError(f"{path} is a directory; name a file")
    about = {
        "format": FORMAT,
        "version": VERSION,
        "names": list(table.names),
        "definition": table.definition,
        "definition_version": table.definition_version,
        "source": table.source,
        "informed": table.informed.tolist(),
        "times": table.times.astype("datetime64[s]").astype(np.int64).tolist(),
        "ends": table.ends.astype("datetime64[s]").astype(np.int64).tolist(),
        "sizes": np.diff(table.offsets).tolist(),
        "digest": table.digest(),
    }
    columns: dict[str, Any] = {"case": pa.array(table.case_of.astype(np.int32))}
    for i, name in enumerate(table.names):
        columns[_FACTOR + name] = pa.array(np.ascontiguousarray(table.factors[:, i]))
    for name in _COLUMNS:
        if (column := getattr(table, name)) is not None:
            columns[name] = pa.array(column)
    made = pa.table(columns).replace_schema_metadata({KEY: json.dumps(about, sort_keys=True).encode()})
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with open(temporary, "xb") as file:
            pq.write_table(made, file, compression="zstd", version="2.6", write_statistics=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _plain(table: FactorTable) -> FactorTable:
    """The table in the types that the file has, so that reading gives back the same bytes."""
    try:
        definition = json.loads(json.dumps(table.definition, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise DataError(f"the table's definition cannot be written as JSON ({error})") from None
    columns: dict[str, Any] = {
        n: np.asarray(c, dtype=k) for n, k in _COLUMNS.items() if (c := getattr(table, n)) is not None
    }
    return replace(
        table,
        definition=definition,
        times=table.times.astype("datetime64[s]"),
        ends=table.ends.astype("datetime64[s]"),
        offsets=table.offsets.astype(np.int64),
        factors=table.factors.astype(np.float32),
        informed=table.informed.astype(bool),
        **columns,
    )


def read_table(path: str | Path) -> FactorTable:
    """The table that :func:`write_table` wrote, checked against its digest.

    Raises
    ------
    DataError
        For a file that is something else, of another version, damaged, changed since it was written, too
        large, or with numbers out of range; it says which.
    """
    path = existing_file(path, "factor table (Parquet)")
    pq = _parquet()
    import pyarrow as pa

    try:
        with pq.ParquetFile(path) as file:
            about = _about(path, file)
            names = [_FACTOR + str(name) for name in about["names"]]
            extra = [name for name in _COLUMNS if name != "ids" or "ids" in file.schema_arrow.names]
            _check_types(path, file.schema_arrow, names, extra)
            read = file.read(columns=["case", *names, *extra])
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path} is no sound Parquet file ({reason}); fetch or export it again") from None
    if nulls := [name for name in read.column_names if read[name].null_count]:
        raise DataError(f"{path} has empty cells in {', '.join(nulls)}; {_AGAIN}")
    column: dict[str, Any] = {name: read[name].to_numpy() for name in read.column_names}
    offsets = np.concatenate([[0], np.cumsum(np.array(about["sizes"], dtype=np.int64))]).astype(np.int64)
    if not np.array_equal(column["case"], np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))):
        raise DataError(f"{path} has been changed: its rows are not those of its cases; {_AGAIN}")
    for name in (*names, "age_days"):
        if not np.isfinite(column[name]).all():
            raise DataError(f"{path}: {name} has a value that is no finite number; {_AGAIN}")
    rows = len(column["case"])
    columns: dict[str, Any] = {name: column.get(name) for name in _COLUMNS}
    try:
        table = FactorTable(
            names=tuple(about["names"]),
            definition=about["definition"],
            definition_version=about["definition_version"],
            times=np.array(about["times"], dtype=np.int64).astype("datetime64[s]"),
            ends=np.array(about["ends"], dtype=np.int64).astype("datetime64[s]"),
            offsets=offsets,
            factors=np.stack([column[n] for n in names], axis=1)
            if names
            else np.empty((rows, 0), np.float32),
            informed=np.array(about["informed"], dtype=bool),
            source=about["source"],
            **columns,
        )
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    if table.digest() != about["digest"]:
        raise DataError(f"{path} has been changed since it was written (its digest differs); {_AGAIN}")
    return table


_AGAIN = "export it again with `memvalue features export`"

#: What the metadata holds, and of which JSON type.
_ABOUT: dict[str, type] = {
    "names": list, "definition": dict, "definition_version": str, "source": str, "informed": list,
    "times": list, "ends": list, "sizes": list, "digest": str,
}  # fmt: skip


def _about(path: Path, file: Any) -> dict[str, Any]:
    """The metadata of a file that is ours, checked."""
    raw = (file.schema_arrow.metadata or {}).get(KEY)
    if raw is None:
        raise DataError(
            f"{path} is a Parquet file, but no factor table; make one with `memvalue features export`"
        )
    if file.metadata.num_rows > MAX_ROWS or len(raw) > MAX_METADATA:
        raise DataError(
            f"{path} says that it has {file.metadata.num_rows:,} rows and {len(raw):,} bytes of metadata; "
            f"more than {MAX_ROWS:,} rows or {MAX_METADATA:,} bytes are not read. Export fewer cases a file"
        )
    try:
        about = json.loads(raw)
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DataError(f"{path} has unreadable metadata; {_AGAIN}")
    if about.get("version") != VERSION:
        raise DataError(
            f"{path} is a factor table of format {about.get('version')!r}, this package reads {VERSION}; "
            "install the memvalue that wrote it, or export it again"
        )
    wrong = [key for key, kind in _ABOUT.items() if not isinstance(about.get(key), kind)]
    if wrong:
        raise DataError(f"{path} has unreadable metadata ({', '.join(wrong)}); {_AGAIN}")
    cases = len(about["sizes"])
    whole = [*about["times"], *about["ends"], *about["sizes"]]
    sound = (
        all(type(v) is int and abs(v) < 2**62 for v in whole)
        and all(v >= 0 for v in about["sizes"])
        and sum(about["sizes"]) == file.metadata.num_rows
        and len(about["times"]) == len(about["ends"]) == cases
        and all(isinstance(n, str) and n.isprintable() for n in about["names"])
        and about["source"].isprintable()
        and len(set(about["names"])) == len(about["names"]) == len(about["informed"]) <= MAX_FACTORS
        and all(isinstance(v, bool) for v in about["informed"])
    )
    if not sound:
        raise DataError(f"{path} has metadata that does not fit its rows; {_AGAIN}")
    return about


def _check_types(path: Path, schema: Any, factors: list[str], extra: list[str]) -> None:
    import pyarrow as pa

    wanted = {"case": "int32", **dict.fromkeys(factors, "float"), **{k: _COLUMNS[k] for k in extra}}
    for name, kind in wanted.items():
        found = schema.field(name).type if schema.get_field_index(name) >= 0 else None
        if found != pa.type_for_alias(kind.replace("float32", "float")):
            said = "is missing" if found is None else f"has type {found}"
            raise DataError(f"{path}: column {name} {said}, expected {kind}; {_AGAIN}")


def _parquet() -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError("factor tables need pyarrow: pip install 'memvalue[train]'") from None
    return pq
