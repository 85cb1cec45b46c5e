"""What NumPy's own tests found: dtypes, casts and errors of NumPy's functions on Arrays are NumPy's.

``tests/third_party/run_numpy.py`` runs those tests; here are the faults in small, each over all dtypes,
axes or modes that it is about.
"""

import fractions
import itertools

import numpy as np
import pytest

import arraytape as xp
from arraytape._util.versions import NUMPY

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
        known = (
            TypeError, np.exceptions.AxisError, ValueError, IndexError, ZeroDivisionError, RuntimeError,
        )  # fmt: skip
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


# --- lengths, masks, numbers, casts ----------------------------------------------------------------
LENGTHS = (
    6, np.uint32(6), np.int8(6), np.asarray(6), np.asarray([6]), [np.uint8(2), 3], (2, np.asarray(3)),
    True, (True, -1), np.True_, 6.0, (6.0,), np.float64(6), np.asarray([6.0]),
    (np.zeros((1, 1), int), -1),
)  # fmt: skip
SHAPED = {
    "np.reshape": lambda x, shape: np.reshape(x, shape),
    "np.resize": lambda x, shape: np.resize(x, shape),
    "np.zeros_like": lambda x, shape: np.zeros_like(x, shape=shape),
    "np.full_like": lambda x, shape: np.full_like(x, 2.0, shape=shape),
    "np.broadcast_to": lambda x, shape: np.broadcast_to(x[:1], shape),
    "reshape": lambda x, shape: x.reshape(shape),
}


@pytest.mark.parametrize("function", SHAPED)
@pytest.mark.parametrize("shape", LENGTHS, ids=repr)
def test_lengths_are_integers_of_any_kind_and_no_booleans(function, shape):
    same(lambda x: SHAPED[function](x, shape), of("float64", 6))


MASKS = (
    [1, 0, 1],
    (True, False, True),
    [0.5, 0.0, 2.0],
    1,
    np.int64(0),
    np.True_,
    np.asarray([1, 0, 1]),
)


@pytest.mark.parametrize("mask", MASKS, ids=repr)
def test_lists_and_scalars_are_masks_and_arrays_of_numbers_are_not(mask):
    x = of("float64", 2, 3)
    for ufunc in (np.add, np.multiply, np.power):
        same(lambda x, y, u=ufunc: u(x, 2.0, out=y, where=mask), x, np.zeros((2, 3)))
    for function in (np.sum, np.prod, np.any, np.all):
        same(lambda x, f=function: f(x, where=mask), x)
    same(lambda x, y: np.copyto(y, x, where=mask), x, np.zeros((2, 3)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_with_a_mask_or_a_beginning_are_numpys_to_the_last_bit(dtype, axis):
    rng = np.random.default_rng(2)
    x, mask = rng.normal(size=(40, 50)).astype(dtype), rng.random((40, 50)) > 0.3
    for function in (np.sum, np.mean, np.std, np.var):
        same(lambda x, f=function: f(x, axis=axis, where=mask), x)
    same(lambda x: np.sum(x, axis=axis, initial=-3.7), x)
    same(lambda x: np.add.reduce(x, axis=axis, initial=-3.7), x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_sums_of_negative_zeros_from_a_negative_zero_on_are_negative(dtype):
    zero = -np.zeros((), dtype)
    for n in (0, 1, 9, 150):
        found = np.sum(xp.asarray(np.repeat(zero, n)), initial=zero[()])
        assert np.signbit(np.asarray(found).real)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "int8", "uint16"])
def test_ufunc_at_rounds_and_wraps_step_by_step(ufunc, dtype):
    rng = np.random.default_rng(4)
    x, places = of(dtype, 30), rng.integers(30, size=300)
    values = (100.0 * rng.random(300)).astype(dtype)
    ours, theirs = xp.asarray(x), x.copy()
    ufunc.at(ours, places, values)
    ufunc.at(theirs, places, values)
    np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize("size", [1e39, -1e300, 2**130])
def test_numbers_that_overflow_in_single_precision_warn_at_the_users_line(size):
    x = xp.ones(2, dtype=xp.float32)
    for call in (lambda: x + size, lambda: size * x, lambda: np.add(x, size, dtype="float32")):
        with pytest.warns(RuntimeWarning, match="overflow encountered in cast") as caught:
            found = call()
        assert np.isinf(np.asarray(found)).all()
        assert found.dtype == np.float32
        assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.skipif(NUMPY >= (2, 5), reason="NumPy 2.5 has lost them")
@pytest.mark.parametrize("lengths", [(2, 2), (2, 3), (3, 2)])
def test_cross_takes_vectors_of_length_2_and_says_that_numpy_is_to_lose_them(lengths):
    a, b = (of("float64", 4, n) / (1.0 + i) for i, n in enumerate(lengths))
    with pytest.warns(DeprecationWarning, match="2-dimensional vectors") as caught:
        same(lambda a, b: np.cross(a, b), a, b)
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.warns(DeprecationWarning, match="2-dimensional vectors"):
        same(lambda a, b: np.cross(a.T, b, axisa=0, axisc=0), a, b)


@pytest.mark.skipif(NUMPY < (2, 5), reason="NumPy takes them")
@pytest.mark.parametrize("lengths", [(2, 2), (2, 3), (3, 2), (4, 4)])
def test_cross_takes_vectors_of_length_3_alone(lengths):
    a, b = (xp.ones((4, n)) for n in lengths)
    with pytest.raises(ValueError, match=rf"np\.cross: vectors of length 3, got .*{__file__}"):
        np.cross(a, b)


@pytest.mark.skipif(NUMPY < (2, 5), reason="NumPy has it without a word")
def test_fix_says_that_it_is_to_go_at_the_users_line():
    x = xp.asarray([1.5, -2.5])
    with pytest.warns(DeprecationWarning, match="Use numpy.trunc") as caught:
        found = [np.fix(x), np.fix(x, out=xp.zeros(2))]
    assert [warning.filename for warning in caught] == [__file__] * 2
    assert [y.tolist() for y in found] == [[1.0, -2.0]] * 2


@pytest.mark.skipif(NUMPY < (2, 5), reason="NumPy raises LinAlgError")
@pytest.mark.parametrize("p", [None, 2, -2, 1, "fro", "nuc"])
def test_cond_of_what_is_not_finite_has_no_slope(p):
    """NaN there, also in a stack, whose other matrices have the slope that they have alone."""
    data = np.asarray([[[1.0, 2.0], [3.0, 4.5]], [[np.nan, 1.0], [2.0, 3.0]]])
    x, alone = xp.asarray(data), xp.asarray(data[0])
    try:
        expected = np.linalg.cond(data, p)
    except np.linalg.LinAlgError as error:  # that of some builds' LAPACK
        with pytest.raises(np.linalg.LinAlgError, match=str(error)):
            np.linalg.cond(x, p)
        return
    y = np.linalg.cond(x, p)
    np.testing.assert_array_equal(np.asarray(y), expected)
    g = xp.grad(lambda x: xp.sum(np.linalg.cond(x, p)))(x)
    np.testing.assert_allclose(g[0], xp.grad(lambda x: np.linalg.cond(x, p))(alone), rtol=1e-12)
    assert not np.isfinite(np.asarray(g[1])).all()


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
@pytest.mark.parametrize("scale", [1e200, 1e160, 1e-160, 1e-200])
def test_cond_of_examples_is_that_of_a_loop_where_norms_overflow(p, scale):
    data = np.asarray([[[2.0, 0.3], [0.4, 1.9]]]) * np.asarray([[[1.0]], [[scale]]])
    with np.errstate(all="ignore"):
        expected = [float(np.linalg.cond(xp.asarray(a), p)) for a in data]
        found = xp.vmap(lambda a: np.linalg.cond(a, p))(xp.asarray(data))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


@pytest.mark.parametrize("call", [np.sort, np.argsort, xp.Array.sort, xp.Array.argsort])
def test_an_order_is_said_by_kind_or_by_keywords(call):
    keywords = {"stable": True} | ({"descending": True} if NUMPY >= (2, 5) else {})
    for name, value in keywords.items():
        with pytest.raises(ValueError, match="not both"):
            call(xp.asarray([2.0, 1.0]), kind="stable", **{name: value})


def test_methods_sort_in_descending_order_in_any_version():
    """NaN comes last; equal elements keep their order, and the slope follows them."""
    data = [2.0, np.nan, 3.0, 2.0, -np.inf, np.nan]
    x = xp.asarray(data)
    assert x.argsort(descending=True).tolist() == [2, 0, 3, 4, 1, 5]
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        y.sort(descending=True)
        first = y[0] + 5.0 * y[2]
    np.testing.assert_array_equal(np.asarray(y), [3.0, 2.0, 2.0, -np.inf, np.nan, np.nan])
    assert tape.gradient(first, x).tolist() == [0.0, 0.0, 1.0, 5.0, 0.0, 0.0]


def test_paths_of_einsum_that_leave_factors_are_refused():
    for text, shapes, path in (
        ("ab,bc,cd,de->ae", [(2, 2)] * 4, [(2, 3), (0, 1)]),
        ("a,a,a->a", [(2,)] * 3, [(1,), (0, 1)]),
    ):
        with pytest.raises(RuntimeError, match="leaves 2 factors"):
            np.einsum(text, *[xp.ones(s) for s in shapes], optimize=["einsum_path", *path])


@pytest.mark.parametrize("order", ["A", "C", "F"])
@pytest.mark.parametrize("optimize", [False, True])
def test_einsum_lays_its_result_out_as_asked(order, optimize):
    for layouts in ("FF", "FC", "CF", "CC"):
        a, b = (np.ones(s, order=o) for s, o in zip(((2, 3, 5), (4, 3)), layouts, strict=True))
        call = {"order": order, "optimize": optimize}
        found = np.einsum("...ft,mf->...mt", xp.asarray(a), xp.asarray(b), **call)
        expected = np.einsum("...ft,mf->...mt", a, b, **call)
        assert np.asarray(found).strides == expected.strides


def test_a_call_warns_once():
    x = xp.asarray([[np.nan, np.nan], [1.0, np.nan]])
    for function in (np.nanmax, np.nanmin):
        with pytest.warns(RuntimeWarning, match="All-NaN slice encountered") as caught:
            function(x, axis=1)
        assert len(caught) == 1
    with pytest.warns(np.exceptions.RankWarning) as caught:
        np.polyfit(xp.asarray([1.0, 1.0, 1.0]), xp.asarray([1.0, 2.0, 3.0]), 2)
    assert len(caught) == 1


def test_numbers_that_are_no_floats_are_places_of_quantiles():
    x = xp.asarray([3.0, 1.0, 4.0, 1.5])
    assert np.quantile(x, fractions.Fraction(1, 2)) == 2.25
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = np.percentile(x, fractions.Fraction(100, 3))
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), [0.0, 0.0, 0.0, 1.0])


def test_an_array_interface_is_followed_into_its_memory():
    class Other:
        def __init__(self, x):
            self.__array_interface__, self.x = x.__array_interface__, x

    x = np.arange(6.0)
    for step in (1, 2):
        assert np.may_share_memory(xp.asarray(x[::2], copy=False), Other(x[::step]))
    assert not np.may_share_memory(xp.asarray(x, copy=True), Other(x))


def test_the_rank_of_lstsq_is_numpys():
    a = np.asarray(
        [[0.0, 1, 0, 1, 2, 0], [0, 2, 0, 0, 1, 0], [1, 0, 1, 0, 0, 4], [0, 0, 0, 2, 3, 0]]
    ).T
    for rcond in (-1, None, 1e-3, 0.5):
        found = np.linalg.lstsq(xp.asarray(a), np.ones(6), rcond=rcond)
        expected = np.linalg.lstsq(a, np.ones(6), rcond=rcond)
        assert found[2] == expected[2]
        np.testing.assert_array_equal(np.asarray(found[1]), expected[1])


def test_values_are_numpys_where_out_alone_is_an_array():
    out = xp.zeros(2)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.floor_divide(np.asarray([np.inf, 3.0]), np.asarray([2.0, 2.0]), out=out)
    np.testing.assert_array_equal(np.asarray(out), [np.nan, 1.0])


def test_errors_that_numpy_raises_on_purpose_keep_their_types():
    x, weights = of("float64", 2, 3), np.ones((2, 3), int)
    same(lambda x: np.cov(x, fweights=weights), x)
    wide = np.asarray([-(2**31), 2**31 - 1], np.int32)
    same(lambda x: np.isin(x, x, kind="table"), wide)
