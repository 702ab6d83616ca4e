"""The transfer matrix: who was fitted on what, what is held out, and how losses are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.configs.transfer_config import TransferConfig
from memvalue.data.load import load
from memvalue.eval import Bench
from memvalue.eval.forgetting import BETAS
from memvalue.eval.transfer_job import transfer_job
from memvalue.eval.transfer_matrix import joint_folds, own_folds, refit_count, transfer_matrix
from memvalue.eval.transfer_report import ALL, CEILING, LEFT_OUT, TransferReport
from memvalue.features.names import FACTORS
from memvalue.serve import ValueModel

ONE, TWO, READY = "simulated:cases=4", "simulated:seed=1,cases=3", "confound:cases=4"


def job(**settings: Any) -> TransferReport:
    return transfer_job(TransferConfig(**{"refits": 2, "beside": ("artefact-free",), **settings}))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[TransferReport, Path]:
    """Two sets that are fitted on, one that is only judged, and the exported model."""
    out = tmp_path_factory.mktemp("transfer") / "new" / "default.onnx"
    return job(data=(ONE, TWO), judge=(READY,), out=out), out


def test_every_row_is_tested_on_every_set(made: tuple[TransferReport, Path]) -> None:
    report, _ = made
    assert set(report.sets) == {"simulated-1", "simulated-2", "confound"}
    assert report.sets["confound"]["use"] == "judge"
    assert list(report.matrix) == ["default", "artefact-free"]
    assert list(report.matrix["default"]) == ["simulated-1", "simulated-2", LEFT_OUT, ALL]
    assert list(report.matrix["artefact-free"]) == ["simulated-1", "simulated-2", LEFT_OUT]
    for matrix in report.matrix.values():
        for row in matrix.values():
            assert set(row) == set(report.sets)
            for cell in row.values():
                assert set(cell["turns"]) == {"0.05", "0.1", "0.3"}
                for figure in cell["turns"].values():
                    assert 0 <= figure["ci"][0] <= figure["mean"] <= figure["ci"][1] <= 1


def test_no_transfer_cell_has_seen_the_tested_set(made: tuple[TransferReport, Path]) -> None:
    report, _ = made
    for row, cells in report.matrix["default"].items():
        for name, cell in cells.items():
            if cell["kind"] == "transfer":
                assert name not in cell["fitted_on"], (row, name)
            else:
                assert name in cell["fitted_on"]
            assert "confound" not in cell["fitted_on"]
    left_out = report.matrix["default"][LEFT_OUT]
    assert left_out["simulated-1"]["fitted_on"] == ["simulated-2"]
    assert left_out["confound"]["fitted_on"] == ["simulated-1", "simulated-2"]
    assert report.matrix["default"]["simulated-1"]["simulated-1"]["kind"] == "in domain"
    assert report.matrix["default"][ALL]["simulated-1"]["kind"] == "cross-fitted"
    assert "confound" not in {n for fit in report.weights["default"] for n in fit.split("+")}


def test_the_matrix_shows_what_the_report_says(made: tuple[TransferReport, Path]) -> None:
    report, _ = made
    text = report.text()
    cell = report.matrix["default"][LEFT_OUT]["simulated-2"]["turns"]["0.1"]["mean"]
    (line,) = [x for x in text.split("\n\n")[1].splitlines() if x.startswith(LEFT_OUT)][:1]
    assert f"{cell:.3f}" in line
    assert "definition artefact-free:" in text
    assert "confound 4 cases, 80 memories (judged only)" in text
    assert "nothing was fitted on confound" in text
    assert CEILING in text and "role (a person's turn at random)" in text


def test_rules_and_the_ceiling_are_those_of_the_tested_set(made: tuple[TransferReport, Path]) -> None:
    report, _ = made
    # 4 of 20 memories are needed, so one kept is a quarter of them, and six of 20 hold all.
    ceiling = report.rules[CEILING]["confound"]
    assert [ceiling[k]["mean"] for k in ("0.05", "0.1", "0.3")] == [0.25, 0.5, 1.0]
    assert report.rules["role"]["confound"]["0.3"]["mean"] == pytest.approx(0.3)
    # The task has no texts to count words in.
    assert "confound" not in report.rules["user_first_person"]
    assert "simulated-1" in report.rules["user_first_person"]


def test_the_json_is_whole_plain_and_the_same_twice(made: tuple[TransferReport, Path]) -> None:
    report, _ = made
    found = json.loads(report.to_json())
    assert list(found) == [
        *("sets", "protocol", "matrix", "rules", "weights", "losses", "changes", "model", "notes")
    ]
    again = job(data=(ONE, TWO), judge=(READY,))
    for key in ("sets", "protocol", "matrix", "rules", "weights", "losses", "changes"):
        assert found[key] == again.to_dict()[key]


def test_a_loss_against_the_best_rule_is_flagged_with_its_interval(made: tuple[TransferReport, Path]) -> None:
    report, _ = made
    checked = 0
    for definition, matrix in report.matrix.items():
        for row, cells in matrix.items():
            for name, cell in cells.items():
                for budget in ("0.05", "0.1"):
                    there = {r: c[name][budget]["mean"] for r, c in report.rules.items() if name in c}
                    del there[CEILING]
                    best = max(there.values())
                    value = cell["turns"][budget]["mean"]
                    mine = [
                        x
                        for x in report.losses
                        if (x["definition"], x["row"], x["tested_on"], x["budget"])
                        == (definition, row, name, budget)
                    ]
                    assert len(mine) == (value < best - 1e-12)
                    if mine:
                        checked += 1
                        assert mine[0]["difference"] == pytest.approx(value - best)
                        assert mine[0]["ci"][0] <= mine[0]["difference"] <= mine[0]["ci"][1]
                        assert there[mine[0]["rule"]] == best
                        assert f"loss: {definition}, {row}, on {name}" in report.text()
    assert checked == len(report.losses)
    assert not [x for x in report.losses if x["budget"] == "0.3"]


def test_changes_are_the_other_definition_minus_the_main_one(made: tuple[TransferReport, Path]) -> None:
    report, _ = made
    assert {x["definition"] for x in report.changes} == {"artefact-free"}
    for x in report.changes:
        a, b = (
            report.matrix[d][x["row"]][x["tested_on"]]["turns"][x["budget"]]["mean"]
            for d in ("artefact-free", "default")
        )
        assert x["difference"] == pytest.approx(a - b)


def test_the_exported_model_is_that_of_all_fitted_sets_and_says_so(made: tuple[TransferReport, Path]) -> None:
    report, out = made
    model = ValueModel.load(out)
    told = model.metadata
    assert 0 <= told["calibration"]["ece"] < 1 and told["beta"] in BETAS
    assert report.model == str(out)
    weights = report.weights["default"]["simulated-1+simulated-2"]
    assert model.weights == pytest.approx({name: weights[name]["mean"] for name in FACTORS}, abs=1e-9)
    assert set(told["data"]["sets"]) == {"simulated-1", "simulated-2"}
    assert told["data"]["sets"]["simulated-1"]["digest"] == report.sets["simulated-1"]["digest"]
    assert told["data"]["weighting"] == "equal per data set"
    left_out = report.to_dict()["matrix"]["default"][LEFT_OUT]["confound"]["turns"]["0.1"]
    assert told["metrics"]["confound"]["0.1"] == [left_out["mean"], *left_out["ci"]]
    rules = report.to_dict()["rules"]
    best = max(rules[r]["confound"]["0.1"]["mean"] for r in ("role", "user_oldest", "user_length"))
    assert told["metrics"]["confound, best rule"]["0.1"] == [best]
    alone = report.to_dict()["weights"]["default"]["simulated-1"]
    assert told["data"]["sets"]["simulated-1"]["weights_alone"] == [alone[f]["mean"] for f in FACTORS]
    assert told["definition"]["name"] == "default"
    assert told["definition"]["regime"] == "batch"
    assert told["calibration"]["by"] != "none"
    assert [p.name for p in out.parent.iterdir()] == ["default.onnx"]


def test_equal_settings_give_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("a.onnx", "b.onnx"):
        job(data=(READY, "confound:seed=1,cases=4"), beside=(), refits=1, out=tmp_path / name)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_figures_do_not_depend_on_which_other_sets_are_only_judged() -> None:
    alone = job(data=(READY, "confound:seed=1,cases=3"), beside=())
    more = job(data=(READY, "confound:seed=1,cases=3"), judge=("confound:seed=2,cases=3",), beside=())
    for row in ("confound-1", "confound-2", LEFT_OUT, ALL):
        for name in ("confound-1", "confound-2"):
            assert alone.matrix["default"][row][name] == more.matrix["default"][row][name]


def test_one_fitted_set_and_one_judged_make_a_transfer(tmp_path: Path) -> None:
    report = job(data=("confound:cases=6",), judge=("confound:seed=1,cases=3",), out=tmp_path / "m.onnx")
    assert list(report.matrix["default"]) == ["confound-1"]
    assert report.matrix["default"]["confound-1"]["confound-2"]["kind"] == "transfer"
    told = ValueModel.load(tmp_path / "m.onnx").metadata["metrics"]
    assert "confound-2" in told and "confound-1" not in told


def test_a_single_case_has_no_row_of_its_own_and_no_interval() -> None:
    report = job(data=(READY, "confound:seed=1,cases=1"), beside=())
    assert "confound-2" not in report.matrix["default"]["confound-2"]
    cell = report.to_dict()["matrix"]["default"]["confound-1"]["confound-2"]["turns"]["0.1"]
    assert cell["ci"] == [None, None]
    assert any("the one case of confound-2" in note for note in report.notes)
    assert "–" in report.text()


def test_a_network_can_be_transferred_too(tmp_path: Path) -> None:
    out = tmp_path / "mlp.onnx"
    report = job(data=("confound:cases=3", "confound:seed=1,cases=3"), model="mlp", beside=(), out=out)
    assert report.weights == {"default": {}}
    assert report.protocol["refits"] == 1
    assert ValueModel.load(out).kind == "mlp"
    assert "Weights by the sets" not in report.text()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data": (READY,)}, "two data sets or more"),
        ({"data": (READY, READY)}, "have cases in common"),
        ({"data": (READY, "confound:cases=2")}, "have cases in common"),
        ({"data": (ONE,), "judge": ("simulated:cases=2",)}, "have cases in common"),
        ({"data": (READY, "jsonl:no-such.jsonl")}, "no-such.jsonl"),
        ({"data": (READY, ONE), "definition": "astrology"}, "astrology"),
        ({"data": (READY, ONE), "beside": ("astrology",)}, "astrology"),
        ({"data": (READY, ONE), "out": Path("model.txt")}, "name it model.onnx"),
    ],
)
def test_what_cannot_be_a_transfer_is_refused_with_a_reason(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        job(**settings)


def test_paths_do_not_travel_in_report_or_model(tmp_path: Path) -> None:
    folder = tmp_path / "private folder"
    folder.mkdir()
    rows = [
        {"text": text, "role": role, "time": f"2026-01-05T09:0{i}:00Z", "needed": i == 2}
        for i, (role, text) in enumerate(
            [
                ("user", "What a day, can you tell me a joke?"),
                ("assistant", "Of course. Why did the bicycle fall over? It was two-tired."),
                ("user", "My order number is 4471 and I bought it in Lisbon on 3 May."),
                ("assistant", "Thank you, I have noted the order."),
            ]
        )
    ]
    (folder / "mine.jsonl").write_text(json.dumps({"id": "a", "memories": rows}) + "\n", encoding="utf-8")
    out = tmp_path / "m.onnx"
    report = job(data=(ONE, f"jsonl:{folder}/mine.jsonl"), beside=(), out=out)
    assert report.sets["jsonl"]["spec"] == "jsonl:mine.jsonl"
    assert b"private folder" not in out.read_bytes()
    assert "private folder" not in json.dumps({k: v for k, v in report.to_dict().items() if k != "model"})


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(0, 5))
def test_folds_hold_out_every_case_once_and_never_all(cases: list[int], seed: int) -> None:
    for count in cases:
        folds = own_folds(count)
        held = [int(c) for (part,) in folds for c in part]
        assert sorted(held) == (list(range(count)) if count > 1 else [])
        assert all(len(part) < count for (part,) in folds)
    joint = joint_folds(cases, seed)
    assert (not joint) == (min(cases) == 1)
    for s, count in enumerate(cases):
        held = [int(c) for fold in joint for c in fold[s]]
        assert sorted(held) == (list(range(count)) if joint else [])
        assert all(0 < len(fold[s]) < count for fold in joint)


def test_cross_fitted_values_come_from_weights_that_never_saw_the_case() -> None:
    """Flipping the labels of one case must not move the values of that case in its own row."""
    config = TransferConfig(data=(READY, "confound:seed=1,cases=4"), refits=2, beside=())
    sets = {f"s{i}": Bench.build(load(spec)) for i, spec in enumerate(config.data)}
    before = transfer_matrix(sets, config)
    rows = sets["s0"].case_of == 1
    sets["s0"].needed[rows] = ~sets["s0"].needed[rows]
    after = transfer_matrix(sets, config)
    for row in ("s0", ALL):
        a, b = before.rows[row]["s0"], after.rows[row]["s0"]
        assert np.array_equal(a.values[rows], b.values[rows])
        assert not np.array_equal(a.values[~rows], b.values[~rows])
    # What is fitted on the other set alone does not move at all.
    assert np.array_equal(before.rows["s1"]["s0"].values, after.rows["s1"]["s0"].values)


def test_the_number_of_refits_is_known_beforehand() -> None:
    config = TransferConfig(data=(READY, "confound:seed=1,cases=3"), refits=2, beside=())
    sets = {f"s{i}": Bench.build(load(spec)) for i, spec in enumerate(config.data)}
    steps: list[int] = []
    for full in (True, False):
        steps.clear()
        transfer_matrix(sets, config, full=full, step=lambda: steps.append(1))
        assert len(steps) == refit_count(sets, config, full=full)


def test_progress_reaches_its_total() -> None:
    seen: list[tuple[int, int, str]] = []
    config = TransferConfig(data=(READY, "confound:seed=1,cases=3"), refits=1, beside=())
    transfer_job(config, lambda *told: seen.append(told))
    fits = [x for x in seen if x[2] == "fits"]
    assert fits[-1][0] == fits[-1][1] == len(fits)


@pytest.mark.slow
def test_weights_fitted_elsewhere_hold_on_the_real_sets(shared_data: Any) -> None:
    """Memora and LoCoMo, each with weights of the other alone: the targets, and the best one-line rule."""
    report = job(
        data=(f"memora:{shared_data.memora()}", f"locomo:{shared_data.locomo()}"), refits=4, beside=()
    )
    found = report.matrix["default"][LEFT_OUT]
    for name, targets in {"memora": (0.60, 0.80, 0.96), "locomo": (0.13, 0.26, 0.64)}.items():
        for key, target in zip(("0.05", "0.1", "0.3"), targets, strict=True):
            assert found[name]["turns"][key]["mean"] >= target, (name, key)
    assert not [x for x in report.losses if x["row"] == LEFT_OUT]
