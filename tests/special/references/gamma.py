"""The gamma function and its relatives."""

import mpmath as mp

REFERENCES = {
    "digamma": mp.digamma,
    "gammaln": lambda x: mp.re(mp.loggamma(x)),
    "polygamma": lambda n, x: mp.polygamma(int(n), x),
}
EDGES = {
    "digamma": [(1e-3,), (1e3,), (-0.5,), (1.4616321449683622,)],
    "gammaln": [(1e-3,), (1e6,), (-2.5,), (1.0,), (2.0,)],
    "polygamma": [(1, 1e-3), (2, 50.0), (0, 1.5)],
}
