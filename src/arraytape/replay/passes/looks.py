"""Passes over programs: looks for NaN that other values make unnecessary are not taken."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._record.op_facts import facts_of
from ..program import CONSTANT, INPUT, Guard, Node, Program, operands, result_of
from .intervals import Interval
from .nodes import interval_of
from .simplify import without_dead_code
from .sums_by_blas import DOT, dot
from .ties import FALSE, is_look_for_nan


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
    if node.op == "add_to_extremes":
        found = operands(node)[:1]
    else:
        found = operands(node) if facts_of(node.op).propagates_nan else ()
    return tuple([x for x in found if x.dtype == node.dtype and x.size])


def is_plain(node: Node) -> bool:
    """Return True if a node has floats, of a call without a mask or dtype of its own."""
    floats = node.dtype is not None and node.dtype.kind == "f"
    return floats and {"axis", "keepdims"} >= {
        name for name, value in node.keywords.items() if value is not None
    }


# --- bounds -------------------------------------------------------------------------------------------
LOOKED_AT = "looked_at"
WORTH = 32  # elements to look at for each number to compare in their place
# What sums of squares may be at most, by the bytes of an element: more for fewer factors.
MODERATE = {8: (1e200, 1e150, 1e100, 1e75, 1e50, 1e40), 4: (1e24, 1e18, 1e12)}
HUGE = {8: 1e300, 4: 1e36}
TURNED = ("matrix_transpose", "permute_dims", "reshape")  # views, which cost nothing to make again


def with_bounds(program: Program) -> Program:
    """Return the program with comparisons of sums of squares in the place of looks for NaN.

    Where sums of squares are moderate, so are their terms, and what is made of these by sums and
    products has no NaN.  Else the look is taken.
    """
    return with_lazy_looks(with_looks_by_sums(program))


@dataclass(eq=False)
class Look:
    """A look for NaN that is taken where sums of squares are not moderate.

    given : the values that the look needs.  nodes : what it computes of them.  found : what it looks at.
    most : what each sum may be.
    """

    given: Sequence[Node]
    nodes: Sequence[Node]
    found: Sequence[Node]
    most: float

    def __call__(self, *values: Any) -> float:
        """NaN where there is one, for the given values and then the sums; else 0."""
        given, sums = values[: len(self.given)], values[len(self.given) :]
        moderate = all(one < self.most for one in sums)
        return 0.0 if moderate or not self.has_nan(*given) else math.nan

    def has_nan(self, *values: Any) -> bool:
        known = dict(zip(self.given, values, strict=True))
        for node in self.nodes:
            known[node] = result_of(node, known)
        return any(np.isnan(known[node]).any() for node in self.found)

    def node(self, sums: Sequence[Node]) -> Node:
        """Return the call of this in a program."""
        return Node(LOOKED_AT, self, (*self.given, *sums), like=np.float64(0.0))


def with_looks_by_sums(program: Program) -> Program:
    """The program whose looks at much data ask the sums of squares first that it adds up anyway."""
    sums = [node for node in program.nodes if node.op == DOT and node.args[0] is node.args[1]]
    guards = program.guards
    large = [x for x in guards if x.kind == "no NaN" and x.node.size >= WORTH * len(sums)]
    if not sums or not large:
        return program
    most = MODERATE[8][2]
    known = dict.fromkeys([node.args[0] for node in sums], math.sqrt(most))
    add_terms(known, program)
    add_bounds(known, program.nodes)
    nodes = [*program.nodes]
    for i, guard in enumerate(guards):
        if guard in large and guard.node in known:
            look = Look([guard.node], [], [guard.node], most).node(sums)
            nodes.append(look)
            guards = [*guards[:i], guard._replace(node=look), *guards[i + 1 :]]
    return Program(program.inputs, nodes, guards, program.outputs, program.writes)


def add_terms(known: dict[Node, float], program: Program) -> None:
    """Add bounds of the terms of sums that have bounds, beside moderate other terms."""
    for node in reversed(program.nodes):
        if node in known and node.op in ("add", "subtract") and is_plain(node):
            for x, y in (node.args, node.args[::-1]):
                most = known[node] + size_of(y, known)
                if type(x) is Node and most < HUGE[8]:
                    known.setdefault(x, most)


def add_bounds(known: dict[Node, float], nodes: Sequence[Node]) -> None:
    """Add between which numbers and their negatives the values of nodes lie, where that is known."""
    for node in nodes:
        if node in known or not is_plain(node):
            continue
        found = interval_of(node, lambda x: up_to(size_of(x, known)))
        most = found.magnitude().high
        if most < HUGE.get(node.dtype.itemsize, 0.0) and not found.undefined:  # false of NaN
            known[node] = most


def up_to(most: float) -> Interval:
    return Interval(-most, most)


def size_of(x: Any, known: Mapping[Node, float]) -> float:
    """Return a bound of the absolute values of an operand."""
    if type(x) is not Node:
        return abs(float(x))
    if x.op == CONSTANT and x.dtype.kind == "f" and x.value.size:
        return float(np.abs(x.value).max())
    return 0.0 if x.op == "zeros" else known.get(x, math.inf)


# --- what is only looked at ---------------------------------------------------------------------------
def with_lazy_looks(program: Program) -> Program:
    """Return the program that computes what it only looks at, for NaN, where that may have some.

    It has none where the sums of squares of what it is made of by sums and products are moderate.
    """
    lazy = dict(lazily(program))
    if not lazy:
        return program
    places = {node: place for place, node in enumerate(program.nodes)}
    groups: dict[tuple[int, Any], list[Guard]] = {}
    for guard, (given, _) in lazy.items():
        last = max([places[x] for x in given], default=0)
        groups.setdefault((last, guard.node.dtype), []).append(guard)
    behind: dict[int, list[Node]] = {}
    squares = {x.args[0]: x for x in program.nodes if x.op == DOT and x.args[0] is x.args[1]}
    looks: dict[Guard, Node] = {}
    for (last, _), guards in sorted(groups.items(), key=lambda item: item[0][0]):
        own = [lazy[guard] for guard in guards]
        given = [*dict.fromkeys(x for values, _ in own for x in values)]
        made = {x for _, nodes in own for x in nodes}
        nodes = [x for x in program.nodes if x in made]
        most = most_of(given, nodes)
        if most is None:
            continue
        sums = []
        for x in filter(is_unknown, given):
            if x not in squares or places.get(squares[x], -1) > last:  # or known only later
                squares[x] = Node(DOT, dot, (x, x), like=x.dtype.type(0))
                behind.setdefault(last if x.op == INPUT else places[x], []).append(squares[x])
            sums.append(squares[x])
        look = Look(given, nodes, [guard.node for guard in guards], most).node(sums)
        behind.setdefault(last, []).append(look)
        looks |= dict.fromkeys(guards, look)
    ordered = [y for place, x in enumerate(program.nodes) for y in (x, *behind.get(place, ()))]
    guards = [guard._replace(node=looks.get(guard, guard.node)) for guard in program.guards]
    return without_dead_code(
        Program(program.inputs, ordered, guards, program.outputs, program.writes)
    )


def lazily(program: Program) -> Iterator[tuple[Guard, tuple[list[Node], list[Node]]]]:
    """The guards that look for NaN in what nothing else reads, with what that is made of, and how."""
    looks = [x for x in program.guards if x.kind == "no NaN"]
    asked = [x.node for x in program.guards if x.kind != "no NaN"]
    live = reached(program, [*program.outputs, *program.writes, *asked])
    own = [x for x in looks if x.node not in live and is_bounded(x.node)]
    live |= reached(program, [x.node for x in looks if x not in own])
    for guard in own:
        given: dict[Node, None] = {}
        nodes: dict[Node, None] = {}
        waiting = [guard.node]
        while waiting:
            node = waiting.pop()
            if (node in live and node.op not in TURNED) or not is_bounded(node):
                given[node] = None
            elif node not in nodes:
                nodes[node] = None
                waiting += operands(node)
        if any(node.op in ("matmul", "sum", DOT) for node in nodes):
            yield guard, ([*given], [*nodes])


def reached(program: Program, roots: Collection[Node]) -> set[Node]:
    """Return the nodes that roots are made of, with them."""
    found = {*roots}
    for node in reversed(program.nodes):
        if node in found:
            found.update(operands(node))
    return found


def is_bounded(node: Node) -> bool:
    """Return True if a node is moderate where its operands are, or a mask of comparisons."""
    if node.dtype == np.bool_ and facts_of(node.op).per_element:
        return bool(node.shape)
    if not (is_plain(node) and node.shape):
        return False
    found = interval_of(node, lambda x: up_to(1.0))
    return math.isfinite(found.magnitude().high) and not found.undefined


def is_unknown(x: Node) -> bool:
    """Return True if a value has floats that are no constants."""
    return x.op != CONSTANT and x.dtype is not None and x.dtype.kind == "f"


def most_of(given: Sequence[Node], nodes: Sequence[Node]) -> float | None:
    """Return the bound of sums of squares of given values below which nodes are moderate."""
    floats = [*filter(is_unknown, nodes)]
    for most in MODERATE.get(min([x.dtype.itemsize for x in floats]), ()):
        known = dict.fromkeys(filter(is_unknown, given), math.sqrt(most))
        add_bounds(known, nodes)
        if all(node in known for node in floats):
            return most
    return None


__all__ = ["LOOKED_AT", "Look", "with_bounds", "without_implied_looks"]
