"""``memvalue simulate``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memvalue.cli.main import app


def run(*args: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *args])


def test_the_table_goes_to_stdout_alone() -> None:
    result = run("--seeds", "2", "--pages", "60", "--policies", "relevance,gate")
    assert result.exit_code == 0, result.stderr
    assert "bursty: 60 pages" in result.stdout
    assert "relevance alone" in result.stdout
    assert result.stdout.endswith("\n") and not result.stdout.endswith("\n\n")
    assert result.stderr == ""


def test_json_is_all_there_is_on_stdout() -> None:
    result = run("--world", "drift", "--seeds", "2", "--pages", "60", "--policies", "use", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["world"], document["seeds"]) == ("drift", 2)
    assert set(document["policies"]) == {"use", "dual"}
    assert set(document["policies"]["dual"]["wrong_after_switch"]) == {"mean", "std"}


def test_options_reach_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Silent:
        def text(self) -> str:
            return "the table\n"

    def job(config: Any, progress: Any) -> Silent:
        calls.append(config)
        return Silent()

    monkeypatch.setattr("memvalue.eval.simulate_job.simulate_job", job)
    assert run().stdout == "the table\n"
    assert run("--world", "both", "--seeds", "7", "--seed", "5", "--pages", "300").exit_code == 0
    assert (calls[0].world, calls[0].seeds, calls[0].policies, calls[0].pages) == (
        "bursty",
        20,
        ("all",),
        None,
    )
    assert (calls[1].world, calls[1].seeds, calls[1].seed, calls[1].pages) == ("both", 7, 5, 300)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--world", "mars"), "world"),
        (("--seeds", "0"), "seeds"),
        (("--pages", "3"), "pages"),
        (("--policies", "best"), "unknown policy best; choose from all"),
    ],
)
def test_wrong_usage_is_two_lines_and_exit_code_two(args: tuple[str, ...], message: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
