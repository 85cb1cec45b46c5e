"""How long a tape lives: one-shot, persistent, entered again, failed."""

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


def test_a_one_shot_tape_gives_one_gradient(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent GradientTape can only be used"):
        tape.gradient(y, x)


def test_a_persistent_tape_gives_any_number_of_gradients(near):
    x = xp.asarray([1.0, 3.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    for _ in range(2):
        near(tape.gradient(z, x), [4.0, 108.0])
        near(tape.gradient(y, x), [2.0, 6.0])


def test_a_tape_that_is_entered_again_continues(x, near):
    tape = GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * y
    near(tape.gradient(z, x), 108.0)


def test_ops_between_two_blocks_are_not_recorded(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    between = y * x
    with tape:
        z = y + between
    near(tape.gradient(z, x), 6.0)


def test_a_tape_starts_afresh_after_a_one_shot_gradient(x, near):
    tape = GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with tape:
        tape.watch(x)
        z = x**3
    near(tape.gradient(z, x), 27.0)


def test_a_fresh_start_forgets_what_was_watched(x):
    tape = GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with tape:
        z = x**3
    with pytest.warns(TapeWarning, match="gradient is None: Array float64.* is not on the tape"):
        assert tape.gradient(z, x) is None


def test_a_persistent_tape_that_is_entered_again_after_a_gradient_continues(x, near):
    tape = GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * x
    near(tape.gradient(y, x), 6.0)
    with tape:
        z = y * y
    near(tape.gradient(z, x), 108.0)


def test_a_recording_tape_cannot_be_entered(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ValueError, match="already recording"), tape:
            pass
        y = x * x
    near(tape.gradient(y, x), 6.0)


def test_a_recording_tape_cannot_be_entered_from_another_thread(x, near):
    caught = []

    def enter(tape):
        try:
            with tape:
                pass
        except ValueError as error:
            caught.append(str(error))

    with GradientTape() as tape:
        tape.watch(x)
        thread = threading.Thread(target=enter, args=(tape,))
        thread.start()
        thread.join()
        y = x * x
    assert "already recording" in caught[0]
    near(tape.gradient(y, x), 6.0)


def test_a_gradient_inside_its_block_stops_a_one_shot_tape(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        near(tape.gradient(y, x), 6.0)
        assert recorders() == ()
        with pytest.raises(RuntimeError, match="recording"):
            tape.watch(x)
    assert recorders() == ()


def test_a_gradient_inside_its_block_warns_once_on_a_persistent_tape(x, near):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with pytest.warns(TapeWarning, match="inside its context") as found:  # noqa: PT031
            near(tape.gradient(y, x), 6.0)
            near(tape.gradient(y, x), 6.0)
    assert len(found) == 1
    assert found[0].filename == __file__


def test_a_persistent_tape_records_its_own_gradients(x, near):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
        with pytest.warns(TapeWarning, match="inside its context"):
            g = tape.gradient(y, x)
        h = tape.gradient(g, x)
    near(g, 27.0)
    near(h, 18.0)
    near(tape.gradient(h, x), 6.0)
    near(tape.gradient(y, x), 27.0)


@pytest.mark.parametrize("method", ["gradient", "jacobian", "batch_jacobian"])
@pytest.mark.parametrize("again", ["gradient", "jacobian", "batch_jacobian"])
def test_a_second_set_of_gradients_or_jacobians_is_refused(method, again):
    x = xp.asarray([[1.0, 2.0]])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    getattr(tape, method)(y, x)
    with pytest.raises(RuntimeError) as caught:
        getattr(tape, again)(y, x)
    assert str(caught.value).startswith(
        "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"
    )
    with tape:
        tape.watch(x)
        z = x**3
    np.testing.assert_array_equal(np.asarray(tape.gradient(z, x)), [[3.0, 12.0]])


@pytest.mark.parametrize("method", ["gradient", "jacobian", "batch_jacobian"])
def test_every_derivative_stops_a_one_shot_tape_inside_its_block(method):
    x = xp.asarray([[1.0, 2.0]])
    with GradientTape() as outer, GradientTape() as tape, GradientTape() as inner:
        tape.watch(x)
        y = x * x
        getattr(tape, method)(y, x)
        assert recorders() == (outer._recording, inner._recording)
        with pytest.raises(RuntimeError, match=r"watch\(\) needs a recording tape"):
            tape.watch(x)


def test_a_persistent_tape_warns_once_for_all_its_derivatives():
    x = xp.asarray([[1.0, 2.0]])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with pytest.warns(TapeWarning, match="inside its context") as found:  # noqa: PT031
            tape.jacobian(y, x)
            tape.batch_jacobian(y, x)
            tape.gradient(y, x)
    assert len(found) == 1
    assert found[0].filename == __file__
    assert recorders() == ()


def test_a_tape_that_is_entered_gives_itself():
    tape = GradientTape()
    with tape as entered:
        assert entered is tape
