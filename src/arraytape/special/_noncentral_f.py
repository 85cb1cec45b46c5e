"""The noncentral F distribution: a Poisson mixture of incomplete beta functions.

    F(a, b, rate, x) = sum over s of exp(-rate) rate ** s / s! betainc(a + s, b, x)

The rate is half of the noncentrality.  The operand ``complement`` of a kernel is 1 - x, for accuracy.
Source: Johnson, Kotz and Balakrishnan 1995, chapter 30.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._incomplete import ORDER, SHAPE
from ._noncentral import LAMBDA, finite_operands, poisson_window, sums_from_steps
from ._quadrature import compute_each_order, double_kernel
from ._statement import POSITIVE, UNIT, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real


# --- mixtures -----------------------------------------------------------------------------------------
def beta_window(
    a: RawArray, b: RawArray, rate: RawArray, x: RawArray, xp: Namespace
) -> tuple[Any, Any]:
    """Return (indices s, Poisson weights) of the largest terms of a mixture's density at x.

    The mixture is that of beta distributions of the shapes a + s and b, for s = 0, 1, 2, ...  The ratio
    of term s + 1 to term s, rate x (a + b + s) / ((s + 1) (a + s)), is 1 at the largest term.
    """
    shift = a - rate * x
    peak = 0.5 * (xp.sqrt(shift * shift + 4 * rate * x * (a + b)) - shift)
    return poisson_window(xp.where(peak <= 0, 0.0, peak), rate, xp)


def beta_step(
    i: int, j: int, a: RawArray, b: RawArray, x: RawArray, complement: RawArray, xp: Namespace
) -> Any:
    """Return the derivative of betainc(a, b, x) - betainc(a + 1, b, x) of order i in a and j in b.

    The difference is the density of a + 1 and b, times (1 - x) / (a + b): DLMF 8.17.20.
    """
    total = 0.0
    for p, q in itertools.product(range(i + 1), range(j + 1)):
        weight = math.comb(i, p) * math.comb(j, q) * (-1) ** (p + q) * math.factorial(p + q)
        slope = xp.special.beta_density(i - p, j - q, 0, a + 1.0, b, x, complement)
        total = total + weight * slope / (a + b) ** (p + q + 1)
    return complement * total


@double_kernel
def noncentral_beta_density(
    i: RawArray, j: RawArray, m: RawArray, a: RawArray, b: RawArray, rate: RawArray, x: RawArray,
    complement: RawArray, *, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the derivative of orders i, j, m in a, b, x of a Poisson mixture of beta densities.

    The mixture is the sum over s of the Poisson probability of s times the beta density of a + s and b.
    """
    inside, (a, b, rate, x, complement) = finite_operands(0.5, a, b, rate, x, complement, xp=xp)
    terms, weights = beta_window(a, b, rate, x, xp)

    def mixed_density_of_orders(i: int, j: int, m: int) -> Any:
        parts = xp.special.beta_density(
            i, j, m, a[:, None] + terms, b[:, None], x[:, None], complement[:, None]
        )
        return xp.where(inside, xp.sum(weights * parts, axis=-1), math.nan)

    return compute_each_order((i, j, m), mixed_density_of_orders, xp)


@double_kernel
def noncentral_beta_step(
    i: RawArray, j: RawArray, a: RawArray, b: RawArray, rate: RawArray, x: RawArray,
    complement: RawArray, *, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the derivative, of order i in a and j in b, of minus dF / drate.

    F is the Poisson mixture of betainc: the sum over s of the probability of s times
    betainc(a + s, b, x).  So minus its derivative in the rate is the mixture of the differences
    betainc(a + s, b, x) - betainc(a + s + 1, b, x).
    """
    inside, (a, b, rate, x, complement) = finite_operands(0.5, a, b, rate, x, complement, xp=xp)
    terms, weights = beta_window(a, b, rate, x, xp)

    def mixed_step_of_orders(i: int, j: int) -> Any:
        parts = beta_step(i, j, a[:, None] + terms, b[:, None], x[:, None], complement[:, None], xp)
        return xp.where(inside, xp.sum(weights * parts, axis=-1), math.nan)

    return compute_each_order((i, j), mixed_step_of_orders, xp)


@double_kernel
def noncentral_beta_by(
    i: RawArray, j: RawArray, a: RawArray, b: RawArray, rate: RawArray, x: RawArray,
    complement: RawArray, *, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the derivative of order i in a and j in b of a Poisson mixture of betainc; i + j > 0.

    The mixture is the sum over s of the Poisson probability of s times betainc(a + s, b, x).
    """
    inside, (a, b, rate, x, complement) = finite_operands(0.5, a, b, rate, x, complement, xp=xp)
    terms, weights = beta_window(a, b, rate, x, xp)

    def mixed_betainc_of_orders(i: int, j: int) -> Any:
        ends = (terms[:, 0], terms[:, -1] + 1.0)
        first, last = [xp.special.betainc_by(i, j, a + end, b, x, complement) for end in ends]
        shapes = a[:, None] + terms
        wide = b[:, None], x[:, None], complement[:, None]
        steps = beta_step(i, j, shapes, *wide, xp)
        lower = shapes * wide[2] > wide[0] * wide[1]  # where x is below the distribution's mean
        parts = sums_from_steps(first, last, steps, lower, xp)
        return xp.where(inside, xp.sum(weights * parts, axis=-1), math.nan)

    return compute_each_order((i, j), mixed_betainc_of_orders, xp)


special(
    "noncentral_beta_density", "i j m a b rate x complement", None, None, None,
    lambda t, i, j, m, a, b, rate, x, complement, xp: (
        t * xp.special.noncentral_beta_density(i + 1, j, m, a, b, rate, x, complement)
    ),
    lambda t, i, j, m, a, b, rate, x, complement, xp: (
        t * xp.special.noncentral_beta_density(i, j + 1, m, a, b, rate, x, complement)
    ),
    lambda t, i, j, m, a, b, rate, x, complement, xp: t * (
        xp.special.noncentral_beta_density(i, j, m, a + 1, b, rate, x, complement)
        - xp.special.noncentral_beta_density(i, j, m, a, b, rate, x, complement)
    ),
    lambda t, i, j, m, a, b, rate, x, complement, xp: (
        t * xp.special.noncentral_beta_density(i, j, m + 1, a, b, rate, x, complement)
    ),
    None,
    domains=[ORDER, ORDER, ORDER, SHAPE, SHAPE, LAMBDA, UNIT, UNIT], integers="i j m", public=False,
    summary="A Poisson mixture of beta densities, of orders i, j, m in a, b, x",
)  # fmt: skip
special(
    "noncentral_beta_step", "i j a b rate x complement", None, None,
    lambda t, i, j, a, b, rate, x, complement, xp: (
        t * xp.special.noncentral_beta_step(i + 1, j, a, b, rate, x, complement)
    ),
    lambda t, i, j, a, b, rate, x, complement, xp: (
        t * xp.special.noncentral_beta_step(i, j + 1, a, b, rate, x, complement)
    ),
    lambda t, i, j, a, b, rate, x, complement, xp: t * (
        xp.special.noncentral_beta_step(i, j, a + 1, b, rate, x, complement)
        - xp.special.noncentral_beta_step(i, j, a, b, rate, x, complement)
    ),
    lambda t, i, j, a, b, rate, x, complement, xp: t * (
        xp.special.noncentral_beta_density(i, j, 0, a, b, rate, x, complement)
        - xp.special.noncentral_beta_density(i, j, 0, a + 1, b, rate, x, complement)
    ),
    None,
    domains=[ORDER, ORDER, SHAPE, SHAPE, LAMBDA, UNIT, UNIT], integers="i j", public=False,
    summary="A Poisson mixture of betainc(a, b, x) - betainc(a + 1, b, x), of orders i, j in a, b",
)  # fmt: skip
special(
    "noncentral_beta_by", "i j a b rate x complement", None, None,
    lambda t, i, j, a, b, rate, x, complement, xp: (
        t * xp.special.noncentral_beta_by(i + 1, j, a, b, rate, x, complement)
    ),
    lambda t, i, j, a, b, rate, x, complement, xp: (
        t * xp.special.noncentral_beta_by(i, j + 1, a, b, rate, x, complement)
    ),
    lambda t, i, j, a, b, rate, x, complement, xp: (
        -t * xp.special.noncentral_beta_step(i, j, a, b, rate, x, complement)
    ),
    lambda t, i, j, a, b, rate, x, complement, xp: (
        t * xp.special.noncentral_beta_density(i, j, 0, a, b, rate, x, complement)
    ),
    None,
    domains=[(1, 3), (1, 3), SHAPE, SHAPE, LAMBDA, UNIT, UNIT], integers="i j", public=False,
    summary="A Poisson mixture of incomplete beta functions, of orders i, j in a, b",
)  # fmt: skip


# --- ncfdtr, the density, the inverses ----------------------------------------------------------------
def ncf_mixture_arguments(
    dfn: Real, dfd: Real, nc: Real, f: Real, xp: Namespace
) -> tuple[Any, ...]:
    """Return (a, b, rate, x, 1 - x) with which the mixture of betainc is ncfdtr(dfn, dfd, nc, f)."""
    odds = dfn * f / dfd
    return dfn / 2, dfd / 2, nc / 2, xp.special.share(odds), 1 / (1 + odds)


def ncf_density(dfn: Real, dfd: Real, nc: Real, f: Real, xp: Namespace) -> Any:
    """Return the derivative of ncfdtr, the noncentral F cumulative function, with respect to f."""
    a, b, rate, x, c = ncf_mixture_arguments(dfn, dfd, nc, f, xp)
    return xp.special.noncentral_beta_density(0, 0, 0, a, b, rate, x, c) * c * c * dfn / dfd


def ncf_by_dfn(dfn: Real, dfd: Real, nc: Real, f: Real, xp: Namespace) -> Any:
    """Return the derivative of ncfdtr, the noncentral F cumulative function, with respect to dfn."""
    slope = xp.special.noncentral_beta_by(1, 0, *ncf_mixture_arguments(dfn, dfd, nc, f, xp))
    return 0.5 * slope + ncf_density(dfn, dfd, nc, f, xp) * f / dfn


def ncf_by_dfd(dfn: Real, dfd: Real, nc: Real, f: Real, xp: Namespace) -> Any:
    """Return the derivative of ncfdtr, the noncentral F cumulative function, with respect to dfd."""
    slope = xp.special.noncentral_beta_by(0, 1, *ncf_mixture_arguments(dfn, dfd, nc, f, xp))
    return 0.5 * slope - ncf_density(dfn, dfd, nc, f, xp) * f / dfd


def ncf_by_nc(dfn: Real, dfd: Real, nc: Real, f: Real, xp: Namespace) -> Any:
    """Return the derivative of ncfdtr, the noncentral F cumulative function, with respect to nc."""
    return -0.5 * xp.special.noncentral_beta_step(0, 0, *ncf_mixture_arguments(dfn, dfd, nc, f, xp))


def density_by_odds(dfn: Real, dfd: Real, nc: Real, f: Real, xp: Namespace) -> tuple[Any, Any]:
    """Return the noncentral F density of the odds dfn f / dfd, and its derivative in the odds."""
    a, b, rate, x, c = ncf_mixture_arguments(dfn, dfd, nc, f, xp)
    value = xp.special.noncentral_beta_density(0, 0, 0, a, b, rate, x, c) * c * c
    slope = xp.special.noncentral_beta_density(0, 0, 1, a, b, rate, x, c)
    return value, (slope * c * c - 2 * value / c) * c * c


def pdf_by_f(f: Real, dfn: Real, dfd: Real, nc: Real, xp: Namespace) -> Any:
    """Return the derivative of the noncentral F density with respect to f."""
    return density_by_odds(dfn, dfd, nc, f, xp)[1] * (dfn / dfd) * (dfn / dfd)


def pdf_by_ratio(f: Real, dfn: Real, dfd: Real, nc: Real, xp: Namespace) -> Any:
    """Return the derivative of the noncentral F density with respect to log(dfn / dfd)."""
    value, slope = density_by_odds(dfn, dfd, nc, f, xp)
    return (value + slope * dfn * f / dfd) * dfn / dfd


def pdf_by_shape(i: int, j: int, f: Real, dfn: Real, dfd: Real, nc: Real, xp: Namespace) -> Any:
    """Return the derivative of the noncentral F density in dfn / 2 (i = 1) or dfd / 2 (j = 1).

    The ratio dfn / dfd is held fixed.  ``pdf_by_ratio`` is the derivative in log(dfn / dfd).
    """
    a, b, rate, x, c = ncf_mixture_arguments(dfn, dfd, nc, f, xp)
    return xp.special.noncentral_beta_density(i, j, 0, a, b, rate, x, c) * c * c * dfn / dfd


def pdf_by_nc(f: Real, dfn: Real, dfd: Real, nc: Real, xp: Namespace) -> Any:
    """Return the derivative of the noncentral F density with respect to nc."""
    a, b, rate, x, c = ncf_mixture_arguments(dfn, dfd, nc, f, xp)
    above = xp.special.noncentral_beta_density(0, 0, 0, a + 1, b, rate, x, c)
    difference = above - xp.special.noncentral_beta_density(0, 0, 0, a, b, rate, x, c)
    return 0.5 * difference * c * c * dfn / dfd


FREEDOM = (2.0, 6.0)
ncfdtr = special(
    "ncfdtr", "dfn dfd nc f",
    lambda t, dfn, dfd, nc, f, xp: t * ncf_by_dfn(dfn, dfd, nc, f, xp),
    lambda t, dfn, dfd, nc, f, xp: t * ncf_by_dfd(dfn, dfd, nc, f, xp),
    lambda t, dfn, dfd, nc, f, xp: t * ncf_by_nc(dfn, dfd, nc, f, xp),
    lambda t, dfn, dfd, nc, f, xp: t * ncf_density(dfn, dfd, nc, f, xp),
    domains=[FREEDOM, FREEDOM, LAMBDA, POSITIVE],
    summary="The cumulative function of the noncentral F distribution",
)  # fmt: skip
special(
    "_ncf_sf", "f dfn dfd nc",
    lambda t, dfn, dfd, nc, f, xp: -t * ncf_density(dfn, dfd, nc, f, xp),
    lambda t, dfn, dfd, nc, f, xp: -t * ncf_by_dfn(dfn, dfd, nc, f, xp),
    lambda t, dfn, dfd, nc, f, xp: -t * ncf_by_dfd(dfn, dfd, nc, f, xp),
    lambda t, dfn, dfd, nc, f, xp: -t * ncf_by_nc(dfn, dfd, nc, f, xp),
    domains=[POSITIVE, FREEDOM, FREEDOM, LAMBDA], public=False,
    summary="The survival function of the noncentral F distribution",
)  # fmt: skip
special(
    "_ncf_pdf", "f dfn dfd nc",
    lambda t, f, dfn, dfd, nc, xp: t * pdf_by_f(f, dfn, dfd, nc, xp),
    lambda t, f, dfn, dfd, nc, xp: t * (
        0.5 * pdf_by_shape(1, 0, f, dfn, dfd, nc, xp) + pdf_by_ratio(f, dfn, dfd, nc, xp) / dfn
    ),
    lambda t, f, dfn, dfd, nc, xp: t * (
        0.5 * pdf_by_shape(0, 1, f, dfn, dfd, nc, xp) - pdf_by_ratio(f, dfn, dfd, nc, xp) / dfd
    ),
    lambda t, f, dfn, dfd, nc, xp: t * pdf_by_nc(f, dfn, dfd, nc, xp),
    domains=[POSITIVE, FREEDOM, FREEDOM, LAMBDA], public=False,
    summary="The density of the noncentral F distribution",
)  # fmt: skip


def ncf_quotient(above: Callable[..., Any], below: Callable[..., Any], *arguments: Any) -> Any:
    """Return the derivative of an inverse of ncfdtr, -above / below (inverse function theorem).

    above, below : functions that return derivatives of ncfdtr at ``arguments``.
    """
    return -above(*arguments) / below(*arguments)


ncfdtri = special(
    "ncfdtri", "dfn dfd nc p",
    lambda t, dfn, dfd, nc, y, xp: t * ncf_quotient(ncf_by_dfn, ncf_density, dfn, dfd, nc, y, xp),
    lambda t, dfn, dfd, nc, y, xp: t * ncf_quotient(ncf_by_dfd, ncf_density, dfn, dfd, nc, y, xp),
    lambda t, dfn, dfd, nc, y, xp: t * ncf_quotient(ncf_by_nc, ncf_density, dfn, dfd, nc, y, xp),
    lambda t, dfn, dfd, nc, y, xp: t / ncf_density(dfn, dfd, nc, y, xp),
    domains=[FREEDOM, FREEDOM, LAMBDA, (0.1, 0.9)], summary="The f at which ncfdtr is p",
)  # fmt: skip
special(
    "_ncf_isf", "p dfn dfd nc",
    lambda t, dfn, dfd, nc, y, xp: -t / ncf_density(dfn, dfd, nc, y, xp),
    lambda t, dfn, dfd, nc, y, xp: t * ncf_quotient(ncf_by_dfn, ncf_density, dfn, dfd, nc, y, xp),
    lambda t, dfn, dfd, nc, y, xp: t * ncf_quotient(ncf_by_dfd, ncf_density, dfn, dfd, nc, y, xp),
    lambda t, dfn, dfd, nc, y, xp: t * ncf_quotient(ncf_by_nc, ncf_density, dfn, dfd, nc, y, xp),
    domains=[(0.1, 0.9), FREEDOM, FREEDOM, LAMBDA], public=False,
    summary="The f at which the noncentral F survival function is p",
)  # fmt: skip
ncfdtridfd = special(
    "ncfdtridfd", "dfn p nc f",
    lambda t, dfn, nc, f, y, xp: t * ncf_quotient(ncf_by_dfn, ncf_by_dfd, dfn, y, nc, f, xp),
    lambda t, dfn, nc, f, y, xp: t / ncf_by_dfd(dfn, y, nc, f, xp),
    lambda t, dfn, nc, f, y, xp: t * ncf_quotient(ncf_by_nc, ncf_by_dfd, dfn, y, nc, f, xp),
    lambda t, dfn, nc, f, y, xp: t * ncf_quotient(ncf_density, ncf_by_dfd, dfn, y, nc, f, xp),
    domains=[(2.0, 3.0), (0.5, 0.52), (0.3, 0.5), (1.2, 1.3)],
    summary="The dfd at which ncfdtr is p",
)  # fmt: skip
ncfdtridfn = special(
    "ncfdtridfn", "p dfd nc f",
    lambda t, dfd, nc, f, y, xp: t / ncf_by_dfn(y, dfd, nc, f, xp),
    lambda t, dfd, nc, f, y, xp: t * ncf_quotient(ncf_by_dfd, ncf_by_dfn, y, dfd, nc, f, xp),
    lambda t, dfd, nc, f, y, xp: t * ncf_quotient(ncf_by_nc, ncf_by_dfn, y, dfd, nc, f, xp),
    lambda t, dfd, nc, f, y, xp: t * ncf_quotient(ncf_density, ncf_by_dfn, y, dfd, nc, f, xp),
    domains=[(0.15, 0.18), (4.0, 6.0), (1.0, 1.5), (0.45, 0.55)],
    summary="The dfn at which ncfdtr is p",
)  # fmt: skip
ncfdtrinc = special(
    "ncfdtrinc", "dfn dfd p f",
    lambda t, dfn, dfd, f, y, xp: t * ncf_quotient(ncf_by_dfn, ncf_by_nc, dfn, dfd, y, f, xp),
    lambda t, dfn, dfd, f, y, xp: t * ncf_quotient(ncf_by_dfd, ncf_by_nc, dfn, dfd, y, f, xp),
    lambda t, dfn, dfd, f, y, xp: t / ncf_by_nc(dfn, dfd, y, f, xp),
    lambda t, dfn, dfd, f, y, xp: t * ncf_quotient(ncf_density, ncf_by_nc, dfn, dfd, y, f, xp),
    domains=[FREEDOM, FREEDOM, (0.2, 0.4), (2.0, 3.0)],
    summary="The nc at which ncfdtr is p",
)  # fmt: skip
