"""Gradients, case by case: the numbers are those of part A of the specification."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning, Variable
from helpers.tapes import square_slope

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


def test_case_1_the_gradient_of_a_square(near, gradient):
    near(gradient(lambda x: x**2, 3.0), 6.0)


def test_case_2_two_tapes(x, near):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            y = square_slope(inner, x)
        g = inner.gradient(y, x)
    near(g, 6.0)
    near(outer.gradient(g, x), 2.0)


def test_case_3_a_polynomial_and_its_second_derivative(x, near):
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
def test_case_4_a_persistent_tape(at, dz, dy, near):
    x = xp.asarray(at)
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        z = y * y
    near(tape.gradient(z, x), dz)
    near(tape.gradient(y, x), dy)


def test_case_5_an_intermediate_beside_its_source(x, near):
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        z = y * y
    near(tape.gradient(z, y), 18.0)
    dx, dy = tape.gradient(z, [x, y])
    near(dx, 108.0)
    near(dy, 18.0)


def test_case_8_two_targets_separately(near):
    x = xp.asarray(2.0)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        first, second = x**2, 1 / x
    near(tape.gradient(first, x), 4.0)
    near(tape.gradient(second, x), -0.25)


def test_case_9_a_dict_of_targets(near, gradient):
    near(gradient(lambda x: {"y0": x**2, "y1": 1 / x}, 2.0), 3.75)


def test_case_10_a_vector_target(near, gradient):
    near(gradient(lambda x: x * xp.asarray([3.0, 4.0]), 2.0), 7.0)


def test_case_11_a_sigmoid(near, gradient):
    g = np.asarray(gradient(lambda x: 1 / (1 + xp.exp(-x)), np.linspace(-10, 10, 201)))
    assert g.shape == (201,)
    assert g.argmax() == 100
    near(g[100], 0.25)
    np.testing.assert_allclose(g[[0, -1]], 4.53958e-05, rtol=1e-5)


def test_case_12_a_branch(near, gradient):
    def branch(x, v0, v1):
        return v0 if x > 0 else v1**2

    x, *variables = xp.asarray(1.0), Variable(2.0), Variable(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        result = branch(x, *variables)
    for dx, dv0, dv1 in (
        gradient(branch, 1.0, 2.0, 2.0),
        tape.gradient(result, [x, *variables]),
    ):
        near(dv0, 1.0)
        assert dv1 is None
        assert dx is None


def test_case_13_an_unrelated_source(near):
    x, y = xp.asarray([2.0, 2.0]), xp.asarray(3.0)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = y * y
    assert tape.gradient(z, x) is None
    near(tape.gradient(z, x, unconnected_gradients="zero"), [0.0, 0.0])


def test_case_15_a_value_that_left(x, near):
    v = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(v)
        left = xp.asarray(np.mean(np.asarray(v * v)))
        line = inspect.currentframe().f_lineno - 1
        stayed = np.mean(v * v)
    with pytest.warns(TapeWarning, match=rf"test_cases_gradients\.py:{line} "):
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


def test_case_18_an_op_without_a_rule(cbrt, x, near):
    with GradientTape(persistent=True) as tape:
        y = square_slope(tape, x)
        z = cbrt(y)
    with pytest.raises(LookupError, match="gradient registry has no entry for: cbrt"):
        tape.gradient(z, x)
    near(tape.gradient(y, x), 6.0)


def test_case_19_a_linear_layer(near):
    W, b = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), xp.zeros((2,))
    with GradientTape(persistent=True) as tape:
        tape.watch([W, b])
        loss = xp.mean((xp.asarray([[1.0, 2.0, 3.0]]) @ W + b) ** 2)
    assert float(loss) == 634.0
    by_name = tape.gradient(loss, {"b": b, "W": W})
    assert list(by_name) == ["b", "W"]
    for dW, db in (tape.gradient(loss, [W, b]), (by_name["W"], by_name["b"])):
        near(dW, [[22, 28], [44, 56], [66, 84]])
        near(db, [22, 28])
