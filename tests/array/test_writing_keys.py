"""Writes with every kind of key, and which write lasts where a key names a place twice."""

import numpy as np
import pytest

import arraytape as xp
from arraytape.ops.indexing_functions import INDICES
from helpers.writing import check, sample

KEYS = {
    "integer": 1,
    "negative integer": -1,
    "pair": (1, 2),
    "numpy integer": np.int64(2),
    "slice": slice(1, None),
    "reversed": slice(None, None, -1),
    "slices": (slice(None), slice(0, 3, 2)),
    "ellipsis": ...,
    "ellipsis and integer": (..., 1),
    "empty tuple": (),
    "none": (None, 1),
    "none between": (slice(None), None, slice(1, 3)),
    "mask of rows": np.asarray([True, False, True, False]),
    "mask": sample(4, 4) > 0.9,
    "mask of nothing": np.zeros((4, 4), bool),
    "mask and integer": (np.asarray([True, False, True, False]), 1),
    "mask and slice": (np.asarray([True, False, True, False]), slice(1, 3)),
    "slice and mask": (slice(1, 3), np.asarray([True, False, True, False])),
    "integers": np.asarray([2, 0]),
    "negative integers": np.asarray([-1, 1]),
    "no integers": np.asarray([], dtype=np.int64),
    "repeated integers": np.asarray([2, 0, 2, 2]),
    "the same place by two names": np.asarray([-1, 3, 0]),
    "matrix of integers": np.asarray([[0, 1], [1, 2]]),
    "list": [3, 1],
    "list of booleans": [True, False, False, True],
    "integers twice": (np.asarray([0, 1, 0]), np.asarray([2, 2, 2])),
    "outer integers": (np.asarray([[0], [2]]), np.asarray([[1, 3]])),
    "slice and integers": (slice(1, None), np.asarray([0, 0, 3])),
    "integers and slice": (np.asarray([3, 3, 1]), slice(None, None, 2)),
    "integer and integers": (2, np.asarray([0, 3, 3])),
    "integers and none": (np.asarray([1, 1]), None),
    "ellipsis and integers": (..., np.asarray([1, 0, 1])),
    "nested tuple": ((0, 2),),
    "a boolean": True,
}
keys = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())


@keys
def test_any_key_writes_an_array(key):
    part = sample(4, 4)[key]

    def program(xp, x, v):
        y = x * x
        x[key] = v
        return x, y, xp.sin(x)

    check(program, sample(4, 4), sample(*part.shape, seed=1))


@keys
def test_any_key_writes_a_scalar(key):
    def program(xp, x, v):
        x[key] = v
        x[key] = x[0, 0] * x[1, 1]
        return x, xp.sin(x)

    check(program, sample(4, 4), sample(seed=1))


@keys
def test_any_key_adds_in_place(key):
    def program(xp, x, v):
        y = xp.sin(x)
        x[key] += v
        x[key] *= x[0, 0] * 1.0
        return x, y

    check(program, sample(4, 4), sample(seed=1))


@keys
def test_any_key_writes_through_a_transpose(key):
    def program(xp, x, v):
        t = x[::-1].T
        t[key] = v
        t[key] += t[1, 1] * 1.0
        return x, t, xp.sin(t)

    check(program, sample(4, 4), sample(seed=1))


@keys
def test_what_any_key_read_is_right_after_later_writes(key):
    def program(xp, x):
        v = x[key]
        y = xp.sin(v)
        if v.shape:
            v *= 2.0
            v[...] = v * x[0, 0]
        x[1] = 0.5
        return x, v, y

    check(program, sample(4, 4))


def test_a_key_may_be_made_of_arrays_of_this_package():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        h[xp.asarray([0, 0]), xp.asarray([1, 1])] = xp.asarray([5.0, 6.0])
        h[xp.argmax(x[:, 0])] *= 3.0
        h[x < 2.0] = x[1, 1]
    assert np.asarray(h).tolist() == [[4.0, 6.0], [9.0, 12.0]]
    assert np.asarray(tape.gradient(h, x)).tolist() == [[0.0, 0.0], [3.0, 4.0]]


def test_an_array_of_integers_can_be_its_own_key():
    x = xp.asarray([2, 0, 1])
    x[x] = xp.asarray([7, 8, 9])
    assert np.asarray(x).tolist() == [8, 9, 7]
    x = xp.asarray([[2, 0, 1], [0, 1, 2]])
    x[0, x[0, :]] = xp.asarray([7, 8, 9])
    assert np.asarray(x).tolist() == [[8, 9, 7], [0, 1, 2]]


def test_of_repeated_integers_the_last_write_wins_and_takes_the_gradient():
    def program(xp, x, v):
        x[xp.asarray([0, 0])] = v
        return x

    check(program, sample(3), sample(2, seed=1))


def test_of_repeated_integers_in_two_axes_the_last_write_wins():
    def program(xp, x, v):
        rows, columns = xp.asarray([[0, 1], [1, 2]]), xp.asarray([[1, 0], [0, 3]])
        x[rows, columns] = v
        x[xp.asarray([2, 0, 2])] = x[:, :] * v[0, 0]
        return x

    check(program, sample(3, 4), sample(2, 2, seed=1))


def test_of_repeated_integers_the_last_write_wins_in_fortran_order_too():
    index = np.asfortranarray([[0, 1], [1, 2]])

    def program(xp, x, v):
        x[xp.asarray(index)] = v.T
        return x

    check(program, sample(3), sample(2, 2, seed=1))


def test_of_repeated_integers_the_last_write_of_a_broadcast_value_wins():
    def program(xp, x, v):
        x[xp.asarray([[0, 2, 0], [2, 1, 2]])] = v
        return x

    check(program, sample(3), sample(3, seed=1))


@pytest.mark.parametrize("key", [
    lambda i: slice(i, None), lambda i: (slice(i, None),), lambda i: (None, slice(None, i), ...),
    lambda i: slice(None, None, i), lambda i: (slice(i, None), np.asarray([0, 1])),
])  # fmt: skip
@pytest.mark.parametrize("first", [True, False])
def test_a_slice_up_to_an_array_stays_where_it_was_when_that_is_written(key, first):
    if first:
        INDICES.clear()  # as if no Array had been an index before
    x, i = xp.asarray(np.arange(12.0).reshape(4, 3)), xp.asarray(2)
    expected, n = np.arange(12.0).reshape(4, 3)[key(2)], xp.asarray(3.0)
    with xp.GradientTape() as tape:
        tape.watch([x, n])
        part = x[key(i)]
        y = xp.sum(part * 2.0)
        z = +x
        z[key(i)] = n
        y = y + xp.sum(z)
        i[...] = 1
        _ = x * x  # keeps its memory: the next write moves it
    x[0, 0] = 0.0
    assert part.shape == expected.shape
    assert part.tolist()[-1] == expected.tolist()[-1]
    found = tape.gradient(y, [x, n])
    g = np.ones((4, 3))
    g[key(2)] = 2.0
    assert found[0].tolist() == g.tolist()
    assert float(found[1]) == expected.size
