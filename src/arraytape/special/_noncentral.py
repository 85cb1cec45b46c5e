"""The noncentral chi-square distribution: a Poisson mixture of central distributions.

    F(a, rate, x) = sum over s of exp(-rate) rate ** s / s! gammainc(a + s, x)

The rate is half of the noncentrality.  The derivative with respect to the rate is the mixture of
gammainc(a + s + 1, x) - gammainc(a + s, x), which are densities with the opposite sign.  Source:
Johnson, Kotz and Balakrishnan 1995, chapter 29.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING, Any

from ._incomplete import ORDER, PROBABILITY, SHAPE
from ._quadrature import compute_each_order, double_kernel
from ._statement import POSITIVE, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

LAMBDA = (0.3, 3.0)  # the interval from which tests draw the rate or the noncentrality
# If the largest term of a sum has an index above this, the result is NaN.  At this index 240,000 terms
# are summed (``poisson_window``).
LARGEST_PEAK = 1e8


# --- mixtures -----------------------------------------------------------------------------------------
def poisson_window(peak: RawArray, rate: RawArray, xp: Namespace) -> tuple[Any, Any]:
    """Return the indices and the Poisson weights of the terms around the largest term of a mixture.

    ``peak`` is the index of the largest term of each element, as a real number.  The results have one
    more axis, the last, for the terms.
    The weights are NaN at elements whose largest term has an index below 0 or above LARGEST_PEAK.
    """
    within = (peak >= 0) & (peak <= LARGEST_PEAK)
    peak = xp.where(within, peak, 0.0)
    width = 12.0 * xp.sqrt(peak + 1.0) + 40.0  # 12 standard deviations, and 40 terms
    first = xp.floor(xp.where(peak > width, peak - width, 0.0))
    count = int(xp.max(2 * width)) if peak.shape[0] else 1
    terms = first[:, None] + xp.arange(count, dtype=xp.float64, device=peak.device)
    positive = xp.where(rate > 0, rate, 1.0)[:, None]
    weights = xp.special._igam_fac(terms + 1.0, positive) / positive
    weights = xp.where((rate > 0)[:, None], weights, xp.where(terms == 0, 1.0, 0.0))
    return terms, xp.where(within[:, None], weights, math.nan)


def finite_operands(fill: float, *operands: RawArray, xp: Namespace) -> tuple[Any, list[Any]]:
    """Return the mask where all operands are finite, and the operands with ``fill`` elsewhere."""
    inside = functools.reduce(operator.and_, [xp.isfinite(x) for x in operands])
    return inside, [xp.where(inside, x, fill) for x in operands]


def sums_from_steps(
    first: RawArray, last: RawArray, steps: RawArray, lower: RawArray, xp: Namespace
) -> Any:
    """Return the terms F[s] of a sequence, given the differences steps[s] = F[s] - F[s + 1].

    One term costs a quadrature, a difference only a density.  Where the mask ``lower`` is True, steps
    are added to the last term, elsewhere subtracted from the first, so that no digits cancel.

    first, last : the terms before the first step and after the last one.
    """
    sums = xp.cumulative_sum(steps, axis=-1)
    backward = xp.flip(xp.cumulative_sum(xp.flip(steps, axis=-1), axis=-1), axis=-1)
    down = last[:, None] + backward
    return xp.where(lower, down, first[:, None] - (sums - steps))


def gamma_window(a: RawArray, rate: RawArray, x: RawArray, xp: Namespace) -> tuple[Any, Any]:
    """Return (indices s, Poisson weights) of the largest terms of a mixture's density at x.

    The mixture is that of gamma distributions of the shapes a + s, for s = 0, 1, 2, ...

    rate : the mean of the Poisson distribution of s.
    """
    return poisson_window(0.5 * (xp.sqrt(a * a + 4 * rate * x) - a), rate, xp)


@double_kernel
def noncentral_gamma_density(
    n: RawArray, m: RawArray, a: RawArray, rate: RawArray, x: RawArray, *, xp: Namespace
) -> Any:
    """Return the derivative of order n in a and m in x of a Poisson mixture of gamma densities.

    The mixture is the sum over s of the Poisson probability of s, of mean ``rate``, times the gamma
    density of shape a + s.
    """
    inside, (a, rate, x) = finite_operands(1.0, a, rate, x, xp=xp)
    terms, weights = gamma_window(a, rate, x, xp)

    def mixed_gamma_of_orders(n: int, m: int) -> Any:
        parts = xp.special.gamma_density(n, m, a[:, None] + terms, x[:, None])
        return xp.where(inside, xp.sum(weights * parts, axis=-1), math.nan)

    return compute_each_order((n, m), mixed_gamma_of_orders, xp)


@double_kernel
def noncentral_gamma_by(
    n: RawArray, a: RawArray, rate: RawArray, x: RawArray, *, xp: Namespace
) -> Any:
    """Return the n-th derivative in a, n > 0, of a Poisson mixture of gammainc(a + s, x).

    The mixture is the sum over s of the Poisson probability of s, of mean ``rate``, times gammainc.
    """
    inside, (a, rate, x) = finite_operands(1.0, a, rate, x, xp=xp)
    terms, weights = gamma_window(a, rate, x, xp)

    def mixed_gammainc_of_orders(n: int) -> Any:
        order = float(n)
        first = xp.special.gammainc_by(order, a + terms[:, 0], x)
        last = xp.special.gammainc_by(order, a + terms[:, -1] + 1.0, x)
        shapes = a[:, None] + terms
        steps = xp.special.gamma_density(n, 0, shapes + 1.0, x[:, None])
        parts = sums_from_steps(first, last, steps, shapes > x[:, None], xp)
        return xp.where(inside, xp.sum(weights * parts, axis=-1), math.nan)

    return compute_each_order((n,), mixed_gammainc_of_orders, xp)


special(
    "noncentral_gamma_density", "n m a rate x", None, None,
    lambda t, n, m, a, rate, x, xp: t * xp.special.noncentral_gamma_density(n + 1, m, a, rate, x),
    lambda t, n, m, a, rate, x, xp: t * (
        xp.special.noncentral_gamma_density(n, m, a + 1, rate, x)
        - xp.special.noncentral_gamma_density(n, m, a, rate, x)
    ),
    lambda t, n, m, a, rate, x, xp: t * xp.special.noncentral_gamma_density(n, m + 1, a, rate, x),
    domains=[ORDER, ORDER, SHAPE, LAMBDA, POSITIVE], integers="n m", public=False,
    summary="A Poisson mixture of gamma densities, of order n in a and m in x",
)  # fmt: skip
special(
    "noncentral_gamma_by", "n a rate x", None,
    lambda t, n, a, rate, x, xp: t * xp.special.noncentral_gamma_by(n + 1, a, rate, x),
    lambda t, n, a, rate, x, xp: -t * xp.special.noncentral_gamma_density(n, 0, a + 1, rate, x),
    lambda t, n, a, rate, x, xp: t * xp.special.noncentral_gamma_density(n, 0, a, rate, x),
    domains=[(1, 3), SHAPE, LAMBDA, POSITIVE], integers="n", public=False,
    summary="A Poisson mixture of incomplete gamma functions, n > 0 times differentiated in a",
)  # fmt: skip


# --- noncentral chi-square distribution ---------------------------------------------------------------
def chi_density(x: Real, df: Real, nc: Real, xp: Namespace, n: int = 0, m: int = 0) -> Any:
    """Return the noncentral chi-square density, or its derivative of order n in df and m in x."""
    found = xp.special.noncentral_gamma_density(n, m, df / 2, nc / 2, x / 2)
    return 0.5 ** (1 + n + m) * found


def chi_by_df(x: Real, df: Real, nc: Real, xp: Namespace) -> Any:
    """Return the derivative of chndtr, the noncentral chi-square cumulative function, in df."""
    return 0.5 * xp.special.noncentral_gamma_by(1, df / 2, nc / 2, x / 2)


def chi_by_nc(x: Real, df: Real, nc: Real, xp: Namespace) -> Any:
    """Return the derivative of chndtr, the noncentral chi-square cumulative function, in nc."""
    return -chi_density(x, df + 2, nc, xp)


CHI = [POSITIVE, SHAPE, LAMBDA]
chndtr = special(
    "chndtr", "x df nc",
    lambda t, x, df, nc, xp: t * chi_density(x, df, nc, xp),
    lambda t, x, df, nc, xp: t * chi_by_df(x, df, nc, xp),
    lambda t, x, df, nc, xp: t * chi_by_nc(x, df, nc, xp),
    domains=CHI, summary="The cumulative function of the noncentral chi-square distribution",
)  # fmt: skip
special(
    "_ncx2_sf", "x df nc",
    lambda t, x, df, nc, xp: -t * chi_density(x, df, nc, xp),
    lambda t, x, df, nc, xp: -t * chi_by_df(x, df, nc, xp),
    lambda t, x, df, nc, xp: -t * chi_by_nc(x, df, nc, xp),
    domains=CHI, public=False,
    summary="The survival function of the noncentral chi-square distribution",
)  # fmt: skip
special(
    "_ncx2_pdf", "x df nc",
    lambda t, x, df, nc, xp: t * chi_density(x, df, nc, xp, 0, 1),
    lambda t, x, df, nc, xp: t * chi_density(x, df, nc, xp, 1, 0),
    lambda t, x, df, nc, xp: (
        0.5 * t * (chi_density(x, df + 2, nc, xp) - chi_density(x, df, nc, xp))
    ),
    domains=CHI, public=False, summary="The density of the noncentral chi-square distribution",
)  # fmt: skip


def chi_quantile_rules(sign: int) -> list[Any]:
    """Return the derivative rules of a quantile of the noncentral chi-square distribution in a list.

    sign : 1 for the inverse of the cumulative function chndtr in x, -1 for that of the survival
    function.
    """
    return [
        lambda t, df, nc, y, xp: sign * t / chi_density(y, df, nc, xp),
        lambda t, df, nc, y, xp: -t * chi_by_df(y, df, nc, xp) / chi_density(y, df, nc, xp),
        lambda t, df, nc, y, xp: -t * chi_by_nc(y, df, nc, xp) / chi_density(y, df, nc, xp),
    ]


chndtrix = special(
    "chndtrix", "p df nc", *chi_quantile_rules(1), domains=[PROBABILITY, SHAPE, LAMBDA],
    summary="The x at which chndtr is p",
)  # fmt: skip
special(
    "_ncx2_isf", "p df nc", *chi_quantile_rules(-1), domains=[PROBABILITY, SHAPE, LAMBDA],
    public=False, summary="The x at which the noncentral chi-square survival function is p",
)  # fmt: skip
chndtridf = special(
    "chndtridf", "x p nc",
    lambda t, x, nc, y, xp: -t * chi_density(x, y, nc, xp) / chi_by_df(x, y, nc, xp),
    lambda t, x, nc, y, xp: t / chi_by_df(x, y, nc, xp),
    lambda t, x, nc, y, xp: -t * chi_by_nc(x, y, nc, xp) / chi_by_df(x, y, nc, xp),
    domains=[(3.0, 5.0), (0.2, 0.6), LAMBDA], summary="The df at which chndtr is p",
)  # fmt: skip
chndtrinc = special(
    "chndtrinc", "x df p",
    lambda t, x, df, y, xp: -t * chi_density(x, df, y, xp) / chi_by_nc(x, df, y, xp),
    lambda t, x, df, y, xp: -t * chi_by_df(x, df, y, xp) / chi_by_nc(x, df, y, xp),
    lambda t, x, df, y, xp: t / chi_by_nc(x, df, y, xp),
    domains=[(3.0, 5.0), (1.0, 2.0), (0.2, 0.6)], summary="The nc at which chndtr is p",
)  # fmt: skip
