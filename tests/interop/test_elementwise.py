"""Roots, minima and integrals of each element: scipy.optimize.elementwise, tanhsinh and nsum on Arrays.

Values are SciPy's; derivatives those of the formulas, also where an algorithm meets the answer by
chance, and whichever way the Array comes in.
"""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest
from scipy import integrate
from scipy.optimize import elementwise

import arraytape as xp
from arraytape import interop, testing

BY_NAME = "kwargs" in inspect.signature(elementwise.find_root).parameters
WAYS = ["args", "closure", *(["kwargs"] if BY_NAME else [])]


def given(function, c, way):
    """A function of x and c, and the options by which c comes in; from outside it is one number."""
    if way == "closure":
        return lambda x: function(x, c), {}
    return function, {way: (c,) if way == "args" else {"c": c}}


def cube(x, c):
    return x**3 + x - c


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("of_arrays", [False, True])
def test_roots_follow_the_function(way, of_arrays):
    """By the implicit function theorem, to second order; starts at random, and where it hits at once."""
    rng = np.random.default_rng(5)
    ends = (np.full(7, -4.0), np.full(7, 4.0))
    roots = np.concatenate([rng.uniform(-2.0, 2.0, 5), [0.0, 2.0]])  # of which the first trial is 0

    def solution(c, ends=ends):
        function, options = given(cube, c, way)
        start = tuple([xp.asarray(x) for x in ends]) if of_arrays else ends
        return elementwise.find_root(function, start, **options).x

    for data, start in cases(roots**3 + roots, ends, way):
        with interop.scipy():
            y = solution(xp.asarray(data), start)
            testing.check_gradients(lambda c, e=start: solution(c, e), [data], rtol=1e-6)
            g = xp.grad(lambda c, e=start: xp.sum(solution(c, e)))(xp.asarray(data))
        function, options = given(cube, data, way)
        np.testing.assert_array_equal(y, elementwise.find_root(function, start, **options).x)
        np.testing.assert_allclose(g, 1.0 / (3.0 * np.asarray(y) ** 2 + 1.0), rtol=1e-10)


def cases(data, ends, way):
    """The data and where to start, all at once, or one after the other where it comes from outside."""
    if way != "closure":
        return [(data, ends)]
    return [(c, tuple([end[0] for end in ends])) for c in data]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # SciPy's own
@pytest.mark.parametrize("way", WAYS)
def test_minima_follow_the_function(way):
    data = np.asarray([0.0, 0.7, -1.3])

    def lowest(c, part="x"):
        function, options = given(lambda x, c: (x - c) ** 2 + x**4 / 4.0, c, way)
        found = elementwise.find_minimum(function, (-3.0, 0.1, 3.0), **options)
        return found[part]

    for c, _ in cases(data, (data,), way):
        with interop.scipy():
            x = lowest(xp.asarray(c))
            by = [xp.grad(lambda c, p=p: xp.sum(lowest(c, p)))(xp.asarray(c)) for p in ("x", "f_x")]
        places = np.asarray(lowest(c))
        np.testing.assert_array_equal(x, places)
        np.testing.assert_allclose(by[0], 2.0 / (2.0 + 3.0 * places**2), rtol=1e-6)
        np.testing.assert_allclose(by[1], 2.0 * (c - places), rtol=1e-6, atol=1e-12)


def test_a_minimum_at_a_kink_has_no_slope():
    """The function has no second derivative there, from which it would follow."""
    with interop.scipy():
        g = xp.grad(
            lambda c: (
                elementwise.find_minimum(lambda x, c: abs(x - c), (-1.0, 0.2, 2.0), args=(c,)).x
            )
        )(xp.asarray(0.3))
    assert not np.isfinite(float(g))


@pytest.mark.parametrize("way", WAYS)
def test_brackets_are_scipys(way):
    data = np.asarray([0.3, 5.0])
    finders = (elementwise.bracket_root, cube), (elementwise.bracket_minimum, square)
    for (find, function), (c, _) in itertools.product(finders, cases(data, (data,), way)):
        f, options = given(function, c, way)
        expected = find(f, -1.0, **options).bracket
        f, options = given(function, xp.asarray(c), way)
        with interop.scipy():
            found = find(f, -1.0, **options).bracket
            of_arrays = find(f, xp.asarray(-1.0), **options).bracket
        np.testing.assert_array_equal(np.stack([*map(np.asarray, found)]), np.stack(expected))
        np.testing.assert_array_equal(np.stack([*map(np.asarray, of_arrays)]), np.stack(expected))


def square(x, c):
    return (x - c) ** 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("of_arrays", [False, True])
def test_integrals_and_sums_follow_their_terms(way, of_arrays):
    data = np.asarray([0.4, 1.7])
    start = (lambda x: xp.asarray(x)) if of_arrays else (lambda x: x)

    def integral(c):
        function, options = given(lambda x, c: np.exp(-c * x) * x, c, way)
        return integrate.tanhsinh(function, start(0.5), start(3.0), **options).integral

    def series(c):
        function, options = given(lambda k, c: c**k / (k + 1.0) ** 3, c, way)
        return integrate.nsum(function, start(1), start(12), **options).sum

    for function, (c, _) in itertools.product((integral, series), cases(data, (data,), way)):
        with interop.scipy():
            testing.check_gradients(function, [c], rtol=1e-6)
            np.testing.assert_allclose(function(xp.asarray(c)), function(c), rtol=1e-14)


def test_integrals_follow_their_limits():
    with interop.scipy():
        by_a, by_b = xp.grad(
            lambda a, b: integrate.tanhsinh(lambda x: x * x, a, b).integral, (0, 1)
        )(xp.asarray(0.5), xp.asarray(3.0))
    np.testing.assert_allclose([float(by_a), float(by_b)], [-0.25, 9.0], rtol=1e-9)


def test_what_has_no_array_is_scipys():
    with interop.scipy():
        found = elementwise.find_root(cube, (0.0, 3.0), args=(np.asarray([1.0, 2.0]),))
        total = integrate.tanhsinh(np.cos, 0.0, 1.0)
    assert type(found.x) is np.ndarray
    assert isinstance(total.integral, np.float64)
