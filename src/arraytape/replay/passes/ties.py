"""Passes over programs with maxima and minima: ties are counted one by one only where there are some.

Of an extreme value that is subtracted before ``exp``, as in the logarithm of a sum, the derivative is 0
but for unusual labels: then nothing is done about it at all.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..._storage import numpy_namespace
from ..program import CONSTANT, Node, Program, operands
from .nodes import like, packed, same_layout
from .simplify import MASKED, is_positive_zero, mapped, without_dead_code
from .ufunc_calls import CASTS

SPREADS = ("broadcast_to", "broadcast_view", "expand_dims", "reshape")
FALSE = np.False_.tobytes()


def with_rare_ties(program: Program) -> Program:
    """Return the program with one look for ties in the place of a sum for each extreme value."""
    extremes = without_nan(program)
    if not extremes:
        return program

    def node_with_ties(node: Node) -> Node:
        taken = extremes_of(node, extremes)
        if taken is None:
            return node
        ones = np.ones(node.shape, node.dtype)
        constant = Node(CONSTANT, like=ones, value=ones)
        new = Node("count_ties", count_ties, (taken, constant), node.keywords, like=node)
        new.view = True  # it may be the constant
        return new

    return with_rare_slopes(without_dead_code(mapped(program, node_with_ties)))


def with_rare_slopes(program: Program) -> Program:
    """Return the program without the derivative of a shift by extreme values where that is 0."""
    uses = Counter(x for node in program.nodes for x in operands(node))
    uses.update(program.roots())
    shifts = {node.args[0].args[1] for node in program.nodes if is_shifted(node)}
    before = iter(program.nodes)

    def node_with_slopes(node: Node) -> Node:
        old = next(before)
        for i in (0, 1) if node.op == "add" and not node.keywords else ():
            slope = slope_of(old.args[i]) if uses[old.args[i]] == 1 else None
            if slope is not None and slope[2] in shifts and same_layout(node.args[1 - i], node):
                added = slope_of(node.args[i])
                assert added is not None
                new = like(node, "add_to_extremes", add_to_extremes, node.args[1 - i], *added)
                new.view = True  # it may be the other operand
                return new
        return node

    return without_dead_code(mapped(program, node_with_slopes)) if shifts else program


def is_shifted(node: Node) -> bool:
    """Return True if a node is ``exp(x - y)``."""
    x = node.args[0] if node.op == "exp" else None
    return type(x) is Node and x.op == "subtract" and not x.keywords


def slope_of(node: Any) -> tuple[Node, Node, Node, Node] | None:
    """Return the shared cotangent, the operand, its extreme values and the count, or None."""
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


def add_to_extremes(y: Any, share: Any, x: Any, extreme: Any, ones: Any) -> Any:
    """y, with shares added where x is extreme; ones : as many as there are shares."""
    if not np.count_nonzero(share):
        return y
    taken = np.equal(x, extreme)
    axis = tuple([i for i, count in enumerate(ones.shape) if count != x.shape[i]])
    return y + np.where(taken, share / count_ties(taken, ones, axis=axis, keepdims=True), 0.0)


def without_nan(program: Program) -> set[Node]:
    """Return the nodes that have no NaN, as guards say that look at all elements for it."""
    looked = {
        guard.node for guard in program.guards if (guard.kind, guard.expected) == ("value", FALSE)
    }
    return {node.args[0].args[0] for node in looked if is_look_for_nan(node)}


def is_look_for_nan(node: Node) -> bool:
    """Return True if a node says that a value has NaN."""
    x = node.args[0] if node.op == "any" else None
    return type(x) is Node and x.op == "not_equal" and x.args[0] is x.args[1]


def extremes_of(node: Node, without_nan: set[Node]) -> Node | None:
    """Return the mask of extreme elements, if a node counts these in its sum."""
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
    """Count the elements that are taken in each group, of which each has one at least."""
    if np.count_nonzero(taken) == ones.size:
        return ones
    return numpy_namespace.sum(taken.astype(ones.dtype), **options)


__all__ = ["with_rare_ties"]
