"""The tape's protocol, case by case: the numbers are those of part B of the specification."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning, Variable
from helpers.repository import TESTS
from helpers.tapes import square_slope

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


def test_case_21_one_set_of_gradients(x):
    with GradientTape() as tape:
        y = square_slope(tape, x)
    tape.gradient(y, x)
    for again in (tape.gradient, tape.jacobian):
        with pytest.raises(RuntimeError, match="non-persistent GradientTape can only be used"):
            again(y, x)
    for derivative in (GradientTape().gradient, GradientTape().jacobian):
        with pytest.raises(RuntimeError, match="never recorded"):
            derivative(y, x)


def test_case_22_a_gradient_inside_its_own_context(x, near):
    with GradientTape() as tape:
        y = square_slope(tape, x)
        near(tape.gradient(y, x), 6.0)
        z = x * x
        with pytest.raises(RuntimeError, match="recording"):
            tape.watch(x)
    assert z._value_id not in tape._recording.known


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


def test_case_25_a_tape_is_entered_again(x, near):
    tape = GradientTape()
    with tape:
        y = square_slope(tape, x)
    with tape:
        z = y * y
    near(tape.gradient(z, x), 108.0)


def test_case_26_a_used_tape_starts_afresh(x, near):
    tape = GradientTape()
    with tape:
        y = square_slope(tape, x)
    tape.gradient(y, x)
    with tape:
        tape.watch(x)
        y = x**3
    near(tape.gradient(y, x), 27.0)


def test_case_27_an_exception_ends_recording(x, near):
    with pytest.raises(ZeroDivisionError), GradientTape() as tape:  # noqa: PT012
        y = square_slope(tape, x)
        raise ZeroDivisionError
    z = y * y
    near(tape.gradient([y, z], x), 6.0)


def test_case_29_watching_late_and_twice(x, near):
    with GradientTape() as tape:
        y = x * x
        tape.watch(x)
        tape.watch(x)
        z = x * x
    assert tape._recording.value_id_of(y) not in tape._recording.known
    for g in tape.gradient([z, z], [x, x]):
        near(g, 12.0)


def test_case_30_targets_that_are_sources(near, gradient):
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


def test_case_31_output_gradients(near, gradient):
    weights = xp.asarray([10.0, 100.0])
    near(gradient(lambda x: x * x, [1.0, 2.0], output_gradients=weights), [20.0, 400.0])
    weights = [xp.asarray(1.0), xp.asarray(2.0)]
    dx, _ = gradient(lambda x, y: [x * y, x], 3.0, 2.0, output_gradients=weights)
    near(dx, 4.0)


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_case_32_stop_recording(x, near):
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


def test_case_32_at_one(near):
    x = xp.asarray(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        x2 = 2 * x
        with tape.stop_recording():
            x2 * x2
        z = x2 * x2
    near(tape.gradient(z, x2), 4.0)


def test_case_33_reset(near):
    v = Variable(1.0)
    with GradientTape() as tape:
        loss = v * v
        assert tape.watched_variables() == (v,)
        tape.reset()
        assert tape._recording.records == []
        assert tape.watched_variables() == ()
        loss += v * v
    near(tape.gradient(loss, v), 2.0)


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_case_34_an_inner_tape_that_does_not_watch(x, near):
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


def test_case_37_nested_sources(near):
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


def test_case_38_parts_of_a_source(near, gradient):
    near(gradient(lambda x: x[0], [1.0, 2.0, 3.0]), [1.0, 0.0, 0.0])
    near(gradient(lambda x: xp.unstack(x)[1], [[1.0, 2.0], [3.0, 4.0]]), [[0, 0], [1, 1]])
    assert gradient(xp.sum, np.zeros((2, 0))).shape == (2, 0)


def test_case_39_connected_but_zero(near, gradient):
    near(gradient(lambda x: xp.sum(x) * 0, [2.0, 3.0]), [0.0, 0.0])
    near(gradient(xp.sign, [2.0, 3.0]), [0.0, 0.0])
    for cut in (xp.floor, xp.round, xp.zeros_like, xp.stop_gradient):
        assert gradient(cut, [2.5, 3.5]) is None
    for cut in (lambda x: x > 0, xp.argmax):
        with pytest.warns(TapeWarning, match="target"):
            assert gradient(cut, [2.5, 3.5]) is None


def test_case_40_casts(near, gradient):
    def cut(x):
        return x * xp.astype(xp.astype(2 * x, xp.int64), xp.float64)

    near(gradient(cut, 3.0), 6.0)
    g = gradient(lambda x: xp.astype(x, xp.float64) ** 2, np.float32(2.0))
    assert g.dtype == xp.float32
    near(g, 4.0)
    g = gradient(lambda x: xp.abs(x * (1 + 2j)) ** 2, 2.0)
    assert g.dtype == xp.float64
    near(g, 20.0)


def test_case_41_stop_gradient(near, gradient):
    near(gradient(lambda x: x * xp.stop_gradient(x * x), 3.0), 9.0)


def test_case_44_rows_taken_twice(near, gradient):
    def rows(x):
        return xp.take(x, xp.asarray([0, 2, 0]), axis=0)

    x = np.ones((3, 2))
    near(gradient(rows, x), [[2, 2], [0, 0], [1, 1]])
    near(gradient(lambda x: [rows(x), xp.sum(x)], x), [[3, 3], [1, 1], [2, 2]])


def test_case_45_other_threads(near):
    x, two = xp.asarray(3.0), xp.asarray(2.0)
    with GradientTape(persistent=True) as tape, ThreadPoolExecutor(4) as pool:
        y, y2 = square_slope(tape, x), square_slope(tape, two)
        z = pool.submit(lambda: x * x).result()
    with pytest.warns(TapeWarning, match="in another thread"):
        assert tape.gradient(z, x) is None
    with ThreadPoolExecutor(4) as pool:
        near(pool.submit(lambda: tape.gradient(y, x)).result(), 6.0)
        found = list(pool.map(lambda _: float(tape.gradient(y2, two)), range(4 * 20)))
    assert found == [4.0] * 80


def test_case_50_forward_mode(x, near):
    with ForwardAccumulator(x, xp.asarray(1.0)) as accumulator:
        y = x * x
    near(accumulator.jvp(y), 6.0)
    x, one = xp.asarray(1.1), xp.asarray(1.0)
    with ForwardAccumulator(x, one) as outer, ForwardAccumulator(x, one) as inner:
        y = x**3.5
        first = inner.jvp(y)
        assert inner.jvp(outer.jvp(y)) is None
    near(first, 4.4417057, rtol=1e-7)
    near(outer.jvp(first), 10.094786, rtol=1e-7)
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


# --- all of them ----------------------------------------------------------------------------------
A = {*range(1, 21)}
B = {
    21,
    22,
    24,
    25,
    26,
    27,
    *range(29, 35),
    *range(37, 42),
    *range(43, 48),
    *range(49, 53),
    54,
    55,
    56,
}


def test_every_case_of_parts_a_and_b_has_a_test_of_its_number():
    files = TESTS.rglob("test_*.py")
    found = re.findall(r"^def test_case_(\d+)_", "".join(f.read_text() for f in files), re.M)
    assert {*map(int, found)} >= A | B
