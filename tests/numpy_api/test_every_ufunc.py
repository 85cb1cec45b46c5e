"""Every ufunc of NumPy's on Arrays with each keyword, of each kind of dtype, and by each of its methods.

Values and dtypes are NumPy's; what has no recorded counterpart raises a TypeError that names it; what
NumPy refuses raises, too.
"""

import numpy as np
import pytest

import arraytape as xp
from arraytape._numpy_api import protocols, ufuncs
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


def added(u, x, y):
    x = x + x * 0
    u.at(x, [0, 0], y[0])
    return x


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
    "accumulate": lambda u, x, _: u.accumulate(x, axis=1),
    "accumulate from the end": lambda u, x, _: u.accumulate(x, axis=-1),
    "outer": lambda u, x, y: u.outer(x, y),
    "at": added,
}
RECORDED = {
    "reduce": set(protocols.REDUCTIONS), "accumulate": set(ufuncs.ACCUMULATED),
    "outer": set(UFUNCS.values()), "at": set(ufuncs.ADDED),
}  # fmt: skip


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


@pytest.mark.parametrize("how", METHODS)
@pytest.mark.parametrize("name", [n for n, u in UFUNCS.items() if (u.nin, u.nout) == (2, 1)])
def test_a_method(name, how):
    u = UFUNCS[name]
    recorded = u in RECORDED[how.partition(",")[0].split()[0]]
    # What is added twice is summed first.
    check(METHODS[how], u, arguments(u), recorded and "initial" not in how, close=how == "at")


@pytest.mark.parametrize("name", UFUNCS)
def test_a_signature_is_refused(name):
    u = UFUNCS[name]
    with pytest.raises(TypeError, match=f"{u.__name__} with signature"):
        u(*map(xp.asarray, arguments(u)), signature=u.types[-1])
