"""Functions on NumPy arrays, with and without a gradient."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning, testing
from arraytape._array.array import Array

pytestmark = pytest.mark.any_storage

POINT = np.asarray([0.3, -0.4, 1.1])


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def test_numpy_function_cuts_the_gradient_and_says_where(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.numpy_function(np.cumsum, x)
        line = inspect.currentframe().f_lineno - 1
    near(y, [1.0, 3.0, 6.0])
    with pytest.warns(
        TapeWarning, match=rf"test_host_functions\.py:{line} \(numpy_function\(cumsum\)\)"
    ) as found:
        assert tape.gradient(y, x) is None
    assert found[0].filename == __file__


def test_numpy_function_takes_and_gives_nestings(x, near):
    def f(pair, factor):
        assert all(type(part) is np.ndarray for part in pair)
        pair[0][...] = 0.0  # a copy
        return {"sum": pair[1].sum(), "n": 2, "parts": [pair[1] * factor]}

    found = xp.numpy_function(f, [(x, x * 2.0), 10.0])
    assert list(found) == ["sum", "n", "parts"]
    assert all(isinstance(leaf, Array) for leaf in (found["sum"], found["n"], found["parts"][0]))
    near(found["parts"][0], [20.0, 40.0, 60.0])
    near(x, [1.0, 2.0, 3.0])


def test_host_function_has_the_gradient_that_is_given(near, gradient):
    def vjp(g, y, x):
        assert type(g) is type(y) is type(x) is np.ndarray
        return g / (3 * y**2)

    f = xp.host_function(np.cbrt, vjp)
    near(gradient(f, [8.0, 27.0]), [1 / 12, 1 / 27])
    testing.check_vjp(f, [POINT + 1])
    assert f.__name__ == "cbrt"


def test_host_function_of_several_arguments_and_results():
    def f(a, n, b, *, scale):
        return scale * a * b, [a + b]

    def vjp(g, y, a, n, b):
        assert n == 7
        return g[0] * 2.0 * b + g[1][0], g[0] * 2.0 * a + g[1][0]

    op = xp.host_function(f, vjp)
    testing.check_vjp(
        lambda a, b: (lambda y: (y[0], y[1][0]))(op(a, 7, b, scale=2.0)), [POINT, POINT + 1]
    )


def test_a_vjp_may_give_none(near, gradient):
    f = xp.host_function(lambda a, b: a * b, lambda g, y, a, b: (g * b, None))
    da, db = gradient(f, 2.0, 3.0)
    near(da, 3.0)
    assert db is None


def test_the_second_derivative_of_a_host_function_is_an_error_that_names_it(near, derivative):
    f = xp.host_function(np.cbrt, lambda g, y, x: g / (3 * y**2))
    x = xp.asarray(8.0)
    with GradientTape(persistent=True) as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = f(x) + x**3
        g = inner.gradient(y, x)
    with pytest.raises(LookupError, match=r"vjp of host_function\(cbrt\)"):
        outer.gradient(g, x)
    near(outer.gradient(y, x), 1 / 12 + 192.0)
    with ForwardAccumulator(x, xp.asarray(1.0)) as accumulator:
        g = derivative(f)(x)
    with pytest.raises(LookupError, match=r"vjp of host_function\(cbrt\)"):
        accumulator.jvp(g)


def test_a_vjp_that_is_a_host_function_gives_the_second_derivative():
    def second(gg, r, g, y, x):
        return gg / (3 * y**2), -2 * gg * g / (3 * y**3), None

    slope = xp.host_function(lambda g, y, x: g / (3 * y**2), second)
    f = xp.host_function(np.cbrt, slope)
    testing.check_gradients(lambda x: xp.sum(f(x) * x), [POINT + 1], modes=("rev",))
    testing.check_jvp(f, [POINT + 1])


def test_forward_mode_through_a_host_function_needs_the_vjps_own(near):
    f = xp.host_function(np.cbrt, lambda g, y, x: g / (3 * y**2))
    x = xp.asarray(8.0)
    with ForwardAccumulator(x, xp.asarray(1.0)) as accumulator:
        y, z = f(x), x * x
    near(accumulator.jvp(z), 16.0)
    with pytest.raises(LookupError, match=r"vjp of host_function\(cbrt\)"):
        accumulator.jvp(y)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("nested", [False, True], ids=["vjp", "vjp of its own"])
def test_gradients_of_a_dict_of_arguments_go_by_key(turned, nested, near):
    def vjp(g, y, p):
        found = {"a": g * p["b"], "b": g * p["a"]}
        return dict(reversed(found.items())) if turned else found

    second = lambda gg, r, g, y, p: (g * 0.0, None, {"b": g * 0.0, "a": g * 0.0})  # noqa: E731
    f = xp.host_function(
        lambda p: p["a"] * p["b"], xp.host_function(vjp, second) if nested else vjp
    )
    p = {"a": xp.asarray(2.0), "b": xp.asarray(5.0)}
    with GradientTape() as tape:
        tape.watch(p)
        y = f(p)
    found = tape.gradient(y, p)
    near(found["a"], 5.0)
    near(found["b"], 2.0)
