"""Integrals of Bessel and Struve functions: their derivatives are the integrands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._bessel import ARGUMENTS, PARAMETER
from ._several import special_tuple
from ._statement import special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

TERMS = 12  # terms of the series in x ** 2 / 4 for abs(x) < 1: the last is 1e-24 of the first


def minus_one_over_x(f: Callable[..., Any], x: RawArray, sign: int, xp: Namespace) -> Any:
    """Return ``(f(x) - 1) / x`` for f = j0 (sign -1) or i0 (sign 1).

    The difference cancels where abs(x) < 1, so there the power series of f is used.
    """
    small = xp.abs(x) < 1
    quarter = sign * 0.25 * x * x
    series = 0 * x
    for k in range(TERMS, 0, -1):
        series = series * quarter + 1 / math.factorial(k) ** 2
    far = xp.where(small, 1 + 0 * x, x)
    return xp.where(small, sign * 0.25 * x * series, (f(far) - 1) / far)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "itj0y0": special_tuple(
        "itj0y0", "x",
        {
            "j": [lambda t, x, xp: t * xp.special.j0(x)],
            "y": [lambda t, x, xp: t * xp.special.y0(x)],
        },
        summary="Integrals of j0 and y0 from 0 to x", domains=[ARGUMENTS], source="DLMF 10.22",
    ),
    "it2j0y0": special_tuple(
        "it2j0y0", "x",
        {
            "j": [lambda t, x, xp: -t * minus_one_over_x(xp.special.j0, x, -1, xp)],
            "y": [lambda t, x, xp: -t * xp.special.y0(x) / x],
        },
        summary="Integrals of (1 - j0(t)) / t from 0 to x, and of y0(t) / t from x to infinity",
        domains=[ARGUMENTS],
    ),
    "iti0k0": special_tuple(
        "iti0k0", "x",
        {
            "i": [lambda t, x, xp: t * xp.special.i0(x)],
            "k": [lambda t, x, xp: t * xp.special.k0(x)],
        },
        summary="Integrals of i0 and k0 from 0 to x", domains=[ARGUMENTS], source="DLMF 10.43",
    ),
    "it2i0k0": special_tuple(
        "it2i0k0", "x",
        {
            "i": [lambda t, x, xp: t * minus_one_over_x(xp.special.i0, x, 1, xp)],
            "k": [lambda t, x, xp: -t * xp.special.k0(x) / x],
        },
        summary="Integrals of (i0(t) - 1) / t from 0 to x, and of k0(t) / t from x to infinity",
        domains=[ARGUMENTS],
    ),
}  # fmt: skip

special(
    "itstruve0", "x", lambda t, x, xp: t * xp.special.struve(xp.zeros_like(x), x),
    domains=[ARGUMENTS], summary="Integral of the Struve function of order 0 from 0 to abs(x)",
)  # fmt: skip
special(
    "it2struve0", "x",
    lambda t, x, xp: -t * struve_over_x(xp.special.struve(xp.zeros_like(x), x), x, xp),
    domains=[ARGUMENTS],
    summary="Integral of struve(0, t) / t over t from x to infinity",
)  # fmt: skip
special(
    "itmodstruve0", "x", lambda t, x, xp: t * xp.special.modstruve(xp.zeros_like(x), x),
    domains=[ARGUMENTS], summary="Integral of the modified Struve function of order 0 from 0 to abs(x)",
)  # fmt: skip


def struve_over_x(h: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``h / x`` for h = struve(0, x), which is 2 x / pi near 0."""
    zero = x == 0
    return xp.where(zero, 2 / math.pi + 0 * h, h / xp.where(zero, 1 + 0 * x, x))


special(
    "besselpoly", "a lmb nu", lambda t, a, lmb, nu, y, xp: t * besselpoly_slope(a, lmb, nu, y, xp),
    PARAMETER, PARAMETER, domains=[(0.2, 3.0), (0.2, 3.0), (0.2, 3.0)],
    summary="Integral of t ** lmb * jv(nu, 2 a t) for t from 0 to 1", source="DLMF 10.6.2",
)  # fmt: skip


def besselpoly_slope(a: RawArray, lmb: Real, nu: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative of y = besselpoly(a, lmb, nu) with respect to a.

    The derivative is ``nu / a y - 2 besselpoly(a, lmb + 1, nu + 1)``, and at a = 0 its limit.
    """
    zero = a == 0
    at_zero = xp.where(nu == 1, 1 / (lmb + 2.0), 0.0) + 0 * y
    positive: Any = nu > 0
    at_zero = xp.where(positive & (nu < 1), math.inf + 0 * y, at_zero)
    upper = xp.special.besselpoly(a, lmb + 1.0, nu + 1.0)
    return xp.where(zero, at_zero, nu / xp.where(zero, 1 + 0 * a, a) * y - 2 * upper)
