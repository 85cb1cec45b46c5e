"""The recorder stack: what is on it in nested blocks, and after exceptions."""

import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._record.stack import recorders


@pytest.fixture
def x():
    return xp.asarray(3.0)


# --- the stack ------------------------------------------------------------------------------------
def test_the_innermost_recorder_is_last():
    with GradientTape() as outer, GradientTape() as inner:
        assert recorders() == (outer._recording, inner._recording)
    assert recorders() == ()


def test_leaving_a_tape_twice_is_harmless(x, near):
    tape = GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    tape.__exit__(None, None, None)
    assert recorders() == ()
    near(tape.gradient(y, x), 6.0)


def test_leaving_the_outer_tape_first_keeps_the_inner_one():
    outer, inner = GradientTape(), GradientTape()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert recorders() == (inner._recording,)
    inner.__exit__(None, None, None)


# --- exceptions -----------------------------------------------------------------------------------
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_ends_recording_and_leaves_what_was_recorded_usable(error, x, near):
    with pytest.raises(error), GradientTape() as tape:  # noqa: PT012
        tape.watch(x)
        y = x * x
        raise error
    assert recorders() == ()
    z = y * y
    near(tape.gradient([y, z], x), 6.0)


def test_an_exception_in_nested_blocks_leaves_the_stack_empty(x, near):
    with pytest.raises(ZeroDivisionError), GradientTape() as outer:  # noqa: PT012
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x * x
            raise ZeroDivisionError
    assert recorders() == ()
    near(inner.gradient(y, x), 6.0)
    near(outer.gradient(y, x), 6.0)


def test_an_exception_that_is_caught_outside_the_inner_block_leaves_the_outer_tape_recording(
    x, near
):
    with GradientTape() as outer:
        outer.watch(x)
        try:
            with GradientTape() as inner:
                inner.watch(x)
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        assert recorders() == (outer._recording,)
        y = x * x
    near(outer.gradient(y, x), 6.0)


def test_a_tape_can_be_entered_again_after_an_exception(x, near):
    tape = GradientTape()
    with pytest.raises(ZeroDivisionError), tape:  # noqa: PT012
        tape.watch(x)
        y = x * x
        raise ZeroDivisionError
    with tape:
        z = y * y
    near(tape.gradient(z, x), 108.0)


def test_a_failed_op_is_not_recorded(x, near):
    v = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch([x, v])
        y = x * x
        count = len(tape._recording.records)
        for bad in (
            lambda: v + xp.ones((3,)),
            lambda: v @ xp.ones((3,)),
            lambda: v[5],
            lambda: v.__setitem__(5, 1.0),
            lambda: v.__iadd__(xp.ones((2, 2))),
            lambda: xp.reshape(v, (3,)),
        ):
            with pytest.raises((ValueError, IndexError)):
                bad()
        assert len(tape._recording.records) == count
    near(tape.gradient(y, x), 6.0)


def test_an_abandoned_generator_leaves_no_tape(x):
    def work():
        with GradientTape() as tape:
            tape.watch(x)
            yield tape

    generator = work()
    next(generator)
    generator.close()
    assert recorders() == ()


def test_an_exception_inside_a_rule_reaches_the_user_and_leaves_the_tape_usable(x, cbrt, near):
    broken = [True]

    @xp.register_gradient("cbrt")
    def rule(g, y):
        if broken:
            raise ZeroDivisionError("from the rule")
        return g / (3 * y * y)

    with GradientTape() as tape:
        tape.watch(x)
        y = cbrt(x * x * x)
    with pytest.raises(ZeroDivisionError, match="from the rule"):
        tape.gradient(y, x)
    broken.clear()
    near(tape.gradient(y, x), 1.0)


def test_an_exception_inside_a_rule_leaves_the_outer_tape_recording(x, cbrt, near):
    @xp.register_gradient("cbrt")
    def rule(g):
        raise ZeroDivisionError("from the rule")

    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = cbrt(x)
        with pytest.raises(ZeroDivisionError):
            inner.gradient(y, x)
        assert recorders() == (outer._recording,)
        z = x * x
    near(outer.gradient(z, x), 6.0)
