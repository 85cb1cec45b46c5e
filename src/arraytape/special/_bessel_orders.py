"""Derivatives of modified Bessel functions with respect to their order, for real arguments.

    exp(-x) I_v(x)    a series of positive terms, differentiated term by term (DLMF 10.25.2, 10.38.1)
    exp(x) K_v(x)     the integral of exp(-x (cosh(u) - 1)) cosh(v u) over u > 0 (DLMF 10.32.9)

In neither formula do terms cancel.  So the relative error stays small where the function is tiny or
huge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._storage.storage import is_complex
from .._util.errors import user_line
from ._rules import kernel_by_order, largest_order
from ._statement import special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

NODES, WEIGHTS = np.polynomial.legendre.leggauss(240)
BLOCK = 1 << 18  # number of terms, of several elements, that are computed at a time
MOST_DIFFERENCES = 3  # highest order n in ``central_difference``
MOST = 60_000  # maximum number of terms of a series; arguments above 1.2e7 need more, and get NaN


@kernel_by_order
def kve_by_order(n: int, m: RawArray, v: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the derivative of exp(x) K_v(x) of order n in v and m in x."""
    refuse_complex(x)
    # K is even in v, so that its derivatives of odd orders are odd.
    sign = xp.where(v < 0, -1.0 if n % 2 else 1.0, 1.0)
    v = xp.abs(v)
    width = xp.hypot(v, x)
    top = xp.log((v + width) / x)  # the u at which exp(v u - x cosh(u)) is greatest
    # At ``low`` and ``high`` the integrand has fallen by about exp(-50).
    high = top + xp.acosh(1.0 + 50.0 / width)
    reach = 1.0 + xp.maximum(50.0 / xp.maximum(v, 1.0), xp.sqrt(100.0 / width))
    low = xp.maximum(top - reach, 0.0 * top)
    half = (high - low) / 2.0
    total = 0.0 * (v + x + m)
    for node, weight in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True):
        u = low + half * (1.0 + node)
        rate = 2.0 * xp.sinh(u / 2.0) ** 2  # cosh(u) - 1
        # exp(v u) times ``even`` is 2 cosh(v u) for even n, and 2 sinh(v u) for odd n.
        mirrored = xp.exp(-2.0 * v * u)
        even = 1.0 + mirrored if n % 2 == 0 else -xp.expm1(-2.0 * v * u)
        total = total + weight * u**n * rate**m * xp.exp(v * u - x * rate) * even
    sign = sign * xp.where(m % 2 == 0, 1.0, -1.0)
    return sign * xp.where(x > 0, half * total / 2.0, math.nan)


@kernel_by_order
def ive_by_order(n: int, v: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of exp(-abs(x)) I_v(x) with respect to v; NaN for n > 4."""
    refuse_complex(x)
    shape = np.broadcast_shapes(v.shape, x.shape)
    order, argument = (xp.reshape(xp.broadcast_to(a, shape), (-1,)) for a in (v, x))
    length = math.prod(shape)
    if not length:
        return v + x
    peak = (xp.hypot(order, argument) - order) / 2.0
    count = int(xp.max(xp.where(xp.isfinite(peak), 12.0 * xp.sqrt(peak + 1.0), 0.0))) + 40
    count = min(2 * count, MOST)
    step, parts = max(BLOCK // count, 1), []
    for start in range(0, length, step):
        place = slice(start, start + step)
        parts.append(sum_ive_series(n, order[place], argument[place], peak[place], count, xp))
    return xp.reshape(xp.concat(parts), shape)


def refuse_complex(x: RawArray) -> None:
    """Raise LookupError, the error for a derivative that is not known, if x is complex."""
    if is_complex(x):
        raise LookupError(
            f"pass real arguments, not {x.dtype}: for complex ones no derivative of a modified Bessel "
            f"function with respect to its order is known [at {user_line()}]"
        )


def sum_ive_series(
    n: int, v: RawArray, x: RawArray, peak: RawArray, count: int, xp: Namespace
) -> Any:
    """Return the n-th derivative of exp(-x) I_v(x) with respect to v, for 1-d data v and x > 0.

    The result is the sum of the ``count`` terms around the greatest one, whose index in the series is
    ``peak``.
    """
    first = xp.maximum(xp.floor(peak) - count // 2, 0.0 * peak)
    v, half = v[:, None], (x / 2.0)[:, None]
    k = first[:, None] + xp.arange(count, dtype=x.dtype)[None, :]
    above = v + k + 1.0
    logarithm = xp.log(half)
    exponent = (2.0 * k + v) * logarithm - xp.special.gammaln(k + 1.0) - xp.special.gammaln(above)
    terms = xp.special.gammasgn(above) * xp.exp(exponent - 2.0 * half)
    slope = logarithm - xp.special.digamma(above)
    curvatures = [xp.special.polygamma(i, above) for i in range(1, n)]
    # ``factor`` is the n-th derivative of a term in v, divided by the term.
    if n == 1:
        factor = slope
    elif n == 2:
        factor = slope**2 - curvatures[0]
    elif n == 3:
        factor = slope**3 - 3.0 * slope * curvatures[0] - curvatures[1]
    elif n == 4:
        square = slope * slope
        factor = square * (square - 6.0 * curvatures[0]) + 3.0 * curvatures[0] ** 2
        factor = factor - 4.0 * slope * curvatures[1] - curvatures[2]
    else:
        factor = math.nan if n else 1.0
    known = (half > 0) & (half < MOST**2 / 600.0)
    found = xp.where(known[:, 0], xp.sum(terms * factor, axis=-1), math.nan)
    # Each term has the factor (x / 2) ** v, so for v > 0 it is 0 at x = 0.
    return xp.where((x == 0) & (v[:, 0] > n), 0.0, found)


special(
    "kve_by_order", "n m v x", None, None,
    lambda t, n, m, v, x, xp: t * xp.special.kve_by_order(n + 1, m, v, x),
    lambda t, n, m, v, x, xp: t * xp.special.kve_by_order(n, m + 1, v, x),
    domains=[(0, 3), (0, 3), (0.0, 6.0), (0.1, 12.0)], integers="n m", public=False,
)  # fmt: skip
special(
    "ive_by_order", "n v x", None, lambda t, n, v, x, xp: t * xp.special.ive_by_order(n + 1, v, x),
    lambda t, n, v, x, y, xp: t * (mean_of_next_orders(xp.special.ive_by_order, n, v, x) - y),
    domains=[(0, 3), (0.0, 6.0), (0.1, 12.0)], integers="n", public=False,
)  # fmt: skip


def mean_of_next_orders(family: Callable[..., Any], n: Real, v: Real, x: Real) -> Any:
    """Return the n-th derivative in v of exp(-x) times the derivative of I_v(x) in x.

    ``family(n, v, x)`` is the n-th derivative in v of exp(-x) I_v(x).  Source: DLMF 10.29.1.
    """
    return (family(n, v - 1.0, x) + family(n, v + 1.0, x)) / 2.0


# --- rules of iv, kv and ive_derivative for their order v ---------------------------------------------
def iv_by_order(t: RawArray, v: Real, z: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of iv(v, z) with respect to v."""
    return t * xp.special.ive_by_order(1, v, z) * xp.exp(xp.abs(z))


def kv_by_order(t: RawArray, v: Real, z: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of kv(v, z) with respect to v."""
    return t * xp.special.kve_by_order(1, 0, v, z) * xp.exp(-z)


def ive_slope_by_order(t: RawArray, n: Real, v: Real, x: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of ive(v, x) of order 1 in v and n in x; NaN for n above 3."""
    # By the recurrence, a derivative of ive with respect to x is half of the second difference in v.
    if not hasattr(n, "dtype"):
        return t * central_difference(int(n), v, x, xp)
    slope: Any = math.nan
    for k in range(min(largest_order(n), MOST_DIFFERENCES) + 1):
        slope = xp.where(n == k, central_difference(k, v, x, xp), slope)
    return t * slope


def central_difference(n: int, v: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of ive(v, x) of order 1 in v and n in x.

    By ive's recurrence, a derivative in x is half of a second difference in v.  So the result is the
    central difference of order 2 n in v of the derivative in v, divided by 2 ** n.
    """
    if n > MOST_DIFFERENCES:
        return math.nan * (v + x)
    total = 0.0 * (v + x)
    for j in range(2 * n + 1):
        factor = (-1) ** j * math.comb(2 * n, j) / 2**n
        total = total + factor * xp.special.ive_by_order(1, v + (n - j), x)
    return total
