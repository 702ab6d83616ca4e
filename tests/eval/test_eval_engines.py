"""Units of work on this machine's cores and on a Dask cluster: all are done, and a bad one fails alone."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import engine_units
import pytest

from memvalue.eval.engines import DaskEngine, Engine, Failed, LocalEngine

HERE = Path(__file__).resolve().parent


@contextlib.contextmanager
def started(workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A real scheduler's address, and its process before those of its workers."""
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "PYTHONPATH": str(HERE), "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}
    address = f"tcp://127.0.0.1:{port}"
    quiet: dict[str, Any] = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    running = [
        subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **quiet)
    ]
    for _ in range(workers):
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
        running.append(subprocess.Popen([*worker, "--no-nanny", "--no-dashboard"], **quiet))
    yield address, running
    for process in reversed(running):
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A real scheduler and three worker processes, the first of which a test may kill."""
    with started(3) as (address, running):
        yield address, running[1:]


@pytest.fixture(params=["here", "processes", "dask"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn."""
    if request.param == "dask":
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        made: Engine = DaskEngine(request.getfixturevalue("cluster")[0])
    else:
        made = LocalEngine(1 if request.param == "here" else 2)
    yield made
    made.close()


def run(
    engine: Engine, units: list[dict[str, Any]], more: Callable[[Any, Any], list[Any]] | None = None
) -> list[tuple[dict[str, Any], Any]]:
    """All outcomes, in the order of their coming."""
    outcomes = []

    def done(unit: dict[str, Any], outcome: Any) -> list[Any]:
        outcomes.append((unit, outcome))
        return more(unit, outcome) if more is not None else []

    engine.run(engine_units.work, units, done)
    return outcomes


def test_every_unit_is_done_once(engine: Engine) -> None:
    outcomes = run(engine, [{"n": n} for n in range(40)])
    assert sorted(u["n"] for u, _ in outcomes) == list(range(40))
    assert all(o == u["n"] ** 2 for u, o in outcomes)


def test_a_unit_may_bring_further_ones(engine: Engine) -> None:
    def more(unit: dict[str, Any], outcome: int) -> list[dict[str, Any]]:
        return [{"n": unit["n"] - 1}] if unit["n"] > 0 else []

    outcomes = run(engine, [{"n": 3}, {"n": 2}], more)
    assert sorted(u["n"] for u, _ in outcomes) == [0, 0, 1, 1, 2, 2, 3]


def test_a_bad_unit_fails_alone_with_its_reason(engine: Engine) -> None:
    units = [{"n": 1}, {"n": 2, "bad": True}, {"n": 3, "strange": True}, {"n": 4}]
    outcomes = {u["n"]: o for u, o in run(engine, units)}
    assert outcomes[1] == 1 and outcomes[4] == 16
    assert outcomes[2] == Failed("this unit is bad in two lines")
    assert outcomes[3] == Failed("unexpected KeyError: 'strange'")


def test_no_units_is_no_work(engine: Engine) -> None:
    assert run(engine, []) == []


def test_a_worker_that_dies_costs_a_retry_and_a_deadly_unit_fails_alone(tmp_path: Path) -> None:
    engine = LocalEngine(2)
    units: list[dict[str, Any]] = [{"n": n, "seconds": 0.01} for n in range(12)]
    units[3] = {"n": 3, "once": str(tmp_path / "once")}
    units[6] = {"n": 6, "deadly": True}
    outcomes = {u["n"]: o for u, o in run(engine, units)}
    engine.close()
    assert len(outcomes) == 12
    assert outcomes[3] == 9
    assert isinstance(outcomes[6], Failed) and "its worker died 3 times" in outcomes[6].reason
    assert all(outcomes[n] == n * n for n in range(12) if n != 6)


def test_a_dask_worker_killed_in_the_middle_costs_only_a_retry(
    cluster: tuple[str, list[subprocess.Popen[bytes]]],
) -> None:
    address, workers = cluster
    engine = DaskEngine(address)
    assert engine.workers == 3
    killer = threading.Timer(0.5, lambda: os.kill(workers[0].pid, signal.SIGKILL))
    killer.start()
    begun = time.monotonic()
    outcomes = run(engine, [{"n": n, "seconds": 0.1} for n in range(40)])
    killer.join()
    assert time.monotonic() - begun > 0.5  # it was killed while there was work
    assert sorted(u["n"] for u, _ in outcomes) == list(range(40))
    assert all(o == u["n"] ** 2 for u, o in outcomes)
    engine.close()


@pytest.mark.slow
def test_a_scheduler_that_ends_in_the_middle_is_told_and_waited_for_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with started(1) as (address, running):
        engine = DaskEngine(address)
        monkeypatch.setattr(engine._client, "_timeout", 3.0)
        killer = threading.Timer(1.0, running[0].kill)
        killer.start()
        begun = time.monotonic()
        with pytest.raises(ValueError, match="the scheduler has ended"):
            run(engine, [{"n": n, "seconds": 0.5} for n in range(40)])
        assert time.monotonic() - begun < 15
        killer.join()
        engine.close()
        running[1].kill()


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    monkeypatch.setattr("memvalue.eval.engines.dask_engine.PATIENCE", 0.5)
    with pytest.raises(ValueError, match=r"tcp://127\.0\.0\.1:9.*dask scheduler"):
        DaskEngine("tcp://127.0.0.1:9")


@pytest.mark.parametrize("workers", [0, -1])
def test_fewer_than_one_worker_is_refused(workers: int) -> None:
    with pytest.raises(ValueError, match="workers must be 1 or more"):
        LocalEngine(workers)
    with pytest.raises(ValueError, match="workers must be 1 or more"):
        DaskEngine(workers=workers)
