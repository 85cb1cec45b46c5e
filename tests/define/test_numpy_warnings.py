"""NumPy's warnings and floating-point errors: as NumPy has them, at the user's line."""

import inspect
import operator
import traceback
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape


def line():
    """The caller's line number."""
    return inspect.currentframe().f_back.f_lineno


@pytest.fixture(params=[False, True], ids=["alone", "recorded"])
def e(request):
    """Arrays, followed by a tape or not."""
    e = SimpleNamespace(
        zero=xp.zeros((3,)), big=xp.full((3,), 1e308), nan=xp.full((3,), xp.nan), number=0.0
    )
    tape = GradientTape()
    if request.param:
        tape.__enter__()
        tape.watch([e.zero, e.big, e.nan])
    yield e
    if request.param:
        tape.__exit__(None, None, None)


CALLS = {
    "function": (lambda e: xp.log(e.zero), "divide by zero encountered in log"),
    "function of two": (lambda e: xp.divide(e.zero, e.zero), "invalid value encountered in divide"),
    "operator": (lambda e: 1.0 / e.zero, "divide by zero encountered in divide"),
    "power": (lambda e: e.big**2, "overflow encountered in square"),
    "floor division": (lambda e: 1.0 // e.zero, "divide by zero encountered in floor_divide"),
    "reduction": (lambda e: xp.sum(e.big), "overflow encountered in reduce"),
    "expm1": (lambda e: xp.expm1(e.big), "overflow encountered in expm1"),
    "product": (lambda e: e.big @ e.big, "overflow encountered in matmul"),
    "cast": (lambda e: xp.astype(e.nan, xp.int64), "invalid value encountered in cast"),
    "of a Python number": (lambda e: xp.log(e.number), "divide by zero encountered in log"),
    "0-d": (lambda e: xp.log(e.zero[0]), "divide by zero encountered in log"),
    "NumPy's function": (lambda e: np.log(e.zero), "divide by zero encountered in log"),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_a_warning_of_numpy_carries_the_users_line(call, message, e):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        call(e)
    assert [str(w.message) for w in found] == [message]
    assert found[0].category is RuntimeWarning
    assert (found[0].filename, found[0].lineno) == (__file__, call.__code__.co_firstlineno)


def test_two_lines_give_two_warnings_and_one_line_gives_one(e):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            xp.log(e.zero)
            1.0 / e.zero
        xp.log(e.zero)
        last = line()
    assert [w.lineno - last for w in found] == [-3, -2, -1]
    assert {w.filename for w in found} == {__file__}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_a_filter_by_module_means_the_users_module(call, message, e):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."))
        call(e)


def test_a_warning_leaves_the_result_and_its_gradient_as_they_are(near):
    x = xp.asarray([0.0, 2.0])
    with GradientTape() as tape, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tape.watch(x)
        y = xp.log(x)
    near(y, [-np.inf, np.log(2.0)])
    with np.errstate(divide="ignore"):
        near(tape.gradient(y, x), [np.inf, 0.5])


def test_an_op_within_an_op_of_ours_warns_at_the_users_line():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        xp.diff(xp.asarray([xp.inf, xp.inf]))
        assert [(w.filename, w.lineno) for w in found] == [(__file__, line() - 1)]


def test_a_followed_in_place_operator_warns_at_the_users_line():
    x = xp.ones((2,))
    with GradientTape() as tape, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        tape.watch(x)
        x /= 0.0
        x *= 0.0
        last = line()
    assert [w.lineno - last for w in found] == [-2, -1]
    assert {w.filename for w in found} == {__file__}


# --- the user's filters and error state ---------------------------------------------------------------
@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_ignored_errors_are_silent(call, message, e):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        call(e)


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_raised_errors_are_floating_point_errors(call, message, e):
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=message) as caught:
        call(e)
    assert f"[at {__file__}:{call.__code__.co_firstlineno}]" in str(caught.value)


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_warnings_as_errors_are_runtime_warnings(call, message, e):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match=message) as caught:
            call(e)
    assert f"[at {__file__}:{call.__code__.co_firstlineno}]" in str(caught.value)
    assert "registry" not in "".join(traceback.format_exception(caught.value))


def test_a_call_for_errors_is_called(e):
    found = []
    with np.errstate(all="call", call=lambda kind, flag: found.append(kind)):
        xp.log(e.zero)
        e.zero / e.zero
    assert found == ["divide by zero", "invalid value"]


def test_printed_errors_are_printed(e, capfd):
    with np.errstate(all="print"):
        xp.log(e.zero)
    assert "divide by zero encountered in log" in "".join(capfd.readouterr())


# --- what must not run twice --------------------------------------------------------------------------
def test_a_function_of_the_users_own_runs_once():
    runs = []

    def forward(x):
        runs.append(1)
        return np.log(x)

    op = xp.define_op("logarithm_once", forward, "primitive", lambda g, x: g / x)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        op(xp.zeros((2,)))
    assert runs == [1]
    assert [w.filename for w in found] == [__file__]


def test_a_failing_op_says_what_failed():
    with pytest.raises(TypeError, match="ufunc 'bitwise_and' not supported"):
        xp.bitwise_and(xp.ones(3), xp.ones(3))


def in_place(operator, x, y):
    """A call that changes an Array or a NumPy array of these numbers in place, on one line."""
    return lambda asarray: operator(asarray(x).copy(), asarray(y))


IN_PLACE = {
    "divide": in_place(operator.itruediv, [1.0, 0.0, 2.0], [0.0, 0.0, 1.0]),
    "divide by zero alone": in_place(operator.itruediv, [1.0, 2.0], [0.0, 1.0]),
    "floor_divide": in_place(operator.ifloordiv, [1.0, 2.0], [0.0, 1.0]),
    "floor_divide of integers": in_place(operator.ifloordiv, [1, 2], [0, 1]),
    "remainder": in_place(operator.imod, [1.0, 2.0], [0.0, 1.0]),
    "multiply": in_place(operator.imul, [1e300, 1.0], [1e300, 1.0]),
    "add": in_place(operator.iadd, [1.7e308, 1.0], [1.7e308, 1.0]),
    "subtract": in_place(operator.isub, [np.inf, 1.0], [np.inf, 1.0]),
    "power": in_place(operator.ipow, [1e300, 1.0], [3.0, 1.0]),
    "cast": lambda asarray: operator.setitem(asarray([1, 2]), slice(1), asarray([np.nan])),
}


@pytest.mark.parametrize("call", IN_PLACE.values(), ids=IN_PLACE)
def test_an_operator_in_place_warns_as_numpys_at_the_users_line(call):
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        call(np.asarray)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(xp.asarray)
    assert [str(w.message) for w in found] == [str(w.message) for w in expected]
    assert [(w.filename, w.lineno) for w in found] == [(w.filename, w.lineno) for w in expected]


@pytest.mark.parametrize("action", ["always", "error"])
def test_a_write_that_warns_is_recorded(action):
    x = xp.asarray([1.0, 1.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * 1e308
        with warnings.catch_warnings(record=True):
            warnings.simplefilter(action)
            try:
                y += y * 0.9
            except RuntimeWarning:
                assert action == "error"
    np.testing.assert_array_equal(np.asarray(y), [np.inf, np.inf])
    gradient = tape.gradient(y, x, output_gradients=xp.full((2,), 1e-308))
    np.testing.assert_allclose(np.asarray(gradient), [1.9, 1.9])
