"""Fixtures of the history: a server of PostgreSQL where one is installed, and a log of either kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import PostgresServer, binaries

from memvalue.serve.history import EventLog, PostgresLog, SqliteLog

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server; the test is skipped where PostgreSQL or psycopg is not installed."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (extra postgres)")
    folder = binaries()
    if folder is None:
        pytest.skip("PostgreSQL's initdb and postgres are not installed")
    server = PostgresServer(folder)
    try:
        server.start()
        yield server
        server.stop()
    finally:
        server.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    """An empty log of each kind."""
    if request.param == "sqlite":
        made: EventLog = SqliteLog(tmp_path / "events.db")
    else:
        server = request.getfixturevalue("postgres")
        made = PostgresLog(server.conninfo, table=f"events_{next(_numbers)}")
    with made:
        yield made
