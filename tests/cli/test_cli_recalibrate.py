"""``memvalue recalibrate``: from a business's log to the model that stays, as a user runs it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memvalue.cli.main import app
from memvalue.models import path
from memvalue.serve import ValueModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "data"))
from logged_business import business_rows, event, write_lines

BASE = path("default")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["recalibrate", str(BASE), *map(str, arguments)])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two years of a simulated business, as its store would write them."""
    yield write_lines(tmp_path_factory.mktemp("log") / "acme.jsonl", business_rows(1, pages=60))


@pytest.fixture(scope="module")
def document(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The JSON of a run, and where its model is."""
    out = tmp_path_factory.mktemp("out") / "acme.onnx"
    done = run("--events", log, "--out", out, "--json", "--no-cache", "--every", 14)
    assert done.exit_code == 0, done.output
    yield json.loads(done.stdout) | {"out": out}


def test_the_json_says_what_was_decided_and_on_which_evidence(document: dict[str, Any]) -> None:
    assert document["decision"] in ("keep-base", "keep-current", "promote")
    evidence = document["evidence"]
    assert evidence["cases_fit"] > 20 and evidence["cases_held_out"] > 10
    assert {"gain", "ci", "p", "cases_to_settle", "kept"} <= set(evidence)
    assert document["business"] == "acme"
    assert document["data"]["source"] == "log"
    assert document["warnings"] == []
    assert sum(document["weights"].values()) == pytest.approx(1.0)
    assert document["reasons"]


def test_the_model_that_stays_can_be_loaded_and_decides(document: dict[str, Any]) -> None:
    model = ValueModel.load(document["out"])
    assert model.weights == pytest.approx(document["weights"], abs=1e-6)
    report = json.loads(document["out"].with_suffix(".json").read_text(encoding="utf-8"))
    assert report["decision"] == document["decision"]


def test_a_table_for_people_shows_the_weights(log: Path, tmp_path: Path) -> None:
    done = run("--events", log, "--out", tmp_path / "a.onnx", "--no-cache", "--every", 28, "--dry-run")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].split(": ")[0] == "a"
    assert "usage_history" in done.stdout and "accepted" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_flooded_log_is_named_and_moves_little(log: Path, tmp_path: Path) -> None:
    """Ten thousand false confirmations by one actor, within a week, of pages that nobody asked for."""
    rows = list(business_rows(1, pages=60))
    used = {r["memory"] for r in rows if r["kind"] in ("opened", "confirmed")}
    every = sorted({r["memory"] for r in rows})
    targets = [m for m in every if m not in used] or every[:3]
    begin = 17_000.0
    flood = [
        event("confirmed", begin + i * 0.015, targets[i % len(targets)], actor="spammer")
        for i in range(10_000)
    ]
    source = write_lines(tmp_path / "flood.jsonl", sorted([*rows, *flood], key=lambda r: r["time"]))
    done = run("--events", source, "--out", tmp_path / "f.onnx", "--json", "--no-cache", "--every", 14)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert any("spammer" in w for w in found["warnings"]), found["warnings"]


def test_a_folder_of_businesses(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "acme.jsonl").write_bytes(log.read_bytes())
    (folder / "broken.jsonl").write_text("{}\n")
    arguments = ("--tenants", folder, "--out", tmp_path / "models", "--no-cache", "--every", 28, "--json")
    done = run(*arguments, "--workers", 1)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert set(found["decisions"]) == {"acme"} and set(found["failed"]) == {"broken"}
    assert (tmp_path / "models" / "acme.onnx").exists()
    again = json.loads(run(*arguments, "--workers", 1).stdout)
    assert again["skipped"] == ["acme"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--events", "x.jsonl"), "--out, or look first with --dry-run"),
        (("--dry-run",), "needs either events (--events) or a transcript"),
        (("--events", "x.jsonl", "--transcript", "y.jsonl", "--dry-run"), "needs either events"),
        (("--events", "nowhere.jsonl", "--dry-run"), "nowhere.jsonl does not exist"),
        (("--tenants", "nowhere", "--out", "o"), "--tenants nowhere does not exist"),
        (("--tenants", ".", "--events", "x", "--out", "o"), "--events concern one business"),
        (("--tenants", ".", "--dry-run"), "--tenants needs --out"),
        (("--tenants", ".", "--out", "o", "--engine", "spark"), "--engine spark: unknown"),
        (("--tenants", ".", "--out", "o", "--scheduler", "tcp://h:1"), "goes with --engine dask"),
        (("--events", "x", "--out", "model.txt"), "a model is an ONNX file"),
        (("--events", "x", "--dry-run", "--held-out", "2"), "held_out"),
        (("--events", "x", "--dry-run", "--budgets", "a"), "--budgets"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    arguments: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_the_table_of_events_can_be_named(log: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    with contextlib.closing(sqlite3.connect(store)) as base:
        base.execute("CREATE TABLE what_happened (memory, kind, time, signal, text, role)")
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        names = ("memory", "kind", "time", "signal", "text", "role")
        base.executemany(
            "INSERT INTO what_happened VALUES (?, ?, ?, ?, ?, ?)", [[r.get(n) for n in names] for r in rows]
        )
        base.commit()
    common = ("--dry-run", "--json", "--no-cache", "--every", 14)
    assert "name one of what_happened" in run("--events", store, *common).stderr
    named = run("--events", store, "--table", "what_happened", *common)
    assert (
        json.loads(named.stdout)["data"]["digest"]
        == (json.loads(run("--events", log, *common).stdout)["data"]["digest"])
    )
