"""Kernels that stand in for what CuPy lacks: values are SciPy's."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import arraytape.special  # noqa: F401  enters the substitutes
from arraytape._storage.numpy_storage import NUMPY
from arraytape._storage.special import SUBSTITUTES, of_scipy
from arraytape.special._statement import STATEMENTS
from special.points import arguments

SIZES = np.asarray([1e-30, 1e-8, 1e-3, 0.2, 0.5, 0.9, 1.0, 1.5, 3.0, 11.0, 12.0, 13.0, 40.0, 170.0])
SHAPES = np.asarray([1e-8, 0.3, 1.0, 2.5, 20.0, 150.0, 300.0])
SHARES = np.asarray([0.0, 1e-300, 1e-12, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0 - 1e-12, 1.0])
ANY = np.concatenate([-SIZES[::-1], [0.0], SIZES, [math.inf, -math.inf, math.nan]])
TURNS = np.concatenate([np.arange(-8, 9) / 4, [-7.1, 1e-20, 0.3, 1e6 + 0.25, 1e300, math.inf]])
PLANE = TURNS[:-2, None] + 1j * np.asarray([-2.0, -1e-8, 0.0, 0.5])
FROM_ZERO = np.concatenate([[0.0], SIZES, [1e4, math.inf, math.nan]])
ORDERS = [0, 1, 2, 3, 7, -1, -2, -3]
LENGTHS = np.asarray([1e-30, 1e-16, 1e-4, 0.5, 1.0, 3.0, 1e5])
CASES = {
    "_sinpi": [[TURNS], [PLANE]],
    "_cospi": [[TURNS], [PLANE]],
    "_lanczos_sum_expg_scaled": [[np.concatenate([SIZES, [1e9]])]],
    "_igam_fac": [[SHAPES[:, None], np.concatenate([FROM_ZERO[:-2], SHAPES * 1.001])]],
    "_beta_pdf": [[SHARES[1:-1], SHAPES[:, None], SHAPES[:, None, None]]],
    "betainccinv": [[SHAPES[1:, None], SHAPES[1:, None, None], SHARES[3:]]],
    "_riemann_zeta": [[np.asarray([-3.5, -1.0, 0.0, 0.5, 1.0, 1.1, 2.0, 3.0, 30.0, math.inf])]],
    "elliprd": [
        [np.append(LENGTHS, [0.0, math.inf]), LENGTHS[:, None], LENGTHS[:, None, None]],
        [np.asarray(0.0), np.asarray(0.0), np.asarray([0.0, 1.0])],
        [np.asarray([0.5 + 1j, 2j]), np.asarray(1 - 0.3j), np.asarray([0.2 + 0.1j, 1.0])],
    ],
    "eval_jacobi": [
        [n, np.asarray([0.3, 1.0, 2.5]), np.asarray([[0.0], [1.0]]), SHARES[3:, None, None]]
        for n in (-1, 0, 1, 2, 9)
    ],
    "jv": [[n, ANY] for n in [*ORDERS, np.asarray(ORDERS)[:, None]]],
    "iv": [[n, np.append(ANY, [705.0, 720.0, -720.0])] for n in ORDERS],
    "ive": [[n, np.append(ANY[:-3], [720.0, -720.0])] for n in ORDERS],
    "yv": [[n, FROM_ZERO] for n in ORDERS],
    "kv": [[n, FROM_ZERO] for n in ORDERS],
    "kve": [[n, FROM_ZERO[:-2]] for n in ORDERS],
}
TAILS = np.asarray([-math.inf, -40.0, -3.0, -1e-3, 0.0, 0.2, 1.5, 9.0, math.inf, math.nan])
RATIOS = np.asarray([1e-12, 1e-3, 0.1, 0.7, 1.0, 4.0, 30.0, 1e6])
MIDDLE = RATIOS[1:-1]
CASES |= {
    "elliprf": [[np.append(RATIOS, 0.0), RATIOS[:, None], RATIOS[:, None, None]], [0.0, 0.0, RATIOS]],
    "elliprc": [
        [np.append(RATIOS, 0.0), np.append(RATIOS, -RATIOS)[:, None]], [RATIOS, PLANE[:, :1] + 9],
    ],
    "elliprg": [[np.append(RATIOS, 0.0), RATIOS[:, None], RATIOS[:, None, None]], [0.0, 0.0, RATIOS]],
    "elliprj": [
        [np.append(MIDDLE, 0.0), MIDDLE[:, None], 0.4, np.append(RATIOS, -RATIOS)[:, None, None]],
    ],
    "stdtr": [[np.append(SHAPES[1:], math.inf)[:, None], TAILS], [-1.0, TAILS]],
    "stdtrit": [[np.append(SHAPES[1:], math.inf)[:, None], np.append(SHARES[2:-2], [1.1, -0.1])]],
    "betaincc": [[SHAPES[1:, None], SHAPES[1:, None, None], SHARES]],
    "kolmogorov": [[ANY]],
    "kolmogi": [[SHARES[:8]], [SHARES[-1]]],
    "ndtri_exp": [[-np.append(SIZES, [0.0, 1e5, math.inf])]],
    "powm1": [[np.append(SIZES, [0.0]), np.asarray([-2.0, -1e-9, 0.0, 0.3])[:, None]], [-2.0, 3.0]],
    "wrightomega": [[ANY]],
    "nrdtrimn": [[np.append(SHARES, [-0.1, 1.1, math.nan]), np.asarray([[-1.0], [0.0], [2.0]]), 0.3]],
    "nrdtrisd": [[-0.2, np.append(SHARES, [-0.1, 1.1, math.nan]), np.asarray([[-0.2], [0.3]])]],
    "diric": [[TURNS[:-2, None] * math.pi, np.asarray([1.0, 2.0, 5.0, 0.0, 2.5])]],
    "hyp0f1": [[SHAPES[1:5, None], np.append(SIZES[:-2], -SIZES[:-2])]],
    "pdtrik": [[SHARES[3:7], np.asarray([[0.3], [2.0], [8.0]])]],
    "stdtridf": [[np.asarray([0.6, 0.72]), np.asarray([[-1.0], [1.1]])]],
}  # fmt: skip
# SciPy's own inverses with respect to a parameter are accurate to this tolerance.
CDFLIB = dict.fromkeys(["bdtrik", "bdtrin", "nbdtrik", "nbdtrin", "stdtridf", "fdtridfd"], 1e-10)
TOLERANCE = {
    "_igam_fac": 1e-12,
    "_beta_pdf": 1e-11,
    "betainccinv": 1e-9,
    "eval_jacobi": 1e-12,
    "eval_hermite": 1e-12,
    "hyp0f1": 1e-12,
    "jv": 1e-12,
    "kolmogi": 1e-12,
    "ndtri_exp": 1e-12,
    "pdtrik": 1e-12,
    "stdtrit": 1e-11,
    "yv": 3e-12,
    **CDFLIB,
}


def cases(name):
    """Return the operands in ``CASES``, or else some drawn from the domains at the function."""
    return CASES[name] if name in CASES else [arguments(STATEMENTS[name], 40)]


@pytest.mark.parametrize("name", sorted(SUBSTITUTES))
def test_values_are_scipys(name):
    for operands in cases(name):
        with np.errstate(all="ignore"):
            found = SUBSTITUTES[name](*operands, xp=NUMPY.xp)
            expected = of_scipy(name)(*operands)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=TOLERANCE.get(name, 5e-13), atol=1e-300)


@pytest.mark.parametrize("orders", [0.5, 31, [0.0, 1.5]])
def test_other_orders_are_refused(orders):
    orders = np.asarray(orders) if type(orders) is list else orders
    with pytest.raises(TypeError, match=r"special.jv of complex data, or of orders beyond 0, 1"):
        SUBSTITUTES["jv"](orders, np.asarray([1.0, 2.0]), xp=LikeCuPy())


class LikeCuPy:
    cupy = SimpleNamespace(__version__="14.2.0")
