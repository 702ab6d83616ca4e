"""``memvalue transfer`` and the models that it ships."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from memvalue import models
from memvalue.cli.main import app
from memvalue.serve import ValueModel

SETS = ("--data", "confound:cases=4", "--data", "confound:seed=1,cases=4")


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, ["transfer", *map(str, args), "--no-cache", "--refits", "2"])


def test_the_table_goes_to_stdout_and_the_model_where_it_was_asked(tmp_path: Path) -> None:
    out = tmp_path / "new" / "m.onnx"
    result = run(*SETS, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "leave one set out" in result.stdout
    assert "most that can be kept" in result.stdout
    assert result.stdout.endswith("\n") and not result.stdout.endswith("\n\n")
    assert result.stderr == ""
    assert ValueModel.load(out).metadata["data"]["cases"] == 8
    shown = CliRunner().invoke(app, ["inspect", str(out)])
    assert shown.exit_code == 0, shown.stderr
    assert "confound-2, best rule" in shown.stdout


def test_json_is_all_there_is_on_stdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*SETS, "--judge", "confound:seed=2,cases=3", "--budgets", "10%,40%", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["sets"]["confound-3"]["use"] == "judge"
    assert report["protocol"]["budgets"] == [0.1, 0.4]
    assert report["protocol"]["fit_budgets"] == [0.05, 0.1, 0.3]
    assert report["protocol"]["headline"] == [0.1]
    assert report["matrix"]["default"]["leave one set out"]["confound-1"]["turns"]["0.4"]["mean"] == 1.0
    assert report["model"] is None
    assert not list(tmp_path.iterdir())


def test_options_reach_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Silent:
        def text(self) -> str:
            return "the matrix\n"

    def job(config: Any, progress: Any) -> Silent:
        calls.append(config)
        return Silent()

    monkeypatch.setattr("memvalue.eval.transfer_job.transfer_job", job)
    assert run(*SETS, "--beside", "").stdout == "the matrix\n"
    assert run(*SETS, "--regime", "online", "--l2", "0.5", "--limit", "3", "--model", "mlp").exit_code == 0
    assert calls[0].beside == ()
    assert calls[0].definition == "default"
    assert (calls[1].regime, calls[1].l2, calls[1].limit, calls[1].model) == ("online", 0.5, 3, "mlp")
    assert calls[1].beside == ("longmemeval", "artefact-free")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--data", "confound:cases=4"), "two data sets or more"),
        ((*SETS, "--out", "m.txt"), "name it m.onnx"),
        ((*SETS, "--budgets", "2"), "budgets="),
        ((*SETS, "--definition", "astrology"), "astrology"),
        ((*SETS, "--model", "trees"), "model='trees'"),
    ],
)
def test_bad_input_is_told_in_a_line(args: tuple[str, ...], message: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_model_that_is_not_shipped_is_refused_with_those_that_are() -> None:
    for name in ("astrology", "../default", ""):
        with pytest.raises(ValueError, match="no shipped model") as told:
            models.path(name)
        for shipped in models.names():
            assert shipped in str(told.value)


@pytest.mark.parametrize("name", models.names())
def test_a_shipped_model_loads_verifies_and_has_a_card(name: str) -> None:
    model = ValueModel.load(models.path(name))
    assert sum(model.weights.values()) == pytest.approx(1.0)
    assert ((value := model.value(np.eye(7, dtype=np.float32))) >= 0).all() and (value <= 1).all()
    card = models.path(name).with_suffix(".md").read_text(encoding="utf-8")
    assert model.digest in card
    assert model.metadata["definition_version"] in card
    assert "/" not in model.metadata["data"]["spec"]
