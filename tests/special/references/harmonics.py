"""Spherical harmonics and Dirichlet's kernel."""

import mpmath as mp


def diric(x, n):
    n = int(n)
    return mp.fsum(mp.cos((k - mp.mpf(n - 1) / 2) * x) for k in range(n)) / n


def sph_legendre_p(n, m, theta):
    return mp.re(mp.spherharm(int(n), int(m), theta, 0))


REFERENCES = {
    "diric": diric,
    "sph_harm_y": lambda n, m, theta, phi: sph_legendre_p(n, m, theta) * mp.expj(int(m) * phi),
}
EDGES = {
    "diric": [(1e-9, 5), (6.283185307179586, 4), (3.0, 1), (1e-3, 40)],
    "sph_harm_y": [(3, 0, 1e-8, 0.5), (4, 4, 3.1, 1.0), (4, -4, 0.5, 1.0), (0, 0, 0.5, 1.0)],
}
