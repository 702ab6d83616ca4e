"""The log in one file: several processes, sudden death, damage."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from history_cases import at, event

from memvalue.serve.history import HistoryError, SqliteLog

WRITER = str(Path(__file__).parent / "history_writer.py")


def writer(log: Path, name: str, events: int, batch: int) -> subprocess.Popen[str]:
    # Away from the repository, whose folders would be taken for packages.
    return subprocess.Popen(
        [sys.executable, WRITER, str(log), name, str(events), str(batch)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=sys.prefix,
    )


@pytest.mark.parametrize("batch", [1, 50])
def test_kill_9_in_the_middle_of_writing_loses_no_acknowledged_event(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "events.db"
    process = writer(path, "a", 0, batch)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(400)]
    process.kill()  # SIGKILL
    lines += process.stdout.read().splitlines(keepends=True)
    process.wait()
    process.stdout.close()
    # A line that was cut off by the kill was not told.
    told = [int(line) for line in lines[1:] if line.endswith("\n")]
    assert len(told) >= 399
    with SqliteLog(path) as log:
        log.check()
        found = {r.id: r for r in log.read()}
        assert set(told) <= set(found)
        # Whole batches, in order, nothing made up; at most one that could not be told any more.
        assert [r.weight for r in found.values()] == list(range(len(found)))
        assert len(found) % batch == 0
        assert len(found) - len(told) <= 2 * batch
        assert log.append(event("shown")) > max(found)


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "events.db"  # which the first to come makes
    processes = [writer(path, f"m{i}", 200, batch) for i, batch in enumerate((1, 1, 10))]
    told = []
    for process in processes:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        told.append([int(line) for line in out.splitlines()[1:]])
    with SqliteLog(path) as log:
        log.check()
        found = list(log.read())
        for i, ids in enumerate(told):
            mine = [r for r in found if r.memory == f"m{i}"]
            assert [r.id for r in mine] == ids == sorted(ids)
            assert [r.weight for r in mine] == list(range(200))


def test_threads_share_a_log(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "events.db") as log:
        threads = [
            threading.Thread(
                target=lambda i=i: [log.append(event("shown", memory=f"m{i}")) for _ in range(100)]
            )
            for i in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [log.count(f"m{i}") for i in range(4)] == [100] * 4


def test_a_forked_process_may_go_on_with_the_log(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "events.db") as log:
        log.append(event("written"))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if log.append(event("opened", 1)) == 2 else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        log.append(event("shown", 2))
        assert [r.kind for r in log.read()] == ["written", "opened", "shown"]
        log.check()


def test_a_log_in_memory_stays_with_its_process() -> None:
    log = SqliteLog(":memory:")
    log.append_many([event("written"), event("shown", 1), event("shown", 2)])
    assert log.compact(at(9)).shown == 1
    assert log.purge("a") == 2
    log._pid += 1  # as in a fork
    with pytest.raises(HistoryError, match="give it a file"):
        log.count()


@pytest.mark.parametrize(("durability", "synchronous"), [("process", 1), ("power", 2)])
def test_durability_is_what_was_asked_for(tmp_path: Path, durability: str, synchronous: int) -> None:
    with SqliteLog(tmp_path / "events.db", durability=durability) as log:  # type: ignore[arg-type]
        assert log._rows("PRAGMA journal_mode", ()) == [("wal",)]
        assert log._rows("PRAGMA synchronous", ()) == [(synchronous,)]
        log.append(event("written"))
    with pytest.raises(ValueError, match="durability must be"):
        SqliteLog(tmp_path / "events.db", durability="none")  # type: ignore[arg-type]


def test_a_purged_memory_leaves_no_trace_in_the_files(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    log = SqliteLog(path)
    log.append_many([event("opened", i, "secret-name") for i in range(500)])
    log.append_many([event("opened", i, "other-name") for i in range(500)])
    assert log.purge("secret-name") == 500
    content = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert b"other-name" in content
    assert b"secret-name" not in content
    log.close()


def test_waiting_for_another_writer_ends_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with SqliteLog(path) as holder, SqliteLog(path, timeout=0.05) as log:
        with (
            holder._changing(),
            pytest.raises(HistoryError, match=r"another process kept it locked for 0.05 s"),
        ):
            log.append(event("written"))
        assert log.append(event("written")) == 1


def test_files_that_are_no_log_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE things (x)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(HistoryError, match="no event log; give the log its own file"):
        SqliteLog(other)
    assert other.read_bytes() == before  # its journal mode included
    assert [p.name for p in tmp_path.iterdir()] == ["other.db"]

    text = tmp_path / "notes.txt"
    text.write_text("not a database " * 100)
    with pytest.raises(HistoryError, match=r"notes.txt: damaged or not a log.*backup"):
        SqliteLog(text)
    assert text.read_text().startswith("not a database")

    with pytest.raises(HistoryError, match="does its folder exist"):
        SqliteLog(tmp_path / "nowhere" / "events.db")

    newer = tmp_path / "newer.db"
    SqliteLog(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(HistoryError, match="log format 99"):
        SqliteLog(newer)

    bare = tmp_path / "bare.db"
    SqliteLog(bare).close()
    with sqlite3.connect(bare) as connection:
        connection.execute("DROP TABLE events_meta")
    connection.close()
    with pytest.raises(HistoryError, match=r"bare.db: damaged or not a log: no such table.*backup"):
        SqliteLog(bare).generation()


def test_events_are_taken_out_even_where_there_is_no_room_for_a_copy(tmp_path: Path) -> None:
    class Full:
        """The connection, on a disk that has no room for the copy that VACUUM makes."""

        def __init__(self, connection: sqlite3.Connection) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> object:
            return getattr(self._connection, name)

        def execute(self, sql: str, *parameters: object) -> object:
            if sql == "VACUUM":
                raise sqlite3.OperationalError("database or disk is full")
            return self._connection.execute(sql, *parameters)

    path = tmp_path / "events.db"
    with SqliteLog(path) as log:
        log.append_many([event("opened", i, ("kept", "secret-name")[i % 2]) for i in range(400)])
        log._connection = Full(log._connection)  # type: ignore[assignment,arg-type]
        assert log.purge("secret-name") == 200
        assert log.count() == 200
        log.check()
        assert b"secret-name" not in b"".join(p.read_bytes() for p in tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_a_damaged_file_is_told_of(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "events.db"
    with SqliteLog(path) as log:
        log.append_many([event("opened", i, f"memory-{i}") for i in range(3000)])
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    else:
        data[8192 : len(data) // 2] = b"\xa5" * (len(data) // 2 - 8192)
    path.write_bytes(data)
    with pytest.raises(HistoryError, match=r"events.db: .*(damaged|malformed)"), SqliteLog(path) as log:
        log.check()
    with pytest.raises(HistoryError), SqliteLog(path) as log:
        list(log.read())


def test_an_unsound_event_of_another_program_is_named(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with SqliteLog(path) as log:
        log.append(event("written"))
        log._rows(
            "INSERT INTO events (memory, kind, actor, signal, weight, time_us) "
            "VALUES ('a', 'opened', 'x', 1, 1, 9e18)",
            (),
        )
        with pytest.raises(HistoryError, match="event 2 of the log is not sound"):
            list(log.read())
