"""A pass that shortens a program by rules that change the last bits of values.

Sums become products by BLAS.  The gradient of a softmax takes its textbook form.  Values on which a
comparison, a choice, a sort or a guard depends keep their bits (``deciding``): a tie in eager calls must
be a tie in a replay.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..._record.op_facts import facts_of
from ..program import Node, Operand, Program, operands
from .nodes import axes_of, same_layout
from .rewriting import Rewrite
from .simplify import (
    RULES,
    Rules,
    by_op,
    folded,
    is_negative,
    is_zero,
    joined,
    mapped,
    rewritten,
    shared,
    with_signs_joined,
)
from .softmax import RULES as SOFTMAX
from .softmax import slope_of_log_total
from .sums_by_blas import with_dots, with_products
from .ties import extremes_of, is_nan_check, without_nan


def rounded(program: Program) -> Program:
    """Return the program after all rules and passes that may change last bits.

    Values on which a decision depends, such as a comparison, keep their bits.
    """
    short = with_signs_joined(loosened(program, LOOSE))
    short = with_dots(short, deciding(short))
    return with_products(short, deciding(short))


def loosened(program: Program, rules: Rules) -> Program:
    """Return the program after ``rules``, which change last bits, were applied where that is allowed.

    Values on which a decision depends, such as a comparison, keep their bits.
    """
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
    """Return the nodes that must keep their bits, because a decision depends on them.

    These are the guarded nodes, except for NaN checks, and the operands of discontinuous functions and
    of calls with integer or boolean results; and all nodes from which they are computed.
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
    """Return True for ``x != x`` and ``any(x != x)``, which do not depend on last bits of x."""
    if node.op == "not_equal":
        return node.args[0] is node.args[1]
    return is_nan_check(node)


# --- conditions of rules ---------------------------------------------------------------------------
def is_outer_product(node: Node, x: Operand, y: Operand) -> bool:
    """Return True if x and y are a column and a row with the dtype of their matrix product `node`."""
    if type(x) is not Node or type(y) is not Node or not len(x.shape) == len(y.shape) == 2:
        return False
    return bool(x.shape[1] == 1 and x.dtype == y.dtype == node.dtype)


def is_number_zero(x: Operand) -> bool:
    """Return True if an operand is a number or an array that is 0 in each element."""
    return x == 0 if isinstance(x, int | float) else is_zero(x)


LOOSER = by_op(
    Rewrite("(total := sum((n := -x)))", "-(total := sum(x))",
            lambda total, n: is_negative(n) and axes_of(total) is not None),
    Rewrite("C * (inner := D * x)", "(C * D) * x",
            lambda node, inner, x, C, D: same_layout(inner, node) and same_layout(x, inner)
            and all(1e-30 < abs(number) < 1e30 for number in (C, D, C * D))),
    # The matrix product of a column and a row is an elementwise product.
    Rewrite("x @ y", "x * y", lambda node, x, y: is_outer_product(node, x, y)),
    Rewrite("where(mask, x, y)", "0", lambda x, y: is_number_zero(x) and is_number_zero(y)),
    # ``masked`` chooses between x and y, or between x and 0 if y is a bool.
    Rewrite("masked(x, mask, y)", "0",
            lambda x, y: is_zero(x) and (type(y) is bool or is_number_zero(y))),
)  # fmt: skip
LOOSE = joined(SOFTMAX, LOOSER, RULES)
