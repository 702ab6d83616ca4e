"""``memvalue audit``: what would stay and go, what is there twice, what is junk."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from memvalue.cli.main import app
from memvalue.features import Definition
from memvalue.serve import StoredMemory, ValueModel, read_memories, write_memories
from memvalue.serve.audit import audit
from memvalue.train.export import export_model
from memvalue.train.linear import LinearValueModel

START = datetime(2025, 1, 1, 9, tzinfo=UTC)

TEXTS = (
    "My daughter Mia starts school in Graz on 1 September 2025.",
    "my daughter mia starts school in graz on 1 september 2025!!",
    "My daughter Mia  starts school in Graz on 1 September 2025.",
    "Thanks, bye!",
    "...",
    "",
    *["Your ticket has been received and will be answered shortly."] * 5,
    "I moved from Vienna to Linz last week because of my new job at the museum.",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("audit")
    export_model(
        LinearValueModel.from_weights([0.1, 0.1, 0.1, 0.2, 0.2, 0.1, 0.2]),
        made / "model.onnx",
        edges=[0.1, 0.3, 0.6],
        density_exponent=0.25,
        definition={**Definition.named("default").as_dict(), "encoder": "none", "regime": "batch"},
    )
    write_memories(made / "dump.jsonl", memories())
    return made


def memories() -> list[StoredMemory]:
    return [
        StoredMemory(f"m{i}", text, "user", START + timedelta(days=i), f"s{i}")
        for i, text in enumerate(TEXTS)
    ]


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


def summary(folder: Path, *args: object) -> dict:
    result = run("audit", folder / "model.onnx", "--memories", folder / "dump.jsonl", "--json", *args)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_copies_and_junk_are_found(folder: Path, tmp_path: Path) -> None:
    found = summary(folder, "--keep", "25%", "--out", tmp_path / "plan.jsonl")
    assert found["memories"] == 12
    assert found["duplicates"]["exact"]["memories"] == 1 + 4
    assert found["duplicates"]["near"]["memories"] == 1 + 1  # "..." has the words of "", none
    assert {name: part["memories"] for name, part in found["junk"].items()} == {
        "empty": 2, "greeting": 1, "boilerplate": 5,
    }  # fmt: skip
    assert found["plan"]["keep"]["memories"] == 3
    assert sum(found["plan"][k]["memories"] for k in ("keep", "compress", "forget")) == 12
    assert sum(found["depth"].values()) == 12
    rows = [json.loads(line) for line in (tmp_path / "plan.jsonl").read_text().splitlines()]
    assert rows[1]["same_as"] == rows[2]["same_as"] == "m0"
    assert "same_as" not in rows[0]
    assert [row.get("junk") for row in rows[3:7]] == ["greeting", "empty", "empty", "boilerplate"]
    assert {"id", "action", "reason", "value", "margin", "tokens", "depth", "forget_risk"} <= set(rows[0])
    kept = [row["id"] for row in rows if row["action"] == "keep"]
    assert set(kept) <= {"m0", "m1", "m2", "m11"}
    assert {row["action"] for row in rows if row.get("junk") == "empty"} == {"forget"}


def test_the_dump_is_not_touched(folder: Path) -> None:
    before = (folder / "dump.jsonl").read_bytes()
    summary(folder, "--keep", "1")
    assert (folder / "dump.jsonl").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["dump.jsonl", "model.onnx"]


def test_token_budgets_use_the_models_density(folder: Path) -> None:
    found = summary(folder, "--keep", "20%tokens")
    assert found["plan"]["keep"]["tokens"] <= 0.2 * found["tokens"]
    made = audit(ValueModel.load(folder / "model.onnx"), memories(), "20%tokens")
    np.testing.assert_allclose(made.plan.score, made.plan.value / made.plan.tokens**0.25)


def test_pinned_recent_and_expired_memories_are_told_so(folder: Path, tmp_path: Path) -> None:
    changed = memories()
    changed[3] = replace(changed[3], pinned=True)
    changed[0] = replace(changed[0], expires=START + timedelta(days=3))
    write_memories(tmp_path / "d.jsonl", changed)
    result = run(
        *("audit", folder / "model.onnx", "--memories", tmp_path / "d.jsonl", "--keep", "2", "--json"),
        *("--grace-days", "1.5", "--out", tmp_path / "plan.jsonl"),
    )
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in (tmp_path / "plan.jsonl").read_text().splitlines()]
    assert rows[3]["reason"] == "pinned"
    assert rows[0]["reason"] == "expired"
    assert [row["id"] for row in rows if "grace" in row["reason"]] == ["m10", "m11"]
    assert json.loads(result.stdout)["plan"]["over_budget"] is True
    text = run("audit", folder / "model.onnx", "--memories", tmp_path / "d.jsonl", "--keep", "2",
               "--grace-days", "1.5").stdout  # fmt: skip
    assert "alone exceed the budget" in text and "expired" in text


def test_people_get_a_page(folder: Path) -> None:
    result = run("audit", folder / "model.onnx", "--memories", folder / "dump.jsonl", "--keep", "25%")
    assert result.exit_code == 0
    for words in (
        "12 memories",
        "to keep: 25 % of the memories",
        "keep",
        "compress",
        "forget",
        "exact",
        "junk",
    ):
        assert words in result.stdout


def test_wrong_budgets_and_files_are_named(folder: Path, tmp_path: Path) -> None:
    given = ("audit", folder / "model.onnx", "--memories", folder / "dump.jsonl")
    for keep, message in (("lots", "'lots' is not a budget"), ("0%", "share"), ("200%", "share")):
        result = run(*given, "--keep", keep)
        assert result.exit_code == 2
        assert message in result.stderr
    assert run(*given).exit_code == 2
    assert run(*given, "--keep", "1", "--out", tmp_path / "no" / "plan.jsonl").exit_code == 2


def test_a_plan_keeps_what_the_evaluation_says_it_keeps(folder: Path) -> None:
    from memvalue.data.simulated import simulate
    from memvalue.train.objective import retention

    model = ValueModel.load(folder / "model.onnx")
    shares, wants = [], []
    for case in simulate(4, seed=2):
        stored = [
            StoredMemory(f"{case.id}/{i}", m.text, m.role, m.time, m.session)
            for i, m in enumerate(case.consolidation.memories)
        ]
        made = audit(model, stored, "30%")
        needed = case.sealed.open().needed
        shares.append((made.plan.kept & needed).sum() / needed.sum())
        values = made.decisions.decision.value
        wants.append(retention(values, [0, len(values)], needed, [0.3])[0, 0])
        # Where a needed memory ties at the cut the evaluation counts it in part.
        assert abs(shares[-1] - wants[-1]) < 1
    np.testing.assert_allclose(np.mean(shares), np.mean(wants), atol=0.1)


def test_memories_come_back_as_they_were(folder: Path) -> None:
    assert [m.id for m in read_memories(folder / "dump.jsonl")] == [f"m{i}" for i in range(12)]
