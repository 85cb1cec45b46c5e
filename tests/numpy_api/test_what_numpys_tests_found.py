"""What NumPy's own tests found: dtypes, casts and errors of NumPy's functions on Arrays are NumPy's.

``tests/third_party/run_numpy.py`` runs those tests; here are the faults in small, each over all dtypes,
axes or modes that it is about.
"""

import itertools

import numpy as np
import pytest

import arraytape as xp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*INTEGERS, "bool", "float32", "float64", "complex64", "complex128")
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def same(call, *arrays):
    """The result of a call on Arrays is that on NumPy's arrays, or the error is of its class."""
    ours = [xp.asarray(x) for x in arrays]
    copies = [x.copy() for x in arrays]
    try:
        expected = call(*copies)
    except Exception as error:
        known = (TypeError, np.exceptions.AxisError, ValueError, IndexError, ZeroDivisionError)
        kind = next(kind for kind in known if isinstance(error, kind))
        with pytest.raises(kind):
            call(*ours)
        return
    found = call(*ours)
    for y, reference in zip(flat(found), flat(expected), strict=True):
        assert (y.shape, y.dtype) == (reference.shape, reference.dtype)
        np.testing.assert_array_equal(np.asarray(y), reference)
    for x, copy in zip(ours, copies, strict=True):
        np.testing.assert_array_equal(np.asarray(x), copy)


def flat(value):
    if isinstance(value, list | tuple):
        return [part for one in value for part in flat(one)]
    return [] if value is None else [value]


def of(dtype, *shape):
    return (np.arange(np.prod(shape, dtype=int)) % 5 + 1).reshape(shape).astype(dtype)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("join", [np.concatenate, np.stack, np.hstack, np.vstack])
@pytest.mark.parametrize("dtype", DTYPES)
def test_joins_cast_as_numpys_do(join, dtype):
    a, b = of("float32", 2, 3), of("int64", 2, 3)
    for casting in CASTINGS:
        same(lambda a, b, rule=casting: join((a, b), dtype=dtype, casting=rule), a, b)
        if join in (np.concatenate, np.stack):
            out = join((a, b)).astype(dtype)
            same(lambda a, b, o, rule=casting: join((a, b), out=o, casting=rule), a, b, out)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("values", [[], [7.0], [7.0, 8.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
def test_put_and_putmask_repeat_their_values(mode, values):
    x = of("float64", 3, 4)
    for places in ([], [0], [2, -1, 2], [[5, 17], [-13, 3]]):
        same(lambda x, p=places: np.put(x, p, values, mode=mode), x)
    same(lambda x: np.putmask(x, x > 2.0, values), x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_slopes_of_integers_do_not_wrap_around(dtype):
    f, x = of(dtype, 6)[::-1].copy(), np.asarray([9, 7, 4, 3, 2, 0], dtype)
    same(np.gradient, f)
    same(np.gradient, f, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_dtypes_of_two_arrays_are_numpys(dtype, other):
    a, b = of(dtype, 4), of(other, 4)
    same(lambda a, b: np.select([a > 1, b > 2], [a, b]), a, b)
    same(lambda a: np.select([a > 1], [a], 3), a)
    same(lambda a, b: np.einsum("i,i->", a, b), a, b)
    same(lambda a, b: np.einsum("i,i->i", a, b), a, b)
    if dtype != "bool":
        same(np.ediff1d, a, b[:1])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("narrow", INTEGERS)
def test_bounds_of_narrower_integers_are_no_narrower_than_they_say(dtype, narrow):
    x = np.asarray([np.iinfo(dtype).min, 3, np.iinfo(dtype).max], dtype)
    same(lambda x, lo, hi: np.clip(x, lo, hi), x, np.asarray(1, narrow), np.asarray(9, narrow))
    same(lambda x, lo, hi: np.clip(x, lo, hi), x, np.ones(3, narrow), np.full(3, 9, narrow))


AXES = {
    "rollaxis": lambda x, i: np.rollaxis(x, i),
    "rollaxis to": lambda x, i: np.rollaxis(x, 0, i),
    "rot90": lambda x, i: np.rot90(x, axes=(0, i)),
    "moveaxis": lambda x, i: np.moveaxis(x, 0, i),
    "flip": lambda x, i: np.flip(x, i),
    "diff": lambda x, i: np.diff(x, axis=i),
    "concatenate": lambda x, i: np.concatenate([x, x], i),
    "stack": lambda x, i: np.stack([x, x], i),
    "sum": lambda x, i: np.sum(x, i),
    "sort": lambda x, i: np.sort(x, i),
    "array_split": lambda x, i: np.array_split(x, 2, i),
    "median": lambda x, i: np.median(x, i),
    "expand_dims": lambda x, i: np.expand_dims(x, i),
    "take_along_axis": lambda x, i: np.take_along_axis(x, np.zeros((1, 1, 1), int), i),
    "vector_norm": lambda x, i: np.linalg.vector_norm(x, axis=i),
}


@pytest.mark.parametrize("name", AXES)
def test_an_axis_out_of_range_is_an_axis_error(name):
    """AxisError is an IndexError and a ValueError, so that either is caught."""
    for axis in range(-5, 6):
        same(lambda x, axis=axis: AXES[name](x, axis), of("float64", 2, 3, 4))
    with pytest.raises(np.exceptions.AxisError, match="7"):
        AXES[name](xp.ones((2, 3, 4)), 7)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "irfft2"])
def test_lengths_of_transforms_are_numpys(name):
    x = of("float64", 3, 4, 5)
    for s in itertools.product([-1, None, 3, 6], repeat=2):
        for axes in [(0, 1), (-1, 0), None]:
            given = np.asarray(getattr(np.fft, name)(x, s=s, axes=axes))
            found = getattr(np.fft, name)(xp.asarray(x), s=s, axes=axes)
            np.testing.assert_allclose(np.asarray(found), given, rtol=1e-12, atol=1e-12)


def test_splits_go_where_numpys_go():
    x = of("float64", 7, 2)
    for sections in (1, 2, 3, 7, 9, 0, [], [2], [1, 1, 5], [3, 20], [-2], [5, 2]):
        same(lambda x, at=sections: np.array_split(x, at), x)
        same(lambda x, at=sections: np.split(x, at), x)
    for split in (np.hsplit, np.vsplit, np.dsplit):
        for shape in ((), (4,), (2, 4), (2, 2, 4)):
            same(lambda x, split=split: split(x, 2), of("float64", *shape))


@pytest.mark.parametrize("dtype", ["O", "S4", "U2", "M8[s]", "V3", ">f8", ">i4", [("a", "f8")]])
def test_no_array_gets_a_dtype_that_it_cannot_have(dtype):
    x = xp.ones((2, 3))
    for make in (
        lambda: x.astype(dtype),
        lambda: xp.astype(x, np.dtype(dtype)),
        lambda: xp.zeros((2,), dtype=dtype),
        lambda: np.zeros_like(x, dtype=dtype),
        lambda: np.concatenate([x, x], dtype=dtype),
    ):
        with pytest.raises(TypeError):
            make()


def test_data_in_another_byte_order_is_converted():
    data = np.asarray([1.5, -2.0], ">f8")
    assert xp.asarray(data).dtype == np.dtype("float64")
    np.testing.assert_array_equal(np.asarray(xp.asarray(data)), data)
    with pytest.raises(ValueError, match="byte order"):
        xp.asarray(data, copy=False)


def test_a_negative_power_of_zero_in_place_divides_by_zero():
    x = xp.asarray([0.0, 2.0])
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in power"):
        x **= -1.0
    np.testing.assert_array_equal(np.asarray(x), [np.inf, 0.5])
