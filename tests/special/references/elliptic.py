"""Elliptic integrals and functions."""

import mpmath as mp

NODES = mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(5, 450)


def elliprj(x, y, z, p):
    """In u = log(t), by a fixed rule, which mp.diff differentiates fast."""
    if p < 0:
        return mp.elliprj(x, y, z, p)
    total = mp.mpf(0)
    for k in range(-200, 260):
        t = mp.exp(mp.mpf(k) / 4)
        total += t / (mp.sqrt((t + x) * (t + y) * (t + z)) * (t + p))
    return 3 * total / 8


def powers_of_sine(k, q, phi, m):
    """The integral of sin(x) ** (2 q) (1 - m sin(x) ** 2) ** -k from 0 to phi: by a fixed rule too."""
    panels = 1 + int(2 * abs(phi))
    half = phi / panels / 2
    total = mp.mpf(0)
    for panel in range(panels):
        for node, weight in NODES:
            square = mp.sin(half * (2 * panel + 1 + node)) ** 2
            total += weight * square**q * (1 - m * square) ** -k
    return half * total


def amplitude(u, m):
    """am(u, m), where it is between -pi and pi."""
    return mp.atan2(mp.ellipfun("sn", u, m=m), mp.ellipfun("cn", u, m=m))


REFERENCES = {
    "elliprf": mp.elliprf,
    "elliprd": mp.elliprd,
    "elliprg": mp.elliprg,
    "elliprj": elliprj,
    "elliprc": mp.elliprc,
    "ellipk": mp.ellipk,
    "ellipkm1": lambda p: mp.ellipk(1 - p),
    "ellipe": mp.ellipe,
    "ellipkinc": mp.ellipf,
    "ellipeinc": mp.ellipe,
    "ellip_power": powers_of_sine,
    "ellipj_sn": lambda u, m: mp.ellipfun("sn", u, m=m),
    "ellipj_cn": lambda u, m: mp.ellipfun("cn", u, m=m),
    "ellipj_dn": lambda u, m: mp.ellipfun("dn", u, m=m),
    "ellipj_ph": amplitude,
}
EDGES = {
    "elliprf": [(1.0, 1.0, 1.0), (1e-6, 1.0, 1e6), (0.5, 0.5, 2.0)],
    "elliprd": [(1.0, 1.0, 1.0), (1e-6, 1.0, 1e3), (0.5, 2.0, 0.5), (2.0, 1.0, 1e-4)],
    "elliprg": [(1.0, 1.0, 1.0), (1e-6, 1.0, 1e6), (0.5, 0.5, 2.0)],
    "elliprc": [(1.0, 1.0), (1.0, 1.0000001), (2.0, -0.5), (1e-6, 1.0), (1.0, -3.0), (1e4, 1.0)],
    "elliprj": [(1.0, 1.0, 1.0, 1.0), (0.5, 1.0, 2.0, 0.5), (0.5, 1.0, 2.0, 2.0000001)],
    "ellipk": [(0.0,), (1e-10,), (0.999999,), (-1e6,), (0.5,)],
    "ellipkm1": [(1e-12,), (1.0,), (100.0,)],
    "ellipe": [(0.0,), (1e-10,), (0.999999,), (-1e6,), (0.5,)],
    "ellipkinc": [(1.0, 0.0), (1.0, 1e-9), (1e-4, 0.5), (1.5707, 0.999), (10.0, 0.7), (-2.0, 0.3)],
    "ellipeinc": [(1.0, 0.0), (1.0, 1e-9), (1e-4, 0.5), (1.5707, 0.999), (10.0, 0.7), (-2.0, 0.3)],
    "ellipj_sn": [(0.5, 0.999), (1e-3, 0.5), (6.0, 0.3), (0.5, 1e-6)],
    "ellipj_cn": [(0.5, 0.999), (1e-3, 0.5), (6.0, 0.3), (0.5, 1e-6)],
    "ellipj_dn": [(0.5, 0.999), (1e-3, 0.5), (6.0, 0.3), (0.5, 1e-6)],
    "ellipj_ph": [(0.5, 0.999), (1e-3, 0.5), (0.5, 1e-6)],
}  # fmt: skip
BY_DIFFERENCES = {
    "carlson_integral": "checked by those of elliprd, elliprg and elliprj: quadrature is slow"
}
