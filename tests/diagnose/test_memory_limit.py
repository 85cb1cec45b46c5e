"""GradientTape(memory_limit=): the op that would pass it raises, and everything stays usable."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp

SIZE = 1000  # elements: 8000 bytes each


def vector():
    return xp.asarray(np.linspace(0.1, 1.0, SIZE))


def test_the_op_that_would_pass_the_limit_raises_before_it_is_passed():
    x = vector()
    with xp.GradientTape(memory_limit=20_000) as tape:
        tape.watch(x)
        y = xp.exp(x)
        z = xp.exp(y)
        with pytest.raises(MemoryError) as caught:
            xp.exp(z)
        line = inspect.currentframe().f_lineno - 1
    message = str(caught.value)
    assert message.startswith(
        "exp: wrap a part of the computation in recompute_grad, keep saved data elsewhere with "
        "diagnose.saved_data, or raise memory_limit=20000 (20.0 kB). To record the op the tape would "
        f"keep 8.0 kB more than its 16.0 kB [at {__file__}:{line}]"
    )
    assert f"by exp at {__file__}:" in message
    assert tape.summary().total.kept == 16_000


def test_three_largest_keepers_are_named():
    x, small = vector(), xp.asarray(np.ones(10))
    with xp.GradientTape(memory_limit=30_000) as tape:
        tape.watch([x, small])
        xp.exp(small)
        y = xp.tanh(x)
        y = xp.exp(y)
        y = xp.sqrt(y)
        with pytest.raises(MemoryError) as caught:
            xp.exp(y)
    keepers = str(caught.value).partition("most for: ")[2].partition(". Wrap")[0].split("; ")
    assert [keeper.split(" at ")[0] for keeper in keepers] == [
        "8.0 kB by tanh", "8.0 kB by exp", "8.0 kB by sqrt",
    ]  # fmt: skip


def test_tape_and_arrays_stay_as_they_were_and_usable(near):
    x = vector()
    with xp.GradientTape(memory_limit=20_000) as tape:
        tape.watch(x)
        y = xp.exp(x)
        z = xp.exp(y)
        values, before = np.array(z), len(tape._recording.records)
        with pytest.raises(MemoryError):
            xp.exp(z)
        assert len(tape._recording.records) == before
        t = xp.sum(z)  # keeps nothing: it is recorded
    np.testing.assert_array_equal(np.asarray(z), values)
    e = np.exp(np.asarray(x))
    near(tape.gradient(t, x), np.exp(e) * e)


def test_writing_is_refused_at_the_next_op_and_the_array_is_right(near):
    x, key = vector(), xp.asarray(np.arange(SIZE) % 2 == 0)
    with xp.GradientTape(memory_limit=8_500) as tape:
        tape.watch(x)
        y = xp.exp(x)
        y[key] = 0.0  # keeps the mask, which passes the limit: the write is done
        with pytest.raises(MemoryError):
            xp.exp(y)
        t = xp.sum(y)
    expected = np.where(np.arange(SIZE) % 2 == 0, 0.0, np.exp(np.asarray(x)))
    near(y, expected)
    near(tape.gradient(t, x), expected)


@pytest.mark.parametrize("operator", ["__iadd__", "__imul__", "__ipow__", "__itruediv__"])
def test_an_operator_in_place_that_raises_has_not_written(operator):
    x = vector()
    with xp.GradientTape(memory_limit=8_000) as tape:
        tape.watch(x)
        y = xp.exp(x)
        before = np.array(y)
        raised = False
        try:
            getattr(y, operator)(xp.exp(x))
        except MemoryError:
            raised = True
    assert raised
    np.testing.assert_array_equal(np.asarray(y), before)


def test_a_buffer_counts_once():
    x = vector()
    with xp.GradientTape(memory_limit=8_000) as tape:
        tape.watch(x)
        y = xp.exp(x)
        for _ in range(5):
            y * y  # keeps y, which exp keeps
        xp.sin(y[::2])
    assert tape.summary().total.kept == 8_000


def test_what_a_gradient_has_freed_no_longer_counts():
    x = vector()
    tape = xp.GradientTape(memory_limit=10_000)
    for _ in range(3):
        with tape:
            tape.watch(x)
            y = xp.sum(xp.exp(x))
        tape.gradient(y, x)
    with tape:
        for _ in range(3):
            tape.watch(x)
            xp.exp(x)
            tape.reset()


def test_recompute_grad_is_a_way_out(near):
    x = vector()
    f = xp.recompute_grad(lambda x: xp.exp(xp.exp(xp.exp(x * 0.1))))
    with xp.GradientTape(memory_limit=10_000) as tape:
        tape.watch(x)
        y = xp.sum(f(x))
    assert tape.gradient(y, x) is not None


def test_the_arguments_of_recompute_grad_count():
    x = vector()
    f = xp.recompute_grad(xp.exp)
    with xp.GradientTape(memory_limit=20_000) as tape:
        tape.watch(x)
        y = f(x)
        y = f(y)
        with pytest.raises(MemoryError, match=r"^recompute_grad: wrap a part"):
            f(y)
    assert tape.summary().total[1:3] == (2, 16_000)


def test_a_limit_together_with_a_profile_counts_what_is_kept():
    x = vector()
    with xp.GradientTape(memory_limit=10_000, profile=True) as tape:
        tape.watch(x)
        y = xp.exp(x)
        with pytest.raises(MemoryError):
            xp.exp(y)
    assert tape.summary().total[1:3] == (1, 8_000)


def test_another_tape_is_not_limited(near):
    x = vector()
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape(memory_limit=10_000) as tape:
            tape.watch(x)
            y = xp.exp(x)
            with pytest.raises(MemoryError):
                xp.exp(y)
        z = xp.sum(xp.exp(y))
    e = np.exp(np.asarray(x))
    near(outer.gradient(z, x), np.exp(e) * e)


def test_counting_takes_the_same_time_for_each_record():
    x = xp.asarray(1.5)
    with xp.GradientTape(memory_limit=10**9) as tape:
        tape.watch(x)
        y = x
        for _ in range(2000):
            y = xp.sin(y)
    sizes = tape._recording.limit.buffers.sizes
    assert len(sizes) == tape._recording.limit.buffers.total // 8


def test_errors():
    for limit in (1.5, "1 GB", True):
        with pytest.raises(TypeError, match="memory_limit takes a number of bytes or None"):
            xp.GradientTape(memory_limit=limit)
    with pytest.raises(ValueError, match="memory_limit is -1, below 0"):
        xp.GradientTape(memory_limit=-1)


def test_threads_that_record_on_one_tape_share_the_limit():
    x = vector()

    def work(_):
        with tape.in_this_thread():
            try:
                xp.exp(x)
            except MemoryError:
                return "refused"
            return "recorded"

    with (
        xp.GradientTape(memory_limit=5 * 8_000, profile=True) as tape,
        ThreadPoolExecutor(4) as pool,
    ):
        tape.watch(x)
        found = list(pool.map(work, range(20)))
    assert found.count("recorded") == 5
    assert tape.summary().total[1:3] == (5, 40_000)
