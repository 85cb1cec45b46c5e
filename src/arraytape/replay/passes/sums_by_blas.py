"""Passes that replace sums by products of BLAS, which are faster and have other last bits."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..._record.op_facts import state_facts
from ..._storage import numpy_namespace
from ..program import CONSTANT, Node, Operand, Program
from .nodes import axes_of, like, number_of, packed, same_layout, with_shape
from .simplify import mapped
from .ufunc_calls import CASTS

DOT = "dot"
MOST = 1 << 16  # the maximum length of a constant of ones, which stays in memory
WIDTHS = np.dtype(np.float32), np.dtype(np.float64)
FEW = 1 << 13  # full sums of more elements are not slower than a product with ones


def is_sum(node: Node) -> bool:
    """Return True if a node is a dot product, or a sum of all elements without a cast."""
    if node.op == DOT:
        return True
    if node.op != "sum" or node.call is not numpy_namespace.sum or node.shape != ():
        return False
    axis, x = node.keywords.get("axis"), node.args[0]
    if type(x) is not Node or len(node.args) != 1:
        return False
    if node.keywords.get("dtype") is not None or node.keywords.get("keepdims"):
        return False
    every = axis is None or axis == tuple(range(len(x.shape)))
    return every and node.dtype == x.dtype and node.dtype.kind in "fc" and node.dtype.itemsize > 2


@state_facts(continuous=True, propagates_nan=True, range=lambda n, x, y: x.times(y).sum_of(n))
def dot(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
    """Return the sum of all elements of ``x * y``, for arrays of the same layout."""
    return np.asarray(np.dot(x.ravel(), y.ravel()))


def with_dots(program: Program, exact: Collection[Node] = ()) -> Program:
    """Return the program with dot products in place of full sums of products.

    The sum of ``x + y`` with nonnegative x and y is split into two sums.  Their rounding errors are
    small, because no terms cancel.
    program : the recorded NumPy calls.  exact : nodes that must keep their bits.
    """
    sums = {node for node in program.nodes if node.op == "sum" and is_sum(node)}
    sums = {node for node in sums if node.dtype == np.float64 and node not in exact}
    if not sums:
        return program
    uses = program.uses()

    def summed(node: Node, x: Node) -> Node:
        """Return a node like `node` for the sum of x, made of dot products if possible.

        For example, the sum of ``y * z`` is a dot product.
        """
        alone = uses[x] <= 1 and not x.keywords
        if alone and x.op == "add" and all(is_positive(y) and same_layout(y, x) for y in x.args):
            return like(node, "add", np.add, summed(node, x.args[0]), summed(node, x.args[1]))
        scaled = scale_of(x) if alone else None
        if scaled is not None:
            return like(node, "multiply", np.multiply, scaled[0], summed(node, scaled[1]))
        pair = factors_of(x)
        if pair is not None:
            return like(node, DOT, dot, *pair)
        if x is node.args[0]:
            return node
        return like(node, "sum", numpy_namespace.sum, x)

    def new_of(node: Node, old: Node) -> Node:
        return summed(node, node.args[0]) if old in sums else node

    return mapped(program, new_of)


def factors_of(x: Node) -> tuple[Node, Node] | None:
    """Return the two factors of a product or square; None for another node.

    Return None, too, if their layouts differ, because a dot product runs over memory.
    """
    if x.keywords or x.op not in ("multiply", "square"):
        return None
    if len(x.shape) > 1 and x.strides != packed(x.shape, x.dtype.itemsize):
        return None
    y, z = x.args if x.op == "multiply" else (x.args[0], x.args[0])
    return (y, z) if same_layout(y, x) and same_layout(z, x) else None


def scale_of(x: Node) -> tuple[float, Node] | None:
    """Return c and y for a product ``c * y`` of a number c >= 1 and a nonnegative y, or None.

    The sum of the product is then computed as ``c * sum(y)``.  If c were below 1, ``sum(y)`` might
    overflow where the sum of the product does not.
    """
    if x.op == "multiply" and not x.keywords:
        for given, y in (x.args, x.args[::-1]):
            number = number_of(given)
            if number is not None and number >= 1.0 and same_layout(y, x) and is_positive(y):
                return number, y
    return None


def is_positive(x: Operand) -> bool:
    """Return True if an operand is known to have no negative elements."""
    if type(x) is not Node or x.keywords or x.dtype.kind != "f":
        return False
    if x.op in ("abs", "exp", "square"):
        return True
    if x.op == "multiply" and x.args[0] is x.args[1]:
        return True
    return scale_of(x) is not None or (x.op == "add" and all(map(is_positive, x.args)))


# --- sums as products with ones ----------------------------------------------------------------------
def with_products(program: Program, exact: Collection[Node] = ()) -> Program:
    """Return the program with sums of floats computed as matrix products with ones.

    BLAS needs a half to a twentieth of the time of NumPy's sums.  exact : nodes that keep their bits.
    """
    sums = {node for node in program.nodes if node.op == "sum" and node.dtype in WIDTHS}
    if sums <= set(exact):
        return program
    ones = Ones()

    def new_of(node: Node, old: Node) -> Node:
        return product(node, ones) or node if old in sums and old not in exact else node

    return mapped(program, new_of)


class Ones(dict[tuple[tuple[int, ...], Any], Node]):
    """A dict from a shape and a dtype to a constant node of ones, made at its first use."""

    def __missing__(self, key: tuple[tuple[int, ...], Any]) -> Node:
        value = np.ones(*key)
        self[key] = Node(CONSTANT, like=value, value=value)
        return self[key]


def product(node: Node, ones: Ones) -> Node | None:
    """Return a product with ones that replaces a sum over all axes, the first axes or the last axes.

    Return None for other sums, or if BLAS would not be faster.  Also return None for a float32 sum over
    other axes than the first ones, where NumPy's pairwise sums have smaller rounding errors than BLAS.
    Over the first axes, NumPy adds rows one by one, and BLAS has the smaller errors.
    ones : (shape, dtype) -> constant node of ones.
    """
    x, axes = node.args[0], axes_of(node)
    if axes is None or node.call is not numpy_namespace.sum or x.op in CASTS:
        return None  # ``x.op in CASTS``: the sum of a cast mask is a count, which stays exact
    count, rank = x.size // node.size, len(x.shape)
    width = x.dtype.itemsize
    is_packed, single = x.strides == packed(x.shape, width), x.dtype == np.float32
    if len(axes) == rank:
        if node.shape or not is_packed or count > FEW or single:
            return None
        return like(node, DOT, dot, with_shape(x, (count,)), ones[(count,), x.dtype])
    first = axes == tuple(range(len(axes)))
    if single and not first:
        return None
    if count > MOST or not (first or axes == tuple(range(rank - len(axes), rank))):
        return None
    if not is_packed and (rank != 2 or x.strides != packed(x.shape[::-1], width)[::-1]):
        return None
    shape: tuple[int, ...] = (node.size, count)
    row: tuple[int, ...] = (node.size,)
    column: tuple[int, ...] = (count,)
    if rank == len(node.shape) == 2:  # keepdims=True
        row, column = ((1, node.size), (1, count)) if first else ((node.size, 1), (count, 1))
    x = with_shape(x, shape[::-1] if first else shape)
    pair = (ones[column, x.dtype], x) if first else (x, ones[column, x.dtype])
    whole = like(node, "matmul", np.matmul, *pair)
    whole.shape, whole.strides = row, packed(row, width)
    return with_shape(whole, node.shape)
