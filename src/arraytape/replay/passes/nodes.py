"""Helpers of rules and passes: constructors of new nodes, and properties of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._record.op_facts import facts_of, hull
from ..._storage import numpy_namespace
from ..._util.array_types import Index
from ..program import CONSTANT, Node, Operand
from .intervals import EVERYWHERE, Interval

SMALL = 1 << 16  # the maximum number of bytes of a result that becomes a constant of the program
NUMBERS = (int, float, np.floating)
# The type of the parameter ``new`` of rules: it simplifies a node that the rule has made.
New = Callable[[Node], Node]


def like(node: Node, op: str, call: Callable[..., Any] | None, *args: Any) -> Node:
    """Return a new node for a call of ``call``, with the shape, dtype and strides of `node`.

    op : the name of the called function.
    call : the function.
    args : its arguments, nodes or Python values.
    """
    new = Node(op, call, args)
    new.shape, new.dtype, new.strides = node.shape, node.dtype, node.strides
    return new


def again(node: Node, *args: Any) -> Node:
    """Return a new node that makes the call of `node` again, keywords included, on ``args``."""
    other = like(node, node.op, node.call, *args)
    other.keywords = node.keywords
    return other


def with_operand(node: Node, i: int, x: Node) -> tuple[Any, ...]:
    """Return the arguments of a call with x in place of argument number i."""
    return *node.args[:i], x, *node.args[i + 1 :]


def zeros(node: Node) -> Node:
    """Return a node for zeros in the shape and dtype of `node`.

    Small zeros are a constant, large zeros a call of np.zeros.
    """
    if node.size * node.dtype.itemsize > SMALL:
        return like(node, "zeros", np.zeros, node.shape, node.dtype)
    value = np.zeros(node.shape, node.dtype)
    return Node(CONSTANT, like=value, value=value)


def with_shape(x: Node, shape: tuple[int, ...], new: New | None = None) -> Node:
    """Return x itself, or a reshape of x if it has another shape than ``shape``.

    A rule uses it to give a replacement the shape of the replaced node.
    new : a function that simplifies the node of the reshape.
    """
    if x.shape == shape:
        return x
    other = Node("reshape", numpy_namespace.reshape, (x, shape))
    other.shape, other.dtype, other.view = shape, x.dtype, True
    other.strides = packed(shape, x.dtype.itemsize)
    return other if new is None else new(other)


def packed(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Return the strides of C-contiguous data whose elements have `step` bytes.

    Packed data has no gaps.
    """
    strides: list[int] = []
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def same_layout(x: Operand, node: Node) -> bool:
    """Return True if an operand is a node with the shape, dtype and strides of `node`.

    Only such an operand can replace the node.
    """
    return type(x) is Node and (x.shape, x.dtype, x.strides) == (
        node.shape,
        node.dtype,
        node.strides,
    )


def number_of(x: Operand) -> float | None:
    """Return the value of a number, or of a float constant whose elements are all equal; else None.

    Rules match such a constant like a Python number.
    """
    if type(x) is int or type(x) is float:
        return float(x)
    if type(x) is not Node or x.op != CONSTANT or x.dtype.kind != "f" or not x.size:
        return None
    first = x.value[(0,) * x.value.ndim]
    return float(first) if x.shape == () or (x.value == first).all() else None


def pairs(node: Operand, op: str) -> list[tuple[Any, Any]]:
    """Return [(x, y), (y, x)] for a call ``op(x, y)`` on floats; [] for another node."""
    if type(node) is not Node or node.op != op or node.keywords or node.dtype.kind != "f":
        return []
    return [node.args, node.args[::-1]]


def axes_of(node: Node) -> tuple[int, ...] | None:
    """Return the axes of a reduction of floats (sum, max, ...), sorted and nonnegative.

    Return None for other nodes, and for a reduction with a ``dtype`` argument.
    """
    x, options = node.args[0], node.keywords
    if len(node.args) != 1 or type(x) is not Node or options.get("dtype") is not None:
        return None
    if x.dtype != node.dtype or node.dtype.kind != "f" or not x.size:
        return None
    axis, count = options.get("axis"), len(x.shape)
    axes = range(count) if axis is None else axis if type(axis) is tuple else (axis,)
    return tuple(sorted([one % count for one in axes])) if count else None


def interval_of(node: Node, of: Callable[[Any], Interval]) -> Interval:
    """Return an interval that contains all elements of a node that are not NaN.

    of : a function that returns the interval of an operand, a node or a number.
    """
    extension = facts_of(node.op).range
    if extension is None:
        return EVERYWHERE
    given = [x for x in node.args if isinstance(x, (Node, *NUMBERS))]
    if extension is hull:  # results contain no elements of integer keys and masks
        given = [x for x in given if type(x) is not Node or x.dtype.kind not in "biu"]
    intervals = [EVERYWHERE if type(x) is Node and x.dtype.kind in "biu" else of(x) for x in given]
    found: Interval = extension(count_of_terms(node), *intervals)
    return found


def count_of_terms(node: Node) -> int:
    """Return how many elements of the first operand contribute to one element of the result, at most.

    For a sum, this is the number of terms.
    """
    x = node.args[0]
    count = x.size if type(x) is Node else 1
    if facts_of(node.op).signature == "(AXES)->()":
        return int(count // max(1, node.size))
    return int(count)


def kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a reduction over `axes` with keepdims=True: 1 for each of these axes.

    The name stands for "kept axes".
    """
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


def bare(x: Operand) -> Any:
    """Return the node from which x was made by reshapes alone ("bare" of them), or x itself.

    Both have the same elements in the same order.
    """
    while type(x) is Node and x.op in ("expand_dims", "reshape", "reshaped", "getitem"):
        inner = x.args[0]
        if inner.size != x.size or (x.op == "getitem" and not keeps_order(x.args[1])):
            break
        x = inner
    return x


def keeps_order(key: Index) -> bool:
    """Return True if a key has only None, ``...``, integers and full slices.

    If ``x[key]`` has all elements of x, it then has them in their order.
    """
    parts = key if type(key) is tuple else (key,)
    return all(
        part is None or part is Ellipsis or type(part) is int or part == slice(None)
        for part in parts
    )
