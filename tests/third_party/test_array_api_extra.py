"""array-api-extra, as installed: each of its functions, and ``at`` in every form."""

import operator

import array_api_extra as xpx
import numpy as np
import pytest
from array_api_compat import array_namespace

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1.5, 1.5, (4, 3)), RNG.uniform(-1.5, 1.5, (4, 3))
V, P = X[0], np.abs(Y) + 0.2
HOLES = np.where(X > 0.9, np.nan, X)


def masked(x):
    """x with NaN in fixed places, whatever the differences do to it."""
    here = array_namespace(x)
    return here.where(here.asarray(np.isnan(HOLES)), here.nan, x)


CASES = {
    "angle": (xpx.angle, X + 1j * Y),
    "angle in degrees": (lambda z: xpx.angle(z, deg=True), X + 1j * Y),
    "apply_where": (
        lambda x, y: xpx.apply_where(x > y, (x, y), lambda a, b: a * b, lambda a, b: a / b),
        X,
        P,
    ),
    "apply_where with a fill value": (
        lambda x: xpx.apply_where(x > 0, x, array_namespace(x).sqrt, fill_value=2.0),
        X,
    ),
    "atleast_nd": (lambda x: xpx.atleast_nd(x, ndim=4), X),
    "cov": (xpx.cov, X),
    "cov with weights": (
        lambda x, w: xpx.cov(x, axis=0, correction=0, aweights=w),
        X,
        P[:, 0],
    ),
    "create_diagonal": (lambda x: xpx.create_diagonal(x, offset=-1), X),
    "deg2rad": (xpx.deg2rad, X),
    "kron": (xpx.kron, X, Y[:2]),
    "nan_to_num": (lambda x: xpx.nan_to_num(masked(x), fill_value=0.5), X),
    "nanmax": (lambda x: xpx.nanmax(masked(x), axis=0), X),
    "nanmean": (lambda x: xpx.nanmean(masked(x), axis=0), X),
    "nanmin": (lambda x: xpx.nanmin(masked(x), axis=1), X),
    "nansum": (lambda x: xpx.nansum(masked(x), axis=(0, 1)), X),
    "pad": (lambda x: xpx.pad(x, ((1, 2), (0, 1))), X),
    "pad with a value": (lambda x, v: xpx.pad(x, 1, constant_values=v), X, np.asarray(0.7)),
    "partition": (lambda x: array_namespace(x).sort(xpx.partition(x, 2, axis=0), axis=0), X),
    "rad2deg": (xpx.rad2deg, X),
    "setdiff1d": (lambda x: xpx.setdiff1d(x, x[:2]), np.sort(V)),
    "sinc": (xpx.sinc, X),
    "union1d": (xpx.union1d, V, Y[0]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_differentiates(differentiates, name):
    function, *inputs = CASES[name]
    differentiates(function, *inputs, order=2)


def test_sinc_at_0_is_1_and_flat(differentiates):
    differentiates(xpx.sinc, np.asarray([0.0, 1.0, -2.0]))


# --- at -------------------------------------------------------------------------------------------
MASK = np.asarray([True, False, True, True])
KEYS = {
    "an integer": 1,
    "a slice": slice(1, 3),
    "integers": (2, slice(None, None, 2)),
    "an ellipsis": (..., 0),
    "a mask": MASK,
    "an array of integers": np.asarray([3, 0]),
}
UPDATES = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")


def key_of(key, here):
    return here.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("update", UPDATES)
def test_at_differentiates(differentiates, update, copy):
    """By what is written to and by what is written, also where that is the array itself."""
    for key in KEYS.values():

        def f(x, v, key=key):
            here = array_namespace(x)
            x = x * x
            y = getattr(xpx.at(x)[key_of(key, here)], update)(v[0] * v[0], copy=copy)
            return y * x if copy else y * y

        differentiates(f, P, V)


@pytest.mark.parametrize("key", KEYS)
def test_at_of_whole_rows_differentiates(differentiates, key):
    def f(x):
        here = array_namespace(x)
        part = (x * x)[key_of(KEYS[key], here)]
        return xpx.at(x * 1.0)[key_of(KEYS[key], here)].set(part, copy=True) * x

    differentiates(f, X, order=2)


def test_at_a_mask_of_the_array_itself_differentiates(differentiates):
    def f(x, v):
        x = x * x
        x = xpx.at(x, x > 1.0).set(0.5)
        x = xpx.at(x)[1:3, :].add(v)
        return xpx.at(x)[0, :].max(v)

    differentiates(f, X, V)


def test_at_without_a_copy_writes_in_place_as_numpy_does(has_values):
    def f(x):
        x = x * 1.0
        row = x[1, :]
        xpx.at(x)[1, 0].set(7.0)
        return [x, row]

    has_values(f, X)


def test_at_with_a_copy_leaves_the_array_alone(has_values):
    def f(x):
        y = xpx.at(x)[0, :].multiply(2.0, copy=True)
        return [x, y]

    has_values(f, X)


# --- what has no gradient, or leaves ----------------------------------------------------------------
FACTS = {
    "argpartition": lambda x: xpx.argpartition(x[:, :1], 2, axis=0).shape,
    "diag_indices": lambda x: xpx.diag_indices(3, xp=array_namespace(x)),
    "isclose": lambda x: xpx.isclose(x, x + 1e-9),
    "isin": lambda x: xpx.isin(x, x[0, :]),
    "nunique": lambda x: xpx.nunique(x),
    "one_hot": lambda x: xpx.one_hot(array_namespace(x).asarray([0, 2, 1]), 4),
    "searchsorted": lambda x: xpx.searchsorted(array_namespace(x).sort(x[0, :]), x[1, :]),
    "tril_indices": lambda x: xpx.tril_indices(3, xp=array_namespace(x)),
    "triu_indices": lambda x: xpx.triu_indices(3, offset=1, xp=array_namespace(x)),
    "unravel_index": lambda x: xpx.unravel_index(array_namespace(x).asarray([1, 5]), (4, 3)),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_function_of_integers_or_booleans_has_numpys_values(has_values, name):
    has_values(lambda x: [array_namespace(x).asarray(part) for part in listed(FACTS[name](x))], X)


def listed(found):
    return found if isinstance(found, tuple) else (found,)


def test_lazy_apply_as_numpy_leaves(leaves):
    def f(x):
        return xpx.lazy_apply(np.sin, x, as_numpy=True)

    assert leaves(f, X, at="array_api_extra/_lazy.py", how="np.asarray") == [None]


def test_lazy_apply_of_array_api_code_differentiates(differentiates):
    differentiates(lambda x: xpx.lazy_apply(operator.neg, x), X)


def test_every_function_is_here():
    here = " ".join([*CASES, *FACTS, "at lazy_apply testing default_dtype __version__"]).split()
    assert {*xpx.__all__} - {*here} == {
        "broadcast_shapes",
        "expand_dims",
    }  # deprecated: xp has them
