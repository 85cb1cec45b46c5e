"""Lambert's W function."""

import mpmath as mp


def wright_omega(z):
    return mp.findroot(lambda w: w + mp.log(w) - z, mp.lambertw(mp.exp(min(z, 200))) if z < 200 else z)


REFERENCES = {
    "_lambertw": lambda z, k, tol: mp.lambertw(z, int(k)),
    "wrightomega": wright_omega,
}
EDGES = {
    "_lambertw": [
        (1e-10, 0, 1e-8), (0.0, 0, 1e-8), (-0.3, 0, 1e-8), (-0.1, -1, 1e-8), (1e100, 0, 1e-8),
        (-0.3678, 0, 1e-8), (-1e-50, -1, 1e-8),
    ],
    "wrightomega": [(-50.0,), (-600.0,), (0.0,), (1.0,), (1e5,)],
}  # fmt: skip
