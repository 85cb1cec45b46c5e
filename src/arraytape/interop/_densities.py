"""Formulas of distributions of scipy.stats for which SciPy's code has no derivative, or a wrong one.

SciPy's code has a branch for parameters where a formula is 0 / 0, such as the shape 0 of the
generalized Pareto distribution.  The branch does not contain the parameter, so the derivative with
respect to the parameter is lost.  The formulas here have no such branch.  They use functions that are
analytic at these parameters: L, in ``logarithm``, and its inverse E, in ``exponential``.

    L(x, c) = log(1 + c x) / c = x f(c x)  with f(z) = log(1 + z) / z,    E(y, c) = y exprel(c y)

The dict FORMULAS maps SciPy's methods to formulas.  For ``_pdf``, too, they return the log-density.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from ._plain import plain_data

HALF_LOG_OF_TWO_PI = 0.9189385332046727
LOG_OF_TWO = 0.6931471805599453


def logarithm(x: Array, c: Array) -> Any:
    """Return ``log(1 + c x) / c``, with the limit x and its derivatives at c = 0."""
    return x * xp.special.log1prel_derivative(0, c * x)


def exponential(y: Array, c: Array) -> Any:
    """Return ``(exp(c y) - 1) / c``, with the limit y and its derivatives at c = 0."""
    return y * xp.special.exprel(c * y)


# --- extreme values -------------------------------------------------------------------------------
def genextreme(x: Array, c: Array) -> Any:
    minus_log = -logarithm(x, -c)
    return minus_log * (1.0 - c) - xp.exp(minus_log)


def kappa4_logcdf(x: Array, h: Array, k: Array) -> Any:
    return -logarithm(xp.exp(-logarithm(x, -k)), -h)


def kappa4(x: Array, h: Array, k: Array) -> Any:
    return (1.0 - k) * -logarithm(x, -k) + (1.0 - h) * kappa4_logcdf(x, h, k)


def genhalflogistic(x: Array, c: Array) -> Any:
    w = -logarithm(x, -c)
    return LOG_OF_TWO + (1.0 - c) * w - 2.0 * xp.log1p(xp.exp(w))


# --- Bessel functions -----------------------------------------------------------------------------
def log_of_bessel_i0(x: Array) -> Any:
    """Return log(I0(x)) for x >= 0.

    Below 1 this uses i0, because i0e(x) = exp(-abs(x)) I0(x) has a corner at 0.
    """
    near = xp.asarray(plain_data(x) < 1.0)
    small, large = xp.where(near, x, 0.5), xp.where(near, 1.5, x)
    return xp.where(near, xp.log(xp.special.i0(small)), xp.log(xp.special.i0e(large)) + large)


def log_of_bessel_k(order: Array, x: Array) -> Any:
    return xp.log(xp.special.kve(order, x)) - x


def vonmises(x: Array, kappa: Array) -> Any:
    return kappa * xp.cos(x) - 2.0 * HALF_LOG_OF_TWO_PI - log_of_bessel_i0(kappa)


def genhyperbolic(x: Array, p: Array, a: Array, b: Array) -> Any:
    """Return the log-density at x of the generalized hyperbolic distribution with parameters p, a, b.

    Source: Barndorff-Nielsen 1978, eq. 2.2.
    """
    squared, distance = (a + b) * (a - b), xp.hypot(x * 0.0 + 1.0, x)
    constant = 0.5 * p * xp.log(squared) - (p - 0.5) * xp.log(a)
    constant = constant - log_of_bessel_k(p, xp.sqrt(squared)) - HALF_LOG_OF_TWO_PI
    shape = (p - 0.5) * xp.log(distance) + log_of_bessel_k(p - 0.5, a * distance)
    return constant + shape + b * x


def geninvgauss(x: Array, p: Array, b: Array) -> Any:
    """Return the log-density at x of the generalized inverse Gaussian distribution with parameters p, b.

    Source: Jorgensen 1982, eq. 1.1.
    """
    quasi = (p - 1.0) * xp.log(x) - b * (x + 1.0 / x) / 2.0
    return quasi - log_of_bessel_k(p, b) - LOG_OF_TWO


# --- close to the normal distribution -------------------------------------------------------------
def skewnorm(x: Array, a: Array) -> Any:
    return LOG_OF_TWO - x * x / 2.0 - HALF_LOG_OF_TWO_PI + xp.special.log_ndtr(a * x)


def log_of_hypergeometric(a: Array, b: Array, c: Array, w: Array) -> Any:
    """Return log(2F1(a, b; c; w)) for 0 <= w < 1 and positive b and c, from the series DLMF 15.2.1."""
    most = float(np.max(plain_data(w), initial=0.0))
    count = min(int(45.0 / max(-np.log(most), 1e-3)) + 60, 20_000) if most > 0.0 else 4
    n = np.arange(count * 1.0)
    a, b, c, w = (xp.expand_dims(x, axis=-1) for x in (a, b, c, w))
    ratios = (a + n) * (b + n) / ((c + n) * (1.0 + n)) * w
    return xp.log1p(xp.sum(xp.cumulative_prod(ratios, axis=-1), axis=-1))


def gausshyper(x: Array, a: Array, b: Array, c: Array, z: Array) -> Any:
    """Return the log-density at x of the Gauss hypergeometric distribution with parameters a, b, c, z.

    Source: Armero and Bayarri 1994.
    Where z > 0, DLMF 15.8.1 transforms the argument -z of 2F1 to z / (1 + z), which is below 1.
    """
    positive = xp.asarray(plain_data(z) > 0.0)
    other, argument = xp.where(positive, b, a), xp.where(positive, z / (1.0 + z), -z)
    constant = log_of_hypergeometric(c, other, a + b, argument)
    constant = constant - xp.where(positive, c * xp.log1p(z), 0.0) + xp.special.betaln(a, b)
    shape = (a - 1.0) * xp.log(x) + (b - 1.0) * xp.log1p(-x) - c * xp.log1p(z * x)
    return shape - constant


NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)  # DLMF 5.11.1


def second_remainder(u: Array) -> Any:
    """Return ``(log(1 + u) - u) / u ** 2``, with the limit -1/2 and its derivatives at 0.

    Near 0 this is computed as the mean of f'(t u) for t from 0 to 1, with f(z) = log(1 + z) / z.
    """
    near = xp.asarray(np.abs(plain_data(u)) < 0.3)
    small, large = xp.where(near, u, 0.0), xp.where(near, 0.5, u)
    slopes = xp.special.log1prel_derivative(1, xp.expand_dims(small, axis=-1) * ((NODES + 1) / 2))
    mean = xp.sum(slopes * (WEIGHTS / 2), axis=-1)
    return xp.where(near, mean, (xp.log1p(large) - large) / (large * large))


def stirling_remainder(root: Array) -> Any:
    """Return gammaln(a) minus Stirling's formula for it, at a = 1 / root ** 2.

    As a function of ``root`` it is smooth at 0, where a is infinite.  Stirling's formula is (a - 1/2)
    log(a) - a + log(2 pi) / 2.
    """
    near = xp.asarray(np.abs(plain_data(root)) < 0.25)
    small = xp.where(near, root * root, 0.0)
    series = 0.0 * small
    for coefficient in reversed(STIRLING):
        series = series * small * small + coefficient
    a = 1.0 / xp.where(near, 1.0, root) ** 2
    direct = xp.special.gammaln(a) - (a - 0.5) * xp.log(a) + a - HALF_LOG_OF_TWO_PI
    return xp.where(near, series * small, direct)


def pearson3(x: Array, skew: Array) -> Any:
    """Return the log-density at x of the Pearson type III distribution with the skewness ``skew``.

    That is a gamma distribution of shape 4 / skew ** 2, shifted and scaled to mean 0 and variance 1.

    The limit at skew 0 is the log-density of the normal distribution.
    """
    u = skew * x / 2.0
    away = x * x * second_remainder(u) - xp.log1p(u)
    return away - stirling_remainder(skew / 2.0) - HALF_LOG_OF_TWO_PI


def around_the_median(
    q: Array, outside: Callable[[Array], Array], factor: Array, power: Array | float
) -> Array:
    """Return the quantile of a symmetric distribution as a formula that has derivatives at q = 1/2, too.

    outside : the quantile elsewhere.  factor, power : the quantile near the median is
    ``factor * (q - 1/2) ** power``.
    """
    middle = q == 0.5
    near = factor * (xp.where(middle, q, 0.5) - 0.5) ** power
    return xp.where(middle, near, outside(xp.where(middle, 0.25, q)))


def gennorm_quantile(q: Array, beta: Array) -> Array:
    def outside(q: Array) -> Any:
        side = xp.sign(q - 0.5)
        tail = xp.special.gammainccinv(1.0 / beta, (1.0 + side) - 2.0 * side * q)
        return side * tail ** (1.0 / beta)

    return around_the_median(q, outside, 2.0 * xp.exp(xp.special.gammaln(1.0 + 1.0 / beta)), 1.0)


def dgamma_quantile(q: Array, a: Array) -> Array:
    def outside(q: Array) -> Any:
        above = q > 0.5
        upper = xp.special.gammaincinv(a, xp.where(above, 2.0 * q - 1.0, 0.5))
        return xp.where(above, upper, -xp.special.gammainccinv(a, xp.where(above, 0.5, 2.0 * q)))

    factor = xp.exp((xp.special.gammaln(a + 1.0) + LOG_OF_TWO) / a)
    return around_the_median(q, outside, factor, 1.0 / a)


FORMULAS: dict[str, Callable[..., Array]] = {
    "dgamma_gen._isf": lambda q, a: -dgamma_quantile(q, a),
    "dgamma_gen._ppf": dgamma_quantile,
    "gausshyper_gen._pdf": gausshyper,
    "genextreme_gen._isf": lambda q, c: exponential(-xp.log(-xp.log1p(-q)), -c),
    "genextreme_gen._loglogcdf": lambda x, c: -logarithm(x, -c),
    "genextreme_gen._logpdf": genextreme,
    "genextreme_gen._ppf": lambda q, c: exponential(-xp.log(-xp.log(q)), -c),
    "genhalflogistic_gen._cdf": lambda x, c: xp.tanh(logarithm(x, -c) / 2.0),
    "genhalflogistic_gen._pdf": genhalflogistic,
    "genhalflogistic_gen._ppf": lambda q, c: -exponential(xp.log1p(-q) - xp.log1p(q), c),
    "genhyperbolic_gen._logpdf": genhyperbolic,
    "genhyperbolic_gen._pdf": genhyperbolic,
    "geninvgauss_gen._logpdf": geninvgauss,
    "gennorm_gen._ppf": gennorm_quantile,
    "genpareto_gen._logpdf": lambda x, c: -(c + 1.0) * logarithm(x, c),
    "genpareto_gen._logsf": lambda x, c: -logarithm(x, c),
    "kappa4_gen._logcdf": kappa4_logcdf,
    "kappa4_gen._logpdf": kappa4,
    "kappa4_gen._ppf": lambda q, h, k: -exponential(xp.log(-exponential(xp.log(q), h)), k),
    # Noncentral chi-squared: SciPy has a branch for the noncentrality 0, these functions need none.
    "ncx2_gen._cdf": lambda x, df, nc: xp.special.chndtr(x, df, nc),
    "ncx2_gen._isf": lambda q, df, nc: xp.special._ncx2_isf(q, df, nc),
    "ncx2_gen._logpdf": lambda x, df, nc: xp.log(xp.special._ncx2_pdf(x, df, nc)),
    "ncx2_gen._pdf": lambda x, df, nc: xp.log(xp.special._ncx2_pdf(x, df, nc)),
    "ncx2_gen._ppf": lambda q, df, nc: xp.special.chndtrix(q, df, nc),
    "ncx2_gen._sf": lambda x, df, nc: xp.special._ncx2_sf(x, df, nc),
    "pearson3_gen._logpdf": pearson3,
    "pearson3_gen._pdf": pearson3,
    "rice_gen._pdf": lambda x, b: xp.log(x) - (x * x + b * b) / 2.0 + log_of_bessel_i0(x * b),
    "skewnorm_gen._logpdf": skewnorm,
    "skewnorm_gen._pdf": skewnorm,
    "vonmises_gen._logpdf": vonmises,
    "vonmises_gen._pdf": vonmises,
}
