"""NumPy's functions reach an op by the function object, not by its name: values are NumPy's."""

import inspect
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import protocols

MODULES = (np, np.linalg, np.fft, np.emath, np.char, np.strings, np.ma, np.lib.stride_tricks)
OWN = {id(f) for home in (np, np.linalg, np.fft) for f in vars(home).values()}
FOREIGN = sorted(
    {
        f"{home.__name__}.{name}": function
        for home in MODULES
        for name, function in vars(home).items()
        if hasattr(function, "_implementation") and id(function) not in OWN
    }.items()
)
INSIDE = np.asarray([0.3, 0.9, 0.5])
OUTSIDE = np.asarray([0.3, -1.7, 2.5])
EMATH = ("arccos", "arcsin", "arctanh", "log", "log10", "log2", "sqrt")
START, STOP = np.asarray([0.5, -1.0]), np.asarray([[2.0, 3.0], [4.0, -1.0]])
SPACES = {
    "linspace": (lambda a, b: np.linspace(a, b, 5), START, STOP),
    "linspace, last axis": (lambda a, b: np.linspace(a, b, 4, axis=-1), START, STOP),
    "linspace, middle axis": (lambda a, b: np.linspace(a, b, 4, axis=1), START, STOP),
    "linspace without the end": (lambda a, b: np.linspace(a, b, 3, False), START, STOP),
    "linspace of one": (lambda a, b: np.linspace(a, b, 1), START, STOP),
    "linspace from a number": (lambda b: np.linspace(1.0, b, 7), STOP),
    "linspace of scalars": (lambda a, b: np.linspace(a[0], b[0, 1], 7), START, STOP),
    "linspace with its step": (lambda a, b: np.linspace(a, b, 6, retstep=True)[1], START, STOP),
    "logspace": (lambda a, b: np.logspace(a, b, 5), START, STOP),
    "logspace, last axis": (lambda a, b: np.logspace(a, b, 5, axis=-1), START, STOP),
    "logspace, base": (lambda a, b: np.logspace(a, b, 3, base=2), START, STOP),
    "logspace, array of bases": (lambda a, c: np.logspace(a, 2.0, 3, base=c), START, abs(STOP)),
    "logspace, one base": (lambda c: np.logspace(0.5, 2.0, 3, base=c[1]), abs(START)),
}
DTYPES = ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64")


def same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(found), expected)


def check(function, *data):
    def total(*xs):
        return testing.total(function(*xs))

    testing.check_gradients(total, data)


@pytest.mark.parametrize(("name", "function"), FOREIGN, ids=[name for name, _ in FOREIGN])
def test_a_function_of_another_place_runs_no_op_of_its_name(name, function):
    if function in protocols.COUNTERPARTS:
        return  # answered by its own implementation, tested by value
    with pytest.raises(TypeError, match="no recorded counterpart"):
        protocols.op_of_numpy_function(function)


def test_every_function_with_an_op_is_the_object_at_its_path():
    for home, path in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        for name, function in vars(home).items():
            if not hasattr(function, "_implementation") or isinstance(function, np.ufunc):
                continue
            try:
                ours = protocols.op_of_numpy_function(function)
            except TypeError:
                continue
            own = protocols.FUNCTIONS.get(function.__name__, function.__name__)
            place = xp if vars(np).get(function.__name__) is function else getattr(xp, path[:-1])
            assert ours is getattr(place, own), name


def test_a_function_with_a_known_name_is_refused():
    def sum(a):
        return a

    with pytest.raises(TypeError, match="sum has no recorded counterpart"):
        protocols.call_numpy_function(sum, xp.asarray([1.0]))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("values", [INSIDE, OUTSIDE, -OUTSIDE * 3.0], ids=("in", "out", "far"))
@pytest.mark.parametrize("name", EMATH)
def test_emath_equals_numpy(name, values, dtype):
    function, data = getattr(np.emath, name), values.astype(dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(function(xp.asarray(data)), function(data))


@pytest.mark.parametrize("values", [INSIDE, OUTSIDE], ids=("in", "out"))
@pytest.mark.parametrize("name", EMATH)
def test_emath_has_gradients(name, values):
    check(getattr(np.emath, name), values)


@pytest.mark.parametrize("p", [2, -2, 0.5, np.asarray([2, -1, 3]), np.asarray([0.5, 2.0, -1.0])])
@pytest.mark.parametrize("x", [INSIDE, OUTSIDE, np.asarray([3, 2, 5])], ids=("in", "out", "int"))
def test_emath_power_and_logn(x, p):
    same(np.emath.power(xp.asarray(x), p), np.emath.power(x, p))
    same(np.emath.logn(2.0, xp.asarray(x)), np.emath.logn(2.0, x))
    if x.dtype.kind == "f":
        check(lambda v: np.emath.power(v, p), x)
        check(lambda v: np.emath.logn(2.0, v), x)


@pytest.mark.parametrize("case", SPACES)
def test_spaces_between_arrays(case):
    function, *data = SPACES[case]
    same(function(*map(xp.asarray, data)), function(*data))
    check(function, *data)


@pytest.mark.parametrize("dtype", [None, "int64", "float32"])
@pytest.mark.parametrize("ends", DTYPES)
def test_dtypes_of_spaces(ends, dtype):
    start, stop = (np.asarray(values).astype(ends) for values in ([0, 1], [[1, 0], [1, 1]]))
    for num in (0, 1, 4):
        if ends.startswith("complex") and dtype is not None:
            continue
        expected = np.linspace(start, stop, num, dtype=dtype)
        same(np.linspace(xp.asarray(start), xp.asarray(stop), num, dtype=dtype), expected)


def test_wrong_number_of_points_raises():
    with pytest.raises(ValueError, match="must be non-negative"):
        np.linspace(xp.asarray([1.0]), 2.0, -1)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_r_alone(shape):
    a = np.random.default_rng(0).normal(size=shape)
    same(np.linalg.qr(xp.asarray(a), mode="r"), np.linalg.qr(a, mode="r"))
    if shape[-2] >= shape[-1]:
        check(lambda x: np.linalg.qr(x, mode="r"), a)
    for mode in ("reduced", "complete"):
        found, expected = np.linalg.qr(xp.asarray(a), mode), np.linalg.qr(a, mode)
        for part, other in zip(found, expected, strict=True):
            same(part, other)


@pytest.mark.parametrize("mode", ["raw", "full", "x"])
def test_other_modes_of_qr_raise(mode):
    with pytest.raises(TypeError, match="has no mode"):
        np.linalg.qr(xp.asarray(np.eye(2)), mode=mode)


def test_facts_take_numpys_parameters():
    x = xp.asarray(np.zeros((2, 3)))
    assert (np.size(x), np.size(x, 0), np.size(x, axis=1)) == (6, 2, 3)
    assert (np.shape(a=x), np.ndim(a=x)) == ((2, 3), 2)
    assert "axis" in inspect.signature(np.size).parameters
