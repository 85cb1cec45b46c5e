"""Elementwise functions: one line each.

A line is the linear map "tangent in, tangent out" (t: tangent, y: result, x, x1, x2: the
standard's own names); the engine conjugates, sums over broadcast axes and casts.
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

POSITIVE = (0.1, 4.0)
UNIT = (-0.9, 0.9)
NUMBER = (int, float, complex)
LOG2 = 0.6931471805599453


# --- smooth ---------------------------------------------------------------------------------
def _half_circle(x: RawArray, xp: Namespace) -> Any:
    """``sqrt(1 - x ** 2)``, for complex x on its side of the branch cuts.

    There the sign of a zero says on which side x is: subtracting 1 keeps it, adding 1 does not.
    """
    return xp.sqrt(-(x - 1.0) * (x - -1.0) if is_complex(x) else _one_less_square(x, xp))


def _one_less_square(x: RawArray, xp: Namespace) -> Any:
    """``1 - x ** 2``, with all digits near 1, and its slope near 0; finite at 1, also times infinity."""
    square = x * x
    return xp.where((square < 0.25) | (square == 1.0), 1.0 - square, (1.0 - x) * (1.0 + x))


def _atanh(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """``t / (1 - x ** 2)``"""
    return t / (1.0 - x * x if is_complex(x) else _one_less_square(x, xp))


def _acos(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """``-t / sqrt(1 - x ** 2)``, on its side of the branch cuts"""
    return -t / _half_circle(x, xp)


def _hypotenuse(x: RawArray, xp: Namespace) -> Any:
    """``sqrt(1 + x ** 2)``, whose square may be too large for a number."""
    return xp.sqrt(x * x - -1.0) if is_complex(x) else xp.hypot(x, 1.0)


def _asinh(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """``t / sqrt(1 + x ** 2)``"""
    return t / _hypotenuse(x, xp)


def _atan(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """``t / (1 + x ** 2)``"""
    if is_complex(x):
        return t / (1.0 + x * x)
    h = xp.hypot(x, 1.0)
    return t / h / h


def _asin(t: RawArray, x: RawArray, xp: Namespace) -> Any:
    """``t / sqrt(1 - x ** 2)``, on its side of the branch cuts"""
    return t / _half_circle(x, xp)


acos = elementwise(
    "acos", _acos, domain=UNIT, doc="Inverse cosine of each element, in radians from 0 to pi."
)
acosh = elementwise(
    "acosh",
    lambda t, x, xp: t / (xp.sqrt(x - 1.0) * xp.sqrt(x - -1.0)),
    domain=(1.2, 4),
    doc="Inverse hyperbolic cosine of each element.",
)
asin = elementwise(
    "asin", _asin, domain=UNIT, doc="Inverse sine of each element, in radians from -pi/2 to pi/2."
)
asinh = elementwise("asinh", _asinh, doc="Inverse hyperbolic sine of each element.")
atan = elementwise(
    "atan", _atan, doc="Inverse tangent of each element, in radians from -pi/2 to pi/2."
)
atanh = elementwise("atanh", _atanh, domain=UNIT, doc="Inverse hyperbolic tangent of each element.")
cos = elementwise("cos", lambda t, x, xp: -t * xp.sin(x), doc="Cosine of each element, in radians.")
cosh = elementwise(
    "cosh", lambda t, x, xp: t * xp.sinh(x), doc="Hyperbolic cosine of each element."
)
exp = elementwise(
    "exp",
    lambda t, y: t * y,
    doc="Exponential of each element: e ** x.",
)
expm1 = elementwise(
    "expm1",
    lambda t, x, xp: t * xp.exp(x),
    doc="Exponential less 1 of each element, precise near 0.",
)
log = elementwise(
    "log",
    lambda t, x: t / x,
    domain=POSITIVE,
    doc="""Natural logarithm of each element.

The slope at 0 is infinite, and the gradient there inf.""",
)
log1p = elementwise(
    "log1p",
    lambda t, x: t / (1.0 + x),
    domain=(-0.8, 4),
    doc="Natural logarithm of 1 + x for each element, precise near 0.",
)
log2 = elementwise(
    "log2",
    lambda t, x: t / (x * 0.6931471805599453),
    domain=POSITIVE,
    doc="""Logarithm to base 2 of each element.

The slope at 0 is infinite, and the gradient there inf.""",
)
log10 = elementwise(
    "log10",
    lambda t, x: t / (x * 2.302585092994046),
    domain=POSITIVE,
    doc="""Logarithm to base 10 of each element.

The slope at 0 is infinite, and the gradient there inf.""",
)
negative = elementwise(
    "negative",
    lambda t: -t,
    doc="Negative of each element: -x.",
    takes="numeric",
    gives="x",
    correctly_rounded=True,
    infix="-",
    range=lambda n, x: x.negative(),
)
positive = elementwise(
    "positive",
    identity_rule,
    doc="Copy of x: +x.",
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
    doc="Reciprocal of each element: 1 / x.",
    takes="number",
    gives="x",
    correctly_rounded=True,
)
sin = elementwise("sin", lambda t, x, xp: t * xp.cos(x), doc="Sine of each element, in radians.")
sinh = elementwise("sinh", lambda t, x, xp: t * xp.cosh(x), doc="Hyperbolic sine of each element.")
sqrt = elementwise(
    "sqrt",
    lambda t, y: t / (2.0 * y),
    domain=POSITIVE,
    doc="""Square root of each element.

The slope at 0 is infinite, and the gradient there inf.""",
    correctly_rounded=True,
    range=lambda n, x: x.to_root(),
)
square = elementwise(
    "square",
    lambda t, x: t * (2.0 * x),
    doc="Square of each element: x * x.",
    takes="number",
    gives="x",
    correctly_rounded=True,
    range=lambda n, x: x.magnitude().times(x.magnitude()),
)
tan = elementwise(
    "tan",
    lambda t, y: t * (1.0 + y * y),
    domain=(-1.2, 1.2),
    doc="Tangent of each element, in radians.",
)
tanh = elementwise(
    "tanh", lambda t, y: t * (1.0 - y * y), doc="Hyperbolic tangent of each element."
)

# --- arithmetic: with respect to x1, with respect to x2 ----------------------------------------
add = elementwise(
    "add",
    identity_rule,
    identity_rule,
    doc="Sum x1 + x2, element by element.",
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
    doc="Difference x1 - x2, element by element.",
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
    doc="Product x1 * x2, element by element.",
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
    doc="Quotient x1 / x2, element by element.",
    takes="number",
    gives="promoted floating",
    correctly_rounded=True,
    infix="/",
    range=lambda n, x, y: x.over(y),
)


def _base(t, x1, x2, xp):
    """``t * x2 * x1 ** (x2 - 1)``, 0 where x2 is 0"""
    # The slope of x ** 0 is 0, also at x = 0.
    if isinstance(x2, NUMBER):
        return (
            t * (x1 + x1) if x2 == 2 else t * (x2 * x1 ** (x2 - 1)) if x2 else xp.zeros_like(t * x1)
        )
    return t * xp.power_derivative(x1, in_floats(x2, xp), 1, 0)


def _exponent(t, x1, x2, y, xp):
    """``t * y * xp.log(x1)``, 0 where x1 is 0 and x2 is not negative"""
    # The slope of 0 ** y is 0 for y > 0: the limit, where y * log(0) would be NaN.
    if not isinstance(x1, NUMBER):
        return t * xp.power_derivative(in_floats(x1, xp), x2, 0, 1)
    # As a weak scalar, so that float32 stays float32; log of a negative number is NaN.
    if x1 == 0:
        return t * xp.where(xp.isfinite(y), 0.0 * y, -math.inf)
    if isinstance(x1, complex):
        return t * (y * cmath.log(x1))
    return t * (y * (math.log(x1) if x1 > 0 else math.nan))


def in_floats(x, xp):
    """Return x, or integers in double precision: small or unsigned ones overflow in polynomials."""
    return x if x.dtype.kind in "fc" else xp.astype(x, xp.float64)


pow = elementwise(
    "pow",
    _base,
    _exponent,
    domain=(0.3, 3),
    convert=False,
    cusped=lambda kept: not is_whole(kept("x2")),
    doc="""Power x1 ** x2, element by element.

The slope of x1 ** 0 is 0, also at x1 = 0; that of 0 ** x2 by x2 is 0 for x2 >= 0.""",
    takes="number",
    gives="promoted",
    propagates_nan=False,
)


def is_whole(exponent):
    """Return True if an exponent is a number without a fraction; None is not."""
    return isinstance(exponent, int | float) and float(exponent).is_integer()


def _once_more_by_base(g, x1, x2, order1, order2, shape, xp):
    """``g`` times the conjugate of the next derivative by x1, summed over broadcast axes"""
    slope = xp.power_derivative(x1, x2, order1 + 1, order2)
    return sum_to(g * conjugate(slope, xp), shape, xp)


def _once_more_by_exponent(g, x1, x2, order1, order2, shape, xp):
    """``g`` times the conjugate of the next derivative by x2, summed over broadcast axes"""
    slope = xp.power_derivative(x1, x2, order1, order2 + 1)
    return sum_to(g * conjugate(slope, xp), shape, xp)


# One op for the derivatives of all orders, so that each is exact where a term of the one before it is 0:
# that of y * x ** (y - 1) by y at y = 0 is 1 / x.
@primitive(
    _once_more_by_base,
    _once_more_by_exponent,
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
    """The derivatives of pow, for its rule: order1 times by x1, order2 times by x2."""


def _ordinate(t, x1, x2, xp):
    """``t * x2 / (x1**2 + x2**2)``, 0 where both are 0"""
    return t * _over(x2, x1, x2, xp)


def _abscissa(t, x1, x2, xp):
    """``-t * x1 / (x1**2 + x2**2)``, 0 where both are 0"""
    return -t * _over(x1, x1, x2, xp)


atan2 = elementwise(
    "atan2",
    _ordinate,
    _abscissa,
    domain=(0.3, 3),
    cusped=True,
    doc="""Angle of the point (x2, x1), element by element, in radians from -pi to pi.

Both slopes are 0 where x1 and x2 are 0; second derivatives are NaN there.""",
)


def _first_leg(t, x1, y, xp):
    """``t * x1 / y``, with y the result; 0 where that is 0"""
    return t * _share(x1, y, xp)


def _second_leg(t, x2, y, xp):
    """``t * x2 / y``, with y the result; 0 where that is 0"""
    return t * _share(x2, y, xp)


hypot = elementwise(
    "hypot",
    _first_leg,
    _second_leg,
    domain=(0.3, 3),
    cusped=True,
    doc="""Square root of x1**2 + x2**2, element by element, without overflow.

Both slopes are 0 where x1 and x2 are 0; second derivatives are NaN there.""",
    propagates_nan=False,
)


def _share_of_first(t, x1, x2, xp):
    """``t / (1 + xp.exp(x2 - x1))``"""
    return t * _weight(x1, x2, xp)


def _share_of_second(t, x1, x2, xp):
    """``t / (1 + xp.exp(x1 - x2))``"""
    return t * _weight(x2, x1, xp)


logaddexp = elementwise(
    "logaddexp",
    _share_of_first,
    _share_of_second,
    doc="""Logarithm of exp(x1) + exp(x2), element by element, without overflow.

An operand that is inf takes the whole gradient; two of them share it evenly.""",
)


def _share_of_first_power(t, x1, x2, xp):
    """``t / (1 + 2 ** (x2 - x1))``"""
    return t * _weight(x1, x2, xp, LOG2)


def _share_of_second_power(t, x1, x2, xp):
    """``t / (1 + 2 ** (x1 - x2))``"""
    return t * _weight(x2, x1, xp, LOG2)


logaddexp2 = elementwise(
    "logaddexp2",
    _share_of_first_power,
    _share_of_second_power,
    doc="""Logarithm to base 2 of 2 ** x1 + 2 ** x2, element by element, without overflow.

An operand that is inf takes the whole gradient; two of them share it evenly.""",
    origin="extra",
)


def _weight(x, other, xp, scale=None):
    # exp(x) / (exp(x) + exp(other)), by the difference alone: the result is rounded, exp(x - result)
    # of large numbers has no digit left.  exp never overflows here, nor do the next derivatives.
    # scale : the logarithm of the base, if that is not e.
    both = (x == other) & (x == math.inf)  # they share
    gap = xp.where(both, 0.0, other - x)
    gap = gap if scale is None else gap * scale
    greater = gap > 0
    power = xp.exp(xp.where(greater, -gap, gap))
    return xp.where(greater, power, 1.0) / (1.0 + power)


def _over(part, x1, x2, xp):
    # part / (x1 ** 2 + x2 ** 2), and 0 where both are 0; hypot keeps the squares from overflowing.
    r = xp.hypot(x1, x2)
    zero = r == 0
    safe = xp.where(zero, 1.0, r)
    return flat_at_tip(zero, part / safe / safe, r, xp)


def _share(leg, y, xp):
    zero = y == 0
    return flat_at_tip(zero, leg / xp.where(zero, 1.0, y), y, xp)


def flat_at_tip(zero, slope, radius, xp):
    """Return a slope, and 0 where the radius is 0: at the tip of a cone, near which the curvature is
    unbounded.  There the slope's own derivative is NaN, by that of a root, which is infinite, times
    that of the radius, which is 0.
    """
    return xp.where(zero, xp.sqrt(radius), slope)


# --- piecewise ------------------------------------------------------------------------------
# Ties share the gradient evenly, so maximum(x, x) has gradient 1; an operand that is NaN is the
# result.  Selects, never multiplies: what was not taken gets exactly 0, however infinite t is.
def _to_first(t, lost, tie, xp):
    """t where x1 is the result, t / 2 in a tie, else 0"""
    return xp.where(lost, 0.0, t if tie is None else xp.where(tie, t * 0.5, t))


def _to_second(t, lost, tie, xp):
    """t where x2 is the result, t / 2 in a tie, else 0"""
    return xp.where(lost, t, 0.0 if tie is None else xp.where(tie, t * 0.5, 0.0))


# Of a number that is no NaN, as in maximum(x, 0.0), one comparison says where it is the result.
def _lost_to_greater(x1, x2):
    """Return True where x2 is the maximum: it is greater, or NaN."""
    nan = x2 != x2
    return x1 < x2 if nan is False or nan is False_ else (x1 < x2) | nan


def _tie(x1, x2, storage):
    return storage.unless_none(x1 == x2)


def _lost_to_less(x1, x2):
    """Return True where x2 is the minimum: it is less, or NaN."""
    nan = x2 != x2
    return x1 > x2 if nan is False or nan is False_ else (x1 > x2) | nan


OF_TWO: Any = {"selects": True, "takes": "ordered", "gives": "promoted", "correctly_rounded": True}
maximum = elementwise(
    "maximum",
    _to_first,
    _to_second,
    saves={"lost": _lost_to_greater, "tie": _tie},
    doc="""Greater of x1 and x2, element by element; NaN where either is NaN.

Ties share the gradient evenly, so maximum(x, x) has gradient 1.  An operand that is NaN, and
so the result, takes it.  What is not taken gets exactly 0, however steep it is.""",
    range=lambda n, x, y: x.maximum(y),
    **OF_TWO,
)
minimum = elementwise(
    "minimum",
    _to_first,
    _to_second,
    saves={"lost": _lost_to_less, "tie": _tie},
    doc="""Lesser of x1 and x2, element by element; NaN where either is NaN.

Ties share the gradient evenly, so minimum(x, x) has gradient 1.  An operand that is NaN, and
so the result, takes it.  What is not taken gets exactly 0, however steep it is.""",
    range=lambda n, x, y: x.minimum(y),
    **OF_TWO,
)
copysign = elementwise(
    "copysign",
    lambda t, x1, y, xp: t * (xp.sign(x1) * xp.sign(y)),
    lambda t, xp: xp.zeros_like(t),
    continuous=False,
    doc="""Magnitude of x1 with the sign of x2, element by element.

The slope at x1 = 0 is 0, and so is that for x2 everywhere.""",
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
    doc="""Remainder of x1 / x2 with the sign of x2, element by element: x1 % x2.

The gradient at a step is that of the piece on which the result lies.""",
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
    doc="""Quotient rounded down to an integer, element by element: x1 // x2.

The gradient is 0 everywhere, also at the steps.""",
    takes="real",
    gives="promoted",
)
# The next float moves with x1, as in tf.math.nextafter; towards x2 is a step, not a slope.
nextafter = elementwise(
    "nextafter",
    identity_rule,
    lambda t, xp: xp.zeros_like(t),
    continuous=False,
    doc="""Next floating-point number after x1 towards x2, element by element.

The next number moves with x1, as in TensorFlow; towards x2 it makes a step.""",
)


# --- of NumPy's alone: for its functions on Arrays ---------------------------------------------------
# Not under NumPy's names, which users take for ops of their own.
cube_root = elementwise(
    "cube_root",
    lambda t, y: t / 3.0 / y / y,
    domain=POSITIVE,
    takes="real floating",
    gives="floating",
    origin="inner",
)


def _whole_quotient(t, x1, x2, xp):
    """``-t * xp.trunc(x1 / x2)``"""
    # By floor_divide, since a quotient that is rounded up to an integer is not the one that fmod takes.
    quotient = xp.floor_divide(xp.abs(x1), xp.abs(x2))
    return -t * (xp.sign(x1) * xp.sign(x2) * quotient)


truncated_remainder = elementwise(
    "truncated_remainder",
    identity_rule,
    _whole_quotient,
    domain=(0.6, 4),
    samples=(sample((3, 4), (3, 4)), sample((3, 1), (4,))),
    continuous=False,
    takes="real",
    gives="promoted",
    origin="inner",
    correctly_rounded=True,
)


def _root_of_variance(t, y, xp):
    """``t / (2 * y)``; 0 where y is 0"""
    return t * flat_at_tip(y == 0, 0.5 / xp.where(y == 0, 1.0, y), y, xp)


root_of_variance = elementwise(
    "root_of_variance", _root_of_variance, domain=POSITIVE, cusped=True, origin="inner"
)


def _next_sinc_derivative(g, x, order, xp):
    """``g * xp.conj(xp.sinc_derivative(x, order + 1))``"""
    return g * conjugate(xp.sinc_derivative(x, order + 1), xp)


@primitive(
    _next_sinc_derivative,
    samples=(sample((3, 4), order=0), sample((), order=1), sample((3,), order=2)),
    continuous=True,
    origin="inner",
    signature="()->()",
)
def sinc_derivative(x: Array, /, order: int) -> Array:
    """The derivatives of sin(pi x) / (pi x), and itself for order 0: for its own rule."""


# --- not holomorphic: real and complex parts by hand ----------------------------------------------
def _modulus(g, x, xp):
    """``g * xp.sign(x)``"""
    if not is_complex(x):
        return g * xp.sign(x)
    return g * flat_at_tip(x == 0, xp.sign(x), xp.abs(x), xp)


@primitive(
    _modulus,
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
    """Absolute value of each element.

    Notes
    -----
    The slope at 0 is 0.
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
    """Complex conjugate of each element; real data is copied."""


def _imag(g, dtype, xp):
    """``1j * g`` for complex data, 0 for real data"""
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
    """A copy of the real part, where it cannot be a view."""


@primitive(
    _imag,
    linear_in=("x",),
    samples=(sample((3, 4)), sample(())),
    continuous=True,
    origin="inner",
    signature="()->()",
    scalars=False,
)
def imag_part(x: Array, /) -> Array:
    """A copy of the imaginary part, where it cannot be a view; zeros for real data."""


def as_immutable(y: Array, x: Array) -> Array:
    """Return a part of x, immutable where x is: NumPy's scalars have scalars as their parts."""
    y._state |= x._state & SCALAR
    return y


@composite(
    takes="number", gives=("x", "part"), signature="()->()", continuous=True, linear_in=("x",)
)
def real(x: Array, /) -> Array:
    """Real part of each element: of complex data a view, real data itself.

    Returns
    -------
    Array
        Of the shape of x and the real dtype of its precision.  On storages without such views, and
        of one element that an op computed, a copy.
    """
    if not is_complex(x):
        return x._snapshot()
    seen = alias(x, REAL, None)
    return as_immutable(real_part(x), x) if seen is None else seen


@composite(
    takes="number", gives=("x", "part"), signature="()->()", continuous=True, linear_in=("x",)
)
def imag(x: Array, /) -> Array:
    """Imaginary part of each element: of complex data a view, of real data zeros to read.

    Returns
    -------
    Array
        Of the shape of x and the real dtype of its precision.  On storages without such views, and
        of one element that an op computed, a copy.
    """
    if is_complex(x):
        seen = alias(x, IMAG, None)
    else:
        seen = alias(as_immutable(imag_part(x), x), READ_ONLY, None)
    return as_immutable(imag_part(x), x) if seen is None else seen


def _sign(g, x, y, xp):
    """0 for real data; for complex data ``(g - y * xp.real(xp.conj(y) * g)) / xp.abs(x)``,
    the part of g across the result y, and 0 at 0
    """
    # Real: 0 everywhere.  Complex: z / |z| turns, so what points along it is taken out.
    if not xp.isdtype(x.dtype, COMPLEX):
        return xp.zeros_like(g)
    r = xp.abs(x)
    turned = g - y * xp.real(xp.conj(y) * g)
    return xp.where(r == 0, 0.0, turned / xp.where(r == 0, 1.0, r))


@primitive(
    _sign,
    samples=(sample((3, 4)), sample(())),
    takes="numeric",
    gives=("x", "x"),
    signature="()->()",
    propagates_nan=True,
)
def sign(x: Array, /) -> Array:
    """Sign of each element: -1, 0 or 1; of a complex number x / abs(x)."""


def _within(g, x, min, max, shape, xp):
    """g where it lies within the bounds, else 0, summed over broadcast axes"""
    inside = xp.ones_like(x, dtype=xp.bool)
    inside = inside if min is None else inside & (x >= min)
    inside = inside if max is None else inside & (x <= max)
    return sum_to(xp.where(inside, g, 0.0), shape, xp)


def _below(g, x, min, max, shape, xp):
    """g where x lies below it, else 0, summed over broadcast axes"""
    taken = (x < min) if max is None else (x < min) & (min <= max)
    return sum_to(xp.where(taken, g, 0.0), shape, xp)


def _above(g, x, min, max, shape, xp):
    """g where x or min lies above it, else 0, summed over broadcast axes"""
    taken = (x > max) if min is None else (x > max) | (min > max)
    return sum_to(xp.where(taken, g, 0.0), shape, xp)


@primitive(
    _within,
    _below,
    _above,
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
        Lower bound, of a shape that broadcasts with that of x; None: no bound.
    max
        Upper bound, of a shape that broadcasts with that of x; None: no bound.  Where it is
        less than min, the result is max.

    Returns
    -------
    Array
        Of the shape to which x and the bounds broadcast.
        Its dtype is that of x.

    Raises
    ------
    ValueError
        When the shapes of x and the bounds do not broadcast.

    Notes
    -----
    The slope at a bound is 1 towards x.  What is not taken gets exactly 0.
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
    doc="Round each element to the nearest integer, halves to the nearest even one.",
)
trunc = nondifferentiable(
    "trunc", takes="real", gives="x", doc="Round each element towards zero to an integer."
)
BITS: Any = {"takes": "integral", "gives": "promoted"}
SHIFT: Any = {"takes": "integer", "gives": "promoted"}
bitwise_and = nondifferentiable(
    "bitwise_and", 2, **BITS, doc="Bitwise and, element by element: x1 & x2."
)
bitwise_invert = nondifferentiable(
    "bitwise_invert", takes="integral", gives="x", doc="Invert each bit of each element: ~x."
)
bitwise_left_shift = nondifferentiable(
    "bitwise_left_shift", 2, **SHIFT,
    doc="Shift the bits of x1 to the left by x2, element by element: x1 << x2.",
)  # fmt: skip
bitwise_or = nondifferentiable(
    "bitwise_or", 2, **BITS, doc="Bitwise or, element by element: x1 | x2."
)
bitwise_right_shift = nondifferentiable(
    "bitwise_right_shift", 2, **SHIFT,
    doc="Shift the bits of x1 to the right by x2, element by element: x1 >> x2.",
)  # fmt: skip
bitwise_xor = nondifferentiable(
    "bitwise_xor", 2, **BITS, doc="Bitwise exclusive or, element by element: x1 ^ x2."
)
equal = nondifferentiable("equal", 2, doc="Compare element by element: x1 == x2.")
greater = nondifferentiable(
    "greater", 2, takes="ordered", doc="Compare element by element: x1 > x2."
)
greater_equal = nondifferentiable(
    "greater_equal", 2, takes="ordered", doc="Compare element by element: x1 >= x2."
)
isfinite = nondifferentiable(
    "isfinite", continuous=True, doc="Test each element: neither infinite nor NaN."
)
isinf = nondifferentiable(
    "isinf", continuous=True, doc="Test each element: infinite, of either sign."
)
isnan = nondifferentiable("isnan", continuous=True, doc="Test each element: NaN.")
less = nondifferentiable("less", 2, takes="ordered", doc="Compare element by element: x1 < x2.")
less_equal = nondifferentiable(
    "less_equal", 2, takes="ordered", doc="Compare element by element: x1 <= x2."
)
logical_and = nondifferentiable(
    "logical_and", 2, takes="boolean", doc="Logical and, element by element."
)
logical_not = nondifferentiable("logical_not", takes="boolean", doc="Logical not of each element.")
logical_or = nondifferentiable(
    "logical_or", 2, takes="boolean", doc="Logical or, element by element."
)
logical_xor = nondifferentiable(
    "logical_xor", 2, takes="boolean", doc="Logical exclusive or, element by element."
)
not_equal = nondifferentiable("not_equal", 2, doc="Compare element by element: x1 != x2.")
signbit = nondifferentiable(
    "signbit",
    takes="real",
    doc="Test each element: its sign bit is set, as for negative numbers and -0.0.",
)
