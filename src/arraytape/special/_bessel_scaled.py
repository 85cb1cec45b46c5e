"""Exponentially scaled Bessel functions, such as kve(v, x) = exp(x) K_v(x), and their derivatives.

The usual formula for the derivative of a scaled function is a difference of two nearly equal numbers.
For example exp(x) K0(x) is proportional to x ** -0.5 at large x.  Its slope, a difference of two
numbers of this size, is smaller by a factor of 2 x.  So kernels compute the derivatives of all orders.
Where the argument is large, they differentiate Hankel's expansions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .._array.array import Array
from .._storage.special import kernel
from .._storage.storage import is_complex
from ..ops import elementwise_functions as elements
from ._bessel import (
    ARGUMENTS,
    ORDER,
    ORDERS,
    half_difference,
    half_sum,
)
from ._bessel_orders import ive_slope_by_order
from ._statement import special

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import Namespace, RawArray, RawOperand

SMALL_ORDERS = (0, 3)


class Family(NamedTuple):
    """A scaled Bessel function ``f = exp(-rate z) B``: the constants of its derivative and expansion.

    The derivative of B is ``phase (B(v - 1) + sign B(v + 1)) / 2``.  Hankel's expansion of f is
    ``factor(v) z ** -0.5`` times the sum of ``a_k(v) (turn / z) ** k`` (DLMF 10.17, 10.40).
    """

    name: str
    rate: complex
    phase: int
    sign: int
    turn: complex
    factor: Callable[[Any, Any], Any]


def hankel_factor(turn: complex) -> Callable[[Any, Any], Any]:
    """Return the function (v, xp) -> ``sqrt(2 / pi) exp(-turn (v / 2 + 1 / 4) pi)``, Hankel's factor."""
    return lambda v, xp: math.sqrt(2 / math.pi) * xp.exp(-turn * math.pi * (0.5 * v + 0.25))


FAMILIES = {
    "ive": Family("ive", 1, 1, 1, -1, lambda v, xp: 1 / math.sqrt(2 * math.pi)),
    "kve": Family("kve", -1, -1, 1, 1, lambda v, xp: math.sqrt(0.5 * math.pi)),
    "hankel1e": Family("hankel1e", 1j, 1, -1, 1j, hankel_factor(1j)),
    "hankel2e": Family("hankel2e", -1j, 1, -1, -1j, hankel_factor(-1j)),
}
TERMS = 20  # terms of Hankel's expansion: enough where abs(z) > 40 and abs(z) > v ** 2


def real_data(x: RawOperand, xp: Namespace) -> Any:
    """Return the real part of complex data, and real data unchanged.

    A kernel gets all operands in one dtype, so a real operand may have been cast to complex.
    """
    if isinstance(x, int | float | complex):  # an operand may be a Python number
        return x.real
    return xp.real(x) if xp.isdtype(x.dtype, "complex floating") else x


def scaled_derivative(family: Family, n: RawArray, v: RawArray, z: RawArray, xp: Namespace) -> Any:
    """Return the n-th derivative of exp(-rate z) B_v(z) with respect to z, for a Bessel function B.

    family : the constants of B and of the scale.  Each distinct order in n, of which there are few, is
        computed for all elements.
    """
    n, v = real_data(n, xp), real_data(v, xp)
    large = (xp.abs(z) > 40) & (xp.abs(z) > v * v)
    found = 0 * n * z + math.nan
    for order in {int(k) for k in xp.reshape(xp.unique_values(n), (-1,))}:
        near = leibniz_derivative(family, order, v, z, xp)
        far = expansion_derivative(family, order, v, xp.where(large, z, 40 + 0 * z), xp)
        found = xp.where(n == order, xp.where(large, far, near), found)
    return found


def leibniz_derivative(family: Family, order: int, v: RawArray, z: RawArray, xp: Namespace) -> Any:
    """Return the derivative of ``exp(-rate z) B`` of order ``order`` in z, by Leibniz's rule.

    B is the Bessel function of order v.  Its derivatives combine B of the orders v - order to v + order.
    """
    f = getattr(xp.special, family.name)
    total = 0
    for j in range(order + 1):
        weight = math.comb(order, j) * (-family.rate) ** (order - j) * (0.5 * family.phase) ** j
        for i in range(j + 1):
            total = total + weight * math.comb(j, i) * family.sign**i * f(v - j + 2.0 * i, z)
    return total


def expansion_derivative(
    family: Family, order: int, v: RawArray, z: RawArray, xp: Namespace
) -> Any:
    """Return the derivative, of order ``order`` in z, of the family's expansion for large z.

    Hankel's expansion for B_v is a power series in 1 / z times z ** -0.5, differentiated term by term.
    """
    term = family.factor(v, xp) * z**-0.5 * z**-order
    total = 0
    for k in range(TERMS):
        total = total + term * math.prod(-0.5 - k - i for i in range(order))
        term = term * (4 * v * v - (2 * k + 1) ** 2) / (8 * (k + 1)) * family.turn / z
    return total


@kernel
def ive_derivative(n: RawArray, v: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of ive(v, x) for real x; at a kink at 0 the mean of both sides."""
    right = scaled_derivative(FAMILIES["ive"], n, v, xp.abs(x), xp)
    whole = v == xp.round(v)
    odd = xp.remainder(v + n, 2.0) == 1
    left = xp.where(whole, xp.where(odd, -right, right), xp.where(x < 0, math.nan + right, right))
    return xp.where(x > 0, right, xp.where(x < 0, left, 0.5 * (left + right)))


def kernel_of_family(family: Family) -> None:
    """Register a kernel (a function of raw data) for the n-th derivative of a scaled Bessel function.

    family : the constants that describe the function.
    """

    def analytic_derivative(n: RawArray, v: RawArray, z: RawArray, *, xp: Namespace) -> Any:
        return scaled_derivative(family, n, v, z, xp)

    analytic_derivative.__name__ = f"{family.name}_derivative"
    kernel(analytic_derivative)


for _name in ("kve", "hankel1e", "hankel2e"):
    kernel_of_family(FAMILIES[_name])

special(
    "ive_derivative", "n v x", None, ive_slope_by_order,
    lambda t, n, v, x, xp: t * xp.special.ive_derivative(n + 1, v, x),
    domains=[SMALL_ORDERS, ORDERS, ARGUMENTS], integers="n", public=False,
)  # fmt: skip
special(
    "kve_derivative", "n v x", None,
    lambda t, n, v, x, xp: t * xp.special.kve_by_order(1, n, v, x),
    lambda t, n, v, x, xp: t * xp.special.kve_derivative(n + 1, v, x),
    domains=[SMALL_ORDERS, ORDERS, ARGUMENTS], integers="n", complex=True, public=False,
)  # fmt: skip
special(
    "hankel1e_derivative", "n v z", None, ORDER,
    lambda t, n, v, z, xp: t * xp.special.hankel1e_derivative(n + 1, v, z),
    domains=[SMALL_ORDERS, ORDERS, ARGUMENTS], integers="n", complex=True, public=False,
)  # fmt: skip
special(
    "hankel2e_derivative", "n v z", None, ORDER,
    lambda t, n, v, z, xp: t * xp.special.hankel2e_derivative(n + 1, v, z),
    domains=[SMALL_ORDERS, ORDERS, ARGUMENTS], integers="n", complex=True, public=False,
)  # fmt: skip
special(
    "i0e", "x", lambda t, x, xp: t * xp.special.ive_derivative(1, 0, x), domains=[ARGUMENTS],
    summary="``exp(-abs(x)) * i0(x)``; its slope at 0 is 0",
)  # fmt: skip
special(
    "i1e", "x", lambda t, x, xp: t * xp.special.ive_derivative(1, 1, x), domains=[ARGUMENTS],
    summary="``exp(-abs(x)) * i1(x)``",
)  # fmt: skip
special(
    "k0e", "x", lambda t, x, xp: t * xp.special.kve_derivative(1, 0, x), domains=[ARGUMENTS],
    summary="``exp(x) * k0(x)``",
)  # fmt: skip
special(
    "k1e", "x", lambda t, x, xp: t * xp.special.kve_derivative(1, 1, x), domains=[ARGUMENTS],
    summary="``exp(x) * k1(x)``",
)  # fmt: skip
special(
    "kve", "v z",
    lambda t, v, z, xp: t * xp.special.kve_by_order(1, 0, v, z),
    lambda t, v, z, xp: t * xp.special.kve_derivative(1, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True, summary="``exp(z) * kv(v, z)``",
)  # fmt: skip
special(
    "hankel1e", "v z", ORDER, lambda t, v, z, xp: t * xp.special.hankel1e_derivative(1, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True, summary="``exp(-1j * z) * hankel1(v, z)``",
)  # fmt: skip
special(
    "hankel2e", "v z", ORDER, lambda t, v, z, xp: t * xp.special.hankel2e_derivative(1, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True, summary="``exp(1j * z) * hankel2(v, z)``",
)  # fmt: skip


# --- scaled by a real part or an imaginary part: not analytic ---------------------------------------
# The scale exp(-abs(imag(z))) or exp(-abs(real(z))) is not analytic in z.  So for complex z there is an
# op with the scale exp(-s) and a real operand s (``COMPLEX_OF``).  It is analytic in z.  The operand
# s is abs(imag(z)) or abs(real(z)).  For real z the ops in ``REAL_OF`` are called.
REAL_OF = {
    "jve": special(
        "jve", "v z", ORDER, lambda t, v, z, xp: t * half_difference(xp.special.jve, v, z),
        domains=[ORDERS, ARGUMENTS], summary="``jv(v, z) * exp(-abs(imag(z)))``",
    ),
    "yve": special(
        "yve", "v z", ORDER, lambda t, v, z, xp: t * half_difference(xp.special.yve, v, z),
        domains=[ORDERS, ARGUMENTS], summary="``yv(v, z) * exp(-abs(imag(z)))``",
    ),
    "ive": special(
        "ive", "v z",
        lambda t, v, z, xp: t * xp.special.ive_by_order(1, v, z),
        lambda t, v, z, xp: t * xp.special.ive_derivative(1, v, z),
        domains=[ORDERS, ARGUMENTS], summary="``iv(v, z) * exp(-abs(real(z)))``",
    ),
}  # fmt: skip


def scaled_by_operand(
    name: str, part: Callable[..., Any], slope: Callable[..., Any]
) -> Callable[..., Array]:
    """Register an op: jv, yv or iv of complex z, times exp(-s) with real s.  Return its function.

    ``name`` is jve, yve or ive, SciPy's function with the scale exp(-abs(part(z))).  ``slope`` returns
    the derivative of jv, yv or iv with respect to z from the functions of neighbouring orders.
    """
    scaled = f"{name[:2]}_scaled"

    def replace_scale(v: RawArray, z: RawArray, s: RawArray, *, xp: Namespace) -> Any:
        found = getattr(xp.special, name)(real_data(v, xp), z)
        return found * xp.exp(xp.abs(part(z, xp)) - real_data(s, xp))

    def by_z(t: RawArray, v: RawArray, z: RawArray, s: RawArray, xp: Namespace) -> Any:
        return t * slope(lambda order, z: getattr(xp.special, scaled)(order, z, s), v, z)

    replace_scale.__name__ = scaled
    kernel(replace_scale)
    return special(
        scaled, "v z s", ORDER, by_z, lambda t, y: -t * y,
        domains=[ORDERS, ARGUMENTS, ARGUMENTS], public=False,
    )  # fmt: skip


COMPLEX_OF = {
    "jve": scaled_by_operand("jve", lambda z, xp: xp.imag(z), half_difference),
    "yve": scaled_by_operand("yve", lambda z, xp: xp.imag(z), half_difference),
    "ive": scaled_by_operand("ive", real_data, half_sum),
}


def scaled_by_part(name: str, part: Callable[[Any], Array]) -> Callable[..., Array]:
    """Return the public function ``name`` of real or complex z, with the scale exp(-abs(part(z)))."""
    of_real, of_complex = REAL_OF[name], COMPLEX_OF[name]

    def scaled_bessel(v: Array | npt.ArrayLike, z: Array | npt.ArrayLike, /) -> Array:
        if not is_complex(z):
            return of_real(v, z)
        return of_complex(v, z, elements.abs(part(z)))

    scaled_bessel.__name__ = scaled_bessel.__qualname__ = name
    scaled_bessel.__doc__ = of_real.__doc__
    scaled_bessel.__module__ = of_real.__module__
    return scaled_bessel


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "jve": scaled_by_part("jve", elements.imag),
    "yve": scaled_by_part("yve", elements.imag),
    "ive": scaled_by_part("ive", elements.real),
}
