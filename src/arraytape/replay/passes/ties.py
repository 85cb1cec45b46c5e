"""Recognition of NaN guards, and of sums that count the elements equal to an extreme ("ties")."""

from __future__ import annotations

import numpy as np

from ..program import Node, Operand, Program
from .nodes import packed
from .rewriting import parse_pattern
from .ufunc_calls import CASTS

SPREADS = ("broadcast_to", "broadcast_view", "expand_dims", "reshape")
FALSE = np.False_.tobytes()
HAS_NAN = parse_pattern("any(x != x)")


def without_nan(program: Program) -> set[Node]:
    """Return the nodes x that have no NaN, because a replay checks that ``any(x != x)`` is False."""
    checks = {
        guard.node for guard in program.guards if (guard.kind, guard.expected) == ("value", FALSE)
    }
    return {node.args[0].args[0] for node in checks if is_nan_check(node)}


def is_nan_check(node: Node) -> bool:
    """Return True if a node is ``any(x != x)``, the NaN check of x."""
    return any(HAS_NAN.matches(node))


def extremes_of(node: Operand, without_nan: set[Node]) -> Node | None:
    """Return the mask ``x == max(x)`` if a node counts its true elements ("ties") in each row, or None.

    The count is the sum of the mask along the axes of the maximum.  A minimum is accepted, too.
    without_nan : the nodes that surely have no NaN.  The maximum must be one of them, because NaN would
        equal no element of its row, so that the count would be 0.
    """
    if (
        type(node) is not Node
        or node.op != "sum"
        or not node.shape
        or not node.keywords.get("keepdims")
    ):
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
