"""One file that says what it is and decides as the model it came from."""

import json
import os
from datetime import UTC, datetime

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from train_cases import planted

from memvalue.features.names import DEFINITION_VERSION, FACTORS
from memvalue.serve import ValueModel
from memvalue.serve.verify import INPUTS, OUTPUTS
from memvalue.train.export import export_model, parameters_of
from memvalue.train.forget_risk import ForgetRisk
from memvalue.train.graph import LinearParameters, build_graph
from memvalue.train.linear import LinearValueModel
from memvalue.train.mlp import MLPValueModel
from memvalue.train.objective import retention
from memvalue.train.pairwise import PairwiseLogistic

WHEN = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def fitted():
    X, y, g = planted(cases=12)
    machine = np.arange(len(y)) % 2 == 1
    return {
        "linear": LinearValueModel(restarts=1, max_evaluations=60).fit(X, y, groups=g),
        "offset": LinearValueModel(restarts=1, max_evaluations=60, role_offset=True).fit(
            X, y, groups=g, machine=machine
        ),
        "pairwise": PairwiseLogistic(nonnegative=False).fit(X, y, groups=g),
        "mlp": MLPValueModel(restarts=1, epochs=3).fit(X, y, groups=g),
    }


def feeds(n, rng):
    return {
        "factors": rng.random((n, 7), dtype=np.float32),
        "age_days": rng.random(n, dtype=np.float32) * 300,
        "uses": rng.integers(0, 9, n).astype(np.float32),
        "relevance": rng.random(n, dtype=np.float32),
        "use_strength": rng.random(n, dtype=np.float32) * 2 - 1,
        "harm": rng.random(n, dtype=np.float32),
        "machine": (rng.random(n) < 0.5).astype(np.float32),
    }


@pytest.mark.parametrize("kind", ["linear", "offset", "pairwise", "mlp"])
def test_the_file_gives_the_models_values_and_keeps_the_same_memories(fitted, kind, tmp_path):
    model = fitted[kind]
    X, y, _ = planted(cases=12, seed=9)
    X = np.round(X, 2)  # so that there are ties
    export_model(model, tmp_path / "m.onnx", created=WHEN)
    served = ValueModel.load(tmp_path / "m.onnx")
    machine = np.arange(len(y)) % 2 == 1 if kind == "offset" else None
    want = model.predict(X) if machine is None else model.predict(X, machine=machine)
    got = served.value(X, machine=machine)
    np.testing.assert_allclose(got, want, atol=1e-6)
    offsets = np.arange(13) * 40
    budgets = [0.05, 0.1, 0.2, 0.3]
    np.testing.assert_array_equal(
        retention(got, offsets, y, budgets), retention(want.astype(np.float32), offsets, y, budgets)
    )
    if kind != "mlp":  # elementwise arithmetic: the same bits, not only the same kept sets
        np.testing.assert_array_equal(got.astype(np.float64), want)


@pytest.mark.parametrize("kind", ["linear", "offset", "mlp"])
def test_onnxruntime_agrees_with_the_reference_evaluator(fitted, kind, tmp_path):
    X, y, _ = planted(cases=12)
    export_model(fitted[kind], tmp_path / "m.onnx", calibration=(X[:, 1], y), created=WHEN)
    given = feeds(50, np.random.default_rng(3))
    want = ReferenceEvaluator(onnx.load(tmp_path / "m.onnx")).run(list(OUTPUTS), given)
    got = ValueModel.load(tmp_path / "m.onnx").decide(**given)
    for name, column in zip(OUTPUTS, want, strict=True):
        np.testing.assert_allclose(getattr(got, name), column, rtol=2e-6, atol=1e-6, err_msg=name)


def test_the_decisions_follow_their_formulas():
    weights = np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    graph = build_graph(
        LinearParameters(weights),
        edges=(0.3, 0.5, 0.6),
        calibration=ForgetRisk(5.0, -2.0, age=-0.3, uses=0.4, rehearsal=0.5),
        beta=8.0,
    )
    given = feeds(200, np.random.default_rng(0))
    value, depth, risk, forget, rank = ReferenceEvaluator(graph).run(None, given)
    x = {name: column.astype(np.float64) for name, column in given.items()}
    v = x["factors"] @ weights
    np.testing.assert_allclose(value, v, atol=1e-6)
    np.testing.assert_array_equal(depth, (v >= 0.3) * 1 + (v >= 0.5) * 1 + (v >= 0.6) * 1)
    z = (
        5 * v
        - 2
        - 0.3 * np.log((1 + x["age_days"]) / 2)
        + 0.4 * np.log1p(x["uses"])
        + 0.5 * x["factors"][:, 6]
    )
    np.testing.assert_allclose(risk, 1 - 1 / (1 + np.exp(-z)), atol=1e-6)
    np.testing.assert_allclose(forget, x["age_days"] ** 0.7 / (1 + x["uses"]) / (1 + 8 * v), rtol=1e-5)
    a, b = 2 * v - 1, x["use_strength"]
    up = 1 + 0.05 * (a + b) / (1 + a * b)
    np.testing.assert_allclose(rank, x["relevance"] * (up * (1 - x["harm"]) + 0.91 * x["harm"]), rtol=1e-5)


def test_nudges_stay_inside_the_spread_of_twelve_fused_candidates():
    graph = build_graph(LinearParameters(np.eye(7)[0]), edges=(0.2, 0.45, 0.7))
    grid = (
        np.array(np.meshgrid([0, 0.25, 0.5, 1], [-1, 0, 0.5, 1], [0, 0.5, 1]))
        .reshape(3, -1)
        .astype(np.float32)
    )
    factors = np.zeros((grid.shape[1], 7), np.float32)
    factors[:, 0] = grid[0]
    rank = ReferenceEvaluator(graph).run(
        ["rank_score"], {"factors": factors, "use_strength": grid[1], "harm": grid[2]}
    )
    assert np.isfinite(rank[0]).all()
    assert rank[0].min() >= 0.91 - 1e-6 and rank[0].max() <= 1.05 + 1e-6
    assert rank[0].max() / rank[0].min() < 72 / 61


def test_the_file_is_small_old_enough_and_standard(fitted, tmp_path):
    for kind, model in fitted.items():
        export_model(model, tmp_path / f"{kind}.onnx", created=WHEN)
        loaded = onnx.load(tmp_path / f"{kind}.onnx")
        onnx.checker.check_model(loaded, full_check=True)
        assert os.path.getsize(tmp_path / f"{kind}.onnx") <= 20_000
        assert loaded.ir_version == 8
        assert [(o.domain, o.version) for o in loaded.opset_import] == [("", 15)]
        assert {n.domain for n in loaded.graph.node} == {""}
        assert [i.name for i in loaded.graph.input] == list(INPUTS)


def test_the_metadata_says_where_the_model_comes_from(fitted, tmp_path):
    X, y, _ = planted(cases=12)
    written = export_model(
        fitted["linear"],
        tmp_path / "m.onnx",
        reference=X,
        calibration=(X[:, 1], y),
        definition={"position": True},
        weight_ci=np.tile([0.0, 0.5], (7, 1)),
        budgets=(0.1, 0.3),
        data={"spec": "longmemeval:x.json", "digest": "abc"},
        config_digest="cfg",
        commit="deadbeef",
        metrics={"0.3": np.float32(0.5)},
        seed=3,
        created=WHEN,
    )
    found = ValueModel.load(tmp_path / "m.onnx").metadata
    assert found == written
    assert found["factors"] == list(FACTORS)
    assert found["definition_version"] == DEFINITION_VERSION
    assert found["weights"]["goal_relevance"]["ci"] == [0.0, 0.5]
    assert found["weights"]["goal_relevance"]["informed"] is True
    assert found["created"] == "2025-01-02T03:04:05+00:00"
    assert found["data"] == {"spec": "longmemeval:x.json", "digest": "abc"}
    assert (found["seed"], found["commit"], found["config_digest"]) == (3, "deadbeef", "cfg")
    assert found["calibration"]["by"] == "platt"
    assert found["tiers"]["by"] == "shares"
    assert len(found["golden"]["inputs"]["factors"]) == 16
    depth = ValueModel.load(tmp_path / "m.onnx").decide(X).depth
    np.testing.assert_allclose(np.bincount(depth) / len(X), [0.4, 0.3, 0.2, 0.1], atol=0.01)


def test_equal_input_gives_equal_bytes(fitted, tmp_path):
    for name in ("a", "b"):
        export_model(fitted["mlp"], tmp_path / name, created=WHEN, metrics={"z": 1, "a": 2})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_papers_edges_and_ones_own(fitted, tmp_path):
    paper = export_model(fitted["linear"], tmp_path / "m.onnx", edges="paper")
    np.testing.assert_allclose(paper["tier_edges"], [0.2, 0.45, 0.7], atol=1e-7)
    own = export_model(fitted["linear"], tmp_path / "m.onnx", edges=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(own["tier_edges"], [0.1, 0.2, 0.3], atol=1e-7)


def test_a_failed_export_leaves_the_old_file_and_nothing_else(fitted, tmp_path, monkeypatch):
    export_model(fitted["linear"], tmp_path / "m.onnx", created=WHEN)
    before = (tmp_path / "m.onnx").read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        export_model(fitted["mlp"], tmp_path / "m.onnx", created=WHEN)
    assert os.listdir(tmp_path) == ["m.onnx"]
    assert (tmp_path / "m.onnx").read_bytes() == before


def test_a_graph_that_disagrees_with_its_model_is_not_written(fitted, tmp_path):
    class Odd(LinearValueModel):
        def predict(self, X, machine=None):
            return super().predict(X) * 0.9

    odd = Odd.from_weights(np.ones(7))
    with pytest.raises(ValueError, match="differs"):
        export_model(odd, tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": np.zeros((0, 7))}, "reference"),
        ({"reference": np.full((2, 7), 2.0)}, "outside"),
        ({"edges": "quartiles"}, "edges"),
        ({"edges": [0.3, 0.2, 0.1]}, "rising"),
        ({"beta": -1.0}, "beta"),
        ({"metrics": {"x": float("nan")}}, "plain finite"),
        ({"metrics": {"x": object()}}, "plain"),
        ({"metrics": {"x": "y" * 30_000}}, "bytes"),
        ({"weight_mean": [1.0]}, "weight_mean"),
        ({"weight_ci": [1.0]}, "weight_ci"),
        ({"informed": [True]}, "informed"),
        ({"created": datetime(2025, 1, 1)}, "time zone"),
    ],
)
def test_bad_arguments_are_named(fitted, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        export_model(fitted["linear"], tmp_path / "m.onnx", **options)
    assert os.listdir(tmp_path) == []


def test_bad_places_and_models_are_named(fitted, tmp_path):
    with pytest.raises(ValueError, match="is a directory"):
        export_model(fitted["linear"], tmp_path)
    with pytest.raises(ValueError, match="does not exist"):
        export_model(fitted["linear"], tmp_path / "no" / "m.onnx")
    with pytest.raises(ValueError, match="call fit first"):
        export_model(LinearValueModel(), tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="7 finite"):
        parameters_of(LinearValueModel.from_weights([1, 2]))


def test_the_json_in_the_file_is_canonical(fitted, tmp_path):
    export_model(fitted["linear"], tmp_path / "m.onnx", created=WHEN)
    stored = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}["memvalue.model"]
    assert stored == json.dumps(json.loads(stored), sort_keys=True, separators=(",", ":"))
