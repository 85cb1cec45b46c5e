"""Methods and names beyond the standard, against NumPy's."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing

X = np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.6]])
CALLS = {
    "sum": lambda x: x.sum(),
    "sum over an axis": lambda x: x.sum(1),
    "mean with keepdims": lambda x: x.mean(axis=0, keepdims=True),
    "max": lambda x: x.max(0),
    "std": lambda x: x.std(),
    "reshape": lambda x: x.reshape(3, -1),
    "reshape to a tuple": lambda x: x.reshape((6,)),
    "transpose": lambda x: x.transpose(),
    "transpose with axes": lambda x: x.transpose(1, 0),
    "flatten": lambda x: x.flatten(),
    "ravel": lambda x: x.ravel(),
    "copy": lambda x: x.copy(),
    "dot": lambda x: x.dot(x.T),
    "dot with a vector": lambda x: x.dot(np.asarray([1.0, 2.0, 3.0])),
    "dot with a scalar": lambda x: x.dot(2.0),
    "real": lambda x: x.real,
    "astype": lambda x: x.astype(np.float32),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_method_has_numpys_values_and_a_gradient(name):
    call = CALLS[name]
    np.testing.assert_array_equal(np.asarray(call(xp.asarray(X))), call(X))
    assert np.asarray(call(xp.asarray(X))).dtype == np.asarray(call(X)).dtype
    if name != "astype":
        testing.check_gradients(lambda x: testing.total(call(x)), [X])


@pytest.mark.parametrize("shape", [(5,), (4,), (3, 4), (2, 3, 2)])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_median_is_numpys_and_has_a_gradient(shape, axis, keepdims):
    x = np.random.default_rng(0).normal(size=shape)
    found = xp.median(xp.asarray(x), axis=axis, keepdims=keepdims)
    np.testing.assert_array_equal(np.asarray(found), np.median(x, axis=axis, keepdims=keepdims))
    testing.check_gradients(lambda x: testing.total(xp.median(x, axis=axis)), [x])


def test_the_median_of_data_with_a_nan_is_nan():
    assert np.isnan(float(xp.median(xp.asarray([1.0, np.nan, 2.0]))))


def test_bincount_counts_and_adds_weights_that_stay_connected():
    n, w = np.asarray([0, 2, 2, 5]), np.asarray([0.5, 1.5, -1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(xp.bincount(xp.asarray(n))), np.bincount(n))
    found = xp.bincount(xp.asarray(n), weights=xp.asarray(w), minlength=8)
    np.testing.assert_array_equal(np.asarray(found), np.bincount(n, w, 8))
    testing.check_gradients(lambda w: testing.total(xp.bincount(xp.asarray(n), weights=w)), [w])


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_diag_makes_and_reads_diagonals(k):
    for x in (np.arange(3.0), np.arange(12.0).reshape(3, 4)):
        np.testing.assert_array_equal(np.asarray(xp.diag(xp.asarray(x), k)), np.diag(x, k))
        testing.check_gradients(lambda x: testing.total(xp.diag(x, k)), [x])


def test_bincount_refuses_negative_numbers():
    with pytest.raises(ValueError, match="non-negative"):
        xp.bincount(xp.asarray([0, -1]))


def test_where_of_a_condition_alone_is_nonzero():
    x = xp.asarray([[0.0, 2.0], [3.0, 0.0]])
    rows, columns = xp.where(x > 1.0)
    np.testing.assert_array_equal([np.asarray(rows), np.asarray(columns)], [[0, 1], [1, 0]])
    for given in [(1.0,), (None, 1.0), (1.0, None)]:
        with pytest.raises(TypeError, match="both x1 and x2, or neither"):
            xp.where(x > 1.0, *given)


def test_diff_takes_n_and_axis_where_numpy_has_them():
    values = np.asarray([[1.0, 4.0, 9.0], [2.0, 0.0, 5.0], [7.0, 7.0, 1.0]])
    for arguments in [(), (2,), (1, 0), (2, 0)]:
        found = xp.diff(xp.asarray(values), *arguments)
        np.testing.assert_array_equal(np.asarray(found), np.diff(values, *arguments))


def test_diff_of_no_order_joins_nothing():
    x = xp.asarray([1.0, 4.0])
    assert xp.diff(x, 0, prepend=xp.asarray([3.0, 2.0])).shape == (2,)
    np.testing.assert_array_equal(np.asarray(xp.diff(x, prepend=3, append=5.5)), [-2.0, 3.0, 1.5])


def test_einsum_of_two_precisions_rounds_no_product_before():
    x = np.asarray([0.1, 0.7], np.float32)
    found = xp.einsum("i,i,i", xp.asarray(x), xp.asarray(x), xp.asarray([1.0, 1.0]))
    assert float(found) == pytest.approx(np.einsum("i,i,i", x, x, [1.0, 1.0]), rel=1e-15)
