"""Distributions, their inverses and a few other functions on CUDA devices.

An inverse without a closed form is found by bisection, with a fixed number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._storage.special import not_in_cupy, substitute
from .._storage.storage import is_complex

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray

STEPS = 62  # halvings of the interval by the bisection
SMALLEST, LARGEST = -60.0, 60.0  # the interval: bounds of the logarithm of the result


# --- closed forms -----------------------------------------------------------------------------------
@substitute
def betaincc(a: RawArray, b: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return 1 - betainc(a, b, x).  For x below 1/2 the argument 1 - x would lose digits of x."""
    swapped = xp.special.betainc(b, a, 1.0 - x)
    direct = 1.0 - xp.special.betainc(a, b, x)
    return xp.where((direct > 0.5) | (x < 1e-4) & (direct > 1e-3), direct, swapped)


@substitute
def stdtr(df: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the cumulative function of Student's t distribution.  Source: DLMF 8.17.2.

    For large x it is computed from the tail's probability, whose digits 1/2 plus the rest would lose.
    """
    square, half = x * x, 0.5 + 0.0 * df
    near = square < xp.minimum(df, 0.0 * df + 4.0)
    bounded = xp.where(near, square, 0.0)
    middle = xp.special.betainc(half, 0.5 * df, bounded / (df + bounded))
    tail = xp.special.betainc(0.5 * df, half, df / (df + square))
    tail = xp.where(xp.isinf(square), 0.0, tail)
    part = xp.where(x < 0, 0.5 * tail, 1.0 - 0.5 * tail)
    found = xp.where(near, 0.5 + 0.5 * xp.sign(x) * middle, part)
    found = xp.where(df == math.inf, xp.special.ndtr(x), found)
    return xp.where((df > 0) & (x == x), found, math.nan)


@substitute
def stdtrit(df: RawArray, p: RawArray, *, xp: Namespace) -> Any:
    """Return the x at which stdtr(df, x) is p."""
    half, outer = 0.5 + 0.0 * df, 2.0 * xp.minimum(p, 1.0 - p)
    near = outer > 0.5
    inner = xp.special.betaincinv(half, 0.5 * df, xp.where(near, 1.0 - outer, 0.5))
    other = xp.special.betaincinv(0.5 * df, half, xp.where(near, 0.5, outer))
    size = xp.where(near, inner / (1.0 - inner), (1.0 - other) / other)
    found = xp.where(p < 0.5, -1.0, 1.0) * xp.sqrt(df * size)
    found = xp.where(df == math.inf, xp.special.ndtri(p), found)
    return xp.where((df > 0) & (p >= 0) & (p <= 1), found, math.nan)


@substitute
def gdtria(p: RawArray, b: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    return xp.special.gammaincinv(b, p) / x


@substitute
def gdtrix(a: RawArray, b: RawArray, p: RawArray, *, xp: Namespace) -> Any:
    return xp.special.gammaincinv(b, p) / a


def normal_quantile(p: RawArray, xp: Namespace) -> Any:
    """Return ndtri(p), but NaN at 0 and 1, and at 1/2 the rounded number with which SciPy divides."""
    found = xp.where(p == 0.5, 6.637989419862078e-17, xp.special.ndtri(p))
    return xp.where((p > 0) & (p < 1), found, math.nan)


@substitute
def nrdtrimn(p: RawArray, std: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    return xp.where(std > 0, x - std * normal_quantile(p, xp), math.nan)


@substitute
def nrdtrisd(mn: RawArray, p: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    return (x - mn) / normal_quantile(p, xp)


@substitute
def ndtri_exp(y: RawArray, *, xp: Namespace) -> Any:
    """Return the x at which log_ndtr(x) is y, far out by Newton's method, as log_ndtr is concave."""
    far = y < -5.0
    x = -xp.sqrt(-2.0 * xp.where(far, y, -5.0))
    for _ in range(8):
        slope = math.sqrt(2.0 / math.pi) / xp.special.erfcx(x * -math.sqrt(0.5))
        x = x - (xp.special.log_ndtr(x) - xp.where(far, y, -5.0)) / slope
    near = xp.where(y > -0.01, -xp.special.ndtri(-xp.expm1(y)), xp.special.ndtri(xp.exp(y)))
    return xp.where(y == -math.inf, y, xp.where(far, x, near))


@substitute
def kolmogorov(x: RawArray, *, xp: Namespace) -> Any:
    """Return the survival function of Kolmogorov's distribution, one of two theta series.

    Source: Marsaglia, Tsang and Wang 2003.
    """
    near = x < 1.0
    small, large = xp.where(near & (x > 0.04), x, 1.0), xp.where(near, 1.0, x)
    close, far = xp.zeros_like(x), xp.zeros_like(x)
    for k in range(1, 7):
        close = close + xp.exp(-(((2 * k - 1) * math.pi) ** 2) / 8.0 / small**2)
        far = far - 2.0 * (-1) ** k * xp.exp(-2.0 * k * k * large**2)
    close = 1.0 - math.sqrt(2.0 * math.pi) / small * close
    return xp.where(x > 0.04, xp.where(near, close, far), xp.where(x == x, 1.0, x))


@substitute
def powm1(x: RawArray, y: RawArray, *, xp: Namespace) -> Any:
    exponent = y * xp.log(xp.where(x > 0, x, 1.0))
    near = (x > 0) & (xp.abs(exponent) < 0.5)
    return xp.where(near, xp.expm1(exponent), x**y - 1.0)


@substitute
def diric(x: RawArray, n: RawArray, *, xp: Namespace) -> Any:
    """Return sin(n x / 2) / (n sin(x / 2)), and the limit where x is a multiple of 2 pi."""
    sine = xp.sin(0.5 * x)
    limit = xp.abs(sine) < 1e-15
    turns = xp.remainder(xp.round(0.5 * x / math.pi) * (n - 1.0), 2.0)
    inside = xp.sin(n * (0.5 * x)) / (n * xp.where(limit, 1.0, sine))
    found = xp.where(limit, 1.0 - 2.0 * turns, inside)
    return xp.where((n > 0) & (n == xp.round(n)), found, math.nan)


@substitute
def wrightomega(z: RawArray, *, xp: Namespace) -> Any:
    """Return the y at which y + log(y) is z, for real z.

    Source of the iteration: Fritsch, Shafer and Crowley 1973.
    """
    if is_complex(z):
        raise TypeError(not_in_cupy("special.wrightomega of complex data", xp))
    tiny, huge = z < -50.0, z > 1e20
    z1 = xp.where(tiny | huge, 1.0, z)
    small = xp.exp(xp.minimum(z1, 0.0 * z1 + 1.0))
    large = z1 - xp.log(xp.maximum(z1, 0.0 * z1 + 1.0))
    y = xp.where(z1 > 1.0, large, xp.where(z1 < -1.0, small, small / (1.0 + 0.5 * small)))
    for _ in range(4):
        rest = z1 - y - xp.log(y)
        both = 2.0 * (1.0 + y) * (1.0 + y + 2.0 / 3.0 * rest)
        y = y * (1.0 + rest / (1.0 + y) * (both - rest) / (both - 2.0 * rest))
    return xp.where(tiny, xp.exp(z), xp.where(huge, z, xp.where(z == z, y, z)))


# --- inverses by bisection ----------------------------------------------------------------------------
def bisect_for(
    function: Callable[[Any], Any], p: RawArray, rising: RawArray | bool, xp: Namespace
) -> Any:
    """Return the v > 0 at which a monotone function is p, by bisection of log(v); NaN without 0 < p < 1.

    Where the function reaches p nowhere, the result is 0 or 1e100, as in SciPy.
    rising : True where the function rises.  A function that is NaN below its domain has to fall, and one
    that is NaN above its domain has to rise.
    """
    low, high = xp.full_like(p, SMALLEST), xp.full_like(p, LARGEST)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = (function(xp.exp(middle)) < p) == rising
        low, high = xp.where(above, middle, low), xp.where(above, high, middle)
    found = xp.where(low == SMALLEST, 0.0, xp.where(high == LARGEST, 1e100, xp.exp(high)))
    return xp.where((p > 0) & (p < 1), found, math.nan)


def substitute_inverse(name: str, place: int, rising: bool, function: Callable[..., Any]) -> None:
    """Register the inverse of a distribution function in one of its parameters, for CuPy's data.

    name : SciPy's name.  place : the position of the parameter, where the inverse takes the probability.
    rising : True if the function rises with the parameter.
    function : the distribution function, called with its operands and xp.
    """

    def inverse(*operands: RawArray, xp: Namespace) -> Any:
        before, p, after = operands[:place], operands[place], operands[place + 1 :]
        return bisect_for(lambda v: function(*before, v, *after, xp), p, rising, xp)

    inverse.__name__ = name
    substitute(inverse)


substitute_inverse("gdtrib", 1, False, lambda a, b, x, xp: xp.special.gammainc(b, a * x))
substitute_inverse("chdtriv", 0, False, lambda v, x, xp: xp.special.gammainc(0.5 * v, 0.5 * x))
substitute_inverse("pdtrik", 0, True, lambda k, m, xp: xp.special.gammaincc(k + 1.0, m))
substitute_inverse("btdtria", 0, False, lambda a, b, x, xp: xp.special.betainc(a, b, x))
substitute_inverse("btdtrib", 1, True, lambda a, b, x, xp: xp.special.betainc(a, b, x))
substitute_inverse(
    "bdtrik", 0, True, lambda k, n, p, xp: xp.special.betainc(n - k, k + 1.0, 1.0 - p)
)
substitute_inverse(
    "bdtrin", 1, False, lambda k, n, p, xp: xp.special.betainc(n - k, k + 1.0, 1.0 - p)
)
substitute_inverse("nbdtrik", 0, True, lambda k, n, p, xp: xp.special.betainc(n, k + 1.0, p))
substitute_inverse("nbdtrin", 1, False, lambda k, n, p, xp: xp.special.betainc(n, k + 1.0, p))
substitute_inverse("fdtridfd", 1, True, lambda dfn, dfd, x, xp: xp.special.fdtr(dfn, dfd, x))


@substitute
def stdtridf(p: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return the df at which stdtr(df, x) is p."""
    found = bisect_for(lambda df: xp.special.stdtr(df, x), p, x > 0, xp)
    return xp.where(found == 0, -1e100, found)


@substitute
def kolmogi(p: RawArray, *, xp: Namespace) -> Any:
    found = bisect_for(xp.special.kolmogorov, p, False, xp)
    return xp.where(p == 1, 0.0, xp.where(p == 0, math.inf, found))
