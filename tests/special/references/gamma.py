"""The gamma function and its relatives."""

import mpmath as mp

G = mp.mpf("6.024680040776729583740234375")


def gammaln(x):
    return mp.re(mp.loggamma(x))


def partial_harmonic(first, last, a):
    return mp.fsum(mp.power(i, -a) for i in range(int(first), int(last) + 1))


def polygamma_difference(n, a, b):
    return mp.polygamma(int(n), a + b) - mp.polygamma(int(n), a)


REFERENCES = {
    "_factorial": lambda x: mp.gamma(1 + x),
    "_gen_harmonic": lambda n, a: partial_harmonic(1, n, a),
    "_igam_fac": lambda a, x: x**a * mp.exp(-x) / mp.gamma(a),
    "_lanczos_sum_expg_scaled": lambda x: mp.gamma(x) * ((x + G - 0.5) / mp.e) ** (0.5 - x),
    "_lgam1p": lambda x: gammaln(1 + x),
    "_normalized_gen_harmonic": lambda j, k, n, a: (
        partial_harmonic(j, k, a) / partial_harmonic(1, n, a)
    ),
    "_riemann_zeta": mp.zeta,
    "_zeta": mp.zeta,
    "beta": mp.beta,
    "betaln": lambda a, b: gammaln(a) + gammaln(b) - gammaln(a + b),
    "binom": mp.binomial,
    "polygamma_of": lambda n, x: mp.polygamma(int(n), x),
    "digamma": mp.digamma,
    "gamma": mp.gamma,
    "gammaln": gammaln,
    "gammasgn": lambda x: mp.sign(mp.gamma(x)),
    "harmonic_derivative": lambda n, first, last, a: mp.fsum(
        (-mp.log(i)) ** int(n) * mp.power(i, -a) for i in range(int(first), int(last) + 1)
    ),
    "loggamma": mp.loggamma,
    "poch": mp.rf,
    "polygamma": lambda n, x: mp.polygamma(int(n), x),
    "polygamma_difference": polygamma_difference,
    "rgamma": mp.rgamma,
    "zeta_derivative": lambda n, s, q: mp.zeta(s, q, int(n)),
    "zetac": lambda x: mp.zeta(x) - 1,
}
EDGES = {
    "_gen_harmonic": [(1, 1.0), (300, 1.0), (100, 1 + 1e-9), (30, -3.0), (17, 0.5), (16, 2.0)],
    "_igam_fac": [(2.5, 1e-8), (1.5, 80.0), (200.0, 190.0)],
    "_riemann_zeta": [
        (0.5,),
        (0.0,),
        (-0.5,),
        (-3.3,),
        (-2.0,),
        (-20.7,),
        (1.001,),
        (40.0,),
        (-1.0,),
    ],
    "_zeta": [(2.0, 1e-3), (1.01, 3.0), (12.0, 50.0), (30.0, 1.5)],
    "beta": [(1e5, 1.0), (1e-3, 2.0), (1e4, 1e-4), (30.0, 40.0)],
    "betaln": [(1e8, 1e-3), (1e-5, 1e-5), (1e6, 2e6), (1e9, 1.0)],
    "binom": [(1e6, 2.0), (50.0, 25.0), (5.0, 5.0), (4.0, 1.0)],
    "digamma": [(1e-3,), (1e3,), (-0.5,), (1.4616321449683622,)],
    "gamma": [(-0.5,), (-3.25,), (1e-10,), (170.0,), (1.4616321449683622,)],
    "gammaln": [(1e-3,), (1e6,), (-2.5,), (1.0,), (2.0,)],
    "loggamma": [(1e-3,), (1e6,), (1.0,), (2.0,)],
    "poch": [(1e6, 0.5), (2.5, -1.5), (1e-3, 3.0)],
    "polygamma": [(1, 1e-3), (2, 50.0), (0, 1.5)],
    "polygamma_difference": [(0, 1e6, 1e-3), (1, 40.0, 3.0), (0, 3.0, -2.9), (2, 1e-2, 5.0)],
    "rgamma": [(0.0,), (-1.0,), (-2.0,), (-3.5,), (-20.0,), (1e-12,), (30.0,), (0.5,)],
    "zetac": [(0.5,), (-3.3,), (40.0,), (-2.0,)],
}
