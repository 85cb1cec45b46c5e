"""NumPy's functions that choose, find and write, and its ufuncs and their methods, on Arrays."""

import numpy as np
import pytest

import arraytape as xp

rng = np.random.default_rng(7)
X, V = (
    (rng.permutation(12).reshape(3, 4) - 4.6) / 4.0,
    rng.normal(size=4),
)  # X: away from 0, no ties
P = np.abs(X) + 0.2
PLACES = np.asarray([[0, 2], [1, 1], [3, 0]])


def written(write):
    """A program that writes into a copy of its first argument."""

    def program(np, x, *rest):
        x = x * 1.0
        write(np, x, *rest)
        return x

    return program


CALLS = {
    "choose": (lambda np, x: np.choose([0, 1, 1, 0], [x, 2.0 * x]), X),
    "extract": (lambda np, x: np.extract(x > 0.0, x), X),
    "fft of a part": (lambda np, x: np.fft.fft(x, n=3, axis=0), X),
    "select": (lambda np, x: np.select([x > 1.0, x > 0.0], [x**2, -x], 7.0), X),
    "take, clipped index": (lambda np, x: np.take(x, np.clip([1, 9], 0, 3), axis=1), X),
    # ufuncs
    "cbrt": (lambda np, x: np.cbrt(x), X),
    "deg2rad": (lambda np, x: np.deg2rad(x) + np.radians(x), X),
    "divmod": (lambda np, x: np.divmod(x, 0.7), X),
    "exp2": (lambda np, x: np.exp2(x), X),
    "fabs": (lambda np, x: np.fabs(x), X),
    "float_power": (lambda np, x, y: np.float_power(x, y), P, V),
    "fmax": (lambda np, x, y: np.fmax(x, y), X, V),
    "fmin": (lambda np, x: np.fmin(x, np.where(X > 0, np.nan, 0.3)), X),
    "fmod": (lambda np, x, y: np.fmod(x, y), X, V),
    "heaviside": (lambda np, x, y: x * np.heaviside(x - x[0], y), X, V),
    "logaddexp2": (lambda np, x, y: np.logaddexp2(x, y), X, V),
    "matvec": (lambda np, x, y: np.matvec(x, y), X, V),
    "modf": (lambda np, x: np.modf(3.0 * x), X),
    "rad2deg": (lambda np, x: np.rad2deg(x) + np.degrees(x), X),
    "vecmat": (lambda np, x, y: np.vecmat(x * 1j, y), X[:, 0], X),
    "add.accumulate": (lambda np, x: np.add.accumulate(x, axis=1), X),
    "maximum.accumulate": (lambda np, x: np.maximum.accumulate(x, axis=-1), X),
    "multiply.accumulate": (lambda np, x: np.multiply.accumulate(x), X),
    "subtract.outer": (lambda np, x, y: np.subtract.outer(x, y), X, V),
    "logaddexp.outer": (lambda np, x: np.logaddexp.outer([0.1, 0.2], x), X),
    # writing
    "add.at": (written(lambda np, x, y: np.add.at(x, ([0, 0, 2], [1, 1, 3]), y[:3])), X, V),
    "add.at of rows": (written(lambda np, x, y: np.add.at(x, [1, 1], y)), X, V),
    "subtract.at": (written(lambda np, x, y: np.subtract.at(x, 2, y)), X, V),
    "copyto": (written(lambda np, x, y: np.copyto(x, y)), X, V),
    "copyto, where": (written(lambda np, x, y: np.copyto(x, y, where=x > 0.0)), X, V),
    "divide, out and where": (
        lambda np, x: np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.0), X,
    ),
    "fill_diagonal": (written(lambda np, x, y: np.fill_diagonal(x, y[:3])), X, V),
    "log, out and where": (lambda np, x: np.log(x, where=x > 0.0, out=np.ones_like(x)), X),
    "partition, method": (written(lambda np, x: x.partition(1)), X[:, :1] * [[1.0, 2.0]]),
    "put": (written(lambda np, x, y: np.put(x, [0, -1, 5], y[:3])), X, V),
    "put, method": (written(lambda np, x: x.put([1, 2], 3.0)), X),
    "put_along_axis": (
        written(lambda np, x, y: np.put_along_axis(x, PLACES[:, :1], y[:3, None], 1)), X, V,
    ),
    "putmask": (written(lambda np, x: np.putmask(x, x > 0.0, -x)), X),
    "sort, method": (written(lambda np, x: x.sort(axis=0)), X),
    "sum, out": (written(lambda np, x: np.sum(x * x, axis=0, out=x[0])), X),
    "clip, out": (written(lambda np, x: np.clip(x, a_min=-0.5, a_max=0.4, out=x)), X),
    "clip, without a lower bound": (lambda np, x: np.clip(x, None, 0.3), X),
    "clip, without an upper bound": (lambda np, x: np.clip(x, a_min=0.2, a_max=None), X),
    # methods
    "argpartition": (lambda np, x: x[x.argpartition(0)[:1]], V),
    "choose, method": (lambda np, x: x * np.asarray([1, 0, 1, 0], like=x).choose([2.0, 3.0]), X),
    "compress, method": (lambda np, x: x.compress([0, 1], axis=0), X),
    "divmod of Python": (lambda np, x: divmod(x, 0.7), X),
    "searchsorted": (lambda np, x: x[np.sort(x).searchsorted(x[:2]) - 1], V),
    "sizes": (lambda np, x: x * x.nbytes / x.itemsize, X),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_numpy_function_has_numpys_values_and_right_derivatives(name, runs_as_on_numpy):
    runs_as_on_numpy(*CALLS[name])


VALUES = {
    "argpartition": lambda x: np.argpartition(x, 1, axis=1)[:, 1],
    "argwhere": lambda x: np.argwhere(x > 0.0),
    "digitize": lambda x: np.digitize(x, [-0.5, 0.5]),
    "flatnonzero": lambda x: np.flatnonzero(x > 0.0),
    "fmod of integers": lambda x: np.fmod(np.asarray([-7, 7, 5], like=x), [3, -3, 5]),
    "infinite": lambda x: np.isposinf(np.where(x > 0.0, np.inf, x)),
    "isin": lambda x: np.isin(np.round(x), [0.0, 1.0]),
    "lexsort": lambda x: np.lexsort((x[0], np.round(x[1]))),
    "modf of infinity": lambda x: np.modf(np.where(x > 0.0, -np.inf, x))[0],
    "nanargmax": lambda x: np.nanargmax(x, axis=1),
    "rint": lambda x: np.rint(x),
    "triu_indices_from": lambda x: np.triu_indices_from(x)[1],
    "unravel_index": lambda x: np.unravel_index(np.argmax(x), x.shape)[1],
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_numpys(name):
    found, expected = VALUES[name](xp.asarray(X)), VALUES[name](X)
    assert type(found) is xp.Array
    assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_what_a_condition_leaves_out_is_not_computed_in_the_gradient_either():
    x = xp.asarray([4.0, 0.0, -1.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.0)
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), [-0.0625, 0.0, 0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.copyto(np.zeros((3, 4)), x), "into a NumPy array"),
        (lambda x: np.putmask(np.zeros((3, 4)), x > 0, x), "into a NumPy array"),
        (lambda x: np.add.at(np.zeros(3), 0, x[0, 0]), "add.at"),
        (lambda x: np.put_along_axis(np.zeros((3, 4)), PLACES, x[:, :2], 1), "into a NumPy"),
        (lambda x: np.log(x, where=x > 0.0), "where"),
        (lambda x: np.choose(np.asarray([0, 2], like=x), [x[:1, :2], x[:1, :2]]), "2 choices"),
        (lambda x: np.select([x > 0.0], [x, x]), "1 conditions"),
        (lambda x: np.place(x, x > 0.0, []), "empty array"),
        (lambda x: np.fill_diagonal(x[0], 1.0), "np.fill_diagonal: .*2-d"),
    ],
)
def test_what_cannot_be_recorded_raises(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(xp.asarray(X))


def test_python_floats_take_on_the_precision_of_the_array():
    x = np.asarray([-0.5, 0.2, 1.5], np.float32)
    for f in (
        lambda x: np.fmod(x, 0.7),
        lambda x: np.fmax(x, 0.1),
        lambda x: np.heaviside(x, 0.5),
        lambda x: np.select([x > 0.5, x > 0.0], [x**2, 3 * x], 0.1),
        lambda x: np.gradient(x, 0.5),
        lambda x: np.trapezoid(x, dx=0.5),
    ):
        found, expected = f(xp.asarray(x)), f(x)
        assert found.dtype == expected.dtype == np.float32
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


def test_integers_are_clipped_between_floats():
    x = np.arange(4)
    for f in (
        lambda x: np.clip(x, 0.5, 2.5),
        lambda x: x.clip(0.5, 2.5),
        lambda x: np.clip(x, 1, 2),
    ):
        found, expected = f(xp.asarray(x)), f(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_copyto_of_what_is_there_already_writes_nothing():
    for shape in ((3,), (0,)):
        x = np.broadcast_to(xp.asarray(np.ones(shape)), (2, *shape))
        np.copyto(x[...], x)
        with pytest.raises(ValueError, match="read-only"):
            np.copyto(x, x + 1.0)


def test_signs_of_zeros_are_numpys():
    x = np.asarray([-0.0, 1.0, -0.0, 0.0, -0.0] * 9)
    assert np.array_equal(
        np.signbit(np.asarray(np.unique(xp.asarray(x)))), np.signbit(np.unique(x))
    )
    y = xp.asarray(x, copy=True)
    np.add.at(y, [1, 3], 0.5)
    np.add.at(x, [1, 3], 0.5)
    assert np.array_equal(np.signbit(np.asarray(y)), np.signbit(x))
