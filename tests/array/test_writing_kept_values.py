"""What a record keeps survives a later write, at the cost of at most one copy."""

import numpy as np
import pytest

import arraytape as xp
from helpers.writing import check, sample, sizes


@sizes
def test_what_was_kept_of_a_view_survives_a_write_to_its_root(n):
    def program(xp, x):
        v = x[1:]
        y = xp.sin(v)
        x[1] = 9.0
        return x, v, y

    check(program, sample(n, 4))


@sizes
def test_what_was_kept_of_a_view_survives_a_write_through_another_view(n):
    def program(xp, x):
        v, u = x[1:], xp.flip(x, axis=0)
        y = xp.sin(v) * u[:-1]
        u[0] = 9.0
        u[1:, 1] = 0.5
        return x, v, u, y

    check(program, sample(n, 4))


@sizes
def test_copy_on_write_of_the_root_strands_no_view(n):
    def program(xp, x, w):
        v = x[1:]
        y = w * x
        x[0] = 5.0
        v += 1.0
        return x, v, y

    check(program, sample(n, 4), sample(n, 4, seed=1))


def test_a_square_root_that_is_kept_survives_a_write_to_it():
    v = xp.asarray([4.0, 0.0, 9.0])
    with xp.GradientTape() as tape:
        tape.watch(v)
        scale = xp.sqrt(v)
        scale[v == 0.0] = 1.0
        y = xp.sum(1.0 / scale)
    assert np.asarray(scale).tolist() == [2.0, 1.0, 3.0]
    np.testing.assert_allclose(np.asarray(tape.gradient(y, v)), [-1 / 16, 0.0, -1 / 54])


def test_a_square_root_that_is_kept_survives_a_write_through_a_view():
    v = xp.asarray([[4.0, 0.0, 9.0]])
    with xp.GradientTape() as tape:
        tape.watch(v)
        scale = xp.sqrt(v)
        row = scale[0]
        row[row == 0.0] = 1.0
        y = xp.sum(1.0 / scale)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, v)), [[-1 / 16, 0.0, -1 / 54]])


@pytest.mark.parametrize("wrap", [lambda a: a, xp.asarray], ids=["ndarray", "Array"])
def test_a_key_that_was_used_may_be_written_to(wrap):
    x = xp.asarray([1.0, 2.0, 3.0])
    index, mask = wrap(np.asarray([2, 1])), wrap(np.asarray([True, False, True]))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x[index] * xp.asarray([10.0, 1.0])) + xp.sum(x[mask])
        z = xp.zeros(3)
        z[index] = x[:2]
        total = y + xp.sum(z * xp.asarray([100.0, 200.0, 300.0]))
        index[0] = 0
        mask[1] = True
    assert np.asarray(tape.gradient(total, x)).tolist() == [301.0, 201.0, 11.0]


def test_the_indices_of_take_may_be_written_to_afterwards():
    x, index = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([2, 1])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.take(x, index) * xp.asarray([10.0, 1.0]))
        index[0] = 0
    assert np.asarray(tape.gradient(y, x)).tolist() == [0.0, 1.0, 10.0]


def test_the_condition_of_where_may_be_written_to_afterwards():
    x, condition = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([True, False, True])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.where(condition, x * x, x))
        condition[...] = False
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 1.0, 6.0]


def test_keeping_a_small_part_of_a_large_array_does_not_move_the_array():
    base, w = xp.asarray(np.ones(10_000)), xp.asarray([1.0, 2.0])
    memory = base._data
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(w * base[4:6])
        base[4] = 7.0
        base += 1.0
    assert base._data is memory
    assert np.asarray(tape.gradient(y, w)).tolist() == [1.0, 1.0]


def test_keeping_part_of_an_array_under_construction_does_not_move_it():
    base, w = xp.asarray(np.ones((10, 1000))), xp.asarray(np.ones(1000))
    base[0] = 2.0
    memory = base._data
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(w * base[0])
        base[0] = 7.0
    assert base._data is memory
    assert np.asarray(tape.gradient(y, w)).tolist() == [2.0] * 1000


def test_writes_to_what_nobody_keeps_stay_in_place():
    x = xp.asarray(np.ones((50, 4)))
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = xp.zeros((50, 4))
        memory = h._data
        for t in range(50):
            h[t] = x[t] + (h[t - 1] if t else 0.0)
    assert h._data is memory
    assert np.asarray(tape.gradient(h[49], x)).tolist() == [[1.0] * 4] * 50


def test_a_kept_array_is_copied_only_once():
    x = xp.asarray(np.ones(1000))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.sin(x))
        x[0] = 0.0
        memory = x._data
        x[1] = 0.0
    assert x._data is memory
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), np.cos(np.ones(1000)))


# --- gradients are arrays of their own -----------------------------------------------------------
def test_two_gradients_never_share_a_buffer():
    a, b = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch([a, b])
        y = a + b
    ga, gb, again = tape.gradient(y, [a, b, a])
    ga += 1.0
    gb *= 5.0
    assert [np.asarray(g).tolist() for g in (ga, gb, again)] == [[2.0] * 2, [5.0] * 2, [1.0] * 2]


def test_a_gradient_that_was_broadcast_can_be_written_to():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x)
    g = tape.gradient(y, x)
    g[0] = 7.0
    g += 1.0
    assert np.asarray(g).tolist() == [8.0, 2.0]


def test_writing_into_a_gradient_does_not_change_the_next_one():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * 1.0
        h[0] = x[1] * x[1]
        y = h + x
    for _ in range(3):
        g = tape.gradient(y, x)
        assert np.asarray(g).tolist() == [1.0, 6.0]
        g[...] = 0.0


def test_the_backward_pass_never_writes_into_the_output_gradients():
    x, seed = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1.0, 10.0, 100.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        h[0] = x[1]
        h[1:] *= 2.0
    g = tape.gradient(h, x, output_gradients=seed)
    assert np.asarray(g).tolist() == [0.0, 21.0, 200.0]
    assert np.asarray(seed).tolist() == [1.0, 10.0, 100.0]
