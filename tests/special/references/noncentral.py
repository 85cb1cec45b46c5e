"""Noncentral distributions, as Poisson mixtures."""

import mpmath as mp

from .incomplete import betainc, exact, gammainc


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


@exact
def ncfdtr(dfn, dfd, nc, f):
    x = dfn * f / (dfd + dfn * f)
    return mixture(lambda s: betainc(dfn / 2 + s, dfd / 2, x), nc / 2)


@exact
def ncf_pdf(f, dfn, dfd, nc):
    r = dfn / dfd
    b = dfd / 2

    def term(s):
        a = dfn / 2 + s
        return r * (r * f) ** (a - 1) * (1 + r * f) ** (-a - b) / mp.beta(a, b)

    return mixture(term, nc / 2)


@exact
def nct_pdf(x, df, nc):
    def term(s):
        power = (nc * x * mp.sqrt(2) / mp.sqrt(df + x * x)) ** s / mp.factorial(s)
        return mp.gamma((df + s + 1) / 2) * power

    constant = df ** (df / 2) * mp.exp(-nc * nc / 2) / (mp.sqrt(mp.pi) * mp.gamma(df / 2))
    return constant * (df + x * x) ** (-(df + 1) / 2) * mp.fsum(term(s) for s in range(90))


@exact
def nctdtr(df, nc, x):
    if x < 0:
        return 1 - nctdtr(df, -nc, -x)
    share, half = x * x / (df + x * x), nc * nc / 2

    def term(s):
        even = half**s / mp.factorial(s) * betainc(s + mp.mpf(1) / 2, df / 2, share)
        odd = nc / mp.sqrt(2) * half**s * mp.rgamma(s + mp.mpf(3) / 2)
        return even + odd * betainc(s + 1, df / 2, share)

    return mp.ncdf(-nc) + mp.exp(-half) * mp.fsum(term(s) for s in range(30)) / 2


ALONG = {  # compared along directions: test_stats.py
    "chndtr": chndtr,
    "_ncx2_sf": exact(lambda *x: 1 - chndtr(*x)),
    "_ncx2_pdf": ncx2_pdf,
    "ncfdtr": ncfdtr,
    "_ncf_sf": exact(lambda f, dfn, dfd, nc: 1 - ncfdtr(dfn, dfd, nc, f)),
    "_ncf_pdf": ncf_pdf,
    "_nct_pdf": nct_pdf,
    "nctdtr": nctdtr,
    "_nct_sf": exact(lambda x, df, nc: 1 - nctdtr(df, nc, x)),
}
REFERENCES = {}
_SLOW = "compared in test_stats.py along random directions: mixtures by mpmath are slow"
_IDENTITY = (
    "the identity cdf(ppf(p)) = p in test_stats.py, since roots of a mixture are slow to find"
)
_PART = "the derivatives of the functions in whose second ones it has a part"
_PARTS = ["gamma_density", "gamma_by", "beta_density", "beta_step", "beta_by"]
_INVERSES = ["chndtrix", "_ncx2_isf", "chndtridf", "chndtrinc", "ncfdtri", "_ncf_isf", "ncfdtridfd"]
_OF_T = ["nctdtrit", "_nct_isf", "nctdtridf", "nctdtrinc"]
BY_DIFFERENCES = {
    "normal_gamma": _PART,
    **dict.fromkeys(ALONG, _SLOW),
    **dict.fromkeys([*_INVERSES, "ncfdtridfn", "ncfdtrinc", *_OF_T], _IDENTITY),
    **{f"noncentral_{part}": _PART for part in _PARTS},
}
