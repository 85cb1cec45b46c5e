"""Every ufunc of NumPy's on Arrays with each keyword, of each kind of dtype, and by each of its methods.

Values and dtypes are NumPy's; what has no recorded counterpart raises a TypeError that names it; what
NumPy refuses raises, too.
"""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import protocols, ufunc_methods
from helpers.same_values import bits, near, quiet

X = np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.66]])
Y = np.asarray([[1.3, 0.4, 0.9], [0.2, 1.1, 0.3]])
M = np.asarray([[True, False, True], [False, True, True]])
UFUNCS = {
    function.__name__: function
    for function in vars(np).values()
    if isinstance(function, np.ufunc) and function in protocols.UFUNCS and not function.signature
}
CLOSE = {"degrees", "float_power", "rad2deg"}  # made of ops that round once more
DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"]


def selected(u, x, *others):
    kinds = [t[-u.nout :] for t in u.types if t.startswith("d" * u.nin)]
    dtypes = list(kinds[0]) if u.nout > 1 and kinds else [x.dtype]
    outs = tuple([(x * 0 + x[:1]).astype(dtype) for dtype in dtypes])
    mask = xp.asarray(M) if isinstance(x, xp.Array) else M
    return u(x, *others, out=outs, where=mask)


def in_copy(u, x, *args):
    x = x + x * 0
    u.at(x, *args)
    return x


def added(u, x, y):
    return in_copy(u, x, [0, 0], y[0])


CALLS = {
    "call": lambda u, *x: u(*x),
    "where=True": lambda u, *x: u(*x, where=True),
    "dtype=float32": lambda u, *x: u(*x, dtype="float32"),
    "dtype=complex": lambda u, *x: u(*x, dtype=complex),
    "dtype=int64": lambda u, *x: u(*x, dtype="int64"),
    "dtype=bool": lambda u, *x: u(*x, dtype=bool),
    "casting=no": lambda u, *x: u(*x, casting="no"),
    "casting=safe": lambda u, *x: u(*x, dtype="float32", casting="safe"),
    "order": lambda u, *x: u(*x, order="F"),
    "subok": lambda u, *x: u(*x, subok=False),
    "where and out": selected,
}
METHODS = {
    "reduce": lambda u, x, _: u.reduce(x),
    "reduce, keepdims": lambda u, x, _: u.reduce(x, axis=1, keepdims=True),
    "reduce all": lambda u, x, _: u.reduce(x, axis=None),
    "reduce, initial": lambda u, x, _: u.reduce(x, axis=1, initial=1),
    "reduce, dtype": lambda u, x, _: u.reduce(x, axis=1, dtype="float32"),
    "reduce, where": lambda u, x, _: u.reduce(x, axis=0, initial=1, where=M),
    "reduce two axes": lambda u, x, _: u.reduce(x.reshape((1, 2, 3)), axis=(0, 2)),
    "reduceat": lambda u, x, _: u.reduceat(x, [0, 2, 1, 1], axis=1),
    "accumulate": lambda u, x, _: u.accumulate(x, axis=1),
    "accumulate from the end": lambda u, x, _: u.accumulate(x, axis=-1),
    "outer": lambda u, x, y: u.outer(x, y),
    "outer, dtype": lambda u, x, y: u.outer(x, y, dtype="float32"),
    "at": added,
    "at in columns": lambda u, x, y: in_copy(u, x, (slice(None), [2, 0, 2]), y),
}


def arguments(u):
    """Numbers for which a ufunc is defined: integers where it takes no others."""
    data = (X, Y)[: u.nin]
    floats = any(kinds.startswith("d" * u.nin) for kinds in u.types)
    return data if floats else tuple([(10 * x).astype(int) for x in data])


def outcome(call, u, data):
    try:
        found = call(u, *data)
    except (TypeError, ValueError) as error:
        return error
    return found if isinstance(found, tuple) else (found,)


def check(call, u, data, recorded=True, close=False):
    with quiet():
        expected = outcome(call, u, [x.copy() for x in data])
        found = outcome(call, u, [xp.asarray(x, copy=True) for x in data])
    if isinstance(expected, Exception):
        assert isinstance(found, Exception)
    elif isinstance(found, Exception):
        assert u.__name__ in str(found)
        assert not recorded, found
    else:
        for y, other in zip(found, expected, strict=True):
            x, reference = np.asarray(y), np.asarray(other)
            assert (x.dtype, x.shape) == (reference.dtype, reference.shape)
            same = (close or u.__name__ in CLOSE) and near(x, reference, 8.0)
            assert same or np.array_equal(bits(x), bits(reference))


@pytest.mark.parametrize("how", CALLS)
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.every(3)
def test_a_call(name, how):
    check(CALLS[how], UFUNCS[name], arguments(UFUNCS[name]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.every(3)
def test_a_dtype(name, dtype):
    data = [(x * 10 if dtype != "bool" else x > 0.5).astype(dtype) for x in (X, Y)]
    check(CALLS["call"], UFUNCS[name], data[: UFUNCS[name].nin])


APART = np.random.default_rng(3).uniform(0.2, 2.0, (2, 2, 3))  # no ties and no whole ratios
BINARY = [name for name, u in UFUNCS.items() if (u.nin, u.nout) == (2, 1)]


def has(how, u):
    return not (how.startswith("reduce") and u in ufunc_methods.MISREDUCED)


@pytest.mark.parametrize("how", METHODS)
@pytest.mark.parametrize("name", BINARY)
def test_a_method(name, how):
    u = UFUNCS[name]
    # What is added twice is summed first.
    check(METHODS[how], u, arguments(u), has(how, u), close=how.startswith("at"))


@pytest.mark.parametrize("how", METHODS)
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.every(2)
def test_the_derivative_of_a_method(name, how):
    """Derivatives of each method are those of differences; a replay has the values of eager calls."""
    u = UFUNCS[name]
    if not has(how, u) or "dtype" in how:
        return

    def method(x, y):
        return METHODS[how](u, x, y)

    try:
        with quiet():
            expected = method(*APART.copy())
    except (TypeError, ValueError):  # NumPy has no such method
        return
    if expected.dtype.kind != "f":
        return
    with quiet():
        testing.check_gradients(method, tuple(APART))
        replayed = xp.function(method)
        for scale in (1.0, 1.0, 1.01):
            found, eager = (f(*map(xp.asarray, APART * scale)) for f in (replayed, method))
            assert near(np.asarray(found), np.asarray(eager), 2.0)


def test_unary_ufuncs_are_applied_at_indices():
    x = xp.asarray(X, copy=True)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        np.square.at(y, ([0, 1, 0], [0, 2, 0]))
    expected = X * 2.0
    np.square.at(expected, ([0, 1, 0], [0, 2, 0]))
    assert np.array_equal(np.asarray(y), expected)
    slopes = np.full_like(X, 2.0)
    slopes[0, 0] = 4.0 * (2.0 * X[0, 0]) ** 3 * 2.0
    slopes[1, 2] = 8.0 * X[1, 2]
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), slopes)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda x: np.power.reduce(x), TypeError, "np.power.reduce has no recorded counterpart"),
        (lambda x: np.add.reduceat(x, [0, 9]), IndexError, "out of bounds"),
        (lambda x: np.add.reduceat(x, [0.5]), TypeError, "np.add.reduceat"),
        (lambda x: np.subtract.reduce(x, axis=None), ValueError, "not reorderable"),
        (lambda x: np.logaddexp.reduce(x, axis=5), ValueError, "axis 5"),
        (lambda x: np.negative.reduce(x), ValueError, "only supported for binary"),
        (lambda x: np.maximum.at(x, [9], 1.0), IndexError, "np.maximum.at"),
    ],
)
def test_a_bad_argument_of_a_method_is_named(call, error, said):
    with pytest.raises(error, match=said):
        call(xp.asarray(X, copy=True))


@pytest.mark.parametrize("u", [np.add, np.logaddexp, np.multiply])
def test_methods_of_no_elements_have_the_identity(u):
    x = xp.asarray(X[:0])
    assert np.array_equal(np.asarray(u.reduce(x)), u.reduce(X[:0]))
    assert u.reduceat(xp.asarray(X), []).shape == (0, 3)


@pytest.mark.parametrize("name", UFUNCS)
def test_a_signature_is_refused(name):
    u = UFUNCS[name]
    with pytest.raises(TypeError, match=f"{u.__name__} with signature"):
        u(*map(xp.asarray, arguments(u)), signature=u.types[-1])
