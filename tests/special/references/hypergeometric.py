"""Hypergeometric and parabolic cylinder functions."""

import mpmath as mp


def prime(f):
    """The derivative by the second operand."""
    return lambda v, x: mp.diff(lambda z: f(v, z), x)


REFERENCES = {
    "hyp0f1": mp.hyp0f1,
    "hyp1f1": mp.hyp1f1,
    "hyp2f1": mp.hyp2f1,
    "hyperu": mp.hyperu,
    "pbdv_d": mp.pcfd,
    "pbdv_dp": prime(mp.pcfd),
    # SciPy's V has the order of D: V(-v - 1/2, x)
    "pbvv_v": lambda v, x: mp.pcfv(-v - mp.mpf(1) / 2, x),
    "pbvv_vp": prime(lambda v, x: mp.pcfv(-v - mp.mpf(1) / 2, x)),
    "pbwa_w": lambda a, x: mp.re(mp.pcfw(a, x)),
    "pbwa_wp": prime(lambda a, x: mp.re(mp.pcfw(a, x))),
}
EDGES = {
    "hyp0f1": [(1.0, 0.0), (0.5, 100.0), (0.5, -100.0), (3.0, 1e-8)],
    "hyp1f1": [(1.0, 2.0, 0.0), (0.5, 1.0, 50.0), (0.5, 1.0, -50.0), (0.5, 1.5, 1e-8)],
    "hyp2f1": [(0.5, 0.7, 1.9, 0.0), (0.5, 0.7, 3.9, 0.999), (1.0, 2.0, 2.5, -50.0)],
    "hyperu": [(1.0, 1.5, 0.05), (0.5, 1.2, 50.0)],
}  # fmt: skip
