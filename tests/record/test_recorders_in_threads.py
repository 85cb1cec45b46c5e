"""The recorder stack in threads: each has its own."""

import asyncio
import contextlib
import contextvars
import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning
from arraytape._record.stack import OPEN, notify_other_threads, recorders


def in_thread(work):
    """What ``work`` returns in a thread of its own; its exception, if it raises one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(timeout=60)


@pytest.fixture
def x():
    return xp.asarray(3.0)


def test_an_op_in_another_thread_is_not_recorded(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = in_thread(lambda: x * x)
    with pytest.warns(
        xp.TapeWarning, match=r"test_recorders_in_threads\.py:\d+ \(in another thread"
    ):
        assert tape.gradient(y, x) is None


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x[1:] * 2.0,
        lambda x: xp.concat([xp.ones(1), x]),
        lambda x: xp.linalg.svd(x[None, :])[1],
        lambda x: xp.asarray(np.asarray(x) * 2.0),
        xp.custom_gradient(lambda x: (x * 1.0, lambda g: g)),
        lambda x: written_into(xp.zeros(3), x),
    ],
    ids=["view", "sequence", "several results", "exit", "custom gradient", "write"],
)
def test_whatever_another_thread_does_with_a_value_is_named(work):
    x = xp.asarray([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = in_thread(lambda: work(x))
    with pytest.warns(xp.TapeWarning, match="in another thread"):
        assert tape.gradient(y, x) is None


def written_into(x, value):
    x[...] = value
    return x


def test_threads_with_tapes_of_their_own_and_other_tasks_take_nothing_away(x):
    def work():
        with GradientTape():
            return x * x

    async def main():
        with GradientTape() as tape:
            tape.watch(x)
            y = in_thread(work)
            z = await asyncio.create_task(task())
            return tape.gradient([y, z], x)

    async def task():
        return contextvars.Context().run(lambda: x * x)

    assert asyncio.run(main()) is None


def test_what_other_threads_use_is_remembered_once_per_line(x):
    with GradientTape() as tape:
        tape.watch(x)
        in_thread(lambda: [x * 2.0 for _ in range(1000)])
        assert len(tape._recording.records) == 1


def test_nobody_is_told_once_no_tape_is_open(x):
    assert not OPEN
    tape = GradientTape()
    contextvars.Context().run(tape.__enter__)  # left by nobody: its context is gone
    assert len(OPEN) == 1
    del tape
    gc.collect()
    notify_other_threads(())
    assert not OPEN
    with GradientTape():
        assert len(OPEN) == 1
    assert not OPEN


def test_an_op_in_another_thread_is_not_recorded_even_with_a_copy_of_the_context(x):
    with GradientTape() as tape:
        tape.watch(x)
        context = contextvars.copy_context()
        y = in_thread(lambda: context.run(lambda: x * x))
        seen = in_thread(lambda: context.run(recorders))
    assert seen == ()
    with pytest.warns(xp.TapeWarning, match="in another thread"):
        assert tape.gradient(y, x) is None


def test_a_write_in_another_thread_is_not_recorded(near):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        in_thread(lambda: x.__setitem__(0, 5.0))
    near(tape.gradient(y, x), [2.0, 4.0])


def test_a_result_of_another_thread_is_a_constant(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = in_thread(lambda: x * x)
        z = x * y
    with pytest.warns(TapeWarning, match=r"a part .*in another thread"):
        g = tape.gradient(z, x)
    near(g, 9.0)


def test_a_tape_in_another_thread_records_there(x, near):
    def work():
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    near(in_thread(work), 6.0)


def test_a_new_thread_starts_with_an_empty_stack():
    with GradientTape():
        assert in_thread(recorders) == ()


def test_a_gradient_can_be_taken_in_another_thread(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    near(in_thread(lambda: tape.gradient(y, x)), 6.0)


def test_a_gradient_in_another_thread_is_not_recorded_in_this_one(x, near):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3
        g = in_thread(lambda: inner.gradient(y, x))
    near(g, 27.0)
    assert outer.gradient(g, x) is None


def test_a_tape_can_move_to_another_thread_between_its_blocks(x, near):
    tape = GradientTape()
    with tape:
        tape.watch(x)
        y = x * x

    def work():
        with tape:
            return y * y

    z = in_thread(work)
    near(tape.gradient(z, x), 108.0)


def test_eight_threads_with_tapes_of_their_own_get_right_answers():
    barrier = threading.Barrier(8)

    def work(k):
        barrier.wait()
        found = []
        for i in range(30):
            x = xp.asarray([1.0 + k, 2.0 + i])
            with GradientTape() as outer:
                outer.watch(x)
                with GradientTape() as inner:
                    inner.watch(x)
                    y = xp.sum(x**3) + k * xp.sum(x)
                g = inner.gradient(y, x)
            h = outer.gradient(g, x)
            a, b = 1.0 + k, 2.0 + i
            found.append(
                np.allclose(np.asarray(g), [3 * a * a + k, 3 * b * b + k])
                and np.allclose(np.asarray(h), [6 * a, 6 * b])
            )
        return all(found) and recorders() == ()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [True] * 8


def test_threads_share_the_gradients_of_a_persistent_tape():
    x = xp.asarray(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x

    def work(_):
        return [float(tape.gradient(y, x)) for _ in range(20)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [[4.0] * 20] * 4


def test_threads_may_watch_the_same_array_at_the_same_time(monkeypatch, near):
    from arraytape._array import views

    x, arrived = xp.asarray(3.0), threading.Barrier(2)
    name = views.new_value_id

    def slow_name():
        # Both threads have found x without a name before either gives it one.
        with contextlib.suppress(threading.BrokenBarrierError):
            arrived.wait(timeout=0.5)
        return name()

    monkeypatch.setattr(views, "new_value_id", slow_name)
    watched, go_on = threading.Barrier(2), threading.Barrier(2)

    def work():
        with GradientTape() as tape:
            tape.watch(x)
            watched.wait(timeout=10)
            y = x * x
            go_on.wait(timeout=10)
        return tape.gradient(y, x)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(work), pool.submit(work)
        near(first.result(timeout=30), 6.0)
        near(second.result(timeout=30), 6.0)


def test_threads_on_shared_arrays_get_right_answers():
    arrays = [xp.asarray([1.0 + i, 2.0]) for i in range(150)]
    parts = [a[:1] for a in arrays]
    barrier = threading.Barrier(4)

    def work(_):
        barrier.wait()
        wrong = 0
        for i, (a, part) in enumerate(zip(arrays, parts, strict=True)):
            with GradientTape() as tape:
                tape.watch(a)
                y = xp.sum(a * a) + xp.sum(part)
            g = tape.gradient(y, a)
            wrong += g is None or not np.allclose(np.asarray(g), [3.0 + 2 * i, 4.0])
        return wrong

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(work, range(4))) == [0, 0, 0, 0]
    finally:
        sys.setswitchinterval(interval)


def test_an_exception_in_a_thread_leaves_its_stack_empty(x, near):
    def work():
        with pytest.raises(ZeroDivisionError), GradientTape() as tape:  # noqa: PT012
            tape.watch(x)
            raise ZeroDivisionError
        return recorders()

    with GradientTape() as tape:
        tape.watch(x)
        assert in_thread(work) == ()
        y = x * x
    near(tape.gradient(y, x), 6.0)


def put(x):
    x[0] = 5.0


def add(x):
    x += 1.0


def multiply(x):
    x *= 2.0


def add_to_a_view(x):
    part = x[1:]
    part += 1.0


@pytest.mark.parametrize("write", [put, add, multiply, add_to_a_view])
@pytest.mark.parametrize("watches", [False, True], ids=["", "which watches it"])
@pytest.mark.parametrize("recorder", ["tape", "accumulator", "two tapes"])
def test_a_write_on_a_tape_of_another_thread_is_told_to_the_one_that_follows(
    write, watches, recorder
):
    v = xp.asarray([1.0, 2.0, 3.0])

    def work(x):
        if recorder == "accumulator":
            with xp.ForwardAccumulator(x if watches else xp.ones(3), xp.ones(3)):
                write(x)
            return
        with xp.GradientTape(), xp.GradientTape() as tape:
            if watches:
                tape.watch(x)
            write(x)

    with xp.GradientTape() as tape:
        tape.watch(v)
        x = v * 2.0
        first = xp.sum(x)
        worker = threading.Thread(target=work, args=(x,))
        worker.start()
        worker.join()
        y = first + xp.sum(x * x)
    with pytest.warns(TapeWarning, match=r"a part .*in another thread"):
        assert tape.gradient(y, v).tolist() == [2.0, 2.0, 2.0]


def test_a_write_on_two_tapes_of_one_thread_is_told_to_none():
    v = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as outer:
        outer.watch(v)
        x = v * 2.0
        with xp.GradientTape(), outer.stop_recording():
            x += 1.0
        with xp.GradientTape() as tape:
            tape.watch(x)
            x[0] = 0.0
            x *= 2.0
            y = xp.sum(x)
    assert tape.gradient(y, v, unconnected_gradients="zero").tolist() == [0.0, 0.0, 0.0]


def in_task(work):
    """Return what ``work`` returns in a task that began before the tape."""
    context = contextvars.Context()

    async def call():
        return work()

    async def wait():
        return await asyncio.create_task(call(), context=context)

    return asyncio.run(wait())


def test_a_variable_that_only_another_thread_reads_has_no_gradient_and_the_advice_works(near):
    v = xp.Variable([1.0, 2.0])

    def gradient(work, where=in_thread):
        with GradientTape() as tape:
            y = where(lambda: work(tape))
        return tape.gradient(y, v)

    def inside(tape):
        with tape.in_this_thread():
            return xp.sum(v * v)

    with pytest.warns(TapeWarning, match=r"is None: .*in another thread: see in_this_thread"):
        assert gradient(lambda tape: xp.sum(v * v)) is None
    with pytest.warns(
        TapeWarning, match=r"is None: multiply at .* another thread or task.*in_this_thread"
    ):
        assert gradient(lambda tape: xp.sum(v * v), in_task) is None
    near(gradient(inside), [2.0, 4.0])


READS = {
    "op": lambda v: xp.sum(v * v),
    "value": lambda v: xp.sum(v.value() ** 2),
    "view": lambda v: xp.sum(v[:2] * v[:2]) + v[2] ** 2,
    "float": lambda v: float(xp.sum(v * v)),
    "NumPy": lambda v: np.sum(np.asarray(v) ** 2),
    "tape there": lambda v: GradientTape() and xp.sum(v * v),
    "recompute": lambda v: xp.recompute_grad(lambda: xp.sum(v * v))(),
}
OTHERS = {
    "another Variable": lambda v, w: xp.sum(w),
    "the same Variable later": lambda v, w: xp.sum(v) + 0.0 * xp.sum(w),
}


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("read", READS)
def test_a_part_of_a_target_from_a_thread_that_reads_a_variable_is_no_silent_number(
    read, other, before, persistent
):
    v, w = xp.Variable([1.0, 2.0, 3.0], name="v"), xp.Variable([1.0, 2.0, 3.0], name="w")
    with GradientTape(persistent=persistent) as tape:
        first = OTHERS[other](v, w) if before else 0.0
        part = in_thread(lambda: READS[read](v))
        y = part + (first if before else OTHERS[other](v, w))
    with pytest.warns(TapeWarning, match=r"in another thread: see in_this_thread"):
        tape.gradient(y, [v, w])
    assert tape.watched_variables() == ((w,) if "another" in other else (v, w))


def test_a_thread_that_reads_other_variables_or_of_which_nothing_comes_back_is_no_reason_to_warn(
    near,
):
    v, w = xp.Variable([1.0, 2.0, 3.0]), xp.Variable([1.0, 2.0, 3.0])
    frozen = xp.Variable([1.0, 2.0, 3.0], trainable=False)
    with GradientTape() as tape:
        part = in_thread(lambda: xp.sum(w * frozen)) - 8.0
        y = xp.sum(v * v) * part
    near(tape.gradient(y, v), [12.0, 24.0, 36.0])
    with GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(v * v)
        in_thread(lambda: xp.sum(w * v))
    near(tape.gradient(y, v), [2.0, 4.0, 6.0])
