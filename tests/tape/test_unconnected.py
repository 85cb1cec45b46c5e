"""Sources that a target does not depend on, and what has no derivative: None, or zeros."""

import contextlib
from time import monotonic

import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning, UnconnectedGradients
from arraytape._array import cuts
from arraytape._record.stack import AWAITED, UNSTARTED

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


def test_an_unrelated_source_gives_none(x):
    y = xp.asarray(2.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = y * y
    assert tape.gradient(z, x) is None


@pytest.mark.parametrize("none", ["none", UnconnectedGradients.NONE])
def test_unconnected_gradients_can_be_asked_to_be_none(none, near):
    x, y = xp.asarray([2.0, 2.0]), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = y * y
    dx, dy = tape.gradient(z, [x, y], unconnected_gradients=none)
    assert dx is None
    near(dy, 6.0)


@pytest.mark.parametrize("zero", ["zero", UnconnectedGradients.ZERO])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_unconnected_gradients_can_be_zeros_in_the_sources_shape_and_dtype(zero, dtype, near):
    x, y = xp.asarray([2.0, 2.0], dtype=getattr(xp, dtype)), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = y * y
    dx, dy = tape.gradient(z, [x, y], unconnected_gradients=zero)
    near(dx, [0.0, 0.0])
    assert dx.dtype == x.dtype
    near(dy, 6.0)


def test_connected_but_zero_gives_zeros(near, gradient):
    near(gradient(lambda x: xp.sum(x) * 0, [2.0, 3.0]), [0.0, 0.0])
    near(gradient(xp.sign, [2.0, -3.0]), [0.0, 0.0])


def test_a_value_that_was_overwritten_as_a_whole_is_connected_but_zero(near, gradient):
    def overwritten(x):
        y = x * 1.0
        y[...] = 0.0
        return y

    for f in (overwritten, lambda x: x - x, lambda x: x[:0], lambda x: xp.where(x > 9.0, x, 0.0)):
        near(gradient(f, [2.0, 3.0]), [0.0, 0.0])


@pytest.mark.parametrize(
    "cut", [xp.floor, xp.round, xp.ceil, xp.trunc, xp.zeros_like, xp.stop_gradient]
)
def test_what_has_no_derivative_gives_none(cut, gradient):
    assert gradient(cut, [2.5, -3.5]) is None


@pytest.mark.parametrize("cut", [xp.argmax, lambda x: x > 0, xp.isnan, xp.count_nonzero])
def test_targets_that_are_not_floating_point_warn_and_give_none(cut, gradient):
    with pytest.warns(TapeWarning, match="target"):
        assert gradient(cut, [2.5, -3.5]) is None


def test_an_integer_detour_is_cut_and_the_rest_counts(near, gradient):
    def f(x):
        return x * xp.astype(xp.astype(2 * x, xp.int64), xp.float64)

    near(gradient(f, 3.0), 6.0)


def test_stop_gradient_makes_a_constant(near, gradient):
    near(gradient(lambda x: x * xp.stop_gradient(x * x), 3.0), 9.0)


# --- what is noted for the cause of a None ------------------------------------------------------------
@pytest.mark.parametrize("case", ["nothing is followed yet", "after the block", "stopped"])
def test_noting_ops_ends_where_there_are_many(case):
    x, v = xp.asarray([1.0, 2.0]), xp.Variable([3.0, 4.0])

    def run(ops):
        with xp.GradientTape() as tape:
            y = x if case == "nothing is followed yet" else v * 2.0
            with tape.stop_recording() if case == "stopped" else contextlib.nullcontext():
                for _ in range(ops if case != "after the block" else 0):
                    _ = y * 2.0
        for _ in range(ops if case == "after the block" else 0):
            _ = y * 2.0
        return tape

    cuts.budget[:] = 100, monotonic()
    tape = run(10)
    assert AWAITED
    assert cuts.budget[0] < cuts.FIRST
    del tape
    cuts.budget[:] = 100, monotonic()
    tape = run(10_000)
    assert not AWAITED
    assert not UNSTARTED
    cuts.budget[:] = 0, monotonic() + 60.0  # no time has passed since
    tape = run(10)
    assert not AWAITED
    assert cuts.budget[0] < 0
    cuts.budget[:] = 0, monotonic() - 1.0
    tape = run(10)
    assert AWAITED
    del tape
