"""Bad inputs, for a short time: 1,500 of some 300,000 cases, and what they found once."""

import operator

import numpy as np
import pytest

import arraytape as xp

from .bad_inputs import ATTACK, CASES
from .bad_values import VALUES
from .good_calls import CALLS, environment


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_bad_input_is_refused_with_a_documented_error_or_gives_sound_arrays(seed):
    assert ATTACK.run(seed) == CASES


def test_the_table_has_every_public_function():
    called = {name.partition(" ")[0] for name in CALLS}
    for home, names in (("xp", xp.__all__), ("xp.linalg", dir(xp.linalg)), ("xp.fft", dir(xp.fft))):
        owner = operator.attrgetter(home.partition(".")[2])(xp) if "." in home else xp
        for name in names:
            function = getattr(owner, name)
            if callable(function) and not isinstance(function, type) and name not in ASIDE:
                assert f"{home}.{name}" in called, name


ASIDE = {"__array_namespace_info__", "register_nesting"}  # no arguments, one that is a class


# --- what an Array may hold --------------------------------------------------------------------------
X = xp.asarray([1.0, 2.0])
HELD = {
    "a Python integer": lambda: xp.abs(10**30),
    "a foreign tensor": lambda: xp.linspace(VALUES["Tensor()"](), 1.0, 3),
    "objects": lambda: xp.zeros(2, dtype=object),
    "objects as an operand": lambda: xp.add(X, np.asarray([1, None])),
    "objects by dtype": lambda: xp.sum(X, dtype=object),
    "text": lambda: xp.asarray(["a"]),
    "text as an operand": lambda: xp.where(X > 0, X, np.str_("a")),
    "dates": lambda: xp.abs(np.datetime64("2000")),
    "time": lambda: xp.add(X, np.zeros(2, "m8[s]")),
    "extended precision": lambda: xp.asarray(np.ones(2, np.longdouble)),
    "extended precision as an operand": lambda: X * np.longdouble(2),
    "extended precision by dtype": lambda: xp.astype(X, np.longdouble),
    "extended precision by NumPy's function": lambda: np.nanmean(X, dtype=np.longdouble),
    "extended precision of a function of the user's": lambda: xp.host_function(
        lambda x: x.astype(np.longdouble), lambda g, y, x: g
    )(X),
    "records": lambda: xp.define_op(
        "gives_records", lambda x: np.zeros(2, "f8,i4"), "nondifferentiable"
    )(X),
}


@pytest.mark.parametrize("make", HELD.values(), ids=HELD)
def test_no_array_holds(make):
    with pytest.raises(TypeError, match=r"\[at .*test_bad_inputs\.py:\d+"):
        make()


def test_data_in_another_byte_order_comes_in_that_of_the_machine():
    swapped = np.asarray([1.0, 2.0], np.dtype(float).newbyteorder("S"))
    for y in (xp.asarray(swapped), X * swapped, np.add(X, swapped), xp.exp(swapped)):
        assert y.dtype.isnative
        assert y.dtype is not swapped.dtype
    assert np.asarray(X * swapped).tolist() == [1.0, 4.0]
    with pytest.raises(ValueError, match="byte order"):
        xp.asarray(swapped, copy=False)


# --- what came from inside ---------------------------------------------------------------------------
E = environment()
INSIDE = {
    "axes that are text": (lambda: xp.fft.fftshift(E.x, axes="a"), (TypeError, ValueError)),
    "axes out of range": (lambda: xp.fft.fftshift(E.x, axes=7), np.exceptions.AxisError),
    "a pad width of None": (lambda: xp.pad(E.x, None), (TypeError, ValueError)),
    "a list in itself": (lambda: xp.asarray(VALUES["cyclic()"]()), ValueError),
    "a list in itself beside an Array": (lambda: E.x + VALUES["cyclic()"](), (TypeError, ValueError)),
    "a list that is nested too deeply": (lambda: np.take(E.x, VALUES["nested()"]()), ValueError),
    "a tensor as an axis": (lambda: xp.expand_dims(E.x, axis=VALUES["Tensor()"]()), TypeError),
    "an axis of None": (lambda: xp.expand_dims(E.x, axis=None), TypeError),
    "np.dot of None": (lambda: np.dot(E.x, None), TypeError),
    "np.kron of None": (lambda: np.kron(E.x, None), TypeError),
    "np.gradient by None": (lambda: np.gradient(E.x, None), TypeError),
    "a number that no float can be": (lambda: E.x + 10**400, OverflowError),
    "a set as a name": (lambda: xp.register_gradient({1, 2})(len), LookupError),
    "a module as a dtype": (lambda: E.x.mean(0, np), ValueError),
    "an array as an order": (lambda: E.x.copy(E.x), TypeError),
    "an array as a device": (lambda: xp.zeros(2, device=np.ones(3)), ValueError),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error"), INSIDE.values(), ids=INSIDE)
def test_an_error_from_inside_says_where_and_on_what(call, error):
    with pytest.raises(error, match=r"\[at .*test_bad_inputs\.py:\d+") as caught:
        call()
    assert not isinstance(caught.value, KeyError | RecursionError | UnboundLocalError)


def test_what_a_hostile_argument_raises_comes_out_as_it_is():
    for name in ("Converted()", "Long()"):
        with pytest.raises(Exception, match=r"asked|Array|dimension") as caught:
            xp.asarray(VALUES[name]())
        assert not isinstance(caught.value, RecursionError)


def test_an_error_of_the_users_own_function_comes_out_as_it_is():
    error = KeyError("mine")

    def function(*_):
        raise error

    calls = (
        lambda: xp.grad(function)(X), lambda: np.apply_along_axis(function, 0, E.x),
        lambda: xp.recompute_grad(function)(X), lambda: xp.define_op("mine", function, samples=())(X),
    )  # fmt: skip
    for call in calls[:3]:
        with pytest.raises(KeyError) as caught:
            call()
        assert caught.value is error


def test_np_split_takes_arrays_for_places_and_numbers():
    parts = np.split(E.x, xp.asarray([1, 2]), axis=1)
    assert [part.shape for part in parts] == [(2, 1), (2, 1), (2, 1)]
    assert [part.shape for part in np.split(E.x, xp.asarray(3), axis=1)] == [(2, 1)] * 3
    with pytest.raises(ValueError, match="not equal"):
        np.split(E.x, xp.asarray(2), axis=1)
    with pytest.raises(TypeError, match=r"parts.*\[at"):
        np.split(E.x, xp.asarray(1.5), axis=1)
