"""vmap and Jacobians share memory with what went through them: no write to it may be seen there."""

import numpy as np
import pytest

import arraytape as xp
from arraytape._array.array import KEPT
from arraytape._storage.batched.batched_data import new_axis_id, open_hidden_axis
from arraytape._tape.hidden_axes import batched, unbatched

X = [1.0, 1.0]
ALONG = [1.0, -0.5]


def through_vmap(x):
    """x0 doubled and replaced after the vmap: the sum of squares is 4 x0**2 + x1**2."""
    x = x * 1.0
    x[0] *= 2.0
    y = xp.sum(xp.vmap(lambda u: u * u)(x))
    x[0] = 3.0
    return y


def out_of_vmap(x):
    y = xp.vmap(lambda u: u * u)(x * 1.0)
    y[0] *= 4.0
    total = xp.sum(y)
    y[0] = 3.0
    return total


def through_a_jacobian(x):
    x = x * 1.0
    x[0] *= 2.0
    rows = xp.jacobian(lambda u: u * u * u / 3.0)(x)
    x[0] = 3.0
    y = xp.linalg.trace(rows)
    rows[0, 0] = 1.0
    return y


NESTINGS = {
    "reverse over reverse": lambda f, x, t: xp.grad(lambda x: xp.sum(xp.grad(f)(x) * t))(x),
    "forward over reverse": lambda f, x, t: xp.hvp(f, (x,), (t,))[0],
    "reverse over forward": lambda f, x, t: xp.grad(lambda x: xp.jvp(f, (x,), (t,))[1])(x),
    "forward over forward": lambda f, x, t: xp.stack(
        [
            xp.jvp(lambda x: xp.jvp(f, (x,), (t,))[1], (x,), (row,))[1]
            for row in xp.unstack(xp.eye(2))
        ]
    ),
    "jacobian of grad": lambda f, x, t: xp.jacobian(xp.grad(f))(x) @ t,
    "vmap of hvp": lambda f, x, t: xp.vmap(lambda t: xp.hvp(f, (x,), (t,))[0])(t[None, :])[0],
}


@pytest.mark.parametrize("f", [through_vmap, out_of_vmap, through_a_jacobian])
@pytest.mark.parametrize("nesting", NESTINGS)
def test_writes_before_and_after_a_vmap_to_second_order(f, nesting):
    found = NESTINGS[nesting](f, xp.asarray(X), xp.asarray(ALONG))
    assert np.allclose(found, [8.0 * ALONG[0], 2.0 * ALONG[1]])


def test_a_cotangent_of_two_values_is_not_added_to_through_a_vmap():
    """The cotangent of the vmap's first result is also that of what is added to it."""

    def f(x, through):
        other = x * 3.0
        a, b = through(x)
        return xp.sum((a + other) * xp.asarray([1.0, 2.0, 3.0])) + xp.sum(b)

    def pair(u):
        v = u * 2.0
        return v, xp.sin(v)

    x = xp.asarray([0.1, 0.2, 0.3])
    found = xp.grad(lambda x: f(x, xp.vmap(pair)))(x)
    assert np.allclose(found, xp.grad(lambda x: f(x, pair))(x))


@pytest.mark.parametrize("op", ["batched", "unbatched"])
def test_what_shares_memory_is_copied_before_a_write(op):
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:  # what hidden axes do is done on values that a tape follows
        tape.watch(x)
        with open_hidden_axis(axis_id := new_axis_id()):
            y = batched(x, axis_id)
            if op == "unbatched":
                x, y = y, unbatched(y, axis_id, 2)
    assert x._state & KEPT
    assert y._state & KEPT


def test_targets_of_which_one_is_the_same_for_all_examples():
    """Cotangents with hidden axes and without meet in one pass."""
    w = xp.asarray([0.5, -0.5, 1.5])

    def gradient(x):
        with xp.GradientTape() as tape:
            tape.watch(w)
            same, each = xp.sum(w * w), xp.sum(xp.max(w) * x * w)
        return tape.gradient([same, each], w)

    x = xp.asarray([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.25]])
    expected = [gradient(row) for row in xp.unstack(x)]
    assert np.allclose(xp.vmap(gradient)(x), np.stack([np.asarray(g) for g in expected]))


def test_a_tangent_with_a_hidden_axis_beside_one_without():
    x, w = xp.asarray([[1.0, 2.0]]), xp.asarray([[0.5, -0.5]])

    def f(x):
        return xp.vmap(lambda u: xp.where(x[0] > 1.5, xp.sum(x), u))(x)

    found = xp.jvp(f, (x,), (w,))[1]
    assert np.allclose(found, [[0.5, 0.0]])
