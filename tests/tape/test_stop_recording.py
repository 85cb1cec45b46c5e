"""A tape that is stopped for a while, and one that is reset."""

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning
from arraytape._record.stack import recorders
from helpers.tapes import square_slope

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


# --- stop_recording -----------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:gradient is None")
def test_stop_recording_stops_this_tape_only(x, near):
    with GradientTape() as first, GradientTape() as second:
        first.watch(x)
        second.watch(x)
        with first.stop_recording():
            y = x * x
    assert first.gradient(y, x) is None
    near(second.gradient(y, x), 6.0)


def test_an_exception_inside_stop_recording_lets_the_tape_go_on(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError), tape.stop_recording():
            raise ZeroDivisionError
        y = x * x
    near(tape.gradient(y, x), 6.0)


def test_a_suspended_generator_keeps_its_tape_stopped_until_it_is_closed(x, near):
    def numbers(tape):
        with tape.stop_recording():
            yield x * x
            yield x * x * x

    with GradientTape() as tape:
        tape.watch(x)
        made = numbers(tape)
        inside = next(made)
        between = x * x
        made.close()
        after = x * x
    for y in (inside, between):
        assert tape._recording.value_id_of(y) not in tape._recording.known
    near(tape.gradient(after, x), 6.0)


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_generators_that_stop_a_tape_may_end_in_any_order(x, near):
    def stopped(tape):
        with tape.stop_recording():
            yield

    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        first, second = stopped(tape), stopped(tape)
        next(first), next(second)
        second.close()
        y = x * x
        first.close()
        z = x * x
    assert tape.gradient(y, x) is None
    near(tape.gradient(z, x), 6.0)


def test_a_generator_that_is_closed_in_another_thread_puts_no_tape_there(x):
    def stopped(tape):
        with tape.stop_recording():
            yield

    with GradientTape() as tape:
        tape.watch(x)
        generator = stopped(tape)
        next(generator)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(generator.close).result()
            assert pool.submit(recorders).result() == ()
    assert recorders() == ()


def test_a_generator_that_is_forgotten_lets_the_tape_go_on(x, near):
    def stopped(tape):
        with tape.stop_recording():
            yield

    with GradientTape() as tape:
        tape.watch(x)
        next(stopped(tape))
        gc.collect()
        y = x * x
    near(tape.gradient(y, x), 6.0)


def test_stop_recording_keeps_the_tapes_place_among_others(x):
    with GradientTape() as outer, GradientTape() as inner:
        with outer.stop_recording():
            assert inner._recording in recorders()
            assert outer._recording not in recorders()
        assert recorders() == (outer._recording, inner._recording)


def test_watching_inside_stop_recording_counts_afterwards(x, near):
    with GradientTape() as tape:
        with tape.stop_recording():
            tape.watch(x)
        y = x * x
    near(tape.gradient(y, x), 6.0)


def test_a_persistent_gradient_inside_stop_recording_does_not_warn(x, near):
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        with tape.stop_recording():
            g = tape.gradient(y, x)
        near(g, 6.0)
        assert tape._recording.value_id_of(g) not in tape._recording.known
        z = y * x
    near(tape.gradient(z, x), 27.0)


def test_a_one_shot_gradient_inside_stop_recording_ends_the_tape(x, near):
    with GradientTape() as tape:
        y = square_slope(tape, x)
        with tape.stop_recording():
            near(tape.gradient(y, x), 6.0)
        assert recorders() == ()


def test_a_tape_that_is_left_inside_stop_recording_stays_left(x):
    tape = GradientTape()
    tape.__enter__()
    with tape.stop_recording():
        tape.__exit__(None, None, None)
    assert recorders() == ()


# --- reset --------------------------------------------------------------------------------------
def test_reset_drops_everything_and_continues_recording(x, near):
    with GradientTape() as tape:
        before = square_slope(tape, x)
        tape.reset()
        unwatched = x * x
        tape.watch(x)
        after = x * x
    near(tape.gradient([before, unwatched, after], x), 6.0)


def test_reset_outside_the_block_leaves_an_empty_tape(x, near):
    with GradientTape() as tape:
        y = square_slope(tape, x)
    tape.reset()
    with pytest.warns(TapeWarning, match="gradient is None: Array float64.* is not on the tape"):
        assert tape.gradient(y, x) is None
    with tape:
        y = square_slope(tape, x)
    near(tape.gradient(y, x), 6.0)


def test_reset_frees_a_used_tape_and_inside_stop_recording_it_stays_stopped(x, near):
    with GradientTape() as tape:
        y = square_slope(tape, x)
    tape.gradient(y, x)
    tape.reset()
    with pytest.warns(TapeWarning, match="gradient is None: Array float64.* is not on the tape"):
        assert tape.gradient(x * 1.0, x) is None
    with GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            tape.reset()
            tape.watch(x)
            y = x * x
        z = x * x
    near(tape.gradient([y, z], x), 6.0)
