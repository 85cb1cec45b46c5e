"""Kernels that compute, on CUDA devices, functions of SciPy that CuPy lacks.

Rules of functions that CuPy has call these kernels.  The kernels consist of functions that CuPy has, and
of each other.  They never run on host data, for which SciPy has the functions: see ``_storage.special``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._storage.special import SUBSTITUTES, not_in_cupy, substitute
from .._storage.storage import is_complex, storage_of
from ._gamma import LANCZOS
from ._rules import horner, kernel_by_order

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray, RawOperand

# Lanczos's sum is a quotient of polynomials, given by their coefficients from the constant term on.  The
# denominator is x (x + 1) ... (x + 11).  Source: Boost, lanczos13m53.
NUMERATOR = (
    56906521.91347156388090791033559122686859, 103794043.1163445451906271053616070238554,
    86363131.28813859145546927288977868422342, 43338889.32467613834773723740590533316085,
    14605578.08768506808414169982791359218571, 3481712.15498064590882071018964774556468,
    601859.6171681098786670226533699352302507, 75999.29304014542649875303443598909137092,
    6955.999602515376140356310115515198987526, 449.9445569063168119446858607650988409623,
    19.51992788247617482847860966235652136208, 0.5098416655656676188125178644804694509993,
    0.006061842346248906525783753964555936883222,
)  # fmt: skip
DENOMINATOR = tuple(float(c) for c in np.poly1d(-np.arange(12), True).coef[::-1])
DUPLICATIONS = 16  # steps of elliprd, after which its arguments differ by at most 1 in 1000
HIGHEST = 30  # the highest order of the Bessel functions


# --- sine and cosine of pi x ----------------------------------------------------------------------
def sine_of_turn(x: RawArray, xp: Namespace) -> Any:
    """Return sin(pi x) of real x, exact where x is a multiple of 1 / 2."""
    x = x - 2.0 * xp.round(0.5 * x)
    return xp.sin(math.pi * xp.where(xp.abs(x) > 0.5, xp.sign(x) - x, x))


def cosine_of_turn(x: RawArray, xp: Namespace) -> Any:
    """Return cos(pi x) of real x, exact where x is a multiple of 1 / 2."""
    return xp.sin(math.pi * (0.5 - xp.abs(x - 2.0 * xp.round(0.5 * x))))


@substitute
def _sinpi(x: RawArray, *, xp: Namespace) -> Any:
    """Return sin(pi x) of real or complex x."""
    if not is_complex(x):
        return sine_of_turn(x, xp)
    turn, angle = xp.real(x), math.pi * xp.imag(x)
    imaginary = cosine_of_turn(turn, xp) * xp.sinh(angle)
    return sine_of_turn(turn, xp) * xp.cosh(angle) + 1j * imaginary


@substitute
def _cospi(x: RawArray, *, xp: Namespace) -> Any:
    """Return cos(pi x) of real or complex x."""
    if not is_complex(x):
        return cosine_of_turn(x, xp)
    turn, angle = xp.real(x), math.pi * xp.imag(x)
    imaginary = sine_of_turn(turn, xp) * xp.sinh(angle)
    return cosine_of_turn(turn, xp) * xp.cosh(angle) - 1j * imaginary


# --- gamma, beta and zeta functions -----------------------------------------------------------------
@substitute
def _lanczos_sum_expg_scaled(x: RawArray, *, xp: Namespace) -> Any:
    """Return Lanczos's sum, which is gamma(x) (e / (x + LANCZOS - 0.5)) ** (x - 0.5)."""
    # For large x both polynomials are evaluated in 1 / x, so that no power overflows.
    far = xp.abs(x) > 1.0
    argument = xp.where(far, 1.0 / xp.where(far, x, 1.0), x)

    def lanczos_polynomial(coefficients: tuple[float, ...]) -> Any:
        total = xp.zeros_like(x)
        for low, high in zip(reversed(coefficients), coefficients, strict=True):
            total = total * argument + xp.where(far, high, low)
        return total

    return lanczos_polynomial(NUMERATOR) / lanczos_polynomial(DENOMINATOR)


def log_remainder(ratio: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return log(ratio) - x without cancellation, where x is ratio - 1."""
    near = xp.abs(x) < 0.5
    small = xp.where(near, x, 0.0)
    part = small / (2.0 + small)  # log(1 + x) is 2 artanh(part)
    square = part * part
    odd = horner([(2 * k + 3) / (2 * k + 5) for k in range(16)], square, xp)
    return xp.where(near, part * (2.0 / 3.0 * square * odd - small), xp.log(ratio) - x)


@substitute
def _igam_fac(a: RawArray, x: RawArray, *, xp: Namespace) -> Any:
    """Return x ** a exp(-x) / gamma(a), computed with Lanczos's sum."""
    shift = LANCZOS - 0.5
    base = a + shift
    exponent = a * log_remainder(x / base, (x - base) / base, xp) - x * shift / base
    scale = xp.sqrt(base / math.e) / xp.special._lanczos_sum_expg_scaled(a)
    return xp.where(x == math.inf, 0.0, scale * xp.exp(exponent))


@substitute
def _beta_pdf(x: RawArray, a: RawArray, b: RawArray, *, xp: Namespace) -> Any:
    """Return x ** (a - 1) (1 - x) ** (b - 1) / beta(a, b), computed with Lanczos's sum."""
    shift, lanczos = LANCZOS - 0.5, xp.special._lanczos_sum_expg_scaled
    first, second, both, y = a + shift, b + shift, a + b + shift, 1.0 - x
    part = log_remainder(x * both / first, (x * b - y * first) / first, xp)
    exponent = a * part - shift * (x * b / first)
    part = log_remainder(y * both / second, (y * a - x * second) / second, xp)
    exponent = exponent + b * part - shift * (y * a / second)
    scale = xp.sqrt(first / both * (second / math.e)) * lanczos(a + b)
    inside = (x > 0) & (x < 1)
    found = scale / (lanczos(a) * lanczos(b)) * xp.exp(exponent) / xp.where(inside, x * y, 1.0)
    at_end = xp.special.xlogy(a - 1.0, x) + xp.special.xlog1py(b - 1.0, -x)
    return xp.where(inside, found, xp.exp(at_end - xp.special.betaln(a, b)))


@substitute
def betainccinv(a: RawArray, b: RawArray, p: RawArray, *, xp: Namespace) -> Any:
    """Return the x at which betaincc(a, b, x) is p.

    1 - betaincinv(b, a, p) has lost the digits of a small x.  There the result is betaincinv(a, b, 1 -
    p), unless p is so small that 1 - p has lost its digits.
    """
    complement = xp.special.betaincinv(b, a, p)
    direct = xp.special.betaincinv(a, b, 1.0 - p)
    return xp.where((complement > 0.5) & (p > 1e-4), direct, 1.0 - complement)


@substitute
def _riemann_zeta(x: RawArray, *, xp: Namespace) -> Any:
    return xp.special.zetac(x) + 1.0


# --- elliptic integrals -----------------------------------------------------------------------------
@substitute
def elliprd(x: RawArray, y: RawArray, z: RawArray, *, xp: Namespace) -> Any:
    """Return Carlson's elliptic integral RD.  Source: DLMF 19.36.2.

    The duplication theorem is applied until the arguments are nearly equal, then a series.
    """
    x, y, z = xp.broadcast_arrays(x, y, z)
    infinite = xp.isinf(x) | xp.isinf(y) | xp.isinf(z)
    poles = ((x == 0) & (y == 0)) | (z == 0)
    total, scale = xp.zeros_like(x), 1.0
    for _ in range(DUPLICATIONS):
        roots = [xp.sqrt(v) for v in (x, y, z)]
        step = roots[0] * (roots[1] + roots[2]) + roots[1] * roots[2]
        total = total + scale / (roots[2] * (z + step))
        scale, x, y, z = scale / 4.0, (x + step) / 4.0, (y + step) / 4.0, (z + step) / 4.0
    mean = (x + y + 3.0 * z) / 5.0
    x, y = (mean - x) / mean, (mean - y) / mean
    z = (x + y) / -3.0
    xy, z2 = x * y, z * z
    e2, e3, e4, e5 = xy - 6.0 * z2, (3.0 * xy - 8.0 * z2) * z, 3.0 * (xy - z2) * z2, xy * z2 * z
    series = carlson_series(e2, e3, e4, e5)
    found = 3.0 * total + scale * series / (mean * xp.sqrt(mean))
    return xp.where(infinite, 0.0, xp.where(poles, math.inf, found))


@substitute
def elliprf(x: RawArray, y: RawArray, z: RawArray, *, xp: Namespace) -> Any:
    """Return Carlson's elliptic integral RF by duplication.  Source: DLMF 19.36.1."""
    x, y, z = xp.broadcast_arrays(x, y, z)
    infinite = xp.isinf(x) | xp.isinf(y) | xp.isinf(z)
    zero = [x == 0, y == 0, z == 0]
    poles = (zero[0] & zero[1]) | (zero[1] & zero[2]) | (zero[2] & zero[0])
    for _ in range(DUPLICATIONS):
        roots = [xp.sqrt(v) for v in (x, y, z)]
        step = roots[0] * (roots[1] + roots[2]) + roots[1] * roots[2]
        x, y, z = (x + step) / 4.0, (y + step) / 4.0, (z + step) / 4.0
    mean = (x + y + z) / 3.0
    x, y = 1.0 - x / mean, 1.0 - y / mean
    e2, e3 = -x * y - (x + y) * (x + y), -x * y * (x + y)
    series = 1.0 - e2 / 10 + e3 / 14 + e2 * e2 / 24 - 3 * e2 * e3 / 44
    series = series - 5 * e2 * e2 * e2 / 208 + 3 * e3 * e3 / 104 + e2 * e2 * e3 / 16
    return xp.where(infinite, 0.0, xp.where(poles, math.inf, series / xp.sqrt(mean)))


@substitute
def elliprc(x: RawArray, y: RawArray, *, xp: Namespace) -> Any:
    """Return Carlson's RC, for y < 0 Cauchy's principal value.  Source: DLMF 19.2.20."""
    if is_complex(x):
        return xp.special.elliprf(x, y, y)
    negative = y < 0
    first, second = xp.where(negative, x - y, x), xp.where(negative, -y, y)
    scale = xp.where(negative, xp.sqrt(x / first), 1.0)
    return xp.where(x >= 0, scale * xp.special.elliprf(first, second, second), math.nan)


def refuse_complex_data(name: str, x: RawArray, xp: Namespace) -> None:
    """Raise TypeError if x is complex: the function ``name`` has only real arguments on CuPy's data."""
    if is_complex(x):
        raise TypeError(not_in_cupy(f"special.{name} of complex data", xp))


def sort_three(x: RawArray, y: RawArray, z: RawArray, xp: Namespace) -> tuple[Any, Any, Any]:
    """Return the smallest, the middle and the largest of three arrays, elementwise."""
    low, high = xp.minimum(x, y), xp.maximum(x, y)
    low, z = xp.minimum(low, z), xp.maximum(low, z)
    return low, xp.minimum(high, z), xp.maximum(high, z)


@substitute
def elliprg(x: RawArray, y: RawArray, z: RawArray, *, xp: Namespace) -> Any:
    """Return Carlson's RG from RF and RD, a sum of positive terms.  Source: DLMF 19.21.10."""
    refuse_complex_data("elliprg", x, xp)
    x, y, z = xp.broadcast_arrays(x, y, z)
    low, z, high = sort_three(x, y, z, xp)
    some = xp.where(z > 0, z, 1.0)
    found = some * xp.special.elliprf(low, some, high) + xp.sqrt(low * high / some)
    found = found - (low - some) * (high - some) * xp.special.elliprd(low, high, some) / 3.0
    found = xp.where(z > 0, 0.5 * found, 0.5 * xp.sqrt(high))
    return xp.where(low >= 0, xp.where(xp.isinf(high), high, found), math.nan)


@substitute
def elliprj(x: RawArray, y: RawArray, z: RawArray, p: RawArray, *, xp: Namespace) -> Any:
    """Return Carlson's RJ, for p < 0 Cauchy's principal value.  Source: DLMF 19.20.14."""
    refuse_complex_data("elliprj", x, xp)
    x, y, z, p = xp.broadcast_arrays(x, y, z, p)
    x, y, z = sort_three(x, y, z, xp)
    negative, q = p < 0, xp.abs(p)
    other = (z * (x + y + q) - x * y) / (z + q)
    found = carlson_third_kind(x, y, z, xp.where(negative, other, q), xp)
    value = (other - z) * found - 3.0 * xp.special.elliprf(x, y, z)
    product = x * y + other * q
    root = xp.sqrt(x * y * z / product)
    value = (value + 3.0 * root * xp.special.elliprc(product, other * q)) / (q + z)
    found = xp.where(negative, value, found)
    found = xp.where((p == 0) | (y == 0), math.inf, found)
    return xp.where(x >= 0, xp.where(xp.isinf(z) | xp.isinf(q), 0.0, found), math.nan)


def carlson_third_kind(x: RawArray, y: RawArray, z: RawArray, p: RawArray, xp: Namespace) -> Any:
    """Return Carlson's elliptic integral RJ for p > 0 by duplication.

    Source: Carlson 1995, algorithm 3; DLMF 19.36.2.
    """
    total, scale = xp.zeros_like(x), 1.0
    delta = (p - x) * (p - y) * (p - z)
    for _ in range(DUPLICATIONS):
        roots = [xp.sqrt(v) for v in (x, y, z, p)]
        step = roots[0] * (roots[1] + roots[2]) + roots[1] * roots[2]
        d = (roots[3] + roots[0]) * (roots[3] + roots[1]) * (roots[3] + roots[2])
        above = 2.0 * roots[3] * (p + step) / d  # 1 + delta / d ** 2 without cancellation
        total = total + scale / d * arctangent_ratio(delta / (d * d), above, xp)
        x, y, z, p = (x + step) / 4.0, (y + step) / 4.0, (z + step) / 4.0, (p + step) / 4.0
        scale, delta = scale / 4.0, delta / 64.0
    mean = (x + y + z + 2.0 * p) / 5.0
    x, y, z = 1.0 - x / mean, 1.0 - y / mean, 1.0 - z / mean
    p = -0.5 * (x + y + z)
    e2 = x * y + x * z + y * z - 3.0 * p * p
    e3 = x * y * z + 2.0 * e2 * p + 4.0 * p * p * p
    e4, e5 = (2.0 * x * y * z + e2 * p + 3.0 * p * p * p) * p, x * y * z * p * p
    return 6.0 * total + scale * carlson_series(e2, e3, e4, e5) / (mean * xp.sqrt(mean))


def carlson_series(e2: RawArray, e3: RawArray, e4: RawArray, e5: RawArray) -> Any:
    """Return the series of Carlson's RD and RJ for nearly equal arguments.  Source: DLMF 19.36.2.

    e2, e3, e4, e5 : elementary symmetric functions of the arguments' deviations from their mean.
    """
    series = 1.0 - 3 * e2 / 14 + e3 / 6 + 9 * e2 * e2 / 88 - 3 * e4 / 22 - 9 * e2 * e3 / 52
    series = series + 3 * e5 / 26 - e2 * e2 * e2 / 16 + 3 * e3 * e3 / 40 + 3 * e2 * e4 / 20
    return series + 45 * e2 * e2 * e3 / 272 - 9 * (e3 * e4 + e2 * e5) / 68


def arctangent_ratio(e: RawArray, above: RawArray, xp: Namespace) -> Any:
    """Return RC(1, 1 + e), which is atan(sqrt(e)) / sqrt(e); ``above`` is 1 + e."""
    small = xp.abs(e) < 1e-3
    series = 1.0 - e / 3.0 + e * e / 5.0 - e**3 / 7.0 + e**4 / 9.0 - e**5 / 11.0
    root = xp.sqrt(xp.where(small, 1.0, xp.abs(e)))
    inverse = xp.where(e > 0, xp.atan(root), xp.log((1.0 + root) / xp.sqrt(above)))
    far = inverse / root
    return xp.where(small, series, far)


# --- functions whose order or degree is a whole number ----------------------------------------------
def substitute_by_order(highest: int) -> Callable[..., Callable[..., Any]]:
    """Return a decorator that registers a substitute: a kernel for a function that CuPy lacks.

    The decorated function gets its first parameter, the order, as a Python int.  The kernel raises
    TypeError for complex data, for fractional orders, and for orders greater than ``highest`` in size.
    """

    def register_substitute(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        kernel_by_order(function, SUBSTITUTES)
        compute = SUBSTITUTES[name]

        @functools.wraps(function)
        def call_substitute(v: RawArray, *operands: RawArray, xp: Namespace) -> Any:
            orders = storage_of(v).host(v).ravel() if hasattr(v, "dtype") else np.asarray([v])
            other = np.any((orders % 1 != 0) | (np.abs(orders) > highest))
            if other or any(is_complex(x) for x in operands):
                what = f"special.{name} of complex data, or of orders beyond 0, 1, ..., {highest},"
                raise TypeError(not_in_cupy(what, xp))
            return compute(v, *operands, xp=xp)

        SUBSTITUTES[name] = call_substitute
        return function

    return register_substitute


def recur_orders(
    n: int, low: RawArray, high: RawArray, x: RawArray, signs: tuple[int, int], xp: Namespace
) -> Any:
    """Return the Bessel function f of order n, given ``low`` at order 0 and ``high`` at order 1.

    The recurrence is f(k + 1) = signs[0] (2 k / x) f(k) + signs[1] f(k - 1).
    """
    for k in range(1, n):
        following = signs[0] * (2.0 * k / x) * high + signs[1] * low
        # After an infinite term the recurrence could return NaN: the next terms are infinite, too.
        infinite = xp.where(x < 0, -high, high)
        low, high = high, xp.where(xp.isinf(high), infinite, following)
    return high if n else low


def bessel_first_kind(
    n: int, low: RawArray, high: RawArray, x: RawArray, sign: int, far: float, scale: RawOperand,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return J (for sign -1) or I (for sign 1) of order n, times ``scale``.

    ``low`` and ``high`` are the values of orders 0 and 1, times ``scale``.  Where abs(x) is above
    ``far`` the recurrence from these orders is stable; else the series in ``sign * (x / 2) ** 2`` is
    accurate.
    """
    if n < 2:
        return high if n else low
    ratios: list[float] = []
    size = 1.0
    while size > 1e-18:
        divisor = 4.0 * (len(ratios) + 1) * (n + len(ratios) + 1)
        ratios.append(sign / divisor)
        size *= far * far / divisor
    near = xp.abs(x) <= far
    small, large = xp.where(near, x, 0.0), xp.where(near, far, x)
    series = (0.5 * small) ** n / math.factorial(n) * horner(ratios, small * small, xp)
    beyond = recur_orders(n, low, high, large, (-sign, sign), xp)
    return xp.where(near, scale * series, beyond)


def bessel_of_order_sign(n: int, found: RawArray) -> Any:
    """Return J or Y of order n, given ``found``, the function of order abs(n)."""
    return -found if n < 0 and n % 2 else found


def iv_recurrence_start(n: int) -> float:
    """Return the x above which the recurrence of Bessel's I to order n loses at most one digit."""
    return max(12.0, 0.5 * n * n)


@substitute_by_order(HIGHEST)
def jv(n: int, x: RawArray, *, xp: Namespace) -> Any:
    m, low, high = abs(n), xp.special.j0(x), xp.special.j1(x)
    return bessel_of_order_sign(n, bessel_first_kind(m, low, high, x, -1, float(m), 1.0, xp))


@substitute_by_order(HIGHEST)
def yv(n: int, x: RawArray, *, xp: Namespace) -> Any:
    low, high = xp.special.y0(x), xp.special.y1(x)
    return bessel_of_order_sign(n, recur_orders(abs(n), low, high, x, (1, -1), xp))


@substitute_by_order(HIGHEST)
def iv(n: int, x: RawArray, *, xp: Namespace) -> Any:
    m, low, high = abs(n), xp.special.i0(x), xp.special.i1(x)
    return bessel_first_kind(m, low, high, x, 1, iv_recurrence_start(m), 1.0, xp)


@substitute_by_order(HIGHEST)
def ive(n: int, x: RawArray, *, xp: Namespace) -> Any:
    m, low, high = abs(n), xp.special.i0e(x), xp.special.i1e(x)
    return bessel_first_kind(m, low, high, x, 1, iv_recurrence_start(m), xp.exp(-xp.abs(x)), xp)


@substitute_by_order(HIGHEST)
def kv(n: int, x: RawArray, *, xp: Namespace) -> Any:
    return recur_orders(abs(n), xp.special.k0(x), xp.special.k1(x), x, (1, 1), xp)


@substitute_by_order(HIGHEST)
def kve(n: int, x: RawArray, *, xp: Namespace) -> Any:
    return recur_orders(abs(n), xp.special.k0e(x), xp.special.k1e(x), x, (1, 1), xp)
