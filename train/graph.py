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

from memvalue.serve.verify import INPUTS, IR_VERSION, OPSET, OPTIONAL_INPUTS, OUTPUTS
from memvalue.train.affine import affine_coefficients
from memvalue.train.calibrate import Platt

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
    calibration: Platt | None = None,
    beta: float = DEFAULT_BETA,
) -> onnx.ModelProto:
    """The checked model, without metadata.

    Inputs are ``factors[N, F]`` and, each with a neutral default of one element that applies to all rows,
    ``age_days``, ``uses``, ``relevance``, ``use_strength``, ``harm`` and ``machine``. Outputs are the columns
    of :class:`~memvalue.serve.decision.Decision`:

    - value: the model's, clipped to [0, 1] against rounding;
    - depth: how many of the three ``edges`` it reaches;
    - forget_risk: 1 − P(needed) by ``calibration``, or 1 − value without;
    - forget_score: age^0.7 / (1 + uses) / (1 + β·value);
    - rank_score: relevance · ((1 + m)(1 − harm) + 0.91·harm), where m = 0.05·(a + b)/(1 + a·b) joins
      a = 2·value − 1 and b = use strength by the addition that keeps sums of numbers in [−1, 1] there and
      has 0 as its exact neutral element.

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
        raw, offset, intercept = _linear(graph, parameters)
    else:
        width = len(parameters.mean)
        raw, offset, intercept = _network(graph, parameters), np.float32(0), np.float32(0)
    graph.add("Mul", "machine", graph.constant("machine_offset", offset), to="machine_term")
    graph.add("Add", raw, "machine_term", to="shifted")
    graph.add("Add", "shifted", graph.constant("intercept", intercept), to="placed")
    graph.add("Clip", "placed", "zero", "one", to="value")
    _depth(graph, edges)
    _forgetting(graph, calibration, beta)
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


def _linear(graph: _Builder, parameters: LinearParameters) -> tuple[str, np.float32, np.float32]:
    weights, offset, intercept = affine_coefficients(parameters.weights, parameters.offset)
    graph.add("Mul", "factors", graph.constant("weights", weights[None, :]), to="weighted")
    if len(weights) == 1:
        terms = ["weighted"]
    else:
        from onnx import helper

        terms = [f"term_{j}" for j in range(len(weights))]
        graph.nodes.append(helper.make_node("Split", ["weighted"], terms, name="terms", axis=1))
    graph.add("Sum", *terms, to="total")
    return graph.add("Squeeze", "total", "last_axis", to="score"), offset, intercept


def _network(graph: _Builder, parameters: MLPParameters) -> str:
    graph.add("Sub", "factors", graph.constant("mean", parameters.mean), to="centred")
    layer = graph.add("Div", "centred", graph.constant("scale", parameters.scale), to="standardised")
    last = len(parameters.coefs) - 1
    for i, (coef, bias) in enumerate(zip(parameters.coefs, parameters.intercepts, strict=True)):
        product = graph.add("MatMul", layer, graph.constant(f"coef_{i}", coef), to=f"product_{i}")
        layer = graph.add("Add", product, graph.constant(f"bias_{i}", bias), to=f"layer_{i}")
        if i < last:
            layer = graph.add("Relu", layer, to=f"hidden_{i}")
    score = graph.add("Squeeze", layer, "last_axis", to="score")
    graph.add("Sub", score, graph.constant("score_mean", parameters.score_mean), to="score_centred")
    graph.add("Div", "score_centred", graph.constant("score_scale", parameters.score_scale), to="z")
    graph.add("Abs", "z", to="z_size")
    graph.add("Add", "z_size", "one", to="z_room")
    graph.add("Div", "z", "z_room", to="z_squashed")
    graph.add("Mul", "z_squashed", graph.constant("half", 0.5), to="z_half")
    return graph.add("Add", "z_half", "half", to="squashed")


def _depth(graph: _Builder, edges: tuple[float, float, float]) -> None:
    from onnx import TensorProto

    as_int64 = {"to": int(TensorProto.INT64)}
    reached = []
    for i, edge in enumerate(edges):
        graph.add("GreaterOrEqual", "value", graph.constant(f"edge_{i}", edge), to=f"at_edge_{i}")
        reached.append(graph.add("Cast", f"at_edge_{i}", to=f"step_{i}", attributes=as_int64))
    graph.add("Add", reached[0], reached[1], to="two_steps")
    graph.add("Add", "two_steps", reached[2], to="depth")


def _forgetting(graph: _Builder, calibration: Platt | None, beta: float) -> None:
    if calibration is None:
        graph.add("Sub", "one", "value", to="forget_risk")
    else:
        graph.add("Mul", "value", graph.constant("risk_slope", -calibration.slope), to="risk_scaled")
        graph.add(
            "Add", "risk_scaled", graph.constant("risk_intercept", -calibration.intercept), to="risk_logit"
        )
        graph.add("Sigmoid", "risk_logit", to="forget_risk")
    graph.add("Max", "age_days", "zero", to="age")
    graph.add("Pow", "age", graph.constant("age_exponent", AGE_EXPONENT), to="aged")
    graph.add("Max", "uses", "zero", to="used")
    graph.add("Add", "used", "one", to="use_divisor")
    graph.add("Div", "aged", "use_divisor", to="age_per_use")
    graph.add("Mul", "value", graph.constant("beta", beta), to="shield")
    graph.add("Add", "shield", "one", to="value_divisor")
    graph.add("Div", "age_per_use", "value_divisor", to="forget_score")


def _ranking(graph: _Builder) -> None:
    graph.constant("minus_one", -1.0)
    graph.add("Add", "value", "value", to="twice_value")
    graph.add("Sub", "twice_value", "one", to="a")
    graph.add("Clip", "use_strength", "minus_one", "one", to="b")
    graph.add("Add", "a", "b", to="a_plus_b")
    graph.add("Mul", "a", "b", to="a_times_b")
    graph.add("Add", "a_times_b", "one", to="a_b_room")
    # a = 1 with b = −1 would be 0 / 0; any small positive divisor makes it 0, their fair sum.
    graph.add("Max", "a_b_room", graph.constant("tiny", 1e-6), to="a_b_divisor")
    graph.add("Div", "a_plus_b", "a_b_divisor", to="joined")
    graph.add("Mul", "joined", graph.constant("nudge", NUDGE), to="m")
    graph.add("Add", "m", "one", to="nudged")
    graph.add("Clip", "harm", "zero", "one", to="harmed")
    graph.add("Sub", "nudged", graph.constant("harm_floor", 1.0 - HARM), to="drop")
    graph.add("Mul", "harmed", "drop", to="loss")
    graph.add("Sub", "nudged", "loss", to="multiplier")
    graph.add("Mul", "relevance", "multiplier", to="rank_score")
