"""Legendre's functions in SciPy's new spelling, spherical harmonics, Dirichlet's kernel."""

import mpmath as mp


def diric(x, n):
    n = int(n)
    return mp.fsum(mp.cos((k - mp.mpf(n - 1) / 2) * x) for k in range(n)) / n


def sph_legendre_p(n, m, theta):
    return mp.re(mp.spherharm(int(n), int(m), theta, 0))


REFERENCES = {
    "diric": diric,
    "legendre_p": lambda n, z: mp.legendre(int(n), z),
    "sph_harm_y": lambda n, m, theta, phi: (
        sph_legendre_p(n, m, theta) * mp.expj(int(m) * phi)
    ),
    "sph_legendre_p": sph_legendre_p,
}
EDGES = {
    "diric": [(1e-9, 5), (6.283185307179586, 4), (3.0, 1), (1e-3, 40)],
    "legendre_p": [(0, 0.3), (5, 1.0), (4, -1.0), (3, 0.0)],
    "sph_harm_y": [(3, 0, 1e-8, 0.5), (4, 4, 3.1, 1.0), (4, -4, 0.5, 1.0), (0, 0, 0.5, 1.0)],
    "sph_legendre_p": [(3, 1, 1e-8), (4, 4, 3.1), (4, -4, 0.5), (0, 0, 0.5), (5, -2, 1.5)],
}
