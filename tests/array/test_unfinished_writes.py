"""Writes that did not finish: data and derivative are old or new, or the derivative says why not."""

import contextlib
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._array.aliasing import PUT
from arraytape._record.plan import PLANS

WRITES = {
    "+=": lambda z: z.__iadd__(z),
    "-=": lambda z: z.__isub__(-z),
    "+= of a view": lambda z: z[1:].__iadd__(z[1:]),
    "number": lambda z: z.__iadd__(1.7e308),
    "cast": lambda z: z.__setitem__(slice(None, 2), xp.asarray([1e300, 1e300])),
    "cast by integers": lambda z: z.__setitem__(xp.asarray([0, 1]), xp.asarray([1e300, 1e300])),
    "cast by a mask": lambda z: z.__setitem__(xp.asarray([True, False, True]), xp.asarray([1e300, 1.0])),
    "out=": lambda z: np.add(z, z, out=z),
    "add.at": lambda z: np.add.at(z, [0, 0], z[:2]),
}  # fmt: skip


def large(x, write):
    """A followed value near the largest one of its dtype, single where the write casts."""
    if write.startswith("cast"):
        return xp.astype(x, xp.float32) * 1e38
    return x * 1.7e308


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_overflows_under_errstate_raise_has_no_wrong_derivative(write):
    x, w = xp.asarray([1.0, 0.9, 0.8]), xp.asarray([1.0, 2.0, 4.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = large(x, write)
        scaled = z * 1e-30
        before = np.array(z)
        with np.errstate(over="raise"), pytest.raises((FloatingPointError, TypeError)):
            WRITES[write](z)
        with np.errstate(all="ignore"):
            y = z * w
    assert np.isfinite(np.asarray(tape.gradient(scaled, x))).all()
    if np.array_equal(np.asarray(z), before):
        assert tape.gradient(y, x) is not None
    else:
        with pytest.raises(LookupError, match="did not finish"):
            tape.gradient(y, x)
        with pytest.raises(LookupError, match="did not finish"):
            tape.jacobian(y, x)


def test_forward_mode_refuses_the_derivative_too():
    x = xp.asarray([1.0, 0.9])
    with xp.ForwardAccumulator(x, x) as accumulator:
        z = x * 1.7e308
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            z += z
        with np.errstate(all="ignore"):
            y, beside = z * 2.0, x * 3.0
    with pytest.raises(LookupError, match="did not finish"):
        accumulator.jvp(y)
    assert accumulator.jvp(beside).tolist() == [3.0, 2.7]


def test_what_does_not_go_through_the_write_keeps_its_gradient():
    x, v = xp.asarray([1.0, 0.9]), xp.asarray([2.0, 3.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch([x, v])
        z = x * 1.7e308
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            z += z
        y = xp.where(xp.isfinite(xp.stop_gradient(z)), v * v, 2.0 * v)
    assert tape.gradient(y, v).tolist() == [2.0, 2.0]


def test_a_value_that_was_written_into_an_unfollowed_array_counts_too():
    x, z = xp.asarray([1.0, 0.9]), xp.asarray([1.7e308, 1.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        big = x * 1.7e308
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            z += big
        y = xp.sum(z) + xp.sum(x)
    with pytest.raises(LookupError, match="did not finish"):
        tape.gradient(y, x)


def test_a_view_of_it_and_what_is_made_in_a_user_function_are_refused():
    x = xp.asarray([1.0, 0.9])
    square = xp.recompute_grad(lambda z: z * z)
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = x * 1.7e308
        part = z[:1]
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            z += z
        with np.errstate(all="ignore"):
            y = xp.sum(square(part))
    with pytest.raises(LookupError, match="did not finish"):
        tape.gradient(y, x)


def test_an_observer_that_refuses_the_record_of_a_write_leaves_no_old_derivative():
    x = xp.asarray([1.0, 0.9])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * 2.0

        def refuse(record):
            if PLANS[record[0]] is PUT:
                raise MemoryError("no more records")

        tape._recording.observe(refuse)
        with pytest.raises(MemoryError, match="no more records"):
            z[0] = 5.0
        y = z * z + x
    assert np.asarray(z).tolist() == [5.0, 1.8]
    with pytest.raises(LookupError, match="did not finish"):
        tape.gradient(y, x)


def test_a_captured_array_that_a_user_function_may_not_write_to_is_refused_outside():
    x, v = xp.asarray([1.0, 0.9]), xp.asarray([2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = x * 2.0

        @xp.custom_gradient
        def f(v):
            with contextlib.suppress(ValueError):
                z[0] = 7.0
            return v * v, lambda dy: dy

        f(v)
        y = z + x
    assert np.asarray(z).tolist() == [7.0, 1.8]
    with pytest.raises(LookupError, match="did not finish"):
        tape.gradient(y, x)


def test_warnings_as_errors_leave_the_derivative_of_what_is_written():
    x = xp.asarray([1.0, 0.5])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = x * 1.7e308
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="overflow"):
                z += z
        y = z[1:] * 1e-308
    assert tape.gradient(y, x).tolist() == pytest.approx([0.0, 3.4])


def test_an_in_place_result_that_is_interrupted_leaves_the_old_value(monkeypatch):
    from arraytape.ops import writing

    def interrupted(*_):
        raise KeyboardInterrupt

    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = x * 3.0
        monkeypatch.setattr(writing, "storage_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            z *= x
        monkeypatch.undo()
        y = z * 1.0
    assert np.asarray(z).tolist() == [3.0, 6.0]
    assert tape.gradient(y, x).tolist() == [3.0, 3.0]
