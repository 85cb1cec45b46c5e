"""Passes over programs: looks for NaN that other values make unnecessary are not taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..program import CONSTANT, Node, Program, operands
from .simplify import without_dead_code
from .sums import DOT
from .ties import FALSE, is_look_for_nan

# Calls whose result has NaN where an operand has, wherever it is.
SPREADING = frozenset(
    ("add", "add_to_extremes", "broadcast_to", "broadcast_view", "cos", "divide", "exp", "expand_dims",
     "log", "log1p", "matmul", "matrix_transpose", "max", "maximum", "min", "minimum", "multiply",
     "negative", "permute_dims", "reshape", "reshaped", "sin", "sqrt", "square", "subtract", "sum",
     "tanh", DOT)
)  # fmt: skip


def without_implied_looks(program: Program) -> Program:
    """The program without looks for NaN in what has none where a gradient that is looked at has none."""
    looked = {guard.node for guard in program.guards if guard.kind == "no NaN"}
    reaching: set[Node] = set()  # what NaN goes on from to what is looked at
    for node in reversed(program.nodes):
        if node in looked or node in reaching:
            reaching.update(through(node))
    reaching |= looked

    def implied(node: Node) -> bool:
        return is_look_for_nan(node) and node.args[0].args[0] in reaching

    guards = [
        guard for guard in program.guards if guard.expected != FALSE or not implied(guard.node)
    ]
    if len(guards) == len(program.guards):
        return program
    return without_dead_code(
        Program(program.inputs, program.nodes, guards, program.outputs, program.writes)
    )


def through(node: Node) -> tuple[Node, ...]:
    """The operands whose NaN make NaN of a node: of calls that neither choose nor leave anything out."""
    if not is_plain(node) or not node.size:
        return ()
    if node.op not in SPREADING:
        return ()
    found = operands(node)[:1] if node.op == "add_to_extremes" else operands(node)
    return tuple([x for x in found if x.dtype == node.dtype and x.size])


def is_plain(node: Node) -> bool:
    """Whether a node has floats, of a call without a mask or dtype of its own."""
    floats = node.dtype is not None and node.dtype.kind == "f"
    return floats and {*node.keywords} <= {"axis", "keepdims"}


# --- bounds -------------------------------------------------------------------------------------------
WORTH = 4096  # elements of what takes longer to look at than numbers to compare
SUM = 1e100  # of squares that were added up: none exceeds its root
HUGE = 1e300
NUMBERS = (int, float, np.floating)
SELECTING = frozenset(
    ("abs", "broadcast_to", "broadcast_view", "expand_dims", "flip", "getitem", "matrix_transpose",
     "maximum", "minimum", "negative", "permute_dims", "put", "reshape", "reshaped", "squeeze")
)  # fmt: skip
GROWING: dict[str, Callable[..., float]] = {
    "add": lambda node, x, y: x + y,
    "matmul": lambda node, x, y: x * y * node.args[0].size,
    "multiply": lambda node, x, y: x * y,
    "scatter_add": lambda node, x, *more: x * node.args[0].size,
    "scattered": lambda node, x, *more: x * node.args[0].size,
    "square": lambda node, x: x * x,
    "subtract": lambda node, x, y: x + y,
    "sum": lambda node, x, *more: x * node.args[0].size,
    DOT: lambda node, x, y: x * y * node.args[0].size,
}


def with_bounds(program: Program) -> Program:
    """The program with a comparison of sums of squares in the place of looks for NaN.

    Where all sums of squares that the program adds up anyway are moderate, so are their terms, and what
    is made of these by sums and products has no NaN.  Else the look is taken.
    """
    sums = [node for node in program.nodes if node.op == DOT and node.args[0] is node.args[1]]
    guards = program.guards
    large = [x for x in guards if x.kind == "no NaN" and x.node.size >= WORTH]
    if not sums or not large:
        return program
    known, nodes = bounds_from(program, sums), [*program.nodes]
    for i, guard in enumerate(guards):
        if guard in large and guard.node in known:
            look = Node("looked_at", looked_at, (guard.node, *sums), like=sums[0])
            nodes.append(look)
            guards = [*guards[:i], guard._replace(node=look), *guards[i + 1 :]]
    return Program(program.inputs, nodes, guards, program.outputs, program.writes)


def bounds_from(program: Program, sums: list[Node]) -> dict[Node, float]:
    """Between which numbers and their negatives values lie where sums of squares are moderate."""
    known = {node.args[0]: math.sqrt(SUM) for node in sums}

    def size(x: Any) -> float:
        if type(x) is not Node:
            return abs(float(x)) if isinstance(x, NUMBERS) else math.inf
        if x.op == CONSTANT and x.dtype.kind == "f" and x.value.size:
            return float(np.abs(x.value).max())
        return 0.0 if x.op == "zeros" else known.get(x, math.inf)

    for node in reversed(program.nodes):
        if (
            node in known and node.op in ("add", "subtract") and is_plain(node)
        ):  # x + y and y are moderate, so x is
            for x, y in (node.args, node.args[::-1]):
                if type(x) is Node and known[node] + size(y) < HUGE:
                    known.setdefault(x, known[node] + size(y))
    for node in program.nodes:
        if node in known or not is_plain(node):
            continue
        most = math.inf
        if node.op in SELECTING:  # keys and axes are no floats
            floats = [x for x in node.args if type(x) is not Node or x.dtype.kind not in "biu"]
            most = max([size(x) for x in floats if isinstance(x, (Node, *NUMBERS))])
        elif node.op in GROWING:
            most = GROWING[node.op](node, *map(size, node.args))
        if most < HUGE:  # false of NaN
            known[node] = most
    return known


def looked_at(x: Any, *sums: Any) -> Any:
    """A number that is NaN where x has NaN, if not all sums of squares are moderate."""
    if all(one < SUM for one in sums):
        return 0.0
    flat = x.ravel("K")
    return flat.dot(flat)


__all__ = ["with_bounds", "without_implied_looks"]
