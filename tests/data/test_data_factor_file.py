"""Factor tables on disk: numbers alone, the same bytes for the same table, and nothing that was changed."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from memvalue.data import DataError
from memvalue.data.factor_file import KEY, is_table, read_table, salted_ids, write_table
from memvalue.data.factor_table import FactorTable

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def table(sizes: tuple[int, ...] = (3, 0, 2), seed: int = 0, ids: bool = True, names: int = 7) -> FactorTable:
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    times = np.datetime64("2024-01-01", "s") + np.arange(len(sizes)) * np.timedelta64(7 * 86_400, "s")
    return FactorTable(
        names=tuple(f"factor {i}" for i in range(names)),
        definition={"name": "default", "position": False, "encoder": "none", "regime": "batch"},
        definition_version="1",
        times=times,
        ends=times + np.timedelta64(86_400, "s"),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        factors=rng.random((n, names), dtype=np.float32),
        informed=np.arange(names) % 2 == 0,
        machine=rng.random(n) < 0.5,
        tokens=rng.integers(1, 100, n),
        age_days=rng.random(n, dtype=np.float32) * 100,
        uses=np.where(rng.random(n) < 0.5, np.nan, rng.random(n)).astype(np.float32),
        needed=rng.random(n) < 0.5,
        obsolete=rng.random(n) < 0.5,
        ids=rng.integers(0, 2**64, n, dtype=np.uint64) if ids else None,
        source="log",
    )


@given(
    st.lists(st.integers(0, 4), max_size=5), st.integers(0, 100), st.booleans(), st.integers(0, 9),
    st.sampled_from(["log", "transcript", "cases", "simulated"]),
)  # fmt: skip
def test_a_table_reads_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], seed: int, ids: bool, names: int, source: str
) -> None:
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    made = replace(table(tuple(sizes), seed, ids, names), source=source)
    write_table(made, path)
    back = read_table(path)
    assert back.digest() == made.digest()
    assert is_table(path)
    for field in fields(FactorTable):
        one, other = getattr(made, field.name), getattr(back, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
        else:
            assert one == other


@given(hnp.arrays(np.float32, (4, 2), elements=st.floats(0, 1, width=32)))
def test_every_bit_of_the_factors_is_kept(tmp_path_factory: pytest.TempPathFactory, factors: Any) -> None:
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    made = replace(table((4,), names=2), factors=factors)
    write_table(made, path)
    assert read_table(path).factors.tobytes() == made.factors.tobytes()


def test_equal_tables_give_equal_bytes_and_the_file_appears_whole(tmp_path: Path) -> None:
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    write_table(table(), one)
    write_table(table(), other)
    assert one.read_bytes() == other.read_bytes()
    write_table(table(seed=1), one)
    assert one.read_bytes() != other.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.parquet", "other.parquet"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    write_table(table(), path)

    def broken(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="No space"):
        write_table(table(seed=1), path)
    monkeypatch.undo()
    assert read_table(path).digest() == table().digest()
    assert len(list(tmp_path.iterdir())) == 1


def test_the_file_holds_numbers_only(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(table(), path)
    read = pq.read_table(path)
    assert {str(f.type) for f in read.schema} == {"int32", "float", "bool", "int64", "uint64"}
    about = json.loads(read.schema.metadata[KEY])
    assert set(about) == {
        "format", "version", "names", "definition", "definition_version", "source", "informed", "times",
        "ends", "sizes", "digest",
    }  # fmt: skip


def test_types_that_differ_in_width_alone_are_brought_into_line(tmp_path: Path) -> None:
    made = table()
    wide = replace(
        made, times=made.times.astype("datetime64[ms]"), factors=made.factors.astype(np.float64),
        tokens=made.tokens.astype(np.int32),
    )  # fmt: skip
    write_table(wide, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").digest() == made.digest()
    with pytest.raises(DataError, match="definition cannot be written as JSON"):
        write_table(replace(made, definition={"x": object()}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="definition cannot be written as JSON"):
        write_table(replace(made, definition={"x": float("nan")}), tmp_path / "t.parquet")


def rewritten(path: Path, column: Callable[[Any], Any] | None = None, **about: Any) -> Path:
    """The file with another table or other metadata, and the digest that it had."""
    read = pq.read_table(path)
    told = json.loads(read.schema.metadata[KEY]) | about
    changed = read if column is None else column(read)
    pq.write_table(changed.replace_schema_metadata({KEY: json.dumps(told).encode()}), path)
    return path


def replaced(name: str, change: Callable[[np.ndarray], Any]) -> Callable[[Any], Any]:
    def apply(read: Any) -> Any:
        values = change(read[name].to_numpy().copy())
        return read.set_column(read.column_names.index(name), name, pa.array(values))

    return apply


def first(value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(column: np.ndarray) -> np.ndarray:
        column[0] = value
        return column

    return change


@pytest.mark.parametrize(
    ("column", "about", "says"),
    [
        (replaced("factor:factor 0", first(0.123)), {}, "has been changed since it was written"),
        (replaced("needed", lambda c: ~c), {}, "has been changed"),
        (replaced("ids", first(7)), {}, "has been changed"),
        (replaced("factor:factor 1", first(np.nan)), {}, "factor 1 has a value that is no finite number"),
        (replaced("age_days", first(np.inf)), {}, "age_days has a value that is no finite number"),
        (replaced("factor:factor 1", first(1.5)), {}, "factor 1 of row 0 is 1.5, not a number from 0 to 1"),
        (replaced("tokens", first(0)), {}, "tokens must be 1 or more"),
        (replaced("case", first(1)), {}, "its rows are not those of its cases"),
        (
            replaced("tokens", lambda c: c.astype(np.int32)),
            {},
            "column tokens has type int32, expected int64",
        ),
        (replaced("needed", lambda c: [None, *c.tolist()[1:]]), {}, "has empty cells in needed"),
        (lambda read: read.drop_columns(["needed"]), {}, "column needed is missing"),
        (lambda read: read.drop_columns(["ids"]), {}, "has been changed"),
        (lambda read: read.slice(1), {}, "metadata that does not fit its rows"),
        (None, {"source": "elsewhere"}, "has been changed"),
        (None, {"definition": {"name": "other"}}, "has been changed"),
        (None, {"informed": [True]}, "does not fit"),
        (None, {"informed": [1] * 7}, "does not fit"),
        (None, {"sizes": [5, -1, 1]}, "does not fit"),
        (None, {"times": [0, 1, 2**70]}, "does not fit"),
        (None, {"times": [3, 2, 1]}, "times must not decrease"),
        (None, {"ends": [0, 0, 0]}, "ends lies before"),
        (None, {"names": ["x"] * 7}, "does not fit"),
        (None, {"source": "log\x1b[31m"}, "does not fit"),
        (None, {"names": 5}, r"unreadable metadata .names."),
        (None, {"definition": None}, r"unreadable metadata .definition."),
        (None, {"format": "another"}, "unreadable metadata"),
        (None, {"version": 2}, "factor table of format 2, this package reads 1"),
    ],
)
def test_what_was_changed_or_does_not_fit_is_refused(
    tmp_path: Path, column: Any, about: Any, says: str
) -> None:
    path = tmp_path / "t.parquet"
    write_table(table(), path)
    with pytest.raises(DataError, match=says) as caught:
        read_table(rewritten(path, column, **about))
    assert str(path) in str(caught.value)


def test_foreign_damaged_and_oversized_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    with pytest.raises(DataError, match="does not exist"):
        read_table(path)
    path.write_text("case,needed\n0,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="no sound Parquet file"):
        read_table(path)
    assert not is_table(path) and not is_table(tmp_path / "none") and not is_table(tmp_path)
    pq.write_table(pa.table({"case": [0]}), path)
    with pytest.raises(DataError, match="a Parquet file, but no factor table; make one with"):
        read_table(path)
    assert not is_table(path)
    pq.write_table(pa.table({"case": [0]}).replace_schema_metadata({KEY: b"{"}), path)
    with pytest.raises(DataError, match="unreadable metadata"):
        read_table(path)
    write_table(table(), path)
    whole = path.read_bytes()
    for cut in (len(whole) // 2, 10):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match="no sound Parquet file"):
            read_table(path)
    write_table(table(), path)
    monkeypatch.setattr("memvalue.data.factor_file.MAX_ROWS", 4)
    with pytest.raises(DataError, match=r"says that it has 5 rows.* more than 4 rows"):
        read_table(path)
    with pytest.raises(DataError, match="make it first"):
        write_table(table(), tmp_path / "none" / "t.parquet")
    with pytest.raises(DataError, match="is a directory"):
        write_table(table(), tmp_path)


@given(st.integers(0, 5000), st.integers(1, 255))
def test_a_byte_that_flips_is_noticed_or_does_no_harm(
    tmp_path_factory: pytest.TempPathFactory, place: int, flip: int
) -> None:
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    write_table(table(), path)
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= flip
    path.write_bytes(content)
    try:
        found = read_table(path)
    except DataError:
        return
    assert found.digest() == table().digest()


def test_salted_ids_are_those_of_hmac() -> None:
    salt = b"0123456789abcdef"
    wanted = [
        int.from_bytes(hmac.new(salt, name.encode(), hashlib.sha256).digest()[:8], "little") for name in "ab"
    ]
    found = salted_ids(iter("ab"), salt)
    assert found.dtype == np.uint64 and found.tolist() == wanted
    assert salted_ids(["a", "ß", "\ud800"], b"another salt, 16+").tolist()[0] != wanted[0]
    assert len(salted_ids([], salt)) == 0
    with pytest.raises(DataError, match="salt is empty"):
        salted_ids(["a"], b"")
