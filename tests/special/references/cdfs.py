"""Cumulative distribution functions and their inverses."""

import mpmath as mp
from scipy.special import _ufuncs

from .incomplete import betainc, betaincc, exact, gammainc, gammaincc, inverse

half = mp.mpf(1) / 2


@exact
def chdtr(v, x):
    return gammainc(v / 2, x / 2)


@exact
def chdtrc(v, x):
    return gammaincc(v / 2, x / 2)


@exact
def gdtr(a, b, x):
    return gammainc(b, a * x)


@exact
def gdtrc(a, b, x):
    return gammaincc(b, a * x)


@exact
def pdtr(k, m):
    return gammaincc(k + 1, m)


@exact
def bdtr(k, n, p):
    return betaincc(k + 1, n - k, p)


@exact
def bdtrc(k, n, p):
    return betainc(k + 1, n - k, p)


@exact
def nbdtr(k, n, p):
    return betainc(n, k + 1, p)


@exact
def nbdtrc(k, n, p):
    return betaincc(n, k + 1, p)


@exact
def fdtr(dfn, dfd, x):
    return betainc(dfn / 2, dfd / 2, dfn * x / (dfd + dfn * x))


@exact
def fdtrc(dfn, dfd, x):
    return betaincc(dfn / 2, dfd / 2, dfn * x / (dfd + dfn * x))


@exact
def stdtr(df, x):
    if x * x < df:
        return half + mp.sign(x) * betainc(half, df / 2, x * x / (df + x * x)) / 2
    tail = betainc(df / 2, half, df / (df + x * x)) / 2
    return tail if x < 0 else 1 - tail


@exact
def nrdtrimn(p, std, x):
    return x - std * normal_quantile(p)


@exact
def nrdtrisd(mn, p, x):
    return (x - mn) / normal_quantile(p)


def normal_quantile(p):
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


@exact
def kolmogorov(x):
    return 2 * mp.fsum(-((-1) ** k) * mp.exp(-2 * k * k * x * x) for k in range(1, 60))


@exact
def smirnov(n, d):
    return d * mp.fsum(
        mp.binomial(n, j) * (d + j / n) ** (j - 1) * (1 - d - j / n) ** (n - j)
        for j in range(int(mp.floor(n * (1 - d))) + 1)
    )


REFERENCES = {
    "kolmogorov": kolmogorov,
    "kolmogi": inverse(kolmogorov, _ufuncs.kolmogi, 0, 0),
    "_kolmogp": exact(lambda x: mp.diff(kolmogorov, x)),
    "_kolmogc": exact(lambda x: 1 - kolmogorov(x)),
    "_kolmogci": inverse(lambda x: 1 - kolmogorov(x), _ufuncs._kolmogci, 0, 0),
    "smirnov": smirnov,
    "smirnovi": inverse(smirnov, _ufuncs.smirnovi, 1, 1),
    "_smirnovp": exact(lambda n, d: mp.diff(lambda d: smirnov(n, d), d)),
    "_smirnovc": exact(lambda n, d: 1 - smirnov(n, d)),
    "_smirnovci": inverse(lambda n, d: 1 - smirnov(n, d), _ufuncs._smirnovci, 1, 1),
    "share": lambda odds: odds / (1 + odds),
    "chdtr": chdtr,
    "chdtrc": chdtrc,
    "chdtri": inverse(chdtrc, _ufuncs.chdtri, 1, 1),
    "chdtriv": inverse(chdtr, _ufuncs.chdtriv, 0, 0),
    "gdtr": gdtr,
    "gdtrc": gdtrc,
    "gdtria": inverse(gdtr, _ufuncs.gdtria, 0, 0),
    "gdtrib": inverse(gdtr, _ufuncs.gdtrib, 1, 1),
    "gdtrix": inverse(gdtr, _ufuncs.gdtrix, 2, 2),
    "pdtr": pdtr,
    "pdtrc": exact(lambda k, m: gammainc(k + 1, m)),
    "pdtri": inverse(pdtr, _ufuncs.pdtri, 1, 1),
    "pdtrik": inverse(pdtr, _ufuncs.pdtrik, 0, 0),
    "bdtr": bdtr,
    "bdtrc": bdtrc,
    "bdtri": inverse(bdtr, lambda k, n, q: _ufuncs.bdtri(k, int(n), q), 2, 2),
    "bdtrik": inverse(bdtr, _ufuncs.bdtrik, 0, 0),
    "bdtrin": inverse(bdtr, _ufuncs.bdtrin, 1, 1),
    "nbdtr": nbdtr,
    "nbdtrc": nbdtrc,
    "nbdtri": inverse(nbdtr, _ufuncs.nbdtri, 2, 2),
    "nbdtrik": inverse(nbdtr, _ufuncs.nbdtrik, 0, 0),
    "nbdtrin": inverse(nbdtr, _ufuncs.nbdtrin, 1, 1),
    "btdtria": inverse(betainc, _ufuncs.btdtria, 0, 0),
    "btdtrib": inverse(betainc, _ufuncs.btdtrib, 1, 1),
    "fdtr": fdtr,
    "fdtrc": fdtrc,
    "fdtri": inverse(fdtr, _ufuncs.fdtri, 2, 2),
    "fdtridfd": inverse(fdtr, _ufuncs.fdtridfd, 1, 1),
    "stdtr": stdtr,
    "stdtrit": inverse(stdtr, _ufuncs.stdtrit, 1, 1),
    "stdtridf": inverse(stdtr, _ufuncs.stdtridf, 0, 0),
    "nrdtrimn": nrdtrimn,
    "nrdtrisd": nrdtrisd,
}
EDGES = {
    "stdtr": [
        (3.0, 0.0),
        (3.0, -1e6),
        (3.0, 1e-9),
        (1e4, -2.0),
        (1e3, 4.0),
        (0.1, -30.0),
        (5.0, 40.0),
    ],
    "stdtrit": [(3.0, 1e-30), (200.0, 1e-6), (3.0, 0.5000001)],
    "fdtr": [(2.5, 3.0, 1e-20), (2.0, 3.0, 1e6), (500.0, 700.0, 1.1)],
    "fdtrc": [(2.0, 3.0, 1e6), (500.0, 700.0, 0.9)],
    "share": [(1e-9,), (1e9,)],
    "bdtr": [(5, 5, 0.3), (0, 5, 0.3)],
}
_PART = "the derivatives of the functions in whose second ones it has a part"
BY_DIFFERENCES = dict.fromkeys(
    ["t_density", "stdtr_by", "kolmogorov_derivative", "smirnov_derivative"], _PART
)
