"""The ONNX graph of a value model, built node by node with ``onnx.helper`` (design.md, rule 3).

Only standard operators of an old operator set, so that any runtime since 2021 gives the same decisions. The
linear value uses elementwise arithmetic in a fixed order instead of a matrix product: a memory's bits then
depend neither on its neighbours in the batch nor on the runtime's kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.features.names import FACTORS
from memvalue.serve.verify import INPUTS, IR_VERSION, OPSET, OPTIONAL_INPUTS, OUTPUTS
from memvalue.train.affine import affine_coefficients
from memvalue.train.forget_risk import ForgetRisk

if TYPE_CHECKING:
    import onnx

#: Forget score age^0.7 / (1 + uses) / (1 + β·value), β = 8 in the paper's engine (arXiv 2606.12945).
AGE_EXPONENT = 0.7
DEFAULT_BETA = 8.0

#: Largest nudge of a rank by value and use, up or down (Bizer, dual-signal retrieval).
NUDGE = 0.05

#: Where full harm brings a rank, up to −9 %. With +5 % at the top the range is 1.05 / 0.91 = 1.154, inside
#: the spread 72 / 61 = 1.180 of twelve candidates under reciprocal rank fusion, so a nudge never overturns
#: it.
HARM = 0.09


@dataclass(frozen=True)
class LinearParameters:
    """float64[F] weights and the offset of machine turns, before scaling to [0, 1]."""

    weights: NDArray[np.float64]
    offset: float = 0.0


@dataclass(frozen=True)
class MLPParameters:
    """A network for standardised factors, as :class:`~memvalue.train.mlp.MLPValueModel` holds it."""

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    coefs: list[NDArray[np.float32]]
    intercepts: list[NDArray[np.float32]]
    score_mean: float
    score_scale: float


class _Builder:
    """Collects nodes and constants under readable names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: object, dtype: type = np.float32) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def add(self, operator: str, *inputs: str, to: str, attributes: dict[str, Any] | None = None) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, list(inputs), [to], name=to, **(attributes or {})))
        return to


def build_graph(
    parameters: LinearParameters | MLPParameters,
    *,
    edges: tuple[float, float, float],
    calibration: ForgetRisk | None = None,
    beta: float = DEFAULT_BETA,
) -> onnx.ModelProto:
    """The checked model, without metadata.

    Inputs are ``factors[N, F]`` and, each with a neutral default of one element that applies to all rows,
    ``age_days``, ``uses``, ``relevance``, ``use_strength``, ``harm`` and ``machine``. Outputs are the columns
    of :class:`~memvalue.serve.decision.Decision`:

    - value: the model's, clipped to [0, 1] against rounding;
    - depth: how many of the three ``edges`` it reaches;
    - forget_risk: 1 − P(needed) by ``calibration``, or 1 − value without; a coefficient of 0 adds no node;
    - forget_score: age^0.7 / (1 + uses) / (1 + β·value);
    - rank_score: relevance · ((1 + m)(1 − harm) + 0.91·harm), where m = 0.05·(a + b)/(1 + a·b) joins
      a = 2·value − 1 and b = use strength by the addition that keeps sums of numbers in [−1, 1] there and
      has 0 as its exact neutral element.

    A node costs a runtime about 0.3 µs whatever it does, and a decision about one memory should take 15: the
    formulas are arranged for few nodes, and those of optional inputs stand apart from those of the value, so
    that they fold to constants where an input is left out.

    Raises
    ------
    ValueError
        For parameters that are not finite, falling edges, or a negative β.
    """
    import onnx
    from onnx import TensorProto, helper

    if sorted(edges) != list(edges) or not np.isfinite(edges).all():
        raise ValueError(f"tier edges must be three rising numbers, got {edges}")
    if not (beta >= 0 and np.isfinite(beta)):
        raise ValueError(f"beta must be finite and 0 or more, got {beta}")
    graph = _Builder()
    for name, neutral in OPTIONAL_INPUTS.items():
        graph.constant(name, [neutral])
    graph.constant("zero", 0.0)
    graph.constant("one", 1.0)
    graph.constant("last_axis", [1], np.int64)
    if isinstance(parameters, LinearParameters):
        width = len(parameters.weights)
        _linear(graph, parameters)
    else:
        width = len(parameters.mean)
        _network(graph, parameters)
    _depth(graph, edges)
    _forgetting(graph, calibration, beta, width)
    _ranking(graph)

    for constant in graph.constants:
        if not np.isfinite(onnx.numpy_helper.to_array(constant)).all():
            raise ValueError(f"model parameter {constant.name!r} is not finite")
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", width] if n == "factors" else [f"N_{n}"])
        for n in INPUTS
    ]
    outputs = [
        helper.make_tensor_value_info(n, TensorProto.INT64 if n == "depth" else TensorProto.FLOAT, ["N"])
        for n in OUTPUTS
    ]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "memvalue", inputs, outputs, graph.constants),
        producer_name="memvalue",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def _linear(graph: _Builder, parameters: LinearParameters) -> None:
    """``value`` [N] and ``value_column`` [N, 1], by ``affine_value``'s operations in its order."""
    weights, offset, intercept = affine_coefficients(parameters.weights, parameters.offset)
    graph.add("Mul", "factors", graph.constant("weights", weights[None, :]), to="weighted")
    if len(weights) == 1:
        terms = ["weighted"]
    else:
        from onnx import helper

        terms = [f"term_{j}" for j in range(len(weights))]
        graph.nodes.append(helper.make_node("Split", ["weighted"], terms, name="terms", axis=1))
    column = graph.add("Sum", *terms, to="total")
    if offset:
        graph.add("Unsqueeze", "machine", "last_axis", to="machine_column")
        graph.add("Mul", "machine_column", graph.constant("machine_offset", offset), to="machine_term")
        column = graph.add("Add", column, "machine_term", to="shifted")
    if intercept:
        column = graph.add("Add", column, graph.constant("intercept", intercept), to="placed")
    graph.add("Clip", column, "zero", "one", to="value_column")
    graph.add("Squeeze", "value_column", "last_axis", to="value")


def _network(graph: _Builder, parameters: MLPParameters) -> None:
    """``value`` [N] and ``value_column`` [N, 1].

    Arithmetic with a constant costs onnxruntime 1 ms for 100,000 rows of a table or column, and a fiftieth of
    that for a vector: the scale is part of the first layer's weights, and the last layer is squeezed at once.
    The mean stays apart, since taking it off after a product would cancel digits.
    """
    layer = graph.add("Sub", "factors", graph.constant("mean", parameters.mean), to="centred")
    first = parameters.coefs[0].astype(np.float64) / parameters.scale.astype(np.float64)[:, None]
    coefs = [first, *parameters.coefs[1:]]
    last = len(coefs) - 1
    for i, (coef, bias) in enumerate(zip(coefs, parameters.intercepts, strict=True)):
        product = graph.add("MatMul", layer, graph.constant(f"coef_{i}", coef), to=f"product_{i}")
        layer = graph.add("Add", product, graph.constant(f"bias_{i}", bias), to=f"layer_{i}")
        if i < last:
            layer = graph.add("Relu", layer, to=f"hidden_{i}")
    graph.add("Squeeze", layer, "last_axis", to="score")
    graph.add("Sub", "score", graph.constant("score_mean", parameters.score_mean), to="score_centred")
    graph.add("Div", "score_centred", graph.constant("score_scale", parameters.score_scale), to="z")
    graph.add("Abs", "z", to="z_size")
    graph.add("Add", "z_size", "one", to="z_room")
    graph.add("Div", "z", "z_room", to="z_squashed")
    graph.add("Mul", "z_squashed", graph.constant("half", 0.5), to="z_half")
    graph.add("Add", "z_half", "half", to="squashed")
    graph.add("Clip", "squashed", "zero", "one", to="value")
    graph.add("Unsqueeze", "value", "last_axis", to="value_column")


def _depth(graph: _Builder, edges: tuple[float, float, float]) -> None:
    from onnx import TensorProto

    graph.add("GreaterOrEqual", "value_column", graph.constant("edges", [list(edges)]), to="at_edge")
    graph.add("Cast", "at_edge", to="steps", attributes={"to": int(TensorProto.INT64)})
    graph.add("ReduceSum", "steps", "last_axis", to="depth", attributes={"keepdims": 0})


def _forgetting(graph: _Builder, calibration: ForgetRisk | None, beta: float, width: int) -> None:
    graph.add("Max", "age_days", "zero", to="age")
    graph.add("Max", "uses", "zero", to="used")
    graph.add("Add", "used", "one", to="use_divisor")
    if calibration is None:
        graph.add("Sub", "one", "value", to="forget_risk")
    else:
        _risk(graph, calibration, width)
    graph.add("Pow", "age", graph.constant("age_exponent", AGE_EXPONENT), to="aged")
    graph.add("Div", "aged", "use_divisor", to="age_per_use")
    graph.add("Mul", "value", graph.constant("beta", beta), to="shield")
    graph.add("Add", "shield", "one", to="value_divisor")
    graph.add("Div", "age_per_use", "value_divisor", to="forget_score")


def _risk(graph: _Builder, calibration: ForgetRisk, width: int) -> None:
    # At the neutral age of a day and without uses the logarithms are those of 1: exactly 0.
    level = graph.constant("risk_intercept", -calibration.intercept)
    if calibration.age:
        graph.add("Add", "age", "one", to="age_and_one")
        graph.add("Mul", "age_and_one", graph.constant("one_half", 0.5), to="age_ratio")
        graph.add("Log", "age_ratio", to="age_log")
        graph.add("Mul", "age_log", graph.constant("risk_age", -calibration.age), to="risk_of_age")
        level = graph.add("Add", "risk_of_age", level, to="level_with_age")
    if calibration.uses:
        graph.add("Log", "use_divisor", to="use_log")
        graph.add("Mul", "use_log", graph.constant("risk_uses", -calibration.uses), to="risk_of_uses")
        level = graph.add("Add", "risk_of_uses", level, to="level_with_uses")
    graph.add("Mul", "value", graph.constant("risk_slope", -calibration.slope), to="risk_scaled")
    logit = graph.add("Add", "risk_scaled", level, to="risk_logit")
    if calibration.rehearsal:
        # All but one product are exact zeros, so the order in which a kernel adds them does not matter.
        pick = np.zeros((width, 1))
        pick[FACTORS.index("usage_history")] = -calibration.rehearsal
        graph.add("MatMul", "factors", graph.constant("risk_rehearsal", pick), to="rehearsal_column")
        graph.add("Squeeze", "rehearsal_column", "last_axis", to="risk_of_rehearsal")
        logit = graph.add("Add", logit, "risk_of_rehearsal", to="risk_logit_rehearsed")
    graph.add("Sigmoid", logit, to="forget_risk")


def _ranking(graph: _Builder) -> None:
    graph.constant("minus_one", -1.0)
    # With t = 2·value and c = b − 1: a + b = t + c and 1 + a·b = t·b − c.
    graph.add("Clip", "use_strength", "minus_one", "one", to="b")
    graph.add("Sub", "b", "one", to="c")
    graph.add("Add", "value", "value", to="t")
    graph.add("Add", "t", "c", to="a_plus_b")
    graph.add("Mul", "t", "b", to="t_times_b")
    graph.add("Sub", "t_times_b", "c", to="a_b_room")
    # a = 1 with b = −1 would be 0 / 0; any small positive divisor makes it 0, their fair sum.
    graph.add("Max", "a_b_room", graph.constant("tiny", 1e-6), to="a_b_divisor")
    graph.add("Div", "a_plus_b", "a_b_divisor", to="joined")
    # relevance · ((1 + m)(1 − harm) + 0.91·harm) = relevance · (1 − 0.09·harm) + relevance · m · (1 − harm)
    graph.add("Clip", "harm", "zero", "one", to="harmed")
    graph.add("Mul", "harmed", graph.constant("harm_range", HARM), to="drop")
    graph.add("Sub", "one", "drop", to="room")
    graph.add("Mul", "relevance", "room", to="base")
    graph.add("Sub", "one", "harmed", to="unharmed")
    graph.add("Mul", "relevance", "unharmed", to="reach")
    graph.add("Mul", "reach", graph.constant("nudge", NUDGE), to="nudge_reach")
    graph.add("Mul", "joined", "nudge_reach", to="push")
    graph.add("Add", "base", "push", to="rank_score")
