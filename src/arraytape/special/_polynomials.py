"""Orthogonal polynomials, differentiable with respect to the argument and to parameters.

The derivative of a polynomial is a polynomial of lower degree of a related family (DLMF 18.9(iii)).
This form has no division, so that it is right at the ends of the interval, too.  The derivative with
respect to a parameter is a sum of polynomials of lower degrees (Szmytkowski 2009, Froehlich 1994),
known for whole degrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._record.plan import Unknown
from ._rules import largest_order
from ._statement import special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

DEGREE = Unknown(
    "the degree of a polynomial is a whole number, and no closed form between degrees is known"
)
DEGREES, ARGUMENTS, PARAMETERS = (0, 7), (-0.95, 0.95), (0.3, 2.0)
SHIFTED, HALF_LINE, DOUBLED = (0.05, 0.95), (0.1, 6.0), (-1.9, 1.9)


def at_lower_degree(f: Callable[[Any], Any], n: Real, xp: Namespace) -> Any:
    """Return ``f(n - 1)``; 0 for n = 0, where SciPy's functions of degree -1 may be NaN."""
    if not hasattr(n, "dtype"):
        return 0.0 if n == 0 else f(n - 1)
    zero = n == 0
    return xp.where(zero, 0.0, f(xp.where(zero, 1, n) - 1))


def legendre_slope(n: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of Legendre's polynomial P_n; for n < 0, P_n is P_(-1 - n)."""
    if hasattr(n, "dtype"):
        n = xp.where(n < 0, -1 - n, n)
    elif n < 0:
        n = -1 - n
    return at_lower_degree(lambda k: xp.special.eval_gegenbauer(k, 1.5, x), n, xp)


def chebyshev_slope(n: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of Chebyshev's polynomial U_n; for n < -1, U_n is -U_(-2 - n)."""
    sign = 1
    if hasattr(n, "dtype"):
        sign = xp.where(n < -1, -1, 1)
        n = xp.where(n < -1, -2 - n, n)
    elif n < -1:
        sign, n = -1, -2 - n
    return 2 * sign * at_lower_degree(lambda k: xp.special.eval_gegenbauer(k, 2.0, x), n, xp)


# --- without parameters --------------------------------------------------------------------------------
special(
    "eval_chebyt", "n x", DEGREE,
    lambda t, n, x, xp: t * n * at_lower_degree(lambda k: xp.special.eval_chebyu(k, x), n, xp),
    domains=[DEGREES, ARGUMENTS], integers="n", complex=True,
    summary="Chebyshev polynomial of the first kind", source="DLMF 18.9.21",
)  # fmt: skip
special(
    "eval_chebyu", "n x", DEGREE,
    lambda t, n, x, xp: t * chebyshev_slope(n, x, xp),
    domains=[DEGREES, ARGUMENTS], integers="n", complex=True,
    summary="Chebyshev polynomial of the second kind", source="DLMF 18.9.19",
)  # fmt: skip
special(
    "eval_chebyc", "n x", DEGREE,
    lambda t, n, x, xp: t * n * at_lower_degree(lambda k: xp.special.eval_chebys(k, x), n, xp),
    domains=[DEGREES, DOUBLED], integers="n", complex=True,
    summary="Chebyshev polynomial of the first kind on [-2, 2]", source="DLMF 18.9.21",
)  # fmt: skip
special(
    "eval_chebys", "n x", DEGREE,
    lambda t, n, x, xp: t * 0.5 * chebyshev_slope(n, 0.5 * x, xp),
    domains=[DEGREES, DOUBLED], integers="n", complex=True,
    summary="Chebyshev polynomial of the second kind on [-2, 2]", source="DLMF 18.9.19",
)  # fmt: skip
special(
    "eval_sh_chebyt", "n x", DEGREE,
    lambda t, n, x, xp: t * 2 * n * at_lower_degree(lambda k: xp.special.eval_sh_chebyu(k, x), n, xp),
    domains=[DEGREES, SHIFTED], integers="n", complex=True,
    summary="Shifted Chebyshev polynomial of the first kind", source="DLMF 18.9.21",
)  # fmt: skip
special(
    "eval_sh_chebyu", "n x", DEGREE,
    lambda t, n, x, xp: t * 2 * chebyshev_slope(n, 2 * x - 1, xp),
    domains=[DEGREES, SHIFTED], integers="n", complex=True,
    summary="Shifted Chebyshev polynomial of the second kind", source="DLMF 18.9.19",
)  # fmt: skip
special(
    "eval_legendre", "n x", DEGREE,
    lambda t, n, x, xp: t * legendre_slope(n, x, xp),
    domains=[DEGREES, ARGUMENTS], integers="n", complex=True,
    summary="Legendre polynomial", source="DLMF 18.9.19",
)  # fmt: skip
special(
    "eval_sh_legendre", "n x", DEGREE,
    lambda t, n, x, xp: t * 2 * legendre_slope(n, 2 * x - 1, xp),
    domains=[DEGREES, SHIFTED], integers="n", complex=True,
    summary="Shifted Legendre polynomial", source="DLMF 18.9.19",
)  # fmt: skip
special(
    "eval_laguerre", "n x", DEGREE,
    lambda t, n, x, xp: -t * at_lower_degree(lambda k: xp.special.eval_genlaguerre(k, 1.0, x), n, xp),
    domains=[DEGREES, HALF_LINE], integers="n", complex=True,
    summary="Laguerre polynomial", source="DLMF 18.9.23",
)  # fmt: skip
special(
    "eval_hermite", "n x", None,
    lambda t, n, x, xp: t * 2 * n * at_lower_degree(lambda k: xp.special.eval_hermite(k, x), n, xp),
    domains=[DEGREES, DOUBLED], integers="n",
    summary="Physicists' Hermite polynomial", source="DLMF 18.9.25",
)  # fmt: skip
special(
    "eval_hermitenorm", "n x", None,
    lambda t, n, x, xp: t * n * at_lower_degree(lambda k: xp.special.eval_hermitenorm(k, x), n, xp),
    domains=[DEGREES, DOUBLED], integers="n",
    summary="Probabilists' Hermite polynomial", source="DLMF 18.9.27",
)  # fmt: skip


# --- with parameters --------------------------------------------------------------------------------
special(
    "eval_gegenbauer", "n alpha x", DEGREE,
    lambda t, n, alpha, x, y, xp: t * gegenbauer_by_alpha(n, alpha, x, y, xp),
    lambda t, n, alpha, x, xp: t * 2 * alpha * at_lower_degree(
        lambda k: xp.special.eval_gegenbauer(k, alpha + 1, x), n, xp),
    domains=[(2, 7), PARAMETERS, ARGUMENTS], integers="n", complex=True,
    summary="Gegenbauer polynomial", source="DLMF 18.9.19",
)  # fmt: skip
special(
    "eval_genlaguerre", "n alpha x", DEGREE,
    lambda t, n, alpha, x, xp: t * genlaguerre_by_alpha(n, alpha, x, xp),
    lambda t, n, alpha, x, xp: -t * at_lower_degree(
        lambda k: xp.special.eval_genlaguerre(k, alpha + 1, x), n, xp),
    domains=[(2, 7), PARAMETERS, HALF_LINE], integers="n", complex=True,
    summary="Generalized Laguerre polynomial", source="DLMF 18.9.23",
)  # fmt: skip
special(
    "eval_jacobi", "n alpha beta x", DEGREE,
    lambda t, n, alpha, beta, x, y, xp: t * jacobi_by_alpha(n, alpha, beta, x, y, xp),
    lambda t, n, alpha, beta, x, y, xp: t * jacobi_by_beta(n, alpha, beta, x, y, xp),
    lambda t, n, alpha, beta, x, xp: t * 0.5 * (n + alpha + beta + 1) * at_lower_degree(
        lambda k: xp.special.eval_jacobi(k, alpha + 1, beta + 1, x), n, xp),
    domains=[(2, 7), PARAMETERS, PARAMETERS, ARGUMENTS], integers="n", complex=True,
    summary="Jacobi polynomial", source="DLMF 18.9.15",
)  # fmt: skip
special(
    "eval_sh_jacobi", "n p q x", DEGREE,
    lambda t, n, p, q, x, y, xp: t * sh_jacobi_by_p(n, p, q, x, y, xp),
    lambda t, n, p, q, x, y, xp: t * sh_jacobi_by_q(n, p, q, x, y, xp),
    lambda t, n, p, q, x, xp: t * n * at_lower_degree(
        lambda k: xp.special.eval_sh_jacobi(k, p + 2, q + 1, x), n, xp),
    domains=[(2, 7), (2.1, 4.0), PARAMETERS, SHIFTED], integers="n", complex=True,
    summary="Shifted Jacobi polynomial", source="DLMF 18.9.15",
)  # fmt: skip


# --- associated Legendre functions ------------------------------------------------------------------
special(
    "lpmv", "m v x", None,
    Unknown(
        "no closed form of the derivative with respect to the degree of a Legendre function is known"
    ),
    lambda t, m, v, x, xp: t * associated_slope(m, v, x, xp),
    domains=[(0, 3), (3, 6), ARGUMENTS], integers="m v",
    summary="Associated Legendre function of integer order", source="DLMF 14.10.1",
)  # fmt: skip


def associated_slope(m: Real, v: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of the associated Legendre function P_m = lpmv(m, v, x) with respect to x.

    The derivative is ``-m x P_m / (1 - x ** 2) - P_(m + 1) / sqrt(1 - x ** 2)``.  Near x = -1
    and x = 1 the formula cancels, so for m = 0 the derivative of Legendre's polynomial is computed there
    as a Jacobi polynomial.  For other m the result at -1 and 1 is NaN.
    """
    near = (xp.abs(x) > 0.9) & (m + 0 * x == 0)
    end = xp.abs(x) >= 1
    w = xp.where(end, 1 + 0 * x, (1 - x) * (1 + x))
    inside = -m * x * xp.special.lpmv(m, v, x) / w - xp.special.lpmv(m + 1.0, v, x) / xp.sqrt(w)
    polynomial = 0.5 * (v + 1) * xp.special.eval_jacobi(v - 1.0, 1.0, 1.0, x)
    return xp.where(near, polynomial, xp.where(end, math.nan, inside))


def lower_degrees(n: Real, xp: Namespace) -> list[tuple[int, Any, Any]]:
    """Return tuples (k, mask of k < n, n - k) for the degrees k below the largest n, in falling order.

    A derivative in a parameter is a sum over the polynomials of lower degrees k.  The last item is 1
    where the mask is False, because callers divide by it.
    """
    found = []
    for k in range(largest_order(n) - 1, -1, -1):
        used = xp.asarray(n) > k
        found.append((k, used, xp.where(used, n - k, 1)))
    return found


def nan_between_degrees(n: Real, total: Real, xp: Namespace) -> Any:
    """Return ``total`` where n is a whole number, else NaN.

    ``total`` is a sum over lower degrees, which is the derivative only for a whole n.
    """
    return total if isinstance(n, int) else xp.where(n == xp.round(n), total, math.nan)


def gegenbauer_by_alpha(n: Real, alpha: Real, x: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative of the Gegenbauer polynomial C_n with respect to alpha.

    The derivative is the sum over k < n of two terms, with even = 1 + (-1) ** (n - k):

        (2 even (k + alpha) C_k / (n - k) + 2 C_n) / (n + k + 2 alpha)
        2 (k + 1) C_n / ((k + 2 alpha) (2 k + 2 alpha + 1))

    Source: Szmytkowski 2009.
    """
    total = 0 * y
    for k, used, difference in lower_degrees(n, xp):
        even = xp.where(difference % 2 == 0, 4 / difference, 0.0)
        term = (even * (k + alpha) * xp.special.eval_gegenbauer(k, alpha, x) + 2 * y) / (
            n + k + 2 * alpha
        )
        term = term + 2 * (k + 1) * y / ((k + 2 * alpha) * (2 * k + 2 * alpha + 1))
        total = total + xp.where(used, term, 0.0)
    return nan_between_degrees(n, total, xp)


def genlaguerre_by_alpha(n: Real, alpha: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of the generalized Laguerre polynomial L_n with respect to alpha.

    The derivative is the sum of L_k / (n - k) over k < n.
    Source: Szmytkowski 2009.
    """
    total = 0 * x + 0 * alpha
    for k, used, difference in lower_degrees(n, xp):
        term = xp.special.eval_genlaguerre(k, alpha, x) / difference
        total = total + xp.where(used, term, 0.0)
    return nan_between_degrees(n, total, xp)


def jacobi_by_alpha(n: Real, alpha: Real, beta: Real, x: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative of the Jacobi polynomial with respect to alpha, for whole n."""
    return jacobi_by(n, (alpha, beta), beta, 1, x, y, xp)


def jacobi_by_beta(n: Real, alpha: Real, beta: Real, x: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative of the Jacobi polynomial with respect to beta, for whole n."""
    return jacobi_by(n, (alpha, beta), alpha, -1, x, y, xp)


def jacobi_by(
    n: Real, parameters: tuple[Any, Any], other: Real, sign: int, x: Real, y: RawArray,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the derivative of the Jacobi polynomial P_n in alpha (sign 1) or beta (sign -1).

    The derivative is the sum of (P_n + w_k P_k) / (n + k + 1 + alpha + beta) over k < n.  The weight
    w_k is sign ** (n - k) (2 k + 1 + alpha + beta) / (n - k) times the product of (other + 1 + j) /
    (alpha + beta + 1 + j) over j from k to n - 1, with ``other`` the other parameter.  Source:
    Froehlich 1994.
    """
    alpha, beta = parameters
    both = alpha + beta + 1
    total, product = 0 * y, 1.0
    for k, used, difference in lower_degrees(n, xp):
        # For k = 0 the factor alpha + beta + 1, which may be 0, cancels.
        first = (other + 1 + k) * ((both + 2 * k) / (both + k) if k else 1.0)
        weight = product * first / difference
        if sign < 0:
            weight = xp.where(difference % 2 == 0, weight, -weight)
        term = (y + weight * xp.special.eval_jacobi(k, alpha, beta, x)) / (n + k + both)
        total = total + xp.where(used, term, 0.0)
        if k:
            product = xp.where(used, product * (other + 1 + k) / (both + k), product)
    return nan_between_degrees(n, total, xp)


def sh_jacobi_by_p(n: Real, p: Real, q: Real, x: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative of the shifted Jacobi polynomial with respect to p.

    The polynomial is P_n(p - q, q - 1) at 2 x - 1 divided by the binomial coefficient of
    2 n + p - 1 and n.
    """
    size, rate = sh_jacobi_scale(n, p, xp)
    return jacobi_by_alpha(n, p - q, q - 1, 2 * x - 1, y * size, xp) / size - rate * y


def sh_jacobi_by_q(n: Real, p: Real, q: Real, x: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative of the shifted Jacobi polynomial with respect to q."""
    size, _ = sh_jacobi_scale(n, p, xp)
    by_alpha = jacobi_by_alpha(n, p - q, q - 1, 2 * x - 1, y * size, xp)
    return (jacobi_by_beta(n, p - q, q - 1, 2 * x - 1, y * size, xp) - by_alpha) / size


def sh_jacobi_scale(n: Real, p: Real, xp: Namespace) -> tuple[Any, Any]:
    """Return the binomial coefficient of 2 n + p - 1 and n, and its logarithmic derivative in p."""
    size, rate = 1.0 + 0 * p, 0 * p
    for k, used, _ in lower_degrees(n, xp):
        size = xp.where(used, size * (n + p + k) / (k + 1), size)
        rate = xp.where(used, rate + 1 / (n + p + k), rate)
    return size, rate
