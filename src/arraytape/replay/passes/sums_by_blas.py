"""Passes over programs that compute sums by BLAS, whose last bits differ from those of sums."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..._record.op_facts import state_facts
from ..._storage import numpy_namespace
from ..program import CONSTANT, Node, Operand, Program
from .nodes import again_in, axes_of, like, number_of, packed, same_layout
from .simplify import mapped
from .ufunc_calls import CASTS

DOT = "dot"
MOST = 1 << 16  # ones in a constant, which stays in memory
FEW = 1 << 13  # elements whose sum takes NumPy longer than a product with ones


def is_sum(node: Node) -> bool:
    """Return True if a node is the sum of all elements of a value of its dtype."""
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
    """Return the sum of the products of elements, in the order of memory."""
    return np.asarray(np.dot(x.ravel(), y.ravel()))


def with_dots(program: Program, exact: Collection[Node] = ()) -> Program:
    """Return the program with dot products for sums of products, except for nodes in ``exact``.

    exact : nodes that must keep their bits.  A sum of nonnegative terms is split into several sums,
    because nothing cancels there.
    """
    sums = {node for node in program.nodes if node.op == "sum" and is_sum(node)}
    sums = {node for node in sums if node.dtype == np.float64 and node not in exact}
    if not sums:
        return program
    uses = program.uses()

    def summed(node: Node, x: Node) -> Node:
        """Return the sum of x in the place of a node."""
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
    """Return the two factors of a product, or None if their layouts differ."""
    if x.keywords or x.op not in ("multiply", "square"):
        return None
    if len(x.shape) > 1 and x.strides != packed(x.shape, x.dtype.itemsize):
        return None
    y, z = x.args if x.op == "multiply" else (x.args[0], x.args[0])
    return (y, z) if same_layout(y, x) and same_layout(z, x) else None


def scale_of(x: Node) -> tuple[float, Node] | None:
    """Return c and y for a product ``c * y`` of a number c >= 1 and a nonnegative y, or None.

    Only c >= 1 can be moved out of a sum: with a smaller one the sum might overflow before.
    """
    if x.op == "multiply" and not x.keywords:
        for given, y in (x.args, x.args[::-1]):
            number = number_of(given)
            if number is not None and number >= 1.0 and same_layout(y, x) and is_positive(y):
                return number, y
    return None


def is_positive(x: Operand) -> bool:
    """Return True if an operand is known to have no negative element."""
    if type(x) is not Node or x.keywords or x.dtype.kind != "f":
        return False
    if x.op in ("abs", "exp", "square"):
        return True
    if x.op == "multiply" and x.args[0] is x.args[1]:
        return True
    return scale_of(x) is not None or (x.op == "add" and all(map(is_positive, x.args)))


# --- products with ones ------------------------------------------------------------------------------
def with_products(program: Program, exact: Collection[Node] = ()) -> Program:
    """Return the program with products with ones for sums of float64, but for nodes in ``exact``.

    BLAS needs a half to a twentieth of the time of NumPy's sums.
    """
    sums = {node for node in program.nodes if node.op == "sum" and node.dtype == np.float64}
    if sums <= set(exact):
        return program
    ones = Ones()

    def new_of(node: Node, old: Node) -> Node:
        return product(node, ones) or node if old in sums and old not in exact else node

    return mapped(program, new_of)


class Ones(dict[tuple[int, ...], Node]):
    """A constant of ones for each shape that is asked for."""

    def __missing__(self, shape: tuple[int, ...]) -> Node:
        value = np.ones(shape)
        self[shape] = Node(CONSTANT, like=value, value=value)
        return self[shape]


def product(node: Node, ones: Ones) -> Node | None:
    """Return a sum over all, the first or the last axes as a product with ones, or None."""
    x, axes = node.args[0], axes_of(node)
    if axes is None or node.call is not numpy_namespace.sum or x.op in CASTS:
        return None  # the sum of a mask: a count, which is exact in any order
    count, rank = x.size // node.size, len(x.shape)
    is_packed = x.strides == packed(x.shape, 8)
    if len(axes) == rank:
        if node.shape or not is_packed or count > FEW:
            return None
        return like(node, DOT, dot, again_in(x, (count,)), ones[count,])
    first = axes == tuple(range(len(axes)))
    if count > MOST or not (first or axes == tuple(range(rank - len(axes), rank))):
        return None
    if not is_packed and (rank != 2 or x.strides != packed(x.shape[::-1], 8)[::-1]):
        return None
    shape: tuple[int, ...] = (node.size, count)
    row: tuple[int, ...] = (node.size,)
    column: tuple[int, ...] = (count,)
    if rank == len(node.shape) == 2:  # with the axis kept
        row, column = ((1, node.size), (1, count)) if first else ((node.size, 1), (count, 1))
    x = again_in(x, shape[::-1] if first else shape)
    pair = (ones[column], x) if first else (x, ones[column])
    whole = like(node, "matmul", np.matmul, *pair)
    whole.shape, whole.strides = row, packed(row, 8)
    return again_in(whole, node.shape)
