"""A model file that is damaged, foreign or hostile is refused with a reason, never half believed."""

import json

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from serve_models import content, held_out

from memvalue.serve import ModelError, ValueModel
from memvalue.serve.verify import DIGEST_KEY, METADATA_KEY, content_digest, inspect_model

COLUMNS = ("value", "depth", "forget_risk", "forget_score", "rank_score")


def signed(model, metadata=None):
    """Bytes of an edited model with a digest that fits, as an attacker would make it."""
    stored = {p.key: p.value for p in model.metadata_props}
    text = stored[METADATA_KEY] if metadata is None else json.dumps(metadata)
    del model.metadata_props[:]
    digest = content_digest(model.SerializeToString(deterministic=True), text.encode())
    for key, value in ((METADATA_KEY, text), (DIGEST_KEY, digest)):
        model.metadata_props.append(onnx.StringStringEntryProto(key=key, value=value))
    return model.SerializeToString(deterministic=True)


def edited(change, kind="linear"):
    model = onnx.load_from_string(content(kind))
    change(model)
    return signed(model)


def with_metadata(change):
    model = onnx.load_from_string(content())
    metadata = json.loads({p.key: p.value for p in model.metadata_props}[METADATA_KEY])
    change(metadata)
    return signed(model, metadata)


def test_the_reader_sees_what_onnx_sees():
    for kind in ("linear", "mlp"):
        file = inspect_model(content(kind))
        model = onnx.load_from_string(content(kind))
        assert file.operators == tuple(n.op_type for n in model.graph.node)
        stored = {p.key: p.value for p in model.metadata_props}
        assert file.metadata == json.loads(stored[METADATA_KEY])
        assert file.digest == stored[DIGEST_KEY]


def test_resigning_an_unchanged_model_changes_nothing():
    assert edited(lambda m: None) == content()


def weights_of(model):
    return next(t for t in model.graph.initializer if t.name == "weights")


def external(model):
    tensor = weights_of(model)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")


def loop(model):
    inner = helper.make_graph([], "inner", [], [])
    model.graph.node.append(helper.make_node("If", ["zero"], ["x"], then_branch=inner, else_branch=inner))


def not_finite(model):
    weights_of(model).raw_data = np.full(7, np.nan, np.float32).tobytes()


def replace_value(field, value):
    def change(model):
        setattr(model.graph.node[0], field, value)

    return change


def other_default(model):
    next(t for t in model.graph.initializer if t.name == "harm").raw_data = np.float32(1).tobytes()


def doubles(model):
    weights_of(model).CopyFrom(numpy_helper.from_array(np.ones((1, 7)), "weights"))


def float_data(model):
    weights_of(model).CopyFrom(helper.make_tensor("weights", TensorProto.FLOAT, [1, 7], [0.1] * 7))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (external, "external data"),
        (loop, "control flow"),
        (not_finite, "not finite"),
        (other_default, "neutral"),
        (doubles, "data type"),
        (float_data, "raw bytes"),
        (replace_value("domain", "com.microsoft"), "not standard"),
        (replace_value("op_type", "Loop"), "not allowed"),
        (replace_value("op_type", "Expand"), "not allowed"),
        (replace_value("doc_string", "x"), "node field"),
        (lambda m: m.opset_import.append(helper.make_opsetid("custom", 1)), "not standard"),
        (lambda m: m.opset_import.append(helper.make_opsetid("", 15)), "exactly one"),
        (lambda m: setattr(m.opset_import[0], "version", 21), "operator set must be 15"),
        (lambda m: setattr(m, "ir_version", 10), "IR version"),
        (lambda m: m.functions.add(name="f"), "not allowed"),
        (lambda m: m.training_info.add(), "not allowed"),
        (lambda m: m.graph.sparse_initializer.add(), "graph field"),
        (lambda m: m.graph.input.pop(), "inputs must be"),
        (lambda m: m.graph.output.pop(), "outputs must be"),
        (lambda m: m.graph.node.extend([m.graph.node[0]] * 300), "more than 256"),
        (lambda m: weights_of(m).dims.append(2), "does not fit its shape"),
        (lambda m: m.graph.initializer.append(weights_of(m)), "occurs twice"),
        (lambda m: m.ClearField("graph"), "no graph"),
    ],
)
def test_what_a_value_model_may_not_hold_is_refused_even_when_signed(change, reason):
    with pytest.raises(ModelError, match=reason):
        ValueModel.from_bytes(edited(change))


def constants(model, **arrays):
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items())


def before(model, output, *nodes):
    """Nodes (operator, inputs, output, attributes) ahead of all others; ``output`` gets ``extra`` added."""
    for at, (operator, inputs, name, attributes) in enumerate(nodes):
        model.graph.node.insert(at, helper.make_node(operator, inputs, [name], **attributes))
    last = next(n for n in model.graph.node if n.output[0] == output)
    last.output[0] = "plain"
    for node in model.graph.node:
        node.input[:] = ["plain" if name == output else name for name in node.input]
    model.graph.node.append(helper.make_node("Add", ["plain", "extra"], [output]))


def sum_of(inputs, axes):
    return ("ReduceSum", [inputs, axes], "extra", {"keepdims": 0})


def large_constant(model):
    constants(model, a=np.zeros((30_000, 1), np.float32), b=np.zeros((1, 30_000), np.float32))
    constants(model, both=np.array([0, 1]))
    before(model, "rank_score", ("Add", ["a", "b"], "square", {}), sum_of("square", "both"))


def many_products(model):
    constants(model, a=np.zeros((400, 400), np.float32), both=np.array([0, 1]))
    before(model, "rank_score", ("MatMul", ["a", "a"], "square", {}), sum_of("square", "both"))


def everyone_against_everyone(model):
    constants(model, first=np.array([0]))
    before(
        model,
        "rank_score",
        ("Unsqueeze", ["harm", "first"], "row", {}),
        ("Unsqueeze", ["harm", "last_axis"], "column", {}),
        ("Mul", ["row", "column"], "square", {}),
        sum_of("square", "last_axis"),
    )


def company(model):
    constants(model, first=np.array([0]))
    before(model, "rank_score", sum_of("harm", "first"))


def one_answer_for_all(model):
    constants(model, answer=np.float32([0.5]), nothing=np.float32(0))
    last = next(n for n in model.graph.node if n.output[0] == "rank_score")
    last.output[0] = "unused"
    model.graph.node.append(helper.make_node("Add", ["answer", "nothing"], ["rank_score"]))


def out_of_order(model):
    first = model.graph.node[0]
    model.graph.node.append(first)
    del model.graph.node[0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (large_constant, "more than 1024 numbers"),
        (many_products, "rows by weights"),
        (everyone_against_everyone, "see one another"),
        (company, "adds up or drops the memories"),
        (one_answer_for_all, "'rank_score' is not one number a memory"),
        (out_of_order, "nothing before it makes"),
        (lambda m: m.graph.node.append(m.graph.node[0]), "made twice"),
        (lambda m: m.graph.node[0].output.append("x"), "outputs instead of"),
        (lambda m: m.graph.node[1].output.append("x"), "divide the columns evenly"),
        (lambda m: m.graph.node[1].attribute.append(m.graph.node[1].attribute[0]), "occurs twice"),
        (lambda m: setattr(m.graph.node[1].attribute[0], "i", 0), "divide the columns evenly"),
        (lambda m: setattr(m.graph.node[1].attribute[0], "i", -3), "axis -3 of 2"),
        (lambda m: m.graph.node[0].ClearField("input"), "no input"),
    ],
)
def test_a_graph_that_grows_or_lets_rows_see_one_another_is_refused_unrun(change, reason):
    with pytest.raises(ModelError, match=reason):
        inspect_model(edited(change))


def rare_number(*nodes):
    """``forget_risk`` gets something added that is nothing on the golden rows, whose ages end at 400."""

    def change(model):
        constants(model, long=np.float32(5000), half=np.float32(0.5), nothing=np.float32(0))
        before(model, "forget_risk", *nodes)

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            rare_number(("Sub", ["age_days", "long"], "over", {}), ("Relu", ["over"], "extra", {})),
            r"forget_risk is 9950\d\d",
        ),
        (
            rare_number(
                ("Sub", ["long", "age_days"], "under", {}),
                ("Pow", ["under", "half"], "root", {}),
                ("Mul", ["root", "nothing"], "extra", {}),
            ),
            r"forget_risk is nan .* age_days 1000000\.0",
        ),
    ],
)
def test_answers_out_of_range_far_from_the_golden_rows_are_found_at_loading(change, reason):
    with pytest.raises(ModelError, match=reason):
        ValueModel.from_bytes(edited(change))


def golden_off(metadata):
    metadata["golden"]["outputs"]["value"][3] += 0.01


def golden_depth_off(metadata):
    metadata["golden"]["outputs"]["depth"][3] = 3 - metadata["golden"]["outputs"]["depth"][3]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m.update(factors=m["factors"][::-1]), "factor order"),
        (lambda m: m.update(format=2), "format"),
        (lambda m: m.update(kind="tree"), "kind"),
        (lambda m: m.update(definition_version="0"), "factor definitions '0'"),
        (lambda m: m.pop("golden"), "golden"),
        (lambda m: m["golden"]["outputs"].pop("depth"), "golden"),
        (lambda m: m["golden"]["inputs"]["uses"].pop(), "golden column 'uses'"),
        (lambda m: m["golden"]["inputs"].update(factors=[[0.1] * 6] * 16), "golden column 'factors'"),
        (lambda m: m["golden"]["inputs"].update(factors=True), "golden column 'factors'"),
        (lambda m: m["golden"]["inputs"].update(factors=[]), "golden column 'factors'"),
        (lambda m: m.update(tier_edges=[0.3, 0.2, 0.1]), "tier_edges"),
        (lambda m: m.update(tier_edges=[0.3, "x", 0.4]), "tier_edges"),
        (lambda m: m.update(weights={}), "weights"),
        (lambda m: m["weights"]["reliability"].update(weight="heavy"), "weights"),
        (golden_off, "golden row 3"),
        (golden_depth_off, "golden row 3"),
    ],
)
def test_metadata_that_does_not_fit_is_refused_even_when_signed(change, reason):
    with pytest.raises(ModelError, match=reason):
        ValueModel.from_bytes(with_metadata(change))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"format":NaN}', "NaN"),
        ("[" * 100_000, "not JSON"),
        ("9" * 5000, "not JSON"),
    ],
)
def test_metadata_that_is_no_json_is_refused(text, reason):
    model = onnx.load_from_string(content())
    next(p for p in model.metadata_props if p.key == METADATA_KEY).value = text
    with pytest.raises(ModelError, match=reason):
        ValueModel.from_bytes(signed(model))


def test_metadata_may_be_neither_missing_nor_doubled_nor_added_to():
    for change, reason in (
        (lambda m: m.metadata_props.pop(), "missing"),
        (lambda m: m.metadata_props.append(m.metadata_props[0]), "twice"),
        (lambda m: m.metadata_props.add(key="note", value="x"), "unexpected"),
    ):
        model = onnx.load_from_string(content())
        change(model)
        with pytest.raises(ModelError, match=reason):
            ValueModel.from_bytes(model.SerializeToString())


def test_a_changed_weight_is_noticed_by_digest_and_by_golden_rows():
    def change(model):
        weights_of(model).raw_data = np.full(7, 0.2, np.float32).tobytes()

    model = onnx.load_from_string(content())
    change(model)
    with pytest.raises(ModelError, match="digest"):
        ValueModel.from_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="golden row"):
        ValueModel.from_bytes(edited(change))


def test_without_verification_a_changed_model_can_still_be_looked_at():
    stale = with_metadata(lambda m: m.update(definition_version="0"))
    assert ValueModel.from_bytes(stale, verify=False).metadata["definition_version"] == "0"
    with pytest.raises(ModelError, match="external data"):
        ValueModel.from_bytes(edited(external), verify=False)


def test_a_graph_that_cannot_run_is_a_model_error_and_prints_nothing(capfd):
    def change(model):
        # Shapes fit, types do not: the weights are whole numbers.
        weights_of(model).CopyFrom(numpy_helper.from_array(np.ones((1, 7), np.int64), "weights"))

    with pytest.raises(ModelError, match="cannot"):
        ValueModel.from_bytes(edited(change))
    assert capfd.readouterr() == ("", "")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["linear", "mlp"]), st.data())
def test_damage_is_refused_or_harmless(kind, data):
    good = content(kind)
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "insert", "swap"])):
            case "flip":
                damaged[at] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del damaged[at : at + data.draw(st.integers(1, 20))]
            case "insert":
                damaged[at:at] = data.draw(st.binary(min_size=1, max_size=8))
            case "swap":
                damaged[at:] = damaged[at:][::-1]
        if not damaged:
            break
    if bytes(damaged) == good:
        return
    with pytest.raises(ModelError):
        ValueModel.from_bytes(bytes(damaged))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["linear", "mlp"]), st.integers(0, 10**9), st.integers(0, 7))
def test_a_flipped_bit_under_a_fitting_digest_is_refused_or_harmless(kind, place, bit):
    """The golden rows are the second line: whoever re-signs a damaged graph gets past the digest only."""
    model = onnx.load_from_string(content(kind))
    stored = next(p.value for p in model.metadata_props if p.key == METADATA_KEY)
    del model.metadata_props[:]
    graph = bytearray(model.SerializeToString(deterministic=True))
    graph[place % len(graph)] ^= 1 << bit
    entries = onnx.ModelProto()
    for key, value in ((METADATA_KEY, stored), (DIGEST_KEY, content_digest(bytes(graph), stored.encode()))):
        entries.metadata_props.append(onnx.StringStringEntryProto(key=key, value=value))
    try:
        found = ValueModel.from_bytes(bytes(graph) + entries.SerializeToString())
    except ModelError:
        return
    X, _ = held_out()
    good, got = ValueModel.from_bytes(content(kind)).decide(X), found.decide(X)
    assert got.value.min() >= 0 and got.value.max() <= 1
    for name in COLUMNS:
        assert np.isfinite(getattr(got, name)).all()
        # A unit of the network that is off on all golden rows escapes them; the linear model hides nothing.
        if kind == "linear" and name != "depth":
            np.testing.assert_allclose(getattr(got, name), getattr(good, name), rtol=1e-3, atol=1e-3)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_noise_is_refused(noise):
    with pytest.raises(ModelError):
        inspect_model(noise)
