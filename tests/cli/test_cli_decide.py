"""``memvalue decide``: a file of memories in, a file of decisions out, with the base install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from memvalue.cli.main import app
from memvalue.data.simulated import simulate
from memvalue.features import Definition, extract
from memvalue.serve import DEPTHS, StoredMemory, ValueModel, write_memories
from memvalue.train.export import export_model
from memvalue.train.linear import LinearValueModel

KEYS = ["id", "value", "depth", "forget_risk", "forget_score", "rank_score", "factors"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """model.onnx, and memories.jsonl with the memories of a simulated case."""
    made = tmp_path_factory.mktemp("decide")
    [case] = simulate(1)
    rng = np.random.default_rng(1)
    export_model(
        LinearValueModel.from_weights([0.1, 0.1, 0.1, 0.2, 0.2, 0.1, 0.2]),
        made / "model.onnx",
        reference=rng.random((100, 7)),
        definition={**Definition.named("default").as_dict(), "encoder": "none", "regime": "batch"},
    )
    write_memories(
        made / "memories.jsonl",
        (
            StoredMemory(f"m{i}", m.text, m.role, m.time, m.session, extra={"shelf": i})
            for i, m in enumerate(case.consolidation.memories)
        ),
    )
    return made


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


def test_a_line_a_memory_with_the_models_decisions(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "decisions.jsonl"
    given = (folder / "model.onnx", "--memories", folder / "memories.jsonl", "--out", out)
    result = run("decide", *given)
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert all(list(row) == KEYS for row in rows)
    [case] = simulate(1)
    factors = extract(case.consolidation).values
    want = ValueModel.load(folder / "model.onnx").value(factors)
    np.testing.assert_array_equal(np.float32([row["value"] for row in rows]), want)
    assert [row["id"] for row in rows] == [f"m{i}" for i in range(len(case))]
    assert {row["depth"] for row in rows} <= set(DEPTHS)
    told = json.loads(run("decide", *given, "--json").stdout)
    assert told["memories"] == len(case) and told["out"] == str(out)
    before = out.read_bytes()
    run("decide", *given)
    assert out.read_bytes() == before


def test_now_is_taken_and_checked(folder: Path, tmp_path: Path) -> None:
    given = (
        "decide",
        folder / "model.onnx",
        "--memories",
        folder / "memories.jsonl",
        "--out",
        tmp_path / "d",
    )
    for text, message in (
        ("soon", "'soon' is not a time"),
        ("2030-01-01T00:00:00", "has no offset"),
        ("1990-01-01T00:00:00Z", "now is 1990-01-01T00:00:00Z, but memory"),
    ):
        result = run(*given, "--now", text)
        assert result.exit_code == 2
        assert message in result.stderr
    assert not list(tmp_path.iterdir())
    assert run(*given, "--now", "2100-01-01T00:00:00+02:00").exit_code == 0


def test_bad_files_are_named_and_nothing_is_left(folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a", "text": "x", "role": "user"}\n')
    for memories, message in ((bad, "line 1 lacks time"), (tmp_path / "no.jsonl", "does not exist")):
        result = run("decide", folder / "model.onnx", "--memories", memories, "--out", tmp_path / "d.jsonl")
        assert result.exit_code == 2
        assert message in result.stderr and result.stderr.count("\n") == 1
    result = run("decide", bad, "--memories", folder / "memories.jsonl", "--out", tmp_path / "d.jsonl")
    assert result.exit_code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["bad.jsonl"]


def test_it_runs_without_anything_but_the_base_install(folder: Path, tmp_path: Path) -> None:
    code = f"""
import sys
class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {{"torch", "sklearn", "scipy", "pandas", "yaml", "onnx", "datasets",
                                  "tokenizers", "pyarrow", "mlflow", "joblib"}}:
            raise ImportError(name, name=name)
sys.meta_path.insert(0, Bare())
from memvalue.cli.main import app
app(["decide", {str(folder / "model.onnx")!r}, "--memories", {str(folder / "memories.jsonl")!r},
     "--out", {str(tmp_path / "d.jsonl")!r}], standalone_mode=False)
app(["audit", {str(folder / "model.onnx")!r}, "--memories", {str(folder / "memories.jsonl")!r},
     "--keep", "10%tokens"], standalone_mode=False)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=sys.prefix, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "to keep: 10 % of the tokens" in done.stdout
    assert (tmp_path / "d.jsonl").exists()
