"""The table of policies over simulated worlds, its findings, and the search for constants."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.configs.simulate_config import SimulateConfig
from memvalue.eval.constants_search import Constants, search, worth
from memvalue.eval.directions import DIRECTIONS, directions
from memvalue.eval.rankers import RANKERS
from memvalue.eval.replay import MEASURES
from memvalue.eval.simulate_job import draw, simulate_job, spread
from memvalue.eval.simulate_report import SimulateReport
from memvalue.eval.statistics import Resampling

KEY = ("relevance", "retrieval_as_use", "use", "use_long", "lifetime_dual", "dual_50", "gate")


@pytest.fixture(scope="module")
def report() -> SimulateReport:
    return simulate_job(SimulateConfig(world="both", seeds=3, pages=120, policies=KEY))


def test_the_json_of_one_world_is_the_one_that_was_promised() -> None:
    found = simulate_job(SimulateConfig(seeds=2, pages=60, policies=("relevance",))).to_dict()
    assert (found["world"], found["seeds"], found["pages"]) == ("bursty", 2, 60)
    assert list(found["policies"]) == ["relevance", "dual"]
    for row in found["policies"].values():
        assert set(row) == {*MEASURES, "says"}
        assert all(set(row[m]) == {"mean", "std"} for m in MEASURES)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_same_settings_give_the_same_bytes() -> None:
    config = SimulateConfig(seeds=1, pages=60, policies=("use",), seed=3)
    assert simulate_job(config).to_json() == simulate_job(config).to_json()
    assert simulate_job(config.model_copy(update={"seed": 4})).to_json() != simulate_job(config).to_json()


def test_one_seed_has_a_mean_and_no_spread() -> None:
    found = simulate_job(SimulateConfig(seeds=1, pages=60, policies=("relevance",), world="steady"))
    row = found.to_dict()["policies"]["dual"]["correct"]
    assert row["std"] is None and 0 <= row["mean"] <= 1
    assert "steady: 60 pages" in found.text()


@pytest.mark.parametrize("world", ["scheduled", "bursty"])
def test_the_main_findings_hold_in_both_worlds(report: SimulateReport, world: str) -> None:
    (document,) = (d for d in report.worlds if d["world"] == world)
    mean = {n: {m: row[m]["mean"] for m in MEASURES} for n, row in document["policies"].items()}
    assert mean["retrieval_as_use"]["rare_correct"] < mean["relevance"]["rare_correct"] - 0.03
    assert mean["use"]["correct"] > mean["relevance"]["correct"] + 0.05
    assert mean["use"]["correct"] > mean["retrieval_as_use"]["correct"] + 0.05
    assert mean["use"]["correct"] > mean["use_long"]["correct"]
    assert mean["dual"]["wrong_after_switch"] < mean["lifetime_dual"]["wrong_after_switch"] - 0.1
    assert mean["dual"]["wrong_after_switch"] < mean["use"]["wrong_after_switch"]
    assert mean["dual"]["wrong_after_switch"] < 0.45 * mean["relevance"]["wrong_after_switch"]
    assert mean["dual_50"]["rare_correct"] < mean["dual"]["rare_correct"] - 0.1
    assert mean["gate"]["rare_correct"] < 0.1
    assert mean["gate"]["correct"] < 0.67 * mean["relevance"]["correct"]
    assert document["clocks"]["long"]["mean"] > document["clocks"]["edit"]["mean"] + 0.05


def test_comparisons_are_the_products_minus_the_others_with_corrected_p(report: SimulateReport) -> None:
    document = report.worlds[0]
    rows = {(c["policy"], c["measure"]): c for c in document["comparisons"]}
    assert len(rows) == len(KEY) * len(MEASURES)
    row = rows["gate", "correct"]
    policies = document["policies"]
    assert row["difference"] == pytest.approx(
        policies["dual"]["correct"]["mean"] - policies["gate"]["correct"]["mean"]
    )
    assert row["ci"][0] <= row["difference"] <= row["ci"][1]
    assert all(c["p_holm"] >= c["p"] for c in rows.values())


def test_the_text_names_what_differs_and_why(report: SimulateReport) -> None:
    text = report.text()
    for document in report.worlds:
        for d in document["directions"]:
            assert d["finding"] in text
            assert bool(d["note"]) != d["holds"]
            if not d["holds"]:
                verdict = "in the mean, but not beyond chance" if d["mean_agrees"] else "not so here"
                assert f"{document['world']}: {d['finding']}: {verdict}. {d['note']}" in text
    assert "the article's tables are lost" in text


def test_whoever_beats_the_product_is_named() -> None:
    better = {"policy": "folded", "measure": "correct", "difference": -0.012, "significant": True}
    fewer = {"policy": "dual_15", "measure": "wrong_after_switch", "difference": 0.04, "significant": True}
    luck = {"policy": "use", "measure": "correct", "difference": -0.01, "significant": False}
    beaten = {"policy": "gate", "measure": "correct", "difference": 0.4, "significant": True}
    document = simulate_job(SimulateConfig(seeds=1, pages=60, policies=("use",))).worlds[0]
    text = SimulateReport("bursty", 1, [document | {"comparisons": [better, fewer, luck, beaten]}]).text()
    assert "bursty: ahead of dual in 'correct': folded by 1.2 points." in text
    assert "bursty: ahead of dual in 'wrong after a switch': dual_15 by 4.0 points." in text
    assert text.count("ahead of dual in") == 2


def test_both_worlds_share_one_document(report: SimulateReport) -> None:
    found = report.to_dict()
    assert (found["world"], found["seeds"]) == ("both", 3)
    assert [d["world"] for d in found["worlds"]] == ["scheduled", "bursty"]


def test_every_finding_speaks_of_a_policy_that_exists() -> None:
    names = {r.name for r in RANKERS} | {"long", "short", "edit", "count"}
    for d in DIRECTIONS:
        assert d.a[1] in names
        assert d.b is None or d.b[1] in names
        assert d.otherwise.endswith(".")


def test_a_finding_holds_when_its_interval_does() -> None:
    """Differences 0.1 in every seed hold, −0.1 do not, and a coin's do not either."""
    resampling = Resampling(6, np.random.default_rng(0))
    clocks = {"long": np.full(6, 0.5), "short": np.full(6, 0.5), "edit": np.full(6, 0.5)}

    def judged(use: np.ndarray) -> dict:
        policies = {"use": {"correct": use}, "relevance": {"correct": np.full(6, 0.5)}}
        rows = directions(policies, clocks, {}, resampling)
        (found,) = (r for r in rows if r["finding"].startswith("deliberate use"))
        return found

    assert judged(np.full(6, 0.6))["holds"] is True
    assert judged(np.full(6, 0.4))["holds"] is False
    coin = judged(0.5 + 0.1 * np.array([1, -1, 1, -1, 1, -0.8]))
    assert coin["difference"] > 0 and coin["holds"] is False and coin["note"]
    assert coin["mean_agrees"] is True
    assert judged(np.full(6, 0.4))["mean_agrees"] is False


def test_the_spread_leaves_out_what_is_undefined() -> None:
    assert spread(np.array([0.2, 0.4, np.nan])) == {
        "mean": pytest.approx(0.3),
        "std": pytest.approx(2**-0.5 / 5),
    }
    assert math.isnan(spread(np.array([np.nan]))["mean"])


def test_scenarios_are_drawn_by_name() -> None:
    assert draw("drift", 1, None).name == "drift"
    assert draw("scheduled", 1, 60).pages == 60
    with pytest.raises(ValueError, match="unknown rhythm"):
        draw("weekly", 1, 60)


@given(st.lists(st.floats(-2, 3), min_size=6, max_size=6))
def test_every_point_of_the_search_is_a_sound_set_of_constants(point) -> None:
    found = Constants.at(np.array(point))
    assert 0.0 < found.formulas().use_per_hour < 1.0
    assert 0.0 < found.width < 0.26 and 0.0 < found.harm_width < 0.26
    np.testing.assert_allclose(Constants.at(found.point()).point(), found.point(), atol=1e-12)


def test_the_constants_in_force_are_the_runtimes() -> None:
    usual = Constants()
    assert usual.formulas().use_per_hour == pytest.approx(0.995, rel=1e-12)
    assert usual.formulas().harm_per_hour == pytest.approx(0.999, rel=1e-12)
    again = Constants.at(usual.point())
    assert again.use_half_life == pytest.approx(usual.use_half_life)
    assert (again.width, again.harm_width) == (pytest.approx(0.05), pytest.approx(0.09))


def test_a_search_judges_on_worlds_that_it_did_not_see() -> None:
    found = search(evaluations=12, training=(50,), held_out=(1, 2), worlds=("steady",), pages=60)
    assert set(found["held_out"]) == {*MEASURES, "worth"}
    row = found["held_out"]["worth"]
    assert row["difference"] == pytest.approx(row["searched"]["mean"] - row["by_hand"]["mean"])
    assert isinstance(found["better"], bool)
    assert found["by_hand"]["width"] == 0.05
    with pytest.raises(ValueError, match="unknown objective 'fame'; one of worth, correct"):
        search(objective="fame")
    with pytest.raises(ValueError, match=r"seeds \[3\] are searched on and judged on"):
        search(training=(3, 4), held_out=(2, 3))


def test_the_worth_of_a_policy_is_the_mean_of_three_shares() -> None:
    figures = {"correct": 0.8, "rare_correct": 0.5, "wrong_after_switch": 0.1}
    assert worth(figures) == pytest.approx((0.8 + 0.5 + 0.9) / 3)
    assert worth(figures | {"rare_correct": math.nan}) == pytest.approx(0.85)
