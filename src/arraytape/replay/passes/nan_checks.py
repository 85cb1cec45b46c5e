"""Passes that leave out NaN checks of a program, or replace them by cheaper checks.

A NaN check is a guard of the kind "no NaN", or a guard that ``any(x != x)`` is False.  "Moderate" values
are so far from overflow that sums and products of a few of them are finite, and so no NaN.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..._record.op_facts import facts_of
from ..program import CONSTANT, INPUT, Guard, Node, Program, operands, result_of
from .intervals import Interval
from .nodes import interval_of
from .simplify import without_dead_code
from .sums_by_blas import DOT, dot
from .ties import FALSE, is_nan_check


def without_implied_checks(program: Program) -> Program:
    """Return the program without NaN checks that are implied by other NaN checks.

    If a checked gradient has no NaN, then neither have the values whose NaN would reach the gradient.
    """
    checked = {guard.node for guard in program.guards if guard.kind == "no NaN"}
    reaching: set[Node] = set()  # values whose NaN would make a checked value NaN
    for node in reversed(program.nodes):
        if node in checked or node in reaching:
            reaching.update(nan_sources(node))
    reaching |= checked

    def implied(node: Node) -> bool:
        return is_nan_check(node) and node.args[0].args[0] in reaching

    guards = [
        guard for guard in program.guards if guard.expected != FALSE or not implied(guard.node)
    ]
    if len(guards) == len(program.guards):
        return program
    return without_dead_code(replace(program, guards=guards))


def nan_sources(node: Node) -> tuple[Node, ...]:
    """Return the operands of a node that have no NaN if the node has none.

    A NaN in one of them makes an element of the node NaN.  So a NaN check of the node is enough.
    """
    if not is_plain(node) or not node.size:
        return ()
    found = operands(node) if facts_of(node.op).propagates_nan else ()
    return tuple([x for x in found if x.dtype == node.dtype and x.size])


def is_plain(node: Node) -> bool:
    """Return True if a node has floats, and its call has no keywords except axis and keepdims.

    Only for such calls it is known how NaN and large values pass through.
    """
    floats = node.dtype is not None and node.dtype.kind == "f"
    return floats and {"axis", "keepdims"} >= {
        name for name, value in node.keywords.items() if value is not None
    }


# --- NaN checks by sums of squares --------------------------------------------------------------------
SKIPPABLE_CHECK = "nan_check"  # the op of a NaN check by sums of squares (``SkippableCheck``)
# Bytes of an element -> limits for sums of squares, in the order in which they are tried.  The more
# factors a checked value is a product of, the smaller the sums must be.
MODERATE = {8: (1e200, 1e150, 1e100, 1e75, 1e50, 1e40), 4: (1e24, 1e18, 1e12)}
HUGE = {8: 1e300, 4: 1e36}  # bytes of an element -> limit below which values count as finite
TURNED = ("matrix_transpose", "permute_dims", "reshape")  # ops of views, cheap to compute again


@dataclass(eq=False)
class SkippableCheck:
    """A NaN check that is skipped if sums of squares are below a limit: then no value can be NaN.

    given : the nodes (calls, inputs or constants) from whose values the checked values are computed.
    nodes : the calls that compute them.  found : the nodes of the checked values.  most : the limit.
    """

    given: Sequence[Node]
    nodes: Sequence[Node]
    found: Sequence[Node]
    most: float

    def __call__(self, *values: Any) -> float:
        """Return 0 if all sums of squares are below ``most`` or no checked value has a NaN, else NaN.

        After NaN, the replay fails, and the function itself runs.
        values : the values of the nodes ``given``, then the sums of squares.
        """
        given, sums = values[: len(self.given)], values[len(self.given) :]
        moderate = all(one < self.most for one in sums)
        return 0.0 if moderate or not self.has_nan(*given) else math.nan

    def has_nan(self, *values: Any) -> bool:
        """Return True if a checked value, computed from the ``values`` of ``given``, has a NaN.

        values : the values of the nodes ``given``.
        """
        known = dict(zip(self.given, values, strict=True))
        for node in self.nodes:
            known[node] = result_of(node, known)
        return any(np.isnan(known[node]).any() for node in self.found)

    def node(self, sums: Sequence[Node]) -> Node:
        """Return a node (recorded call) that calls this check; sums : the nodes of sums of squares."""
        return Node(SKIPPABLE_CHECK, self, (*self.given, *sums), like=np.float64(0.0))


def is_sum_of_squares(node: Node) -> bool:
    return node.op == DOT and node.args[0] is node.args[1]


def add_bounds(known: dict[Node, float], nodes: Sequence[Node]) -> None:
    """Add bounds of the absolute values of nodes to ``known``, computed from the operands' bounds.

    They show that values cannot overflow, so that a NaN check is not needed.
    known : node -> bound.
    """
    for node in nodes:
        if node in known or not is_plain(node):
            continue
        found = interval_of(node, lambda x: up_to(size_of(x, known)))
        most = found.magnitude().high
        # A bound that is NaN fails the comparison.
        if most < HUGE.get(node.dtype.itemsize, 0.0) and not found.undefined:
            known[node] = most


def up_to(most: float) -> Interval:
    return Interval(-most, most)


def size_of(x: Node | float | np.floating[Any], known: Mapping[Node, float]) -> float:
    """Return a bound of the absolute values of an operand; inf if no bound is known.

    known : node -> bound.
    """
    if not isinstance(x, Node):
        return abs(float(x))
    if x.op == CONSTANT and x.dtype.kind == "f" and x.value.size:
        return float(np.abs(x.value).max())
    return 0.0 if x.op == "zeros" else known.get(x, math.inf)


# --- values that are computed only to be checked ------------------------------------------------------
class LazyCheck(NamedTuple):
    """The NaN check of a value that is computed only for this check, and so usually can be left out.

    given : nodes that the program computes anyway.  nodes : the calls that compute the value from them.
    """

    guard: Guard
    given: Sequence[Node]
    nodes: Sequence[Node]


def with_bounds(program: Program) -> Program:
    """Return a program that usually does not compute values which are only checked for NaN.

    Instead, the sums of squares of the values from which they would be computed are compared with a
    limit.  Only if such a sum is not below the limit is the value itself computed and checked.
    """
    # A dict by guard, because a program that has not been simplified may have equal guards.
    lazy = {check.guard: check for check in lazy_checks(program)}
    if not lazy:
        return program
    later = Insertions(program)
    instead: dict[Guard, Node] = {}
    for last, checks in grouped_by_place(lazy.values(), later.places):
        given = [*dict.fromkeys(x for check in checks for x in check.given)]
        made = {x for check in checks for x in check.nodes}
        nodes = [x for x in program.nodes if x in made]
        most = most_of(given, nodes)
        if most is not None:
            sums = [later.sum_of_squares(x, last) for x in given if is_unknown(x)]
            found = [check.guard.node for check in checks]
            new = SkippableCheck(given, nodes, found, most).node(sums)
            later.insert(last, new)
            instead |= {check.guard: new for check in checks}
    guards = [guard._replace(node=instead.get(guard, guard.node)) for guard in program.guards]
    return without_dead_code(replace(program, nodes=later.all_nodes(), guards=guards))


class Insertions:
    """Nodes (new calls) to be inserted into a program, each after an existing node.

    places : node -> its index in the program.
    squares : x -> the node that is the sum of squares of x.
    after : index of a node of the program -> the nodes to be inserted after it.
    """

    def __init__(self, program: Program) -> None:
        self.nodes = program.nodes
        self.places = {node: place for place, node in enumerate(self.nodes)}
        self.squares = {x.args[0]: x for x in self.nodes if is_sum_of_squares(x)}
        self.after: dict[int, list[Node]] = defaultdict(list)

    def insert(self, place: int, node: Node) -> None:
        self.after[place].append(node)

    def sum_of_squares(self, x: Node, last: int) -> Node:
        """Return a node for the sum of squares of x, which a NaN check compares with a limit.

        If the program computes none up to the node of index ``last``, insert one after x, or after that
        node if x is an input.
        """
        known = self.squares.get(x)
        if known is None or self.places.get(known, -1) > last:
            known = self.squares[x] = Node(DOT, dot, (x, x), like=x.dtype.type(0))
            self.insert(last if x.op == INPUT else self.places[x], known)
        return known

    def all_nodes(self) -> list[Node]:
        return [y for place, x in enumerate(self.nodes) for y in (x, *self.after.get(place, ()))]


def grouped_by_place(
    checks: Iterable[LazyCheck], places: Mapping[Node, int]
) -> list[tuple[int, list[LazyCheck]]]:
    """Return pairs (index, checks): checks of one dtype that can be made after the same node.

    One call makes such checks together.  The index is that of the last node that the checks need.  The
    pairs are sorted by index.
    places : node -> its index in the program.
    """
    groups: dict[tuple[int, Any], list[LazyCheck]] = defaultdict(list)
    for check in checks:
        last = max([places[x] for x in check.given], default=0)
        groups[last, check.guard.node.dtype].append(check)
    return [(last, found) for (last, _), found in sorted(groups.items(), key=lambda x: x[0][0])]


def lazy_checks(program: Program) -> Iterator[LazyCheck]:
    """Yield a LazyCheck for each NaN check of a value that nothing else reads.

    A value that is computed without a matrix product or sum is left out, because it costs little.
    """
    guards = [x for x in program.guards if x.kind == "no NaN"]
    asked = [x.node for x in program.guards if x.kind != "no NaN"]
    live = program.reached([*program.outputs, *program.writes, *asked])
    own = [x for x in guards if x.node not in live and is_bounded(x.node)]
    live |= program.reached([x.node for x in guards if x not in own])
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
            yield LazyCheck(guard, [*given], [*nodes])


def is_bounded(node: Node) -> bool:
    """Return True if a node is an elementwise boolean mask, or is finite for operands in [-1, 1].

    A chain of such calls has no NaN if its operands are below a limit, and then needs no NaN check.
    """
    if node.dtype == np.bool_ and facts_of(node.op).per_element:
        return bool(node.shape)
    if not (is_plain(node) and node.shape):
        return False
    found = interval_of(node, lambda x: up_to(1.0))
    return math.isfinite(found.magnitude().high) and not found.undefined


def is_unknown(x: Node) -> bool:
    """Return True if a node has floats of unknown magnitude, because it is no constant."""
    return x.op != CONSTANT and x.dtype is not None and x.dtype.kind == "f"


def most_of(given: Sequence[Node], nodes: Sequence[Node]) -> float | None:
    """Return the largest limit in MODERATE that implies finite values; None if no limit does.

    If the sum of squares of each node in ``given`` is below the limit, all floats of ``nodes``, which
    are computed from ``given``, are finite.
    """
    floats = [*filter(is_unknown, nodes)]
    for most in MODERATE.get(min([x.dtype.itemsize for x in floats]), ()):
        known = dict.fromkeys(filter(is_unknown, given), math.sqrt(most))
        add_bounds(known, nodes)
        if all(node in known for node in floats):
            return most
    return None
