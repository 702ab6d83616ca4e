"""A spoiled log lets no worse model in: judged on later data of the same business that nothing spoiled."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memvalue.configs.recalibrate_config import RecalibrateConfig
from memvalue.data.factor_table import FactorTable
from memvalue.eval.business import Business, business_cases
from memvalue.eval.prepare_job import Setting
from memvalue.eval.recalibrate_job import recalibrate_job
from memvalue.models import path
from memvalue.serve import ValueModel
from memvalue.train.objective import retention

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "data"))
from logged_business import business_rows, event, iso, write_lines

BASE = Path(path("default"))
CONFIG = RecalibrateConfig(model=BASE, every_days=7.0)

#: Hour at which the recalibration is made; what comes after is the clean later data.
CUT = 12_500.0


def kept(model: Path, table: FactorTable) -> np.ndarray:
    """float64[C]: each case's retention, the mean over the budgets."""
    value = ValueModel.load(model).value(table.factors, machine=table.machine)
    return np.asarray(retention(value, table.offsets, table.needed, CONFIG.budgets).mean(axis=1))


def later(rows: tuple[dict[str, Any], ...], folder: Path) -> FactorTable:
    """The cases after the cut, of the clean log."""
    source = write_lines(folder / "clean.jsonl", rows)
    setting = Setting.of_model(ValueModel.load(BASE).metadata)
    table = business_cases(Business("clean", events=str(source)), setting, CONFIG).table
    return table.take(table.times > np.datetime64(iso(CUT)[:19], "s"))


def accepted(rows: list[dict[str, Any]], folder: Path) -> tuple[Path, dict[str, Any]]:
    """The model that stays, and the report."""
    source = write_lines(folder / "spoiled.jsonl", sorted(rows, key=lambda r: r["time"]))
    out = folder / "spoiled.onnx"
    result = recalibrate_job(CONFIG, Business("spoiled", events=str(source)), out)
    return out, json.loads(result.to_json())


def never_worse(out: Path, table: FactorTable) -> None:
    """Not measurably: the mean difference over cases is above −2 standard errors, and above −.01."""
    gap = kept(out, table) - kept(BASE, table)
    assert gap.mean() >= -0.01
    assert gap.mean() >= -2 * gap.std(ddof=1) / np.sqrt(len(gap)) - 1e-9


@pytest.mark.parametrize("seed", [1, 2])
def test_ten_thousand_false_confirmations_by_one_actor(seed: int, tmp_path: Path) -> None:
    rows = business_rows(seed, pages=60)
    before = [r for r in rows if r["time"] <= iso(CUT)]
    pages = sorted({r["memory"] for r in before})
    rng = np.random.default_rng(seed)
    hours = np.sort(rng.uniform(CUT - 24 * 60, CUT, 10_000))
    targets = rng.choice(pages, 10_000)
    flood = [event("confirmed", h, m, actor="spammer") for h, m in zip(hours.tolist(), targets, strict=True)]
    out, report = accepted([*before, *flood], tmp_path)
    assert any("spammer" in w for w in report["warnings"])
    never_worse(out, later(rows, tmp_path))


@pytest.mark.parametrize("seed", [1, 2])
def test_one_grade_in_three_wrong(seed: int, tmp_path: Path) -> None:
    rows = business_rows(seed, pages=60)
    rng = np.random.default_rng(seed)
    turned = {"confirmed": "corrected", "corrected": "confirmed"}
    before = []
    for row in rows:
        if row["time"] > iso(CUT):
            break
        wrong = row["kind"] in turned and rng.random() < 1 / 3
        before.append({**row, "kind": turned[row["kind"]], "signal": 1.0} if wrong else row)
    out, _ = accepted(before, tmp_path)
    never_worse(out, later(rows, tmp_path))


def test_a_clean_log_gives_no_warning(tmp_path: Path) -> None:
    _, report = accepted([r for r in business_rows(1, pages=60) if r["time"] <= iso(CUT)], tmp_path)
    assert report["warnings"] == []
    assert report["evidence"]["cases_held_out"] >= 15


def test_a_business_of_one_memory_keeps_the_base(tmp_path: Path) -> None:
    rows = [event("written", 0.0, "a", text="The key is under the mat.")]
    rows += [event("confirmed", 30.0 * i, "a") for i in range(1, 200)]
    out, report = accepted(rows, tmp_path)
    assert report["decision"] == "keep-base"
    assert out.read_bytes() == BASE.read_bytes()
    assert report["warnings"]


def test_a_young_business_keeps_the_base_and_is_told_what_is_missing(tmp_path: Path) -> None:
    rows = [event("written", 0.0, "a", text="The key is under the mat."), event("opened", 3.0, "a")]
    out, report = accepted(rows, tmp_path)
    assert report["decision"] == "keep-base"
    assert report["evidence"]["cases_fit"] == report["evidence"]["cases_held_out"] == 0
    assert report["evidence"]["ci"] == [None, None]
    assert any("makes no case" in reason for reason in report["reasons"])
    assert out.read_bytes() == BASE.read_bytes()
    # A table of it can be kept and joined like any other.
    again, report = accepted(rows, tmp_path)
    assert report["decision"] == "keep-base" and again.read_bytes() == BASE.read_bytes()
