"""Functions of scipy.special of which scipy.stats makes its distributions."""

import mpmath as mp
import numpy as np
from scipy.special import _ufuncs

from .incomplete import betainc, betaincc, exact, inverse


@exact
def beta_pdf(x, a, b):
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def binomial_coefficient(n, k):
    return mp.gamma(n + 1) * mp.rgamma(k + 1) * mp.rgamma(n - k + 1)


@exact
def binom_pmf(k, n, p):
    return binomial_coefficient(n, k) * p**k * (1 - p) ** (n - k)


@exact
def nbinom_pmf(k, r, p):
    return mp.gamma(k + r) * mp.rgamma(k + 1) * mp.rgamma(r) * p**r * (1 - p) ** k


@exact
def cosine_cdf(x):
    return mp.mpf(1) / 2 + (x + mp.sin(x)) / (2 * mp.pi)


@exact
def invgauss_cdf(x, mu, scale):
    root = mp.sqrt(scale / x)
    return mp.ncdf(root * (x / mu - 1)) + mp.exp(2 * scale / mu) * mp.ncdf(-root * (x / mu + 1))


def legendre(count):
    """Nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    with mp.workdps(70):
        found = []
        for start in np.polynomial.legendre.leggauss(count)[0]:
            x = mp.findroot(lambda x: mp.legendre(count, x), mp.mpf(float(start)))
            slope = count * (x * mp.legendre(count, x) - mp.legendre(count - 1, x)) / (x * x - 1)
            found.append(((x + 1) / 2, 1 / ((1 - x * x) * slope**2)))
        return found


LEGENDRE = legendre(50)


@exact
def skewnorm_cdf(x, loc, scale, shape):
    z = (x - loc) / scale

    angle, total = mp.atan(shape), mp.mpf(0)
    for node, weight in LEGENDRE:
        total += weight * mp.exp(-((z / mp.cos(angle * node)) ** 2) / 2)
    return mp.ncdf(z) - angle * total / mp.pi


@exact
def nct_mean(df, nc):
    return nc * mp.sqrt(df / 2) * mp.gamma((df - 1) / 2) / mp.gamma(df / 2)


REFERENCES = {
    "_nct_mean": nct_mean,
    "_nct_variance": exact(lambda df, nc: df * (1 + nc * nc) / (df - 2) - nct_mean(df, nc) ** 2),
    "_ncf_mean": exact(lambda dfn, dfd, nc: dfd * (dfn + nc) / (dfn * (dfd - 2))),
    "_beta_pdf": beta_pdf,
    "_beta_ppf": inverse(lambda x, a, b: betainc(a, b, x), _ufuncs._beta_ppf, 0, 0),
    "_binom_pmf": binom_pmf,
    "_binom_cdf": exact(lambda k, n, p: betaincc(k + 1, n - k, p)),
    "_binom_sf": exact(lambda k, n, p: betainc(k + 1, n - k, p)),
    "_nbinom_pmf": nbinom_pmf,
    "_nbinom_cdf": exact(lambda k, r, p: betainc(r, k + 1, p)),
    "_nbinom_sf": exact(lambda k, r, p: betaincc(r, k + 1, p)),
    "_nbinom_mean": exact(lambda r, p: r * (1 - p) / p),
    "_nbinom_variance": exact(lambda r, p: r * (1 - p) / p**2),
    "_nbinom_skewness": exact(lambda r, p: (2 - p) / mp.sqrt(r * (1 - p))),
    "_nbinom_kurtosis_excess": exact(lambda r, p: (6 + p * p / (1 - p)) / r),
    "_cauchy_ppf": exact(lambda p, loc, scale: loc - scale * mp.cot(mp.pi * p)),
    "_cauchy_isf": exact(lambda p, loc, scale: loc + scale * mp.cot(mp.pi * p)),
    "_cosine_cdf": cosine_cdf,
    "_cosine_invcdf": inverse(cosine_cdf, _ufuncs._cosine_invcdf, 0, 0),
    "_invgauss_ppf": inverse(invgauss_cdf, _ufuncs._invgauss_ppf, 0, 0),
    "_invgauss_isf": inverse(
        lambda x, mu, scale: 1 - invgauss_cdf(x, mu, scale), _ufuncs._invgauss_isf, 0, 0
    ),
    "_skewnorm_cdf": skewnorm_cdf,
}
_OF_DENSITY = "the first derivative of test_stats.py, which is SciPy's own density"
BY_DIFFERENCES = dict.fromkeys(
    ["_landau_cdf", "_landau_sf", "_landau_ppf", "_landau_isf"], _OF_DENSITY
) | dict.fromkeys(
    ["_skewnorm_ppf", "_skewnorm_isf"],
    "the identity cdf(ppf(p)) = p in test_stats.py, since roots of an integral are slow to find",
)
EDGES = {
    "_cauchy_ppf": [(1e-12, 0.5, 2.0)],
    "_cosine_cdf": [(-3.1415,), (3.14159,)],
    "_beta_pdf": [(1e-9, 2.0, 0.5), (0.3, 1.0, 1.0)],
}
