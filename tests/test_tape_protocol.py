"""The tape's protocol: the numbered cases of the specification, and its sentences."""

import gc
import inspect
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning
from arraytape._op import REGISTRY
from arraytape._record import recorders


def near(found, expected):
    assert found is not None
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-7, atol=1e-12)


def square_slope(tape, x):
    """x * x on the tape."""
    tape.watch(x)
    return x * x


def gradient(f, *values, **options):
    """The gradients of ``f`` at ``values`` by a one-shot tape."""
    arrays = [xp.asarray(v) for v in values]
    with GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    found = tape.gradient(y, arrays, **options)
    return found[0] if len(values) == 1 else found


@pytest.fixture
def x():
    return xp.asarray(3.0)


@pytest.fixture(autouse=True)
def the_stack_is_empty_before_and_after():
    assert recorders() == ()
    yield
    assert recorders() == ()


# --- part A -----------------------------------------------------------------------------------
def test_case_1_the_gradient_of_a_square():
    near(gradient(lambda x: x**2, 3.0), 6.0)


def test_case_2_two_tapes(x):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            y = square_slope(inner, x)
        g = inner.gradient(y, x)
    near(g, 6.0)
    near(outer.gradient(g, x), 2.0)


def test_case_3_a_polynomial_and_its_second_derivative(x):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3 + x**2 + x + 5
        g = inner.gradient(y, x)
    near(g, 34.0)
    near(outer.gradient(g, x), 20.0)


@pytest.mark.parametrize(
    ("at", "dz", "dy"), [([1.0, 3.0], [4.0, 108.0], [2.0, 6.0]), (3.0, 108.0, 6.0)]
)
def test_case_4_a_persistent_tape(at, dz, dy):
    x = xp.asarray(at)
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        z = y * y
    near(tape.gradient(z, x), dz)
    near(tape.gradient(y, x), dy)


def test_case_5_an_intermediate_beside_its_source(x):
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        z = y * y
    near(tape.gradient(z, y), 18.0)
    dx, dy = tape.gradient(z, [x, y])
    near(dx, 108.0)
    near(dy, 18.0)


def test_case_8_two_targets_separately():
    x = xp.asarray(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        first, second = x**2, 1 / x
    near(tape.gradient(first, x), 4.0)
    near(tape.gradient(second, x), -0.25)


def test_case_9_a_dict_of_targets():
    near(gradient(lambda x: {"y0": x**2, "y1": 1 / x}, 2.0), 3.75)


def test_case_10_a_vector_target():
    near(gradient(lambda x: x * xp.asarray([3.0, 4.0]), 2.0), 7.0)


def test_case_11_a_sigmoid():
    g = np.asarray(gradient(lambda x: 1 / (1 + xp.exp(-x)), np.linspace(-10, 10, 201)))
    assert g.shape == (201,)
    assert g.argmax() == 100
    near(g[100], 0.25)
    np.testing.assert_allclose(g[[0, -1]], 4.53958e-05, rtol=1e-5)


def test_case_12_a_branch():
    def branch(x, v0, v1):
        return v0 if x > 0 else v1**2

    dx, dv0, dv1 = gradient(branch, 1.0, 2.0, 2.0)
    near(dv0, 1.0)
    assert dv1 is None
    assert dx is None


def test_case_13_an_unrelated_source():
    x, y = xp.asarray([2.0, 2.0]), xp.asarray(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = y * y
    assert tape.gradient(z, x) is None
    near(tape.gradient(z, x, unconnected_gradients="zero"), [0.0, 0.0])


def test_case_15_a_value_that_left(x):
    v = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(v)
        left = xp.asarray(np.mean(np.asarray(v * v)))
        line = inspect.currentframe().f_lineno - 1
        stayed = np.mean(v * v)
    with pytest.warns(TapeWarning, match=rf"test_tape_protocol\.py:{line} "):
        assert tape.gradient(left, v) is None
    near(tape.gradient(stayed, v), [1.0, 2.0])


def test_case_16_integers():
    n = xp.asarray(10)
    with GradientTape() as tape:
        with pytest.warns(TapeWarning, match="int64"):
            tape.watch(n)
        y = n * n
    with pytest.warns(TapeWarning, match="int64"):
        assert tape.gradient(y, n) is None


@pytest.fixture
def cbrt():
    """An op without a rule, that the registry forgets after the test."""
    yield xp.define_op("cbrt", lambda x: x ** (1 / 3))
    del REGISTRY["cbrt"]


def test_case_18_an_op_without_a_rule(cbrt, x):
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        z = cbrt(y)
    with pytest.raises(LookupError, match="gradient registry has no entry for: cbrt"):
        tape.gradient(z, x)
    near(tape.gradient(y, x), 6.0)


def test_case_19_a_linear_layer():
    W, b = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), xp.zeros((2,))
    with GradientTape(persistent=True) as tape:
        tape.watch([W, b])
        loss = xp.mean((xp.asarray([[1.0, 2.0, 3.0]]) @ W + b) ** 2)
    assert float(loss) == 634.0
    for dW, db in (
        tape.gradient(loss, [W, b]),
        tape.gradient(loss, {"W": W, "b": b}).values(),
    ):
        near(dW, [[22, 28], [44, 56], [66, 84]])
        near(db, [22, 28])


# --- part B -----------------------------------------------------------------------------------
def test_case_21_one_set_of_gradients(x):
    with GradientTape() as tape:
        y = square_slope(tape, x)
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent GradientTape can only be used"):
        tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="never recorded"):
        GradientTape().gradient(y, x)


def test_case_22_a_gradient_inside_its_own_context(x):
    with GradientTape() as tape:
        y = square_slope(tape, x)
        near(tape.gradient(y, x), 6.0)
        z = x * x
        with pytest.raises(RuntimeError, match="recording"):
            tape.watch(x)
    assert z._tid not in tape._known


def test_case_24_a_tape_is_entered_while_it_records(x):
    tape, caught = GradientTape(), []

    def enter():
        with pytest.raises(ValueError, match="already recording"), tape:
            pass
        caught.append(True)

    with tape:
        enter()
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert caught == [True, True]


def test_case_25_a_tape_is_entered_again(x):
    tape = GradientTape()
    with tape:
        y = square_slope(tape, x)
    with tape:
        z = y * y
    near(tape.gradient(z, x), 108.0)


def test_case_26_a_used_tape_starts_afresh(x):
    tape = GradientTape()
    with tape:
        y = square_slope(tape, x)
    tape.gradient(y, x)
    with tape:
        tape.watch(x)
        y = x**3
    near(tape.gradient(y, x), 27.0)


def test_case_27_an_exception_ends_recording(x):
    with pytest.raises(ZeroDivisionError), GradientTape() as tape:  # noqa: PT012
        y = square_slope(tape, x)
        raise ZeroDivisionError
    z = y * y
    near(tape.gradient([y, z], x), 6.0)


def test_case_29_watching_late_and_twice(x):
    with GradientTape() as tape:
        y = x * x
        tape.watch(x)
        tape.watch(x)
        z = x * x
    assert tape._tid_of(y) not in tape._known
    for g in tape.gradient([z, z], [x, x]):
        near(g, 12.0)


def test_case_30_targets_that_are_sources():
    x, y = xp.asarray(2.0), xp.asarray(5.0)
    with GradientTape(persistent=True) as tape:
        pass
    near(tape.gradient(x, x), 1.0)
    near(gradient(lambda x: [x, x * x], 2.0), 5.0)
    near(gradient(lambda x: [x, x], 2.0), 2.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        targets = [x, y, y * y]
    dx, dy = tape.gradient(targets, [x, y])
    near(dx, 1.0)
    near(dy, 11.0)


def test_case_31_output_gradients():
    weights = xp.asarray([10.0, 100.0])
    near(gradient(lambda x: x * x, [1.0, 2.0], output_gradients=weights), [20.0, 400.0])
    weights = [xp.asarray(1.0), xp.asarray(2.0)]
    dx, _ = gradient(lambda x, y: [x * y, x], 3.0, 2.0, output_gradients=weights)
    near(dx, 4.0)


def test_case_32_stop_recording(x):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        x2 = 2 * x
        with tape.stop_recording():
            y = x2 * x2
        z = x2 * x2
    near(tape.gradient(z, x2), 12.0)
    assert tape.gradient(y, x2) is None
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            with outer.stop_recording():
                y = x * x
            g = inner.gradient(y, x)
    near(g, 6.0)
    near(outer.gradient(g, x), 2.0)


def test_case_32_at_one():
    x = xp.asarray(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        x2 = 2 * x
        with tape.stop_recording():
            x2 * x2
        z = x2 * x2
    near(tape.gradient(z, x2), 4.0)


def test_case_33_reset():
    v = xp.asarray(1.0)
    with GradientTape() as tape:
        loss = square_slope(tape, v)
        tape.reset()
        assert tape._records == []
        assert tape.watched_variables() == ()
        tape.watch(v)
        loss += v * v
    near(tape.gradient(loss, v), 2.0)


def test_case_34_an_inner_tape_that_does_not_watch(x):
    with GradientTape(persistent=True) as outer:
        outer.watch(x)
        with GradientTape() as inner:
            y = x * x
        assert inner.gradient(y, x) is None
        with GradientTape() as inner:
            z = square_slope(inner, x)
    g = inner.gradient(z, x)
    near(g, 6.0)
    assert outer.gradient(g, x) is None


def test_case_37_nested_sources():
    x, w = xp.asarray(3.0), xp.asarray(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = x * w
    g = tape.gradient(y, {"a": [x, (w,)], "b": x})
    assert list(g) == ["a", "b"]
    assert type(g["a"]) is list
    assert type(g["a"][1]) is tuple
    near(g["a"][0], 2.0)
    near(g["a"][1][0], 3.0)
    near(g["b"], 2.0)
    assert tape.gradient(y, []) == []


def test_case_38_parts_of_a_source():
    near(gradient(lambda x: x[0], [1.0, 2.0, 3.0]), [1.0, 0.0, 0.0])
    near(gradient(lambda x: xp.unstack(x)[1], [[1.0, 2.0], [3.0, 4.0]]), [[0, 0], [1, 1]])
    assert gradient(xp.sum, np.zeros((2, 0))).shape == (2, 0)


def test_case_39_connected_but_zero():
    near(gradient(lambda x: xp.sum(x) * 0, [2.0, 3.0]), [0.0, 0.0])
    near(gradient(xp.sign, [2.0, 3.0]), [0.0, 0.0])
    for cut in (xp.floor, xp.round, xp.zeros_like, xp.stop_gradient):
        assert gradient(cut, [2.5, 3.5]) is None
    for cut in (lambda x: x > 0, xp.argmax):
        with pytest.warns(TapeWarning, match="target"):
            assert gradient(cut, [2.5, 3.5]) is None


def test_case_40_casts():
    def cut(x):
        return x * xp.astype(xp.astype(2 * x, xp.int64), xp.float64)

    near(gradient(cut, 3.0), 6.0)
    g = gradient(lambda x: xp.astype(x, xp.float64) ** 2, np.float32(2.0))
    assert g.dtype == xp.float32
    near(g, 4.0)
    g = gradient(lambda x: xp.abs(x * (1 + 2j)) ** 2, 2.0)
    assert g.dtype == xp.float64
    near(g, 20.0)


def test_case_41_stop_gradient():
    near(gradient(lambda x: x * xp.stop_gradient(x * x), 3.0), 9.0)


def test_case_44_rows_taken_twice():
    def rows(x):
        return xp.take(x, xp.asarray([0, 2, 0]), axis=0)

    x = np.ones((3, 2))
    near(gradient(rows, x), [[2, 2], [0, 0], [1, 1]])
    near(gradient(lambda x: [rows(x), xp.sum(x)], x), [[3, 3], [1, 1], [2, 2]])


def test_case_45_other_threads():
    x = xp.asarray(3.0)
    with GradientTape(persistent=True) as tape, ThreadPoolExecutor(4) as pool:
        y = square_slope(tape, x)
        z = pool.submit(lambda: x * x).result()
    with pytest.warns(TapeWarning, match="in another thread"):
        assert tape.gradient(z, x) is None
    with ThreadPoolExecutor(4) as pool:
        near(pool.submit(lambda: tape.gradient(y, x)).result(), 6.0)
        found = list(pool.map(lambda _: float(tape.gradient(y, x)), range(80)))
    assert found == [6.0] * 80


def test_case_50_forward_mode(x):
    with ForwardAccumulator(x, xp.asarray(1.0)) as accumulator:
        y = x * x
    near(accumulator.jvp(y), 6.0)
    x, one = xp.asarray(1.1), xp.asarray(1.0)
    with ForwardAccumulator(x, one) as outer, ForwardAccumulator(x, one) as inner:
        y = x**3.5
        first = inner.jvp(y)
        assert inner.jvp(outer.jvp(y)) is None
    near(first, 4.4417057)
    near(outer.jvp(first), 10.094786)
    v, along = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 0.0])
    with ForwardAccumulator(v, along) as accumulator:
        with GradientTape() as tape:
            tape.watch(v)
            loss = xp.sum(v**3)
        g = tape.gradient(loss, v)
    near(g, [3.0, 12.0])
    near(accumulator.jvp(g), [6.0, 0.0])
    with pytest.raises(ValueError, match="twice"):
        ForwardAccumulator([v, v], [along, along])


# --- stop_recording -----------------------------------------------------------------------------
def test_stop_recording_stops_this_tape_only(x):
    with GradientTape() as first, GradientTape() as second:
        first.watch(x)
        second.watch(x)
        with first.stop_recording():
            y = x * x
    assert first.gradient(y, x) is None
    near(second.gradient(y, x), 6.0)


def test_an_exception_inside_stop_recording_lets_the_tape_go_on(x):
    with GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError), tape.stop_recording():
            raise ZeroDivisionError
        y = x * x
    near(tape.gradient(y, x), 6.0)


def test_a_suspended_generator_keeps_its_tape_stopped_until_it_is_closed(x):
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
        assert tape._tid_of(y) not in tape._known
    near(tape.gradient(after, x), 6.0)


def test_generators_that_stop_a_tape_may_end_in_any_order(x):
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


def test_a_generator_that_is_forgotten_lets_the_tape_go_on(x):
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
            assert inner in recorders()
            assert outer not in recorders()
        assert recorders() == (outer, inner)


def test_watching_inside_stop_recording_counts_afterwards(x):
    with GradientTape() as tape:
        with tape.stop_recording():
            tape.watch(x)
        y = x * x
    near(tape.gradient(y, x), 6.0)


def test_a_persistent_gradient_inside_stop_recording_does_not_warn(x):
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        with tape.stop_recording():
            g = tape.gradient(y, x)
        near(g, 6.0)
        assert tape._tid_of(g) not in tape._known
        z = y * x
    near(tape.gradient(z, x), 27.0)


def test_a_one_shot_gradient_inside_stop_recording_ends_the_tape(x):
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
def test_reset_drops_everything_and_continues_recording(x):
    with GradientTape() as tape:
        before = square_slope(tape, x)
        tape.reset()
        unwatched = x * x
        tape.watch(x)
        after = x * x
    near(tape.gradient([before, unwatched, after], x), 6.0)


def test_reset_outside_the_block_leaves_an_empty_tape(x):
    with GradientTape() as tape:
        y = square_slope(tape, x)
    tape.reset()
    assert tape.gradient(y, x) is None
    with tape:
        y = square_slope(tape, x)
    near(tape.gradient(y, x), 6.0)


def test_reset_frees_a_used_tape_and_inside_stop_recording_it_stays_stopped(x):
    with GradientTape() as tape:
        y = square_slope(tape, x)
    tape.gradient(y, x)
    tape.reset()
    assert tape.gradient(x * 1.0, x) is None
    with GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            tape.reset()
            tape.watch(x)
            y = x * x
        z = x * x
    near(tape.gradient([y, z], x), 6.0)


# --- worker threads -------------------------------------------------------------------------------
def test_a_tape_can_be_handed_to_worker_threads(x):
    def work(k):
        with tape.in_this_thread():
            return x * float(k)

    with GradientTape() as tape, ThreadPoolExecutor(4) as pool:
        tape.watch(x)
        total = sum(pool.map(work, range(1, 5)))
    near(tape.gradient(total, x), 10.0)


def test_many_workers_at_once_lose_no_record():
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


def test_a_worker_uses_what_the_owner_and_other_workers_computed(x):
    def work(y):
        with tape.in_this_thread():
            return y * x

    with GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        y = square_slope(tape, x)
        z = pool.submit(work, y).result()
        z = z * pool.submit(work, z).result()
    near(tape.gradient(z, x), 7 * 3.0**6)


def test_a_worker_may_watch_and_stop_recording_and_leaves_by_an_exception(x):
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


def test_stop_recording_in_one_thread_leaves_the_others_recording(x):
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


def test_a_worker_goes_on_recording_when_the_tapes_own_block_is_left(x):
    with GradientTape() as tape:
        tape.watch(x)
        future, go_on = held(tape, x)
    with pytest.raises(ValueError, match="already recording"):
        tape.__enter__()
    go_on.set()
    near(tape.gradient(future.result(), x), 6.0)
    assert tape.followed == set()


def test_a_one_shot_gradient_while_a_worker_records_is_refused(x):
    with GradientTape() as tape:
        y = square_slope(tape, x)
        future, go_on = held(tape, x)
        with pytest.raises(RuntimeError, match="1 other threads still record"):
            tape.gradient(y, x)
        go_on.set()
        z = future.result()
    near(tape.gradient([y, z], x), 12.0)


def test_a_persistent_gradient_does_not_wait_for_workers(x):
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        future, go_on = held(tape, x)
    near(tape.gradient(y, x), 6.0)
    go_on.set()
    near(tape.gradient(future.result(), x), 6.0)


def test_a_worker_may_take_the_gradient_when_it_is_the_last(x):
    def work():
        with tape.in_this_thread():
            return tape.gradient(x * x, x)

    with GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        tape.watch(x)
        near(pool.submit(work).result(), 6.0)
        assert tape.followed == set()
        assert pool.submit(recorders).result() == ()


def test_in_this_thread_where_the_tape_records_already_is_an_error():
    with GradientTape() as tape:
        with pytest.raises(ValueError, match="already recording in this thread"):
            tape.in_this_thread().__enter__()
        assert recorders() == (tape,)


def test_in_this_thread_of_a_tape_that_does_not_record_is_an_error():
    tape = GradientTape()
    with pytest.raises(RuntimeError, match="needs a recording tape"):
        tape.in_this_thread().__enter__()


# --- nan ------------------------------------------------------------------------------------------
def masked_root(x):
    return xp.where(x > 0, xp.sqrt(x), 0.0)


def test_a_nan_calls_for_the_guarded_pass():
    near(gradient(masked_root, [0.0, 4.0], nan="guard"), [0.0, 0.25])


def test_nan_keep_keeps_the_nan_and_runs_one_pass(monkeypatch):
    from arraytape import _tape

    monkeypatch.setattr(_tape, "has_nan", None)  # no look at values
    g = np.asarray(gradient(masked_root, [0.0, 4.0], nan="keep"))
    assert np.isnan(g[0])
    assert g[1] == 0.25


def test_nan_keep_holds_to_second_order():
    x = xp.asarray([0.0, 4.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.where(x > 0, x**1.5, 0.0)
        g = inner.gradient(y, x, nan="keep")
    assert np.isnan(np.asarray(outer.gradient(g, x, nan="keep"))[0])


# --- what was given is no Array -----------------------------------------------------------------
def test_a_float_target_names_where_its_value_left(x):
    with GradientTape() as tape:
        loss = float(square_slope(tape, x))
        line = inspect.currentframe().f_lineno - 1
    with pytest.raises(TypeError, match=rf"float 9\.0.*test_tape_protocol\.py:{line} \(float"):
        tape.gradient(loss, x)


def test_the_last_exit_is_named(x):
    with GradientTape() as tape:
        y = square_slope(tape, x)
        float(y)
        loss = np.asarray(y).sum()
    with pytest.raises(TypeError, match=r"np\.asarray\(\)"):
        tape.gradient(loss, x)


def test_a_float_from_sklearns_loss_names_sklearns_line():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.metrics import mean_squared_error

    x, y = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1.0, 1.0, 1.0])
    with sklearn.config_context(array_api_dispatch=True), GradientTape() as tape:
        tape.watch(x)
        loss = mean_squared_error(y, x)
    assert isinstance(loss, float)
    with pytest.raises(TypeError, match=r"sklearn.*metrics.*_regression\.py:\d+ \(float"):
        tape.gradient(loss, x)


def test_without_an_exit_a_float_target_is_told_what_to_do(x):
    with GradientTape() as tape:
        tape.watch(x)
    with pytest.raises(TypeError, match=r"float 9\.0.*make an Array of it with asarray before"):
        tape.gradient(9.0, x)


# --- bad input --------------------------------------------------------------------------------
def tape_with(x, persistent=False):
    with GradientTape(persistent) as tape:
        tape.watch(x)
        y = x * x
    return tape, y


ONE, TWO = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
BAD = {
    "float-source": (lambda t, y, x: t.gradient(y, 3.0), TypeError, ["source", "float 3.0"]),
    "numpy-source": (lambda t, y, x: t.gradient(y, np.ones(2)), TypeError, ["source", "float64(2,)"]),
    "numpy-scalar-source": (lambda t, y, x: t.gradient(y, np.float64(1)), TypeError, ["source"]),
    "none-source": (lambda t, y, x: t.gradient(y, None), TypeError, ["source may not be None"]),
    "nested-none-source": (lambda t, y, x: t.gradient(y, [x, {"a": None}]), TypeError, ["None"]),
    "str-source": (lambda t, y, x: t.gradient(y, "x"), TypeError, ["source", "str 'x'"]),
    "int-target": (lambda t, y, x: t.gradient(4, x), TypeError, ["target", "int 4", "asarray"]),
    "numpy-target": (lambda t, y, x: t.gradient(np.ones(2), x), TypeError, ["target", "ndarray"]),
    "none-target": (lambda t, y, x: t.gradient(None, x), TypeError, ["target may not be None"]),
    "nested-none-target": (lambda t, y, x: t.gradient([y, None], x), TypeError, ["None"]),
    "function-target": (lambda t, y, x: t.gradient(len, x), TypeError, ["target"]),
    "too-many-output-gradients": (
        lambda t, y, x: t.gradient(y, x, [ONE, ONE]), ValueError, ["output_gradients", "1"]),
    "too-few-output-gradients": (
        lambda t, y, x: t.gradient([y, y], x, [ONE]), ValueError, ["output_gradients", "2", "1"]),
    "one-output-gradient-for-two": (
        lambda t, y, x: t.gradient([y, y], x, ONE), ValueError, ["output_gradients"]),
    "none-among-output-gradients": (
        lambda t, y, x: t.gradient([y, y], x, [ONE, None]), TypeError, ["output_gradients[1]"]),
    "output-gradients-shape": (
        lambda t, y, x: t.gradient(y, x, xp.ones((3,))), ValueError, ["(3,)", "(2,)"]),
    "output-gradients-complex": (
        lambda t, y, x: t.gradient(y, x, ONE * 1j), ValueError, ["complex128", "float64"]),
    "output-gradients-keys": (
        lambda t, y, x: t.gradient({"a": y}, x, {"b": ONE}), ValueError, ["'a'", "'b'"]),
    "unconnected": (
        lambda t, y, x: t.gradient(y, x, unconnected_gradients="ones"), ValueError, ["'ones'"]),
    "nan": (lambda t, y, x: t.gradient(y, x, nan="zero"), ValueError, ["'guard' or 'keep'", "zero"]),
    "watch-left-tape": (lambda t, y, x: t.watch(x), RuntimeError, ["watch()", "recording tape"]),
    "watch-never-entered": (
        lambda t, y, x: GradientTape().watch(x), RuntimeError, ["recording tape"]),
    "gradient-never-entered": (
        lambda t, y, x: GradientTape().gradient(y, x), RuntimeError, ["never recorded"]),
    "stop-left-tape": (
        lambda t, y, x: t.stop_recording().__enter__(), ValueError,
        ["Trying to stop recording a tape which is not recording"]),
    "stop-never-entered": (
        lambda t, y, x: GradientTape().stop_recording().__enter__(), ValueError, ["not recording"]),
    "hand-on-left-tape": (
        lambda t, y, x: t.in_this_thread().__enter__(), RuntimeError, ["in_this_thread()"]),
}  # fmt: skip


@pytest.mark.parametrize("row", BAD)
def test_a_bad_argument_is_said_and_does_not_use_the_tape_up(row):
    call, error, says = BAD[row]
    x = xp.asarray([1.0, 2.0])
    tape, y = tape_with(x)
    with pytest.raises(error) as caught:
        call(tape, y, x)
    assert type(caught.value) is error
    for part in says:
        assert part in str(caught.value)
    near(tape.gradient(y, x), [2.0, 4.0])


def test_every_way_to_leave_keeps_the_stack_in_order():
    tapes = [GradientTape() for _ in range(3)]
    for order in itertools.permutations(range(3)):
        for tape in tapes:
            tape.__enter__()
        for i in order:
            tapes[i].__exit__(None, None, None)
        assert recorders() == ()


# --- a part that leaves ---------------------------------------------------------------------------
def library(tmp_path, body):
    """A function from a file that lies where packages are installed."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    file = folder / "somebodys.py"
    file.write_text(f"import numpy as np\n\ndef f(x, xp):\n{body}")
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope["f"]


PARTLY = (
    "    weight = np.asarray(x) ** 2\n    return xp.sum(x * xp.asarray(weight, device=x.device))\n"
)


def test_a_part_that_left_in_installed_code_is_said_with_its_line(tmp_path):
    f, x = library(tmp_path, PARTLY), xp.asarray([1.0, 2.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x, xp)
    with pytest.warns(TapeWarning, match=r"a part .*somebodys\.py:4 \(np\.asarray\(\)\)"):
        g = tape.gradient(y, x)
    np.testing.assert_allclose(np.asarray(g), [1.0, 4.0])


def test_a_stopped_value_may_leave_in_installed_code(tmp_path):
    f = library(tmp_path, PARTLY.replace("np.asarray(x)", "np.asarray(xp.stop_gradient(x))"))
    x = xp.asarray([1.0, 2.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x, xp)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), [1.0, 4.0])


def test_what_leaves_after_the_target_is_done_is_no_part_of_it(tmp_path):
    f = library(
        tmp_path, "    y = xp.sum(x * x)\n    print(float(y), np.asarray(x))\n    return y\n"
    )
    x = xp.asarray([1.0, 2.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x, xp)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), [2.0, 4.0])
