"""A pass over programs with maxima and minima: ties are counted one by one only where there are some."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._storage import numpy_namespace
from ..program import CONSTANT, Node, Program
from .simplify import mapped, packed, without_dead_code

CASTS = ("astype", "cast")
SPREADS = ("broadcast_to", "broadcast_view", "expand_dims", "reshape")
FALSE = np.False_.tobytes()


def with_rare_ties(program: Program) -> Program:
    """The program with one look for ties in the place of a sum for each extreme value."""
    extremes = without_nan(program)
    if not extremes:
        return program

    def new_of(node: Node) -> Node:
        taken = extremes_of(node, extremes)
        if taken is None:
            return node
        ones = np.ones(node.shape, node.dtype)
        constant = Node(CONSTANT, like=ones, value=ones)
        new = Node("count_ties", count_ties, (taken, constant), node.keywords, like=node)
        new.view = True  # it may be the constant
        return new

    return without_dead_code(mapped(program, new_of))


def without_nan(program: Program) -> set[Node]:
    """The nodes that have no NaN, as guards say that look at all elements for it."""
    looked = {
        guard.node for guard in program.guards if (guard.kind, guard.expected) == ("value", FALSE)
    }
    return {node.args[0].args[0] for node in looked if is_look_for_nan(node)}


def is_look_for_nan(node: Node) -> bool:
    """Whether a node says that a value has NaN."""
    x = node.args[0] if node.op == "any" else None
    return type(x) is Node and x.op == "not_equal" and x.args[0] is x.args[1]


def extremes_of(node: Node, without_nan: set[Node]) -> Node | None:
    """Where elements are the greatest or smallest ones, if a node counts these in its sum."""
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


def count_ties(taken: Any, ones: Any, **options: Any) -> Any:
    """How many elements are taken in each group, of which each has one at least."""
    if np.count_nonzero(taken) == ones.size:
        return ones
    return numpy_namespace.sum(taken.astype(ones.dtype), **options)


__all__ = ["with_rare_ties"]
