"""The incomplete gamma and beta functions, and their inverses.

Their derivatives are ops with the orders of the derivative as operands.  The rule of such an op calls
the op at the next order, so there are derivatives of all orders with respect to all arguments.  Kernels
in ``_quadrature`` compute the derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _quadrature  # noqa: F401  the import registers kernels
from ._statement import POSITIVE, UNIT, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

# Intervals from which tests draw operands.
ORDER = (0, 3)
PROBABILITY = (0.02, 0.98)
SHAPE = (0.3, 6.0)


# --- derivatives of all orders ------------------------------------------------------------------------
gamma_density = special(
    "gamma_density", "n m a x", None, None,
    lambda t, n, m, a, x, xp: t * xp.special.gamma_density(n + 1, m, a, x),
    lambda t, n, m, a, x, xp: t * xp.special.gamma_density(n, m + 1, a, x),
    domains=[ORDER, ORDER, SHAPE, POSITIVE], integers="n m", public=False,
    summary="The derivative of x ** (a - 1) exp(-x) / gamma(a), of order n in a and m in x",
    source="DLMF 8.8.13",
)  # fmt: skip
gammainc_by = special(
    "gammainc_by", "n a x", None,
    lambda t, n, a, x, xp: t * xp.special.gammainc_by(n + 1, a, x),
    lambda t, n, a, x, xp: t * xp.special.gamma_density(n, 0, a, x),
    domains=[(1, 3), SHAPE, POSITIVE], integers="n", public=False,
    summary="The n-th derivative of gammainc(a, x) in a, n > 0", source="DLMF 8.2.4",
)  # fmt: skip
beta_density = special(
    "beta_density", "i j m a b x complement", None, None, None,
    lambda t, i, j, m, a, b, x, complement, xp: (
        t * xp.special.beta_density(i + 1, j, m, a, b, x, complement)
    ),
    lambda t, i, j, m, a, b, x, complement, xp: (
        t * xp.special.beta_density(i, j + 1, m, a, b, x, complement)
    ),
    lambda t, i, j, m, a, b, x, complement, xp: (
        t * xp.special.beta_density(i, j, m + 1, a, b, x, complement)
    ),
    None,  # complement is 1 - x without rounding errors; the rule of x is the derivative through both
    domains=[ORDER, ORDER, ORDER, SHAPE, SHAPE, UNIT, UNIT], integers="i j m", public=False,
    summary="The derivative of x ** (a - 1) (1 - x) ** (b - 1) / beta(a, b), orders i, j, m in a, b, x",
    source="DLMF 8.17.22",
)  # fmt: skip
betainc_by = special(
    "betainc_by", "i j a b x complement", None, None,
    lambda t, i, j, a, b, x, complement, xp: (
        t * xp.special.betainc_by(i + 1, j, a, b, x, complement)
    ),
    lambda t, i, j, a, b, x, complement, xp: (
        t * xp.special.betainc_by(i, j + 1, a, b, x, complement)
    ),
    lambda t, i, j, a, b, x, complement, xp: (
        t * xp.special.beta_density(i, j, 0, a, b, x, complement)
    ),
    None,
    domains=[(1, 3), (1, 3), SHAPE, SHAPE, UNIT, UNIT], integers="i j", public=False,
    summary="The derivative of betainc(a, b, x), orders i, j in a, b, i + j > 0", source="DLMF 8.17.2",
)  # fmt: skip


def gamma_pdf(a: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of gammainc(a, x) with respect to x."""
    return xp.special.gamma_density(0, 0, a, x)


def gamma_by_a(a: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of gammainc(a, x) with respect to a."""
    return xp.special.gammainc_by(1, a, x)


def beta_pdf(a: Real, b: Real, x: Real, complement: Real, xp: Namespace) -> Any:
    """Return the derivative of betainc(a, b, x) with respect to x."""
    return xp.special.beta_density(0, 0, 0, a, b, x, complement)


def beta_by_a(a: Real, b: Real, x: Real, complement: Real, xp: Namespace) -> Any:
    """Return the derivative of betainc(a, b, x) with respect to a."""
    return xp.special.betainc_by(1, 0, a, b, x, complement)


def beta_by_b(a: Real, b: Real, x: Real, complement: Real, xp: Namespace) -> Any:
    """Return the derivative of betainc(a, b, x) with respect to b."""
    return xp.special.betainc_by(0, 1, a, b, x, complement)


# --- incomplete gamma functions ---------------------------------------------------------------------
gammainc = special(
    "gammainc", "a x",
    lambda t, a, x, xp: t * gamma_by_a(a, x, xp),
    lambda t, a, x, xp: t * gamma_pdf(a, x, xp),
    domains=[SHAPE, POSITIVE],
    summary="The regularized lower incomplete gamma function", source="DLMF 8.2.4",
)  # fmt: skip
gammaincc = special(
    "gammaincc", "a x",
    lambda t, a, x, xp: -t * gamma_by_a(a, x, xp),
    lambda t, a, x, xp: -t * gamma_pdf(a, x, xp),
    domains=[SHAPE, POSITIVE],
    summary="The regularized upper incomplete gamma function", source="DLMF 8.2.4",
)  # fmt: skip
gammaincinv = special(
    "gammaincinv", "a p",
    lambda t, a, y, xp: -t * gamma_by_a(a, y, xp) / gamma_pdf(a, y, xp),
    lambda t, a, y, xp: t / gamma_pdf(a, y, xp),
    domains=[SHAPE, PROBABILITY],
    summary="The x at which gammainc(a, x) is p",
)  # fmt: skip
gammainccinv = special(
    "gammainccinv", "a p",
    lambda t, a, y, xp: -t * gamma_by_a(a, y, xp) / gamma_pdf(a, y, xp),
    lambda t, a, y, xp: -t / gamma_pdf(a, y, xp),
    domains=[SHAPE, PROBABILITY],
    summary="The x at which gammaincc(a, x) is p",
)  # fmt: skip

# --- incomplete beta functions ----------------------------------------------------------------------
betainc = special(
    "betainc", "a b x",
    lambda t, a, b, x, xp: t * beta_by_a(a, b, x, 1 - x, xp),
    lambda t, a, b, x, xp: t * beta_by_b(a, b, x, 1 - x, xp),
    lambda t, a, b, x, xp: t * beta_pdf(a, b, x, 1 - x, xp),
    domains=[SHAPE, SHAPE, UNIT],
    summary="The regularized incomplete beta function", source="DLMF 8.17.2",
)  # fmt: skip
betaincc = special(
    "betaincc", "a b x",
    lambda t, a, b, x, xp: -t * beta_by_a(a, b, x, 1 - x, xp),
    lambda t, a, b, x, xp: -t * beta_by_b(a, b, x, 1 - x, xp),
    lambda t, a, b, x, xp: -t * beta_pdf(a, b, x, 1 - x, xp),
    domains=[SHAPE, SHAPE, UNIT],
    summary="The complement of the regularized incomplete beta function", source="DLMF 8.17.4",
)  # fmt: skip


def beta_quantile_rules(sign: int, complement: Callable[..., Any]) -> list[Any]:
    """Return the derivative rules in a, b and p of betaincinv (sign 1) or betainccinv (sign -1).

    ``complement(a, b, p, xp)`` returns 1 - y for the result y, accurate where y is near 1.
    """

    def by_a(t: RawArray, a: Real, b: Real, p: Real, y: RawArray, xp: Namespace) -> Any:
        """Return ``t`` times the derivative in a: ``-beta_by_a(*x) / beta_pdf(*x)`` at
        ``x = (a, b, y, 1 - y)``, with y the result.
        """
        x = a, b, y, complement(a, b, p, xp), xp
        return -t * beta_by_a(*x) / beta_pdf(*x)

    def by_b(t: RawArray, a: Real, b: Real, p: Real, y: RawArray, xp: Namespace) -> Any:
        """Return ``t`` times the derivative in b: ``-beta_by_b(*x) / beta_pdf(*x)`` at
        ``x = (a, b, y, 1 - y)``, with y the result.
        """
        x = a, b, y, complement(a, b, p, xp), xp
        return -t * beta_by_b(*x) / beta_pdf(*x)

    def by_p(t: RawArray, a: Real, b: Real, p: Real, y: RawArray, xp: Namespace) -> Any:
        """Return ``t`` times the derivative in p: ``1 / beta_pdf(a, b, y, 1 - y)`` for betaincinv, the
        negative of that for betainccinv, with y the result.
        """
        return sign * t / beta_pdf(a, b, y, complement(a, b, p, xp), xp)

    return [by_a, by_b, by_p]


betaincinv = special(
    "betaincinv", "a b p",
    *beta_quantile_rules(1, lambda a, b, p, xp: xp.special.betainccinv(b, a, p)),
    domains=[SHAPE, SHAPE, PROBABILITY],
    summary="The x at which betainc(a, b, x) is p",
)  # fmt: skip
betainccinv = special(
    "betainccinv", "a b p",
    *beta_quantile_rules(-1, lambda a, b, p, xp: xp.special.betaincinv(b, a, p)),
    domains=[SHAPE, SHAPE, PROBABILITY],
    summary="The x at which betaincc(a, b, x) is p",
)  # fmt: skip
