"""Passes that shorten the derivatives of maxima and minima (extremes): ties are counted only if needed.

The derivative of max(x) divides the cotangent by the number of elements that equal the maximum (ties).
Usually each row has only one such element, and the count need not be computed.

If a maximum is subtracted before ``exp``, as in log(sum(exp(x - max(x)))), the derivative with respect
to the maximum is 0 apart from rounding.  If the derivative is exactly 0, its addition is skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._storage import numpy_namespace
from ..program import CONSTANT, Node, Operand, Program
from .nodes import like, packed, same_layout
from .patterns import Pattern
from .simplify import MASKED, is_positive_zero, mapped
from .ufunc_calls import CASTS

SPREADS = ("broadcast_to", "broadcast_view", "expand_dims", "reshape")
FALSE = np.False_.tobytes()
HAS_NAN = Pattern("any", Pattern("not_equal", "x", "x"))
SHIFTED_EXP = Pattern("exp", Pattern("subtract", "x", "y"))


def with_rare_ties(program: Program) -> Program:
    """Replace sums that count the elements equal to a maximum or minimum by ``count_ties``."""
    extremes = without_nan(program)
    if not extremes:
        return program

    def node_with_ties(node: Node, _: Node) -> Node:
        taken = extremes_of(node, extremes)
        if taken is None:
            return node
        ones = np.ones(node.shape, node.dtype)
        constant = Node(CONSTANT, like=ones, value=ones)
        new = Node("count_ties", count_ties, (taken, constant), node.keywords, like=node)
        new.view = True  # the result may be the constant of ones itself
        return new

    return with_rare_slopes(mapped(program, node_with_ties))


def with_rare_slopes(program: Program) -> Program:
    """Replace additions that are usually additions of 0 by ``add_to_extremes``, which tests for 0.

    The addend is the derivative with respect to a maximum y that occurs in ``exp(x - y)``.
    """
    uses = program.uses()
    shifts = {found["y"] for node in program.nodes for found in SHIFTED_EXP.matches(node)}

    def node_with_slopes(node: Node, old: Node) -> Node:
        for i in (0, 1) if node.op == "add" and not node.keywords else ():
            slope = slope_of(old.args[i]) if uses[old.args[i]] == 1 else None
            if slope is not None and slope[2] in shifts and same_layout(node.args[1 - i], node):
                added = slope_of(node.args[i])
                assert added is not None
                new = like(node, "add_to_extremes", add_to_extremes, node.args[1 - i], *added)
                new.view = True  # the result may be the other operand itself
                return new
        return node

    return mapped(program, node_with_slopes) if shifts else program


def slope_of(node: Operand) -> tuple[Node, Node, Node, Node] | None:
    """Return the operands (share, x, extreme, ones) of ``add_to_extremes`` for a node.

    Return None unless the node is ``where(x == extreme, share / count, 0)``, with ``count_ties`` as the
    count.
    """
    if type(node) is not Node or node.op not in (MASKED, "where"):
        return None
    if node.op == MASKED:
        x, taken, chosen = node.args
        fits = chosen is True
    else:
        taken, x, zero = node.args
        fits = is_positive_zero(zero)
    while type(x) is Node and x.op in ("broadcast_to", "broadcast_view"):
        x = x.args[0]
    if not fits or type(x) is not Node or x.op != "divide" or x.keywords:
        return None
    share, count = x.args
    if type(count) is not Node or count.op != "count_ties" or count.args[0] is not taken:
        return None
    same = type(share) is Node and share.shape == count.shape and taken.shape == node.shape
    return (share, *taken.args, count.args[1]) if same else None


def add_to_extremes(
    y: np.ndarray[Any, Any],
    share: np.ndarray[Any, Any],
    x: np.ndarray[Any, Any],
    extreme: np.ndarray[Any, Any],
    ones: np.ndarray[Any, Any],
) -> Any:
    """Return ``y + where(x == extreme, share / count, 0)``; y itself if ``share`` is 0 everywhere.

    extreme : the maximum or minimum of each row of x.  count : the number of elements of the row that
    equal it.  share : the cotangent of ``extreme``.  ones : ones of the shape of ``share``.
    """
    if not np.count_nonzero(share):
        return y
    taken = np.equal(x, extreme)
    axis = tuple([i for i, count in enumerate(ones.shape) if count != x.shape[i]])
    return y + np.where(taken, share / count_ties(taken, ones, axis=axis, keepdims=True), 0.0)


def without_nan(program: Program) -> set[Node]:
    """Return the nodes x that have no NaN, because a guard requires ``any(x != x)`` to be False."""
    looked = {
        guard.node for guard in program.guards if (guard.kind, guard.expected) == ("value", FALSE)
    }
    return {node.args[0].args[0] for node in looked if is_look_for_nan(node)}


def is_look_for_nan(node: Node) -> bool:
    """Return True if a node is ``any(x != x)``, which is true if x has a NaN."""
    return any(HAS_NAN.matches(node))


def extremes_of(node: Node, without_nan: set[Node]) -> Node | None:
    """Return the mask ``x == max(x)`` if a node is the sum of this mask along the same axes, or None.

    without_nan : nodes without NaN.  The maximum must be one of these: a maximum that is NaN equals no
    element of its row.
    """
    if node.op != "sum" or not node.shape or not node.keywords.get("keepdims"):
        return None
    cast = node.args[0]
    if type(cast) is not Node or cast.op not in CASTS or cast.dtype != node.dtype:
        return None
    taken = cast.args[0]
    if type(taken) is not Node or taken.op != "equal":
        return None
    x, extreme = taken.args
    while type(extreme) is Node and extreme.op in SPREADS:
        extreme = extreme.args[0]
    if extreme not in without_nan or extreme.op not in ("max", "min") or extreme.args[0] is not x:
        return None
    same_axis = extreme.keywords.get("axis") == node.keywords.get("axis")
    plain = taken.shape == x.shape and node.strides == packed(node.shape, node.dtype.itemsize)
    return taken if same_axis and plain else None


def count_ties(taken: np.ndarray[Any, Any], ones: np.ndarray[Any, Any], **options: Any) -> Any:
    """Return the number of true elements in each row of a mask; each row must have at least one.

    ones : ones in the shape of the result.  If the mask has as many true elements as rows, each row
    has exactly one, and ``ones`` is returned.
    """
    if np.count_nonzero(taken) == ones.size:
        return ones
    return numpy_namespace.sum(taken.astype(ones.dtype), **options)
