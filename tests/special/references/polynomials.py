"""Orthogonal polynomials."""

import mpmath as mp


def sh_jacobi(n, p, q, x):
    return mp.jacobi(n, p - q, q - 1, 2 * x - 1) / mp.binomial(2 * n + p - 1, n)


def lpmv(m, v, x):
    """By the derivatives of Legendre's polynomial, which mp.diff differentiates faster than legenp."""
    m, v = int(m), int(v)
    if m < 0:
        factor = (-1) ** m * mp.factorial(v + m) / mp.factorial(v - m)
        return factor * lpmv(-m, v, x)
    polynomial = mp.taylor(lambda t: mp.legendre(v, t), 0, v)  # from the constant term on
    for _ in range(m):
        polynomial = [i * c for i, c in enumerate(polynomial)][1:]
    sum_of_powers = mp.fsum(c * x**i for i, c in enumerate(polynomial))
    return (-1) ** m * (1 - x * x) ** (mp.mpf(m) / 2) * sum_of_powers


REFERENCES = {
    "eval_chebyt": mp.chebyt,
    "eval_chebyu": mp.chebyu,
    "eval_chebyc": lambda n, x: 2 * mp.chebyt(n, x / 2),
    "eval_chebys": lambda n, x: mp.chebyu(n, x / 2),
    "eval_sh_chebyt": lambda n, x: mp.chebyt(n, 2 * x - 1),
    "eval_sh_chebyu": lambda n, x: mp.chebyu(n, 2 * x - 1),
    "eval_legendre": mp.legendre,
    "eval_sh_legendre": lambda n, x: mp.legendre(n, 2 * x - 1),
    "eval_laguerre": lambda n, x: mp.laguerre(n, 0, x),
    "eval_hermite": mp.hermite,
    "eval_hermitenorm": lambda n, x: mp.hermite(n, x / mp.sqrt(2)) * mp.mpf(2) ** (-n / mp.mpf(2)),
    "eval_gegenbauer": mp.gegenbauer,
    "eval_genlaguerre": mp.laguerre,
    "eval_jacobi": mp.jacobi,
    "eval_sh_jacobi": sh_jacobi,
    "lpmv": lpmv,
}
ENDS = [(n, x) for n in (0, 1, 2, 9) for x in (-1.0, 1.0)]
SHIFTED_ENDS = [(n, x) for n in (0, 1, 2, 9) for x in (0.0, 1.0)]
DOUBLED_ENDS = [(n, x) for n in (0, 1, 2, 9) for x in (-2.0, 2.0)]
EDGES = {
    "eval_chebyt": [*ENDS, (40, 0.3), (5, 3.0)],
    "eval_chebyu": [*ENDS, (40, 0.3), (5, 3.0)],
    "eval_chebyc": DOUBLED_ENDS,
    "eval_chebys": DOUBLED_ENDS,
    "eval_sh_chebyt": SHIFTED_ENDS,
    "eval_sh_chebyu": SHIFTED_ENDS,
    "eval_legendre": [*ENDS, (40, 0.3), (5, 3.0)],
    "eval_sh_legendre": SHIFTED_ENDS,
    "eval_laguerre": [(0, 0.0), (3, 0.0), (20, 5.0)],
    "eval_hermite": [(0, 0.0), (1, 0.0), (2, 0.0), (30, 1.5)],
    "eval_hermitenorm": [(0, 0.0), (1, 0.0), (2, 0.0), (30, 1.5)],
    "eval_gegenbauer": [(0, 0.7, 1.0), (2, 0.7, -1.0), (6, 0.5, 1.0), (12, 1.0, 0.3)],
    "eval_genlaguerre": [(0, 0.7, 0.0), (3, 0.5, 0.0), (12, 1.0, 3.0)],
    "eval_jacobi": [(3, 0.5, 0.7, -0.99), (6, -0.5, -0.5, 0.3), (12, 1.0, 2.0, 0.3)],
    "lpmv": [(0, 5, 1.0), (0, 5, -1.0), (0, 4, -0.95), (1, 5, 0.99), (2, 5, -0.99), (-1, 3, 0.4)],
    "eval_sh_jacobi": [(0, 2.5, 0.7, 1.0), (2, 2.5, 0.7, 0.0), (9, 3.0, 2.0, 0.3)],
}  # fmt: skip
