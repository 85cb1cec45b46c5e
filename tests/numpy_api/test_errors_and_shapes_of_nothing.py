"""Arrays raise an error of the same of Python's types where NumPy raises, and only there.

Of arrays without elements, of shape () and read-only ones, for places, axes, values and dtypes that fit
and that do not.
"""

import itertools
import warnings

import numpy as np
import pytest

import arraytape as xp

SHAPES = [(), (0,), (1,), (3,), (0, 0), (2, 0), (0, 2), (2, 3), (2, 0, 0), (0, 1, 0)]
AXES = [None, 0, 1, -1, -2, -3]
PLACES = {
    "0": 0, "[0]": [0], "[]": [], "an array": np.asarray([1, -1]), "rows": np.asarray([[0], [1]]),
    "far": [7],
}  # fmt: skip
ALONG = {
    "compress, the first": lambda x, axis: np.compress([True], x, axis=axis),
    "compress, the second": lambda x, axis: x.compress([False, True], axis=axis),
    "compress, none": lambda x, axis: np.compress([], x, axis=axis),
    "repeat": lambda x, axis: np.repeat(x, 2, axis=axis),
    "delete": lambda x, axis: np.delete(x, 0, axis=axis),
    "insert": lambda x, axis: np.insert(x, 0, 1.0, axis=axis),
    "cumulative_sum": lambda x, axis: np.cumulative_sum(x, axis=axis),
    "cumulative_prod": lambda x, axis: np.cumulative_prod(x, axis=axis, include_initial=True),
    "add.accumulate": lambda x, axis: np.add.accumulate(x, axis=axis or 0),
    "maximum.accumulate": lambda x, axis: np.maximum.accumulate(x, axis=axis or 0),
    "add.reduce": lambda x, axis: np.add.reduce(x, axis=axis),
    "cumsum": lambda x, axis: np.cumsum(x, axis=axis),
    "cond": lambda x, axis: np.linalg.cond(x),
    "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
    "nuclear norm": lambda x, axis: np.linalg.norm(x, "nuc"),
    "polyfit": lambda x, axis: np.polyfit(x, x, 1),
    "interp": lambda x, axis: np.interp(0.5, x, x),
    "lstsq": lambda x, axis: np.linalg.lstsq(x, x)[0],
    "nanmax": lambda x, axis: np.nanmax(x, axis=axis),
    "convolve": lambda x, axis: np.convolve(x, x),
    "correlate": lambda x, axis: np.correlate(x, x[:1]),
    "unique": lambda x, axis: np.unique(x, axis=axis),
    "append": lambda x, axis: np.append(x, x, axis=axis),
    "broadcast_arrays": lambda x, axis: np.broadcast_arrays(x, np.zeros((2, 1)))[0],
}


def outcome(function, make, *args):
    """The shape of a result, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return np.shape(function(make, *args))
        except Exception as error:
            return error


def check_same(function, *args):
    expected, found = (outcome(function, make, *args) for make in (np.array, xp.asarray))
    if not isinstance(expected, Exception):
        assert found == expected, args
        return
    kinds = [kind for kind in type(expected).__mro__ if kind.__module__ == "builtins"]
    kinds = tuple(kind for kind in kinds if kind not in (object, BaseException, Exception))
    assert isinstance(found, kinds), (args, found, expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ALONG)
def test_functions_along_an_axis(name, shape):
    for axis in AXES:
        check_same(lambda make, axis: ALONG[name](make(np.ones(shape)), axis), axis)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("places", PLACES)
def test_take(places, shape):
    for axis, as_array, mode in itertools.product(AXES, (False, True), ("raise", "clip")):
        if as_array and places == "[]":
            continue  # of floats

        def taken(make, axis, as_array, mode):
            at = make(PLACES[places]) if as_array else PLACES[places]
            return np.take(make(np.ones(shape)), at, axis=axis, mode=mode)

        check_same(taken, axis, as_array, mode)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "complex128"])
@pytest.mark.parametrize("value", ["()", "(1,)", "(3,)", "(0,)", "(4,)", "(2, 3)"])
def test_writes_of_values(value, dtype):
    """But for complex values into real data, which NumPy cuts with a warning."""
    keys = [..., 0, slice(0), [], [0], [0, 1], [False] * 3, [True, False, True], 5, slice(None)]
    for key, kind in itertools.product(keys, ("float64", "complex128")):

        def written(make, key, kind):
            x = make(np.zeros(3, dtype))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    x[key] = make(np.ones(eval(value), kind))
                except Warning as error:
                    raise TypeError(str(error)) from error
            return x

        check_same(written, key, kind)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: np.add(x, y, out=x), lambda x, y: np.add(x, y, x), lambda x, y: x.__isub__(y),
        lambda x, y: x.__imul__(y), lambda x, y: x.__setitem__(..., y), lambda x, y: x.fill(1.0),
        lambda x, y: np.copyto(x, y), lambda x, y: np.put(x, [0], y), lambda x, y: x.sort(),
        lambda x, y: np.sum(y, axis=0, out=x), lambda x, y: np.putmask(x, [True], y),
    ],
)  # fmt: skip
def test_writes_to_what_is_read_only(write, empty):
    """What is read-only is refused first, whatever the values."""
    shape = (2, 0) if empty else (2, 3)
    targets = {
        "imag": lambda make: np.imag(make(np.ones(shape))),
        "broadcast": lambda make: np.broadcast_to(make(np.ones(shape[1:])), shape),
        "diagonal": lambda make: np.broadcast_arrays(
            np.diagonal(make(np.ones((shape[1],) * 2))), np.ones((2, 1))
        )[0],
    }
    for target, y in itertools.product(targets.values(), (1.0, 1j, np.ones(4))):
        x = target(xp.asarray)
        with pytest.raises(ValueError, match="read-only"):
            write(x, y if isinstance(y, float | complex) else xp.asarray(y))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_values_of_putmask(dtype):
    """Numbers and lists are cast as they are, arrays of any shape where NumPy calls it safe."""
    for value in (0.5, 1, np.float64(0.5), [0.5], np.asarray(0.5), np.asarray([1]), np.int8(1)):

        def written(make, value):
            x = make(np.zeros(3, dtype))
            np.putmask(x, [True, False, True], make(value) if np.ndim(value) else value)
            return x

        check_same(written, value)
