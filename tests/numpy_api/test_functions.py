"""NumPy's functions that the standard has not, on Arrays: NumPy's values, and gradients."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing

X = np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.6]])
V = np.asarray([0.4, -1.3, 2.2, 0.9])
W = np.asarray([1.5, -0.2, 0.8])
Z = V + 1j * V[::-1]
CALLS = {
    "atleast_1d": (lambda x: np.atleast_1d(x[0, 0]), X),
    "atleast_1d of several": (lambda x, y: np.atleast_1d(x, y[0, 0])[1], W, X),
    "atleast_2d": (np.atleast_2d, V),
    "atleast_3d of a vector": (np.atleast_3d, V),
    "atleast_3d of a matrix": (np.atleast_3d, X),
    "column_stack": (lambda x, y: np.column_stack([x, y, y]), X.T, W),
    "convolve": (np.convolve, V, W),
    "convolve, same": (lambda a, v: np.convolve(a, v, "same"), W, V),
    "convolve, valid": (lambda a, v: np.convolve(a, v, mode="valid"), V, W),
    "convolve, complex": (np.convolve, Z, V),
    "convolve with a plain array": (lambda a: np.convolve(W, a), V),
    "copy": (np.copy, X),
    "corrcoef": (np.corrcoef, X),
    "corrcoef of two": (np.corrcoef, V, V**2),
    "correlate": (np.correlate, V, W),
    "correlate, full": (lambda a, v: np.correlate(a, v, "full"), Z, V[:3] - 2j),
    "correlate, the longer one second": (lambda a, v: np.correlate(a, v, "same"), W, V),
    "cov": (np.cov, X),
    "cov of columns": (lambda x: np.cov(x, rowvar=False, ddof=0), X),
    "cov of one": (np.cov, V),
    "cov, complex": (lambda z: np.cov(z, z**2), Z),
    "cumprod": (np.cumprod, X),
    "cumsum": (np.cumsum, X),
    "diagonal": (np.diagonal, X),
    "dot": (np.dot, X, W),
    "dot of stacks": (lambda x, y: np.dot(np.stack([x, x]), np.stack([y.T, y.T])), X, X),
    "dot with a number": (lambda x: np.dot(x, 2.0), X),
    "dstack": (lambda x: np.dstack([x, x]), X),
    "hstack": (lambda x, y: np.hstack([x, y, y]), X, X),
    "hstack of vectors": (lambda x, y: np.hstack((x, 1.0, y)), V, W),
    "interp": (lambda x, p, f: np.interp(x, p, f), V, np.asarray([-1.0, 0.5, 2.0]), W),
    "interp with ends": (lambda x, f: np.interp(x, [0.0, 0.5, 2.0], f, -1.0, 7.0), V, W),
    "interp between one point": (lambda x, f: np.interp(x, [0.5], f[:1]), V, W),
    "nan_to_num": (lambda x: np.nan_to_num(np.where(x > 1.0, np.inf, x), posinf=3.0), X),
    "outer": (np.outer, X, W),
    "piecewise": (lambda x: np.piecewise(x, [x < 0, x > 1], [np.sin, lambda t: t**2, 5.0]), V),
    "polyval": (lambda p, x: np.polyval(p, x), W, V),
    "polyval of plain coefficients": (lambda x: np.polyval([1.0, 2.0, 3.0], x), V),
    "ravel": (np.ravel, X),
    "squeeze": (lambda x: np.squeeze(x[None]), X),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 1), X),
    "take": (lambda x: np.take(x, [[0, 4], [4, -1]]), X),
    "take along an axis": (lambda x: np.take(x, [2, 0], axis=1), X),
    "trace": (np.trace, X),
    "transpose": (np.transpose, X),
    "transpose with axes": (lambda x: np.transpose(x[None], (2, 0, 1)), X),
    "unwrap": (lambda x: np.unwrap(5.0 * x), V),
    "unwrap along an axis": (lambda x: np.unwrap(4.0 * x, axis=0, period=3.0), X),
    "unwrap of larger steps": (lambda x: np.unwrap(5.0 * x, discont=9.0), V),
    "vstack": (lambda x, y: np.vstack([x, y]), X, W),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_beyond_the_standard_has_numpys_values_and_a_gradient(name):
    function, *inputs = CALLS[name]
    found, expected = function(*map(xp.asarray, inputs)), function(*inputs)
    assert type(found) is xp.Array
    assert (found.shape, found.dtype) == (np.shape(expected), expected.dtype)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-14)
    testing.check_gradients(lambda *xs: testing.total(function(*xs)), inputs)


@pytest.mark.parametrize("function", [np.isreal, np.iscomplex])
def test_which_numbers_are_real_is_numpys(function):
    for x in (V, Z, Z.real + 0j):
        np.testing.assert_array_equal(np.asarray(function(xp.asarray(x))), function(x))


def test_angle_is_numpys_and_has_a_gradient():
    np.testing.assert_array_equal(np.asarray(np.angle(xp.asarray(Z))), np.angle(Z))
    found = np.asarray(np.angle(xp.asarray(Z), deg=True))
    np.testing.assert_array_equal(found, np.angle(Z, deg=True))
    testing.check_gradients(lambda z: testing.total(np.angle(z)), [Z])


@pytest.mark.parametrize("equal_nan", [False, True])
def test_comparisons_are_numpys(equal_nan):
    a = np.asarray([1.0, np.nan, np.inf, -np.inf, 0.0, 2.0])
    b = np.asarray([1.0 + 1e-9, np.nan, np.inf, np.inf, 1e-9, 2.1])
    x, y = xp.asarray(a), xp.asarray(b)
    near = np.isclose(x, y, rtol=xp.asarray(1e-5), equal_nan=equal_nan)
    np.testing.assert_array_equal(np.asarray(near), np.isclose(a, b, equal_nan=equal_nan))
    for i, j in ((slice(None), slice(None)), (0, 0), (slice(0, 2), slice(0, 2))):
        given = np.allclose(x[i], y[j], equal_nan=equal_nan)
        assert given is np.allclose(a[i], b[j], equal_nan=equal_nan)
        given = np.array_equal(x[i], x[j], equal_nan=equal_nan)
        assert given is np.array_equal(a[i], a[j], equal_nan=equal_nan)
    assert np.array_equal(x, y[:2]) is False


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.ravel(x.T, order="x"), "order"),
        (lambda x: np.cov(x, aweights=[1, 2]), "np.cov: incompatible numbers"),
        (lambda x: np.interp(x, x, x, period=2.0), "np.interp: Data points must be 1-D"),
        (lambda x: np.convolve(x, x), "two sequences"),
        (lambda x: np.interp(x, x, x), "of one dimension"),
        (lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]), "np.piecewise: with 1 condition"),
    ],
)
def test_what_is_not_recorded_or_does_not_fit_raises(call, message):
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        call(xp.asarray(X))
