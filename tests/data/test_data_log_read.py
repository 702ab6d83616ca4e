"""Reading a business's log from files and databases."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logged_business import event, iso, log_of, write_lines, written

from memvalue.data import DataError
from memvalue.data.logs import Log, read_log
from memvalue.data.logs.log import KINDS

ROWS = [
    written(0, "a", role="assistant", session="s1", trust=0.5, pinned=True),
    event("opened", 5, "a", actor="ann", signal=0.75, weight=2, active_hours=1.5),
    event("shown", 1, "b"),
]


def seconds(log: Log) -> list[float]:
    """Hours since the start of the tests' logs."""
    start = np.datetime64(datetime.fromisoformat(iso(0)).replace(tzinfo=None), "us")
    return ((log.time - start) / np.timedelta64(3600, "s")).tolist()


def test_one_file_with_texts_on_the_writings_is_enough(tmp_path: Path) -> None:
    log = read_log(write_lines(tmp_path / "log.jsonl", ROWS))
    assert (log.memories, len(log)) == (2, 3)
    assert log.ids == ("a", "b")
    assert [KINDS[k] for k in log.kind] == ["written", "shown", "opened"]  # in order of time
    assert seconds(log) == [0, 1, 5]
    assert log.sequence.tolist() == [0, 2, 1]
    assert [log.actors[a] for a in log.actor] == ["user", "user", "ann"]
    assert log.signal.tolist() == [1, 1, 0.75] and log.weight.tolist() == [1, 1, 2]
    assert log.active_hours[2] == 1.5 and math.isnan(log.active_hours[0])
    assert log.roles == ("assistant", "user")
    assert log.text.tolist() == ["My order is 4471.", None, None]
    assert log.trust[0] == 0.5 and log.pinned.tolist() == [True, False]


def test_memories_may_come_from_a_dump_of_the_store(tmp_path: Path) -> None:
    dump = [{"id": "a", "text": "Old.", "role": "user", "time": iso(-48), "session": 3, "stratum": "x"}]
    events = write_lines(tmp_path / "log.jsonl", [event("opened", 5), event("written", 6, text="New.")])
    log = read_log(events, memories=write_lines(tmp_path / "m.jsonl", dump))
    assert log.texts == ("Old.",) and log.text.tolist() == [None, "New."]
    assert str(log.there()[0]) == "2022-12-31T08:00:00.000000"


def test_ids_give_the_order_of_logging_and_others_are_ignored() -> None:
    rows = [event("opened", 0, id=7), event("shown", 0, id=3), event("opened", 1, id=5)]
    log = log_of(rows)
    assert log.numbered
    assert [KINDS[k] for k in log.kind] == ["shown", "opened", "opened"]
    assert not log_of([*rows, event("opened", 2, id=5)]).numbered
    assert not log_of([*rows, event("opened", 2, id="uuid")]).numbered
    assert not log_of([*rows, event("opened", 2)]).numbered


def test_a_memory_without_a_session_belongs_to_its_day_and_numbers_may_be_names() -> None:
    log = log_of([written(0, 7, session=4), written(1, "b"), written(2, "c", session="4")])  # type: ignore[arg-type]
    assert log.ids == ("7", "b", "c")
    assert log.sessions.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"kind": "opened", "time": iso(0)}, "line 2 lacks memory"),
        ({"memory": "a", "time": iso(0)}, "line 2 lacks kind"),
        ({"memory": "a", "kind": "opened"}, "line 2 lacks time"),
        (event("used"), "kind is 'used', not one of written, shown, opened"),
        (event("opened") | {"time": "2023-05-20T02:21:00"}, "no offset; write"),
        (event("opened") | {"time": 1684549260}, "not a time like"),
        (event("opened") | {"time": None, "time_us": 10**18}, "are the units right"),
        (event("opened", signal=1.5), "signal is 1.5 .a number., not a number from 0 to 1"),
        (event("opened", signal=math.nan), "signal is nan"),
        (event("opened", weight=-1), "weight is -1"),
        (event("opened", weight=math.inf), "weight is inf"),
        (event("opened", weight=True), "weight is True"),
        (event("opened", weight=10**400), "weight is 1"),
        (event("opened", weight="2"), "weight is '2' .a text."),
        (event("opened", active_hours=-1), "active_hours is -1"),
        (event("opened", memory=""), "memory is empty"),
        (event("opened", memory=[1]), "memory is a list, not a name"),
        (event("opened", actor=""), "actor is empty"),
        (event("opened", actor=["x"]), "actor is a list"),
        (written(text=5), "text is a number, not a text"),
        (written(role=""), "role is empty"),
        (written(session=1.5), "session is 1.5"),
        (written(position=-1), "position is -1"),
        (written(trust=2), "trust is 2"),
        (written(pinned="yes"), "pinned is 'yes'"),
        ("a text", "line 2 is a text, not an object"),
    ],
)
def test_a_malformed_event_says_where_and_what(tmp_path: Path, row: Any, says: str) -> None:
    path = write_lines(tmp_path / "log.jsonl", [written(), row])
    with pytest.raises(DataError, match=says):
        read_log(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n \n", "holds no event"),
        (b'{"memory": "a"', "line 1 is not a JSON object on one line"),
        (b"\xff\xfe{}", "line 1 is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"weight": ' + b"1" * 5000 + b"}", "is not valid JSON"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "log.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_log(tmp_path / "log.jsonl")


def test_a_path_that_is_wrong_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_log(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="is a directory"):
        read_log(tmp_path)
    log = write_lines(tmp_path / "log.jsonl", ROWS)
    with pytest.raises(DataError, match="no database, so it has no table 'x'"):
        read_log(log, table="x")
    with pytest.raises(DataError, match="does not exist"):
        read_log(log, memories=tmp_path / "none.jsonl")
    with pytest.raises(DataError, match=r"line 2: id 'a' is also that of .*line 1; ids must differ"):
        dump = [{"id": "a", "text": "", "role": "user", "time": iso(0)}] * 2
        read_log(log, memories=write_lines(tmp_path / "m.jsonl", dump))
    with pytest.raises(DataError, match="lacks text, role; a memory needs id, text, role and time"):
        read_log(log, memories=write_lines(tmp_path / "m.jsonl", [{"id": "a", "time": iso(0)}]))


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_parquet_with_text_times_timestamps_or_microseconds_is_the_same_log(tmp_path: Path) -> None:
    names = sorted({k for row in ROWS for k in row})
    full = [{k: row.get(k) for k in names} for row in ROWS]
    wanted = log_of(ROWS).digest()
    moments = [datetime.fromisoformat(r["time"]) for r in full]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    stamps = [
        {**r, "time_us": (m - epoch) // timedelta(microseconds=1)} for r, m in zip(full, moments, strict=True)
    ]
    for name, rows in (
        ("text", full),
        ("stamp", [{**r, "time": m} for r, m in zip(full, moments, strict=True)]),
        ("us", [{k: v for k, v in r.items() if k != "time"} for r in stamps]),
    ):
        assert read_log(parquet(tmp_path / f"{name}.parquet", rows)).digest() == wanted, name
    naive = [{**r, "time": m.replace(tzinfo=None)} for r, m in zip(full, moments, strict=True)]
    with pytest.raises(DataError, match=r"row 1: time is .* without a time zone"):
        read_log(parquet(tmp_path / "naive.parquet", naive))
    with pytest.raises(
        DataError, match=r"lacks the columns memory, time \(or time_us\) of events; it has kind"
    ):
        read_log(parquet(tmp_path / "other.parquet", [{"kind": "opened"}]))
    whole = (tmp_path / "text.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="no sound Parquet file"):
        read_log(tmp_path / "cut.parquet")


def database(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE events (memory, kind, time, actor, signal, weight)")
    connection.execute("CREATE TABLE pages (id, text, role, time, pinned)")
    connection.execute("INSERT INTO pages VALUES ('a', 'Text.', 'user', ?, 1)", [iso(-1)])
    connection.execute("INSERT INTO events VALUES ('a', 'opened', ?, NULL, 1, 1)", [iso(3)])
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("name", [str, lambda path: f"sqlite:///{path}"])
def test_a_database_brings_events_and_memories(tmp_path: Path, name: Callable[[Path], str]) -> None:
    pytest.importorskip("sqlalchemy")
    path = database(tmp_path / "acme #1.db")
    before = path.read_bytes()
    log = read_log(name(path), memories="pages")
    assert log.texts == ("Text.",) and log.pinned.tolist() == [True]
    assert seconds(log) == [3]
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(DataError, match=r"table none of .* cannot be read: no such table"):
        read_log(name(path), table="none")
    with pytest.raises(DataError, match="lacks the columns memory, kind of events; it has id, text"):
        read_log(name(path), table="pages")
    with pytest.raises(DataError, match=r"none.jsonl does not exist"):
        read_log(name(path), memories="none.jsonl")
    with pytest.raises(DataError, match="neither a file nor a name"):
        read_log(name(path), table='events"; DROP TABLE events; --')


def test_a_database_without_events_names_its_tables(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE things (x)")
    connection.commit()
    connection.close()
    with pytest.raises(DataError, match="no table events or memvalue_events; name one of things"):
        read_log(tmp_path / "x.db")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"x" * 500)
    with pytest.raises(DataError, match=r"broken.db cannot be read"):
        read_log(tmp_path / "broken.db")


SECRET = "p%40ss-w0rd"


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        (
            f"postgresql://bob:{SECRET}@127.0.0.1:1/shop",
            "postgresql.psycopg://127.0.0.1/shop cannot be reached",
        ),
        (f"postgresql+psycopg://bob@127.0.0.1:1/shop?password={SECRET}", "cannot be reached"),
        (f"postgresql://bob:{SECRET}@127.0.0.1:port/shop", "the database URI cannot be read"),
        (f"nosuch://bob:{SECRET}@host/shop", "SQLAlchemy knows no database called 'nosuch'"),
        (f"postgresql+nosuch://bob:{SECRET}@host/shop", "knows no database called 'postgresql.nosuch'"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_without_its_password(uri: str, says: str) -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises(DataError, match=says) as caught:
        read_log(uri)
    assert "ss-w0rd" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_a_missing_driver_names_its_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DataError, match=r"needs the driver psycopg: pip install 'memvalue\[postgres\]'"):
        read_log(f"postgresql+psycopg://bob:{SECRET}@127.0.0.1:1/shop")
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(DataError, match="needs the driver pymysql: pip install 'pymysql'"):
        read_log(f"mysql+pymysql://bob:{SECRET}@127.0.0.1:1/shop")
    with pytest.raises(DataError, match=r"none/there.db does not exist"):
        read_log("sqlite:///none/there.db")
    path = parquet(tmp_path / "x.parquet", [event("opened")])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"needs pyarrow: pip install 'memvalue\[train\]'"):
        read_log(path)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(DataError, match=r"needs SQLAlchemy: pip install 'memvalue\[train\]'"):
        read_log("sqlite:///x.db")


def test_columns_that_contradict_each_other_are_refused() -> None:
    from dataclasses import replace

    log = log_of(ROWS)
    for changed, says in (
        ({"kind": log.kind[:2]}, "Log.memory has 3 rows, Log.kind has 2"),
        ({"ids": ("a", "a")}, "ids must differ"),
        ({"memory": log.memory + 5}, "Log.memory names row"),
        ({"time": log.time[::-1]}, "Log.time must not decrease"),
        ({"time": log.time.astype("datetime64[s]")}, r"must be datetime64\[us\]"),
        ({"signal": log.signal + 1}, "signal must lie"),
        ({"weight": log.weight * np.nan}, "weight must be finite"),
        ({"trust": log.trust + 2}, "trust must lie"),
        ({"active_hours": -log.active_hours}, "active_hours must be finite"),
        ({"positions": log.positions - 9}, "positions must be 0 or more"),
        ({"actor": log.actor + 9}, "Log.actor names row"),
    ):
        with pytest.raises(DataError, match=says):
            replace(log, **changed)  # type: ignore[arg-type]


names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5).filter(str.strip)
moments = st.integers(-(10**6), 10**6).map(lambda ms: iso(ms / 3_600_000))


@given(
    st.lists(
        st.fixed_dictionaries(
            {"memory": names, "kind": st.sampled_from(KINDS), "time": moments},
            optional={
                "actor": names,
                "signal": st.floats(0, 1),
                "weight": st.floats(0, 1e9),
                "active_hours": st.none() | st.floats(0, 1e9),
                "text": st.text(),
                "role": names,
                "session": st.integers(-(2**63), 2**63 - 1) | st.text(),
                "trust": st.none() | st.floats(0, 1),
                "pinned": st.booleans(),
            },
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_rows_read_back_from_a_file_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    log, wanted = read_log(path), log_of(rows)
    assert log.digest() == wanted.digest()
    assert len(log) == len(rows)
    assert sorted(log.sequence.tolist()) == list(range(len(rows)))
    for place, row in zip(np.argsort(log.sequence).tolist(), rows, strict=True):
        assert log.ids[log.memory[place]] == row["memory"]
        assert log.actors[log.actor[place]] == row.get("actor", "user")
        assert log.text[place] == (row.get("text") if row["kind"] == "written" else None)
    assert (log.there()[log.memory] <= log.time)[log.of("written")].all()
