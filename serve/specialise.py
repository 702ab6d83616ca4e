"""Cut a verified model down to what one call needs.

A runtime computes every node of a graph whatever is asked for, at about 0.3 µs a node. A call that wants the
value alone, or that leaves optional inputs out, needs a part of the graph; this takes that part out of the
file's own bytes. Inputs that are left out become constants, which the runtime folds. No node is changed, so
the part gives the whole's bits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

#: Field numbers of ONNX's messages (onnx.proto).
_MODEL_GRAPH, _MODEL_METADATA = 7, 14
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT = 1, 2
_INFO_NAME, _TENSOR_NAME = 1, 8


def specialise(data: bytes, outputs: Collection[str], given: Collection[str]) -> bytes:
    """A model with these outputs and inputs only, without metadata.

    Parameters
    ----------
    data
        A file that ``inspect_model`` has passed; nothing is checked again.
    outputs
        Names of the outputs that are wanted.
    given
        Names of the inputs that will be fed; the others take their defaults for good.
    """
    kept = b""
    for number, value, raw in _fields(data):
        if number == _MODEL_GRAPH:
            kept += _field(number, _graph(value, outputs, given))
        elif number != _MODEL_METADATA:
            kept += raw
    return kept


def _graph(data: bytes, outputs: Collection[str], given: Collection[str]) -> bytes:
    parts = list(_fields(data))
    nodes = {at: _ends(value) for at, (number, value, _) in enumerate(parts) if number == _GRAPH_NODE}
    needed = set(outputs)
    alive: set[int] = set()
    before = -1
    while len(alive) > before:  # once more than there are levels out of order, usually twice
        before = len(alive)
        for at in reversed(nodes):
            if not needed.isdisjoint(nodes[at][1]):
                alive.add(at)
                needed |= nodes[at][0]
    out = b""
    for at, (number, value, raw) in enumerate(parts):
        if number == _GRAPH_NODE:
            keep = at in alive
        elif number == _GRAPH_INITIALIZER:
            keep = _name(value, _TENSOR_NAME) in needed
        elif number == _GRAPH_INPUT:
            keep = _name(value, _INFO_NAME) in needed and _name(value, _INFO_NAME) in given
        elif number == _GRAPH_OUTPUT:
            keep = _name(value, _INFO_NAME) in outputs
        else:
            keep = True
        out += raw if keep else b""
    return out


def inputs_of(data: bytes) -> frozenset[str]:
    """Names of the inputs of a model."""
    graph = next(value for number, value, _ in _fields(data) if number == _MODEL_GRAPH)
    return frozenset(_name(value, _INFO_NAME) for n, value, _ in _fields(graph) if n == _GRAPH_INPUT)


def _ends(node: bytes) -> tuple[set[str], set[str]]:
    """Names of a node's inputs and outputs."""
    fields = [(number, value.decode()) for number, value, _ in _fields(node) if number <= _NODE_OUTPUT]
    return {v for n, v in fields if n == _NODE_INPUT}, {v for n, v in fields if n == _NODE_OUTPUT}


def _name(message: bytes, number: int) -> str:
    return next((value.decode() for n, value, _ in _fields(message) if n == number), "")


def _fields(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Field number, content and raw bytes of each field of a well-formed protobuf message."""
    at = 0
    while at < len(data):
        start = at
        tag, at = _varint(data, at)
        wire = tag & 7
        begin = at
        if wire == 0:
            _, at = _varint(data, at)
        elif wire == 2:
            size, begin = _varint(data, at)
            at = begin + size
        else:
            at += 8 if wire == 1 else 4
        yield tag >> 3, data[begin:at], data[start:at]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    head, rest = bytes([number << 3 | 2]), len(content)
    while rest >= 0x80:
        head += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return head + bytes([rest]) + content
