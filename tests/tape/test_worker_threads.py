"""A tape that is handed to worker threads on purpose."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._array.aliasing import VIEW
from arraytape._record.stack import recorders
from helpers.tapes import square_slope

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


def test_a_tape_can_be_handed_to_worker_threads(x, near):
    def work(k):
        with tape.in_this_thread():
            return x * float(k)

    with GradientTape() as tape, ThreadPoolExecutor(4) as pool:
        tape.watch(x)
        total = sum(pool.map(work, range(1, 5)))
    near(tape.gradient(total, x), 10.0)


def test_many_workers_at_once_lose_no_record(near):
    x, barrier = xp.asarray([1.0, 2.0]), threading.Barrier(8)

    def work(k):
        with tape.in_this_thread():
            barrier.wait()
            y = x
            for _ in range(50):
                y = y * 1.0 + x
            return xp.sum(y) * float(k)

    with GradientTape() as tape, ThreadPoolExecutor(8) as pool:
        tape.watch(x)
        parts = list(pool.map(work, range(8)))
    near(tape.gradient(parts, x), [51.0 * 28] * 2)


def test_a_worker_uses_what_the_owner_and_other_workers_computed(x, near):
    def work(y):
        with tape.in_this_thread():
            return y * x

    with GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        y = square_slope(tape, x)
        z = pool.submit(work, y).result()
        z = z * pool.submit(work, z).result()
    near(tape.gradient(z, x), 7 * 3.0**6)


def test_a_view_that_two_workers_have_recorded_counts_once(near):
    x = xp.asarray([1.0, 2.0, 3.0])
    view = x[1:]

    def work(k):
        with tape.in_this_thread():
            return xp.sum(view * view) * float(k)

    with GradientTape(persistent=True) as tape, ThreadPoolExecutor(1) as pool:
        tape.watch(x)
        first = pool.submit(work, 1).result()
        records = tape._recording.records
        (seen,) = (record for record in records if record[0] == VIEW.number)
        records.append(seen)  # as by a worker that found the view unread at the same moment
        second = pool.submit(work, 2).result()
    for _ in range(2):
        whole, part = tape.gradient([first, second], [x, view])
        near(whole, [0.0, 12.0, 18.0])
        near(part, [12.0, 18.0])


def test_a_worker_may_watch_and_stop_recording_and_leaves_by_an_exception(x, near):
    other = xp.asarray(2.0)

    def work():
        with tape.in_this_thread():
            tape.watch(other)
            with tape.stop_recording():
                constant = other * other
            made.append(constant * other)
            raise ZeroDivisionError

    made = []
    with GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError):
            pool.submit(work).result()
        assert pool.submit(recorders).result() == ()
        y = x * x
    dx, dother = tape.gradient([made[0], y], [x, other])
    near(dx, 6.0)
    near(dother, 4.0)


def test_stop_recording_in_one_thread_leaves_the_others_recording(x, near):
    stopped, go_on = threading.Event(), threading.Event()

    def work():
        with tape.in_this_thread(), tape.stop_recording():
            stopped.set()
            go_on.wait(timeout=10)

    with GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        tape.watch(x)
        future = pool.submit(work)
        stopped.wait(timeout=10)
        y = x * x
        go_on.set()
        future.result()
    near(tape.gradient(y, x), 6.0)


def held(tape, x):
    """A worker that is inside its block, what lets it go on, and its result to be."""
    inside, go_on = threading.Event(), threading.Event()

    def work():
        with tape.in_this_thread():
            inside.set()
            go_on.wait(timeout=10)
            return x * x

    pool = ThreadPoolExecutor(1)
    future = pool.submit(work)
    inside.wait(timeout=10)
    pool.shutdown(wait=False)
    return future, go_on


def test_a_worker_goes_on_recording_when_the_tapes_own_block_is_left(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        future, go_on = held(tape, x)
    with pytest.raises(ValueError, match="already recording"):
        tape.__enter__()
    go_on.set()
    near(tape.gradient(future.result(), x), 6.0)
    assert tape._recording.followed == set()


def test_a_one_shot_gradient_while_a_worker_records_is_refused(x, near):
    with GradientTape() as tape:
        y = square_slope(tape, x)
        future, go_on = held(tape, x)
        with pytest.raises(RuntimeError, match="1 other threads still record"):
            tape.gradient(y, x)
        go_on.set()
        z = future.result()
    near(tape.gradient([y, z], x), 12.0)


def test_a_persistent_gradient_does_not_wait_for_workers(x, near):
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        future, go_on = held(tape, x)
    near(tape.gradient(y, x), 6.0)
    go_on.set()
    near(tape.gradient(future.result(), x), 6.0)


def test_a_worker_may_take_the_gradient_when_it_is_the_last(x, near):
    def work():
        with tape.in_this_thread():
            return tape.gradient(x * x, x)

    with GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        tape.watch(x)
        near(pool.submit(work).result(), 6.0)
        assert tape._recording.followed == set()
        assert pool.submit(recorders).result() == ()


def test_a_gradient_that_fails_in_a_worker_lets_it_and_the_owner_go_on(x, near):
    def work():
        with tape.in_this_thread():
            with pytest.raises(TypeError):
                tape.gradient(x * x, None)
            with pytest.raises(ZeroDivisionError):
                tape.gradient(broken(x), x)
            assert recorders() == (tape._recording,)
            return x * x

    @xp.custom_gradient
    def broken(x):
        return x * 1.0, lambda dy: 1 / 0

    with GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        tape.watch(x)
        y = pool.submit(work).result()
        z = y * x
    near(tape.gradient(z, x), 27.0)


def test_a_gradient_that_fails_in_another_thread_lets_the_owner_go_on(x, near):
    @xp.custom_gradient
    def broken(x):
        return x * 1.0, lambda dy: 1 / 0

    with GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        tape.watch(x)
        y, z = x * x, broken(x)
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: tape.gradient(z, x)).result()
        after = y * x
    near(tape.gradient(after, x), 27.0)


def test_in_this_thread_where_the_tape_records_already_is_an_error():
    with GradientTape() as tape:
        with pytest.raises(ValueError, match="already recording in this thread"):
            tape.in_this_thread().__enter__()
        assert recorders() == (tape._recording,)


def test_in_this_thread_of_a_tape_that_does_not_record_is_an_error():
    tape = GradientTape()
    with pytest.raises(RuntimeError, match="needs a recording tape"):
        tape.in_this_thread().__enter__()
