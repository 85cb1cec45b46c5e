"""Elementwise functions: one statement for each op, with one rule for each operand.

A rule maps a tangent t of the operand to a tangent of the result y.  Operands are named x, x1 and x2, as
in the standard.  The backward pass uses the same rules: it conjugates, sums over broadcast axes and
casts.  The docstring of a rule, without "Return", becomes part of the docstring of its op.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

from numpy import False_

from .._array.array import SCALAR, Array
from .._array.paths import IMAG, READ_ONLY, REAL, sum_to
from .._array.views import alias
from .._define.words import (
    composite,
    elementwise,
    identity_rule,
    nondifferentiable,
    primitive,
    sample,
)
from .._record.op_facts import hull
from .._storage.storage import COMPLEX, conjugate, is_complex
from .._util.array_types import Namespace, RawArray

# Intervals from which generated tests draw operands, for functions that are not defined everywhere.
POSITIVE = (0.1, 4.0)
UNIT = (-0.9, 0.9)
NUMBER = (int, float, complex)
LOG2 = 0.6931471805599453  # the natural logarithm of 2


# --- smooth ---------------------------------------------------------------------------------
def _half_circle(x: RawArray, xp: Namespace) -> Any:
    """Return ``sqrt(1 - x ** 2)``, for complex x on the same side of the branch cuts as x.

    On a cut, the sign of a zero imaginary part shows the side of x.  Subtracting -1.0 keeps this sign,
    adding 1.0 does not.
    """
    return xp.sqrt(-(x - 1.0) * (x - -1.0) if is_complex(x) else _one_less_square(x, xp))


def _one_less_square(x: RawArray, xp: Namespace) -> Any:
    """Return ``1 - x ** 2`` for real x, with all digits of the value and of its derivative.

    The product (1 - x) (1 + x) is precise near 1, the difference 1 - x * x has a precise derivative near
    0.  At exactly 1 the difference is used, since there the derivative of the product may become NaN
    when it is multiplied by infinity.
    """
    square = x * x
    return xp.where((square < 0.25) | (square == 1.0), 1.0 - square, (1.0 - x) * (1.0 + x))


def _atanh_rule(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``t / (1 - x ** 2)``.

    It is the tangent of atanh(x) for a tangent t of x.
    """
    return t / (1.0 - x * x if is_complex(x) else _one_less_square(x, xp))


def _acos_rule(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``-t / sqrt(1 - x ** 2)``, on the same side of the branch cuts as x.

    It is the tangent of acos(x) for a tangent t of x.
    """
    return -t / _half_circle(x, xp)


def _hypotenuse(x: RawArray, xp: Namespace) -> Any:
    """Return ``sqrt(1 + x ** 2)``, also where ``x ** 2`` overflows."""
    return xp.sqrt(x * x - -1.0) if is_complex(x) else xp.hypot(x, 1.0)


def _asinh_rule(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``t / sqrt(1 + x ** 2)``.

    It is the tangent of asinh(x) for a tangent t of x.
    """
    return t / _hypotenuse(x, xp)


def _atan_rule(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``t / (1 + x ** 2)``.

    It is the tangent of atan(x) for a tangent t of x.
    """
    if is_complex(x):
        return t / (1.0 + x * x)
    h = xp.hypot(x, 1.0)
    return t / h / h


def _asin_rule(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``t / sqrt(1 - x ** 2)``, on the same side of the branch cuts as x.

    It is the tangent of asin(x) for a tangent t of x.
    """
    return t / _half_circle(x, xp)


acos = elementwise(
    "acos",
    _acos_rule,
    domain=UNIT,
    doc="Compute the inverse cosine of each element, in radians from 0 to pi.",
)
acosh = elementwise(
    "acosh",
    lambda t, x, xp: t / (xp.sqrt(x - 1.0) * xp.sqrt(x - -1.0)),
    domain=(1.2, 4),
    doc="Compute the inverse hyperbolic cosine of each element.",
)
asin = elementwise(
    "asin",
    _asin_rule,
    domain=UNIT,
    doc="Compute the inverse sine of each element, in radians from -pi/2 to pi/2.",
)
asinh = elementwise(
    "asinh", _asinh_rule, doc="Compute the inverse hyperbolic sine of each element."
)
atan = elementwise(
    "atan",
    _atan_rule,
    doc="Compute the inverse tangent of each element, in radians from -pi/2 to pi/2.",
)
atanh = elementwise(
    "atanh", _atanh_rule, domain=UNIT, doc="Compute the inverse hyperbolic tangent of each element."
)
cos = elementwise(
    "cos", lambda t, x, xp: -t * xp.sin(x), doc="Compute the cosine of each element, in radians."
)
cosh = elementwise(
    "cosh", lambda t, x, xp: t * xp.sinh(x), doc="Compute the hyperbolic cosine of each element."
)
exp = elementwise(
    "exp",
    lambda t, y: t * y,
    doc="Compute the exponential of each element: e ** x.",
)
expm1 = elementwise(
    "expm1",
    lambda t, x, xp: t * xp.exp(x),
    doc="Compute e ** x - 1 of each element, precise near 0.",
)
log = elementwise(
    "log",
    lambda t, x: t / x,
    domain=POSITIVE,
    doc="""Compute the natural logarithm of each element.

At 0 the derivative is infinite, and so is the gradient.""",
)
log1p = elementwise(
    "log1p",
    lambda t, x: t / (1.0 + x),
    domain=(-0.8, 4),
    doc="Compute the natural logarithm of 1 + x for each element, precise near 0.",
)
log2 = elementwise(
    "log2",
    lambda t, x: t / (x * 0.6931471805599453),
    domain=POSITIVE,
    doc="""Compute the logarithm to base 2 of each element.

At 0 the derivative is infinite, and so is the gradient.""",
)
log10 = elementwise(
    "log10",
    lambda t, x: t / (x * 2.302585092994046),
    domain=POSITIVE,
    doc="""Compute the logarithm to base 10 of each element.

At 0 the derivative is infinite, and so is the gradient.""",
)
negative = elementwise(
    "negative",
    lambda t: -t,
    doc="Negate each element: -x.",
    takes="numeric",
    gives="x",
    correctly_rounded=True,
    infix="-",
    range=lambda n, x: x.negative(),
)
positive = elementwise(
    "positive",
    identity_rule,
    doc="Copy x: +x.",
    takes="numeric",
    gives="x",
    correctly_rounded=True,
    range=hull,
    in_order=True,
)
reciprocal = elementwise(
    "reciprocal",
    lambda t, y: -t * (y * y),
    domain=POSITIVE,
    doc="Compute the reciprocal of each element: 1 / x.",
    takes="number",
    gives="x",
    correctly_rounded=True,
)
sin = elementwise(
    "sin", lambda t, x, xp: t * xp.cos(x), doc="Compute the sine of each element, in radians."
)
sinh = elementwise(
    "sinh", lambda t, x, xp: t * xp.cosh(x), doc="Compute the hyperbolic sine of each element."
)
sqrt = elementwise(
    "sqrt",
    lambda t, y: t / (2.0 * y),
    domain=POSITIVE,
    doc="""Compute the square root of each element.

At 0 the derivative is infinite, and so is the gradient.""",
    correctly_rounded=True,
    range=lambda n, x: x.to_root(),
)
square = elementwise(
    "square",
    lambda t, x: t * (2.0 * x),
    doc="Square each element: x * x.",
    takes="number",
    gives="x",
    correctly_rounded=True,
    range=lambda n, x: x.magnitude().times(x.magnitude()),
)
tan = elementwise(
    "tan",
    lambda t, y: t * (1.0 + y * y),
    domain=(-1.2, 1.2),
    doc="Compute the tangent of each element, in radians.",
)
tanh = elementwise(
    "tanh", lambda t, y: t * (1.0 - y * y), doc="Compute the hyperbolic tangent of each element."
)

# --- arithmetic: the first rule is with respect to x1, the second with respect to x2 -----------
add = elementwise(
    "add",
    identity_rule,
    identity_rule,
    doc="Add element by element: x1 + x2.",
    takes="number",
    gives="promoted",
    correctly_rounded=True,
    infix="+",
    range=lambda n, x, y: x.plus(y),
)
subtract = elementwise(
    "subtract",
    identity_rule,
    lambda t: -t,
    doc="Subtract element by element: x1 - x2.",
    takes="numeric",
    gives="promoted",
    correctly_rounded=True,
    infix="-",
    range=lambda n, x, y: x.plus(y.negative()),
)
multiply = elementwise(
    "multiply",
    lambda t, x2: t * x2,
    lambda t, x1: x1 * t,
    doc="Multiply element by element: x1 * x2.",
    takes="number",
    gives="promoted",
    correctly_rounded=True,
    infix="*",
    range=lambda n, x, y: x.times(y),
)
divide = elementwise(
    "divide",
    lambda t, x2: t / x2,
    lambda t, x2, y: -t * (y / x2),
    domain=(0.3, 3),
    doc="Divide element by element: x1 / x2.",
    takes="number",
    gives="promoted floating",
    correctly_rounded=True,
    infix="/",
    range=lambda n, x, y: x.over(y),
)


def _pow_rule_x1(t, x1, x2, xp):
    """Return ``t * x2 * x1 ** (x2 - 1)``, 0 where x2 is 0.

    It is the tangent of y = x1 ** x2 for a tangent t of x1.
    """
    # The derivative of x ** 0 is 0, also at x = 0, where 0 * x ** -1 would be NaN.
    if isinstance(x2, NUMBER):
        return (
            t * (x1 + x1) if x2 == 2 else t * (x2 * x1 ** (x2 - 1)) if x2 else xp.zeros_like(t * x1)
        )
    return t * xp.power_derivative(x1, in_floats(x2, xp), 1, 0)


def _pow_rule_x2(t, x1, x2, y, xp):
    """Return ``t * y * xp.log(x1)``, 0 where x1 is 0 and x2 is not negative.

    It is the tangent of y = x1 ** x2 for a tangent t of x2.
    """
    # The derivative of 0 ** x2 with respect to x2 is the limit 0 for x2 > 0, where y * log(0) would be
    # NaN.
    if not isinstance(x1, NUMBER):
        return t * xp.power_derivative(in_floats(x1, xp), x2, 0, 1)
    # log(x1) is a Python number, so that a float32 result stays float32; for a negative x1 it is NaN.
    if x1 == 0:
        return t * xp.where(xp.isfinite(y), 0.0 * y, -math.inf)
    if isinstance(x1, complex):
        return t * (y * cmath.log(x1))
    return t * (y * (math.log(x1) if x1 > 0 else math.nan))


def in_floats(x, xp):
    """Return an operand of a derivative of pow; cast integers, which could overflow, to float64."""
    return x if x.dtype.kind in "fc" else xp.astype(x, xp.float64)


pow = elementwise(
    "pow",
    _pow_rule_x1,
    _pow_rule_x2,
    domain=(0.3, 3),
    convert=False,
    cusped=lambda kept: not is_whole(kept("x2")),
    doc="""Raise x1 to the power x2, element by element: x1 ** x2.

The derivative of x1 ** 0 with respect to x1 is 0, also at x1 = 0.  The derivative of 0 ** x2 with
respect to x2 is 0 for x2 >= 0.""",
    takes="number",
    gives="promoted",
    propagates_nan=False,
)


def is_whole(exponent):
    """Return True if an exponent of pow is a Python number with an integer value."""
    return isinstance(exponent, int | float) and float(exponent).is_integer()


def _power_derivative_vjp_x1(g, x1, x2, order1, order2, shape, xp):
    """Return g times the conjugate of pow's derivative of orders (order1 + 1, order2), summed over
    broadcast axes.

    It is the cotangent of x1, of the given shape, for the cotangent g of pow's derivative of orders
    (order1, order2).
    """
    slope = xp.power_derivative(x1, x2, order1 + 1, order2)
    return sum_to(g * conjugate(slope, xp), shape, xp)


def _power_derivative_vjp_x2(g, x1, x2, order1, order2, shape, xp):
    """Return g times the conjugate of pow's derivative of orders (order1, order2 + 1), summed over
    broadcast axes.

    It is the cotangent of x2, of the given shape, for the cotangent g of pow's derivative of orders
    (order1, order2).
    """
    slope = xp.power_derivative(x1, x2, order1, order2 + 1)
    return sum_to(g * conjugate(slope, xp), shape, xp)


# This op computes the derivatives of all orders.  The product rule on derivatives of lower order would
# lose terms where a factor is 0.  For example, the derivative of y * x ** (y - 1) with respect to y at y
# = 0 is 1 / x.
@primitive(
    _power_derivative_vjp_x1,
    _power_derivative_vjp_x2,
    domain=(0.3, 3),
    samples=(
        sample((3, 4), (3, 4), order1=1, order2=0),
        sample((3, 1), (4,), order1=0, order2=1),
        sample((), (3,), order1=2, order2=1),
    ),
    origin="inner",
    signature="(),()->()",
    continuous=True,
    scalars=False,
)
def power_derivative(x1: Array, x2: Array, /, order1: int, order2: int) -> Array:
    """Compute derivatives of pow: order1 times with respect to x1, order2 times with respect to x2."""


def _atan2_rule_x1(t, x1, x2, xp):
    """Return ``t * x2 / (x1**2 + x2**2)``, 0 where both are 0.

    It is the tangent of atan2(x1, x2) for a tangent t of x1.
    """
    return t * _over_squared_norm(x2, x1, x2, xp)


def _atan2_rule_x2(t, x1, x2, xp):
    """Return ``-t * x1 / (x1**2 + x2**2)``, 0 where both are 0.

    It is the tangent of atan2(x1, x2) for a tangent t of x2.
    """
    return -t * _over_squared_norm(x1, x1, x2, xp)


atan2 = elementwise(
    "atan2",
    _atan2_rule_x1,
    _atan2_rule_x2,
    domain=(0.3, 3),
    cusped=True,
    doc="""Compute the angle of the point (x2, x1), element by element, in radians from -pi to pi.

Both derivatives are 0 where x1 and x2 are 0; second derivatives are NaN there.""",
)


def _hypot_rule_x1(t, x1, y, xp):
    """Return ``t * x1 / y``, 0 where y, the result, is 0.

    It is the tangent of y = hypot(x1, x2) for a tangent t of x1.
    """
    return t * _over_norm(x1, y, xp)


def _hypot_rule_x2(t, x2, y, xp):
    """Return ``t * x2 / y``, 0 where y, the result, is 0.

    It is the tangent of y = hypot(x1, x2) for a tangent t of x2.
    """
    return t * _over_norm(x2, y, xp)


hypot = elementwise(
    "hypot",
    _hypot_rule_x1,
    _hypot_rule_x2,
    domain=(0.3, 3),
    cusped=True,
    doc="""Compute the square root of x1**2 + x2**2, element by element, without overflow.

Both derivatives are 0 where x1 and x2 are 0; second derivatives are NaN there.""",
    propagates_nan=False,
)


def _logaddexp_rule_x1(t, x1, x2, xp):
    """Return ``t / (1 + xp.exp(x2 - x1))``.

    It is the tangent of logaddexp(x1, x2) for a tangent t of x1.
    """
    return t * _exp_share(x1, x2, xp)


def _logaddexp_rule_x2(t, x1, x2, xp):
    """Return ``t / (1 + xp.exp(x1 - x2))``.

    It is the tangent of logaddexp(x1, x2) for a tangent t of x2.
    """
    return t * _exp_share(x2, x1, xp)


logaddexp = elementwise(
    "logaddexp",
    _logaddexp_rule_x1,
    _logaddexp_rule_x2,
    doc="""Compute the logarithm of exp(x1) + exp(x2), element by element, without overflow.

If one operand is inf, it gets the whole gradient; two such operands share the gradient evenly.""",
)


def _logaddexp2_rule_x1(t, x1, x2, xp):
    """Return ``t / (1 + 2 ** (x2 - x1))``.

    It is the tangent of logaddexp2(x1, x2) for a tangent t of x1.
    """
    return t * _exp_share(x1, x2, xp, LOG2)


def _logaddexp2_rule_x2(t, x1, x2, xp):
    """Return ``t / (1 + 2 ** (x1 - x2))``.

    It is the tangent of logaddexp2(x1, x2) for a tangent t of x2.
    """
    return t * _exp_share(x2, x1, xp, LOG2)


logaddexp2 = elementwise(
    "logaddexp2",
    _logaddexp2_rule_x1,
    _logaddexp2_rule_x2,
    doc="""Compute the logarithm to base 2 of 2 ** x1 + 2 ** x2, element by element, without overflow.

If one operand is inf, it gets the whole gradient; two such operands share the gradient evenly.""",
    origin="extra",
)


def _exp_share(x, other, xp, scale=None):
    """Return ``exp(x) / (exp(x) + exp(other))``, without overflow of exp, also in later derivatives.

    It is the derivative of logaddexp(x, other) with respect to x.  The result is computed from the
    difference of x and other.  For large numbers exp(x - logaddexp(x, other)) would have no correct
    digits, because the result of logaddexp is rounded.

    scale : for another base than e, the natural logarithm of the base.
    """
    both = (x == other) & (x == math.inf)  # each gets 1 / 2, where inf - inf would be NaN
    gap = xp.where(both, 0.0, other - x)
    gap = gap if scale is None else gap * scale
    greater = gap > 0
    power = xp.exp(xp.where(greater, -gap, gap))
    return xp.where(greater, power, 1.0) / (1.0 + power)


def _over_squared_norm(part, x1, x2, xp):
    """Return ``part / (x1 ** 2 + x2 ** 2)``, or 0 where x1 and x2 are 0; the squares do not overflow.

    With x1 or x2 as ``part`` it is, up to the sign, a derivative of atan2.
    """
    r = xp.hypot(x1, x2)
    zero = r == 0
    safe = xp.where(zero, 1.0, r)
    return flat_at_tip(zero, part / safe / safe, r, xp)


def _over_norm(leg, y, xp):
    """Return ``leg / y``, the derivative of y = hypot with respect to a leg, or 0 where y is 0."""
    zero = y == 0
    return flat_at_tip(zero, leg / xp.where(zero, 1.0, y), y, xp)


def flat_at_tip(zero, slope, radius, xp):
    """Return ``slope``, the derivative of a function such as hypot, but 0 at the tip of its cone.

    Near the tip second derivatives are unbounded, so the derivative of the returned 0 has to be NaN.
    For this the 0 is computed as ``sqrt(radius)``.  The derivative of the root, infinity, times that of
    the radius, 0, is NaN.

    zero : True at the tip.  radius : an array that is 0 there, with a derivative of 0, such as hypot's
    result.
    """
    return xp.where(zero, xp.sqrt(radius), slope)


# --- piecewise ------------------------------------------------------------------------------
# Operands that tie share the gradient evenly, so that maximum(x, x) has gradient 1.  An operand that is
# NaN is also the result.  The rules use ``where``, not a product with 0, so that an infinite t does not
# become NaN.  ``lost`` is True where x2 is the result.  ``tie`` is True where x1 equals x2, and None if
# they are equal nowhere.
def _extremum_rule_x1(t, lost, tie, xp):
    """Return t where x1 is the result, t / 2 where x1 equals x2, else 0.

    It is the tangent of maximum or minimum(x1, x2) for a tangent t of x1.

    lost : True where x2 is the result.  tie : True where x1 equals x2, or None if they never do.
    """
    return xp.where(lost, 0.0, t if tie is None else xp.where(tie, t * 0.5, t))


def _extremum_rule_x2(t, lost, tie, xp):
    """Return t where x2 is the result, t / 2 where x1 equals x2, else 0.

    It is the tangent of maximum or minimum(x1, x2) for a tangent t of x2.

    lost : True where x2 is the result.  tie : True where x1 equals x2, or None if they never do.
    """
    return xp.where(lost, t, 0.0 if tie is None else xp.where(tie, t * 0.5, 0.0))


# If x2 is a number, as in maximum(x, 0.0), ``nan`` is a single bool.  If ``nan`` is False, one
# comparison of arrays suffices.
def _lost_to_greater(x1, x2):
    """Return a mask that is True where x2 is the maximum of x1 and x2: it is greater, or NaN."""
    nan = x2 != x2
    return x1 < x2 if nan is False or nan is False_ else (x1 < x2) | nan


def _tie_mask(x1, x2, storage):
    """Return a mask that is True where x1 equals x2, or None if they are equal nowhere.

    Where maximum's operands are equal, its rules give half of the gradient to each.
    """
    return storage.unless_none(x1 == x2)


def _lost_to_less(x1, x2):
    """Return a mask that is True where x2 is the minimum of x1 and x2: it is less, or NaN."""
    nan = x2 != x2
    return x1 > x2 if nan is False or nan is False_ else (x1 > x2) | nan


OF_TWO: Any = {"selects": True, "takes": "ordered", "gives": "promoted", "correctly_rounded": True}
maximum = elementwise(
    "maximum",
    _extremum_rule_x1,
    _extremum_rule_x2,
    saves={"lost": _lost_to_greater, "tie": _tie_mask},
    doc="""Return the greater of x1 and x2, element by element; NaN where either is NaN.

Where the operands tie, they share the gradient evenly, so that maximum(x, x) has gradient 1.  An
operand that is NaN, and so is the result, gets the gradient.  The other operand gets a gradient of
exactly 0, even where the derivative of the function that computed it is infinite.""",
    range=lambda n, x, y: x.maximum(y),
    **OF_TWO,
)
minimum = elementwise(
    "minimum",
    _extremum_rule_x1,
    _extremum_rule_x2,
    saves={"lost": _lost_to_less, "tie": _tie_mask},
    doc="""Return the lesser of x1 and x2, element by element; NaN where either is NaN.

Where the operands tie, they share the gradient evenly, so that minimum(x, x) has gradient 1.  An
operand that is NaN, and so is the result, gets the gradient.  The other operand gets a gradient of
exactly 0, even where the derivative of the function that computed it is infinite.""",
    range=lambda n, x, y: x.minimum(y),
    **OF_TWO,
)
copysign = elementwise(
    "copysign",
    lambda t, x1, y, xp: t * (xp.sign(x1) * xp.sign(y)),
    lambda t, xp: xp.zeros_like(t),
    continuous=False,
    doc="""Combine the magnitude of x1 with the sign of x2, element by element.

The derivative with respect to x1 is 0 at x1 = 0.  The derivative with respect to x2 is 0
everywhere.""",
    correctly_rounded=True,
    propagates_nan=False,
)
remainder = elementwise(
    "remainder",
    identity_rule,
    lambda t, x1, x2, xp: -t * xp.floor_divide(x1, x2),
    domain=(0.6, 4),
    samples=(sample((3, 4), (3, 4)), sample((3, 1), (4,))),
    continuous=False,
    doc="""Compute the remainder of x1 / x2 with the sign of x2, element by element: x1 % x2.

Where the result jumps, the gradient is that of the piece to which the result belongs.""",
    takes="real",
    gives="promoted",
    correctly_rounded=True,
)
floor_divide = elementwise(
    "floor_divide",
    lambda t, xp: xp.zeros_like(t),
    lambda t, xp: xp.zeros_like(t),
    domain=(0.6, 4),
    continuous=False,
    doc="""Divide element by element and round down to an integer: x1 // x2.

The gradient is 0 everywhere, even where the result jumps.""",
    takes="real",
    gives="promoted",
)
# As for tf.math.nextafter, the derivative with respect to x1 is 1; x2 determines only the direction.
nextafter = elementwise(
    "nextafter",
    identity_rule,
    lambda t, xp: xp.zeros_like(t),
    continuous=False,
    doc="""Find the next floating-point number after x1 towards x2, element by element.

The derivative with respect to x1 is 1, as in TensorFlow.  The derivative with respect to x2 is 0.""",
)


# --- inner ops, which NumPy functions such as np.cbrt call for Arrays --------------------------
# Their names differ from NumPy's, because users may give NumPy's names to ops of their own.
cube_root = elementwise(
    "cube_root",
    lambda t, y: t / 3.0 / y / y,
    domain=POSITIVE,
    takes="real floating",
    gives="floating",
    origin="inner",
)


def _truncated_remainder_rule_x2(t, x1, x2, xp):
    """Return ``-t * xp.trunc(x1 / x2)``.

    It is the tangent of fmod(x1, x2) for a tangent t of x2.
    """
    # Computed by floor_divide, because x1 / x2 may be rounded up to the next integer before trunc.
    quotient = xp.floor_divide(xp.abs(x1), xp.abs(x2))
    return -t * (xp.sign(x1) * xp.sign(x2) * quotient)


truncated_remainder = elementwise(
    "truncated_remainder",
    identity_rule,
    _truncated_remainder_rule_x2,
    domain=(0.6, 4),
    samples=(sample((3, 4), (3, 4)), sample((3, 1), (4,))),
    continuous=False,
    takes="real",
    gives="promoted",
    origin="inner",
    correctly_rounded=True,
)


def _root_of_variance_rule(t, y, xp):
    """Return ``t / (2 * y)``, 0 where y is 0.

    It is the tangent of y, a standard deviation, for a tangent t of the variance.
    """
    return t * flat_at_tip(y == 0, 0.5 / xp.where(y == 0, 1.0, y), y, xp)


root_of_variance = elementwise(
    "root_of_variance", _root_of_variance_rule, domain=POSITIVE, cusped=True, origin="inner"
)


def _sinc_derivative_vjp(g, x, order, xp):
    """Return ``g * xp.conj(xp.sinc_derivative(x, order + 1))``.

    It is the cotangent of x for the cotangent g of sinc_derivative(x, order).
    """
    return g * conjugate(xp.sinc_derivative(x, order + 1), xp)


@primitive(
    _sinc_derivative_vjp,
    samples=(sample((3, 4), order=0), sample((), order=1), sample((3,), order=2)),
    continuous=True,
    origin="inner",
    signature="()->()",
)
def sinc_derivative(x: Array, /, order: int) -> Array:
    """Compute a derivative of sin(pi x) / (pi x).  order : its order; 0 for the function itself."""


# --- functions that are not holomorphic: rules for real and complex data differ --------------------
def _abs_vjp(g, x, xp):
    """Return ``g * xp.sign(x)``.

    It is the cotangent of x for the cotangent g of abs(x).
    """
    if not is_complex(x):
        return g * xp.sign(x)
    return g * flat_at_tip(x == 0, xp.sign(x), xp.abs(x), xp)


@primitive(
    _abs_vjp,
    cusped=lambda kept: is_complex(kept("x")),
    samples=(sample((3, 4)), sample(()), sample((0, 3))),
    continuous=True,
    takes="number",
    gives=("x", "part"),
    signature="()->()",
    propagates_nan=True,
    range=lambda n, x: x.magnitude(),
)
def abs(x: Array, /) -> Array:
    """Compute the absolute value of each element.

    Notes
    -----
    The derivative at 0 is 0.
    """


@primitive(
    lambda g, xp: xp.conj(g),
    linear_in=("x",),
    samples=(sample((3, 4)), sample(())),
    continuous=True,
    takes="number",
    gives=("x", "x"),
    signature="()->()",
    propagates_nan=True,
    correctly_rounded=True,
)
def conj(x: Array, /) -> Array:
    """Compute the complex conjugate of each element: for real data, a copy."""


def _imag_part_vjp(g, dtype, xp):
    """Return ``1j * g`` for complex x, and 0 for real x.

    It is the cotangent of x for the cotangent g of imag(x).  dtype : the dtype of x.
    """
    return g * 1j if xp.isdtype(dtype, COMPLEX) else xp.zeros_like(g)


@primitive(
    identity_rule,
    linear_in=("x",),
    samples=(sample((3, 4)), sample(())),
    continuous=True,
    origin="inner",
    signature="()->()",
    scalars=False,
)
def real_part(x: Array, /) -> Array:
    """Copy the real part, for libraries that have no view of the real part."""


@primitive(
    _imag_part_vjp,
    linear_in=("x",),
    samples=(sample((3, 4)), sample(())),
    continuous=True,
    origin="inner",
    signature="()->()",
    scalars=False,
)
def imag_part(x: Array, /) -> Array:
    """Copy the imaginary part, for libraries that have no view of it; return zeros for real data."""


def as_immutable(y: Array, x: Array) -> Array:
    """Return y, the real or imaginary part of x, made immutable if x is.

    An immutable 0-d Array stands for a scalar.  In NumPy, the real part of a scalar is one, too.
    """
    y._state |= x._state & SCALAR
    return y


@composite(
    takes="number", gives=("x", "part"), signature="()->()", continuous=True, linear_in=("x",)
)
def real(x: Array, /) -> Array:
    """Return the real part of each element: a view for complex data, x itself for real data.

    Returns
    -------
    Array
        Of the shape of x and the real dtype of the same precision.  It is a copy on storages without
        such views, and for a 0-d result of an op.
    """
    if not is_complex(x):
        return x._snapshot()
    seen = alias(x, REAL, None)
    return as_immutable(real_part(x), x) if seen is None else seen


@composite(
    takes="number", gives=("x", "part"), signature="()->()", continuous=True, linear_in=("x",)
)
def imag(x: Array, /) -> Array:
    """Return the imaginary part of each element: a view for complex data, zeros for real data.

    Returns
    -------
    Array
        Of the shape of x and the real dtype of the same precision.  It is a copy on storages without
        such views, and for a 0-d result of an op.
    """
    if is_complex(x):
        seen = alias(x, IMAG, None)
    else:
        seen = alias(as_immutable(imag_part(x), x), READ_ONLY, None)
    return as_immutable(imag_part(x), x) if seen is None else seen


def _sign_vjp(g, x, y, xp):
    """Return 0 for real data; for complex data ``(g - y * xp.real(xp.conj(y) * g)) / xp.abs(x)``,
    but 0 at x = 0; y is the result.

    It is the cotangent of x for the cotangent g of y = sign(x).
    """
    # z / |z| does not change when z changes in its own direction, so the part of g along y is
    # subtracted.
    if not xp.isdtype(x.dtype, COMPLEX):
        return xp.zeros_like(g)
    r = xp.abs(x)
    turned = g - y * xp.real(xp.conj(y) * g)
    return xp.where(r == 0, 0.0, turned / xp.where(r == 0, 1.0, r))


@primitive(
    _sign_vjp,
    samples=(sample((3, 4)), sample(())),
    takes="numeric",
    gives=("x", "x"),
    signature="()->()",
    propagates_nan=True,
)
def sign(x: Array, /) -> Array:
    """Compute the sign of each element: -1, 0 or 1; for complex x, x / abs(x), or 0 at 0."""


def _clip_vjp_x(g, x, min, max, shape, xp):
    """Return g where x is within the bounds, else 0, summed over broadcast axes.

    It is the cotangent of x for the cotangent g of clip(x, min, max).  shape : the shape of x.
    """
    inside = xp.ones_like(x, dtype=xp.bool)
    inside = inside if min is None else inside & (x >= min)
    inside = inside if max is None else inside & (x <= max)
    return sum_to(xp.where(inside, g, 0.0), shape, xp)


def _clip_vjp_min(g, x, min, max, shape, xp):
    """Return g where x is less than min and min is the result, else 0, summed over broadcast axes.

    It is the cotangent of min for the cotangent g of clip(x, min, max).  shape : the shape of min.
    """
    taken = (x < min) if max is None else (x < min) & (min <= max)
    return sum_to(xp.where(taken, g, 0.0), shape, xp)


def _clip_vjp_max(g, x, min, max, shape, xp):
    """Return g where x or min is greater than max, else 0, summed over broadcast axes.

    It is the cotangent of max for the cotangent g of clip(x, min, max).  shape : the shape of max.
    """
    taken = (x > max) if min is None else (x > max) | (min > max)
    return sum_to(xp.where(taken, g, 0.0), shape, xp)


@primitive(
    _clip_vjp_x,
    _clip_vjp_min,
    _clip_vjp_max,
    selects=True,
    samples=(
        sample((3, 4), -0.5, 0.7),
        sample((3, 4), None, 0.7),
        sample((3, 4), (4,), None, domain=(-1.0, 1.0)),
        sample((3, 4), (4,), (3, 1), domain=(-1.0, 1.0)),
        sample((4,), (3, 4), (3, 1), domain=(-1.0, 1.0)),
    ),
    continuous=True,
    signature="(),(),()->()",
    propagates_nan=True,
    promotes="first",
)
def clip(x: Array, /, min: Array | float | None = None, max: Array | float | None = None) -> Array:
    """Limit each element to the interval from min to max.

    Parameters
    ----------
    x
        Of real dtype.
    min
        The lower bound, of a shape that broadcasts with that of x; None: no bound.
    max
        The upper bound, of a shape that broadcasts with that of x; None: no bound.  Where max is
        less than min, the result is max.

    Returns
    -------
    Array
        Of the shape to which x and the bounds broadcast.
        Its dtype is the dtype of x.

    Raises
    ------
    ValueError
        When the shapes of x and the bounds do not broadcast.

    Notes
    -----
    Where x equals a bound, the derivative with respect to x is 1.  Elements that are not the result get
    a gradient of exactly 0.
    """


# --- no derivative ----------------------------------------------------------------------------
ceil = nondifferentiable(
    "ceil", takes="real", gives="x", doc="Round each element up to an integer."
)
floor = nondifferentiable(
    "floor", takes="real", gives="x", doc="Round each element down to an integer."
)
round = nondifferentiable(
    "round",
    takes="number",
    gives="x",
    doc="Round each element to the nearest integer, and halves to the nearest even integer.",
)
trunc = nondifferentiable(
    "trunc", takes="real", gives="x", doc="Round each element towards zero to an integer."
)
BITS: Any = {"takes": "integral", "gives": "promoted"}
SHIFT: Any = {"takes": "integer", "gives": "promoted"}
bitwise_and = nondifferentiable(
    "bitwise_and", 2, **BITS, doc="Apply the bitwise and, element by element: x1 & x2."
)
bitwise_invert = nondifferentiable(
    "bitwise_invert", takes="integral", gives="x", doc="Invert each bit of each element: ~x."
)
bitwise_left_shift = nondifferentiable(
    "bitwise_left_shift", 2, **SHIFT,
    doc="Shift the bits of x1 to the left by x2, element by element: x1 << x2.",
)  # fmt: skip
bitwise_or = nondifferentiable(
    "bitwise_or", 2, **BITS, doc="Apply the bitwise or, element by element: x1 | x2."
)
bitwise_right_shift = nondifferentiable(
    "bitwise_right_shift", 2, **SHIFT,
    doc="Shift the bits of x1 to the right by x2, element by element: x1 >> x2.",
)  # fmt: skip
bitwise_xor = nondifferentiable(
    "bitwise_xor", 2, **BITS, doc="Apply the bitwise exclusive or, element by element: x1 ^ x2."
)
equal = nondifferentiable("equal", 2, doc="Compare element by element: x1 == x2.")
greater = nondifferentiable(
    "greater", 2, takes="ordered", doc="Compare element by element: x1 > x2."
)
greater_equal = nondifferentiable(
    "greater_equal", 2, takes="ordered", doc="Compare element by element: x1 >= x2."
)
isfinite = nondifferentiable(
    "isfinite",
    continuous=True,
    doc="Test whether each element is finite: neither infinite nor NaN.",
)
isinf = nondifferentiable(
    "isinf", continuous=True, doc="Test whether each element is infinite, of either sign."
)
isnan = nondifferentiable("isnan", continuous=True, doc="Test whether each element is NaN.")
less = nondifferentiable("less", 2, takes="ordered", doc="Compare element by element: x1 < x2.")
less_equal = nondifferentiable(
    "less_equal", 2, takes="ordered", doc="Compare element by element: x1 <= x2."
)
logical_and = nondifferentiable(
    "logical_and", 2, takes="boolean", doc="Apply the logical and, element by element."
)
logical_not = nondifferentiable(
    "logical_not", takes="boolean", doc="Apply the logical not to each element."
)
logical_or = nondifferentiable(
    "logical_or", 2, takes="boolean", doc="Apply the logical or, element by element."
)
logical_xor = nondifferentiable(
    "logical_xor", 2, takes="boolean", doc="Apply the logical exclusive or, element by element."
)
not_equal = nondifferentiable("not_equal", 2, doc="Compare element by element: x1 != x2.")
signbit = nondifferentiable(
    "signbit",
    takes="real",
    doc="Test whether the sign bit of each element is set, as for negative numbers and -0.0.",
)
