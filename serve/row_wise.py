"""Every row of a value model is computed for itself, in memory that its file bounds.

Operators that are harmless one by one can be put together so that they are not: adding a row of 60,000
constants to a column of as many takes 14 GB out of half a megabyte, the memories' ages against themselves n²,
and a sum over the rows makes what one memory is worth depend on its company. So the shape of everything in
the graph is followed from the inputs on. A shape is a tuple of numbers in which `ROWS` stands for the number
of memories; it may come first and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memvalue.serve.errors import ModelError

#: The number of memories, whatever it is.
ROWS = -1

Shape = tuple[int, ...]

#: Numbers a memory (or, in a constant, in all) that a tensor may hold. The shipped graphs have 16.
MAX_WIDTH = 1024

_ALIKE = frozenset({"Abs", "Cast", "Log", "Relu", "Sigmoid"})
_BROADCAST = frozenset({"Add", "Div", "GreaterOrEqual", "Max", "Min", "Mul", "Pow", "Sub", "Sum"})


class Node(NamedTuple):
    """An operator with the names of its inputs and outputs, and its whole-number attributes."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, int]


def check_row_wise(
    nodes: Sequence[Node],
    shapes: Mapping[str, Shape],
    numbers: Mapping[str, tuple[int, ...]],
    outputs: Sequence[str],
) -> None:
    """Refuse a graph in which a row could see another, or that grows.

    Parameters
    ----------
    nodes
        In the order in which they are computed.
    shapes
        Of the inputs and of the constants.
    numbers
        Content of the whole-number constants, by name.
    outputs
        Names that must come out with one number a row.

    Raises
    ------
    ModelError
        With the first node that does it, or that uses what is not there yet.
    """
    known = dict(shapes)
    for node in nodes:
        given = []
        for name in node.inputs:
            if name not in known:
                raise ModelError(f"a node {node.operator} takes {name!r}, which nothing before it makes")
            given.append(known[name])
        try:
            made = _shapes(node, given, numbers)
        except _Misfit as error:
            raise ModelError(f"a node {node.operator} {error}") from None
        for name, shape in zip(node.outputs, made, strict=True):
            if name in known:
                raise ModelError(f"{name!r} is made twice")
            if ROWS in shape[1:]:
                raise ModelError(f"a node {node.operator} lets memories see one another")
            if math.prod(map(abs, shape)) > MAX_WIDTH:
                raise ModelError(f"a node {node.operator} makes more than {MAX_WIDTH} numbers a memory")
            known[name] = shape
    for name in outputs:
        if known.get(name) != (ROWS,):
            raise ModelError(f"output {name!r} is not one number a memory")


class _Misfit(Exception):
    """What is wrong with a node."""


def _shapes(node: Node, given: list[Shape], numbers: Mapping[str, tuple[int, ...]]) -> list[Shape]:
    """Shapes of a node's outputs."""
    if not given or len(node.outputs) < 1:
        raise _Misfit("has no input or no output")
    first = given[0]
    made: list[Shape]
    if node.operator in _ALIKE:
        made = [first]
    elif node.operator == "Clip":
        if any(given[1:]):
            raise _Misfit("has bounds that are no single numbers")
        made = [first]
    elif node.operator in _BROADCAST:
        made = [_broadcast(given)]
    elif node.operator == "MatMul":
        made = [_product(given)]
    else:
        made = _rearranged(node, first, numbers)
    if len(made) != len(node.outputs):
        raise _Misfit(f"has {len(node.outputs)} outputs instead of {len(made)}")
    return made


def _broadcast(given: list[Shape]) -> Shape:
    """Aligned at the end, as in numpy."""
    rank = max(map(len, given))
    out = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in given), strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            raise _Misfit("joins shapes that do not fit, or memories with something else")
        out.append(wide.pop() if wide else 1)
    return tuple(out)


def _product(given: list[Shape]) -> Shape:
    """Rows times a table of weights; products of constants would be work that serves nothing."""
    if len(given) != 2 or any(len(shape) != 2 for shape in given):
        raise _Misfit("does not multiply two tables")
    (rows, inner), (height, width) = given
    if rows != ROWS or inner != height or ROWS in (height, width):
        raise _Misfit("does not multiply the memories' rows by weights of their width")
    return rows, width


def _rearranged(node: Node, first: Shape, numbers: Mapping[str, tuple[int, ...]]) -> list[Shape]:
    """Shapes after ReduceSum, Split, Squeeze or Unsqueeze, none of which may touch the rows."""
    if node.operator == "Split":
        at = _axis(node.attributes.get("axis", 0), len(first))
        parts = len(node.outputs)
        if len(node.inputs) > 1 or first[at] == ROWS or first[at] % parts:
            raise _Misfit("does not divide the columns evenly")
        return [(*first[:at], first[at] // parts, *first[at + 1 :])] * parts
    if len(node.inputs) != 2 or not numbers.get(node.inputs[1]):
        raise _Misfit("does not say along which axes, in a constant")
    axes = numbers[node.inputs[1]]
    if node.operator == "Unsqueeze":
        rank = len(first) + len(axes)
        places = {_axis(axis, rank) for axis in axes}
        rest = iter(first)
        if len(places) < len(axes):
            raise _Misfit("names an axis twice")
        return [tuple(1 if at in places else next(rest) for at in range(rank))]
    places = {_axis(axis, len(first)) for axis in axes}
    if any(first[at] == ROWS for at in places):
        raise _Misfit("adds up or drops the memories")
    if node.operator == "Squeeze" and any(first[at] != 1 for at in places):
        raise _Misfit("drops an axis that holds something")
    if node.operator == "ReduceSum" and node.attributes.get("keepdims", 1):
        return [tuple(1 if at in places else size for at, size in enumerate(first))]
    return [tuple(size for at, size in enumerate(first) if at not in places)]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise _Misfit(f"names axis {axis} of {rank}")
    return axis % rank
