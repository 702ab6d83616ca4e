"""One business: a model goes in only when later cases say that it is better, and the report says why."""

from __future__ import annotations

import json
from pathlib import Path

import business_tables as b
import numpy as np
import pytest

from memvalue.configs.recalibrate_config import RecalibrateConfig
from memvalue.data.factor_table import FactorTable
from memvalue.eval.business import Business
from memvalue.eval.recalibrate_job import recalibrate_job
from memvalue.serve import ValueModel
from memvalue.train.objective import mean_retention

CONFIG = RecalibrateConfig(model=b.BASE)


def kept(model: Path, table: FactorTable) -> float:
    """Mean retention of the needed memories by a model's file."""
    value = ValueModel.load(model).value(table.factors, machine=table.machine)
    return float(mean_retention(value, table.offsets, table.needed, CONFIG.budgets))


def test_a_business_with_other_needs_gets_a_model_that_is_better_on_what_comes_later(tmp_path: Path) -> None:
    out = tmp_path / "acme.onnx"
    source = b.written(tmp_path, "acme", b.drawn(60, 1, b.OTHER))
    result = recalibrate_job(CONFIG, Business("acme", events=source), out)
    assert result.decision == "promote"
    assert result.evidence["cases_fit"] == 42 and result.evidence["cases_held_out"] == 18
    low, high = result.evidence["ci"]
    assert 0 < low < result.evidence["gain"] < high
    later = b.drawn(40, 2, b.OTHER, first="2026-06-01")  # neither the fit nor the gate saw these
    assert kept(out, later) > kept(b.BASE, later) + 0.1
    model = ValueModel.load(out)
    assert model.weights == pytest.approx(result.weights, abs=1e-6)
    assert sum(result.weights.values()) == pytest.approx(1.0)
    assert model.metadata["data"]["labels"] == "simulated"
    assert out.stat().st_size <= 20_000
    assert json.loads(out.with_suffix(".json").read_text())["decision"] == "promote"


def test_a_business_that_needs_what_the_base_says_keeps_the_base(tmp_path: Path) -> None:
    out = tmp_path / "same.onnx"
    source = b.written(tmp_path, "same", b.drawn(40, 3))
    result = recalibrate_job(CONFIG, Business("same", events=source), out)
    assert result.decision == "keep-base"
    assert out.read_bytes() == b.BASE.read_bytes()
    assert result.weights == result.base_weights


def test_too_little_evidence_keeps_the_base_and_says_so(tmp_path: Path) -> None:
    source = b.written(tmp_path, "few", b.drawn(4, 4, b.OTHER))
    result = recalibrate_job(CONFIG, Business("few", events=source), tmp_path / "few.onnx")
    assert result.decision == "keep-base"
    assert any(
        "nothing is promoted on fewer than 5" in r or "leaves the weights" in r for r in result.reasons
    )


def test_the_next_run_compares_with_what_is_in_use_and_reports_drift(tmp_path: Path) -> None:
    out = tmp_path / "acme.onnx"
    business = Business("acme", events=b.written(tmp_path, "acme", b.drawn(60, 1, b.OTHER)))
    assert recalibrate_job(CONFIG, business, out).decision == "promote"
    before = out.read_bytes()
    again = recalibrate_job(CONFIG, business, out)
    assert again.decision == "keep-current"
    assert out.read_bytes() == before
    assert any("has seen 18 of the 18 held-out cases" in r for r in again.reasons)
    assert again.drift["changed"] == []
    # Needs turn: what was fitted for the old ones is worse than the base now, and gives way.
    turned = Business("acme", events=b.written(tmp_path, "turned", b.drawn(60, 5, first="2026-06-01")))
    back = recalibrate_job(CONFIG, turned, out)
    assert back.decision == "keep-base"
    assert out.read_bytes() == b.BASE.read_bytes()
    assert any("the base takes its place" in r for r in back.reasons)
    assert back.drift["kept"]["after"] < back.drift["kept"]["before"]


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    source = b.written(tmp_path, "acme", b.drawn(60, 1, b.OTHER))
    there = sorted(tmp_path.iterdir())
    result = recalibrate_job(CONFIG, Business("acme", events=source), tmp_path / "x.onnx", dry_run=True)
    assert result.decision == "promote" and result.model is None
    assert sorted(tmp_path.iterdir()) == there


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    business = Business("acme", events=b.written(tmp_path, "acme", b.drawn(60, 1, b.OTHER)))
    for name in ("one", "two"):
        recalibrate_job(CONFIG, business, tmp_path / f"{name}.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


def test_a_table_of_other_factors_is_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    table = b.drawn(10, 1)
    other = replace(table, definition={**table.definition, "rehearsal": False})
    source = b.written(tmp_path, "other", other)
    with pytest.raises(ValueError, match=r"another definition than the model's \(rehearsal differ\)"):
        recalibrate_job(CONFIG, Business("x", events=source), None)
    old = b.written(tmp_path, "old", replace(table, definition_version="0"))
    with pytest.raises(ValueError, match="factors of version 0"):
        recalibrate_job(CONFIG, Business("x", events=old), None)


def test_the_accepted_model_is_never_worse_when_a_third_of_the_grades_is_wrong(tmp_path: Path) -> None:
    """Labels of what was needed are turned at random; judged on clean later cases."""
    for seed in range(4):
        table = b.drawn(60, 10 + seed, b.OTHER if seed % 2 else None)
        rng = np.random.default_rng(seed)
        needed = table.needed.copy()
        wrong = rng.random(len(needed)) < np.where(needed, 1 / 3, needed.mean() / 3)
        from dataclasses import replace

        source = b.written(tmp_path, f"noisy{seed}", replace(table, needed=needed ^ wrong))
        out = tmp_path / f"noisy{seed}.onnx"
        recalibrate_job(CONFIG, Business("noisy", events=source), out)
        later = b.drawn(60, 50 + seed, b.OTHER if seed % 2 else None, first="2026-06-01")
        assert kept(out, later) >= kept(b.BASE, later) - 0.01


def test_an_mlp_cannot_be_a_base(tmp_path: Path) -> None:
    from memvalue.train import MLPValueModel, export_model

    table = b.drawn(6, 1)
    network = MLPValueModel(random_state=0).fit(table.factors, table.needed, groups=table.case_of)
    file = tmp_path / "mlp.onnx"
    export_model(network, file, reference=table.factors, definition=table.definition)
    source = b.written(tmp_path, "x", table)
    with pytest.raises(ValueError, match=r"mlp\.onnx: a recalibration needs a linear base model"):
        recalibrate_job(RecalibrateConfig(model=file), Business("x", events=source), None)


def test_a_business_needs_one_source() -> None:
    with pytest.raises(ValueError, match="needs either events"):
        Business("x")
    with pytest.raises(ValueError, match="needs either events"):
        Business("x", events="a", transcript="b")


def test_nothing_that_the_model_is_made_from_is_written_over(tmp_path: Path) -> None:
    base = tmp_path / "base.onnx"
    base.write_bytes(b.BASE.read_bytes())
    source = b.written(tmp_path, "acme", b.drawn(60, 1, b.OTHER))
    with pytest.raises(ValueError, match="name another --out"):
        recalibrate_job(RecalibrateConfig(model=base), Business("acme", events=source), base)
    assert base.read_bytes() == b.BASE.read_bytes()
    log = tmp_path / "acme.json"  # where the report of acme.onnx would go
    log.write_bytes(Path(source).read_bytes())
    (tmp_path / "link.json").symlink_to(log)
    with pytest.raises(ValueError, match=r"acme\.json would be written over"):
        recalibrate_job(CONFIG, Business("acme", events=str(tmp_path / "link.json")), tmp_path / "acme.onnx")
    assert log.read_bytes() == Path(source).read_bytes()


def test_a_model_that_cannot_be_recorded_does_not_go_into_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise ValueError("the store is full")

    monkeypatch.setattr("memvalue.eval.register.register", full)
    monkeypatch.setattr("memvalue.eval.register.champion_file", lambda *_: None)
    out = tmp_path / "acme.onnx"
    business = Business("acme", events=b.written(tmp_path, "acme", b.drawn(60, 1, b.OTHER)))
    with pytest.raises(ValueError, match="the store is full"):
        recalibrate_job(CONFIG, business, out, registry="sqlite:///x.db")
    assert not out.exists() and not out.with_suffix(".json").exists()


def test_a_young_business_says_where_its_labels_would_come_from(tmp_path: Path) -> None:
    log = tmp_path / "young.jsonl"
    log.write_text('{"memory": "a", "kind": "written", "time": "2026-01-01T00:00:00Z", "text": "x"}\n')
    result = recalibrate_job(CONFIG, Business("young", events=str(log)), None, dry_run=True)
    assert result.decision == "keep-base" and result.data["source"] == "log"
