"""Noncentral distributions, as Poisson mixtures."""

import mpmath as mp
from scipy.special import _ufuncs

from .incomplete import exact, gammainc, inverse


def mixture(term, l):  # noqa: E741
    return mp.exp(-l) * mp.fsum(l**s / mp.factorial(s) * term(s) for s in range(32))


@exact
def chndtr(x, df, nc):
    return mixture(lambda s: gammainc(df / 2 + s, x / 2), nc / 2)


@exact
def ncx2_pdf(x, df, nc):
    def term(s):
        a = df / 2 + s
        return (x / 2) ** (a - 1) * mp.exp(-x / 2) * mp.rgamma(a) / 2

    return mixture(term, nc / 2)


# The quantiles' own are as slow as the mixtures of mpmath are.
_IDENTITY = "the identity cdf(ppf(p)) = p in test_stats.py, since roots of a mixture are slow to find"
REFERENCES = {
    "chndtr": chndtr,
    "_ncx2_sf": exact(lambda *x: 1 - chndtr(*x)),
    "_ncx2_pdf": ncx2_pdf,
}
_PART = "the derivatives of the functions in whose second ones it has a part"
BY_DIFFERENCES = {
    **dict.fromkeys(["chndtrix", "_ncx2_isf", "chndtridf", "chndtrinc"], _IDENTITY),
    **dict.fromkeys(["noncentral_gamma_density", "noncentral_gamma_by"], _PART),
}
