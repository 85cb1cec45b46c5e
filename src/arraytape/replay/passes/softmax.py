"""Rules that shorten the derivatives of a softmax and of the logarithm of a sum of exponentials.

A softmax is ``s = e / t``, where ``e = exp(z)`` and t is the sum of e over some axes.  A "row" has the
elements along these axes, so that t has one number for each row.  The rules change last bits, and are
applied by ``rounding.py``.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from ..program import Node, Operand
from .nodes import New, again, axes_of, bare, kept, like, pairs, same_layout, with_shape
from .rewriting import Rewrite, parse_pattern
from .simplify import by_op, is_positive_zero
from .ties import extremes_of

Axes = tuple[int, ...]
Shape = tuple[int, ...]
Factor = tuple[Any, Shape]  # a value, and its shape in the product (1 where it is broadcast)
Product = tuple[int, list[Factor]]  # the sign, 1 or -1, and the factors
DEPTH = 5  # the maximum depth of nested products that ``product_of`` takes apart


WEIGHTED_SUM = parse_pattern("sum(a * s)")
SHIFTED_BY_MEAN = [  # y - sum(where(taken, y, 0)) / count
    parse_pattern(f"y - ~(mean := ~(total := sum({chosen})) / count)")
    for chosen in ("masked(y, taken, True)", "where(taken, y, zero)")
]


def total_axes(t: Operand, e: Operand) -> Axes | None:
    """Return the axes over which t is the sum of e, if e is a call of exp; else None.

    So e / t is a softmax.  t may be a reshape of the sum, with length 1 along the summed axes.
    """
    whole = bare(t)
    if type(t) is not Node or type(e) is not Node or e.op != "exp" or whole.op != "sum":
        return None
    axes = axes_of(whole) if whole.args[0] is e else None
    beside = (1,) * (len(e.shape) - len(t.shape)) + t.shape  # the shape of t next to e
    return axes if axes is not None and beside == kept(e.shape, axes) else None


def softmax_axes(s: Operand) -> Axes | None:
    """Return the axes over which s is a softmax ("share": e divided by the sum of e), or None."""
    if type(s) is not Node or s.op != "divide" or type(s.args[1]) is not Node:
        return None
    return total_axes(s.args[1], s.args[0])


def exp_of(s: Operand, axes: Axes) -> Node | None:
    """Return the call e of exp if s is ``e / sum(e)`` over ``axes``, a softmax, or ``c * e``; else None.

    The operand c has one number for each row, the elements along ``axes``.
    """
    if type(s) is Node and softmax_axes(s) == axes:
        return s.args[0]  # type: ignore[no-any-return]
    for rows, e in pairs(s, "multiply"):
        if type(rows) is type(e) is Node and e.op == "exp" and rows.shape == kept(e.shape, axes):
            return e
    return None


def means_of(x: Operand, axes: Axes) -> list[tuple[Any, Node]]:
    """Return all pairs (a, e) such that x is the mean of a over each row, weighted by ``e / sum(e)``.

    The mean is ``sum(a * e) / sum(e)`` or ``sum(a * s)`` over ``axes``, where s is ``e / sum(e)``.
    """
    if type(x) is not Node:
        return []
    divided = x.op == "divide"
    total = bare(x.args[0]) if divided else x
    sums = [*WEIGHTED_SUM.matches(total)]
    if not sums or axes_of(total) != axes:
        return []
    if divided:
        return [(y["a"], y["s"]) for y in sums if total_axes(x.args[1], y["s"]) == axes]
    return [(y["a"], y["s"].args[0]) for y in sums if softmax_axes(y["s"]) == axes]


# --- the second derivative of log(sum(exp(z))) --------------------------------------------------------
def slope_of_log_total(extremes: set[Node], node: Node, new: New) -> Node | None:
    """Replace ``x * g * e - sum(x * e) * (g / t) * e`` by ``(x - sum(x * e) / t) * (g * e)``.

    The first form is the second derivative of log(t), where t is sum(exp(z)).  g has one number for each
    row: the cotangent of log(t), divided by t.  If x is ``y - c`` with one number c for each row, c
    cancels, and y replaces x.  extremes : the maxima and minima that replays check for NaN.
    """
    if not node.shape:
        return None
    for one, other in permutations(terms_of(node), 2):
        found = match_log_total(one, other)
        if found is None:
            continue
        x, e, g, t, total = found
        if not (same_layout(x, node) and same_layout(e, node)):
            continue
        y = unshifted(x, extremes)
        if y is not x:
            total = new(again(total, new(like(e, "multiply", np.multiply, y, e))))
        mean = new(like(t, "divide", np.true_divide, with_shape(total, t.shape, new), t))
        weights = new(like(node, "multiply", np.multiply, with_shape(g, t.shape, new), e))
        rest = new(like(node, "subtract", np.subtract, y, mean))
        return like(node, "multiply", np.multiply, rest, weights)
    return None


def match_log_total(one: Product, other: Product) -> tuple[Node, Node, Node, Node, Node] | None:
    """Return x, e, g, t and sum(x * e) if the terms are x * g * e and -sum(x * e) * (g / t) * e.

    Return None for other terms.  The rule ``slope_of_log_total`` replaces such terms.
    one, other : the two terms of a sum.
    """
    (sign, factors), (opposite, rest) = one, other
    by_op = {x.op: (x, shape) for x, shape in rest if type(x) is Node}
    if (sign, opposite, len(rest)) != (1, -1, 3) or {*by_op} != {"sum", "divide", "exp"}:
        return None
    (total, shape), (quotient, same), (e, whole) = by_op["sum"], by_op["divide"], by_op["exp"]
    axes, g, t = axes_of(total), *map(bare, quotient.args)
    if axes is None or not (whole == e.shape and kept(whole, axes) == shape == same):
        return None
    if type(g) is not Node or type(t) is not Node or not g.size == t.size == quotient.size:
        return None
    t = with_shape(t, shape)
    _, inner = product_of(total.args[0], whole)
    if total_axes(t, e) != axes or not same_factors(factors, [*inner, (g, shape)]):
        return None
    for x, weight in pairs(total.args[0], "multiply"):
        if weight is e:
            return x, e, g, t, total
    return None


def terms_of(node: Node) -> list[Product]:
    """Return the terms of ``y + z``, ``y - z`` or ``(y + z) * x`` as products; [] for another node.

    A Product has a sign and factors.
    """
    if node.op in ("add", "subtract") and not node.keywords:
        (sign, factors), (other, more) = [product_of(x, node.shape) for x in node.args]
        return [(sign, factors), (other if node.op == "add" else -other, more)]
    for whole, x in pairs(node, "multiply"):
        if type(whole) is Node and whole.op in ("add", "subtract") and whole.shape == node.shape:
            own, factors = product_of(x, node.shape)
            return [(sign * own, [*more, *factors]) for sign, more in terms_of(whole)]
    return []


def product_of(x: Operand, shape: Shape, whole: Shape | None = None, depth: int = DEPTH) -> Product:
    """Return the sign and the factors of x, with nested products and negatives taken apart.

    shape : the shape of x, with an axis for each axis of the whole product.  whole : the shape of the
    whole product, by default ``shape``.  depth : the maximum depth of nested calls.
    """
    whole = shape if whole is None else whole
    if type(x) is not Node or x.shape == ():
        return 1, [(x, ())]
    if shape == whole:
        # Put axes of length 1 in front, as broadcasting does.
        shape = (1,) * (len(whole) - len(x.shape)) + x.shape
    inner = x if shape == whole else bare(x)
    if depth and not inner.keywords and inner.dtype.kind == "f":
        if inner.op == "negative":
            sign, factors = product_of(inner.args[0], shape, whole, depth - 1)
            return -sign, factors
        if inner.op == "multiply":
            parts = [product_of(y, shape, whole, depth - 1) for y in inner.args]
            (sign, factors), (other, more) = parts
            return sign * other, [*factors, *more]
    return 1, [(inner, shape)]


def same_factors(factors: list[Factor], others: list[Factor]) -> bool:
    one, other = (sorted((id(x), shape) for x, shape in found) for found in (factors, others))
    return one == other


def unshifted(x: Node, extremes: set[Node]) -> Node:
    """Return y if x is ``y - c`` with one number c for each row, else x.

    Only such a c is found that is the mean of y over those elements of the row where another array has
    its maximum (or minimum).  The derivative of a subtracted maximum has this form.  extremes : the
    maxima and minima that replays check for NaN.
    """
    for found in (found for pattern in SHIFTED_BY_MEAN for found in pattern.matches(x)):
        y, mean, count = found["y"], found["mean"], bare(found["count"])
        axes = axes_of(bare(found["total"]))
        if axes is None or type(count) is not Node or axes_of(count) != axes:
            continue
        rows = mean.shape == kept(x.shape, axes) and same_layout(y, x)
        zero = is_positive_zero(found.get("zero", 0.0))
        if rows and zero and extremes_of(count, extremes) is found["taken"]:
            return y  # type: ignore[no-any-return]
    return x


def is_slope_of_softmax(node: Node, a: Any, t: Any, s: Any, total: Node) -> bool:
    """Return True if s is a softmax ``e / t`` over the axes of the sum ``total``, as RULES require."""
    axes = softmax_axes(s)
    if axes is None or s.args[1] is not t or axes != axes_of(total) or type(a) is not Node:
        return False
    return bool(total.shape == t.shape and a.shape == node.shape)


def is_sum_of_slope(node: Node, a: Any, mean: Any, s: Any) -> bool:
    """Return True if s is a softmax, and ``mean`` the mean of a over each row, weighted by s.

    Then the sum of s * (a - mean) over a row is 0.
    """
    axes = axes_of(node)
    e = exp_of(s, axes) if axes is not None else None
    if axes is None or e is None or type(mean) is not Node or mean.shape != kept(e.shape, axes):
        return False
    return (a, e) in means_of(mean, axes)


# In these rules, e is exp(...), t its sum over each row, and s a softmax.
RULES = by_op(
    Rewrite("a / t - (total := sum((product := a * (s / t))))",
            "(a - (total := sum((product := a * s)))) / t", is_slope_of_softmax),
    Rewrite("(quotient := x / t) * e", "x * (e := e / t)",
            lambda node, quotient, t, e: quotient.shape == node.shape
            and total_axes(t, e) is not None and e.shape == node.shape),
    # Each row of s has the sum 1, also if one number for each row multiplies s.  A NaN in a row of a
    # is not lost: a - mean is NaN in the whole row, which reaches the gradient without this sum.
    Rewrite("sum((a - mean) * s)", "0", is_sum_of_slope),
)  # fmt: skip
