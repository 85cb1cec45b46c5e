"""The gamma function and its relatives: polygamma, beta and zeta functions, harmonic numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._array.views import current
from .._storage.batched.batched_data import holds_anywhere
from .._storage.storage import is_complex, storage_of
from .._util.errors import entrance
from ..ops.manipulation_functions import stack
from ..ops.statistical_functions import sum as sum_of
from ._rules import as_floats, kernel_by_order, where_defined
from ._statement import POSITIVE, REAL, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

# Bernoulli's numbers of even order, from B2 on.
BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330, 854513 / 138, -236364091 / 2730,
)  # fmt: skip
LONGEST = 10_000  # the result of ``polygamma_of`` is NaN if its recurrence needs more steps
ENOUGH = 12.0  # from this argument on, the asymptotic series have the precision of float64


# --- polygamma functions --------------------------------------------------------------------------
def _asymptotic_terms(n: int) -> list[tuple[float, int]]:
    """Return pairs (c, m): for large z the n-th derivative of digamma(z) is the sum of ``c / z ** m``.

    For n = 0 the caller has to add log(z).  Source: DLMF 5.15.8.
    """
    sign = -((-1.0) ** n)
    terms = [(sign * math.factorial(n) / 2.0, n + 1)]
    if n:
        terms.append((sign * math.factorial(n - 1), n))
    for k, b in enumerate(BERNOULLI, start=1):
        factor = math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        terms.append((sign * b * factor, 2 * k + n))
    return terms


@kernel_by_order
def polygamma_of(n: int, z: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of the digamma function at real or complex z.

    Source: DLMF 5.15.5, 5.15.8, 25.11.12.
    """
    if n == 0:
        return xp.special.digamma(z)
    if not is_complex(z):
        return -((-1.0) ** n) * math.factorial(n) * xp.special._zeta(n + 1.0, z)

    def is_low(z: RawArray) -> Any:
        return (xp.real(z) < ENOUGH + n) & (xp.abs(xp.imag(z)) < ENOUGH + n)

    total = xp.zeros_like(z)
    for _ in range(LONGEST):
        low = is_low(z)
        if not storage_of(low).host(low).any():
            break
        total = total + xp.where(low, 1.0 / z ** (n + 1), 0.0)
        z = xp.where(low, z + 1.0, z)
    found = xp.zeros_like(z)
    for factor, power in _asymptotic_terms(n):
        found = found + factor / z**power
    return xp.where(is_low(z), math.nan, found - (-1.0) ** n * math.factorial(n) * total)


@kernel_by_order
def polygamma_difference(n: int, a: RawArray, b: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of the digamma function at a + b, minus its n-th derivative at a.

    Each term is a difference of powers of a + b and a, computed with expm1.  So nothing cancels where b
    is small compared with a.
    """
    positive = (a > 0) & (a + b > 0)
    plain = xp.special.polygamma_of(n, a + b) - xp.special.polygamma_of(n, a)
    x, b = xp.where(positive, a, 1.0), xp.where(positive, b, 0.0)

    def powers(x: RawArray, m: int) -> Any:
        return xp.expm1(-m * xp.log1p(b / x)) / x**m

    total = xp.zeros_like(x + b)
    for _ in range(int(ENOUGH) + n):
        low = xp.where(b < 0, x + b, x) < ENOUGH + n
        total = total + xp.where(low, powers(x, n + 1), 0.0)
        x = xp.where(low, x + 1.0, x)
    found = xp.log1p(b / x) if n == 0 else 0.0
    for factor, power in _asymptotic_terms(n):
        found = found + factor * powers(x, power)
    return xp.where(positive, found - (-1.0) ** n * math.factorial(n) * total, plain)


special(
    "polygamma_of", "n x", None, lambda t, n, x, xp: t * xp.special.polygamma_of(n + 1, x),
    domains=[(0, 3), POSITIVE], integers="n", complex=True, public=False,
)  # fmt: skip
special(
    "polygamma_difference", "n a b", None,
    lambda t, n, a, b, xp: t * xp.special.polygamma_difference(n + 1, a, b),
    lambda t, n, a, b, xp: t * xp.special.polygamma_of(n + 1, as_floats(a, t, xp) + b),
    domains=[(0, 3), POSITIVE, POSITIVE], integers="n", public=False,
)  # fmt: skip


# Rules call polygamma_of, because SciPy's polygamma returns double precision for single precision and
# accepts no complex data.
digamma = special(
    "digamma", "x", lambda t, x, xp: t * xp.special.polygamma_of(1, x), complex=True,
    summary="The logarithmic derivative of the gamma function", source="DLMF 5.2.2",
)  # fmt: skip
polygamma = special(
    "polygamma", "n x", None, lambda t, n, x, xp: t * xp.special.polygamma_of(n + 1, x),
    domains=[(0, 4), POSITIVE], integers="n", summary="The n-th derivative of the digamma function",
    source="DLMF 5.15",
)  # fmt: skip


# --- the gamma function ---------------------------------------------------------------------------
def _rgamma_slope(x: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative of y = 1 / gamma(x).

    The derivative has no poles.  Where real(x) < 0.5 it is computed by reflection, because digamma has
    poles there.
    """
    left = (xp.real(x) if is_complex(x) else x) < 0.5
    turn = xp.special._cospi(x) - xp.special.digamma(1.0 - x) * xp.special._sinpi(x) * (
        1.0 / math.pi
    )
    return xp.where(left, xp.special.gamma(1.0 - x) * turn, -xp.special.digamma(x) * y)


gamma = special(
    "gamma", "x", lambda t, x, y, xp: t * (y * xp.special.digamma(x)), complex=True,
    summary="The gamma function", source="DLMF 5.2.2",
)  # fmt: skip
gammaln = special(
    "gammaln", "x", lambda t, x, xp: t * xp.special.digamma(x),
    summary="The logarithm of the absolute value of the gamma function", source="DLMF 5.2.2",
)  # fmt: skip
loggamma = special(
    "loggamma", "x", lambda t, x, y, xp: t * where_defined(xp.special.digamma(x), y, xp),
    complex=True, summary="The principal branch of the logarithm of the gamma function",
    source="DLMF 5.2.2",
)  # fmt: skip
rgamma = special(
    "rgamma", "x", lambda t, x, y, xp: t * _rgamma_slope(x, y, xp), complex=True,
    summary="1 / gamma(x)", source="DLMF 5.2.2, 5.5.3",
)  # fmt: skip
gammasgn = special(
    "gammasgn", "x", lambda t, xp: xp.zeros_like(t), summary="The sign of the gamma function",
    continuous=False,
)  # fmt: skip
_lgam1p = special(
    "_lgam1p", "x", lambda t, x, xp: t * xp.special.digamma(1.0 + x), domains=[(-0.5, 2.0)],
    summary="gammaln(1 + x), accurate near 0",
)  # fmt: skip
_factorial = special(
    "_factorial", "x",
    lambda t, x, y, xp: t * xp.where(x < 0, 0.0, y * xp.special.digamma(1.0 + x)),
    summary="gamma(1 + x), and 0 where x is negative", continuous=False,
)  # fmt: skip
LANCZOS = 6.024680040776729583740234375  # the parameter g of Lanczos's approximation, as in Boost


def _lanczos(t: RawArray, x: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of Lanczos's sum; the sum is
    ``gamma(x) * (e / (x + LANCZOS - 0.5)) ** (x - 0.5)``.
    """
    base = x + (LANCZOS - 0.5)
    return t * (y * (xp.special.digamma(x) - xp.log(base) + LANCZOS / base))


_lanczos_sum_expg_scaled = special(
    "_lanczos_sum_expg_scaled", "x", _lanczos, summary="Lanczos's sum"
)


def _igam_fac_by_shape(t: RawArray, a: Real, x: Real, y: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the derivative in a of y = x ** a exp(-x) / gamma(a),
    ``y * (xp.log(x) - xp.special.digamma(a))``.
    """
    return t * (xp.special.xlogy(y, x) - y * xp.special.digamma(a))


def _igam_fac_by_place(t: RawArray, a: Real, x: Real, y: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of the result y in x, ``y * (a - x) / x``; at 0 the limit.

    y is x ** a exp(-x) / gamma(a).
    """
    a, x = as_floats(a, t, xp), as_floats(x, t, xp)
    at_zero = xp.pow(xp.where(x == 0, x, 1.0), a - 1.0) * xp.special.rgamma(a)
    return t * xp.where(x == 0, at_zero, y * ((a - x) / x))


_igam_fac = special(
    "_igam_fac", "a x", _igam_fac_by_shape, _igam_fac_by_place, summary="x ** a exp(-x) / gamma(a)"
)


# --- the beta function ----------------------------------------------------------------------------
def _beta_slope(t: RawArray, a: Real, b: Real, y: RawArray, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of y = beta(a, b) with respect to a,
    ``-y * (digamma(a + b) - digamma(a))``.
    """
    return -t * (y * xp.special.polygamma_difference(0, a, b))


beta = special(
    "beta", "a b", _beta_slope, lambda t, a, b, y, xp: _beta_slope(t, b, a, y, xp),
    summary="The beta function", source="DLMF 5.12.1",
)  # fmt: skip
betaln = special(
    "betaln", "a b", lambda t, a, b, xp: -t * xp.special.polygamma_difference(0, a, b),
    lambda t, a, b, xp: -t * xp.special.polygamma_difference(0, b, a),
    summary="The logarithm of the absolute value of the beta function", source="DLMF 5.12.1",
)  # fmt: skip
binom = special(
    "binom", "n k",
    lambda t, n, k, y, xp: t * (y * xp.special.polygamma_difference(0, n - k + 1.0, k)),
    lambda t, n, k, y, xp: t * (y * xp.special.polygamma_difference(0, k + 1.0, n - 2.0 * k)),
    domains=[(2.0, 6.0), (0.2, 3.0)], summary="The binomial coefficient", source="DLMF 1.2.6",
)  # fmt: skip
poch = special(
    "poch", "z m", lambda t, z, m, y, xp: t * (y * xp.special.polygamma_difference(0, z, m)),
    lambda t, z, m, y, xp: t * (y * xp.special.digamma(as_floats(z, t, xp) + m)),
    summary="The Pochhammer symbol gamma(z + m) / gamma(z)", source="DLMF 5.2.5",
)  # fmt: skip


# --- zeta functions -------------------------------------------------------------------------------
# Derivatives with respect to the exponent s are computed from Taylor coefficients in s: those of the
# first TERMS powers of the sum, and those of the Euler-Maclaurin formula for the other powers.  Source:
# DLMF 2.10(i), 25.11.5.
def _power(base: RawArray, s: RawArray, n: int, xp: Namespace) -> list[Any]:
    """Return the Taylor coefficients of base ** -s with respect to s, of orders 0 to n."""
    found, factor = [base**-s], -xp.log(base)
    for i in range(1, n + 1):
        found.append(found[-1] * factor / i)
    return found


def _product(first: list[Any], second: list[Any]) -> list[Any]:
    """Return a list of the Taylor coefficients of a product, given those of both factors."""
    pairs = range(len(first))
    return [sum(first[i] * second[k - i] for i in range(k + 1)) for k in pairs]


def _bernoulli_terms(base: RawArray, s: RawArray, n: int) -> list[Any]:
    """Return Taylor coefficients in s, of orders 0 to n, of the Bernoulli terms of a sum of powers.

    The sum of base ** -s over base, base + 1, ... is computed by the Euler-Maclaurin formula.  Its terms
    with Bernoulli's numbers are divided by ``base ** -s`` here.
    """
    # Taylor coefficients of the factor s, which becomes s (s + 1) (s + 2) in the next term, and so on.
    linear = [s, 1.0, *[0.0] * n][: n + 1]
    total: list[Any] = [0.0] * (n + 1)
    scale = 1.0 / base
    for j, b in enumerate(BERNOULLI, start=1):
        weight = b / math.factorial(2 * j) * scale
        total = [p + weight * q for p, q in zip(total, linear, strict=True)]
        for step in (2 * j - 1, 2 * j):
            linear = _product(linear, [s + step, 1.0, *[0.0] * n][: n + 1])
        scale = scale / base / base
    return total


TERMS = 16  # powers that are summed one by one; the Euler-Maclaurin formula sums the others


@kernel_by_order
def zeta_derivative(n: int, s: RawArray, q: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of Hurwitz's zeta function zeta(s, q) with respect to s."""
    if n < 0:  # _zeta_by_shift calls this with order n - 1 also for n = 0, and multiplies by 0
        return xp.zeros_like(s + q)
    total = sum(_power(q + k, s, n, xp)[n] for k in range(TERMS))
    base = q + TERMS
    # The other powers sum to base ** -s times (base / (s - 1) + 1 / 2 + corrections).
    factors = [base * (-1.0) ** i / (s - 1.0) ** (i + 1) for i in range(n + 1)]
    factors = [p + c for p, c in zip(factors, _bernoulli_terms(base, s, n), strict=True)]
    factors[0] = factors[0] + 0.5
    return math.factorial(n) * (total + _product(_power(base, s, n, xp), factors)[n])


@kernel_by_order
def harmonic_derivative(
    n: int, first: RawArray, last: RawArray, a: RawArray, *, xp: Namespace
) -> Any:
    """Return the n-th derivative with respect to a of the sum of i ** -a over i from first to last."""
    total: Any = 0.0
    for i in range(TERMS):
        taken = first + i <= last
        total = total + xp.where(taken, _power(xp.where(taken, first + i, 1.0), a, n, xp)[n], 0.0)
    more = first + TERMS <= last
    low, high = xp.where(more, first + TERMS, 1.0), xp.where(more, last, 1.0)
    width = xp.log(high / low)
    # Taylor coefficients in a of the integral of i ** -a from low to high, divided by low ** -a.
    integral = [
        low
        * width
        * (-width) ** i
        / math.factorial(i)
        * xp.special.exprel_derivative(i, (1.0 - a) * width)
        for i in range(n + 1)
    ]
    # The Euler-Maclaurin formula adds at each end half of the power and a series of corrections.
    below, above = _bernoulli_terms(low, a, n), [-c for c in _bernoulli_terms(high, a, n)]
    below, above = [0.5 + below[0], *below[1:]], [0.5 + above[0], *above[1:]]
    below = [p + c for p, c in zip(below, integral, strict=True)]
    rest = _product(_power(low, a, n, xp), below)[n] + _product(_power(high, a, n, xp), above)[n]
    return math.factorial(n) * (total + xp.where(more, rest, 0.0))


def _zeta_by_shift(t: RawArray, n: Real, s: Real, q: Real, xp: Namespace) -> Any:
    """Return ``t`` times the derivative of zeta_derivative with respect to q.

    The derivative is the n-th derivative of ``-s * zeta(s + 1, q)`` with respect to s.
    """
    following = s + 1.0
    return -t * (
        s * xp.special.zeta_derivative(n, following, q)
        + n * xp.special.zeta_derivative(n - 1, following, q)
    )


special(
    "zeta_derivative", "n s q", None,
    lambda t, n, s, q, xp: t * xp.special.zeta_derivative(n + 1, s, q), _zeta_by_shift,
    domains=[(0, 3), (1.3, 6.0), POSITIVE], integers="n", public=False,
)  # fmt: skip
special(
    "harmonic_derivative", "n first last a", None, None, None,
    lambda t, n, first, last, a, xp: t * xp.special.harmonic_derivative(n + 1, first, last, a),
    domains=[(0, 3), (1, 9), (9, 90), REAL], integers="n first last", public=False,
)  # fmt: skip


def _riemann_slope(x: RawArray, xp: Namespace) -> Any:
    """Return the derivative of Riemann's zeta function.

    Where real(x) < -1, the reflection formula is differentiated.  Source: DLMF 25.4.1.
    """
    left = (xp.real(x) if is_complex(x) else x) < -1.0
    other = xp.where(left, 1.0 - x, 3.0)
    sine, cosine = xp.special._sinpi(0.5 * x), xp.special._cospi(0.5 * x)
    scale = 2.0 * xp.exp(xp.special.loggamma(other) - other * math.log(2.0 * math.pi))
    inner = sine * (math.log(2.0 * math.pi) - xp.special.digamma(other)) + (0.5 * math.pi) * cosine
    value = inner * xp.special._riemann_zeta(other) - sine * xp.special.zeta_derivative(
        1, other, 1.0
    )
    return xp.where(left, scale * value, xp.special.zeta_derivative(1, xp.where(left, 2.0, x), 1.0))


_zeta = special(
    "_zeta", "s q",
    lambda t, s, q, y, xp: t * where_defined(xp.special.zeta_derivative(1, s, q), y, xp),
    lambda t, s, q, y, xp: -t * where_defined(s * xp.special._zeta(s + 1.0, q), y, xp),
    domains=[(1.3, 6.0), POSITIVE], summary="Hurwitz's zeta function",
    source="DLMF 25.11.1, 25.11.17",
)  # fmt: skip
_riemann_zeta = special(
    "_riemann_zeta", "x", lambda t, x, xp: t * _riemann_slope(x, xp), domains=[(1.3, 6.0)],
    complex=True, summary="Riemann's zeta function", source="DLMF 25.2.1",
)  # fmt: skip
zetac = special(
    "zetac", "x", lambda t, x, xp: t * _riemann_slope(x, xp), domains=[(1.3, 6.0)],
    summary="Riemann's zeta function less 1", source="DLMF 25.2.1",
)  # fmt: skip
_gen_harmonic = special(
    "_gen_harmonic", "n a", None,
    lambda t, n, a, y, xp: t * where_defined(xp.special.harmonic_derivative(1, 1, n, a), y, xp),
    domains=[(1, 60), REAL], integers="n", summary="The generalised harmonic number of order a",
)  # fmt: skip


def _normalized_by_order(
    t: RawArray, j: Real, k: Real, n: Real, a: Real, y: RawArray, xp: Namespace
) -> Any:
    """Return ``t`` times the derivative of _normalized_gen_harmonic with respect to a."""
    part = xp.special.harmonic_derivative(1, j, k, a)
    whole = xp.special.harmonic_derivative(1, 1, n, a)
    return t * ((part - y * whole) / xp.special._gen_harmonic(n, a))


_normalized_gen_harmonic = special(
    "_normalized_gen_harmonic", "j k n a", None, None, None, _normalized_by_order,
    domains=[(1, 5), (5, 30), (30, 60), REAL], integers="j k n",
    summary="The sum of i ** -a from j to k, divided by the sum from 1 to n",
)  # fmt: skip
_stirling2_inexact = special(
    "_stirling2_inexact", "n k", None, None, domains=[(5, 9), (1, 5)], integers="n k",
    summary="Stirling's number of the second kind",
)  # fmt: skip


# --- functions that consist of these ops ----------------------------------------------------
def zeta(x: Array | float, q: Array | float | None = None, out: None = None) -> Array:
    """Return Riemann's zeta function of x, or Hurwitz's zeta function of x and q.

    Parameters
    ----------
    x : Array
        The exponent.
    q : Array, optional
        The shift of Hurwitz's function; None for Riemann's function.
    out : None
        SciPy's parameter, which is not supported.

    Returns
    -------
    Array
        Of the shape to which x and q broadcast.
    """
    if out is not None:
        raise TypeError("special.zeta does not write into out=: assign the result")
    return _riemann_zeta(x) if q is None else _zeta(x, q)


@entrance
def multigammaln(a: Array | float, d: int) -> Array:
    """Return the logarithm of the multivariate gamma function of dimension d.

    Parameters
    ----------
    a : Array
        Greater than (d - 1) / 2.
    d : int
        The dimension.

    Returns
    -------
    Array
        Of the shape of a.

    Raises
    ------
    ValueError
        When d is not a whole number, or an element of a is too small.
    """
    if int(d) != d:
        raise ValueError(
            f"special.multigammaln: d should be a positive integer (dimension), got {d}"
        )
    d = int(d)
    low: Any = a <= 0.5 * (d - 1)
    if holds_anywhere(current(low)[1] if isinstance(low, Array) else np.asarray(low)):
        raise ValueError(
            f"special.multigammaln: a must be above (d - 1) / 2 = {0.5 * (d - 1)}, got {a}"
        )
    parts = stack([gammaln(a - (j - 1.0) / 2) for j in range(1, d + 1)])
    return (d * (d - 1) * 0.25) * math.log(math.pi) + sum_of(parts, axis=0)


FUNCTIONS = {"multigammaln": multigammaln, "zeta": zeta}
