"""Spherical harmonics and Dirichlet's kernel.

SciPy's functions of these names convert Arrays to NumPy arrays, which no tape follows.  So call the
functions as ``xp.special.sph_harm_y``.  The derivative of a harmonic with respect to the polar angle is
a sum of harmonics of neighbouring orders.  This form has no division by the sine, which is 0 at the
poles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._polynomials import chebyshev_slope
from ._statement import special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

DEGREES, ORDERS, ANGLES = (3, 7), (-3, 4), (0.1, 3.0)


def neighbouring_orders_slope(
    function: Callable[[Any], Any], n: Real, m: Real, xp: Namespace
) -> Any:
    """Return the derivative of a spherical harmonic with respect to the polar angle.

    The derivative is ``(sqrt((n - m) (n + m + 1)) f(m + 1) - sqrt((n + m) (n - m + 1)) f(m - 1)) /
    2``.  f(m) is the harmonic of degree n and order m, ``function(m)``.  Where an order exceeds the
    degree, both the root and f are 0.
    """
    above, below = (n - m) * (n + m + 1), (n + m) * (n - m + 1)
    inside = above + below > 0
    up = xp.sqrt(xp.where(inside, above, 0) * 1.0) * function(m + 1)
    down = xp.sqrt(xp.where(inside, below, 0) * 1.0) * function(m - 1)
    return 0.5 * (up - down)


def counts_as_data(t: RawArray, xp: Namespace, *counts: Any) -> list[Any]:
    """Return the whole-number operands ``counts`` as int64 data of t's shape; data stays as it is."""
    zero = xp.astype(xp.zeros_like(xp.real(t)), xp.int64)
    return [x if hasattr(x, "dtype") else zero + x for x in counts]


def harmonic_by_angle(t: RawArray, n: Real, m: Real, theta: Real, phi: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of the harmonic in theta: the derivative at phi = 0, times
    ``xp.exp(1j * m * phi)``.
    """
    n, m = counts_as_data(t, xp, n, m)
    slope = neighbouring_orders_slope(
        lambda k: xp.special.sph_harm_y(n, k, theta, 0.0 * phi), n, m, xp
    )
    # SciPy computes powers of abs(sin(theta)), whose derivative has the other sign for sin(theta) < 0.
    slope = xp.where(xp.sin(theta) < 0, -slope, slope)
    return t * (slope * xp.exp(1j * (m * phi)))


special(
    "sph_harm_y", "n m theta phi", None, None, harmonic_by_angle,
    lambda t, m, y, xp: t * (1j * m * y),
    domains=[DEGREES, ORDERS, ANGLES, (-2.0, 2.0)], counts="n m",
    summary="Spherical harmonic of a polar and an azimuthal angle", source="DLMF 14.30.1",
)  # fmt: skip
special(
    "diric", "x n",
    lambda t, x, n, y, xp: t * dirichlet_slope(x, n, y, xp),
    None,
    domains=[(-6.0, 6.0), (1, 9)], integers="n",
    summary="Dirichlet's kernel ``sin(n x / 2) / (n sin(x / 2))``, of a whole n",
)  # fmt: skip


def dirichlet_slope(x: Real, n: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative with respect to x of Dirichlet's kernel y; NaN where y is NaN.

    The kernel is U_(n - 1)(cos(x / 2)) / n, where U is Chebyshev's polynomial of the second kind.
    """
    whole = xp.asarray(n)
    whole = xp.where(y == y, xp.astype(whole, xp.int64), 1)
    slope = chebyshev_slope(whole - 1, xp.cos(0.5 * x), xp)
    return xp.where(y == y, -0.5 * xp.sin(0.5 * x) * slope / whole, y)
