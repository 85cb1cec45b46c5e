"""The incomplete gamma and beta functions, and their inverses."""

import functools

import mpmath as mp
from scipy.special import _ufuncs


def exact(function):
    """The real function of mpmath numbers: mp.diff leaves the arguments by which it does not go."""

    @functools.wraps(function)
    def call(*arguments):
        return mp.re(function(*[mp.re(mp.mpmathify(x)) for x in arguments]))

    return call


@exact
def gammainc(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


@exact
def gammaincc(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


@exact
def betainc(a, b, x):
    return beta_integral(a, b, x, 1 - x) if x < (a + 1) / (a + b + 2) else 1 - betaincc(a, b, x)


@exact
def betaincc(a, b, x):
    return beta_integral(b, a, 1 - x, x) if x >= (a + 1) / (a + b + 2) else 1 - betainc(a, b, x)


def beta_integral(a, b, x, y):
    """betainc where y is 1 - x: DLMF 8.17.8, which converges fast for x below the mean."""
    return x**a * y**b * mp.hyp2f1(a + b, 1, a + 1, x) / (a * mp.beta(a, b))


def inverse(function, ufunc, place, value):
    """What the argument number ``place`` of ``function`` must be for the function to have the value
    that argument number ``value`` of ``ufunc`` is; their other arguments come in one order."""

    @exact
    def solve(*arguments):
        start = mp.mpf(float(ufunc(*[float(x) for x in arguments])))
        others = [x for i, x in enumerate(arguments) if i != value]

        def difference(x):
            return function(*others[:place], x, *others[place:]) - arguments[value]

        return mp.findroot(difference, (start, start * (1 - mp.mpf(10) ** -9)), verify=False)

    return solve


REFERENCES = {
    "gammainc": gammainc,
    "gammaincc": gammaincc,
    "gammaincinv": inverse(gammainc, _ufuncs.gammaincinv, 1, 1),
    "gammainccinv": inverse(gammaincc, _ufuncs.gammainccinv, 1, 1),
    "betainc": betainc,
    "betaincc": betaincc,
    "betaincinv": inverse(betainc, _ufuncs.betaincinv, 2, 2),
    "betainccinv": inverse(betaincc, _ufuncs.betainccinv, 2, 2),
}
GAMMA_EDGES = [
    (1e-3, 0.5),
    (1e-3, 1e-30),
    (0.5, 1e-20),
    (30.0, 2.0),
    (30.0, 120.0),
    (1e4, 9.7e3),
    (1e4, 1.05e4),
]
GAMMA_QUANTILES = [(0.5, 1e-30), (20.0, 1e-30), (300.0, 1e-9), (300.0, 0.9)]
BETA_EDGES = [
    (1e-2, 2.0, 0.3),
    (2.0, 1e-2, 0.3),
    (0.5, 0.5, 1e-12),
    (40.0, 60.0, 0.1),
    (40.0, 60.0, 0.7),
    (1e3, 2e3, 0.34),
]
BETA_QUANTILES = [(0.5, 0.5, 1e-9), (30.0, 2.0, 1e-12), (2.0, 30.0, 1e-12), (200.0, 300.0, 0.4)]
EDGES = {
    "gammainc": GAMMA_EDGES,
    "gammaincc": GAMMA_EDGES,
    "gammaincinv": GAMMA_QUANTILES,
    "gammainccinv": GAMMA_QUANTILES,
    "betainc": BETA_EDGES,
    "betaincc": BETA_EDGES,
    "betaincinv": BETA_QUANTILES,
    "betainccinv": [(0.5, 0.5, 1e-4), *BETA_QUANTILES[1:]],
}
_PART = "the derivatives of gammainc and betainc, whose second ones it has a part in"
BY_DIFFERENCES = dict.fromkeys(
    ["gamma_density", "gammainc_by", "beta_density", "betainc_by"], _PART
)
