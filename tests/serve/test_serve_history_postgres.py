"""The log on a real server: several processes, a server that crashes, tables that are something else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from history_cases import event
from postgres_server import PostgresServer

from memvalue.serve.history import History, HistoryError, PostgresLog

WRITER = str(Path(__file__).parent / "history_writer.py")


def test_several_processes_write_at_once_and_a_reader_misses_nothing(postgres: PostgresServer) -> None:
    where = f"{postgres.conninfo}|several"  # the table is made by whoever comes first
    processes = [
        subprocess.Popen(
            [sys.executable, WRITER, where, f"m{i}", "150", str(batch)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=sys.prefix,
        )
        for i, batch in enumerate((1, 1, 10))
    ]
    with PostgresLog(postgres.conninfo, table="several") as log:
        seen: list[int] = []
        while any(p.poll() is None for p in processes):
            seen += [r.id for r in log.read(since=seen[-1] if seen else 0)]
        seen += [r.id for r in log.read(since=seen[-1] if seen else 0)]
        for i, process in enumerate(processes):
            out, _ = process.communicate()
            assert process.returncode == 0
            mine = list(log.read(memory=f"m{i}"))
            assert [r.id for r in mine] == [int(line) for line in out.splitlines()[1:]]
            assert [r.weight for r in mine] == list(range(150))
        assert seen == [r.id for r in log.read()]


def test_a_server_that_crashes_loses_no_acknowledged_event(postgres: PostgresServer) -> None:
    with PostgresLog(postgres.conninfo, table="crashed") as log:
        ids = [log.append(event("written", memory=f"m{i}")) for i in range(50)]
        postgres.stop("immediate")
        try:
            with pytest.raises(HistoryError, match="server cannot be used"):
                log.count()
        finally:
            postgres.start()
        assert [r.id for r in log.read()] == ids
        assert len(History(log).states) == 50


def test_tables_that_are_no_log_are_refused(postgres: PostgresServer) -> None:
    with PostgresLog(postgres.conninfo, table="sound") as log, log._changing() as execute:
        execute("CREATE TABLE other (x int)", ())
        execute("CREATE SCHEMA tenant_7", ())
    with pytest.raises(HistoryError, match="other is there, but is no event log"):
        PostgresLog(postgres.conninfo, table="other")
    with pytest.raises(HistoryError, match="use lower-case letters"):
        PostgresLog(postgres.conninfo, table='x"; DROP TABLE sound; --')
    with pytest.raises(HistoryError, match='schema "nowhere" does not exist'):
        PostgresLog(postgres.conninfo, table="nowhere.events")
    with PostgresLog(postgres.conninfo, table="tenant_7.events") as log:
        assert log.append(event("written")) == 1
    with PostgresLog(postgres.conninfo, table="tenant_7.events") as log:
        assert log.count() == 1


def test_a_server_that_is_not_there_is_told_of() -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")
    with pytest.raises(HistoryError, match="server cannot be used"):
        PostgresLog("host=/nowhere dbname=x password=hunter2")


def test_a_password_is_not_shown(postgres: PostgresServer) -> None:
    with PostgresLog(postgres.conninfo + " password=hunter2", table="shown_log") as log:
        assert "hunter2" not in repr(log)


def test_the_driver_is_loaded_only_when_it_is_needed() -> None:
    code = "import sys, memvalue.serve.history; sys.exit('psycopg' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=sys.prefix, check=False).returncode == 0


def test_without_psycopg_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(HistoryError, match=r"pip install 'memvalue\[postgres\]'"):
        PostgresLog("dbname=x")
