"""Constructors of nodes that replace others, and questions that rules ask about nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._record.op_facts import facts_of, hull
from ..._storage import numpy_namespace
from ..._util.array_types import Index
from ..program import CONSTANT, Node, Operand
from .intervals import EVERYWHERE, Interval

SMALL = 1 << 16  # bytes of a result that may become a constant of the program
NUMBERS = (int, float, np.floating)
New = Callable[[Node], Node]  # simplifies a node that a rule has made


def like(node: Node, op: str, call: Callable[..., Any] | None, *args: Any) -> Node:
    """Return a node for another call, with the shape, dtype and strides of `node`."""
    new = Node(op, call, args)
    new.shape, new.dtype, new.strides = node.shape, node.dtype, node.strides
    return new


def again(node: Node, *args: Any) -> Node:
    """Return the same call, keywords included, on other operands."""
    other = like(node, node.op, node.call, *args)
    other.keywords = node.keywords
    return other


def with_operand(node: Node, i: int, x: Node) -> tuple[Any, ...]:
    """Return the arguments of a call with x in the place of the i-th."""
    return *node.args[:i], x, *node.args[i + 1 :]


def zeros(node: Node) -> Node:
    """Return zeros in the shape and dtype of a node: a constant if they are small, else a call."""
    if node.size * node.dtype.itemsize > SMALL:
        return like(node, "zeros", np.zeros, node.shape, node.dtype)
    value = np.zeros(node.shape, node.dtype)
    return Node(CONSTANT, like=value, value=value)


def again_in(x: Node, shape: tuple[int, ...], new: New | None = None) -> Node:
    """Return x in another shape; ``new`` is applied to the reshape, if one is needed."""
    if x.shape == shape:
        return x
    other = Node("reshape", numpy_namespace.reshape, (x, shape))
    other.shape, other.dtype, other.view = shape, x.dtype, True
    other.strides = packed(shape, x.dtype.itemsize)
    return other if new is None else new(other)


def packed(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Return the strides of C-contiguous data whose elements have `step` bytes."""
    strides: list[int] = []
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def same_layout(x: Operand, node: Node) -> bool:
    """Return True if an operand is a node with the shape, dtype and strides of `node`."""
    return type(x) is Node and (x.shape, x.dtype, x.strides) == (
        node.shape,
        node.dtype,
        node.strides,
    )


def number_of(x: Operand) -> float | None:
    """Return the number that an operand is, or that a constant has in each element, or None."""
    if type(x) is int or type(x) is float:
        return float(x)
    if type(x) is not Node or x.op != CONSTANT or x.dtype.kind != "f" or not x.size:
        return None
    first = x.value[(0,) * x.value.ndim]
    return float(first) if x.shape == () or (x.value == first).all() else None


def pairs(node: Operand, op: str) -> list[tuple[Any, Any]]:
    """Return the operands of a binary call on floats in both orders; [] if x is no such call."""
    if type(node) is not Node or node.op != op or node.keywords or node.dtype.kind != "f":
        return []
    return [node.args, node.args[::-1]]


def axes_of(node: Node) -> tuple[int, ...] | None:
    """Return the axes of a sum, max or min of floats that has no dtype of its own, or None."""
    x, options = node.args[0], node.keywords
    if len(node.args) != 1 or type(x) is not Node or options.get("dtype") is not None:
        return None
    if x.dtype != node.dtype or node.dtype.kind != "f" or not x.size:
        return None
    axis, count = options.get("axis"), len(x.shape)
    axes = range(count) if axis is None else axis if type(axis) is tuple else (axis,)
    return tuple(sorted([one % count for one in axes])) if count else None


def interval_of(node: Node, of: Callable[[Any], Interval]) -> Interval:
    """Return an interval that holds the elements of a node, NaN aside.

    of : gives the interval of an operand, which is a node or a number.
    """
    extension = facts_of(node.op).range
    if extension is None:
        return EVERYWHERE
    given = [x for x in node.args if isinstance(x, (Node, *NUMBERS))]
    if extension is hull:  # keys and masks do not become elements
        given = [x for x in given if type(x) is not Node or x.dtype.kind not in "biu"]
    intervals = [EVERYWHERE if type(x) is Node and x.dtype.kind in "biu" else of(x) for x in given]
    found: Interval = extension(count_of_terms(node), *intervals)
    return found


def count_of_terms(node: Node) -> int:
    """Return how many elements of the first operand go into one of the result, at most."""
    x = node.args[0]
    count = x.size if type(x) is Node else 1
    if facts_of(node.op).signature == "(AXES)->()":
        return int(count // max(1, node.size))
    return int(count)


def kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with 1 for each of `axes`, as keepdims=True gives it."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def bare(x: Operand) -> Any:
    """Return the node that has the elements of x in the same order, before reshapes."""
    while type(x) is Node and x.op in ("expand_dims", "reshape", "reshaped", "getitem"):
        inner = x.args[0]
        if inner.size != x.size or (x.op == "getitem" and not is_whole(x.args[1])):
            break
        x = inner
    return x


def is_whole(key: Index) -> bool:
    """Return True if a key that selects all elements also keeps their order."""
    parts = key if type(key) is tuple else (key,)
    return all(
        part is None or part is Ellipsis or type(part) is int or part == slice(None)
        for part in parts
    )
