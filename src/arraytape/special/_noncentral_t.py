"""The noncentral t distribution: a mixture of normal distributions over the chi distribution.

    nctdtr(df, nc, t) = integral of density(x) ndtr(s sqrt(x) - nc) over x > 0

The density is that of a gamma distribution, x ** (a - 1) exp(-x) / gamma(a) with a = df / 2, and s is
t / sqrt(a).  Derivatives are integrals of the same kind, computed by quadrature in the logarithm of x.
Source: Johnson, Kotz and Balakrishnan 1995, chapter 31.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._incomplete import ORDER
from ._quadrature import (
    BENDING,
    DEPTH,
    clip_edge,
    compute_each_order,
    double_kernel,
    gamma_constants,
    panel_nodes,
)
from ._statement import REAL, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

BISECTIONS = 40  # steps of the bisection that finds the first and the last edge in ``nct_edges``


def normal_part(k: int, z: RawArray, xp: Namespace) -> Any:
    """Return the k-th derivative of ndtr (the normal cdf) at z, divided by the normal density at z."""
    before, found = 0.0 * z, 1.0 + 0.0 * z
    for i in range(k - 1):  # the recurrence of Hermite polynomials, DLMF 18.9.1
        before, found = found, -(z * found + i * before)
    return found


def log_integrand(
    k: int, v: RawArray, a: RawArray, nc: RawArray, s: RawArray, xp: Namespace
) -> Any:
    """Return the logarithm of the integrand, in v = log(x), of the mean of f(s sqrt(x) - nc).

    x has the gamma distribution of shape a, and f is the k-th derivative of ndtr.  Factors that are
    constants or polynomials are left out.
    """
    z = s * xp.exp(0.5 * v) - nc
    normal = -0.5 * z * z if k else xp.special.log_ndtr(z)
    return a * v - xp.exp(v) + normal


def nct_edges(k: int, a: RawArray, nc: RawArray, s: RawArray, xp: Namespace) -> list[Any]:
    """Return the edges of quadrature panels in v for the integral whose logarithm is ``log_integrand``.

    At the first and the last edge the integrand has fallen by exp(-DEPTH) from its maximum.
    """
    half = 1 + 0.5 * s * s
    peak = (0.5 * s * nc + xp.sqrt((0.5 * s * nc) ** 2 + 4 * a * half)) / (2 * half)
    peak, center = 2 * xp.log(peak), xp.log(a)
    heights = [log_integrand(k, v, a, nc, s, xp) for v in (peak, 0.5 * (peak + center), center)]
    top = xp.maximum(xp.maximum(heights[0], heights[1]), heights[2])
    level = top - DEPTH
    low_v, high_v = xp.minimum(peak, center), xp.maximum(peak, center)
    spread = 3.0 + 3.0 * (a * center - a - level) / a
    ends = []
    for inside, outside in ((low_v, level / a), (high_v, center + xp.log1p(spread))):
        for _ in range(BISECTIONS):
            middle = 0.5 * (inside + outside)
            above = log_integrand(k, middle, a, nc, s, xp) > level
            inside, outside = xp.where(above, middle, inside), xp.where(above, outside, middle)
        ends.append(outside)
    low, high = ends
    left = [clip_edge(low_v - d, low, high, xp) for d in reversed(BENDING)]
    middle = [low_v + (high_v - low_v) * part for part in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return [low, *left, *middle, 0.5 * (high_v + high), high]


@double_kernel
def normal_gamma(
    n: RawArray, r: RawArray, k: RawArray, a: RawArray, nc: RawArray, s: RawArray, *, xp: Namespace
) -> Any:
    """Return the n-th derivative in a of the mean of x ** (r / 2) f(s sqrt(x) - nc).

    Here x has the gamma distribution of shape a, and f is the k-th derivative of ndtr, the normal
    cumulative function.  All derivatives of nctdtr, the noncentral t cumulative function, consist of
    such means.  At least one of n and k is positive.
    """
    inside = (a > 0) & xp.isfinite(a) & xp.isfinite(nc) & xp.isfinite(s)
    a, nc, s = (xp.where(inside, z, 1.0) for z in (a, nc, s))
    # ndtr(z) and -ndtr(-z) differ by 1, whose mean has the derivative 0 in a.  So their means have the
    # same derivatives, and the function with the smaller values is integrated.
    turned = s * xp.sqrt(a) > nc
    scale, center = -xp.special.gammaln(a), xp.special.digamma(a)[:, None]

    def normal_gamma_of_orders(n: int, r: int, k: int) -> Any:
        sign = xp.where(turned, -1.0, 1.0) if k == 0 else 1.0 + 0.0 * a
        s1, nc1 = sign * s, sign * nc
        constants = gamma_constants(n, a, xp)
        total = 0.0
        for v, weights in panel_nodes(nct_edges(k, a, nc1, s1, xp), xp):
            z = s1[:, None] * xp.exp(0.5 * v) - nc1[:, None]
            power = log_integrand(k, v, a[:, None], nc1[:, None], s1[:, None], xp)
            weights = weights * xp.exp(power + 0.5 * r * v + scale[:, None])
            if k:
                weights = weights * normal_part(k, z, xp)
            for p in range(n + 1):
                moment = xp.sum(weights * (v - center) ** p, axis=-1)
                total = total + math.comb(n, p) * constants[n - p] * moment
        total = total * (1 / math.sqrt(2 * math.pi) if k else 1.0)
        return xp.where(inside, sign * total, math.nan)

    return compute_each_order((n, r, k), normal_gamma_of_orders, xp)


special(
    "normal_gamma", "n r k a nc s", None, None, None,
    lambda t, n, r, k, a, nc, s, xp: t * xp.special.normal_gamma(n + 1, r, k, a, nc, s),
    lambda t, n, r, k, a, nc, s, xp: -t * xp.special.normal_gamma(n, r, k + 1, a, nc, s),
    lambda t, n, r, k, a, nc, s, xp: t * xp.special.normal_gamma(n, r + 1, k + 1, a, nc, s),
    domains=[ORDER, ORDER, (1, 3), (0.5, 4.0), REAL, REAL], integers="n r k", public=False,
    summary="Derivatives of the mean of ndtr(s sqrt(x) - nc) over a gamma distribution",
)  # fmt: skip


def root_of_half(df: Real) -> Any:
    """Return sqrt(df / 2) for degrees of freedom df.

    Return NaN for a negative Python number, whose power would be complex.
    """
    if isinstance(df, int | float) and not df >= 0:
        return math.nan
    return (df / 2) ** 0.5


def nct_integral(n: int, r: int, k: int, df: Real, nc: Real, x: Real, xp: Namespace) -> Any:
    """Return the ``normal_gamma`` of orders n, r, k of which a derivative of nctdtr(df, nc, x) consists.

    Its gamma distribution has the shape df / 2, and its s is x / sqrt(df / 2).
    """
    return xp.special.normal_gamma(n, r, k, df / 2, nc, x / root_of_half(df))


def nct_density(df: Real, nc: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of nctdtr, the noncentral t cumulative function, with respect to x."""
    return nct_integral(0, 1, 1, df, nc, x, xp) / root_of_half(df)


def nct_by_nc(df: Real, nc: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of nctdtr, the noncentral t cumulative function, with respect to nc."""
    return -nct_integral(0, 0, 1, df, nc, x, xp)


def nct_by_df(df: Real, nc: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of nctdtr with respect to df.

    The function depends on df through the gamma shape df / 2 and through x / sqrt(df / 2), so that the
    derivative has two terms.
    """
    return 0.5 * nct_integral(1, 0, 0, df, nc, x, xp) - nct_density(df, nc, x, xp) * x / (2 * df)


def pdf_by_x(df: Real, nc: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of the noncentral t density with respect to x."""
    return nct_integral(0, 2, 2, df, nc, x, xp) / (df / 2)


def pdf_by_df(df: Real, nc: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of the noncentral t density with respect to df."""
    by_shape = 0.5 * nct_integral(1, 1, 1, df, nc, x, xp) / root_of_half(df)
    scaled = nct_density(df, nc, x, xp) + x * pdf_by_x(df, nc, x, xp)
    return by_shape - scaled / (2 * df)


FREEDOM = (1.5, 8.0)
nctdtr = special(
    "nctdtr", "df nc x",
    lambda t, df, nc, x, xp: t * nct_by_df(df, nc, x, xp),
    lambda t, df, nc, x, xp: t * nct_by_nc(df, nc, x, xp),
    lambda t, df, nc, x, xp: t * nct_density(df, nc, x, xp),
    domains=[FREEDOM, REAL, REAL], summary="The cumulative function of the noncentral t distribution",
)  # fmt: skip
special(
    "_nct_sf", "x df nc",
    lambda t, x, df, nc, xp: -t * nct_density(df, nc, x, xp),
    lambda t, x, df, nc, xp: -t * nct_by_df(df, nc, x, xp),
    lambda t, x, df, nc, xp: -t * nct_by_nc(df, nc, x, xp),
    domains=[REAL, FREEDOM, REAL], public=False,
    summary="The survival function of the noncentral t distribution",
)  # fmt: skip
special(
    "_nct_pdf", "x df nc",
    lambda t, x, df, nc, xp: t * pdf_by_x(df, nc, x, xp),
    lambda t, x, df, nc, xp: t * pdf_by_df(df, nc, x, xp),
    lambda t, x, df, nc, xp: -t * nct_integral(0, 1, 2, df, nc, x, xp) / root_of_half(df),
    domains=[REAL, FREEDOM, REAL], public=False,
    summary="The density of the noncentral t distribution",
)  # fmt: skip
nctdtrit = special(
    "nctdtrit", "df nc p",
    lambda t, df, nc, y, xp: -t * nct_by_df(df, nc, y, xp) / nct_density(df, nc, y, xp),
    lambda t, df, nc, y, xp: -t * nct_by_nc(df, nc, y, xp) / nct_density(df, nc, y, xp),
    lambda t, df, nc, y, xp: t / nct_density(df, nc, y, xp),
    domains=[FREEDOM, REAL, (0.1, 0.9)], summary="The x at which nctdtr is p",
)  # fmt: skip
special(
    "_nct_isf", "p df nc",
    lambda t, df, nc, y, xp: -t / nct_density(df, nc, y, xp),
    lambda t, df, nc, y, xp: -t * nct_by_df(df, nc, y, xp) / nct_density(df, nc, y, xp),
    lambda t, df, nc, y, xp: -t * nct_by_nc(df, nc, y, xp) / nct_density(df, nc, y, xp),
    domains=[(0.1, 0.9), FREEDOM, REAL], public=False,
    summary="The x at which the noncentral t survival function is p",
)  # fmt: skip
nctdtridf = special(
    "nctdtridf", "p nc x",
    lambda t, nc, x, y, xp: t / nct_by_df(y, nc, x, xp),
    lambda t, nc, x, y, xp: -t * nct_by_nc(y, nc, x, xp) / nct_by_df(y, nc, x, xp),
    lambda t, nc, x, y, xp: -t * nct_density(y, nc, x, xp) / nct_by_df(y, nc, x, xp),
    domains=[(0.7, 0.72), (0.45, 0.5), (1.2, 1.25)], summary="The df at which nctdtr is p",
)  # fmt: skip
nctdtrinc = special(
    "nctdtrinc", "df p x",
    lambda t, df, x, y, xp: -t * nct_by_df(df, y, x, xp) / nct_by_nc(df, y, x, xp),
    lambda t, df, x, y, xp: t / nct_by_nc(df, y, x, xp),
    lambda t, df, x, y, xp: -t * nct_density(df, y, x, xp) / nct_by_nc(df, y, x, xp),
    domains=[FREEDOM, (0.2, 0.6), (1.0, 2.0)], summary="The nc at which nctdtr is p",
)  # fmt: skip
