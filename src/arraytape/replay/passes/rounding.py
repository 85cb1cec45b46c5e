"""A pass that shortens a program by rules that change the last bits of values.

Sums become products by BLAS.  The gradient of a softmax takes its textbook form.  Values on which a
comparison, a choice, a sort or a guard depends keep their bits (``deciding``): a tie in eager calls must
be a tie in a replay.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ..._record.op_facts import facts_of
from ..._storage import numpy_namespace
from ..program import Node, Operand, Program, key_of, operands
from .intervals import EVERYWHERE, Interval
from .nodes import New, again, axes_of, interval_of, like, number_of, pairs, same_layout
from .rewriting import Rewrite, parse_pattern
from .simplify import (
    RULES,
    Rules,
    by_op,
    factors,
    folded,
    is_array,
    is_basic,
    is_negative,
    is_zero,
    joined,
    mapped,
    rewritten,
    shared,
    with_signs_joined,
)
from .softmax import RULES as SOFTMAX
from .softmax import SUM_OF_SHARES, slope_of_log_total
from .sums_by_blas import with_dots, with_products
from .ties import extremes_of, is_look_for_nan, without_nan

LEAST = 4  # in ``added_twice``, z must have at least so many times the elements of b
WIDE = 1e16  # the largest factor that may be moved out of a sum: terms without it might underflow
FROM_MAXIMUM = parse_pattern("z - max(z)")
DEPTH = 8  # the maximum depth of nested calls that ``bounds`` enters


def rounded(program: Program) -> Program:
    """Return the program after all rules and passes that may change last bits."""
    short = with_signs_joined(loosened(program, LOOSE))
    short = with_dots(short, deciding(short))
    return with_products(short, deciding(short))


def loosened(program: Program, rules: Rules) -> Program:
    """Return the program after ``rules`` were applied to all nodes whose last bits may change."""
    exact, guarded = deciding(program), without_nan(program)
    known: dict[Any, Node] = {}
    extremes: set[Node] = set()
    slope = partial(slope_of_log_total, extremes)
    # ``count`` is the number of elements that equal a maximum.  Without a NaN it is at least 1, so
    # that the quotient is not 0 / 0.
    no_ties = Rewrite(
        "x / count",
        "0",
        lambda node, x, count: (
            is_zero(x) and x.shape == node.shape and extremes_of(count, extremes) is not None
        ),
    )
    rules = joined({"add": (slope,), "divide": (no_ties,), "multiply": (slope,)}, rules)

    def loose(node: Node) -> Node:
        return shared(folded(rewritten(folded(node), loose, rules)), known)

    def new_of(node: Node, old: Node) -> Node:
        new = shared(node, known) if old in exact else loose(node)
        if old in guarded:
            extremes.add(new)
        return new

    return mapped(program, new_of)


def deciding(program: Program) -> set[Node]:
    """Return the nodes that must keep their bits.

    These are the nodes from which a guarded value, an integer or boolean, or a discontinuous function
    is computed.
    """
    found = {guard.node for guard in program.guards if guard.kind != "no NaN"}
    for node in reversed(program.nodes):
        if is_nan(node):
            continue
        if (
            node in found
            or not facts_of(node.op).continuous
            or node.dtype is None
            or node.dtype.kind not in "fc"
        ):
            found.update(operands(node))
    return found


def is_nan(node: Node) -> bool:
    """Return True for ``x != x`` and ``any(x != x)``: they stay the same if last bits of x change."""
    if node.op == "not_equal":
        return node.args[0] is node.args[1]
    return is_look_for_nan(node)


# --- rules for sums -----------------------------------------------------------------------------------
def sum_with_known(node: Node, new: New) -> Node | None:
    """Replace ``sum(x + y)`` by ``c + sum(y)``, where ``SUM_OF_SHARES`` shows that c is the sum of x."""
    whole = node.args[0]
    if axes_of(node) is None:
        return None
    for x, y in pairs(whole, "add"):
        known = SUM_OF_SHARES(again(node, x), new) if same_layout(x, whole) else None
        if known is not None and known.shape == node.shape and same_layout(y, whole):
            return like(node, "add", np.add, known, new(again(node, y)))
    return None


# --- rules that yield zeros ---------------------------------------------------------------------------
# --- rules for factors and quotients ------------------------------------------------------------------
def shape_of(x: Operand) -> tuple[int, ...]:
    return x.shape if type(x) is Node else ()


def is_factor_of_sum(c: Operand, total: Node) -> bool:
    """Return True if c has one positive number for each element of a sum, which may be moved out."""
    if axes_of(total) is None or not total.keywords.get("keepdims") or shape_of(c) != total.shape:
        return False
    least, most, _ = bounds(c)
    return least > 0.0 and most <= WIDE


def is_outer_product(node: Node, x: Operand, y: Operand) -> bool:
    """Return True if x and y are a column and a row with the dtype of their matrix product `node`."""
    if type(x) is not Node or type(y) is not Node or not len(x.shape) == len(y.shape) == 2:
        return False
    return bool(x.shape[1] == 1 and x.dtype == y.dtype == node.dtype)


def is_number_zero(x: Operand) -> bool:
    """Return True if an operand is a number or an array that is 0 in each element."""
    return x == 0 if isinstance(x, int | float) else is_zero(x)


def bounds(x: Operand, depth: int = DEPTH) -> Interval:
    """Return an interval that contains all elements of an operand, apart from NaN and rounding."""
    number = float(x) if isinstance(x, np.floating) else number_of(x)
    if number is not None:
        return Interval(number, number)
    if (
        type(x) is not Node
        or x.dtype.kind != "f"
        or x.keywords.get("dtype") is not None
        or not depth
    ):
        return EVERYWHERE
    if x.op == "exp":
        return Interval(0.0, 1.0 if is_from_maximum(x.args[0]) else math.inf)
    most = float(np.finfo(x.dtype).max)
    found = interval_of(x, lambda y: bounds(y, depth - 1).minimum(Interval(most, most)))
    if x.op == "sum" and type(x.args[0]) is Node and x.args[0].op == "exp":
        shift = x.args[0].args[0]
        if is_from_maximum(shift) and axes_of(shift.args[1]) == axes_of(x) is not None:
            return Interval(1.0, found.high)
    return found


def is_from_maximum(x: Operand) -> bool:
    """Return True for ``z - max(z)``, which is nowhere positive, and 0 at each row's maximum."""
    return any(FROM_MAXIMUM.matches(x))


def power_of_two(x: Operand) -> tuple[float, Node] | None:
    """Return p and y for a product ``p * y``, where abs(p) is a power of two and at least 1; or None."""
    found = factors(x)
    if found is None or not 1.0 <= abs(found[0]) < 1e6 or abs(math.frexp(found[0])[0]) != 0.5:
        return None
    return found


def common_factor(node: Node, new: New) -> Node | None:
    """Replace ``2 * x - y * (2 * z)`` by ``2 * (x - y * z)``, also for sums and other powers of two."""
    one, other = [power_of_two(x) or power_in_product(x, new) for x in node.args]
    if one is None or other is None or node.keywords:
        return None
    (p, x), (q, y) = one, other
    if abs(p) != abs(q) or not (same_layout(x, node) and same_layout(y, node)):
        return None
    add = (node.op == "add") is (p == q)
    both = like(node, "add" if add else "subtract", np.add if add else np.subtract, x, y)
    return like(node, "multiply", np.multiply, p, new(both))


def power_in_product(x: Operand, new: New) -> tuple[float, Node] | None:
    """Return p and ``y * z`` for a product ``y * (p * z)``, with p as in ``power_of_two``; or None."""
    if type(x) is not Node:
        return None
    for y, z in pairs(x, "multiply"):
        found = power_of_two(z)
        if found is not None and same_layout(y, x) and same_layout(found[1], x):
            return found[0], new(like(x, "multiply", np.multiply, y, found[1]))
    return None


# --- rules for writes ---------------------------------------------------------------------------------
def added(node: Node) -> tuple[Node, Node] | None:
    """Return the nodes ``x[key] + more`` and ``more`` if a "put" node computes ``x[key] += more``.

    The same holds for ``x[key] -= more``.  For another "put" node, return None.
    """
    x, key, total = node.args
    if type(total) is not Node or total.op not in ("add", "subtract") or not is_basic(key):
        return None
    for read, more in (total.args, total.args[::-1])[: 2 if total.op == "add" else 1]:
        own = type(read) is type(more) is Node and read.op == "getitem" and read.args[0] is x
        if own and key_of(read.args[1]) == key_of(key):
            return total, more
    return None


def added_before(node: Node, new: New) -> Node | None:
    """Move ``x[key] += more`` before another addition, to the write ``x[key] = value`` that precedes it.

    Thus ``x[a] = u; x[b] += v; x[a] += w`` becomes ``x[a] = u + w; x[b] += v``.
    """
    middle = node.args[0]
    last, between = added(node), added(middle) if middle.op == "put" else None
    if last is None or between is None or middle.args[0].op != "put":
        return None
    (total, more), (other, other_more) = last, between
    x, key, value = middle.args[0].args
    if key_of(key) != key_of(node.args[1]) or not same_layout(value, total):
        return None
    first = new(like(node, "put", node.call, x, key, new(again(total, value, more))))
    read = Node("getitem", numpy_namespace.getitem, (first, middle.args[1]), like=other)
    read.view = bool(other.shape)
    return like(
        node, "put", node.call, first, middle.args[1], new(again(other, new(read), other_more))
    )


LOOSER = by_op(
    Rewrite("(total := sum((n := -x)))", "-(total := sum(x))",
            lambda total, n: is_negative(n) and axes_of(total) is not None),
    # A factor c with one positive number for each sum is moved out of the sum.
    Rewrite("(total := sum((p := x * (scaled := y * c))))", "(total := sum((p := x * y))) * c",
            lambda total, p, x, scaled, y, c: is_factor_of_sum(c, total)
            and same_layout(x, p) and same_layout(scaled, p) and shape_of(y) == p.shape),
    Rewrite("C * (inner := D * x)", "(C * D) * x",
            lambda node, inner, x, C, D: same_layout(inner, node) and same_layout(x, inner)
            and all(1e-30 < abs(number) < 1e30 for number in (C, D, C * D))),
    # The product with 2 is cheap where b has far fewer elements than z.
    Rewrite("(whole := x + (product := b * z)) + product", "x + (product := (b := 2.0 * b) * z)",
            lambda node, whole, b: is_array(b) and b.size * LEAST <= node.size
            and same_layout(whole, node)),
    # The matrix product of a column and a row is an elementwise product.
    Rewrite("x @ y", "x * y", lambda node, x, y: is_outer_product(node, x, y)),
    Rewrite("where(mask, x, y)", "0", lambda x, y: is_number_zero(x) and is_number_zero(y)),
    # ``masked`` chooses between x and y, or between x and 0 if y is a bool.
    Rewrite("masked(x, mask, y)", "0",
            lambda x, y: is_zero(x) and (type(y) is bool or is_number_zero(y))),
)  # fmt: skip
OTHER: Rules = {
    "add": (common_factor,),
    "put": (added_before,),
    "subtract": (common_factor,),
    "sum": (sum_with_known,),
}
LOOSE = joined(SOFTMAX, LOOSER, OTHER, RULES)
