"""Tapes within tapes, and beside each other."""

import itertools
import threading

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning
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
    assert outer.gradient(g, x) is None


def test_an_inner_gradient_counts_in_the_outer_target(x, near):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3
        penalty = y + inner.gradient(y, x) ** 2
    near(outer.gradient(penalty, x), 27.0 + 2 * 27.0 * 18.0)


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
    assert outer.gradient(g, x) is None
    near(outer.gradient(y, x), 27.0)
    with outer:
        h = y * x
    near(outer.gradient(h, x), 108.0)
