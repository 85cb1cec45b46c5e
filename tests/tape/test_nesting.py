"""Tapes within tapes, and beside each other."""

import itertools
import threading

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning
from arraytape._record.plan import plan_of
from arraytape._record.stack import recorders

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


def test_nested_tapes_give_second_derivatives(x, near):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3 + x**2 + x + 5
        g = inner.gradient(y, x)
    near(g, 34.0)
    near(outer.gradient(g, x), 20.0)


def test_nested_tapes_give_third_derivatives(near):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as a:
        a.watch(x)
        with GradientTape() as b:
            b.watch(x)
            with GradientTape() as c:
                c.watch(x)
                y = xp.exp(2 * x) + x**5
            first = c.gradient(y, x)
        second = b.gradient(first, x)
    third = a.gradient(second, x)
    v = np.asarray([1.0, 2.0])
    near(first, 2 * np.exp(2 * v) + 5 * v**4)
    near(second, 4 * np.exp(2 * v) + 20 * v**3)
    near(third, 8 * np.exp(2 * v) + 60 * v**2)


def test_two_tapes_around_one_op_know_the_same(x, near):
    with GradientTape() as first, GradientTape() as second:
        first.watch(x)
        second.watch(x)
        y = x * x
        z = y * y
    near(first.gradient(y, x), 6.0)
    near(second.gradient(z, x), 108.0)


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_each_tape_follows_only_what_it_watches(near):
    x, y = xp.asarray(3.0), xp.asarray(2.0)
    with GradientTape() as first, GradientTape() as second:
        first.watch(x)
        second.watch(y)
        z = x * y
    dx, dy = first.gradient(z, [x, y])
    near(dx, 2.0)
    assert dy is None
    dx, dy = second.gradient(z, [x, y])
    assert dx is None
    near(dy, 3.0)


def test_an_inner_tape_does_not_follow_what_only_the_outer_one_watches(x, near):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            y = x * x
        with pytest.warns(
            TapeWarning, match="gradient is None: Array float64.* is not on the tape"
        ):
            assert inner.gradient(y, x) is None
    near(outer.gradient(y, x), 6.0)


def test_an_inner_tape_that_watches_later_does_not_reach_back(x, near):
    with GradientTape() as outer:
        outer.watch(x)
        y = x * x
        with GradientTape() as inner:
            inner.watch(x)
            z = x * y
        g = inner.gradient(z, x)
    near(g, 9.0)
    near(outer.gradient(g, x), 6.0)


def test_an_inner_gradient_taken_outside_the_outer_block_is_a_constant(x, near):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3
    g = inner.gradient(y, x)
    near(g, 27.0)
    with pytest.warns(
        TapeWarning, match=r"None: gradient at .*test_nesting.py:\d+ ran outside the tape"
    ):
        assert outer.gradient(g, x) is None


def test_an_inner_gradient_counts_in_the_outer_target(x, near):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3
        penalty = y + inner.gradient(y, x) ** 2
    near(outer.gradient(penalty, x), 27.0 + 2 * 27.0 * 18.0)


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_tapes_may_be_left_out_of_order(x, near):
    first, second = GradientTape(), GradientTape()
    first.__enter__()
    second.__enter__()
    first.watch(x)
    second.watch(x)
    y = x * x
    first.__exit__(None, None, None)
    assert recorders() == (second._recording,)
    z = y * y
    second.__exit__(None, None, None)
    assert recorders() == ()
    assert first.gradient(z, x) is None
    near(second.gradient(z, x), 108.0)


def test_a_tape_that_was_left_in_another_thread_records_each_op_once(x, near):
    tape = GradientTape()
    tape.__enter__()
    thread = threading.Thread(target=tape.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert recorders() == ()
    dx, dy = tape.gradient(z, [x, y])
    near(dx, 108.0)
    near(dy, 18.0)


def test_a_gradient_under_an_unrelated_tape_is_right(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sin(x) * x
    with GradientTape() as other:
        other.watch(xp.asarray(1.0))
        g = tape.gradient(y, x)
    near(g, np.cos(3.0) * 3.0 + np.sin(3.0))


def test_every_way_to_leave_keeps_the_stack_in_order():
    tapes = [GradientTape() for _ in range(3)]
    for order in itertools.permutations(range(3)):
        for tape in tapes:
            tape.__enter__()
        for i in order:
            tapes[i].__exit__(None, None, None)
        assert recorders() == ()


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))], ids=str)
def test_tapes_that_are_left_in_any_order_record_what_happens_while_they_are_open(order, near):
    x, tapes, made = xp.asarray(2.0), [GradientTape() for _ in range(3)], []
    for tape in tapes:
        tape.__enter__()
        tape.watch(x)
    for i in order:
        made.append(x**3)
        tapes[i].__exit__(None, None, None)
    for rank, i in enumerate(order):
        near(tapes[i].gradient(made, x), 12.0 * (rank + 1))


@pytest.mark.parametrize("inner_persistent", [False, True])
def test_an_outer_tape_that_was_left_first_takes_the_inner_gradient_for_a_constant(
    inner_persistent, x, near
):
    outer, inner = GradientTape(persistent=True), GradientTape(persistent=inner_persistent)
    with outer:
        inner.__enter__()
        outer.watch(x)
        inner.watch(x)
        y = x**3
    inner.__exit__(None, None, None)
    g = inner.gradient(y, x)
    near(g, 27.0)
    with pytest.warns(TapeWarning, match="None: gradient at .* ran outside the tape's block"):
        assert outer.gradient(g, x) is None
    near(outer.gradient(y, x), 27.0)
    with outer:
        h = y * x
    near(outer.gradient(h, x), 108.0)


@pytest.mark.parametrize("dtype", [xp.float64, xp.complex128])
def test_a_products_gradient_is_two_records_of_products_and_no_views(dtype):
    a, b = (xp.ones(shape, dtype=dtype) for shape in ((2, 3), (3, 4)))
    with GradientTape() as outer:
        outer.watch([a, b])
        with GradientTape() as inner:
            inner.watch([a, b])
            y = a @ b
        inner.gradient(y, [a, b], output_gradients=xp.ones_like(y))
    names = [plan_of(record).name for record in outer._recording.records]
    assert names == ["matmul", "matmul_adjoint", "matmul_adjoint"]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_adjoint_products_have_the_value_and_gradients_of_matmul(first, second, near):
    def complex_array(*shape):
        parts = np.arange(1.0, 1 + 2 * np.prod(shape)).reshape(2, *shape)
        return xp.asarray(np.cos(parts[0]) + 1j * np.sin(parts[1]))

    def adjoint(x):
        return xp.conj(x).mT

    a = complex_array(*((4, 3) if first else (3, 4)))
    b = complex_array(*((2, 4) if second else (4, 2)))
    weights = complex_array(3, 2)
    with GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = xp.matmul_adjoint(a, b, first, second)
        z = (adjoint(a) if first else a) @ (adjoint(b) if second else b)
    np.testing.assert_array_equal(y.to_numpy(), z.to_numpy())
    found, expected = (tape.gradient(value, [a, b], output_gradients=weights) for value in (y, z))
    for g, h in zip(found, expected, strict=True):
        near(g, h.to_numpy())
