"""Rules for the softmax ``s = e / t``, where t is the sum of ``e = exp(...)``, and its derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Node
from .nodes import New, again, again_in, axes_of, bare, kept, like, pairs, same_layout, zeros
from .simplify import MASKED, Rules, is_positive_zero
from .ties import extremes_of

Axes = tuple[int, ...]
Shape = tuple[int, ...]
Factor = tuple[Any, Shape]  # a value, and the shape in which it takes part
Product = tuple[int, list[Factor]]  # a sign, and factors
DEPTH = 5  # calls within each other that are taken apart: chains may be long


def total_axes(t: Any, e: Any) -> tuple[int, ...] | None:
    """Return the axes over which t, in the shape of rows of e, is the sum of e; None where it is not."""
    whole = bare(t)
    if type(e) is not Node or e.op != "exp" or type(whole) is not Node or whole.op != "sum":
        return None
    axes = axes_of(whole) if whole.args[0] is e else None
    beside = (1,) * (len(e.shape) - len(t.shape)) + t.shape  # as it is broadcast
    return axes if axes is not None and beside == kept(e.shape, axes) else None


def share_axes(s: Any) -> tuple[int, ...] | None:
    """Return the axes over which s is a softmax."""
    divided = type(s) is Node and s.op == "divide" and type(s.args[1]) is Node
    return total_axes(s.args[1], s.args[0]) if divided else None


def slope_of_share(node: Node, new: New) -> Node | None:
    """``a / t - sum(a * (s / t))`` is ``(a - sum(a * s)) / t``."""
    first, total = node.args
    if not (type(total) is type(first) is Node and first.op == "divide" and total.op == "sum"):
        return None
    a, t = first.args
    for x, y in pairs(total.args[0], "multiply"):
        if x is not a or type(y) is not Node or y.op != "divide" or y.args[1] is not t:
            continue
        axes = share_axes(y.args[0])
        if axes is None or y.args[0].args[1] is not t or axes != axes_of(total):
            continue
        if total.shape == t.shape and a.shape == node.shape:
            weighted = new(like(total.args[0], "multiply", np.multiply, a, y.args[0]))
            rest = new(like(node, "subtract", np.subtract, a, new(again(total, weighted))))
            return like(node, "divide", np.true_divide, rest, t)
    return None


def share_in_product(node: Node, new: New) -> Node | None:
    """``x / t * e`` is ``x * s``."""
    for x, e in pairs(node, "multiply"):
        quotient = type(x) is Node and x.op == "divide" and x.shape == node.shape
        if quotient and total_axes(x.args[1], e) is not None and e.shape == node.shape:
            share = new(like(e, "divide", np.true_divide, e, x.args[1]))
            return like(node, "multiply", np.multiply, x.args[0], share)
    return None


def sum_of_slope(node: Node, new: New) -> Node | None:
    """``sum((a - sum(a * s)) * s)`` is 0: a softmax ignores what is added to all of a row.

    Also of what s is times one number for each row.  Where a has NaN so has what is multiplied with s,
    in the whole row.
    """
    axes = axes_of(node)
    if axes is None:
        return None
    for rest, s in pairs(node.args[0], "multiply"):
        e = exp_of(s, axes) if type(rest) is Node and rest.op == "subtract" else None
        if e is None or rest.args[1].shape != kept(e.shape, axes):
            continue
        if (rest.args[0], e) in means_of(rest.args[1], axes):
            return zeros(node)
    return None


def exp_of(s: Any, axes: Axes) -> Node | None:
    """Return the e of a softmax over axes, also of one times a number for each row."""
    if share_axes(s) == axes:
        return s.args[0]  # type: ignore[no-any-return]
    for rows, e in pairs(s, "multiply"):
        if type(rows) is type(e) is Node and e.op == "exp" and rows.shape == kept(e.shape, axes):
            return e
    return None


def means_of(x: Any, axes: Axes) -> list[tuple[Any, Node]]:
    """Return each a and e of which x is the mean of a with the softmax of e for weights."""
    if type(x) is not Node:
        return []
    total = bare(x.args[0]) if x.op == "divide" else x
    if type(total) is not Node or total.op != "sum" or axes_of(total) != axes:
        return []
    products = pairs(total.args[0], "multiply")
    if x is total:
        return [(a, s.args[0]) for a, s in products if share_axes(s) == axes]
    return [(a, e) for a, e in products if total_axes(x.args[1], e) == axes]


def sum_of_shares(node: Node, new: New) -> Node | None:
    """``sum(c / t * e)`` is c, where c has one number for each row."""
    axes = axes_of(node)
    for x, e in pairs(node.args[0], "multiply"):
        quotient = bare(x)
        if type(quotient) is not Node or quotient.op != "divide" or axes is None:
            continue
        c, t = quotient.args
        if (
            type(c) is not Node
            or type(t) is not Node
            or c.size != node.size
            or c.dtype != node.dtype
        ):
            continue
        rows = type(e) is Node and x.shape == kept(e.shape, axes) and bare(t).op == "sum"
        if rows and total_axes(again_in(t, x.shape), e) == axes and e.shape == node.args[0].shape:
            return again_in(c, node.shape, new)
    return None


# --- the second derivative of log(sum(exp(z))) --------------------------------------------------------
def slope_of_log_total(extremes: set[Node], node: Node, new: New) -> Node | None:
    """``x * g * e - sum(x * e) * (g / t) * e`` is ``(x - sum(x * e) / t) * (g * e)``.

    g has one number for each row: the cotangent of log(t), divided by t.  What is subtracted from a
    whole row of x changes nothing: where it is a mean of elements of the row, it goes.
    """
    if not node.shape:
        return None
    for one, other in orders(terms_of(node)):
        found = mean_among(one, other)
        if found is None:
            continue
        x, e, g, t, total = found
        if not (same_layout(x, node) and same_layout(e, node)):
            continue
        y = unshifted(x, extremes)
        if y is not x:
            total = new(again(total, new(like(e, "multiply", np.multiply, y, e))))
        mean = new(like(t, "divide", np.true_divide, again_in(total, t.shape, new), t))
        weights = new(like(node, "multiply", np.multiply, again_in(g, t.shape, new), e))
        rest = new(like(node, "subtract", np.subtract, y, mean))
        return like(node, "multiply", np.multiply, rest, weights)
    return None


def mean_among(one: Product, other: Product) -> tuple[Node, Node, Node, Node, Node] | None:
    """x, e, g, t and sum(x * e) of a product x * g * e and of -sum(x * e) * (g / t) * e, or None."""
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
    t = again_in(t, shape)
    _, inner = product_of(total.args[0], whole)
    if total_axes(t, e) != axes or not same_factors(factors, [*inner, (g, shape)]):
        return None
    for x, weight in pairs(total.args[0], "multiply"):
        if weight is e:
            return x, e, g, t, total
    return None


def terms_of(node: Node) -> list[Product]:
    """Return the two terms of a sum or difference, or of a product with one."""
    if node.op in ("add", "subtract") and not node.keywords:
        (sign, factors), (other, more) = [product_of(x, node.shape) for x in node.args]
        return [(sign, factors), (other if node.op == "add" else -other, more)]
    for whole, x in pairs(node, "multiply"):
        if type(whole) is Node and whole.op in ("add", "subtract") and whole.shape == node.shape:
            own, factors = product_of(x, node.shape)
            return [(sign * own, [*more, *factors]) for sign, more in terms_of(whole)]
    return []


def product_of(x: Any, shape: Shape, whole: Shape | None = None, depth: int = DEPTH) -> Product:
    """Return a value as a sign and factors, each with the shape in which it takes part in a product.

    shape : in which x takes part.  whole : of the product, if that is another one.  depth : of calls
    within each other that are taken apart.
    """
    whole = shape if whole is None else whole
    if type(x) is not Node or x.shape == ():
        return 1, [(x, ())]
    if shape == whole:
        shape = (1,) * (len(whole) - len(x.shape)) + x.shape  # as it is broadcast
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
    """Return True if two products have the same factors."""
    one, other = (sorted((id(x), shape) for x, shape in found) for found in (factors, others))
    return one == other


def orders(terms: list[Product]) -> list[tuple[Product, Product]]:
    """Return two terms in both orders."""
    return [(terms[0], terms[1]), (terms[1], terms[0])] if len(terms) == 2 else []


def unshifted(x: Node, extremes: set[Node]) -> Node:
    """The y of ``y - c``, where c has for each row the mean of y where another value is extreme."""
    if x.op != "subtract" or x.keywords or type(x.args[1]) is not Node:
        return x
    y, c = x.args
    quotient = bare(c)
    if quotient.op != "divide" or not same_layout(y, x):
        return x
    total, count = map(bare, quotient.args)
    if type(total) is not Node or type(count) is not Node or total.op != "sum":
        return x
    chosen, taken = total.args[0], extremes_of(count, extremes)
    axes = axes_of(total)
    if axes is None or c.shape != kept(x.shape, axes) or axes_of(count) != axes:
        return x
    if chosen.op == MASKED:
        own = chosen.args[0] is y and chosen.args[1] is taken and chosen.args[2] is True
    else:
        own = chosen.op == "where" and chosen.args[0] is taken and chosen.args[1] is y
        own = own and is_positive_zero(chosen.args[2])
    return y if own else x


RULES: Rules = {
    "multiply": (share_in_product,),
    "subtract": (slope_of_share,),
    "sum": (sum_of_slope, sum_of_shares),
}

__all__ = ["RULES", "slope_of_log_total", "sum_of_shares"]
