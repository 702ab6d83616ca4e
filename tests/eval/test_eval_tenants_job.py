"""Many businesses: each on its own, a bad one alone, what is done is not done again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import business_tables as b
import pytest

from memvalue.configs.recalibrate_config import RecalibrateConfig
from memvalue.eval.business import Business
from memvalue.eval.engines import DaskEngine, LocalEngine
from memvalue.eval.recalibrate_job import recalibrate_job
from memvalue.eval.tenant_units import WORK
from memvalue.eval.tenants import tenants
from memvalue.eval.tenants_job import tenants_job
from memvalue.serve.history import History, Record, SqliteLog

CONFIG = RecalibrateConfig(model=b.BASE)


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    """Three sound businesses and one whose file is no table."""
    folder = tmp_path / "logs"
    folder.mkdir()
    b.written(folder, "other", b.drawn(40, 1, b.OTHER))
    b.written(folder, "same", b.drawn(30, 3))
    b.written(folder, "few", b.drawn(4, 4))
    (folder / "poisoned.jsonl").write_text("this is no log\n", encoding="utf-8")
    return folder


def test_every_business_gets_a_model_and_a_report_and_a_bad_one_fails_alone(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "models"
    summary = tenants_job(CONFIG, tenants(folder), out)
    assert summary.decisions == {"other": "promote", "same": "keep-base", "few": "keep-base"}
    assert set(summary.failed) == {"poisoned"}
    assert "poisoned.jsonl, line 1" in summary.failed["poisoned"]
    names = sorted(p.name for p in out.iterdir())
    assert names == sorted(f"{n}.{s}" for n in ("other", "same", "few") for s in ("json", "onnx"))
    document = summary.to_dict()
    assert document["businesses"] == 4 and document["counts"] == {"keep-base": 2, "promote": 1}


@pytest.mark.parametrize("rows", [0, 1_000_000])  # a unit a fold; a unit a business
def test_it_decides_as_the_command_for_one_business_does(
    rows: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    tenants_job(CONFIG, tenants(folder), tmp_path / "models", whole_rows=rows)
    alone = tmp_path / "alone.onnx"
    recalibrate_job(CONFIG, Business("other", events=str(folder / "other.parquet")), alone)
    assert alone.read_bytes() == (tmp_path / "models" / "other.onnx").read_bytes()


@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_every_engine_gives_the_same_bytes(
    folder: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    if kind == "dask":
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    LocalEngine(2).close()  # joblib would reuse processes that began before the date was fixed
    engine: Any = LocalEngine(2) if kind == "processes" else DaskEngine(workers=2)
    one = tenants_job(CONFIG, tenants(folder), tmp_path / "one")
    two = tenants_job(CONFIG, tenants(folder), tmp_path / "two", whole_rows=2_000, engine=engine)
    engine.close()
    assert one.decisions == two.decisions
    assert one.failed == two.failed
    for name in one.decisions:
        first, second = (tmp_path / place / f"{name}.onnx" for place in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()


def test_a_rerun_skips_what_is_done_until_data_base_or_settings_change(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "models"
    tenants_job(CONFIG, tenants(folder), out)
    stamps = {p.name: p.stat().st_mtime_ns for p in out.iterdir()}
    again = tenants_job(CONFIG, tenants(folder), out)
    assert sorted(again.skipped) == ["few", "other", "same"] and not again.decisions
    assert {p.name: p.stat().st_mtime_ns for p in out.iterdir()} == stamps
    b.written(folder, "same", b.drawn(31, 3))
    (out / "few.onnx").unlink()
    changed = tenants_job(CONFIG, tenants(folder), out)
    assert sorted(changed.decisions) == ["few", "same"] and changed.skipped == ["other"]
    stricter = CONFIG.model_copy(update={"confidence": 0.99})
    assert len(tenants_job(stricter, tenants(folder), out).decisions) == 3


def test_a_dry_run_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "models"
    assert tenants_job(CONFIG, tenants(folder), out, dry_run=True).decisions["other"] == "promote"
    assert not out.exists()
    tenants_job(CONFIG, tenants(folder), out)
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    later = tenants_job(CONFIG, tenants(folder), out, dry_run=True)
    assert later.decisions["other"] == "keep-current"
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_a_run_that_is_killed_is_taken_up_where_it_was(folder: Path, tmp_path: Path) -> None:
    for n in range(8):
        b.written(folder, f"more{n}", b.drawn(40, 20 + n, b.OTHER))
    out = tmp_path / "models"
    code = (
        "import sys; from pathlib import Path; import business_tables as b\n"
        "from memvalue.configs.recalibrate_config import RecalibrateConfig\n"
        "from memvalue.eval.tenants import tenants; from memvalue.eval.tenants_job import tenants_job\n"
        "config = RecalibrateConfig(model=b.BASE)\n"
        "tenants_job(config, tenants(sys.argv[1]), Path(sys.argv[2]), whole_rows=2_000)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent)}
    run = subprocess.Popen([sys.executable, "-c", code, str(folder), str(out)], env=env)
    until = time.monotonic() + 60
    while not list(out.glob("*.json")) and time.monotonic() < until:
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    done = {p.stem for p in out.glob("*.json")}
    assert 0 < len(done) < 11
    kept = {name: (out / f"{name}.onnx").read_bytes() for name in done}
    summary = tenants_job(CONFIG, tenants(folder), out)
    assert done <= set(summary.skipped)
    assert len(summary.skipped) + len(summary.decisions) == 11
    assert {name: (out / f"{name}.onnx").read_bytes() for name in done} == kept
    # One that was cut off while it settled compares with what was in use then, not with half of its own work.
    assert all(d == "promote" for n, d in summary.decisions.items() if n.startswith("more"))
    tenants_job(CONFIG, [x for x in tenants(folder) if x.name != "poisoned"], out)
    assert not (out / WORK).exists()
    assert json.loads((out / "other.json").read_text())["decision"] == "promote"


def test_an_out_that_is_no_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="name a folder"):
        tenants_job(CONFIG, tenants(folder), tmp_path / "file")


def test_outcomes_are_recorded_and_a_rollback_is_respected(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed")
    from memvalue.train.registry import Registry

    store, out = f"sqlite:///{tmp_path}/mlflow.db", tmp_path / "models"
    some = [x for x in tenants(folder) if x.name in ("other", "few")]
    tenants_job(CONFIG, some, out, registry=store)
    registry = Registry(store)
    first, promoted = sorted(registry.history("other"), key=lambda v: v.number)
    assert (first.decision, promoted.decision, promoted.champion) == ("keep-base", "promote", True)
    assert [v.decision for v in registry.history("few")] == ["keep-base"]
    registry.rollback("other")
    b.written(folder, "other", b.drawn(41, 1, b.OTHER))
    tenants_job(CONFIG, some, out, registry=store)  # in use is the base again, so the fit is promoted again
    assert [v.decision for v in registry.history("other")] == ["promote", "promote", "keep-base"]
    before = len(registry.history("other"))
    b.written(folder, "other", b.drawn(42, 1, b.OTHER))
    tenants_job(CONFIG, some, out, registry=store, dry_run=True)
    assert len(registry.history("other")) == before


class ElsewhereEngine(LocalEngine):
    """Runs units in another working folder than the job's, as a worker of another machine does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(1)
        self._folder = folder

    def run(self, call: Any, units: Any, done: Any) -> None:
        def there(unit: Any) -> Any:
            with contextlib.chdir(self._folder):
                return call(unit)

        super().run(there, units, done)


def test_relative_paths_hold_for_workers_in_another_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.onnx").write_bytes(b.BASE.read_bytes())
    config = RecalibrateConfig(model=Path("base.onnx"), cache=Path("cache"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    summary = tenants_job(config, tenants("logs"), Path("models"), engine=ElsewhereEngine(elsewhere))
    assert set(summary.failed) == {"poisoned"}
    assert (tmp_path / "models" / "other.onnx").exists()
    assert not list(elsewhere.iterdir())


def test_two_runs_in_one_folder_do_not_mix(folder: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="no file locks on this system")
    out = tmp_path / "models"
    (out / WORK).mkdir(parents=True)
    with open(out / WORK / "lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for dry_run in (False, True):
            with pytest.raises(ValueError, match="another run is at work there"):
                tenants_job(CONFIG, tenants(folder), out, dry_run=dry_run)
    assert (out / WORK).exists()
    assert len(tenants_job(CONFIG, tenants(folder), out).decisions) == 3


def test_a_dry_run_leaves_what_a_run_that_was_cut_off_has_done(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "models"
    (out / WORK).mkdir(parents=True)
    (out / WORK / "other.parquet").write_bytes(b"half")
    tenants_job(CONFIG, tenants(folder), out, dry_run=True)
    assert (out / WORK / "other.parquet").read_bytes() == b"half"


def test_what_is_done_is_recorded_once_a_registry_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[str] = []

    def record(registry: str, result: Any, *_: Any) -> str:
        recorded.append(result.business)
        return "1"

    monkeypatch.setattr("memvalue.eval.tenant_units.register", record)
    monkeypatch.setattr("memvalue.eval.tenant_units.champion_file", lambda *_: None)
    out, store = tmp_path / "models", f"sqlite:///{tmp_path}/mlflow.db"
    tenants_job(CONFIG, tenants(folder), out)
    assert not recorded
    assert not tenants_job(CONFIG, tenants(folder), out, registry=store).skipped
    assert sorted(recorded) == ["few", "other", "same"]
    assert len(tenants_job(CONFIG, tenants(folder), out, registry=store).skipped) == 3


def test_a_business_named_as_the_base_does_not_write_over_it(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "models"
    out.mkdir()
    base = out / "other.onnx"
    base.write_bytes(b.BASE.read_bytes())
    summary = tenants_job(RecalibrateConfig(model=base), tenants(folder), out)
    assert "would be written over" in summary.failed["other"]
    assert base.read_bytes() == b.BASE.read_bytes()
    assert set(summary.decisions) == {"same", "few"}


def test_events_in_the_journal_of_an_open_log_count_as_new_data(tmp_path: Path) -> None:
    log = SqliteLog(str(tmp_path / "events.sqlite"))
    history = History(log)
    history.append(Record("a", "written", datetime(2026, 1, 1, tzinfo=UTC)))
    business = Business("acme", events=str(tmp_path / "events.sqlite"))
    before = business.fingerprint()
    assert before == business.fingerprint()
    history.append(Record("a", "opened", datetime(2026, 1, 2, tzinfo=UTC)))
    assert business.fingerprint() != before
    log.close()
