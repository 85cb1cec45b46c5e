"""Arrays made inside vmap in the dtype of a mapped one: their gradients are summed over the examples."""

import numpy as np
import pytest

import arraytape as xp

POINT, ROWS = [0.7, 0.8], [[0.11, -0.55], [1.07, -1.19]]


def written(x, like):
    w = xp.zeros(2, dtype=like)
    w[...] = x
    return w


def added(x, like):
    w = xp.zeros(2, dtype=like)
    w += x
    return w * 1.0


WAYS = {
    "zeros": written,
    "zeros, added to": added,
    "full": lambda x, like: xp.full(2, 1.0, dtype=like) * x,
    "astype": lambda x, like: xp.astype(x, like, copy=True),
    "asarray": lambda x, like: xp.asarray(x, dtype=like, copy=True) * 1.0,
    "of NumPy": lambda x, like: np.zeros(2, dtype=like) + x,
    "like": lambda x, like: xp.zeros_like(x, dtype=like) + x,
    "linspace": lambda x, like: xp.linspace(1.0, 1.0, 2, dtype=like) * x,
    "eye": lambda x, like: xp.eye(2, dtype=like) @ x,
    "method": lambda x, like: x.astype(like) * 1.0,
}


@pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("transform", ["grad", "hvp", "reverse over forward"])
def test_what_is_made_in_the_dtype_of_an_example_has_the_gradient_of_the_loop(
    make, transform, near
):
    x, v, rows = xp.asarray(POINT), xp.asarray([0.3, -0.9]), xp.asarray(ROWS)

    def of_row(x, u):
        w = make(x, u.dtype)
        return (w * u) * xp.sum(w * w)

    def mapped(x):
        y = xp.vmap(lambda u: of_row(x, u))(rows)
        return xp.sum(y * y)

    def loop(x):
        ys = [of_row(x, xp.asarray(row)) for row in ROWS]
        return sum(xp.sum(y * y) for y in ys)

    def derivative(f):
        if transform == "grad":
            return xp.grad(f)(x)
        if transform == "hvp":
            return xp.hvp(f, (x,), (v,))[0]
        return xp.grad(lambda x: xp.jvp(f, (x,), (v,))[1])(x)

    near(derivative(mapped), derivative(loop))


def test_the_dtype_of_an_example_is_numpys_own():
    seen = []
    xp.vmap(lambda u: seen.append(u.dtype) or u)(xp.asarray(ROWS))
    assert all(dtype is np.dtype(np.float64) for dtype in seen)


def test_a_written_example_whose_tangent_all_share_has_the_second_derivative_of_the_loop(near):
    """Its tangent begins as one array for all examples, and is written to for each of them."""
    x = xp.asarray(0.7)

    def of_row(x, u):
        u[...] = x
        u[0] *= x
        return u

    def slopes(x, ys):
        return sum(xp.sum(y * y) for y in xp.jvp(ys, (x,), (x,))[1:])

    def mapped(x):
        return xp.vmap(lambda u: of_row(x, u))(xp.asarray(ROWS))

    def loop(x):
        return xp.stack([of_row(x, xp.asarray(row)) for row in ROWS])

    near(xp.grad(lambda x: slopes(x, mapped))(x), xp.grad(lambda x: slopes(x, loop))(x))
