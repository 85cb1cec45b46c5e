"""Bessel functions, spherical Bessel functions, and the functions of Kelvin, Struve and Wright.

A derivative with respect to the argument combines functions of neighbouring orders without a division
by the argument, so that it is right at 0, too.  Exponentially scaled functions are in
``_bessel_scaled``, integrals in ``_bessel_integrals``.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._record.plan import Unknown
from .._storage.storage import is_complex
from ..ops import elementwise_functions as elements
from ..ops.creation_functions import asarray
from ..ops.data_type_functions import astype
from ..ops.searching_functions import where
from ._bessel_orders import iv_by_order, kv_by_order
from ._several import special_tuple
from ._statement import STATEMENTS, special

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import Namespace, RawArray, RawOperand
    from ._rules import Real

ORDER = Unknown(
    "no closed form of the derivative with respect to the order of a Bessel function is known"
)
PARAMETER = Unknown("no closed form of the derivative with respect to this parameter is known")
ORDERS, ARGUMENTS, WHOLE = (0.2, 4.0), (0.2, 8.0), (0, 5)


def half_difference(f: Callable[..., Any], v: RawOperand, z: RawOperand) -> Any:
    """Return ``(f(v - 1, z) - f(v + 1, z)) / 2``, the derivative of J, Y or a Hankel function f in z."""
    return (f(v - 1.0, z) - f(v + 1.0, z)) * 0.5


def half_sum(f: Callable[..., Any], v: RawOperand, z: RawOperand) -> Any:
    """Return ``(f(v - 1, z) + f(v + 1, z)) / 2``: the derivative in z of f = I, or minus that of K."""
    return (f(v - 1.0, z) + f(v + 1.0, z)) * 0.5


# --- Bessel functions of any order ------------------------------------------------------------------
special(
    "jv", "v z", ORDER, lambda t, v, z, xp: t * half_difference(xp.special.jv, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True,
    summary="Bessel function of the first kind", source="DLMF 10.6.1",
)  # fmt: skip
special(
    "yv", "v z", ORDER, lambda t, v, z, xp: t * half_difference(xp.special.yv, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True,
    summary="Bessel function of the second kind", source="DLMF 10.6.1",
)  # fmt: skip
special(
    "yn", "n x", None, lambda t, n, x, xp: t * half_difference(xp.special.yn, n, x),
    domains=[WHOLE, ARGUMENTS], integers="n",
    summary="Bessel function of the second kind of integer order", source="DLMF 10.6.1",
)  # fmt: skip
special(
    "hankel1", "v z", ORDER, lambda t, v, z, xp: t * half_difference(xp.special.hankel1, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True,
    summary="Hankel function of the first kind", source="DLMF 10.6.1",
)  # fmt: skip
special(
    "hankel2", "v z", ORDER, lambda t, v, z, xp: t * half_difference(xp.special.hankel2, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True,
    summary="Hankel function of the second kind", source="DLMF 10.6.1",
)  # fmt: skip
special(
    "iv", "v z", iv_by_order, lambda t, v, z, xp: t * half_sum(xp.special.iv, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True,
    summary="Modified Bessel function of the first kind", source="DLMF 10.29.1",
)  # fmt: skip
special(
    "kv", "v z", kv_by_order, lambda t, v, z, xp: -t * half_sum(xp.special.kv, v, z),
    domains=[ORDERS, ARGUMENTS], complex=True,
    summary="Modified Bessel function of the second kind", source="DLMF 10.29.1",
)  # fmt: skip
special(
    "kn", "n x", None, lambda t, n, x, xp: -t * half_sum(xp.special.kv, n, x),
    domains=[WHOLE, ARGUMENTS], integers="n",
    summary="Modified Bessel function of the second kind of integer order", source="DLMF 10.29.1",
)  # fmt: skip


# --- Bessel functions of order 0 and 1 --------------------------------------------------------------
special(
    "j0", "x", lambda t, x, xp: -t * xp.special.j1(x), domains=[ARGUMENTS],
    summary="Bessel function of the first kind of order 0", source="DLMF 10.6.3",
)  # fmt: skip
special(
    "j1", "x", lambda t, x, xp: t * 0.5 * (xp.special.j0(x) - xp.special.jv(2, x)),
    domains=[ARGUMENTS],
    summary="Bessel function of the first kind of order 1", source="DLMF 10.6.1",
)  # fmt: skip
special(
    "y0", "x", lambda t, x, xp: -t * xp.special.y1(x), domains=[ARGUMENTS],
    summary="Bessel function of the second kind of order 0", source="DLMF 10.6.3",
)  # fmt: skip
special(
    "y1", "x", lambda t, x, xp: t * 0.5 * (xp.special.y0(x) - xp.special.yv(2, x)),
    domains=[ARGUMENTS],
    summary="Bessel function of the second kind of order 1", source="DLMF 10.6.1",
)  # fmt: skip
special(
    "i0", "x", lambda t, x, xp: t * xp.special.i1(x), domains=[ARGUMENTS],
    summary="Modified Bessel function of the first kind of order 0", source="DLMF 10.29.3",
)  # fmt: skip
special(
    "i1", "x", lambda t, x, xp: t * 0.5 * (xp.special.i0(x) + xp.special.iv(2, x)),
    domains=[ARGUMENTS],
    summary="Modified Bessel function of the first kind of order 1", source="DLMF 10.29.1",
)  # fmt: skip
special(
    "k0", "x", lambda t, x, xp: -t * xp.special.k1(x), domains=[ARGUMENTS],
    summary="Modified Bessel function of the second kind of order 0", source="DLMF 10.29.3",
)  # fmt: skip
special(
    "k1", "x", lambda t, x, xp: -t * 0.5 * (xp.special.k0(x) + xp.special.kv(2, x)),
    domains=[ARGUMENTS],
    summary="Modified Bessel function of the second kind of order 1", source="DLMF 10.29.1",
)  # fmt: skip


# --- the ratio of I of neighbouring orders ----------------------------------------------------------
# Source of the derivative: Amos 1974, "Computation of modified Bessel functions and their ratios",
# equation 9.
special(
    "_iv_ratio", "v x", ORDER,
    lambda t, v, x, xp: t * ratio_slope(v, x, xp),
    domains=[(0.6, 4.0), ARGUMENTS], summary="``iv(v, x) / iv(v - 1, x)``", source="DLMF 10.29.1",
)  # fmt: skip
special(
    "_iv_ratio_c", "v x", ORDER,
    lambda t, v, x, xp: -t * ratio_slope(v, x, xp),
    domains=[(0.6, 4.0), ARGUMENTS], summary="``1 - iv(v, x) / iv(v - 1, x)``", source="DLMF 10.29.1",
)  # fmt: skip


def ratio_slope(v: Real, x: RawOperand, xp: Namespace) -> Any:
    """Return the derivative of ``iv(v, x) / iv(v - 1, x)`` with respect to x."""
    # The derivative is 1 - r ** 2 - (2 v - 1) r / x.  The product c (1 + r) is 1 - r ** 2 without
    # cancellation, and r / x is 1 / (2 v) at x = 0.
    r, c = xp.special._iv_ratio(v, x), xp.special._iv_ratio_c(v, x)
    quotient = xp.where(x == 0, 0.5 / v + 0 * r, r / xp.where(x == 0, xp.ones_like(x), x))
    return c * (1 + r) - (2.0 * v - 1) * quotient


# --- spherical Bessel functions ---------------------------------------------------------------------
def mean_of_neighbours(
    f: Callable[..., Any], n: RawOperand, z: RawOperand, below: int, above: int
) -> Any:
    """Return the derivative of a spherical Bessel function f of degree n with respect to z.

    The derivative is ``(below n f(n - 1) + above (n + 1) f(n + 1)) / (2 n + 1)``, with the signs
    ``below`` and ``above``.  For n = 0 the first term has the weight 0.  There f(1) replaces f(-1),
    because degree -1 is out of range.
    """
    return (below * n * f(abs(n - 1), z) + above * (n + 1) * f(n + 1, z)) / (2 * n + 1)


def state_spherical(name: str, summary: str, below: int, above: int, source: str) -> None:
    """Register the op of a spherical Bessel function f, whose derivative consists of f(n - 1), f(n + 1).

    name, summary, source : of the function.  below, above : the signs of the derivative's two terms.
    """
    special(
        name, "n z", None,
        lambda t, n, z, xp: t * mean_of_neighbours(getattr(xp.special, name), n, z, below, above),
        domains=[WHOLE, ARGUMENTS], integers="n", complex=True, summary=summary, source=source,
    )  # fmt: skip


FIRST_KIND, SECOND_KIND = "Bessel function of the first kind", "Bessel function of the second kind"
for _name, _kind, _signs, _source in (
    ("_spherical_jn", f"spherical {FIRST_KIND}", (1, -1), "DLMF 10.51.2"),
    ("_spherical_yn", f"spherical {SECOND_KIND}", (1, -1), "DLMF 10.51.2"),
    ("_spherical_in", f"modified spherical {FIRST_KIND}", (1, 1), "DLMF 10.51.5"),
    ("_spherical_kn", f"modified spherical {SECOND_KIND}", (-1, -1), "DLMF 10.51.5"),
):
    state_spherical(_name, f"The {_kind}", *_signs, _source)
    # The same formula holds for derivatives of f in place of f, because its weights do not depend on z.
    state_spherical(f"{_name}_d", f"The derivative of the {_kind}", *_signs, _source)


def spherical(name: str, sign: int) -> Callable[..., Array]:
    """Return the public spherical Bessel function ``name``.

    The value at real negative z is that at -z times ``sign`` for even n and -``sign`` for odd n (DLMF
    10.47(v)).  A derivative has the opposite factor.  If ``sign`` is 0, the result at negative z is the
    real part of the function of complex z.
    """

    def spherical_bessel(
        n: Array | npt.ArrayLike, z: Array | npt.ArrayLike, derivative: bool = False
    ) -> Array:
        f: Callable[..., Array] = STATEMENTS[f"_{name}_d" if derivative else f"_{name}"].function
        n = astype(n, np.int64) if isinstance(n, Array) else np.asarray(n, dtype=np.int64)
        if is_complex(z):
            return f(n, z)
        z = z if isinstance(z, Array) else asarray(z)
        positive = f(n, where(z < 0, -z, z))
        if not sign:
            reflected: Array = elements.real(f(n, z + 0j))
            return where(z < 0, reflected, positive)
        odd = (n % 2 == 1) != (sign < 0)
        return where((z < 0) & (odd != derivative), -positive, positive)

    spherical_bessel.__name__ = spherical_bessel.__qualname__ = name
    spherical_bessel.__module__ = "arraytape.special"
    spherical_bessel.__doc__ = f"""``scipy.special.{name}``: spherical Bessel function or derivative.

Parameters
----------
n : int or Array
    The degree, a whole number.
z : Array or number
    Of floating-point dtype, real or complex.
derivative : bool
    Return the derivative with respect to z instead.

Returns
-------
Array
    Of the shape to which n and z broadcast."""
    return spherical_bessel


SPHERICAL: dict[str, Callable[..., Any]] = {
    name: spherical(name, sign)
    for name, sign in (
        ("spherical_jn", 1), ("spherical_yn", -1), ("spherical_in", 1), ("spherical_kn", 0),
    )
}  # fmt: skip


# --- Kelvin functions -------------------------------------------------------------------------------
# ber + i bei is J0(x exp(3 pi i / 4)), ker + i kei is K0(x exp(pi i / 4)): DLMF 10.61.1.
TURN_J, TURN_K = cmath.exp(0.75j * math.pi), cmath.exp(0.25j * math.pi)


def ber_bei_curvature(x: RawArray, xp: Namespace) -> Any:
    """Return the second derivative of ber + i bei."""
    z = TURN_J * x
    return -0.5j * (xp.special.jv(2, z) - xp.special.jv(0, z))


def ker_kei_curvature(x: RawArray, xp: Namespace) -> Any:
    """Return the second derivative of ker + i kei."""
    z = TURN_K * x
    return 0.5j * (xp.special.kv(2, z) + xp.special.kv(0, z))


def ker_kei_slope(name: str, part: str, x: RawArray, xp: Namespace) -> Any:
    """Return the derivative of ker, kei or ker + i kei.

    For x up to 2 the derivative is SciPy's function ``name``.  For larger x the errors of that function
    grow to 1e-10, so the derivative is computed from K1.  ``part`` is "real", "imag", or "" for both.
    """
    far = -TURN_K * xp.special.kv(1, TURN_K * xp.where(x > 2, x, 2 + 0 * x))
    far = getattr(xp, part)(far) if part else far
    return xp.where(x > 2, far, getattr(xp.special, name)(x))


special(
    "ber", "x", lambda t, x, xp: t * xp.special.berp(x),
    domains=[ARGUMENTS], summary="Kelvin function ber", source="DLMF 10.61.1",
)  # fmt: skip
special(
    "bei", "x", lambda t, x, xp: t * xp.special.beip(x),
    domains=[ARGUMENTS], summary="Kelvin function bei", source="DLMF 10.61.1",
)  # fmt: skip
special(
    "ker", "x", lambda t, x, xp: t * ker_kei_slope("kerp", "real", x, xp),
    domains=[ARGUMENTS], summary="Kelvin function ker", source="DLMF 10.61.1",
)  # fmt: skip
special(
    "kei", "x", lambda t, x, xp: t * ker_kei_slope("keip", "imag", x, xp),
    domains=[ARGUMENTS], summary="Kelvin function kei", source="DLMF 10.61.1",
)  # fmt: skip
special(
    "berp", "x", lambda t, x, xp: t * xp.real(ber_bei_curvature(x, xp)),
    domains=[ARGUMENTS], summary="Derivative of the Kelvin function ber", source="DLMF 10.61.1",
)  # fmt: skip
special(
    "beip", "x", lambda t, x, xp: t * xp.imag(ber_bei_curvature(x, xp)),
    domains=[ARGUMENTS], summary="Derivative of the Kelvin function bei", source="DLMF 10.61.1",
)  # fmt: skip
special(
    "kerp", "x", lambda t, x, xp: t * xp.real(ker_kei_curvature(x, xp)),
    domains=[ARGUMENTS], summary="Derivative of the Kelvin function ker", source="DLMF 10.61.1",
)  # fmt: skip
special(
    "keip", "x", lambda t, x, xp: t * xp.imag(ker_kei_curvature(x, xp)),
    domains=[ARGUMENTS], summary="Derivative of the Kelvin function kei", source="DLMF 10.61.1",
)  # fmt: skip


FUNCTIONS: dict[str, Callable[..., Any]] = SPHERICAL | {
    "kelvin": special_tuple(
        "kelvin", "x",
        {
            "be": [lambda t, x, xp: t * xp.special.kelvin_bep(x)],
            "ke": [lambda t, x, xp: t * ker_kei_slope("kelvin_kep", "", x, xp)],
            "bep": [lambda t, x, xp: t * ber_bei_curvature(x, xp)],
            "kep": [lambda t, x, xp: t * ker_kei_curvature(x, xp)],
        },
        summary="Kelvin functions as complex numbers", domains=[ARGUMENTS], source="DLMF 10.61.1",
    ),
}  # fmt: skip


# --- Struve functions -------------------------------------------------------------------------------
special(
    "struve", "v x", ORDER, lambda t, v, x, xp: t * struve_slope(xp.special.struve, v, x, xp),
    domains=[ORDERS, ARGUMENTS], summary="Struve function", source="DLMF 11.4.27",
)  # fmt: skip
special(
    "modstruve", "v x", ORDER, lambda t, v, x, xp: t * struve_slope(xp.special.modstruve, v, x, xp),
    domains=[ORDERS, ARGUMENTS], summary="Modified Struve function", source="DLMF 11.4.29",
)  # fmt: skip


def struve_slope(f: Callable[..., Any], v: RawOperand, x: RawOperand, xp: Namespace) -> Any:
    """Return the derivative of f, which is struve or modstruve, with respect to x.

    The derivative is ``f(v - 1, x) - v / x f(v, x)``.  Its limit at 0 follows from f's first term,
    ``x ** (v + 1) / (sqrt(pi) 2 ** v gamma(v + 1.5))``.
    """
    # The form without a division (DLMF 11.4.28) cancels for large x.
    zero = x == 0
    safe = xp.where(zero, xp.ones_like(x), x)
    below = f(v - 1.0, x)
    return xp.where(zero, below * ((v + 1.0) / (2 * v + 1.0)), below - v * f(v, safe) / safe)


# --- Wright's generalized Bessel function -----------------------------------------------------------
special(
    "wright_bessel", "a b x", PARAMETER, PARAMETER,
    lambda t, a, b, x, xp: t * xp.special.wright_bessel(a, a + b, x),
    domains=[(0.2, 2.0), (0.2, 3.0), (0.1, 3.0)],
    summary="Wright's generalized Bessel function", source="DLMF 10.46.1",
)  # fmt: skip
special(
    "log_wright_bessel", "a b x", PARAMETER, PARAMETER,
    lambda t, a, b, x, y, xp: t * xp.exp(xp.special.log_wright_bessel(a, a + b, x) - y),
    domains=[(0.2, 2.0), (0.2, 3.0), (0.1, 3.0)],
    summary="Logarithm of Wright's generalized Bessel function", source="DLMF 10.46.1",
)  # fmt: skip
