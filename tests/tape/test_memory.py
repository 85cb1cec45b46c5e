"""Writes after recording, whose memory a gradient is, and when records are freed."""

import contextlib
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


# --- writes -----------------------------------------------------------------------------------
def test_writing_to_the_foreign_array_afterwards_changes_nothing(near):
    data = np.asarray([1.0, 2.0])
    x = xp.asarray(data)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        data[...] = 100.0
    near(y, [1.0, 4.0])
    near(tape.gradient(y, x), [2.0, 4.0])


def test_writing_to_a_raw_operand_afterwards_changes_nothing(near):
    weights = np.asarray([10.0, 20.0])
    x = xp.asarray([1.0, 2.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = x * weights
        weights[...] = 0.0
    near(tape.gradient(y, x), [10.0, 20.0])


def test_writing_to_shared_memory_afterwards_changes_nothing(near):
    data = np.asarray([1.0, 2.0])
    x = xp.asarray(data, device="cpu", copy=False)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        data[...] = 100.0
    near(tape.gradient(y, x), [2.0, 4.0])


def test_a_kept_array_survives_a_later_write(near):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        x[0] = 100.0
    x[1] = 200.0
    near(tape.gradient(y, x), [2.0, 4.0])


def test_a_source_means_the_value_that_was_watched(near):
    x = xp.asarray([1.0, 2.0, 3.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        x[0] = 100.0
        z = x * 3
        x += 1
        w = x * x
    near(tape.gradient(y, x), [2.0, 4.0, 6.0])
    near(tape.gradient(z, x), [0.0, 3.0, 3.0])
    near(tape.gradient(w, x), [0.0, 6.0, 8.0])


def test_a_kept_result_survives_a_later_write(near, gradient):
    def f(x):
        y = xp.exp(x)
        kept = y * 1.0
        y += 1
        return xp.sum(kept) + xp.sum(y)

    near(gradient(f, [1.0, 2.0]), 2 * np.exp([1.0, 2.0]))


# --- gradients are the caller's own --------------------------------------------------------------
def test_returned_gradients_share_no_buffer(near):
    a, b = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    seed = xp.ones((2,))
    with GradientTape() as tape:
        tape.watch([a, b])
        y = a + b
    found = tape.gradient(y, [a, b, a, y], output_gradients=seed)
    for i, g in enumerate(found):
        g[0] = 10.0 + i
    for i, g in enumerate(found):
        near(g, [10.0 + i, 1.0])
    near(seed, [1.0, 1.0])


def test_a_returned_gradient_can_be_written_to(near, gradient):
    g = gradient(xp.sum, [1.0, 2.0])
    g[0] = 5.0
    near(g, [5.0, 1.0])


def test_writing_to_a_gradient_does_not_change_the_next_one(near):
    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = xp.exp(x)
        z = x * 1.0 + x
    for target, expected in ((y, np.exp([1.0, 2.0])), (z, [2.0, 2.0])):
        for _ in range(2):
            g = tape.gradient(target, x)
            near(g, expected)
            g *= 0.0


def test_zeros_for_unconnected_sources_share_no_buffer(near):
    a = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(a)
    first, second = tape.gradient(xp.asarray(1.0), [a, a], unconnected_gradients="zero")
    first[0] = 1.0
    near(second, [0.0, 0.0])


def test_recorded_gradients_share_no_buffer(near):
    a, b = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    with GradientTape() as outer:
        outer.watch([a, b])
        with GradientTape() as inner:
            inner.watch([a, b])
            y = a + b
        da, db = inner.gradient(y, [a, b])
        da[0] = 9.0
    near(da, [9.0, 1.0])
    near(db, [1.0, 1.0])


def test_a_recorded_gradient_is_not_the_output_gradient_itself(near):
    x, seed = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 1.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x + 1
        g = inner.gradient(y, x, output_gradients=seed)
        g[0] = 9.0
    near(seed, [1.0, 1.0])


def test_a_recorded_gradient_can_be_written_to(near):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(x)
        g = inner.gradient(y, x)
        g[0] = 9.0
    near(g, [9.0, 1.0])


# --- memory -----------------------------------------------------------------------------------
def kept(tape):
    """A weak reference to data that only the tape's records keep, and the loss computed from it."""
    x = xp.asarray(np.linspace(0.0, 1.0, 1000))
    with tape:
        tape.watch(x)
        y = xp.exp(x)
        reference = weakref.ref(y._data)
        loss = xp.sum(y * y)
    return reference, loss, x


def test_a_kept_loss_holds_no_record():
    tape = GradientTape(persistent=True)
    reference, loss, x = kept(tape)
    assert reference() is not None
    tape.gradient(loss, x)
    assert reference() is not None
    del tape
    assert reference() is None
    assert float(loss) > 0


@pytest.mark.parametrize("method", ["gradient", "jacobian"])
def test_a_one_shot_tape_frees_the_records_with_its_gradient(method):
    tape = GradientTape()
    reference, loss, x = kept(tape)
    assert reference() is not None
    getattr(tape, method)(loss, x)
    assert reference() is None
    assert tape._recording.records == []


def test_a_tape_without_a_gradient_frees_its_records_when_it_goes():
    tape = GradientTape()
    reference, loss, _ = kept(tape)
    del tape
    assert reference() is None
    assert float(loss) > 0


def test_a_fresh_start_frees_the_sources():
    tape = GradientTape()
    x = xp.asarray([1.0, 2.0])
    reference = weakref.ref(x._data)
    with tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    del x, y
    assert reference() is None


def test_a_gradient_leaves_no_reference_cycle(left_behind):
    def work():
        x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
        with GradientTape() as tape:
            tape.watch(x)
            part = x[0]
            y = xp.sum(xp.exp(x) @ x) + xp.sum(part)
            x[0, 0] = 3.0
        tape.gradient(y, x)

    assert left_behind(work) == []


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_tapes_that_are_dropped_unused_leave_no_reference_cycle(left_behind):
    def work():
        x = xp.asarray([1.0, 2.0])
        with GradientTape(persistent=True) as outer:
            outer.watch(x)
            with GradientTape(persistent=True) as inner:
                inner.watch(x[:1])
                y = xp.sum(x * x)
            inner.gradient(y, x)

    assert left_behind(work) == []


def test_a_failed_op_and_a_failed_gradient_leave_no_reference_cycle(left_behind):
    def work():
        x = xp.asarray([1.0, 2.0])
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with contextlib.suppress(ValueError):
                xp.add(y, xp.ones((3,)))
        with contextlib.suppress(TypeError):
            tape.gradient(y, None)

    assert left_behind(work) == []
