"""Look into a model file before any runtime parses it.

ONNX is a protobuf format. This reader knows just enough of the wire format to list operators, weights and
metadata, with every length checked, so a hostile or damaged file is refused with a reason and the base
install needs no ``onnx`` package.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from memvalue.features.names import FACTORS
from memvalue.serve.errors import ModelError
from memvalue.serve.row_wise import ROWS, Node, Shape, check_row_wise

#: A value model takes 5 to 20 KB; a megabyte leaves room for any network worth calling small.
MAX_BYTES = 1_000_000

#: Our graphs have about 40 nodes.
MAX_NODES = 256

#: Read by every onnxruntime since 1.10 (2021).
IR_VERSION = 8
OPSET = 15

#: Version of the metadata's own layout.
FORMAT = 1

METADATA_KEY = "memvalue.model"
DIGEST_KEY = "memvalue.sha256"

#: Graph inputs with the value that stands for "nothing known"; ``factors`` has none and is required.
OPTIONAL_INPUTS: dict[str, float] = {
    "age_days": 1.0,
    "uses": 0.0,
    "relevance": 1.0,
    "use_strength": 0.0,
    "harm": 0.0,
    "machine": 0.0,
}
INPUTS: tuple[str, ...] = ("factors", *OPTIONAL_INPUTS)
OUTPUTS: tuple[str, ...] = ("value", "depth", "forget_risk", "forget_score", "rank_score")

#: Elementwise arithmetic and small products: nothing that loops, branches, reads files or grows its input.
OPERATORS = frozenset(
    {
        *("Abs", "Add", "Cast", "Clip", "Div", "GreaterOrEqual", "Log", "MatMul", "Max", "Min", "Mul"),
        *("Pow", "ReduceSum", "Relu", "Sigmoid", "Split", "Squeeze", "Sub", "Sum", "Unsqueeze"),
    }
)

_FLOAT, _INT64 = 1, 7
_ITEM_BYTES = {_FLOAT: 4, _INT64: 8}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a file that passed says about itself: metadata, operators in order, and its content digest."""

    metadata: dict[str, Any]
    operators: tuple[str, ...]
    digest: str


def content_digest(graph: bytes, metadata: bytes) -> str:
    """SHA-256 over the model without its metadata entries, and the metadata JSON as stored."""
    return hashlib.sha256(graph + b"\0" + metadata).hexdigest()


def inspect_model(data: bytes, *, digest: bool = True) -> ModelFile:
    """Check a model file's bytes without running it.

    Parameters
    ----------
    data
        The whole file.
    digest
        Also require that the content digest matches.

    Raises
    ------
    ModelError
        For anything but a value model of this project: too large, not ONNX, operators or domains off the
        list, control flow, external data, weights that are not finite, other inputs or outputs, rows that see
        one another, tensors that grow, another IR or operator set, metadata missing, malformed or changed,
        another factor order.
    """
    if len(data) > MAX_BYTES:
        _refuse(f"the file has {len(data)} bytes, more than the {MAX_BYTES} that a value model may have")
    if not data:
        _refuse("the file is empty")
    single: dict[int, Any] = {}
    opsets: list[bytes] = []
    entries: dict[str, bytes] = {}
    graph = bytearray()
    for number, value, start, stop in _fields(data, "model"):
        if number == 14:
            key, text = _entry(_blob(value, "metadata"))
            if key in entries:
                _refuse(f"metadata entry {key!r} occurs twice")
            entries[key] = text
            continue
        graph += data[start:stop]
        if number == 8:
            opsets.append(_blob(value, "operator set"))
        elif number in (1, 2, 3, 5, 7):
            _once(single, number, value, "model")
            if number in (2, 3):
                _text(value, "the producer")
        else:
            _refuse(
                f"model field {number} is not allowed (functions, training graphs and documents are not used)"
            )
    if single.get(1) != IR_VERSION:
        _refuse(f"ONNX IR version must be {IR_VERSION}, got {single.get(1)}")
    _check_opsets(opsets)
    if 7 not in single:
        _refuse("not an ONNX model: it holds no graph")
    operators = _check_graph(_blob(single[7], "graph"))
    stored = entries.pop(METADATA_KEY, None)
    signature = entries.pop(DIGEST_KEY, None)
    if stored is None or signature is None:
        _refuse(f"metadata {METADATA_KEY!r} or {DIGEST_KEY!r} is missing; export the model with memvalue fit")
    if entries:
        _refuse(f"unexpected metadata {sorted(entries)[0]!r}")
    found = content_digest(bytes(graph), stored)
    if digest and signature != found.encode():
        _refuse("the content digest does not match: the file was changed after export")
    return ModelFile(_check_metadata(stored), operators, found)


def _refuse(reason: str) -> NoReturn:
    raise ModelError(reason)


def _varint(data: bytes, at: int, what: str) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, and where the next byte stands."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            _refuse(f"not an ONNX model: {what} ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, at
    _refuse(f"not an ONNX model: a number in {what} is too long")


def _fields(data: bytes, what: str) -> Iterator[tuple[int, int | bytes, int, int]]:
    """Field number, value (int or bytes), and the span it takes, for each field of a message."""
    at = 0
    while at < len(data):
        start = at
        tag, at = _varint(data, at, what)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if number == 0:
            _refuse(f"not an ONNX model: field 0 in {what}")
        if wire == 0:
            value, at = _varint(data, at, what)
        elif wire in (1, 2, 5):
            size, at = _varint(data, at, what) if wire == 2 else ((8 if wire == 1 else 4), at)
            if size > len(data) - at:
                _refuse(
                    f"not an ONNX model: a field of {what} claims {size} bytes "
                    f"where {len(data) - at} are left"
                )
            value = data[at : at + size]
            at += size
        else:
            _refuse(f"not an ONNX model: wire type {wire} in {what}")
        yield number, value, start, at


def _once(seen: dict[int, Any], number: int, value: int | bytes, what: str) -> None:
    if number in seen:
        _refuse(f"field {number} of {what} occurs twice")
    seen[number] = value


def _blob(value: int | bytes, what: str) -> bytes:
    if not isinstance(value, bytes):
        _refuse(f"not an ONNX model: {what} is a number where bytes are due")
    return value


def _number(value: int | bytes, what: str) -> int:
    if not isinstance(value, int):
        _refuse(f"not an ONNX model: {what} is not a number")
    return value


def _text(value: int | bytes, what: str) -> str:
    try:
        return _blob(value, what).decode("utf-8")
    except UnicodeDecodeError:
        _refuse(f"{what} is not UTF-8")


def _entry(data: bytes) -> tuple[str, bytes]:
    seen: dict[int, Any] = {}
    for number, value, _, _ in _fields(data, "metadata"):
        if number not in (1, 2):
            _refuse(f"metadata field {number} is not allowed")
        _once(seen, number, value, "metadata")
    return _text(seen.get(1, b""), "a metadata key"), _blob(seen.get(2, b""), "a metadata value")


def _check_opsets(opsets: list[bytes]) -> None:
    for blob in opsets:
        seen: dict[int, Any] = {}
        for number, value, _, _ in _fields(blob, "operator set"):
            _once(seen, number, value, "operator set")
        domain, version = _text(seen.get(1, b""), "a domain"), seen.get(2)
        if domain not in ("", "ai.onnx"):
            _refuse(f"operator domain {domain!r} is not standard ONNX")
        if version != OPSET:
            _refuse(f"operator set must be {OPSET}, got {version}")
    if len(opsets) != 1:
        _refuse(f"exactly one operator set is allowed, got {len(opsets)}")


def _check_graph(data: bytes) -> tuple[str, ...]:
    nodes: list[Node] = []
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    shapes: dict[str, Shape] = {}
    numbers: dict[str, tuple[int, ...]] = {}
    for number, value, _, _ in _fields(data, "graph"):
        if number == 1:
            nodes.append(_check_node(_blob(value, "node")))
            if len(nodes) > MAX_NODES:
                _refuse(f"the graph has more than {MAX_NODES} nodes")
        elif number == 5:
            name, shape, kind, content = _check_tensor(_blob(value, "initializer"))
            if name in shapes:
                _refuse(f"initializer {name!r} occurs twice")
            neutral = OPTIONAL_INPUTS.get(name)
            # The golden rows pass every input, so they cannot vouch for the defaults.
            if neutral is not None and (shape != (1,) or content != np.float32(neutral).tobytes()):
                _refuse(f"the default of input {name!r} must be its neutral {neutral}")
            shapes[name] = shape
            if kind == _INT64:
                numbers[name] = tuple(np.frombuffer(content, dtype="<i8").tolist())
        elif number in (11, 12):
            name, kind = _value_info(_blob(value, "input or output"))
            there = inputs if number == 11 else outputs
            if name in there:
                _refuse(f"input or output {name!r} occurs twice")
            there[name] = kind
        elif number == 2:
            _text(value, "the graph's name")
        else:
            _refuse(f"graph field {number} is not allowed (sparse weights, quantisation notes and documents)")
    if tuple(inputs) != INPUTS or any(kind != _FLOAT for kind in inputs.values()):
        _refuse(f"inputs must be {', '.join(INPUTS)} in float32, got {', '.join(inputs) or 'none'}")
    if outputs != {name: _INT64 if name == "depth" else _FLOAT for name in OUTPUTS}:
        _refuse(f"outputs must be {', '.join(OUTPUTS)}, got {', '.join(outputs) or 'none'}")
    if not shapes.keys() >= OPTIONAL_INPUTS.keys() or "factors" in shapes:
        _refuse("every input but factors must have a neutral default")
    shapes |= dict.fromkeys(OPTIONAL_INPUTS, (ROWS,)) | {"factors": (ROWS, len(FACTORS))}
    check_row_wise(nodes, shapes, numbers, OUTPUTS)
    return tuple(node.operator for node in nodes)


def _check_node(data: bytes) -> Node:
    operator = domain = ""
    ends: tuple[list[str], list[str]] = [], []
    attributes: dict[str, int] = {}
    for number, value, _, _ in _fields(data, "node"):
        if number == 4:
            operator = _text(value, "an operator")
        elif number == 7:
            domain = _text(value, "a domain")
        elif number == 5:
            name, setting = _attribute(_blob(value, "attribute"))
            if name in attributes:
                _refuse(f"attribute {name!r} of a node occurs twice")
            attributes[name] = setting
        elif number in (1, 2):
            ends[number - 1].append(_text(value, "a name in a node"))
        elif number == 3:
            _text(value, "a name in a node")
        else:
            _refuse(f"node field {number} is not allowed")
    if domain not in ("", "ai.onnx"):
        _refuse(f"operator domain {domain!r} is not standard ONNX")
    if operator not in OPERATORS:
        _refuse(f"operator {operator!r} is not allowed in a value model")
    return Node(operator, tuple(ends[0]), tuple(ends[1]), attributes)


def _attribute(data: bytes) -> tuple[str, int]:
    """Name and whole number of an attribute; 0 for one that holds something else."""
    name, setting = "", 0
    for number, value, _, _ in _fields(data, "attribute"):
        if number in (6, 11):
            _refuse("control flow (a graph inside a node) is not allowed")
        if number not in (1, 2, 3, 4, 7, 8, 20):
            _refuse(f"attribute field {number} is not allowed (only numbers and strings are)")
        if number == 1:
            name = _text(value, "an attribute name")
        elif number == 3:
            setting = _number(value, "an attribute")
    return name, setting - (1 << 64) if setting >> 63 else setting


def _check_tensor(data: bytes) -> tuple[str, Shape, int, bytes]:
    """Name, shape, data type and little-endian content of an initializer."""
    seen: dict[int, Any] = {}
    dims: list[int] = []
    for number, value, _, _ in _fields(data, "initializer"):
        if number == 1:
            # Dimensions come one by one or packed into one field.
            if isinstance(value, int):
                dims.append(value)
            else:
                at = 0
                while at < len(value):
                    dim, at = _varint(value, at, "initializer")
                    dims.append(dim)
        elif number in (13, 14):
            _refuse("external data is not allowed: a value model is one file")
        elif number in (2, 8, 9):
            _once(seen, number, value, "initializer")
        else:
            _refuse(f"initializer field {number} is not allowed (weights are raw bytes)")
    name = _text(seen.get(8, b""), "an initializer's name")
    kind = _number(seen.get(2, 0), "a data type")
    raw = _blob(seen.get(9, b""), "weights")
    if kind not in _ITEM_BYTES:
        _refuse(f"initializer {name!r} has data type {kind}; only float32 and int64 are allowed")
    if len(dims) > 4 or math.prod(dims) * _ITEM_BYTES[kind] != len(raw):
        _refuse(f"initializer {name!r} has {len(raw)} bytes, which does not fit its shape {dims}")
    if kind == _FLOAT and not np.isfinite(np.frombuffer(raw, dtype="<f4")).all():
        _refuse(f"weights {name!r} are not finite")
    return name, tuple(dims), kind, raw


def _value_info(data: bytes) -> tuple[str, int]:
    """Name and element type of an input or output."""
    name, kind = "", 0
    for number, value, _, _ in _fields(data, "input or output"):
        if number == 1:
            name = _text(value, "a name")
        elif number == 2:
            for inner, tensor, _, _ in _fields(_blob(value, "type"), "type"):
                if inner != 1:
                    _refuse(f"input or output {name!r} is not a tensor")
                for field, elem, _, _ in _fields(_blob(tensor, "tensor type"), "tensor type"):
                    if field == 1:
                        kind = _number(elem, "an element type")
    return name, kind


def _check_metadata(stored: bytes) -> dict[str, Any]:
    try:
        found = json.loads(stored.decode("utf-8"), parse_constant=_no_constant)
    except ModelError:
        raise
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, a number of thousands of digits
        raise ModelError(f"the metadata is not JSON ({type(error).__name__})") from None
    if not isinstance(found, dict):
        _refuse("the metadata is not a JSON object")
    if found.get("format") != FORMAT:
        _refuse(
            f"metadata format must be {FORMAT}, got {found.get('format')!r}; upgrade memvalue or export anew"
        )
    if found.get("factors") != list(FACTORS):
        _refuse(f"the model's factor order is {found.get('factors')!r}, this package's is {list(FACTORS)}")
    if found.get("kind") not in ("linear", "mlp"):
        _refuse(f"unknown kind of model {found.get('kind')!r}")
    for name, kind in (
        ("definition_version", str),
        ("weights", dict),
        ("golden", dict),
        ("tier_edges", list),
    ):
        if not isinstance(found.get(name), kind):
            _refuse(f"metadata {name!r} is missing or malformed")
    edges = found["tier_edges"]
    if len(edges) != 3 or not all(_is_number(e) for e in edges) or sorted(edges) != edges:
        _refuse("metadata 'tier_edges' must be three rising numbers")
    if set(found["weights"]) != set(FACTORS) or not all(
        isinstance(w, dict) for w in found["weights"].values()
    ):
        _refuse("metadata 'weights' must name each factor")
    for entry in found["weights"].values():
        if entry.get("weight") is not None and not _is_number(entry["weight"]):
            _refuse("metadata 'weights' must be finite numbers")
    if not isinstance(found.get("definition", {}), dict):
        _refuse("metadata 'definition' must be an object")
    mean = found.get("reference_mean")
    if mean is not None and not (
        isinstance(mean, list)
        and len(mean) == len(FACTORS)
        and all(_is_number(m) and 0 <= m <= 1 for m in mean)
    ):
        _refuse(f"metadata 'reference_mean' must be {len(FACTORS)} numbers from 0 to 1")
    exponent = found.get("density_exponent", 0.0)
    if not (_is_number(exponent) and exponent >= 0):
        _refuse("metadata 'density_exponent' must be a number of 0 or more")
    golden = found["golden"]
    if set(golden) != {"inputs", "outputs"} or not all(isinstance(golden[k], dict) for k in golden):
        _refuse("metadata 'golden' must hold inputs and outputs")
    rows = golden["inputs"].get("factors")
    if set(golden["inputs"]) != set(INPUTS) or set(golden["outputs"]) != set(OUTPUTS):
        _refuse("metadata 'golden' must hold every input and output")
    if not isinstance(rows, list) or not rows:
        _refuse("golden column 'factors' is malformed")
    for name, column in {**golden["inputs"], **golden["outputs"]}.items():
        width = len(FACTORS) if name == "factors" else None
        if (
            not isinstance(column, list)
            or len(column) != len(rows)
            or not all(_is_row(r, width) for r in column)
        ):
            _refuse(f"golden column {name!r} is malformed")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ModelError(f"the metadata holds {name}, which is not a number")


def _is_number(value: object) -> bool:
    # Beyond 1e30 a number would not survive as float32.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e30


def _is_row(value: object, width: int | None) -> bool:
    if width is None:
        return _is_number(value)
    return isinstance(value, list) and len(value) == width and all(_is_number(v) for v in value)
