"""Cumulative distribution functions and their inverses, through the incomplete gamma and beta functions.

An inverse is the x at which F(a, x) is p.  By the inverse function theorem its derivatives are
-F_a / F_x with respect to a, and 1 / F_x with respect to p.  There is no derivative with respect to a
count that SciPy truncates to a whole number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._storage.special import kernel
from ._incomplete import PROBABILITY, SHAPE, beta_by_a, beta_by_b, beta_pdf, gamma_by_a, gamma_pdf
from ._quadrature import compute_each_order, double_kernel, exp_derivatives
from ._rules import as_floats, kernel_by_order
from ._statement import POSITIVE, REAL, UNIT, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

ROOT_2PI = math.sqrt(2.0 * math.pi)
COUNT, TRIALS = (0, 5), (6, 12)  # intervals for tests: number of successes, number of trials

# --- chi-square ---------------------------------------------------------------------------------------
chdtr = special(
    "chdtr", "v x",
    lambda t, v, x, xp: 0.5 * t * gamma_by_a(v / 2, x / 2, xp),
    lambda t, v, x, xp: 0.5 * t * gamma_pdf(v / 2, x / 2, xp),
    domains=[SHAPE, POSITIVE], summary="The chi-square distribution's cumulative function",
    source="DLMF 8.2.4",
)  # fmt: skip
chdtrc = special(
    "chdtrc", "v x",
    lambda t, v, x, xp: -0.5 * t * gamma_by_a(v / 2, x / 2, xp),
    lambda t, v, x, xp: -0.5 * t * gamma_pdf(v / 2, x / 2, xp),
    domains=[SHAPE, POSITIVE], summary="The chi-square distribution's survival function",
    source="DLMF 8.2.4",
)  # fmt: skip
chdtri = special(
    "chdtri", "v p",
    lambda t, v, y, xp: -t * gamma_by_a(v / 2, y / 2, xp) / gamma_pdf(v / 2, y / 2, xp),
    lambda t, v, y, xp: -2.0 * t / gamma_pdf(v / 2, y / 2, xp),
    domains=[SHAPE, PROBABILITY], summary="The x at which chdtrc(v, x) is p",
)  # fmt: skip
chdtriv = special(
    "chdtriv", "p x",
    lambda t, x, y, xp: 2.0 * t / gamma_by_a(y / 2, x / 2, xp),
    lambda t, x, y, xp: -t * gamma_pdf(y / 2, x / 2, xp) / gamma_by_a(y / 2, x / 2, xp),
    domains=[PROBABILITY, POSITIVE], summary="The v at which chdtr(v, x) is p",
)  # fmt: skip

# --- gamma distribution of rate a and shape b ---------------------------------------------------------
gdtr = special(
    "gdtr", "a b x",
    lambda t, a, b, x, xp: t * x * gamma_pdf(b, a * x, xp),
    lambda t, a, b, x, xp: t * gamma_by_a(b, a * x, xp),
    lambda t, a, b, x, xp: t * a * gamma_pdf(b, a * x, xp),
    domains=[POSITIVE, SHAPE, POSITIVE], summary="The gamma distribution's cumulative function",
    source="DLMF 8.2.4",
)  # fmt: skip
gdtrc = special(
    "gdtrc", "a b x",
    lambda t, a, b, x, xp: -t * x * gamma_pdf(b, a * x, xp),
    lambda t, a, b, x, xp: -t * gamma_by_a(b, a * x, xp),
    lambda t, a, b, x, xp: -t * a * gamma_pdf(b, a * x, xp),
    domains=[POSITIVE, SHAPE, POSITIVE], summary="The gamma distribution's survival function",
    source="DLMF 8.2.4",
)  # fmt: skip
gdtria = special(
    "gdtria", "p b x",
    lambda t, b, x, y, xp: t / (x * gamma_pdf(b, x * y, xp)),
    lambda t, b, x, y, xp: -t * gamma_by_a(b, x * y, xp) / (x * gamma_pdf(b, x * y, xp)),
    lambda t, x, y: -t * y / x,
    domains=[PROBABILITY, SHAPE, POSITIVE], summary="The a at which gdtr(a, b, x) is p",
)  # fmt: skip
gdtrib = special(
    "gdtrib", "a p x",
    lambda t, a, x, y, xp: -t * x * gamma_pdf(y, a * x, xp) / gamma_by_a(y, a * x, xp),
    lambda t, a, x, y, xp: t / gamma_by_a(y, a * x, xp),
    lambda t, a, x, y, xp: -t * a * gamma_pdf(y, a * x, xp) / gamma_by_a(y, a * x, xp),
    domains=[POSITIVE, PROBABILITY, POSITIVE], summary="The b at which gdtr(a, b, x) is p",
)  # fmt: skip
gdtrix = special(
    "gdtrix", "a b p",
    lambda t, a, y: -t * y / a,
    lambda t, a, b, y, xp: -t * gamma_by_a(b, a * y, xp) / (a * gamma_pdf(b, a * y, xp)),
    lambda t, a, b, y, xp: t / (a * gamma_pdf(b, a * y, xp)),
    domains=[POSITIVE, SHAPE, PROBABILITY], summary="The x at which gdtr(a, b, x) is p",
)  # fmt: skip

# --- Poisson ------------------------------------------------------------------------------------------
pdtr = special(
    "pdtr", "k m", None, lambda t, k, m, xp: -t * gamma_pdf(k // 1 + 1, m, xp),
    domains=[COUNT, POSITIVE], integers="k",
    summary="The Poisson distribution's cumulative function; k is rounded down", source="DLMF 8.4.8",
)  # fmt: skip
pdtrc = special(
    "pdtrc", "k m", None, lambda t, k, m, xp: t * gamma_pdf(k // 1 + 1, m, xp),
    domains=[COUNT, POSITIVE], integers="k",
    summary="The Poisson distribution's survival function; k is rounded down", source="DLMF 8.4.8",
)  # fmt: skip
pdtri = special(
    "pdtri", "k p", None, lambda t, k, y, xp: -t / gamma_pdf(k // 1 + 1, y, xp),
    domains=[COUNT, PROBABILITY], integers="k", summary="The m at which pdtr(k, m) is p",
)  # fmt: skip
pdtrik = special(
    "pdtrik", "p m",
    lambda t, m, y, xp: -t / gamma_by_a(y + 1, m, xp),
    lambda t, m, y, xp: -t * gamma_pdf(y + 1, m, xp) / gamma_by_a(y + 1, m, xp),
    domains=[(0.3, 0.9), (2.0, 6.0)], summary="The real k at which gammaincc(k + 1, m) is p",
)  # fmt: skip


# --- binomial and negative binomial -------------------------------------------------------------------
def binomial_slope(k: Real, n: Real, p: Real, xp: Namespace) -> Any:
    """Return the derivative, in p, of the probability of more than k successes in n trials.

    A trial succeeds with the probability p.
    """
    return beta_pdf(k // 1 + 1, n - k // 1, p, 1 - p, xp)


def negative_binomial_slope(k: Real, n: Real, p: Real, xp: Namespace) -> Any:
    """Return the derivative, in p, of the probability of at most k failures before n successes.

    A trial succeeds with the probability p.
    """
    return beta_pdf(n, k + 1, p, 1 - p, xp)


bdtr = special(
    "bdtr", "k n p", None, None, lambda t, k, n, p, xp: -t * binomial_slope(k, n, p, xp),
    domains=[COUNT, TRIALS, UNIT], integers="k", counts="n",
    summary="The binomial distribution's cumulative function", source="DLMF 8.17.5",
)  # fmt: skip
bdtrc = special(
    "bdtrc", "k n p", None, None, lambda t, k, n, p, xp: t * binomial_slope(k, n, p, xp),
    domains=[COUNT, TRIALS, UNIT], integers="k", counts="n",
    summary="The binomial distribution's survival function", source="DLMF 8.17.5",
)  # fmt: skip
bdtri = special(
    "bdtri", "k n q", None, None, lambda t, k, n, y, xp: -t / binomial_slope(k, n, y, xp),
    domains=[COUNT, TRIALS, PROBABILITY], integers="k", counts="n",
    summary="The p at which bdtr(k, n, p) is q",
)  # fmt: skip
nbdtr = special(
    "nbdtr", "k n p", None, None, lambda t, k, n, p, xp: t * negative_binomial_slope(k, n, p, xp),
    domains=[COUNT, TRIALS, UNIT], integers="k n",
    summary="The negative binomial distribution's cumulative function", source="DLMF 8.17.24",
)  # fmt: skip
nbdtrc = special(
    "nbdtrc", "k n p", None, None, lambda t, k, n, p, xp: -t * negative_binomial_slope(k, n, p, xp),
    domains=[COUNT, TRIALS, UNIT], integers="k n",
    summary="The negative binomial distribution's survival function", source="DLMF 8.17.24",
)  # fmt: skip
nbdtri = special(
    "nbdtri", "k n q", None, None, lambda t, k, n, y, xp: t / negative_binomial_slope(k, n, y, xp),
    domains=[COUNT, TRIALS, PROBABILITY], integers="k n", summary="The p at which nbdtr(k, n, p) is q",
)  # fmt: skip


def bdtr_by_k(k: Real, n: Real, p: Real, xp: Namespace) -> Any:
    """Return the derivative with respect to k of bdtr(k, n, p), the binomial cdf, for real k and n."""
    x = k + 1, n - k, p, 1 - p, xp
    return beta_by_b(*x) - beta_by_a(*x)


def bdtr_by_n(k: Real, n: Real, p: Real, xp: Namespace) -> Any:
    """Return the derivative with respect to n of bdtr(k, n, p), the binomial cdf, for real k and n."""
    return -beta_by_b(k + 1, n - k, p, 1 - p, xp)


def bdtr_by_p(k: Real, n: Real, p: Real, xp: Namespace) -> Any:
    """Return the derivative with respect to p of bdtr(k, n, p), the binomial cdf, for real k and n."""
    return -beta_pdf(k + 1, n - k, p, 1 - p, xp)


bdtrik = special(
    "bdtrik", "q n p",
    lambda t, n, p, y, xp: t / bdtr_by_k(y, n, p, xp),
    lambda t, n, p, y, xp: -t * bdtr_by_n(y, n, p, xp) / bdtr_by_k(y, n, p, xp),
    lambda t, n, p, y, xp: -t * bdtr_by_p(y, n, p, xp) / bdtr_by_k(y, n, p, xp),
    domains=[(0.4, 0.9), TRIALS, (0.3, 0.7)],
    summary="The real k at which bdtr is q", source="DLMF 8.17.5",
)  # fmt: skip
bdtrin = special(
    "bdtrin", "k q p",
    lambda t, k, p, y, xp: -t * bdtr_by_k(k, y, p, xp) / bdtr_by_n(k, y, p, xp),
    lambda t, k, p, y, xp: t / bdtr_by_n(k, y, p, xp),
    lambda t, k, p, y, xp: -t * bdtr_by_p(k, y, p, xp) / bdtr_by_n(k, y, p, xp),
    domains=[COUNT, (0.1, 0.9), (0.3, 0.7)],
    summary="The real n at which bdtr is q", source="DLMF 8.17.5",
)  # fmt: skip
nbdtrik = special(
    "nbdtrik", "q n p",
    lambda t, n, p, y, xp: t / beta_by_b(n, y + 1, p, 1 - p, xp),
    lambda t, n, p, y, xp: (
        -t * beta_by_a(n, y + 1, p, 1 - p, xp) / beta_by_b(n, y + 1, p, 1 - p, xp)
    ),
    lambda t, n, p, y, xp: -t * negative_binomial_slope(y, n, p, xp) / beta_by_b(n, y + 1, p, 1 - p, xp),
    domains=[(0.4, 0.9), (2.0, 6.0), (0.2, 0.5)],
    summary="The real k at which nbdtr is q", source="DLMF 8.17.24",
)  # fmt: skip
nbdtrin = special(
    "nbdtrin", "k q p",
    lambda t, k, p, y, xp: (
        -t * beta_by_b(y, k + 1, p, 1 - p, xp) / beta_by_a(y, k + 1, p, 1 - p, xp)
    ),
    lambda t, k, p, y, xp: t / beta_by_a(y, k + 1, p, 1 - p, xp),
    lambda t, k, p, y, xp: -t * negative_binomial_slope(k, y, p, xp) / beta_by_a(y, k + 1, p, 1 - p, xp),
    domains=[COUNT, (0.1, 0.9), (0.2, 0.7)],
    summary="The real n at which nbdtr is q", source="DLMF 8.17.24",
)  # fmt: skip

# --- beta distribution: inverses that return a shape ---------------------------------------------------
btdtria = special(
    "btdtria", "p b x",
    lambda t, b, x, y, xp: t / beta_by_a(y, b, x, 1 - x, xp),
    lambda t, b, x, y, xp: -t * beta_by_b(y, b, x, 1 - x, xp) / beta_by_a(y, b, x, 1 - x, xp),
    lambda t, b, x, y, xp: -t * beta_pdf(y, b, x, 1 - x, xp) / beta_by_a(y, b, x, 1 - x, xp),
    domains=[PROBABILITY, SHAPE, UNIT], summary="The a at which betainc(a, b, x) is p",
)  # fmt: skip
btdtrib = special(
    "btdtrib", "a p x",
    lambda t, a, x, y, xp: -t * beta_by_a(a, y, x, 1 - x, xp) / beta_by_b(a, y, x, 1 - x, xp),
    lambda t, a, x, y, xp: t / beta_by_b(a, y, x, 1 - x, xp),
    lambda t, a, x, y, xp: -t * beta_pdf(a, y, x, 1 - x, xp) / beta_by_b(a, y, x, 1 - x, xp),
    domains=[SHAPE, PROBABILITY, UNIT], summary="The b at which betainc(a, b, x) is p",
)  # fmt: skip


# --- from odds to a probability -----------------------------------------------------------------------
@kernel
def share(odds: RawArray, *, xp: Namespace) -> Any:
    """Return odds / (1 + odds), which is 1, not NaN, where the odds are infinite."""
    return xp.where(odds > 1, 1 / (1 + 1 / odds), odds / (1 + odds))


special(
    "share", "odds", lambda t, odds: t / ((1 + odds) * (1 + odds)), public=False,
    summary="odds / (1 + odds), an op of its own so that its derivative does not cancel near 1",
)  # fmt: skip


# --- F distribution -----------------------------------------------------------------------------------
def f_betainc_arguments(dfn: Real, dfd: Real, x: Real, xp: Namespace) -> tuple[Any, ...]:
    """Return (a, b, p, 1 - p, xp) for which betainc(a, b, p) is the F cdf, fdtr(dfn, dfd, x)."""
    odds = dfn * x / dfd
    return dfn / 2, dfd / 2, xp.special.share(odds), 1 / (1 + odds), xp


def f_pdf(dfn: Real, dfd: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of fdtr, the F distribution's cumulative function, with respect to x."""
    total = dfd + dfn * x
    return beta_pdf(*f_betainc_arguments(dfn, dfd, x, xp)) * (dfn / total) * (dfd / total)


def f_by_dfn(dfn: Real, dfd: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of fdtr, the F distribution's cumulative function, with respect to dfn."""
    return 0.5 * beta_by_a(*f_betainc_arguments(dfn, dfd, x, xp)) + f_pdf(dfn, dfd, x, xp) * x / dfn


def f_by_dfd(dfn: Real, dfd: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of fdtr, the F distribution's cumulative function, with respect to dfd."""
    return 0.5 * beta_by_b(*f_betainc_arguments(dfn, dfd, x, xp)) - f_pdf(dfn, dfd, x, xp) * x / dfd


fdtr = special(
    "fdtr", "dfn dfd x",
    lambda t, dfn, dfd, x, xp: t * f_by_dfn(dfn, dfd, x, xp),
    lambda t, dfn, dfd, x, xp: t * f_by_dfd(dfn, dfd, x, xp),
    lambda t, dfn, dfd, x, xp: t * f_pdf(dfn, dfd, x, xp),
    domains=[SHAPE, SHAPE, POSITIVE], summary="The F distribution's cumulative function",
    source="DLMF 8.17.2",
)  # fmt: skip
fdtrc = special(
    "fdtrc", "dfn dfd x",
    lambda t, dfn, dfd, x, xp: -t * f_by_dfn(dfn, dfd, x, xp),
    lambda t, dfn, dfd, x, xp: -t * f_by_dfd(dfn, dfd, x, xp),
    lambda t, dfn, dfd, x, xp: -t * f_pdf(dfn, dfd, x, xp),
    domains=[SHAPE, SHAPE, POSITIVE], summary="The F distribution's survival function",
    source="DLMF 8.17.4",
)  # fmt: skip
fdtri = special(
    "fdtri", "dfn dfd p",
    lambda t, dfn, dfd, y, xp: -t * f_by_dfn(dfn, dfd, y, xp) / f_pdf(dfn, dfd, y, xp),
    lambda t, dfn, dfd, y, xp: -t * f_by_dfd(dfn, dfd, y, xp) / f_pdf(dfn, dfd, y, xp),
    lambda t, dfn, dfd, y, xp: t / f_pdf(dfn, dfd, y, xp),
    domains=[SHAPE, (1.0, 6.0), (0.05, 0.9)], summary="The x at which fdtr(dfn, dfd, x) is p",
)  # fmt: skip
fdtridfd = special(
    "fdtridfd", "dfn p x",
    lambda t, dfn, x, y, xp: -t * f_by_dfn(dfn, y, x, xp) / f_by_dfd(dfn, y, x, xp),
    lambda t, dfn, x, y, xp: t / f_by_dfd(dfn, y, x, xp),
    lambda t, dfn, x, y, xp: -t * f_pdf(dfn, y, x, xp) / f_by_dfd(dfn, y, x, xp),
    domains=[SHAPE, (0.6, 0.7), (2.0, 4.0)], summary="The dfd at which fdtr(dfn, dfd, x) is p",
)  # fmt: skip


# --- Student's t --------------------------------------------------------------------------------------
def t_pdf(df: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of stdtr, Student's cumulative function, with respect to x."""
    return xp.special.t_density(0, 0, df, x)


def t_by_df(df: Real, x: Real, xp: Namespace) -> Any:
    """Return the derivative of stdtr, Student's cumulative function, with respect to df."""
    return xp.special.stdtr_by(1, df, x)


stdtr = special(
    "stdtr", "df x",
    lambda t, df, x, xp: t * t_by_df(df, x, xp),
    lambda t, df, x, xp: t * t_pdf(df, x, xp),
    domains=[SHAPE, REAL], summary="The cumulative function of Student's t distribution",
    source="DLMF 8.17.2",
)  # fmt: skip
stdtrit = special(
    "stdtrit", "df p",
    lambda t, df, y, xp: -t * t_by_df(df, y, xp) / t_pdf(df, y, xp),
    lambda t, df, y, xp: t / t_pdf(df, y, xp),
    domains=[(1.0, 6.0), PROBABILITY], summary="The x at which stdtr(df, x) is p",
)  # fmt: skip
stdtridf = special(
    "stdtridf", "p x",
    lambda t, x, y, xp: t / t_by_df(y, x, xp),
    lambda t, x, y, xp: -t * t_pdf(y, x, xp) / t_by_df(y, x, xp),
    domains=[(0.81, 0.84), (1.1, 1.3)], summary="The df at which stdtr(df, x) is p",
)  # fmt: skip


# --- normal distribution: inverses that return the mean or deviation -----------------------------------
def normal_slope(t: RawArray, p: Real, xp: Namespace) -> Any:
    """Return the derivative of ndtri(p).  An integer p is converted to the dtype of the tangent t."""
    quantile = xp.special.ndtri(as_floats(p, t, xp))
    return ROOT_2PI * xp.exp(0.5 * quantile * quantile)


nrdtrimn = special(
    "nrdtrimn", "p std x",
    lambda t, p, std, xp: -t * std * normal_slope(t, p, xp),
    lambda t, p, xp: -t * xp.special.ndtri(as_floats(p, t, xp)),
    lambda t: t,
    domains=[PROBABILITY, POSITIVE, REAL],
    summary="The mean of the normal distribution whose cumulative function at x is p",
)  # fmt: skip
nrdtrisd = special(
    "nrdtrisd", "mn p x",
    lambda t, p, xp: -t / xp.special.ndtri(as_floats(p, t, xp)),
    lambda t, mn, p, x, y, xp: -t * y * y / (x - mn) * normal_slope(t, p, xp),
    lambda t, p, xp: t / xp.special.ndtri(as_floats(p, t, xp)),
    domains=[(-2.0, 0.0), (0.6, 0.9), (0.5, 2.0)],
    summary="The standard deviation of the normal distribution whose cumulative function at x is p",
)  # fmt: skip


# --- Kolmogorov and Smirnov ---------------------------------------------------------------------------
@kernel_by_order
def kolmogorov_derivative(n: int, x: RawArray, *, xp: Namespace) -> Any:
    """Return the n-th derivative of kolmogorov(x), n > 0.

    Of its two theta series, one converges fast for x < 1 and the other for larger x.
    """
    near = x < 1.0
    small, large = xp.where(near & (x > 0), x, 1.0), xp.where(near, 1.0, x)
    close, far = 0.0 * x, 0.0 * x
    for k in range(1, 7):
        c = (2 * k - 1) ** 2 * math.pi**2 / 8  # the term is exp(-c / x ** 2) / x
        slopes = [
            (-1 / small) ** j * (math.factorial(j - 1) - c * math.factorial(j + 1) / small**2)
            for j in range(1, n + 1)
        ]
        close = close - ROOT_2PI / small * xp.exp(-c / small**2) * exp_derivatives(slopes, n)[n]
        c = 2.0 * k * k  # the term is exp(-c x ** 2)
        slopes = [-2 * c * large, -2 * c + 0.0 * large, *[0.0 * large] * n]
        far = far - 2 * (-1) ** k * xp.exp(-c * large**2) * exp_derivatives(slopes, n)[n]
    return xp.where(x > 0, xp.where(near, close, far), 0.0 * x)


special(
    "kolmogorov_derivative", "n x", None,
    lambda t, n, x, xp: t * xp.special.kolmogorov_derivative(n + 1, x),
    domains=[(1, 3), (0.3, 2.0)], integers="n", public=False,
    summary="The derivative of the order n > 0 of kolmogorov(x)",
)  # fmt: skip


def kolmogorov_slope(x: RawArray, xp: Namespace) -> Any:
    """Return the derivative of kolmogorov, a survival function, with respect to x."""
    return xp.special.kolmogorov_derivative(1, x)


kolmogorov = special(
    "kolmogorov", "x", lambda t, x, xp: t * kolmogorov_slope(x, xp), domains=[(0.3, 2.0)],
    summary="The survival function of Kolmogorov's distribution", source="Marsaglia et al. 2003",
)  # fmt: skip
kolmogi = special(
    "kolmogi", "p", lambda t, y, xp: t / kolmogorov_slope(y, xp), domains=[PROBABILITY],
    summary="The x at which kolmogorov(x) is p",
)  # fmt: skip
special(
    "_kolmogp", "x", lambda t, x, xp: t * xp.special.kolmogorov_derivative(2, x),
    domains=[(0.3, 2.0)], public=False, summary="The derivative of kolmogorov",
)  # fmt: skip
special(
    "_kolmogc", "x", lambda t, x, xp: -t * kolmogorov_slope(x, xp), domains=[(0.3, 2.0)],
    public=False, summary="The cumulative function of Kolmogorov's distribution",
)  # fmt: skip
special(
    "_kolmogci", "p", lambda t, y, xp: -t / kolmogorov_slope(y, xp), domains=[PROBABILITY],
    public=False, summary="The quantile of Kolmogorov's distribution",
)  # fmt: skip


@double_kernel
def smirnov_derivative(m: RawArray, n: RawArray, d: RawArray, *, xp: Namespace) -> Any:
    """Return the m-th derivative of smirnov(n, d) with respect to d, m > 0.

    The function is a sum of n terms, each a product of powers of d + j / n and 1 - d - j / n.  The
    result is NaN where n is not a whole number above 0.
    """
    inside = (d > 0) & (d < 1) & (n > 0) & (n == xp.floor(n))
    n1, d1 = xp.where(inside, n, 1.0), xp.where(inside, d, 0.5)

    def smirnov_of_order(m: int) -> Any:
        total = 0.0 * d1
        for j in range(int(xp.max(n1)) if n1.shape[0] else 0):
            counted = (d1 + j / n1 < 1) & (j < n1)
            up, down = xp.where(counted, d1 + j / n1, 0.5), xp.where(counted, 1 - d1 - j / n1, 0.5)
            log_term = (
                binomial_logarithm(n1, float(j), xp)
                + (j - 1) * xp.log(up)
                + (n1 - j) * xp.log(down)
            )
            slopes = [
                math.factorial(i - 1) * (-((-1) ** i) * (j - 1) / up**i - (n1 - j) / down**i)
                for i in range(1, m + 1)
            ]
            factors = exp_derivatives(slopes, m)
            # Leibniz: the term is d times exp(log_term), whose logarithm has the derivatives ``slopes``.
            term = xp.exp(log_term) * (d1 * factors[m] + m * factors[m - 1])
            total = total + xp.where(counted, term, 0.0)
        return xp.where(inside, total, xp.where((n > 0) & (n == xp.floor(n)), 0.0, math.nan))

    return compute_each_order((m,), smirnov_of_order, xp)


def binomial_logarithm(n: RawArray, k: float, xp: Namespace) -> Any:
    """Return the logarithm of the binomial coefficient "n over k"."""
    if k == 0:
        return 0.0 * n
    return -xp.log(n + 1) - xp.special.betaln(n - k + 1, k + 1)


special(
    "smirnov_derivative", "m n d", None, None,
    lambda t, m, n, d, xp: t * xp.special.smirnov_derivative(m + 1, n, d),
    domains=[(1, 3), (3, 9), (0.1, 0.6)], integers="m n", public=False,
    summary="The derivative of the order m > 0 of smirnov(n, d) in d",
)  # fmt: skip


def smirnov_slope(n: Real, d: Real, xp: Namespace) -> Any:
    """Return the derivative of smirnov, a survival function, with respect to d."""
    return xp.special.smirnov_derivative(1, n, d)


smirnov = special(
    "smirnov", "n d", None, lambda t, n, d, xp: t * smirnov_slope(n, d, xp),
    domains=[(3, 9), (0.1, 0.6)], integers="n",
    summary="The survival function of the one-sided Kolmogorov-Smirnov statistic",
    source="Birnbaum and Tingey 1951",
)  # fmt: skip
smirnovi = special(
    "smirnovi", "n p", None, lambda t, n, y, xp: t / smirnov_slope(n, y, xp),
    domains=[(3, 9), (0.05, 0.9)], integers="n", summary="The d at which smirnov(n, d) is p",
)  # fmt: skip
special(
    "_smirnovp", "n d", None, lambda t, n, d, xp: t * xp.special.smirnov_derivative(2, n, d),
    domains=[(3, 9), (0.1, 0.6)], integers="n", public=False, summary="The derivative of smirnov in d",
)  # fmt: skip
special(
    "_smirnovc", "n d", None, lambda t, n, d, xp: -t * smirnov_slope(n, d, xp),
    domains=[(3, 9), (0.1, 0.6)], integers="n", public=False,
    summary="The cumulative function of the one-sided Kolmogorov-Smirnov statistic",
)  # fmt: skip
special(
    "_smirnovci", "n p", None, lambda t, n, y, xp: -t / smirnov_slope(n, y, xp),
    domains=[(3, 9), (0.1, 0.9)], integers="n", public=False,
    summary="The quantile of the one-sided Kolmogorov-Smirnov statistic",
)  # fmt: skip
