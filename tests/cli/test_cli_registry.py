"""``memvalue history`` and ``memvalue rollback``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from memvalue import models
from memvalue.cli.main import app

pytest.importorskip("mlflow", reason="MLflow is not installed (extra train)")

ONE, OTHER = models.path("default"), models.path("longmemeval")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store where ``acme`` has had three champions and one model that was refused."""
    from memvalue.train.registry import Registry

    registry = Registry(f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db")
    for path, gain in ((ONE, 0.012), (OTHER, 0.0034), (ONE, 0.2)):
        registry.record(
            "acme", model_path=path, decision="promote", promoted=True, gain=gain, ci=(gain / 2, None)
        )
    registry.record("acme", model_path=OTHER, decision="keep-current", promoted=False, gain=-0.01)
    assert registry.uri is not None
    return registry.uri


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


def test_history_then_rollbacks_then_history(uri: str, tmp_path: Path) -> None:
    shown = run("history", "acme", "--registry", uri)
    assert shown.exit_code == 0, shown.stderr
    assert shown.stderr == ""
    lines = shown.stdout.splitlines()
    assert lines[0] == "acme: 4 versions"
    rows = [line.split() for line in lines[3:]]
    assert [row[0] for row in rows] == ["4", "3", "2", "1"]
    assert rows[0][3:] == ["keep-current", "-0.0100", "[–,", "–]", rows[0][7], "challenger"]
    assert rows[1][3:7] == ["promote", "+0.2000", "[+0.1000,", "–]"]
    assert rows[1][-1] == "champion"

    out = tmp_path / "acme.onnx"
    back = run("rollback", "acme", "--registry", uri, "--out", out)
    assert back.exit_code == 0, back.stderr
    assert back.stdout.startswith("acme: version 2 is champion")
    assert str(out) in back.stdout
    assert out.read_bytes() == OTHER.read_bytes()

    answer = run("rollback", "acme", "--registry", uri, "--json", "--out", out)
    found = json.loads(answer.stdout)
    assert (found["number"], found["champion"], found["decision"]) == (1, True, "promote")
    assert found["out"] == str(out)
    assert found["ci"] == [0.006, None]
    assert out.read_bytes() == ONE.read_bytes()

    nothing = run("rollback", "acme", "--registry", uri)
    assert nothing.exit_code == 2
    assert nothing.stdout == ""
    assert "version 1 of 'acme' was its first champion" in nothing.stderr
    assert nothing.stderr.startswith("error: ") and nothing.stderr.count("\n") == 1

    again = run("rollback", "acme", "--registry", uri, "--to", "3")
    assert again.stdout.startswith("acme: version 3 is champion")
    told = json.loads(run("history", "acme", "--registry", uri, "--json").stdout)
    assert told["business"] == "acme"
    assert [(v["number"], v["champion"]) for v in told["versions"]] == [
        (4, False), (3, True), (2, False), (1, False)
    ]  # fmt: skip
    assert told["versions"][1]["previous_champion"] == 2
    assert told["versions"][2]["rolled_back"] is not None
    assert "rolled back" in run("history", "acme", "--registry", uri).stdout


def test_the_store_may_be_named_by_mlflows_own_variable(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert run("history", "acme").stdout.startswith("acme: 4 versions")


@pytest.mark.parametrize("command", ["history", "rollback"])
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("acme",), "there is no MLflow store at"),
        (("a/b",), "use letters, digits"),
        (("acme", "--registry", "mlruns"), "write e.g. sqlite:///mlflow.db"),
        (("acme", "--registry", "http://me:secret@127.0.0.1:9"), "connection refused"),
    ],
)
def test_bad_input_is_told_in_a_line(
    command: str,
    args: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    result = run(command, *args)
    assert result.exit_code == 2, result.exception
    assert message in result.stderr
    assert "secret" not in result.stderr
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not list(tmp_path.iterdir())


def test_an_unknown_business_and_a_version_that_never_was_champion(uri: str) -> None:
    assert "nothing is recorded of 'other'" in run("history", "other", "--registry", uri).stderr
    assert "'other' has no champion" in run("rollback", "other", "--registry", uri).stderr
    refused = run("rollback", "acme", "--registry", uri, "--to", "4")
    assert refused.exit_code == 2
    assert "version 4 of 'acme' has never been champion" in refused.stderr
    assert run("rollback", "acme", "--registry", uri, "--to", "0").exit_code == 2


def test_without_mlflow_the_extra_is_named(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as if it were not installed
    result = run("history", "acme", "--registry", uri)
    assert result.exit_code == 2
    assert "memvalue[train]" in result.stderr


@pytest.mark.parametrize("command", ["history", "rollback"])
def test_the_commands_explain_themselves(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "--registry" in result.stdout and "BUSINESS" in result.stdout
