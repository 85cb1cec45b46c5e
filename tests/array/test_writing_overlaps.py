"""Writes whose target and value share memory."""

import numpy as np
import pytest

import arraytape as xp
from helpers.writing import check, sample, sizes


@sizes
def test_a_root_can_be_multiplied_in_place_by_its_own_flip(n):
    def program(xp, x):
        v = x[::-1]
        x *= v
        return xp.sum(x), x, v

    check(program, sample(4 * n))


@sizes
def test_a_view_can_be_multiplied_in_place_by_its_own_root(n):
    def program(xp, x):
        v = x[::-1]
        v *= x
        return xp.sum(x), x, v

    check(program, sample(4 * n))


def test_overlapping_parts_are_copied_first():
    # NumPy 2.4.6 does not buffer this overlap: numpy#6272.
    x = xp.asarray(np.arange(9.0))
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        h[0:8:2] = h[0:4]
        y = xp.sum(h * xp.asarray(10.0 ** np.arange(9)))
    assert np.asarray(h).tolist() == [0.0, 1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 7.0, 8.0]
    expected = [1e0, 1e2 + 1e1, 1e4, 1e6 + 1e3, 0.0, 1e5, 0.0, 1e7, 1e8]
    assert np.asarray(tape.gradient(y, x)).tolist() == expected


def test_overlapping_parts_of_an_unfollowed_array_are_copied_first():
    x = xp.asarray(np.arange(9.0))
    x[0:8:2] = x[0:4]
    assert np.asarray(x).tolist() == [0.0, 1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 7.0, 8.0]


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
        (slice(None, None, -1), slice(None)),
    ],
)
def test_a_part_can_be_shifted_onto_itself(target, source):
    def program(xp, x):
        y = xp.sin(x)
        x[target] = x[source]
        x[target] += x[source]
        v = x[target]
        v *= x[source]
        return x, y

    check(program, sample(6))


@sizes
def test_a_matrix_can_be_added_to_its_own_transpose(n):
    def program(xp, x):
        q = xp.reshape(x, (-1,))[: n * n if n < 4 else 36]
        q = xp.reshape(q, (3, 3) if n < 4 else (6, 6))
        q += q.T
        q[...] = q.T * q
        q.T[0] = q[1]
        return x, q

    check(program, sample(n, 4))


def test_writing_an_array_to_itself_changes_nothing():
    def program(xp, x):
        h = x * x
        h[1:3] = h[1:3]
        h[...] = h
        h[::-1] = h[::-1]
        h[xp.asarray([0, 1])] = h[xp.asarray([0, 1])]
        v = h[1:]
        v[1] = v[1]
        return h

    check(program, sample(4))
