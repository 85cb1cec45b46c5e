"""Which results are views, and so where a write is seen, is under vmap as in a loop over copies."""

import numpy as np
import pytest

import arraytape as xp

B = np.arange(12.0).reshape(3, 4) % 5 + 1
TURNED = (np.arange(12.0).reshape(4, 3) % 7 + 1).T
SQUARE = np.arange(16.0).reshape(4, 4) / 9
A = np.random.default_rng(0).normal(size=(2, 3, 4))

LAYOUTS = {
    "C": (A, 0),
    "Fortran": (np.asfortranarray(A), 0),
    "examples in Fortran's order": (A.transpose(0, 2, 1).copy().transpose(0, 2, 1), 0),
    "along the middle": (A.transpose(1, 0, 2).copy(), 1),
    "along the last": (A.transpose(1, 2, 0).copy(), 2),
    "along the last, Fortran": (np.asfortranarray(A.transpose(1, 2, 0)), 2),
}

VALUES = {
    "itself": lambda np, u: u,
    "of an operator": lambda np, u: u * 2,
    "beside a constant": lambda np, u: u * B,
    "after a constant": lambda np, u: B * u,
    "beside one of Fortran": lambda np, u: u * TURNED,
    "after one of Fortran": lambda np, u: TURNED * u,
    "rows": lambda np, u: u[[2, 0]],
    "columns": lambda np, u: u[:, [2, 0]],
    "elements": lambda np, u: u[[0, 1], [1, 2]],
    "by a mask": lambda np, u: u[B > 2],
    "taken": lambda np, u: np.take(u, np.asarray([2, 0]), axis=1),
    "selected": lambda np, u: np.where(u > 0, u, B),
    "concatenated": lambda np, u: np.concat([u, u * 2], axis=1),
    "stacked": lambda np, u: np.stack([u, u], axis=-1),
    "a product": lambda np, u: u @ np.asarray(SQUARE),
    "sums": lambda np, u: np.cumulative_sum(u, axis=0),
    "sorted": lambda np, u: np.sort(u, axis=0),
    "flipped": lambda np, u: np.flip(u),
    "flipped, then doubled": lambda np, u: np.flip(u) * 2,
    "rolled": lambda np, u: np.roll(u, 1, axis=1),
    "copied": lambda np, u: np.asarray(u, copy=True),
    "turned": lambda np, u: u.T,
    "turned, then doubled": lambda np, u: u.T * 2,
    "a copy of the turned": lambda np, u: np.asarray(u.T, copy=True),
    "repeated": lambda np, u: np.asarray(np.broadcast_to(u[:, :1], (3, 4)), copy=True),
    "with gaps": lambda np, u: u[:, ::2],
    "with gaps, then doubled": lambda np, u: u[:, ::2] * 2,
    "a column": lambda np, u: u[:, 0],
    "a picked row": lambda np, u: u[np.argmax(u[:, 0])],
    "a picked column": lambda np, u: u[:, np.argmax(u[0])],
    "by an order": lambda np, u: u[np.argsort(u[:, 0])],
}

PARTS = {
    "reshape": lambda np, numpy, g: np.reshape(g, (-1,)),
    "reshape of the turned": lambda np, numpy, g: np.reshape(np.moveaxis(g, 0, -1), (-1,)),
    "ravel": lambda np, numpy, g: numpy.ravel(g),
    "ravel in Fortran's order": lambda np, numpy, g: numpy.ravel(g, order="F"),
    "ravel in memory's order": lambda np, numpy, g: numpy.ravel(g, order="K"),
}


def of_a_loop(f, x, axis):
    return np.stack([f(np, np.array(one)) for one in np.moveaxis(x, axis, 0)])


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.every(3)
def test_a_write_is_seen_under_vmap_where_a_loop_sees_it(layout, value, part):
    x, axis = LAYOUTS[layout]

    def f(namespace, u):
        g = VALUES[value](namespace, u)
        r = PARTS[part](namespace, np, g)
        r *= 3.0
        return g * 1.0

    given = xp.asarray(x.copy(order="K"))
    found = np.asarray(xp.vmap(lambda u: f(xp, u), in_axes=axis)(given))
    np.testing.assert_allclose(found, of_a_loop(f, x.copy(order="K"), axis), 1e-12)
    np.testing.assert_array_equal(np.asarray(given), x)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_parts_of_picked_views_are_views_where_they_are_in_a_loop(axis, order, part):
    x = np.moveaxis(np.random.default_rng(2).normal(size=(5, 2, 3, 4)), 1, 2).copy()
    x = np.stack([np.array(one, order=order) for one in x])
    x = x if order == "C" else x.transpose(0, 3, 2, 1).copy().transpose(0, 3, 2, 1)

    def f(namespace, u):
        key = namespace.argmax(namespace.moveaxis(u, axis, 0)[:, 0, 0])
        g = u[(slice(None),) * axis + (key,)]
        for view in (g, g.T, g[:, ::2], g[None]):
            r = PARTS[part](namespace, np, view)
            r *= 3.0
        h = g * 1.0
        r = PARTS[part](namespace, np, h)
        r *= 5.0
        return u * np.sum(h) if namespace is np else u * xp.sum(h)

    found = np.asarray(xp.vmap(lambda u: f(xp, u))(xp.asarray(x.copy(order="K"))))
    np.testing.assert_allclose(found, of_a_loop(f, x.copy(order="K"), 0), 1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gradients_go_through_arguments_that_are_laid_out_anew(axis):
    x = xp.asarray(np.moveaxis(A, 0, axis).copy())

    def f(u):
        r = np.ravel(u)
        r[0] *= 3.0
        return u * u

    def of_vmap(x):
        return xp.sum(xp.vmap(f, in_axes=axis)(x[...]))

    expected = np.moveaxis(2.0 * A, 0, axis)
    expected[tuple(slice(None) if i == axis else 0 for i in range(3))] *= 9.0
    np.testing.assert_allclose(np.asarray(xp.grad(of_vmap)(x)), expected, 1e-12)
    along = xp.jvp(of_vmap, (x,), (xp.ones_like(x),))[1]
    np.testing.assert_allclose(np.asarray(along), expected.sum(), 1e-12)


def test_an_argument_that_is_not_mapped_lies_as_its_copy_does():
    whole = xp.asarray(B)

    def f(u, w):
        r = xp.reshape(w, (-1,))
        r *= u
        return w * 1.0

    found = xp.vmap(f, in_axes=(0, None))(xp.asarray([2.0, 3.0]), whole[:, ::2])
    np.testing.assert_allclose(np.asarray(found), np.stack([2.0 * B[:, ::2], 3.0 * B[:, ::2]]))
    np.testing.assert_array_equal(np.asarray(whole), B)


def test_an_argument_with_axes_of_an_outer_vmap_lies_as_in_a_loop():
    def f(u):
        r = np.ravel(u)
        r *= 3.0
        return u * 1.0

    x = xp.asarray(np.random.default_rng(1).normal(size=(2, 3, 4, 5)))
    for outer in range(4):
        for inner in range(3):
            found = xp.vmap(lambda v, i=inner: xp.vmap(f, in_axes=i)(v), in_axes=outer)(x)
            expected = np.moveaxis(np.moveaxis(np.asarray(x), outer, 0), inner + 1, 1) * 3.0
            np.testing.assert_allclose(np.asarray(found), expected)
