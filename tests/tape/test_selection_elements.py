"""Elements that are not selected contribute zero, also through what follows the selection."""

import numpy as np
import pytest

import arraytape as xp
from helpers.selections import (
    ELEMENTS,
    LIVE,
    SHAPE,
    by_where,
    inf,
    nan,
    near,
    orders,
    products,
    spread,
    uneven,
    with_dead,
)

pytestmark = pytest.mark.any_storage

FUNCTIONS = {  # name: (function, a dead element)
    "sqrt": (xp.sqrt, 0.0),
    "sqrt of a negative number": (xp.sqrt, -1.0),
    "log": (xp.log, 0.0),
    "log of a negative number": (xp.log, -1.0),
    "log2": (xp.log2, 0.0),
    "log10": (xp.log10, 0.0),
    "log1p": (xp.log1p, -1.0),
    "reciprocal": (xp.reciprocal, 0.0),
    "division": (lambda x: 1.0 / x, 0.0),
    "quotient": (lambda x: x / x**2, 0.0),
    "power 0.5": (lambda x: x**0.5, 0.0),
    "power 0.5 of arrays": (lambda x: xp.pow(x, xp.asarray(0.5)), 0.0),
    "power -1": (lambda x: x**-1.0, 0.0),
    "power 1.5": (lambda x: x**1.5, 0.0),
    "x log x": (lambda x: x * xp.log(x), 0.0),
    "exp of a reciprocal": (lambda x: xp.exp(1.0 / x), 0.0),
    "arccos": (xp.acos, 1.0),
    "arccos out of range": (xp.acos, 2.0),
    "arcsin": (xp.asin, 1.0),
    "arctanh": (xp.atanh, 1.0),
    "abs of a root": (lambda x: xp.abs(xp.sqrt(x)), 0.0),
    "abs of a logarithm": (lambda x: xp.abs(xp.log(x)), 0.0),
    "real part of a complex product": (lambda x: xp.real(xp.log(x) * (1.0 + 2.0j)), 0.0),
    "root of another dtype": (
        lambda x: xp.astype(xp.sqrt(xp.astype(x, xp.float32)), xp.float64),
        0.0,
    ),
    "norm with a constant": (lambda x: xp.hypot(xp.sqrt(x), xp.asarray(1.0)), 0.0),
    "a nan": (lambda x: x * x, nan),
    "an infinity": (lambda x: xp.exp(x) * xp.sin(x), inf),
    "overflow": (lambda x: xp.exp(x * x), 1000.0),
}


@orders
@pytest.mark.parametrize("select", ELEMENTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_that_are_not_selected_contribute_zero(name, select, agree):
    f, dead = FUNCTIONS[name]
    weights = xp.asarray(uneven(SHAPE))

    def whole(x):
        return weights * select(f(x), LIVE) ** 2

    def alone(x):
        return weights * spread(f(x), LIVE, SHAPE) ** 2

    agree(whole, alone, LIVE, with_dead(dead))


@pytest.mark.parametrize("f", [xp.sqrt, xp.log, xp.reciprocal, lambda x: x**0.5])
def test_the_whole_hessian_is_zero_in_the_rows_and_columns_of_dead_elements(f):
    x, live = np.asarray([0.0, 2.0, 0.0, 0.75]), np.asarray([False, True, False, True])

    def whole(x):
        return xp.sum(xp.where(x > 0, f(x), 0.0)) ** 3

    def alone(x):
        return xp.sum(f(x)) ** 3

    found = np.stack([products(whole, [row], x)[0] for row in np.eye(4)])
    expected = np.zeros((4, 4))
    part = np.stack([products(alone, [row], x[live])[0] for row in np.eye(2)])
    expected[np.ix_(live, live)] = part
    assert np.abs(part).min() > 0
    near(found, expected)


def test_a_third_derivative_is_zero_at_a_dead_element():
    x = xp.asarray([0.0, 4.0])
    with np.errstate(all="ignore"), xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as middle:
            middle.watch(x)
            with xp.GradientTape() as inner:
                inner.watch(x)
                y = xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0))
            first = inner.gradient(y, x)
        second = middle.gradient(first, x)
    near(np.asarray(outer.gradient(second, x)), [0.0, 3 / 8 * 4.0**-2.5])


# --- what follows the selection -------------------------------------------------------------------
A, B = uneven((5, 4), 1.0), uneven((3, 2), 2.0)
STACK = uneven((2, 3, 3), 4.0)
FOLLOWERS = {
    "sum": lambda z: xp.sum(z) ** 2,
    "sum over an axis": lambda z: xp.sum(z, axis=0) ** 2,
    "mean": lambda z: xp.mean(z, axis=1) ** 2,
    "matmul": lambda z: (z @ xp.asarray(B)) ** 2,
    "matmul from the left": lambda z: (xp.asarray(A) @ z) ** 2,
    "matmul with a stack": lambda z: (z @ xp.asarray(STACK)) ** 2,
    "matmul with itself": lambda z: (z @ xp.matrix_transpose(z)) ** 2,
    "matrix times vector": lambda z: (z @ xp.asarray(B[:, 0])) ** 2,
    "tensordot": lambda z: xp.tensordot(z, xp.asarray(B), axes=1) ** 2,
    "vecdot": lambda z: xp.vecdot(z, xp.asarray(B[:, 0])) ** 2,
    "gather": lambda z: z[xp.asarray([0, 2, 2, -1]), ...] ** 2,
    "take": lambda z: xp.take(z, xp.asarray([2, 0, 2]), axis=1) ** 3,
    "slice": lambda z: z[1:, ::2] ** 2,
    "sort": lambda z: xp.sort(z, axis=0) ** 2 * xp.asarray(uneven(SHAPE)),
    "sort of all": lambda z: xp.sort(xp.reshape(z, (-1,))) ** 2 * xp.asarray(uneven((12,))),
    "clip": lambda z: xp.clip(z, 0.1, 0.75) ** 2,
    "maximum": lambda z: xp.maximum(z, 0.5) ** 2,
    "max": lambda z: xp.max(z) ** 2,
    "max over an axis": lambda z: xp.max(z, axis=1) ** 2,
    "min over an axis": lambda z: xp.min(z, axis=0) ** 2,
    "cumulative_sum": lambda z: xp.cumulative_sum(z, axis=0) ** 2,
    "std": lambda z: xp.std(z) ** 3,
    "var": lambda z: xp.var(z, axis=0) ** 2,
    "norm": lambda z: xp.linalg.vector_norm(z) ** 3,
    "prod": lambda z: xp.prod(z + 1.0, axis=0) ** 2,
    "cumulative_prod": lambda z: xp.cumulative_prod(z + 1.0, axis=1) ** 2,
    "exp": lambda z: xp.exp(z) * xp.asarray(uneven(SHAPE)),
    "softmax": lambda z: (
        xp.exp(z) / xp.sum(xp.exp(z), axis=1, keepdims=True) * xp.asarray(uneven(SHAPE))
    ),
    "concat": lambda z: xp.concat([z, z * z], axis=1) ** 2,
    "reshape, flip, roll": lambda z: xp.roll(xp.flip(xp.reshape(z, (6, 2))), 1, axis=0)[1:] ** 2,
    "transpose": lambda z: xp.matrix_transpose(z)[1] ** 2,
    "solve": lambda z: xp.linalg.solve(xp.asarray(np.eye(4) * 3 + A[:4] * 0.1), z) ** 2,
    "fft": lambda z: (
        xp.abs(xp.fft.fft(xp.astype(z, xp.complex128), axis=0)) ** 2 * xp.asarray(uneven(SHAPE))
    ),
    "a second selection": lambda z: xp.where(z > 0.6, z * z, 0.0),
}


@orders
@pytest.mark.parametrize("f", [xp.sqrt, xp.reciprocal], ids=["sqrt", "reciprocal"])
@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_selection_holds_through_what_follows_it(name, f, agree):
    follow = FOLLOWERS[name]
    agree(
        lambda x: follow(by_where(f(x), LIVE)),
        lambda x: follow(spread(f(x), LIVE, SHAPE)),
        LIVE,
        with_dead(0.0),
    )
