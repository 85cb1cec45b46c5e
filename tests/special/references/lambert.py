"""Lambert's W function."""

import mpmath as mp


def wrightomega(z):
    branch = mp.ceil((mp.im(z) - mp.pi) / (2 * mp.pi))
    return mp.lambertw(mp.exp(z), int(branch))


REFERENCES = {
    "_lambertw": lambda z, k, tol: mp.lambertw(z, int(k)),
    "wrightomega": wrightomega,
}
EDGES = {
    "_lambertw": [
        (1e-10, 0, 1e-8), (0.0, 0, 1e-8), (-0.3, 0, 1e-8), (-0.1, -1, 1e-8), (1e100, 0, 1e-8),
        (-0.3678, 0, 1e-8), (-1e-50, -1, 1e-8),
    ],
    "wrightomega": [(-50.0,), (-600.0,), (0.0,), (1.0,), (1e5,)],
}  # fmt: skip
