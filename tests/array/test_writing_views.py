"""Writes through every kind of view, and what is no view."""

import numpy as np
import pytest

import arraytape as xp
from helpers.writing import check, sample, sizes

VIEWS = {
    "slice": lambda xp, x: x[1:],
    "step": lambda xp, x: x[:, ::2],
    "negative step": lambda xp, x: x[::-1, ::-2],
    "row": lambda xp, x: x[1],
    "column": lambda xp, x: x[:, -1],
    "element": lambda xp, x: x[1, 2, ...],
    "ellipsis": lambda xp, x: x[..., 1:],
    "everything": lambda xp, x: x[()],
    "new axis": lambda xp, x: x[:, None, 1:],
    "transpose": lambda xp, x: x.T,
    "matrix transpose": lambda xp, x: xp.matrix_transpose(x),
    "permuted": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "moved": lambda xp, x: xp.moveaxis(x, 0, 1),
    "flat": lambda xp, x: xp.reshape(x, (-1,)),
    "reshaped": lambda xp, x: xp.reshape(x, (2, -1)),
    "flipped": lambda xp, x: xp.flip(x),
    "flipped along an axis": lambda xp, x: xp.flip(x, axis=1),
    "expanded": lambda xp, x: xp.expand_dims(x, axis=1),
    "squeezed": lambda xp, x: xp.squeeze(x[1:2], axis=0),
    "unstacked": lambda xp, x: xp.unstack(x, axis=1)[2],
    "view of a view": lambda xp, x: x[1:][::-1, 1:].T,
    "reshape of a slice": lambda xp, x: xp.reshape(x[:2], (4, 2))[1:, 0],
    "slice of a flip of a reshape": lambda xp, x: xp.flip(xp.reshape(x, (2, -1, 2)), axis=2)[1, 1:],
    "a copying reshape": lambda xp, x: xp.reshape(x.T, (-1,)),
    "empty": lambda xp, x: x[3:2],
}
views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())


@sizes
@views
def test_a_constant_written_through_any_view_reaches_its_root(view, n):
    def program(xp, x):
        v = view(xp, x)
        y = xp.sin(v)
        v[...] = 0.25
        return x, v, y, x * xp.sum(v)

    check(program, sample(n + n % 2, 4))


@sizes
@views
def test_a_value_written_through_any_view_reaches_its_root(view, n):
    def program(xp, x):
        h = x * x
        v = view(xp, h)
        y = v * v
        v[...] = xp.sin(v) * x[0, 0]
        return h, v, y, xp.cos(h)

    check(program, sample(n + n % 2, 4))


@sizes
@views
def test_in_place_operators_on_any_view_reach_its_root(view, n):
    def program(xp, x, s):
        v = view(xp, x)
        y = xp.sin(x)
        v += 1.0
        v *= s
        z = v * v
        v -= s * 0.5
        v /= 1.0 + s * s
        v **= 2
        return x, v, y, z

    check(program, sample(n + n % 2, 4), sample(seed=1))


@views
def test_a_write_to_the_root_is_seen_through_any_view(view):
    def program(xp, x, w):
        v = view(xp, x)
        y = v * 2.0
        x[1] = w
        z = v * v
        x *= x
        u = v * 3.0
        x[:, 1:3] = x[:, 0:2]
        return y, z, u, v, x

    check(program, sample(4, 4), sample(4, seed=1))


@views
def test_any_view_can_be_written_that_alone_holds_its_root_alive(view):
    def program(xp, x):
        v = view(xp, x * 2.0)
        v[...] = xp.sin(v) + x[0, 0]
        v *= x[0, 1]
        return v, xp.cos(v)

    check(program, sample(4, 4))


def test_two_views_see_each_others_writes():
    def program(xp, x, w):
        a, b = x[:3], x[1:]
        a *= w
        b += a[::-1]
        a[1] = b[0] * b[1]
        c = a * b
        b[...] = c
        return x, a, b, c

    check(program, sample(4), sample(3, seed=1))


def test_every_part_of_an_unstacked_array_is_a_view():
    def program(xp, x):
        a, b, c = xp.unstack(x)
        b[...] = a * c
        c += b
        x[0] = c
        return x, a, b, c

    check(program, sample(3, 4))


def test_the_elements_of_an_unstacked_vector_are_copies():
    def program(xp, x):
        a, b, c = xp.unstack(x)
        d = a
        a *= 2.0
        x += b
        return x, a, b, c, d

    check(program, sample(3))


def test_iteration_gives_views():
    def program(xp, x):
        for i, row in enumerate(x):
            row *= 1.0 + i
            row[0] = row[1] * row[2]
        return x

    check(program, sample(3, 4))


def test_a_view_follows_its_root_through_in_place_operators():
    def program(xp, x, w):
        h = x * 1.0
        v = h[1:]
        h += w
        y = v * v
        h *= h
        v[0] = 3.0
        return h, v, y

    check(program, sample(4), sample(4, seed=1))


def test_a_view_written_in_place_is_read_right_afterwards():
    def program(xp, x, w):
        v = x[1:]
        y = v * 2.0
        v *= w
        z = xp.sin(v)
        v[0] = 0.25
        return x, v, y, z, v * z

    check(program, sample(4), sample(3, seed=1))


def test_an_element_of_a_vector_is_a_copy():
    def program(xp, x):
        a = x[2]
        b = a
        a *= 3.0
        x[2] = 7.0
        return a, b, x

    check(program, sample(5))


def test_an_element_taken_with_an_ellipsis_is_a_view():
    def program(xp, x):
        a = x[2, ...]
        b = a
        a *= 3.0
        y = a * x[1]
        x[2] = x[0] * 7.0
        return a, b, x, y

    check(program, sample(5))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 1.0,
        lambda x: +x,
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.astype(x, xp.float64),
        lambda x: xp.real(x),
        lambda x: xp.stop_gradient(x),
        lambda x: xp.concat([x]),
        lambda x: xp.stack([x])[0],
        lambda x: xp.roll(x, 0, axis=0),
        lambda x: xp.where(xp.asarray(True), x, x),
        lambda x: xp.sum(x, axis=()),
        lambda x: x[[0, 1, 2]],
        lambda x: x[np.asarray([True] * 3)],
        lambda x: xp.take(x, xp.asarray([0, 1, 2]), axis=0),
        lambda x: xp.reshape(x, (4, 3), copy=True),
        lambda x: xp.max(x, axis=0, keepdims=True),
    ],
)
def test_the_result_of_an_op_is_never_an_alias(function):
    x = xp.asarray(sample(3, 4))
    before = np.asarray(x)
    y = function(x)
    y[...] = -1.0
    y += 5.0
    assert np.asarray(x).tolist() == before.tolist()
