"""A list of Arrays where NumPy takes an array is one recorded Array: values and gradients stay."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._numpy_api import protocols

M = np.asarray([[2.0, 0.3, 0.7], [0.4, 1.9, 0.6], [0.2, 0.5, 3.1]])
N = np.asarray([[0.5, 1.3, -0.7], [1.4, 0.1, 0.6], [0.9, -1.5, 2.1]])
V = np.asarray([0.4, 1.3, 2.2])
W = np.asarray([1.5, -0.2, 0.8])
P = np.asarray([0.1, 0.9, 3.0])
MASK = np.asarray([True, False, True])
FIXED = {  # functions of a number of arrays, with the rest of their arguments
    "append": (np.append, M, V),
    "append along an axis": (lambda a, b: np.append(a, b, axis=0), M, N),
    "average": (lambda a, w: np.average(a, weights=w), V, P),
    "broadcast_arrays": (lambda a, b: np.broadcast_arrays(a, b)[1], M, V),
    "clip": (np.clip, V, W - 1.0, P),
    "compress": (lambda c, a: np.compress(c, a), MASK, V),
    "convolve": (np.convolve, V, W),
    "copyto": (lambda a, b: written(np.copyto, a, b), V, W),
    "corrcoef": (np.corrcoef, V, W),
    "correlate": (np.correlate, V, W),
    "cov": (np.cov, V, W),
    "cross": (np.cross, V, W),
    "delete": (lambda a, i: np.delete(a, i), V, np.asarray([0, 2])),
    "diff": (lambda a, b: np.diff(a, prepend=b), V, W),
    "dot": (np.dot, M, N),
    "ediff1d": (lambda a, b: np.ediff1d(a, to_end=b), V, W),
    "einsum": (lambda a, b: np.einsum("ij,j->i", a, b), M, V),
    "einsum of letters": (lambda a, b: np.einsum(a, [0, 1], b, [1], [0]), M, V),
    "extract": (np.extract, MASK, V),
    "fill_diagonal": (lambda a, b: written(np.fill_diagonal, a, b), M, V),
    "full_like": (np.full_like, M, V),
    "gradient": (np.gradient, W, P),
    "inner": (np.inner, M, V),
    "insert": (lambda a, v: np.insert(a, [0, 2, 2], v), V, W),
    "interp": (np.interp, V, P, W),
    "kron": (np.kron, M, V),
    "linspace": (lambda a, b: np.linspace(a, b, 4), V, W),
    "logspace": (lambda a, b: np.logspace(a, b, 4), V, W),
    "logn": (np.emath.logn, V, P),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], M, V),
    "matmul": (np.linalg.matmul, M, N),
    "meshgrid": (lambda a, b: np.meshgrid(a, b)[1], V, W),
    "outer": (np.outer, V, W),
    "outer of linalg": (np.linalg.outer, V, W),
    "piecewise": (lambda x: np.piecewise(x, [x > 1.0], [lambda t: t**2, np.sin]), V),
    "polyfit": (lambda x, y: np.polyfit(x, y, 1), P, W),
    "polyval": (np.polyval, V, W),
    "power": (np.emath.power, V, W),
    "put": (lambda a, v: written(np.put, a, [0, 2, 1], v), V, W),
    "put_along_axis": (lambda a, v: along(a, v), M, N),
    "putmask": (lambda a, v: written(np.putmask, a, MASK, v), V, W),
    "quantile": (lambda a, q: np.quantile(a, q), V, np.asarray([0.3, 0.6])),
    "searchsorted": (np.searchsorted, P, V),
    "select": (lambda c, a, b: np.select([c], [a], b), MASK, V, W),
    "solve": (np.linalg.solve, M, N),
    "take": (np.take, V, np.asarray([0, 2])),
    "take_along_axis": (lambda a, i: np.take_along_axis(a, i, 0), V, np.asarray([0, 2])),
    "tensordot": (np.tensordot, M, N),
    "trapezoid": (np.trapezoid, W, P),
    "vdot": (np.vdot, V, W),
    "vecdot": (np.linalg.vecdot, M, V),
    "where": (np.where, MASK, V, W),
    "concatenate": (lambda a, b: np.concatenate([a, b]), M, N),
    "stack": (lambda a, b: np.stack([a, b]), V, W),
    "hstack": (lambda a, b: np.hstack([a, b]), V, W),
    "vstack": (lambda a, b: np.vstack([a, b]), V, M),
    "dstack": (lambda a, b: np.dstack([a, b]), M, N),
    "column_stack": (lambda a, b: np.column_stack([a, b]), M, V),
    "multi_dot": (lambda a, b: np.linalg.multi_dot([a, b]), M, N),
    "choose": (lambda a, b: np.choose([0, 1, 0], [a, b]), V, W),
}  # fmt: skip
UFUNCS = {
    f"ufunc {name}": (function, V, P)
    for name, function in sorted(vars(np).items())
    if isinstance(function, np.ufunc)
    and function.nin == 2
    and function.nout == 1
    and function.signature is None
    and "dd->d" in function.types
}
CALLS = FIXED | UFUNCS
WRITERS = {"copyto", "fill_diagonal", "put", "put_along_axis", "putmask"}  # into an Array alone
UNASKED = {"full_like", "take"}  # NumPy asks no Array in a list as their first argument


def written(function, a, *others):
    copy = a + 0.0 if isinstance(a, xp.Array) else np.array(a)
    function(copy, *others)
    return copy


def along(a, values):
    places = np.asarray([[1, 0, 2], [0, 2, 1], [2, 1, 0]])
    return written(lambda x, v: np.put_along_axis(x, places, v, axis=1), a, values)


def nested(x, kind=list):
    """An Array as nested lists of its elements, by its rows' elements."""
    return kind([nested(part, kind) if part.ndim else part for part in x])


def shapes(x):
    """An Array, and the lists that NumPy would join to it: of rows, of elements, as tuples."""
    yield "elements", nested(x)
    yield "rows", [x[i] for i in range(x.shape[0])]
    yield "tuple", nested(x, tuple)
    yield "mixed", [*(x[i] for i in range(x.shape[0] - 1)), x[-1:][0]]


def run(function, data, at=None, how=None):
    """The result and the gradients, with argument ``at`` as a list."""
    arrays = [xp.asarray(values) for values in data]
    real = [x for x in arrays if x.dtype.kind == "f"]
    with xp.GradientTape() as tape:
        for x in real:
            tape.watch(x)
        given = [dict(shapes(x))[how] if i == at else x for i, x in enumerate(arrays)]
        y = function(*given)
        if not isinstance(y, xp.Array) or y.dtype.kind != "f":
            return y, None
        weights = np.linspace(0.5, 1.5, y.size).reshape(y.shape)
        loss = xp.sum(y * xp.asarray(weights))
    return y, tape.gradient(loss, real)


def listed():
    for name, (_, *data) in CALLS.items():
        for at in range(len(data)):
            for how in ("elements", "rows", "tuple", "mixed"):
                if len(data) == 1 or (name in WRITERS | UNASKED and at == 0):
                    continue
                yield name, at, how


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("name", "at", "how"), [*listed()])
def test_a_list_of_arrays_is_an_array(name, at, how):
    function, *data = CALLS[name]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if isinstance(function, np.ufunc) and function not in protocols.UFUNCS:
            with pytest.raises(TypeError, match="no recorded counterpart"):
                run(function, data, at, how)
            return
        expected, gradients = run(function, data)
        found, others = run(function, data, at, how)
        same(found, expected)
    assert (others is None) == (gradients is None)
    for mine, theirs in zip(others or [], gradients or [], strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("other", [1, 2.5, 1j, True, np.float32(2), [1.0], np.ones(1)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float32", "complex64"])
def test_the_dtype_is_that_of_numpys_list(dtype, other):
    x = np.ones(1 if np.ndim(other) else (), dtype)
    expected = np.append([x, other], np.ones(1, "int8"))
    same(np.append([xp.asarray(x), other], xp.asarray(np.ones(1, "int8"))), expected)


def test_ragged_lists_raise():
    x = xp.asarray(V)
    with pytest.raises(ValueError, match="stack"):
        np.append([x, x[:2]], x)


def test_lengths_and_places_stay_numbers():
    x, n = xp.asarray(V), xp.asarray(2)
    same(np.broadcast_to(x, (n, 3)), np.broadcast_to(V, (2, 3)))
    same(np.tile(x, (n, n)), np.tile(V, (2, 2)))


def test_functions_called_by_numpy_get_their_lists_unchanged():
    x, seen = xp.asarray(M), []
    np.apply_along_axis(lambda line, pair: seen.append(pair) or line, 0, x, [x, 2.0])
    assert type(seen[0]) is list
    assert seen[0][0] is x
