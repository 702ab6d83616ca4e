"""``memvalue features export``."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from memvalue import models
from memvalue.cli.features import features_app
from memvalue.data.factor_file import read_table, salted_ids
from memvalue.serve import ValueModel

START = datetime(2024, 3, 4, 9, tzinfo=UTC)
SALT = "a salt of sixteen letters"
DEFAULT = Path(models.__file__).parent / "default.onnx"


def run(*args: str | Path, **env: str) -> Result:
    given = {"MEMVALUE_SALT": None} | env
    return CliRunner().invoke(features_app, ["export", *map(str, args), "--no-cache"], env=given)  # type: ignore[arg-type]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = []
    for day in range(60):
        moment = START + timedelta(days=day)
        text = f"Secret {day}: I pay {day} euro to my landlord."
        rows.append({"memory": f"id-{day}", "kind": "written", "time": moment.isoformat(), "text": text})
        for hour in (3, 4.5):
            moment += timedelta(hours=hour + day / 100)
            rows.append({"memory": f"id-{int(day / hour)}", "kind": "opened", "time": moment.isoformat()})
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def test_a_log_becomes_a_table_of_numbers_without_any_text(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "t.parquet"
    result = run("--events", log, "--model", DEFAULT, "--out", out, "--salt", SALT)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    table = read_table(out)
    assert f"cases    {len(table)} from 2024-03-11T09:00:00Z to " in result.stdout
    assert "skipped: 1 horizon not over" in result.stdout
    assert "ids salted with the given salt" in result.stdout and table.digest() in result.stdout
    assert table.definition == ValueModel.load(DEFAULT).metadata["definition"]
    assert table.ids is not None
    assert set(table.ids) <= set(salted_ids((f"id-{d}" for d in range(60)), SALT.encode()))
    content = out.read_bytes()
    for word in (b"Secret", b"landlord", b"id-1", b"user", b"log.jsonl", SALT.encode()):
        assert word not in content
    assert stat.S_IMODE(os.stat(out).st_mode) & 0o044 == 0o044


def test_without_a_salt_one_is_drawn_and_that_is_said(log: Path, tmp_path: Path) -> None:
    tables = []
    for name in ("one", "other"):
        out = tmp_path / f"{name}.parquet"
        result = run("--events", log, "--definition", "default", "--out", out, "--json")
        assert result.exit_code == 0, result.stderr
        assert "no --salt: ids are salted at random" in result.stderr
        assert json.loads(result.stdout)["salt"] == "random"
        tables.append(read_table(out))
    one, other = tables
    assert one.ids is not None and other.ids is not None
    assert not set(one.ids) & set(other.ids)
    assert np.array_equal(one.factors, other.factors)


def test_the_salt_may_come_from_the_environment(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    first = run("--events", log, "--out", out, "--json", MEMVALUE_SALT=SALT)
    assert json.loads(first.stdout)["salt"] == "given" and first.stderr == ""
    wanted = out.read_bytes()
    run("--events", log, "--out", out, "--salt", SALT)
    assert out.read_bytes() == wanted
    short = run("--events", log, "--out", out, "--salt", "pepper", "--json")
    assert "fewer than 16 bytes" in json.loads(short.stdout)["warnings"][-1]


def test_labelled_cases_can_be_exported_too(tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    result = run("--data", "simulated:cases=5", "--limit", "4", "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    table = read_table(out)
    assert (told["cases"], told["memories"], told["digest"]) == (4, table.rows, table.digest())
    assert told["salt"] == "none" and told["definition"] == "default" and table.ids is None
    assert result.stderr == ""


def test_times_horizon_memories_and_warnings_reach_the_table(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    dump = [
        {"id": r["memory"], "text": r.pop("text"), "role": "user", "time": r["time"]}
        for r in rows
        if r["kind"] == "written"
    ]
    bare, memories = tmp_path / "bare.jsonl", tmp_path / "memories.jsonl"
    opened = next(r for r in rows if r["kind"] == "opened")
    bare.write_text("".join(json.dumps(r) + "\n" for r in [*rows, opened]), encoding="utf-8")
    memories.write_text("".join(json.dumps(r) + "\n" for r in dump), encoding="utf-8")
    common = ("--out", out, "--salt", SALT, "--every", "14", "--horizon", "3")
    result = run("--events", bare, "--memories", memories, *common)
    assert result.exit_code == 0, result.stderr
    assert "warning: 1 events are there more than once" in result.stdout
    table = read_table(out)
    assert (np.diff(table.times) == np.timedelta64(14, "D")).all()
    assert (table.ends - table.times == np.timedelta64(3, "D")).all()
    assert run("--events", log, *common).exit_code == 0
    assert read_table(out).digest() == table.digest()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "give either a log (--events) or labelled cases (--data)"),
        (("--events", "LOG", "--data", "simulated"), "give either a log"),
        (("--data", "simulated", "--memories", "x"), "--memories and --table go with --events"),
        (("--events", "LOG", "--limit", "3"), "--limit goes with --data"),
        (("--events", "LOG", "--model", "MODEL", "--definition", "default"), "leave out --definition"),
        (("--events", "none.jsonl"), "none.jsonl does not exist"),
        (("--events", "LOG", "--every", "0"), "every_days must lie"),
        (("--events", "LOG", "--definition", "none"), "no factor definition 'none'"),
        (("--events", "LOG", "--table", "x"), "so it has no table 'x'"),
    ],
)
def test_what_cannot_be_done_is_told_and_writes_nothing(
    log: Path, tmp_path: Path, args: tuple[str, ...], says: str
) -> None:
    out = tmp_path / "out" / "t.parquet"
    names = {"LOG": str(log), "MODEL": str(DEFAULT)}
    result = run(*(names.get(a, a) for a in args), "--out", out)
    assert result.exit_code == 2
    assert says in result.stderr and result.stdout == ""
    assert not out.exists()
