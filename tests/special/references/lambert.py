"""Lambert's W function."""

import mpmath as mp


REFERENCES = {
    "_lambertw": lambda z, k, tol: mp.lambertw(z, int(k)),
    "wrightomega": lambda z: mp.lambertw(mp.exp(z)),
}
EDGES = {
    "_lambertw": [
        (1e-10, 0, 1e-8), (0.0, 0, 1e-8), (-0.3, 0, 1e-8), (-0.1, -1, 1e-8), (1e100, 0, 1e-8),
        (-0.3678, 0, 1e-8), (-1e-50, -1, 1e-8),
    ],
    "wrightomega": [(-50.0,), (-600.0,), (0.0,), (1.0,), (1e5,)],
}  # fmt: skip
