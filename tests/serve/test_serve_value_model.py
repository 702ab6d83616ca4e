"""The runtime decides like the model it was exported from, one memory or many, and refuses bad input."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve_models import WEIGHTS, content, held_out

from memvalue.features.names import FACTORS
from memvalue.serve import DEPTHS, ModelError, ValueModel

KINDS = ["linear", "offset", "mlp"]
COLUMNS = ("value", "depth", "forget_risk", "forget_score", "rank_score")


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return ValueModel.from_bytes(content(request.param))


@pytest.fixture(scope="module")
def linear():
    return ValueModel.from_bytes(content("linear"))


def test_five_lines_are_enough(tmp_path):
    (tmp_path / "model.onnx").write_bytes(content())
    model = ValueModel.load(tmp_path / "model.onnx")
    np.testing.assert_allclose(model.value([[1] * 7, [0] * 7]), [1.0, 0.0], atol=1e-6)
    assert model.factors == FACTORS
    np.testing.assert_allclose(list(model.weights.values()), WEIGHTS)
    assert list(model.weights) == list(FACTORS)
    assert "linear" in repr(model)


def test_one_memory_alone_gets_the_bits_it_gets_in_a_batch(model):
    X, _ = held_out()
    rng = np.random.default_rng(0)
    inputs = {"age_days": rng.random(400) * 99, "uses": rng.integers(0, 4, 400), "harm": rng.random(400)}
    inputs |= {
        "use_strength": rng.random(400) * 2 - 1,
        "relevance": rng.random(400),
        "machine": X[:, 0] > 0.5,
    }
    whole = model.decide(X, **inputs)
    for size in (1, 2, 3, 5, 8, 17):
        for start in range(0, 400 - size, 37):
            part = slice(start, start + size)
            some = model.decide(X[part], **{k: v[part] for k, v in inputs.items()})
            for name in COLUMNS:
                np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[part])


def test_a_neutral_input_is_an_exact_no_op(model):
    X, _ = held_out()
    bare = model.decide(X)
    neutral = {"age_days": 1, "uses": 0, "relevance": 1, "use_strength": 0, "harm": 0, "machine": 0}
    for given_ in ({k: v} for k, v in neutral.items()):
        for form in (given_, {k: np.full(len(X), v) for k, v in given_.items()}):
            same = model.decide(X, **form)
            for name in COLUMNS:
                assert getattr(same, name).tobytes() == getattr(bare, name).tobytes()
    every = model.decide(X, **neutral)
    assert all(getattr(every, name).tobytes() == getattr(bare, name).tobytes() for name in COLUMNS)
    np.testing.assert_array_equal(model.value(X), bare.value)


unit = st.floats(0, 1, width=32)


@settings(max_examples=60, deadline=None)
@given(st.lists(unit, min_size=7, max_size=7), unit, unit, st.floats(0, 1000), st.integers(0, 50))
def test_decisions_move_the_way_they_should(linear, row, more, harm, age, uses):
    low, high = (
        linear.decide([row], age_days=age, uses=uses),
        linear.decide([np.maximum(row, more)], age_days=age, uses=uses),
    )
    assert high.value >= low.value
    assert high.depth >= low.depth
    assert high.forget_risk <= low.forget_risk
    assert high.forget_score <= low.forget_score
    assert high.rank_score >= low.rank_score
    assert linear.decide([row], age_days=age + 1, uses=uses).forget_score >= low.forget_score
    assert linear.decide([row], age_days=age, uses=uses + 1).forget_score <= low.forget_score
    assert linear.decide([row], harm=harm).rank_score <= linear.decide([row]).rank_score
    assert linear.decide([row], use_strength=harm).rank_score >= linear.decide([row]).rank_score
    assert low.forget_score.dtype == low.value.dtype == np.float32
    assert low.depth.dtype == np.int64


def test_depths_have_names(linear):
    X, _ = held_out()
    decision = linear.decide(X)
    assert len(decision) == 400
    assert decision.depth_names == tuple(DEPTHS[d] for d in decision.depth)
    assert set(decision.depth_names) == set(DEPTHS)


def test_a_role_offset_moves_machine_turns_only():
    model = ValueModel.from_bytes(content("offset"))
    X, _ = held_out()
    person, machine = model.value(X), model.value(X, machine=np.ones(400, bool))
    assert (machine < person).all()
    np.testing.assert_array_equal(model.value(X, machine=False), person)


def test_no_memories_give_no_decisions(model):
    decision = model.decide(np.zeros((0, 7)), age_days=[])
    assert [getattr(decision, name).shape for name in COLUMNS] == [(0,)] * 5
    assert model.value(np.zeros((0, 7))).shape == (0,)


def test_one_row_may_come_as_a_vector(model):
    X, _ = held_out()
    np.testing.assert_array_equal(model.value(X[0]), model.value(X[:1]))
    np.testing.assert_array_equal(model.value(X[::2]), model.value(X)[::2])
    np.testing.assert_array_equal(model.value(np.asfortranarray(X.astype(np.float64))), model.value(X))


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (np.zeros((2, 6)), "order emotional_intensity"),
        (np.zeros(3), "got shape"),
        (np.zeros((1, 1, 7)), "got shape"),
        (0.5, "got shape"),
        ([["a"] * 7], "numbers"),
        ([[10**400] * 7], "numbers"),
        ([[0.1] * 7, [0.1] * 6], "numbers"),
        (None, "factors"),
        ([[0, 0, 0, np.nan, 0, 0, 0]], r"factors\[0, 3\] \(self_relevance\) is nan"),
        ([[0] * 7, [0, 0, 1.5, 0, 0, 0, 0]], r"factors\[1, 2\] \(value_alignment\) is 1.5"),
        ([[-0.1] + [0] * 6], "lies in"),
        ([[np.inf] + [0] * 6], "lies in"),
    ],
)
def test_bad_factors_are_named(linear, factors, message):
    for ask in (linear.value, linear.decide):
        with pytest.raises(ValueError, match=message):
            ask(factors)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"age_days": [1.0]}, "one a memory"),
        ({"age_days": [1.0, -1.0]}, r"age_days\[1\] is -1"),
        ({"uses": [np.nan, 0]}, r"uses\[0\] is nan"),
        ({"relevance": -0.5}, "relevance"),
        ({"use_strength": 1.5}, "from -1"),
        ({"harm": 2}, "0 to 1"),
        ({"machine": [[0, 1]]}, "machine"),
        ({"uses": "often"}, "numbers"),
        ({"uses": [10**400, 0]}, "numbers"),
        ({"age_days": np.inf}, "age_days"),
    ],
)
def test_bad_columns_are_named(linear, column, message):
    with pytest.raises(ValueError, match=message):
        linear.decide(np.zeros((2, 7)), **column)


def test_the_metadata_is_a_copy(linear):
    linear.metadata["weights"].clear()
    assert len(linear.weights) == 7


def test_a_network_has_no_weights_to_show():
    model = ValueModel.from_bytes(content("mlp"))
    assert model.weights == {}
    assert model.kind == "mlp"


def test_loading_is_silent(tmp_path, capfd):
    (tmp_path / "m.onnx").write_bytes(content())
    ValueModel.load(tmp_path / "m.onnx").decide(np.zeros((1, 7)))
    assert capfd.readouterr() == ("", "")


def test_files_that_are_no_models_are_refused_with_their_path(tmp_path):
    big = tmp_path / "big.onnx"
    big.write_bytes(b"\0" * 1_000_001)
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "text.onnx").write_text("not a model")
    for name, message in {
        "missing.onnx": "no such file",
        "nul\0.onnx": "no such file",
        ".": "directory",
        "big.onnx": "more than",
        "empty.onnx": "empty",
        "text.onnx": "not an ONNX model",
    }.items():
        with pytest.raises(ModelError, match=message) as caught:
            ValueModel.load(tmp_path / name)
        assert caught.value.path == str(tmp_path / name)
        assert message in caught.value.reason


def test_importing_the_runtime_loads_no_learner():
    code = (
        "import sys, memvalue.serve; "
        "print([m for m in ('torch','sklearn','scipy','pandas','mlflow','datasets','pydantic','onnx',"
        "'typer') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
