"""Legendre's functions in SciPy's new spelling, spherical harmonics, and Dirichlet's kernel.

SciPy's ``legendre_p`` and its kin convert what they get to NumPy: call them as ``xp.special.legendre_p``.
Derivatives by the angle are sums of the neighbouring orders, without the division by a sine that is 0
at the poles.
"""

from __future__ import annotations

from typing import Any

from ._polynomials import chebyshev_slope, legendre_slope
from ._statement import special

DEGREES, ORDERS, ANGLES = (3, 7), (-3, 4), (0.1, 3.0)


def neighbours(function: Any, n: Any, m: Any, xp: Any) -> Any:
    """``(sqrt((n - m) (n + m + 1)) f(m + 1) - sqrt((n + m) (n - m + 1)) f(m - 1)) / 2``: where the
    order exceeds the degree the root is 0, and SciPy's function, too."""
    above, below = (n - m) * (n + m + 1), (n + m) * (n - m + 1)
    inside = above + below > 0
    up = xp.sqrt(xp.where(inside, above, 0) * 1.0) * function(m + 1)
    down = xp.sqrt(xp.where(inside, below, 0) * 1.0) * function(m - 1)
    return 0.5 * (up - down)


def as_numbers(t: Any, xp: Any, *counts: Any) -> list[Any]:
    """Counts as integer data, also where they are Python's."""
    zero = xp.astype(xp.zeros_like(xp.real(t)), xp.int64)
    return [x if hasattr(x, "dtype") else zero + x for x in counts]


def legendre_by_angle(t: Any, n: Any, m: Any, theta: Any, xp: Any) -> Any:
    """by its neighbours in order"""
    n, m = as_numbers(t, xp, n, m)
    return t * neighbours(lambda k: xp.special.sph_legendre_p(n, k, theta), n, m, xp)


def harmonic_by_angle(t: Any, n: Any, m: Any, theta: Any, phi: Any, xp: Any) -> Any:
    """that of the Legendre function, which is the harmonic at phi = 0"""
    n, m = as_numbers(t, xp, n, m)
    slope = neighbours(lambda k: xp.special.sph_legendre_p(n, k, theta), n, m, xp)
    return t * (slope * xp.exp(1j * (m * phi)))


special(
    "legendre_p", "n z", None,
    lambda t, n, z, xp: t * legendre_slope(n, z, xp),
    domains=[(0, 7), (-0.95, 0.95)], counts="n",
    summary="Legendre polynomial", source="DLMF 18.9.19",
)  # fmt: skip
special(
    "sph_legendre_p", "n m theta", None, None, legendre_by_angle,
    domains=[DEGREES, ORDERS, ANGLES], counts="n m",
    summary="Legendre function of spherical harmonics, of a polar angle", source="DLMF 14.10",
)  # fmt: skip
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


def dirichlet_slope(x: Any, n: Any, y: Any, xp: Any) -> Any:
    """The kernel is Chebyshev's polynomial U of degree n - 1 at cos(x / 2), over n."""
    whole = xp.asarray(n)
    whole = xp.where(y == y, xp.astype(whole, xp.int64), 1)
    slope = chebyshev_slope(whole - 1, xp.cos(0.5 * x), xp)
    return xp.where(y == y, -0.5 * xp.sin(0.5 * x) * slope / whole, y)
