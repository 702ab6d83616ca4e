"""Recalibration reads what the runtime's logs have written, without the runtime's code."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from postgres_server import PostgresServer

from memvalue.data import DataError
from memvalue.data.logs import Log, cases_from_log, clean_log, read_log
from memvalue.serve.history import EventLog, PostgresLog, Record, SqliteLog

START = datetime(2024, 3, 4, 9, tzinfo=UTC)


def records() -> list[Record]:
    """Three weeks of two memories."""
    out = [Record(m, "written", START, "agent", 0.7) for m in ("a", "b")]
    for day in range(1, 22):
        moment = START + timedelta(days=day, microseconds=day)
        out.append(Record("a" if day % 3 else "b", "opened", moment, "ann", 0.5 + day / 100, 2, day * 1.5))
    out.append(Record("a", "imported", START + timedelta(days=22), "peer", 0.25, stability=3.0))
    return out


def dump(path: Path) -> Path:
    lines = [
        f'{{"id": "{m}", "text": "Memory {m}.", "role": "user", "time": "{START.isoformat()}"}}\n'
        for m in "ab"
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def agrees(log: Log, wanted: list[Record]) -> None:
    assert len(log) == len(wanted) and log.numbered
    for i, record in enumerate(wanted):
        assert log.ids[log.memory[i]] == record.memory and log.actors[log.actor[i]] == record.actor
        assert log.time[i] == np.datetime64(record.time.replace(tzinfo=None), "us")
        assert (log.signal[i], log.weight[i]) == (record.signal, record.weight)
        if record.active_hours is not None:
            assert log.active_hours[i] == record.active_hours


def test_a_log_in_sqlite_is_read_while_it_is_open_and_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with SqliteLog(path) as writer:
        writer.append_many(records())
        log = read_log(path, memories=dump(tmp_path / "m.jsonl"))
        agrees(log, records())
        writer.append(Record("a", "opened", START + timedelta(days=30)))
        assert len(read_log(path)) == len(records()) + 1
    before = path.read_bytes()
    agrees(read_log(f"sqlite:///{path}").keep(np.arange(len(records()) + 1) < len(records())), records())
    assert path.read_bytes() == before
    made = cases_from_log(clean_log(log)[0])
    assert [case.id for case in made.dataset] == ["2024-03-11T09:00:00Z", "2024-03-18T09:00:00Z"]


def test_a_log_in_a_folder_that_may_not_be_written_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    with SqliteLog(folder / "events.db") as writer:
        writer.append_many(records())
    folder.chmod(0o555)
    try:
        agrees(read_log(folder / "events.db"), records())
    finally:
        folder.chmod(0o755)


def uri(server: PostgresServer) -> str:
    pytest.importorskip("sqlalchemy")
    return f"postgresql+psycopg://memvalue:unused-pass@/postgres?host={server.folder}"


def test_a_log_in_postgresql_is_read_by_its_uri(postgres: PostgresServer, tmp_path: Path) -> None:
    writer: EventLog = PostgresLog(postgres.conninfo, table="read_events")
    with writer:
        writer.append_many(records())
    log = read_log(uri(postgres), table="read_events", memories=dump(tmp_path / "m.jsonl"))
    agrees(log, records())
    assert "unused-pass" not in log.source and log.source == "postgresql+psycopg:///postgres"
    plain = uri(postgres).replace("postgresql+psycopg", "postgresql")
    assert (
        read_log(plain, table="public.read_events").digest()
        == read_log(uri(postgres), table="read_events").digest()
    )


def test_tables_of_ones_own_hold_events_and_memories(postgres: PostgresServer) -> None:
    with PostgresLog(postgres.conninfo, table="unrelated") as log, log._changing() as execute:
        execute(
            'CREATE TABLE "Uses" (memory text, kind text, time timestamptz, actor text, signal numeric)', ()
        )
        execute("CREATE TABLE pages (id int, text text, role text, time timestamptz, pinned boolean)", ())
        execute("INSERT INTO pages VALUES (1, 'One.', 'user', '2024-03-04T10:00+01:00', true)", ())
        for day in range(1, 30, 3):
            row = [f"2024-03-{day + 1:02d}T12:00Z", 0.75]
            execute("""INSERT INTO "Uses" VALUES ('1', 'opened', %s, NULL, %s)""", row)
        execute("CREATE TABLE naive (memory text, kind text, time timestamp)", ())
        execute("INSERT INTO naive VALUES ('1', 'opened', '2024-03-04')", ())
    log_read = read_log(uri(postgres), table="Uses", memories="pages")
    assert log_read.texts == ("One.",) and log_read.pinned.tolist() == [True]
    assert set(log_read.signal) == {0.75} and not log_read.numbered
    assert str(log_read.times[0]) == "2024-03-04T09:00:00.000000"
    with pytest.raises(
        DataError, match=r"naive, row 1: time is .* without a time zone; store it as timestamp with"
    ):
        read_log(uri(postgres), table="naive")
    with pytest.raises(DataError, match=r'table nothing of .*: relation "nothing" does not exist'):
        read_log(uri(postgres), table="nothing")


def test_a_database_without_a_log_names_what_it_has(postgres: PostgresServer) -> None:
    with PostgresLog(postgres.conninfo, table="some_log"):
        pass
    with pytest.raises(DataError, match=r"no table events or memvalue_events; name one of .*some_log"):
        read_log(uri(postgres))
