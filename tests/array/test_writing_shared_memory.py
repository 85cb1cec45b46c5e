"""Memory that is shared with NumPy, and copies of it."""

import numpy as np
import pytest

import arraytape as xp
from helpers.writing import check, sample, sizes


def test_asarray_copies_foreign_data():
    source = np.asarray([1.0, 2.0])
    x = xp.asarray(source)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        source[...] = 9.0
    x[0] = 5.0
    assert source.tolist() == [9.0, 9.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[::-1], lambda x: x[:]])
@sizes
def test_shared_foreign_memory_is_kept_by_copy(view, n):
    source = np.arange(1.0, 4.0 * n + 1)
    before = source.copy()
    x = xp.asarray(source, copy=False)
    with xp.GradientTape() as tape:
        tape.watch(x)
        v = view(x)
        y = xp.sum(v * v)
        source[0] = 9.0
    assert float(x[0]) == 9.0
    assert np.asarray(tape.gradient(y, x)).tolist() == (2 * before).tolist()


def test_a_write_is_seen_in_shared_foreign_memory():
    source = np.asarray([1.0, 2.0, 3.0])
    x, w = xp.asarray(source, copy=False), xp.asarray([2.0, 3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch([x, w])
        y = xp.sum(x * w)
        x[0] = 5.0
        assert source.tolist() == [5.0, 2.0, 3.0]
        x *= w
        assert source.tolist() == [10.0, 6.0, 12.0]
        v = x[1:]
        v += w[:2]
        assert source.tolist() == [10.0, 8.0, 15.0]
        y = y + xp.sum(x)
    gx, gw = tape.gradient(y, [x, w])
    assert np.asarray(gx).tolist() == [2.0, 6.0, 8.0]
    assert np.asarray(gw).tolist() == [1.0 + 5.0 + 1.0, 2.0 + 2.0 + 1.0, 3.0 + 3.0]


def test_memory_shared_with_numpy_after_it_was_kept_stays_shared():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        shared = np.asarray(x, copy=False)
        x[0] = 5.0
        assert shared.tolist() == [5.0, 2.0, 3.0]
        shared[1] = 7.0
        assert np.asarray(x).tolist() == [5.0, 7.0, 3.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 4.0, 6.0]


def test_an_explicit_copy_is_independent_and_connected():
    def program(xp, x):
        c = xp.asarray(x, copy=True)
        c[0] = 5.0
        x[1] = 7.0
        c *= x
        return c, x

    check(program, sample(3))


def test_asarray_of_an_array_is_the_array_itself():
    def program(xp, x):
        a = xp.asarray(x)
        a[0] = x[1] * 2.0
        x *= 3.0
        return a, x

    check(program, sample(3))
