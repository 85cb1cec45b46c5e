"""NumPy's functions on Arrays against NumPy's own: values, dtypes, shapes and warnings.

Of all dtypes and special values, by calls that are made from one table.  A function with a recorded
counterpart that has no row fails a test.
"""

import itertools
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api import exact, protocols
from arraytape._util.versions import NUMPY
from helpers.same_values import bits, quiet

DTYPES = "bool", "int8", "uint8", "int64", "float32", "float64", "complex64", "complex128"
nan, inf = np.nan, np.inf
VALUES = {
    "plain": [[3.0, 1.0, 2.0], [0.0, 5.0, 2.0]],
    "special": [[nan, 1.0, -0.0], [inf, nan, 2.0]],
    "infinite": [[-inf, 1.0, inf], [0.0, -0.0, 3.0]],
    "all NaN": [[nan, nan, nan], [1.0, nan, -2.0]],
    "vector": [2.0, -1.0, 2.0, 4.0],
    "vector, special": [1.0, nan, -inf, -0.0],
    "number": 3.0,
    "NaN": nan,
    "one": [7.0],
    "empty": [],
    "no rows": np.zeros((0, 3)),
    "square": [[2.0, 1.0], [1.0, 3.0]],
    "singular": [[1.0, 2.0], [2.0, 4.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
    "square, NaN": [[1.0, nan], [0.0, 1.0]],
    "square, inf": [[1.0, inf], [0.0, 1.0]],
    "stack": [[[2.0, 1.0], [1.0, 3.0]], [[1.0, 2.0], [2.0, 4.0]]],
}


def of_dtype(values, dtype):
    """The values in a dtype; None where it cannot hold them."""
    x = np.asarray(values, np.float64)
    if np.dtype(dtype).kind in "biu":
        return (
            x.astype(dtype)
            if np.isfinite(x).all() and (x >= 0).all()
            else (x.astype(dtype) if dtype in ("int8", "int64") and np.isfinite(x).all() else None)
        )
    with quiet():
        y = x.astype(dtype)
    return (
        np.asarray(y * (1 + 0.5j), y.dtype) if y.dtype.kind == "c" and np.isfinite(x).all() else y
    )


# --- calls --------------------------------------------------------------------------------------
def by(*options):
    """One call for each dict of keywords."""
    return [given(**keywords) for keywords in options]


def given(*args, **keywords):
    """A call with arguments behind x."""
    return lambda f, x: f(x, *args, **keywords)


W = {"where": np.asarray([True, False, True])}
R = ({}, {"axis": 0}, {"axis": -1, "keepdims": True})
BACKWARDS = ({"descending": True}, {"axis": 0, "descending": True, "stable": True})
DESCENDING = BACKWARDS if NUMPY >= (2, 5) else ()
PAIRS = [
    (lambda f, x: f(x, x)),
    (lambda f, x: f(x, 2)),
    (lambda f, x: f(x, 2.0)),
    (lambda f, x: f(2, x)),
    (lambda f, x: f(x, np.float32(1.5))),
    (lambda f, x: f(x, x[::-1] if x.ndim else x)),
    (lambda f, x: f(x, np.asarray(3, np.int8))),
    (lambda f, x: f(x, True)),
]
CALLS = {
    np.sum: by(*R, {"dtype": np.float32}, {"initial": 2}, W),
    np.prod: by(*R, {"dtype": np.float64}, {"initial": 2.5}, W),
    np.mean: by(*R, {"dtype": np.float32}, W),
    np.std: by(*R, {"ddof": 1}, {"dtype": np.float64}, {"correction": 1}),
    np.var: by(*R, {"ddof": 1}, {"ddof": 5}, {"dtype": np.float32}),
    np.max: by(*R, {"initial": 1}, {"initial": 2.5, **W}),
    np.min: by(*R, {"initial": -1.5}),
    np.amax: by(*R),
    np.amin: by(*R),
    np.all: by(*R, W),
    np.any: by(*R, W),
    np.ptp: by(*R),
    np.median: by(*R, {"axis": (0,)}),
    np.nanmedian: by(*R),
    np.percentile: [
        given(50),
        given([0, 33.3, 100]),
        given(25, axis=0),
        given(np.float32(40)),
        given(60, axis=-1, keepdims=True),
        given(np.asarray([10, 90])),
    ],
    np.quantile: [
        given(0.5),
        given([0, 0.333, 1]),
        given(0.25, axis=0),
        given(np.float32(0.4)),
        given(0.6, axis=-1, keepdims=True),
        given(1),
        given(0),
    ],
    np.nanpercentile: [given(50), given([0, 33.3, 100]), given(25, axis=0)],
    np.nanquantile: [given(0.5), given([0, 0.333, 1]), given(0.25, axis=0)],
    np.nanmean: by(*R, {"dtype": np.float32}),
    np.nanvar: by(*R, {"ddof": 1}, {"ddof": 2, "axis": 0}, {"dtype": np.float64}),
    np.nanstd: by(*R, {"ddof": 1}, {"ddof": 2, "axis": 0}),
    np.nansum: by(*R),
    np.nanprod: by(*R),
    np.nanmax: by(*R),
    np.nanmin: by(*R),
    np.nancumsum: by(*R[:2]),
    np.nancumprod: by(*R[:2]),
    np.nanargmax: by(*R[:2]),
    np.nanargmin: by(*R[:2]),
    np.argmax: by(*R),
    np.argmin: by(*R),
    np.argsort: by({}, {"axis": 0}, {"axis": None}, {"kind": "stable"}, *DESCENDING),
    np.cumsum: by(*R[:2], {"dtype": np.float64}),
    np.cumprod: by(*R[:2]),
    np.diff: by({}, {"n": 2}, {"axis": 0}, {"prepend": 0}, {"append": 1.5}),
    np.ediff1d: by({}, {"to_end": 1}),
    np.fix: by({}),
    np.sort: by({}, {"axis": 0}, {"axis": None}, *DESCENDING),
    np.partition: [given(0)],
    np.round: by({}, {"decimals": 1}, {"decimals": -1}),
    np.around: by({}),
    np.average: [*by(*R), lambda f, x: f(x, weights=np.arange(1, 1 + x.size).reshape(x.shape))],
    np.clip: [
        given(0, 2),
        given(0.5, 2.5),
        given(None, 2),
        given(np.float32(0.5), None),
        given(np.int8(1), np.int8(2)),
        given(True, 2),
        given(np.asarray([0, 1, 2]), None),
        given(2, 1),
        given(-1, None),
        given(0.5, 2),
        given(np.float64(0.5), np.float64(2)),
        given(nan, 2.0),
    ],
    np.cov: [
        *by({}, {"rowvar": False}, {"bias": True}, {"ddof": 0}, {"ddof": 3}),
        lambda f, x: f(x, x),
    ],
    np.corrcoef: [*by({}, {"rowvar": False}), lambda f, x: f(x, x)],
    np.vander: by({}, {"N": 2}, {"N": 4, "increasing": True}),
    np.interp: [
        (lambda f, x: f(x, [0.0, 1.0, 3.0], [2.0, 5.0, 1.0])),
        (lambda f, x: f(x, [0.0, 1.0, 3.0], [2.0, 5.0, 1.0], left=-1, right=9)),
        (lambda f, x: f(x, [0.0, 1.0, inf], [2.0, 5.0, 1.0])),
        (lambda f, x: f(x, [0.0, 1.0, 3.0], [2.0, nan, inf])),
        (lambda f, x: f([0.5, 1.0, -1, 5, nan], [0.0, 1.0, 2.0, 3.0], x)),
        (lambda f, x: f([0.5, 1.0, -1, 5, nan], x, [0.0, 1.0, 2.0, 3.0])),
        (lambda f, x: f(x, [0, 1, 3], [2, 5, 1])),
        (lambda f, x: f(x, [1.0], [5.0])),
        (lambda f, x: f(x, [-inf, 0.0, 1.0], [2.0, 3.0, 4.0])),
        (lambda f, x: f(x, [0.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0])),
        (lambda f, x: f(x, [0.0, 1.0, 2.0], [-inf, inf, 0.0])),
    ],
    np.linalg.norm: by(
        {},
        *[{"ord": p} for p in (1, 2, -1, -2, inf, -inf, 0, 3, 0.5, "fro", "nuc")],
        {"axis": 0},
        {"axis": -1, "keepdims": True},
        {"axis": 0, "ord": inf},
        {"axis": 0, "ord": 1},
        {"axis": 0, "ord": 0},
    ),
    np.linalg.cond: by({}, *[{"p": p} for p in (1, 2, -2, -1, inf, -inf, "fro", "nuc")]),
    np.linalg.det: by({}),
    np.linalg.inv: by({}),
    np.linalg.pinv: by({}),
    np.linalg.slogdet: by({}),
    np.linalg.eigvalsh: by({}),
    np.linalg.svd: by({}, {"full_matrices": False}, {"compute_uv": False}),
    np.linalg.qr: by({}, {"mode": "complete"}, {"mode": "r"}),
    np.linalg.cholesky: by({}),
    np.linalg.matrix_rank: by({}),
    np.linalg.matrix_power: [given(2), given(0), given(-1)],
    np.linalg.eigvals: by({}),
    np.linalg.eig: by({}),
    np.linalg.eigh: by({}),
    np.linalg.solve: [(lambda f, x: f(x, x[..., 0] if x.ndim == 2 else x))],
    np.linalg.lstsq: [(lambda f, x: f(x, x[..., 0]))],
    np.linalg.multi_dot: [(lambda f, x: f([x, x]))],
    np.linalg.vector_norm: by({}, {"ord": 1}, {"ord": inf}, {"axis": 0}),
    np.linalg.matrix_norm: by({}, {"ord": 1}),
    np.linalg.svdvals: by({}),
    np.linalg.trace: by({}),
    np.linalg.diagonal: by({}),
    np.linalg.outer: [(lambda f, x: f(x, x))],
    np.linalg.cross: [(lambda f, x: f(x, x[::-1]))],
    np.linalg.matrix_transpose: by({}),
    np.trace: by({}, {"offset": 1}),
    np.trapezoid: [*by({}, {"dx": 2}, {"axis": 0}), lambda f, x: f(x, x)],
    np.gradient: [*by({}, {"axis": 0}, {"edge_order": 2}), given(2.0)],
    np.sinc: by({}),
    np.angle: by({}, {"deg": True}),
    np.unwrap: by({}, {"axis": 0}, {"discont": 4.0}, {"period": 4}),
    np.nan_to_num: by({}, {"nan": 1.5, "posinf": 9}, {"neginf": -1}),
    np.isreal: by({}),
    np.iscomplex: by({}),
    np.real: by({}),
    np.imag: by({}),
    np.convolve: [
        (lambda f, x: f(x, x)),
        (lambda f, x: f(x, [1, 2.5])),
        (lambda f, x: f(x, [1, 2], "same")),
        (lambda f, x: f(x, [1, 2], "valid")),
    ],
    np.correlate: [(lambda f, x: f(x, x)), (lambda f, x: f(x, [1, 2.5], "full"))],
    np.dot: PAIRS[:4],
    np.inner: PAIRS[:4],
    np.outer: PAIRS[:4],
    np.vdot: [PAIRS[0]],
    np.kron: PAIRS[:3],
    np.cross: [(lambda f, x: f(x, x[::-1]))],
    np.matmul: [PAIRS[0]],
    np.tensordot: [(lambda f, x: f(x, x, 1)), (lambda f, x: f(x, x, 0))],
    np.polyval: [
        (lambda f, x: f(x, 2.5)),
        (lambda f, x: f([1, 2, 3], x)),
        (lambda f, x: f([1.5, 2], x)),
    ],
    np.polyfit: [(lambda f, x: f(np.arange(4.0), x, 2))],
    np.select: [
        (lambda f, x: f([x > 1, x > 0], [x, x * 2], 7)),
        (lambda f, x: f([x > 1], [x], 1.5)),
    ],
    np.where: [
        (lambda f, x: f(x > 1, x, 0)),
        (lambda f, x: f(x > 1, x, 1.5)),
        (lambda f, x: f(x > 1, np.float32(2), x)),
    ],
    np.choose: [(lambda f, x: f(np.zeros(x.shape, int), [x, x]))],
    np.extract: [(lambda f, x: f(x > 1, x))],
    np.compress: [
        (lambda f, x: f([True, False], x)),
    ],
    np.piecewise: [(lambda f, x: f(x, [x > 1], [2.5, -1]))],
    np.unique: by({}, {"return_counts": True}, {"axis": 0}, {"equal_nan": False}),
    np.take: [given([0, -1]), given(0, axis=0)],
    np.repeat: [given(2), given(2, axis=0)],
    np.tile: [given(2), given((2, 1))],
    np.roll: [given(1), given(1, axis=0)],
    np.rot90: by({}),
    np.flip: by({}),
    np.fliplr: by({}),
    np.flipud: by({}),
    np.ravel: by({}),
    np.reshape: [given((-1,))],
    np.squeeze: by({}),
    np.swapaxes: [given(0, -1)],
    np.transpose: by({}),
    np.moveaxis: [given(0, -1)],
    np.rollaxis: [given(0)],
    np.expand_dims: [given(0)],
    np.atleast_1d: by({}),
    np.atleast_2d: by({}),
    np.atleast_3d: by({}),
    np.append: [given(1), given(1.5)],
    np.insert: [given(0, 1), given(0, 1.7)],
    np.delete: [given(0)],
    np.pad: [
        given(1),
        given(1, mode="edge"),
        given(1, constant_values=2.5),
        given(1, mode="reflect"),
    ],
    np.hstack: [(lambda f, x: f([x, x]))],
    np.vstack: [(lambda f, x: f([x, x]))],
    np.dstack: [(lambda f, x: f([x, x]))],
    np.column_stack: [(lambda f, x: f([x, x]))],
    np.concatenate: [(lambda f, x: f([x, x])), (lambda f, x: f([x, np.ones(2, np.float32)]))],
    np.stack: [(lambda f, x: f([x, x]))],
    np.block: [(lambda f, x: f([x, x]))],
    np.split: [given(1)],
    np.array_split: [given(2)],
    np.hsplit: [given(1)],
    np.vsplit: [given(1)],
    np.diag: by({}, {"k": 1}),
    np.diagflat: by({}),
    np.diagonal: by({}),
    np.tril: by({}),
    np.triu: by({}),
    np.broadcast_to: [(lambda f, x: f(x, (2, *x.shape)))],
    np.meshgrid: [(lambda f, x: f(x, x))],
    np.zeros_like: by({}, {"dtype": np.float32}),
    np.ones_like: by({}),
    np.full_like: [given(2.5)],
    np.count_nonzero: by({}, {"axis": 0}),
    np.nonzero: by({}),
    np.argwhere: by({}),
    np.flatnonzero: by({}),
    np.searchsorted: [(lambda f, x: f([0.0, 1.0, 2.0], x))],
    np.digitize: [(lambda f, x: f(x, [0.0, 1.0, 2.0]))],
    np.isin: [given([1, 2])],
    np.isclose: [given(1.0)],
    np.array_equal: [(lambda f, x: f(x, x))],
    np.copy: by({}),
    np.linspace: [(lambda f, x: f(x, x * 2, 3)), (lambda f, x: f(0, x, 3))],
    np.logspace: [(lambda f, x: f(x, x, 2))],
    np.emath.sqrt: by({}),
    np.emath.log: by({}),
    np.emath.log2: by({}),
    np.emath.log10: by({}),
    np.emath.arccos: by({}),
    np.emath.arcsin: by({}),
    np.emath.arctanh: by({}),
    np.emath.power: [given(2), given(0.5), given(-1)],
    np.emath.logn: [(lambda f, x: f(2, x))],
    np.fft.fft: by({}, {"n": 3}, {"norm": "ortho"}),
    np.fft.ifft: by({}),
    np.fft.rfft: by({}),
    np.fft.irfft: by({}),
    np.fft.hfft: by({}),
    np.fft.ihfft: by({}),
    np.fft.fft2: by({}),
    np.fft.ifft2: by({}),
    np.fft.rfft2: by({}),
    np.fft.irfft2: by({}),
    np.fft.fftn: by({}),
    np.fft.ifftn: by({}, {"axes": (0,)}),
    np.fft.rfftn: by({}),
    np.fft.irfftn: by({}, {"s": (2,), "axes": (0,)}),
    np.fft.fftshift: by({}),
    np.cumulative_sum: by({}, {"axis": 0, "include_initial": True}),
    np.cumulative_prod: by({}, {"axis": 0}),
    np.bincount: by({}),
    np.matrix_transpose: by({}),
    np.einsum: [(lambda f, x: f("...i->i", x)), (lambda f, x: f("i...,i...", x, x))],
    np.apply_along_axis: [(lambda f, x: f(np.sum, 0, x))],
    np.astype: [given(np.float64)],
    np.take_along_axis: [(lambda f, x: f(x, np.zeros((1,) * x.ndim, int), -1))],
    np.lib.stride_tricks.sliding_window_view: [(lambda f, x: f(x, (1,) * x.ndim))],
    np.broadcast_arrays: [(lambda f, x: f(x, x))],
    np.isneginf: by({}),
    np.isposinf: by({}),
    np.unstack: by({}),
    np.add.reduce: by({}, {"axis": None}),
    np.maximum.accumulate: by({}),
    np.add.accumulate: by({}),
    np.add.outer: [PAIRS[0]],
    np.multiply.reduce: by({}),
    np.apply_over_axes: [(lambda f, x: f(np.sum, x, [0]))],
    np.geomspace: [(lambda f, x: f(x, 8.0, 3))],
    np.histogram: [given(3), given([0.0, 1.0, 2.5])],
    np.histogram_bin_edges: [given(3)],
    np.i0: by({}),
    np.intersect1d: [given([1, 2])],
    np.linalg.tensorinv: [(lambda f, x: f(x[..., None, None], 2))],
    np.linalg.tensorsolve: [(lambda f, x: f(x, x[0]))],
    np.poly: by({}),
    np.polyadd: [given([1, 2])],
    np.polyder: by({}),
    np.polydiv: [given([1, 2])],
    np.polyint: by({}),
    np.polymul: [given([1, 2])],
    np.polysub: [given([1, 2])],
    np.real_if_close: by({}),
    np.resize: [given((2, 5))],
    np.roots: by({}),
    np.setdiff1d: [given([1, 2])],
    np.setxor1d: [given([1, 2])],
    np.sort_complex: by({}),
    np.trim_zeros: by({}),
    np.union1d: [given([1, 2])],
}


# Functions that are compared elsewhere, with the reason.
ELSEWHERE = {
    "writes": (
        np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask, np.save,
        np.savetxt, np.savez, np.savez_compressed,
    ),
    "no array of its own": (
        np.allclose, np.array, np.array_repr, np.einsum_path, np.array2string, np.array_equiv,
        np.array_str, np.empty_like, np.identity, np.may_share_memory, np.shares_memory,
    ),
    "places": (
        np.argpartition, np.diag_indices_from, np.histogram2d, np.histogramdd, np.ix_, np.lexsort,
        np.ravel_multi_index, np.tril_indices_from, np.triu_indices_from, np.unravel_index,
    ),
    "like hsplit": (np.dsplit,),
}  # fmt: skip
for u in protocols.UFUNCS:
    CALLS[u] = [lambda f, x: f(x)] if u.nin == 1 else PAIRS


# --- what differs, and why ----------------------------------------------------------------------
# "refused": an error where NumPy has a value; "accepted": a value where NumPy has an error.
ORDER = "the order of sums, of which the sign of a zero depends"
DIFFERENT = {
    np.argsort: ("values", "equal elements keep their order"),
    np.average: ("accepted", "the average of nothing"),
    np.bincount: ("refused", "booleans"),
    np.diag: ("accepted", "stacks of matrices"),
    np.dot: ("values", ORDER),
    np.ediff1d: ("accepted", "booleans"),
    np.einsum: ("values accepted", ORDER + "; results without the axes of '...'"),
    np.emath.log: ("warnings", "those of comparing complex NaN"),
    np.emath.log2: ("warnings", "those of comparing complex NaN"),
    np.emath.log10: ("warnings", "those of comparing complex NaN"),
    np.emath.sqrt: ("warnings", "those of comparing complex NaN"),
    np.fft.fftshift: ("accepted", "a number"),
    np.inner: ("values", ORDER),
    np.nan_to_num: ("values", "the sign of zeros of complex numbers"),
    np.nanmedian: ("values", "the sign of zeros of complex numbers"),
    np.partition: ("values", "all elements are in order"),
    np.percentile: ("warnings", "those of values that are not taken"),
    np.polymul: ("accepted warnings", "polynomials without coefficients; complex infinities"),
    np.roots: ("array", "of a constant polynomial, which has none"),
    np.tensordot: ("values", ORDER),
    np.std: ("warnings", "complex data in a real dtype: one warning more"),
    np.var: (
        "values warnings",
        "complex data in a real dtype: one rounding error, one warning more",
    ),
    np.vdot: ("warnings", "those of complex infinities"),
}
# What differs in some runs: of infinities, and where in memory the data happens to lie decides.
SOMETIMES = {
    np.einsum: {
        "warnings"
    },  # of products with infinity, which depend on the kernels of the processor
    np.fft.irfftn: {"values", "warnings"},
}


# --- the comparison -----------------------------------------------------------------------------
def test_every_function_with_a_counterpart_has_a_row():
    others = {function for functions in ELSEWHERE.values() for function in functions}
    known = {*protocols.COUNTERPARTS, *protocols.UFUNCS}
    assert sorted(f.__name__ for f in known if f not in CALLS and f not in others) == []


def outcome(call, function, x):
    """Result, error and the categories of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = call(function, x), None
        except Exception as raised:
            result, error = None, raised
    return result, error, sorted(warning.category.__name__ for warning in caught)


def difference(mine, reference):
    """What differs: "array" for NumPy's, "dtype", "shape", "values" or "" for nothing."""
    if isinstance(reference, tuple | list):
        assert len(mine) == len(reference)
        parts = [difference(a, b) for a, b in zip(mine, reference, strict=True)]
        return next((part for part in parts if part), "")
    if not isinstance(mine, xp.Array):
        if type(mine) is np.ndarray and mine.dtype.kind not in "biu":  # but for places
            return "array"
        return "" if np.array_equal(mine, reference) or mine != mine else "values"
    x, y = np.asarray(mine), np.asarray(reference)
    if x.dtype != y.dtype:
        return "dtype"
    if x.shape != y.shape:
        return "shape"
    return "" if np.array_equal(bits(x), bits(y)) else "values"


def differences(function, call, x):
    """What differs from NumPy in one call: a set of words."""
    reference, error, warned = outcome(call, function, x.copy())
    mine, refused, said = outcome(call, function, xp.asarray(x))
    if error is not None:
        return {"accepted"} if refused is None else set()
    if refused is not None:
        return {"refused"}
    found = {difference(mine, reference)} - {""}
    return found or ({"warnings"} if warned != said else set())


def name_of(function):
    return f"{getattr(function, '__module__', None) or 'ufunc'}.{function.__name__}"


@pytest.mark.parametrize("function", CALLS, ids=name_of)
@pytest.mark.every(3)
def test_values_dtypes_shapes_and_warnings_are_numpys(function):
    allowed = set(DIFFERENT.get(function, ("", ""))[0].split())
    sometimes = SOMETIMES.get(function, set())
    seen = set()
    for (kind, values), dtype in itertools.product(VALUES.items(), DTYPES):
        x = of_dtype(values, dtype)
        for i, call in enumerate(CALLS[function] if x is not None else ()):
            found = differences(function, call, x)
            assert found <= allowed | sometimes, f"{sorted(found)} in call {i} of {kind}, {dtype}"
            seen |= found
    assert seen - sometimes == allowed, "a row of DIFFERENT is stale"


# --- derivatives ----------------------------------------------------------------------------------
REGULAR = (
    np.asarray([0.7, 2.3, 1.1, 3.9]), np.asarray([[2.1, 1.3], [0.9, 3.2]]),
    np.asarray([[0.4, 1.7, 2.45], [3.3, 0.2, 1.35]]),
)  # fmt: skip
COMPOSED = [
    function for function in CALLS if function in exact.COMPOSED or function in protocols.UFUNCS
]
STEPS = np.divmod, np.floor_divide, np.fmod, np.remainder  # which jump where the operands are equal


@pytest.mark.parametrize("function", [f for f in COMPOSED if f not in STEPS], ids=name_of)
@pytest.mark.every(3)
def test_derivatives_belong_to_the_values(function):
    """NumPy computes the one, our ops the other: compared by differences."""
    for x, call in itertools.product(REGULAR, CALLS[function]):
        for scale in (1.0, 1.0 + 0.3j):
            given = x * scale

            def summed(x, call=call):
                return testing.total(parts_of(call(function, x)))

            if is_regular(call, function, given):
                with quiet():
                    testing.check_gradients(summed, [given], order=1, rtol=1e-5, h=1e-4)


def parts_of(result):
    """The results that may have a derivative."""
    several = result if isinstance(result, tuple | list) else [result]
    return [y for y in several if isinstance(y, xp.Array) and y.dtype.kind in "fc"]


def is_regular(call, function, x):
    """Whether a call is recorded, and has a gradient, in double precision and finite."""
    x = xp.asarray(x)
    with quiet(), xp.GradientTape() as tape:
        tape.watch(x)
        try:
            parts = parts_of(call(function, x))
        except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
            return False
    finite = all(np.isfinite(np.asarray(y)).all() and y.dtype.itemsize >= 8 for y in parts)
    return bool(parts) and finite and tape.gradient(parts, x) is not None


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("function", [f for f in COMPOSED if f in exact.COMPOSED], ids=name_of)
@pytest.mark.every(3)
def test_a_tape_changes_no_value_and_gradients_have_their_sources_dtype(function, dtype):
    for (kind, values), (i, call) in itertools.product(VALUES.items(), enumerate(CALLS[function])):
        x = of_dtype(values, dtype)
        y, error, _ = outcome(call, function, xp.asarray(x))
        if error is not None or isinstance(y, tuple | list):
            continue
        source = xp.asarray(x)
        with quiet(), xp.GradientTape() as tape:
            tape.watch(source)
            again = call(function, source)
        assert np.array_equal(bits(np.asarray(again)), bits(np.asarray(y)))
        with quiet():
            g = tape.gradient(again, source)
        recorded = y.dtype.kind in "fc" and function not in (np.round, np.around)
        assert (g is not None) == recorded or not x.size, (kind, i)
        assert g is None or (g.dtype, g.shape) == (source.dtype, source.shape)
