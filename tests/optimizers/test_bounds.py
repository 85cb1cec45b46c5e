"""Bounds in the nesting of the parameters."""

import numpy as np
import pytest
from scipy.optimize import Bounds

import arraytape as xp
from arraytape import Variable
from arraytape.optimizers import LBFGS, minimize_scipy

START = {"a": xp.asarray([[0.5, 0.5], [0.5, 0.5]]), "b": [xp.asarray(0.5), np.zeros(3)], "c": 1.0}
GOAL = {"a": 3.0, "b": [-2.0, 4.0], "c": 5.0}


def distance(p):
    a, (b, more), c = p["a"] - 3.0, p["b"], p["c"]
    return xp.sum(a**2) + (b + 2.0) ** 2 + xp.sum((more - 4.0) ** 2) + (c - 5.0) ** 2


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Powell", None])
def test_each_part_has_its_own_bounds(method):
    upper = np.array([[1.0, 2.0], [np.inf, 2.5]])
    bounds = {"a": (None, upper), "b": [(0.0, 1.0), Bounds(-1.0, [1.0, 2.0, 9.0])], "c": None}
    found = minimize_scipy(distance, START, method=method, bounds=bounds, tol=1e-8).x
    np.testing.assert_allclose(np.asarray(found["a"]), [[1.0, 2.0], [3.0, 2.5]], atol=1e-3)
    np.testing.assert_allclose(float(found["b"][0]), 0.0, atol=1e-3)
    np.testing.assert_allclose(np.asarray(found["b"][1]), [1.0, 2.0, 4.0], atol=1e-3)
    np.testing.assert_allclose(float(found["c"]), 5.0, atol=1e-3)


def test_none_in_place_of_a_nesting_stands_for_all_of_it():
    found = minimize_scipy(distance, START, bounds={"a": (0, 1), "b": None, "c": (None, 2)}).x
    np.testing.assert_allclose(np.asarray(found["a"]), np.ones((2, 2)))
    np.testing.assert_allclose(np.asarray(found["b"][1]), [4.0] * 3, atol=1e-5)
    np.testing.assert_allclose(float(found["c"]), 2.0)


def square(x):
    return xp.sum((x - 3.0) ** 2)


@pytest.mark.parametrize(
    "bounds",
    [
        (None, 1.0), [(0.0, 1.0), (None, 1.0)], Bounds([0.0, 0.0], [1.0, 1.0]),
        np.array([[0.0, 1.0], [0.0, 1.0]]),
    ],
)  # fmt: skip
def test_of_one_array_scipys_own_bounds_and_a_pair_will_do(bounds):
    np.testing.assert_allclose(
        np.asarray(minimize_scipy(square, xp.zeros(2), bounds=bounds).x), 1.0
    )


def test_scipys_bounds_of_the_vector_may_be_given_for_a_nesting():
    pairs = [(None, 1.0)] * 4 + [(0.0, None)] + [(None, None)] * 4
    for bounds in (pairs, Bounds([-np.inf] * 4 + [0.0] + [-np.inf] * 4, [1.0] * 4 + [np.inf] * 5)):
        found = minimize_scipy(distance, START, bounds=bounds).x
        np.testing.assert_allclose(np.asarray(found["a"]), np.ones((2, 2)))
        np.testing.assert_allclose(float(found["b"][0]), 0.0, atol=1e-6)


def test_lbfgs_keeps_variables_within_bounds():
    u, v = Variable([0.0, 0.0]), Variable(0.0)
    result = LBFGS().minimize(lambda: square(u) + square(v), [u, v], bounds=[(None, 1.0), None])
    assert u.tolist() == [1.0, 1.0]
    np.testing.assert_allclose(float(v), 3.0, atol=1e-6)
    assert result.x[0].tolist() == [1.0, 1.0]


BAD = {
    "a missing key": ({"a": None, "c": None}, r"bounds: \['a', 'b', 'c'\] are.*\['a', 'c'\]"),
    "another length": ({"a": None, "b": [None], "c": None}, r"bounds at 'b': \[0, 1\] are needed"),
    "a pair for a nesting": ({"a": None, "b": 3.0, "c": None}, r"bounds at 'b': .*got float"),
    "another shape": (
        {"a": (np.zeros(3), None), "b": None, "c": None},
        r"bounds at 'a': the lower bound .*float64\(3,\) does not fit Array float64\(2, 2\)",
    ),
    "a number": ({"a": None, "b": None, "c": 2.0}, r"bounds at 'c': a pair \(lower, upper\)"),
    "above": ({"a": None, "b": [(2.0, 1.0), None], "c": None}, "at .b.0.: a lower bound is above"),
    "NaN": ({"a": None, "b": [(np.nan, 1.0), None], "c": None}, "bounds at 'b.0': .*NaN"),
    "a word": ({"a": None, "b": None, "c": ("low", 1.0)}, "bounds at 'c': the lower bound str 'low'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bounds_that_do_not_fit_are_said_with_their_place(name):
    bounds, message = BAD[name]
    with pytest.raises((TypeError, ValueError), match=message):
        minimize_scipy(distance, START, bounds=bounds)


def test_a_complex_part_has_no_bounds():
    with pytest.raises(TypeError, match="bounds at '0': give None for"):
        minimize_scipy(
            lambda p: xp.sum(xp.abs(p[0]) ** 2), [xp.asarray([1j, 2.0])], bounds=[(0.0, 1.0)]
        )


def test_a_part_of_x0_that_has_no_gradient_is_said_with_its_place():
    with pytest.raises(TypeError, match=r"at 'a\.1'"):
        minimize_scipy(distance, {"a": [xp.ones(2), np.arange(3)]})
    with pytest.raises(TypeError, match=r"got None.* at 'b'"):
        minimize_scipy(distance, {"a": xp.ones(2), "b": None})


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 2), (2, 1)])
@pytest.mark.parametrize("open_side", [None, "lower", "upper"])
def test_an_array_alone_may_have_a_pair_of_arrays_of_its_shape(shape, open_side):
    low = np.linspace(-3.0, -1.0, int(np.prod(shape))).reshape(shape)
    high = np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape)
    bounds = (None if open_side == "lower" else low, None if open_side == "upper" else high)
    up = minimize_scipy(lambda x: xp.sum((x - 5.0) ** 2), xp.zeros(shape), bounds=bounds)
    wanted = np.full(shape, 5.0) if open_side == "upper" else high
    np.testing.assert_allclose(np.asarray(up.x), wanted, atol=1e-6)


def test_two_arrays_for_two_elements_may_mean_two_things():
    low, high = np.array([0.0, 0.0]), np.array([1.0, 2.0])
    for bounds in [(low, high), [xp.asarray(low), xp.asarray(high)]]:
        with pytest.raises(ValueError, match=r"a pair \(lower, upper\), or SciPy's.*say Bounds"):
            minimize_scipy(lambda x: xp.sum((x - 5.0) ** 2), xp.zeros(2), bounds=bounds)
    for bounds, wanted in [
        (Bounds(low, high), high),
        ([(0.0, 1.0), (0.0, 2.0)], high),
        (np.array([[0.0, 1.0], [0.0, 2.0]]), high),
        ((None, high), high),
    ]:
        found = minimize_scipy(lambda x: xp.sum((x - 5.0) ** 2), xp.zeros(2), bounds=bounds)
        np.testing.assert_allclose(np.asarray(found.x), wanted, atol=1e-6)


def test_bounds_of_scipys_fit_a_part_without_axes():
    found = minimize_scipy(
        lambda p: (p["a"] - 5.0) ** 2 + xp.sum(p["b"] ** 2),
        {"a": xp.asarray(0.0), "b": xp.ones(2)},
        bounds={"a": Bounds(0.0, 1.0), "b": None},
    )
    assert abs(float(found.x["a"]) - 1.0) < 1e-6
