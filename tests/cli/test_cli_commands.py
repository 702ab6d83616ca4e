"""The commands on data that they make themselves: what is written, what is printed, what is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from memvalue.cli.main import app
from memvalue.features.names import FACTORS
from memvalue.serve import ValueModel

#: The published synthetic task brings its factors, so nothing is extracted and a fit takes a second.
TASK = "confound:cases=16"


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


def ok(*args: str | Path) -> Result:
    result = run(*args)
    assert result.exit_code == 0, (result.stderr, result.exception)
    return result


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A model fitted by the command, and the JSON that the command printed."""
    path = tmp_path_factory.mktemp("fit") / "new" / "folder" / "model.onnx"
    result = ok(
        *("fit", "--data", TASK, "--splits", "3", "--policies", "random,uniform", "--no-cache", "--json"),
        *("--budgets", "0.1,0.3,0.4", "--token-budgets", "0.1", "--out", path),
    )
    return path, json.loads(result.stdout)


def test_the_json_of_fit_has_the_promised_shape(fitted: tuple[Path, dict[str, Any]]) -> None:
    path, report = fitted
    assert {"spec", "digest", "cases", "memories"} <= set(report["data"])
    assert report["data"]["cases"] == 16
    assert report["data"]["memories"] == 16 * 20
    assert {"splits", "budgets", "seed"} <= set(report["protocol"])
    assert set(report["policies"]) == {"random", "uniform", "linear"}
    for record in report["policies"].values():
        assert {"turns", "tokens", "by_type", "source_controlled"} <= set(record)
        assert set(record["turns"]) == {"0.1", "0.3", "0.4"}
        assert set(record["tokens"]) == {"0.1"}
        for cell in record["turns"].values():
            assert set(cell) == {"mean", "std", "ci"}
            low, high = cell["ci"]
            assert 0 <= low <= high <= 1
    assert set(report["weights"]) == set(FACTORS)
    for weight in report["weights"].values():
        assert set(weight) == {"mean", "ci", "informed"}
    assert report["model"] == str(path)


def test_the_synthetic_task_is_learned(fitted: tuple[Path, dict[str, Any]]) -> None:
    _, report = fitted
    assert report["policies"]["linear"]["turns"]["0.4"]["mean"] == 1.0
    # 8 of 20 kept at random keep 40 % of the needed ones.
    assert report["policies"]["random"]["turns"]["0.4"]["mean"] == pytest.approx(0.4)


def test_the_model_says_what_it_was_fitted_on_and_whose_the_figures_are(
    fitted: tuple[Path, dict[str, Any]],
) -> None:
    path, report = fitted
    model = ValueModel.load(path)
    told = model.metadata
    assert told["data"]["digest"] == report["data"]["digest"]
    assert told["definition"]["name"] == "default"
    assert told["definition"]["encoder"] == "none"
    assert told["definition"]["regime"] == "batch"
    assert told["budgets"] == [0.05, 0.1, 0.2, 0.3]
    assert "half" in told["metrics"]["of"]
    assert told["metrics"]["turns"]["0.3"][0] == report["policies"]["linear"]["turns"]["0.3"]["mean"]
    assert told["calibration"]["by"] == "platt"
    assert told["calibration"]["memories"] == 16 * 20  # each memory once, by the half that had not seen it
    assert sum(model.weights.values()) == pytest.approx(1.0)
    assert any("all 16 cases" in note for note in report["notes"])


def test_nothing_but_the_model_is_left_in_the_folder(fitted: tuple[Path, dict[str, Any]]) -> None:
    path, _ = fitted
    assert [p.name for p in path.parent.iterdir()] == ["model.onnx"]


def test_equal_settings_give_equal_bytes(
    fitted: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("a.onnx", "b.onnx"):
        ok(
            *("fit", "--data", TASK, "--splits", "1", "--policies", "random", "--no-cache"),
            *("--out", tmp_path / name),
        )
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_a_network_is_fitted_on_request(tmp_path: Path) -> None:
    out = tmp_path / "mlp.onnx"
    ok(
        *("fit", "--data", TASK, "--model", "mlp", "--splits", "1", "--policies", "random", "--no-cache"),
        *("--out", out),
    )
    assert ValueModel.load(out).kind == "mlp"


def test_evaluate_says_when_a_model_has_seen_the_cases(fitted: tuple[Path, dict[str, Any]]) -> None:
    path, _ = fitted
    options = ("--splits", "2", "--policies", "random", "--no-cache", "--json")
    seen = json.loads(ok("evaluate", path, "--data", TASK, *options).stdout)
    fresh = json.loads(ok("evaluate", path, "--data", "confound:seed=5,cases=10", *options).stdout)
    assert set(seen["policies"]) == {"model", "random"}
    assert seen["model"] == str(path)
    assert any("not held out" in note for note in seen["notes"])
    assert not any("not held out" in note for note in fresh["notes"])
    assert fresh["policies"]["model"]["turns"]["0.4"]["mean"] > 0.9


def test_scores_have_a_row_a_memory_and_agree_between_formats(
    fitted: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    import pyarrow.parquet as pq

    path, _ = fitted
    answer = json.loads(
        ok("score", path, "--data", TASK, "--out", tmp_path / "s.jsonl", "--no-cache", "--json").stdout
    )
    assert answer == {"out": str(tmp_path / "s.jsonl"), "cases": 16, "rows": 320}
    ok("score", path, "--data", TASK, "--out", tmp_path / "s.parquet", "--no-cache")
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    table = pq.read_table(tmp_path / "s.parquet")
    wanted = ["case_id", "session_index", "turn_index", "role", "value", "depth", "forget_risk", *FACTORS]
    assert list(rows[0]) == wanted
    assert table.column_names == wanted
    assert table.to_pylist() == rows
    factors = np.array([[row[name] for name in FACTORS] for row in rows], np.float32)
    values = np.array([row["value"] for row in rows], np.float32)
    assert np.array_equal(ValueModel.load(path).value(factors), values)
    assert {row["depth"] for row in rows} <= {"shallow", "semantic", "schematic", "meta"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.jsonl", "s.parquet"]


def test_scores_stand_in_the_order_of_the_file(fitted: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    path, _ = fitted
    ok("score", path, "--data", TASK, "--out", tmp_path / "s.jsonl", "--no-cache")
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    places = [(row["case_id"], row["session_index"], row["turn_index"]) for row in rows]
    assert len(set(places)) == len(places)
    for case in {p[0] for p in places}:
        mine = [p[1:] for p in places if p[0] == case]
        assert mine == sorted(mine)


def test_inspect_shows_weights_and_the_verdict(fitted: tuple[Path, dict[str, Any]]) -> None:
    path, _ = fitted
    text = ok("inspect", path).stdout
    assert "linear value model (LinearValueModel), verified" in text
    assert all(name in text for name in FACTORS)
    found = json.loads(ok("inspect", path, "--json").stdout)
    assert found["verified"] is True
    assert found["problem"] is None
    assert found["digest"] == ValueModel.load(path).digest


def test_a_changed_model_is_refused_everywhere(fitted: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    path, _ = fitted
    content = path.read_bytes()
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(content.replace(b'"seed":0', b'"seed":1'))
    result = run("inspect", broken)
    assert result.exit_code == 2
    assert "NOT verified" in result.stdout
    assert "broken.onnx" in result.stderr
    assert run("evaluate", broken, "--data", TASK).exit_code == 2
    assert run("score", broken, "--data", TASK, "--out", tmp_path / "s.jsonl").exit_code == 2
    assert not (tmp_path / "s.jsonl").exists()


def test_data_digest_tells_what_there_is() -> None:
    facts = json.loads(ok("data", "digest", TASK, "--json").stdout)
    assert (facts["cases"], facts["memories"], len(facts["digest"])) == (16, 320, 64)
    text = ok("data", "digest", TASK, "--limit", "3").stdout
    assert "3 cases, 60 memories" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("fit", "--data", "longmemeval:no-such.json"), "no-such.json"),
        (("fit", "--data", "unknown:x"), "unknown data specification"),
        (("fit", "--data", TASK, "--policies", "astrology"), "no policy called 'astrology'"),
        (("fit", "--data", TASK, "--definition", "astrology"), "astrology"),
        (("fit", "--data", TASK, "--out", "model.txt"), "name it model.onnx"),
        (("fit", "--data", TASK, "--out", "."), "is a folder"),
        (("fit", "--data", "confound:cases=1"), "2 usable cases or more"),
        (("evaluate", "no-such.onnx", "--data", TASK), "no such file"),
        (("inspect", "no-such.onnx"), "no such file"),
        (("score", "no-such.onnx", "--data", TASK, "--out", "s.csv"), "unknown suffix '.csv'"),
        (("data", "digest", "jsonl:no-such.jsonl"), "no-such.jsonl"),
    ],
)
def test_bad_input_is_told_in_a_line_and_writes_nothing(
    args: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMVALUE_CACHE", str(tmp_path / "cache"))
    result = run(*args)
    assert result.exit_code == 2, result.exception
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") <= 2
    assert result.stdout == ""
    assert not [p for p in tmp_path.iterdir() if p.name != "cache"]


def test_encoder_build_hands_over_the_folders_and_shows_the_card(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[tuple[Path | None, Path]] = []
    card = {"rows": 1000, "dim": 256, "bytes": 7_000_000, "fidelity": 0.98, "digest": "ab"}

    def build(model_dir: Path | None, out_dir: Path) -> dict[str, Any]:
        calls.append((model_dir, out_dir))
        return card

    monkeypatch.setattr("memvalue.train.distil.build_static_encoder", build)
    assert json.loads(ok("encoder", "build", "--out", tmp_path / "e", "--json").stdout) == card
    assert "1,000 tokens × 256" in ok("encoder", "build", "--out", tmp_path, "--from", "mini").stdout
    assert calls == [(None, tmp_path / "e"), (Path("mini"), tmp_path)]


def test_encoder_build_refuses_other_weights(tmp_path: Path) -> None:
    (tmp_path / "mini").mkdir()
    result = run("encoder", "build", "--out", tmp_path / "e", "--from", tmp_path / "mini")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert not (tmp_path / "e").exists()


BASE_INSTALL = """
import sys
LEFT_OUT = {"torch", "sklearn", "scipy", "pandas", "mlflow", "datasets", "pyarrow", "onnx", "yaml", "cma",
            "tokenizers", "transformers", "sentence_transformers", "joblib", "huggingface_hub"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in LEFT_OUT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from memvalue.cli.main import app
app()
"""


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("inspect", "MODEL"), 0),
        (("data", "digest", TASK), 0),
        (("score", "MODEL", "--data", TASK, "--out", "s.jsonl", "--no-cache"), 0),
        (("score", "MODEL", "--data", TASK, "--out", "s.parquet", "--no-cache"), 2),
        (("fit", "--data", TASK, "--no-cache"), 2),
    ],
)
def test_the_base_install_reads_models_and_names_what_is_missing_for_the_rest(
    fitted: tuple[Path, dict[str, Any]], tmp_path: Path, args: tuple[str, ...], code: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BASE_INSTALL, *(str(fitted[0]) if a == "MODEL" else a for a in args)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == code, done.stderr
    if code:
        assert "pip install 'memvalue[" in done.stderr
        assert not list(tmp_path.iterdir())


def test_ctrl_c_keeps_the_old_model_and_leaves_nothing_else(tmp_path: Path) -> None:
    old = tmp_path / "model.onnx"
    old.write_bytes(b"what was there")
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from memvalue.cli.main import app; print('up', flush=True); app()"),
            *("fit", "--data", "confound:cases=400", "--splits", "1000", "--no-cache", "--out", str(old)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert err == "interrupted; nothing half-written was left behind\n"
    assert old.read_bytes() == b"what was there"
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.slow
def test_a_tracked_fit_is_found_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    ok(
        *("fit", "--data", TASK, "--splits", "2", "--policies", "random", "--no-cache", "--track", uri),
        *("--out", tmp_path / "m.onnx"),
    )
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("memvalue")
    (logged,) = client.search_runs([experiment.experiment_id])
    assert logged.data.params["model"] == "linear"
    assert len(logged.data.params["data_digest"]) == 64
    assert 0.0 <= logged.data.metrics["turns_0.3"] <= 1.0
    assert {a.path for a in client.list_artifacts(logged.info.run_id)} == {"report.json", "m.onnx"}
    assert logged.info.status == "FINISHED"
