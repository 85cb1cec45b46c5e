"""NumPy's programs that set the shape of their arrays, as ``numpy.gradient`` does before NumPy 2.4."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import implementations
from arraytape._numpy_api.reshaped_names import code_that_reshapes


def two_columns(x, fail=False):
    y = x * x
    z = np.exp(x)
    y.shape = z.shape = (len(x), 1)
    if fail:
        raise ValueError("a line of its own")
    return np.concatenate([y, z], axis=1)


def set_by_caller(x):
    x.shape = (1, len(x))
    return x


@pytest.fixture
def program(monkeypatch):
    monkeypatch.setattr(implementations, "GLOBALS", {})
    return implementations.program_of


def test_a_shape_that_is_set_is_an_array_of_this_shape(program):
    x = xp.asarray([0.5, 1.0, 2.0])
    run = program(two_columns)
    with warnings.catch_warnings():  # NumPy 2.5 deprecates it
        warnings.simplefilter("ignore", DeprecationWarning)
        expected = two_columns(np.asarray(x))
    np.testing.assert_array_equal(np.asarray(run(x)), expected)
    testing.check_gradients(run, [x])


def test_errors_name_the_line_of_the_source(program):
    with pytest.raises(ValueError, match="own") as caught:
        program(two_columns)(xp.asarray([1.0]), fail=True)
    frames = [(one.path, one.lineno + 1) for one in caught.traceback]
    line = two_columns.__code__.co_firstlineno + 5
    assert any(str(path) == __file__ and number == line for path, number in frames)


def test_other_code_stays_as_it_is(program):
    code = np.median._implementation.__code__
    assert code_that_reshapes(code) is code
    with pytest.raises(AttributeError, match=r"use x = xp\.reshape"):
        program(set_by_caller)(xp.asarray([1.0, 2.0]))


def test_code_without_a_source_stays_as_it_is():
    scope = {}
    exec("def f(x):\n    x.shape = (1, 1)\n    return x", scope)
    code = scope["f"].__code__
    assert code_that_reshapes(code) is code


@pytest.mark.parametrize("coordinates", [True, False], ids=["Array", "ndarray"])
@pytest.mark.parametrize("gradient", [np.gradient, xp.gradient], ids=["np", "xp"])
def test_gradient_with_coordinates(gradient, coordinates):
    data, at = np.asarray([[1.0, 2.0, 4.0, 7.0], [0.5, 0.1, 3.0, 2.0]]), [0.0, 1.0, 2.5, 3.0]
    x = xp.asarray(data)
    t = xp.asarray(at) if coordinates else np.asarray(at)
    found = gradient(x, t, axis=1)
    np.testing.assert_array_equal(np.asarray(found), np.gradient(data, at, axis=1))
    testing.check_gradients(lambda x: gradient(x, t, axis=1), [x])
    if coordinates:
        testing.check_gradients(lambda t: gradient(x, t, axis=1), [t])
