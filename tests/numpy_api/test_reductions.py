"""NumPy's reductions on Arrays: NumPy's values, and right derivatives."""

import numpy as np
import pytest

import arraytape as xp

rng = np.random.default_rng(5)
X, V = rng.normal(size=(3, 4)), rng.normal(size=5)
Z = X + 1j * X[:, ::-1]
MASK = X > -0.3


def holed(np, x):
    """x with a NaN in it."""
    return np.where(MASK, x, np.nan)


CALLS = {
    "cumsum skipping NaN": (lambda np, x: np.nancumsum(holed(np, x), axis=1), X),
    "cumprod skipping NaN": (lambda np, x: np.nancumprod(holed(np, x)), X),
    "diff with ends": (lambda np, x: np.diff(x, prepend=0.0, append=x[:, :1]), X),
    "ediff1d": (lambda np, x: np.ediff1d(x, to_begin=[1.0, 2.0], to_end=x[0, 0]), X),
    "max from somewhere": (lambda np, x: np.max(x, axis=1, initial=0.5), X),
    "max of a selection": (lambda np, x: np.max(x, where=MASK, initial=-9.0, axis=1), X),
    "maximum.reduce": (lambda np, x: np.maximum.reduce(x, axis=1, initial=0.1), X),
    "mean of a selection": (lambda np, x: np.mean(x, axis=1, where=MASK), X),
    "mean in a dtype": (lambda np, x: np.mean(x, axis=(0, 1), dtype=np.float64), X),
    "median of several axes": (lambda np, x: np.median(x, axis=(0, 1), keepdims=True), X),
    "median": (lambda np, x: np.median(x, axis=1), X),
    "min": (lambda np, x: np.amin(x, axis=0, keepdims=True), X),
    "nanmax": (lambda np, x: np.nanmax(holed(np, x), axis=1), X),
    "nanmean": (lambda np, x: np.nanmean(holed(np, x), axis=1, keepdims=True), X),
    "nanmedian": (lambda np, x: np.nanmedian(holed(np, x), axis=1), X),
    "nanmin": (lambda np, x: np.nanmin(holed(np, x)), X),
    "nanpercentile": (lambda np, x: np.nanpercentile(holed(np, x), [10, 60], axis=1), X),
    "nanprod": (lambda np, x: np.nanprod(holed(np, x), axis=1), X),
    "nanstd": (lambda np, x: np.nanstd(holed(np, x), ddof=1), X),
    "nansum": (lambda np, x: np.nansum(holed(np, x), axis=(0, 1)), X),
    "nanvar": (lambda np, x: np.nanvar(holed(np, x), axis=0), X),
    "nanvar, complex": (lambda np, z: np.nanvar(holed(np, z)), Z),
    "partition": (lambda np, x: np.partition(x, 2, axis=0)[:1] + 0.0 * x[0], X[:, :1]),
    "percentile": (lambda np, x: np.percentile(x, [25, 50, 100], axis=0), X),
    "percentile of everything": (lambda np, x: np.percentile(x, 33.0), X),
    "prod": (lambda np, x: np.prod(x, axis=1, initial=2.0, where=MASK), X),
    "ptp": (lambda np, x: np.ptp(x, axis=1), X),
    "quantile": (lambda np, x: np.quantile(x, 0.3, axis=1, keepdims=True), X),
    "quantile of several axes": (lambda np, x: np.quantile(x, [[0.1], [0.9]], axis=(1, 0)), X),
    "quantile at a moving place": (lambda np, x, q: np.quantile(x, q), V, np.asarray([0.3, 0.6])),
    "sort of everything": (lambda np, x: np.sort(x, axis=None), X),
    "sort by a kind": (lambda np, x: np.sort(x, kind="stable", axis=0), X),
    "std": (lambda np, x: np.std(x, axis=0, ddof=1, dtype=float), X),
    "sum": (lambda np, x: np.sum(x, axis=0, initial=3.0, where=MASK), X),
    "sum of a row mask": (lambda np, x: np.sum(x, where=MASK[0]), X),
    "var": (lambda np, x: np.var(x, axis=1, ddof=1, keepdims=True), X),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_numpy_function_has_numpys_values_and_right_derivatives(name, runs_as_on_numpy):
    runs_as_on_numpy(*CALLS[name])


METHODS = {
    "max": lambda x: x.max(initial=0.2),
    "mean": lambda x: x.mean(0, dtype=float),
    "prod": lambda x: x.prod(axis=1, where=MASK),
    "std": lambda x: x.std(ddof=1),
    "sum": lambda x: x.sum(0, float),
    "var": lambda x: x.var(axis=0, ddof=1, keepdims=True),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_what_numpys_takes(name, runs_as_on_numpy):
    runs_as_on_numpy(lambda np, x: METHODS[name](x), X)


VALUES = {
    "all": lambda x: np.all(x > -9.0, axis=0, where=MASK),
    "any": lambda x: np.any(x > 1.0, where=MASK),
    "fix": np.fix,
    "maximum of nothing": lambda x: np.max(x[:0], axis=0, initial=1.5),
    "mean of integers": lambda x: np.mean(np.round(x).astype(int)),
    "median of integers": lambda x: np.median(np.round(9 * x).astype(int), axis=0),
    "nansum of integers": lambda x: np.nansum(np.round(9 * x).astype(int)),
    "quantile with NaN": lambda x: np.quantile(np.where(MASK, x, np.nan), 0.5, axis=1),
    "round": lambda x: np.round(123.0 * x, 1),
    "round to hundreds": lambda x: np.around(1234.0 * x, -2),
    "round of integers": lambda x: np.round(np.asarray([123, 456], like=x), -1),
    "sum of booleans": lambda x: np.sum(x > 0.0),
}


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # from NumPy 2.5 on
@pytest.mark.parametrize("name", VALUES)
def test_values_are_numpys(name):
    found, expected = VALUES[name](xp.asarray(X)), VALUES[name](X)
    assert type(found) is xp.Array
    assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-14)


def test_a_quantile_moves_with_its_place(gradient, near):
    x = xp.asarray([1.0, 2.0, 4.0, 8.0, 16.0])
    for q, expected in ((0.25, 8.0), (0.3, 8.0), (0.99, 32.0)):
        near(gradient(lambda q: np.quantile(x, q), q), expected)
    near(np.nanquantile(xp.asarray([1.0, np.nan, 3.0]), [0.0, 0.5, 1.0]), [1.0, 2.0, 3.0])


def test_of_nothing_but_nan_the_largest_is_nan():
    x = xp.asarray([[1.0, np.nan], [np.nan, np.nan]])
    for function, axis in ((np.nanmax, 1), (np.nanmin, 0)):
        with pytest.warns(RuntimeWarning, match="All-NaN") as caught:  # NumPy's
            found = function(x, axis=axis)
        np.testing.assert_array_equal(np.asarray(found), [1.0, np.nan])
        assert {warning.filename for warning in caught} == {__file__}


def test_single_precision_stays():
    x = xp.asarray(X, dtype=xp.float32)
    for name in ("nanmean", "nanstd", "nansum", "median", "mean", "std", "nanmedian", "ptp"):
        assert getattr(np, name)(x).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.quantile(x, 0.5, method="new"), "np.quantile: 'new' is not a valid method"),
        (lambda x: np.quantile(x, 1.5), r"np.quantile: .* range \[0, 1\]"),
        (lambda x: np.max(x, where=MASK), "initial="),
    ],
)
def test_what_has_no_counterpart_raises(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(xp.asarray(X))


@pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning")
@pytest.mark.parametrize("name", ["nanmin", "nanmax"])
@pytest.mark.parametrize("initial", [0.5, np.nan])
def test_where_all_is_nan_the_initial_value_stands(name, initial, near):
    function = getattr(np, name)
    x = np.asarray([[np.nan, np.nan], [0.3, np.nan], [0.3, 0.7]])
    expected = [function(row, initial=initial) for row in x]
    near(xp.vmap(lambda row: function(row, initial=initial))(xp.asarray(x)), expected)


def test_the_gradient_is_of_the_initial_value_where_all_is_nan():
    x, initial = xp.asarray([np.nan, np.nan]), xp.asarray(0.5)
    with xp.GradientTape() as tape:
        tape.watch((x, initial))
        y = np.nanmin(x, initial=initial)
    found = tape.gradient(y, (x, initial))
    assert float(found[1]) == 1.0
    np.testing.assert_array_equal(np.asarray(found[0]), 0.0)


def test_nanmax_of_integers_keeps_the_dtype_under_vmap():
    x = xp.asarray([[1, 0], [0, 2]])
    found = xp.vmap(lambda row: np.nanmax(row, initial=0.5))(x)
    assert found.dtype == np.nanmax(x[0], initial=0.5).dtype == x.dtype
