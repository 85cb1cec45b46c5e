"""A table of calls of all NumPy functions with each of their keywords, run by ``numpy_walk``.

Each NumPy array in a call becomes an Array, also in lists.  Float and complex ones are differentiated,
so that the calls are made at points where the functions are smooth.
"""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np

from arraytape._util.versions import NUMPY

A = np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.66]])
B = np.asarray([[1.3, -0.4, 0.9], [0.2, 1.1, -2.3]])
C = np.asarray([[2.0, 0.3, 0.7], [0.4, 1.9, 0.6], [0.2, 0.5, 3.1]])
D = np.asarray([[0.5, 1.3, -0.7], [1.4, 0.1, 0.6], [0.9, -1.5, 2.1]])
T = np.stack([C, D + 2.0 * np.eye(3)])  # a stack of matrices
H = C @ C.T + np.eye(3)  # symmetric and positive definite
V = np.asarray([0.4, -1.3, 2.2, 0.9])
W = np.asarray([1.5, -0.2, 0.8])
P = np.asarray([0.1, 0.85, 3.0])  # increasing
Q = np.asarray([0.23, 0.71])
Z = V + 1j * V[::-1]
ZC = C + 1j * D
N = np.asarray([[0.3, np.nan, 0.7], [2.0, 0.1, 0.6]])
IX = np.asarray([0, 2, 1])
K = np.asarray([[1, 0, 2], [0, 2, 1]])
M = np.asarray([[True, False, True], [False, True, True]])
MV = np.asarray([True, False, True, True])
MW = np.asarray([True, False, True])
E = np.asarray([1.5, 0.0, -2.5, 0.0])
INFINITE = np.asarray([np.nan, np.inf, -np.inf, 1.5])
ZI = INFINITE.astype(complex)
ZI.imag = INFINITE[::-1]
X4 = np.arange(24.0).reshape(2, 3, 4) ** 1.1 + 0.3
CUBE = 0.2 * np.random.default_rng(3).normal(size=(2, 3, 2, 3)) + 2.0 * np.eye(6).reshape(
    2, 3, 2, 3
)
BINS = np.asarray([-2.0, 0.0, 1.0, 2.5])
METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip


class Call(NamedTuple):
    """The arguments of a call, with the precision that its results have."""

    args: tuple
    keywords: dict
    smooth: bool = True  # True if differences show the derivative
    symmetric: bool = False  # True for a function of symmetric matrices
    close: float = 0.0  # the units in the last place by which values may differ


def call(*args, **keywords):
    return Call(args, keywords)


def rough(*args, **keywords):
    """Return a Call at a jump of the function, or one for which differences are not precise enough."""
    return Call(args, keywords, smooth=False)


def inexact(*args, **keywords):
    """Return a Call whose sums run in another order than NumPy's, so that last bits differ."""
    return Call(args, keywords, close=8.0)


def symmetric(*args, **keywords):
    return Call(args, keywords, symmetric=True)


def of_upper(*args, **keywords):
    """Return a Call for which LAPACK reads the upper triangle, so that last bits differ."""
    return Call(args, keywords, symmetric=True, close=16.0)


def squares(line, scale=1.0):
    return line * line * scale


def constant(vector, width, axis, options):
    """Pad with constants; this is a function for the ``mode`` of ``np.pad``."""
    fill = options.get("fill", 1.0)
    vector[: width[0]] = fill
    if width[1]:
        vector[-width[1] :] = 2.0 * fill


def upper(*args, **keywords):
    """Return a Call of a function that reads the upper triangle, where arraytape reads the lower."""
    return Call(args, keywords, symmetric=True, close=16.0)


REDUCED = [call(A), call(A, 1), call(X4, axis=(0, 2)), call(A, axis=0, keepdims=True)]
LIMITED = [
    *REDUCED, call(A, initial=0.65), call(A, axis=1, where=M, initial=0.45),
]  # fmt: skip
SUMMED = [
    *LIMITED, call(A, dtype="float32"), call(A, axis=0, where=M), call(Z), call(K, dtype="float32"),
    call(np.arange(6, dtype="int8")), call(M, 1),
]  # fmt: skip
SPREAD = [
    *REDUCED, call(A, dtype="float32"), call(A, ddof=1), call(A, 1, where=M), call(K), call(Z),
    inexact(ZC, 1, where=C > 0.35), inexact(Z, mean=np.mean(Z)[None], ddof=1),
    call(A, axis=1, mean=np.mean(A, axis=1, keepdims=True)), call(A, axis=1, correction=1),
    call(A, 1, where=M, ddof=0.5), call(A.astype("float32"), 1), call(M, 0),
]  # fmt: skip
SKIPPING = [call(N), call(N, 1), call(N, axis=0, keepdims=True), call(K)]
QUANTILES = [
    (0.3,), (Q,), (0.0,), (1.0,), (np.asarray([[0.1], [0.45]]),), (0.5,),
]  # fmt: skip

# Calls with the keywords that NumPy has from 2.5 on.
DESCENDING = [] if NUMPY < (2, 5) else [
    call(V, descending=True), call(A, 0, descending=True), call(A, axis=None, descending=True),
    call(A, stable=True, descending=True), call(A, descending=False), call(Z, descending=True),
    rough(N, descending=True), rough(INFINITE, descending=True), call(K, descending=True),
    call(M, stable=True, descending=True),
]  # fmt: skip


def quantiles(per, data):
    """Yield calls of ``np.quantile`` (per=1) or ``np.percentile`` (per=100) and their NaN forms."""
    yield from (call(data, per * q) for (q,) in QUANTILES[:4])
    yield from (call(data, per * q, method=m) for m in METHODS for q in (0.45, Q))
    yield call(data, per * np.asarray(0.37))
    yield call(data, per * Q, axis=1)
    yield call(data, per * Q, axis=(0, 1), keepdims=True)
    yield call(data, per * 0.4, 0, overwrite_input=True)
    weights = np.asarray([[0.55, 1.0, 2.0], [1.5, 0.7, 0.35]])
    for q in (0.3, Q):
        yield call(data, per * q, axis=1, method="inverted_cdf", weights=weights)
        yield call(data, per * q, method="inverted_cdf", weights=weights)
    yield call(data.astype("float32"), per * 0.3)
    yield call(K, per * 0.3)


def transforms(data, n):
    """Return calls of a transform along one axis."""
    return [
        call(data), call(data, n), call(data, n=n + 3, axis=0), call(data, norm="ortho"),
        call(data, norm="forward"),
    ]  # fmt: skip


def transforms_of_axes(data):
    """Return calls of a transform along several axes."""
    return [
        call(data), call(data, (2, 4), axes=(0, 2)), call(data, axes=(1, 0)), call(data, norm="ortho"),
        call(data, s=(3, 5), axes=(0, 1), norm="forward"),
    ]  # fmt: skip


def creations(*fill):
    """Return calls of ``np.zeros_like`` and similar functions; fill : the value of ``np.full_like``."""
    return [
        call(A, *fill), call(A, *fill, dtype="float32"), call(A.T, *fill, order="F"),
        call(A, *fill, subok=False), call(A, *fill, shape=(4,)), call(A, *fill, device="cpu"),
    ]  # fmt: skip


CALLS = {
    "np.all": [call(M), call(M, 1), call(A, 0, keepdims=True), call(M, axis=1, where=K > 0)],
    "np.allclose": [
        call(A, A + 1e-9), call(A, B), call(A, A + 0.05, rtol=0.2), call(A, A + 0.05, atol=0.2),
        call(N, N, equal_nan=True),
    ],
    "np.amax": LIMITED,
    "np.amin": LIMITED,
    "np.angle": [call(Z), call(Z, deg=True), call(V)],
    "np.any": [call(M), call(M, 1), call(A, 0, keepdims=True), call(M, axis=1, where=K > 0)],
    "np.append": [call(A, W), call(A, B, axis=0), call(A, 3)],
    "np.apply_along_axis": [
        call(squares, 1, A, W), call(np.sum, 0, A), call(squares, 0, A, scale=2.0),
    ],
    "np.apply_over_axes": [call(np.sum, X4, [0, 2]), call(np.max, X4, (1,))],
    "np.argmax": [call(A), call(A, 1), call(A, axis=0, keepdims=True)],
    "np.argmin": [call(A), call(A, 1), call(A, axis=0, keepdims=True)],
    "np.argpartition": [
        call(V, 2), call(A, 1, axis=0), call(A, 1, kind="introselect"), call(A, 1, None),
    ],
    "np.argsort": [
        call(V), call(A, 0), call(A, axis=None), call(A, kind="stable"), call(A, stable=True),
        *DESCENDING,
    ],
    "np.argwhere": [call(M), call(V > 0)],
    "np.around": [call(10 * A), call(A, 1), call(100 * A, decimals=-1), call(Z, 1), call(K, -1)],
    "np.array2string": [
        call(A), call(A, 30), call(A, precision=1), call(A * 1e-9, suppress_small=True),
        call(A, separator=","), call(A, prefix="x"), call(A, formatter={"float": str}),
        call(A, threshold=1), call(A, threshold=1, edgeitems=1), call(A, sign="+"),
        call(A, floatmode="fixed"), call(A, suffix=" "), call(A, legacy="1.13"),
    ],
    "np.array_equal": [call(A, A + 0), call(A, B), call(N, N + 0, equal_nan=True)],
    "np.array_equiv": [call(A[:1], A), call(np.stack([W, W]), W)],
    "np.array_repr": [
        call(A), call(A, 20), call(A, precision=1), call(A * 1e-9, suppress_small=True),
    ],
    "np.array_split": [call(V, 3), call(A, [1], axis=1), call(A, 2)],
    "np.array_str": [
        call(A), call(A, 20), call(A, precision=1), call(A * 1e-9, suppress_small=True),
    ],
    "np.astype": [
        call(A, np.float32), call(A, np.int64), call(A, np.float64, copy=False),
        call(A, np.float32, device="cpu"),
    ],
    "np.atleast_1d": [call(A), call(np.asarray(2.0), V)],
    "np.atleast_2d": [call(V), call(np.asarray(2.0), A)],
    "np.atleast_3d": [call(V), call(A, X4)],
    "np.average": [
        call(A), call(A, 1), call(A, weights=A), call(A, axis=1, weights=W), call(A, 1, W, True),
        call(A, axis=0, keepdims=True), call(A, returned=True), call(K), call(K, weights=A),
        call(X4, axis=(0, 1), weights=A),
    ],
    "np.bincount": [call(IX), call(IX, weights=W), call(IX, minlength=7), call(IX, W, 2)],
    "np.block": [call([[A, B], [B, A]]), call([V, 2.0]), call([A])],
    "np.broadcast_arrays": [call(A, W), call(A, W, subok=True)],
    "np.broadcast_to": [call(W, (2, 3)), call(W, (2, 3), subok=True)],
    "np.can_cast": [
        call(A.astype("float32"), "float64"), call(A, "int8"), call(A, "int8", casting="unsafe"),
    ],
    "np.choose": [
        call(IX, [W, 2 * W, P]), call(IX + 2, [W, 2 * W, P], mode="wrap"),
        call(IX * 2 - 1, [W, 2 * W, P], mode="clip"),
    ],
    "np.clip": [
        call(A, 0.2, 1.0), call(A, a_min=0.2, a_max=None), call(A, None, W + 1.0), call(A, min=0.2),
        call(A, max=1.0), call(K, 0.5, 1.5), call(A, np.asarray(0.2), np.asarray(1.0)),
        call(A.astype("float32"), 0.2, W[:1] + 1.0), call(A, 0.2, 1.0, dtype="float32"),
    ],
    "np.column_stack": [call((W, P)), call([A, B])],
    "np.common_type": [call(A), call(A, Z), call(A.astype("float32"))],
    "np.compress": [call([True, False], A, axis=0), call(MV, V), call(MW, A, 1)],
    "np.concat": [
        call([A, B]), call((A, B), axis=1), call([A, B], None), call([A, K], dtype="float32"),
        call([A, B], dtype="int64", casting="unsafe"),
    ],
    "np.convolve": [call(V, W), call(V, W, "same"), call(V, W, mode="valid"), call(Z, V)],
    "np.copy": [call(A), call(A.T, order="C"), call(A, subok=True)],
    "np.copyto": [
        call(A.copy(), B), call(A.copy(), W, where=M), call(K.copy(), A, casting="unsafe"),
        call(A.copy(), 2.5),
    ],
    "np.corrcoef": [
        call(A), call(V, V**2), call(X4[0], rowvar=False), call(A, dtype="float32"), call(ZC),
    ],
    "np.correlate": [
        call(V, W), call(V, W, "same"), call(W, V, mode="full"), call(Z, V[:3] - 2j, "full"),
    ],
    "np.count_nonzero": [call(M), call(M, 1), call(M, axis=0, keepdims=True)],
    "np.cov": [
        call(A), call(A, B), call(X4[0], rowvar=False), call(A, bias=True), call(A, ddof=0),
        call(A, fweights=IX + 1), call(A, aweights=P), call(A, None, True, True, None, IX + 1, P),
        call(A, dtype="float32"), call(V), call(Z, Z**2), call(A.astype("float32")), call(K),
    ],
    "np.cross": [
        call(A, B), call(A.T, B.T, axis=0), call(A.T, B, axisa=0), call(A, B.T, axisb=0),
        call(A, B, axisc=0), call(W, A),
    ],
    "np.cumprod": [
        call(A), call(A, 1), call(A, axis=0, dtype="float32"), call(np.arange(1, 5, dtype="int8")),
    ],
    "np.cumsum": [
        call(A), call(A, 1), call(A, axis=0, dtype="float32"), call(np.arange(1, 5, dtype="int8")),
    ],
    "np.cumulative_prod": [
        call(V), call(A, axis=1), call(A, axis=0, dtype="float32"),
        call(A, axis=1, include_initial=True),
    ],
    "np.cumulative_sum": [
        call(V), call(A, axis=1), call(A, axis=0, dtype="float32"),
        call(A, axis=1, include_initial=True),
    ],
    "np.delete": [
        call(A, 1, axis=1), call(V, [0, 2]), call(A, slice(0, 2), 1), call(V, MV), call(V, -1),
    ],
    "np.diag": [call(V), call(C), call(C, k=1), call(V, -1)],
    "np.diag_indices_from": [call(C)],
    "np.diagflat": [call(A), call(V, k=-1), call(V, 2)],
    "np.diagonal": [
        call(C), call(C, 1), call(X4, axis1=1, axis2=2), call(X4, -1, axis1=2, axis2=0),
    ],
    "np.diff": [
        call(V), call(A, 2), call(A, axis=0), call(A, n=0), call(A, prepend=0.5), call(A, append=A),
        call(M), call(np.asarray([3, 1, 2], "uint8")),
    ],
    "np.digitize": [call(V, BINS), call(V, BINS, right=True), call(A, BINS[::-1])],
    "np.dot": [
        call(C, D), call(A, W), call(X4, D[:, [0, 1, 2, 0]].T), call(V, 2.0),
        call(X4, X4[0].T[:, :2]),
    ],
    "np.dsplit": [call(X4, 2), call(X4, [1])],
    "np.dstack": [call((A, B)), call([W, P])],
    "np.ediff1d": [call(V), call(A, to_end=W), call(V, to_begin=-1.0), call(V, 1.0, P)],
    "np.einsum": [
        call("ij,kj->ik", A, B), call("ii->i", C), call(A, [0, 1], B, [0, 1], [0]),
        call("ij,kj->ik", A, B, optimize=True),
        call("ij,kj->ik", A, B, dtype="float32", casting="unsafe"),
        call("ij,kj->ik", A, B, order="F"), call("ij->ji", A), call("ij,jk,kl->il", C, D, H),
    ],
    "np.einsum_path": [
        call("ij,jk,kl", C, D, C), call("ij,jk,kl", C, D, C, optimize="optimal"),
        call("ij,jk", C, D, einsum_call=False),
    ],
    "np.empty_like": creations(),
    "np.expand_dims": [call(A, 1), call(V, (0, 2)), call(A, axis=-1)],
    "np.extract": [call(M, A), call([True, False, True, True], V)],
    "np.fill_diagonal": [
        call(X4[0].T, 2.0), call(C.copy()[::-1], Q), call(C.T.copy().T, W), call(C.copy(), 2.0),
        call(C.copy(), W), call(X4[0].T.copy(), 1.5, wrap=True),
        call(CUBE[:, :2, :, :2].copy(), 3.0),
    ],
    "np.fix": [call(3 * V)],
    "np.flatnonzero": [call(M), call(E)],
    "np.flip": [call(A), call(A, 1), call(A, axis=(0, 1))],
    "np.fliplr": [call(A)],
    "np.flipud": [call(A)],
    "np.full_like": [*creations(1.5), call(A, W)],
    "np.geomspace": [
        call(P, 2 * P, 4), call(np.asarray(1.0), 8.0, num=4), call(P, 2 * P, 4, endpoint=False),
        call(P, 2 * P, 4, dtype="float32"), call(P, 2 * P, 4, axis=-1), call(-P, -3 * P, 3),
        call(P[:2] + 1j, 2j * P[:2], 3),
    ],
    "np.gradient": [
        call(V), call(A), call(X4, 2.0, 0.5, 1.5), call(V, P[[0, 1, 1, 2]] + np.arange(4.0)),
        call(X4, axis=1), call(X4, edge_order=2, axis=(1, 2)),
        call(V, np.asarray([0.0, 1.5, 2.0, 4.0]), edge_order=2),
        call(np.asarray([1, 4, 9], "int32")), call(A.astype("float32")), call(Z),
    ],
    "np.histogram": [
        call(A), call(A, 3), call(A, bins=BINS), call(A, 4, range=(0.0, 2.5)),
        call(A, 3, density=True), call(A, 3, weights=B), call(A, 3, weights=B, density=True),
        call(A, BINS, weights=B), call(A, "auto"),
    ],
    "np.histogram2d": [
        call(V, V[::-1]), call(V, V[::-1], 3), call(V, V**2, bins=[BINS, 2]),
        call(V, V**2, 3, range=[[-1, 2], [0, 4]]), call(V, V**2, 3, density=True),
        call(V, V**2, 2, weights=V),
    ],
    "np.histogram_bin_edges": [
        call(A), call(A, 3), call(A, 4, range=(0.0, 2.5)), call(A, BINS), call(A, 3, weights=A),
    ],
    "np.histogramdd": [
        call(A.T, 3), call(A.T, bins=[2, 3]), call(A.T, 3, range=[(0, 2.5), (0, 3.2)]),
        call(A.T, 2, density=True), call(A.T, 2, weights=W),
    ],
    "np.hsplit": [call(A, 3), call(A, [1]), call(V, 2)],
    "np.hstack": [
        call((A, B)), call([V, W]), call([V, W], dtype="float32"),
        call([V, W], dtype="int64", casting="unsafe"),
    ],
    "np.i0": [call(V), call(10 * A), call(V.astype("float32"))],
    "np.imag": [call(Z), call(V)],
    "np.inner": [call(A, B), call(V, V[::-1]), call(A, 2.0), call(X4, X4[0])],
    "np.insert": [
        call(V, 1, 2.5), call(A, [0, 2], W[:2], axis=1), call(A, 1, W, axis=0),
        call(V, [1, 1], [5.0, 6.0]), call(V, slice(0, 3), W), call(V, IX, W), call(V, -1, W[:1]),
    ],
    "np.interp": [
        call(V, P, W), call(V, P, W, -3.0, 5.0), call(V, P, W, left=-3.0), call(V, P, W, right=5.0),
        call(V, P, W, period=2.7), call(V, P, W + 1j * P), call(0.5, P, W), rough(P, P, W),
    ],
    "np.intersect1d": [
        rough(IX, K), rough(P, P[1:], assume_unique=True), rough(W, P, return_indices=True),
        rough(np.append(W, P[0]), P, return_indices=True),
    ],
    "np.isclose": [
        call(A, A + 1e-9), call(A, B), call(A, A + 0.05, rtol=0.2), call(A, A + 0.05, atol=0.2),
        call(N, N, equal_nan=True),
    ],
    "np.iscomplex": [call(Z), call(V)],
    "np.iscomplexobj": [call(Z), call(V)],
    "np.isin": [
        call(K, [0, 2]), call(A, W), call(IX, IX[:2], assume_unique=True),
        call(K, IX[:2], invert=True), call(K, IX[:1], kind="sort"),
    ],
    "np.isneginf": [call(INFINITE)],
    "np.isposinf": [call(INFINITE)],
    "np.isreal": [call(Z), call(V)],
    "np.isrealobj": [call(Z), call(V)],
    "np.ix_": [call(IX, [0, 1]), call(MW, IX[:2])],
    "np.kron": [call(A, C), call(V, W), call(A, 2.0), call(W, A)],
    "np.lexsort": [call((V, V[::-1])), call((V,)), call(A), call((A, B), axis=0)],
    "np.linspace": [
        call(W, P, 4), call(W, P, num=3, endpoint=False), call(W, P, 3, retstep=True),
        call(W, P, 3, dtype="float32"), call(W, P, 3, axis=-1), call(W, P, 3, device="cpu"),
        call(W, 2.0, 5), call(K, 5, 4, dtype="int64"),
    ],
    "np.logspace": [
        call(W, P, 4), call(W, P, num=3, endpoint=False), call(W, P, 3, base=2.0),
        call(W, P, 3, base=P + 1), call(W, P, 3, dtype="float32"), call(W, P, 3, axis=-1),
    ],
    "np.matrix_transpose": [call(A), call(X4)],
    "np.max": LIMITED,
    "np.may_share_memory": [call(A, B), call(A, B, max_work=1)],
    "np.mean": [
        *REDUCED, call(A, dtype="float32"), call(A, 1, where=M), call(K), call(Z), call(M, 0),
        call(A.astype("float16"), 1), call(A.astype("float32"), where=M),
    ],
    "np.median": [
        call(V), call(A, 1), call(A, axis=0, keepdims=True), call(A, overwrite_input=True),
        call(X4, (0, 2)), call(K), rough(N, 1),
    ],
    "np.meshgrid": [
        call(V, W), call(V, W, P), call(V, W, copy=False), call(V, W, sparse=True),
        call(V, W, indexing="ij"), call(V),
    ],
    "np.min": LIMITED,
    "np.min_scalar_type": [call(np.asarray(3)), call(A)],
    "np.moveaxis": [call(X4, 0, 2), call(X4, [0, 1], [-1, 0])],
    "np.nan_to_num": [
        rough(ZI, nan=3.0), rough(ZI, False), rough(INFINITE), rough(INFINITE, nan=2.0),
        rough(INFINITE, posinf=3.0), rough(INFINITE, neginf=-4.0),
        rough(INFINITE.copy(), copy=False), rough(A), rough(Z), rough(K),
    ],
    "np.nanargmax": [call(N), call(N, 1), call(N, axis=0, keepdims=True)],
    "np.nanargmin": [call(N), call(N, 1), call(N, axis=0, keepdims=True)],
    "np.nancumprod": [call(N), call(N, 1), call(N, axis=0, dtype="float32")],
    "np.nancumsum": [call(N), call(N, 1), call(N, axis=0, dtype="float32")],
    "np.nanmax": [*SKIPPING, call(N, initial=0.65), call(N, 1, where=M, initial=0.5)],
    "np.nanmean": [*SKIPPING, call(N, dtype="float32"), call(N, 1, where=M)],
    "np.nanmedian": [
        *SKIPPING, call(N.copy(), overwrite_input=True), call(N.T, 0), call(X4, (0, 1)),
    ],
    "np.nanmin": [*SKIPPING, call(N, initial=0.65), call(N, 1, where=M, initial=0.5)],
    "np.nanpercentile": [*quantiles(100.0, N)],
    "np.nanprod": [*SKIPPING, call(N, dtype="float32"), call(N, initial=0.65), call(N, 1, where=M)],
    "np.nanquantile": [*quantiles(1.0, N)],
    "np.nanstd": [
        call(N), call(N, 1), rough(N, axis=0, keepdims=True), call(K), call(N, dtype="float32"),
        call(N, ddof=1), call(N, where=M), call(N, 1, correction=1),
        call(N, 1, mean=np.nanmean(N, axis=1, keepdims=True)),
    ],
    "np.nansum": [*SKIPPING, call(N, dtype="float32"), call(N, initial=0.65), call(N, 1, where=M)],
    "np.nanvar": [
        *SKIPPING, call(N, dtype="float32"), call(N, ddof=1), call(N, where=M),
        call(N, 1, correction=1), call(N, 1, mean=np.nanmean(N, axis=1, keepdims=True)),
    ],
    "np.ndim": [call(A)],
    "np.nonzero": [call(M), call(E)],
    "np.ones_like": creations(),
    "np.outer": [call(V, W), call(A, W)],
    "np.pad": [
        call(A, 1), call(A, ((1, 2), (0, 3)), constant_values=4.5),
        call(V, (2, 1), "constant", constant_values=(1.0, 2.0)), call(V, 2, "edge"),
        call(A, 2, "linear_ramp"), call(V, (3, 2), "linear_ramp", end_values=(5.0, -1.0)),
        *[call(A, ((1, 2), (2, 1)), mode) for mode in ("maximum", "mean", "median", "minimum")],
        *[call(V, 2, mode, stat_length=2) for mode in ("maximum", "mean", "median", "minimum")],
        call(V, (3, 2), "reflect"), call(V, (5, 7), "reflect"),
        call(V, 2, "reflect", reflect_type="odd"), call(V, (5, 6), "symmetric"),
        call(V, 2, "symmetric", reflect_type="odd"), call(A, ((5, 1), (2, 4)), "wrap"),
        call(V, 2, constant), call(V, (1, 2), constant, fill=3.0), call(A, {0: (1, 2)}),
        call(K, 1, "mean"), call(V, 2, "constant", constant_values=W[:1]),
    ],
    "np.partition": [
        call(np.asarray([3.0, 1.0, 2.0]), 1), call(A.T[:2], 1, axis=0),
        call(W, 1, kind="introselect"), call(W, 1, None),
    ],
    "np.percentile": [*quantiles(100.0, A)],
    "np.permute_dims": [call(A), call(X4, (2, 0, 1)), call(X4, axes=(1, 0, 2))],
    "np.piecewise": [
        call(V, [V < 0, V > 1], [np.sin, squares, 5.0]),
        call(V, [V < 0, V >= 0], [squares, squares], 2.0), call(V, [V < 0], [squares, 1.0]),
        call(V, [V < 0, V >= 0], [squares, squares], scale=3.0), call(V, V < 0, [-1.0, 1.0]),
    ],
    "np.place": [call(A.copy(), M, W), call(A.copy(), M, [1.0, 2.0]), call(V.copy(), V > 0, 7.0)],
    "np.poly": [call(W), call(C), rough(np.asarray([1.0 + 2j, 1.0 - 2j]))],
    "np.polyadd": [call(V, W), call(W, 2.0)],
    "np.polyder": [call(V), call(V, 2), call(V, m=0)],
    "np.polydiv": [call(V, W), call(W, V)],
    "np.polyfit": [
        call(P, W, 1), call(V, V[::-1], 2), call(V, X4[0].T, 1), call(V, V[::-1], 1, rcond=1e-3),
        call(V, V[::-1], 1, full=True), call(V, V[::-1], 1, w=P[[0, 1, 2, 1]]),
        call(V, V[::-1], 1, cov=True), call(V, V[::-1], 1, cov="unscaled"),
    ],
    "np.polyint": [call(V), call(V, 2), call(V, m=2, k=[1.0, 2.0]), call(V, k=W[:1])],
    "np.polymul": [call(V, W)],
    "np.polysub": [call(V, W), call(W, V)],
    "np.polyval": [call(W, V), call(W, A), call([1.0, 2.0], V)],
    "np.prod": SUMMED,
    "np.ptp": REDUCED,
    "np.put": [
        call(A.copy(), [0, 4], W[:2]), call(A.copy(), IX, 2.0),
        call(A.copy(), [0, 9], W[:2], mode="wrap"), call(A.copy(), [-9, 9], W[:2], mode="clip"),
        call(A.copy(), [0, 1, 2, 3], Q),
    ],
    "np.put_along_axis": [
        call(A.copy(), K, B, axis=1), call(A.copy(), K[:, :1], 2.5, 1), call(A.copy(), IX, W, None),
    ],
    "np.putmask": [call(A.copy(), M, B), call(A.copy(), M, Q), call(A.copy(), M, 2.5)],
    "np.quantile": [*quantiles(1.0, A)],
    "np.ravel": [
        call(A), call(A, "F"), rough(A.T, order="K"), rough(A.T, order="A"),
        rough(X4.transpose(1, 0, 2), "K"),
    ],
    "np.ravel_multi_index": [
        call((IX, IX[::-1]), (3, 3)), call((IX, IX + 1), (3, 3), mode="wrap"),
        call((IX, IX), (3, 3), order="F"),
    ],
    "np.real": [call(Z), call(V)],
    "np.real_if_close": [rough(Z), rough(V + 1e-15j), rough(V + 1e-10j, tol=1e7), rough(V)],
    "np.repeat": [call(A, 2), call(A, [1, 2], axis=0), call(V, IX[[0, 1, 2, 1]])],
    "np.reshape": [
        call(A, (3, 2)), call(A, -1), call(A, (3, 2), order="F"), call(A, (3, 2), copy=True),
        rough(A.T, (2, 3), "A"),
    ],
    "np.resize": [call(A, (2, 5)), call(V, 3), call(A, (0,))],
    "np.result_type": [call(A, K), call(A, "int8")],
    "np.roll": [call(V, 2), call(A, 1, axis=1), call(A, (1, 2), axis=(0, 1)), call(A, 1)],
    "np.rollaxis": [call(X4, 2), call(X4, 0, start=2)],
    "np.roots": [
        call(W), call(np.asarray([1.0, -3.0, 2.0, 0.0])), rough(np.asarray([0.0, 2.0, 1.0, 3.0])),
    ],
    "np.rot90": [call(A), call(A, 3), call(X4, k=2, axes=(1, 2)), call(A, 0)],
    "np.round": [call(10 * A), call(A, 1), call(100 * A, decimals=-1), call(Z, 1), call(K, -1)],
    "np.save": [call(io.BytesIO, A), call(io.BytesIO, A, allow_pickle=False)],
    "np.savetxt": [
        call(io.StringIO, A), call(io.StringIO, A, "%.3f"), call(io.StringIO, A, delimiter=","),
        call(io.StringIO, A, newline=";"), call(io.StringIO, A, header="h"),
        call(io.StringIO, A, footer="f"), call(io.StringIO, A, header="h", comments="%"),
        call(io.StringIO, A, encoding="utf-8"),
    ],
    "np.savez": [
        call(io.BytesIO, A), call(io.BytesIO, x=A), call(io.BytesIO, A, allow_pickle=False),
    ],
    "np.savez_compressed": [
        call(io.BytesIO, A), call(io.BytesIO, x=A), call(io.BytesIO, A, allow_pickle=False),
    ],
    "np.searchsorted": [
        call(P, V), call(P, P, side="right"), call(W, V, sorter=np.argsort(W)), call(P, 0.5),
    ],
    "np.select": [
        call([M, B > 1], [A, B]), call([M, B > 1], [A, B], default=2.5), call([MW], [W], P),
        call([M], [K], 0),
    ],
    "np.setdiff1d": [call(W, P), call(K, [1]), call(IX, IX[:1], assume_unique=True)],
    "np.setxor1d": [call(W, P), call(K, [1]), call(IX, IX[:1], assume_unique=True)],
    "np.shape": [call(A)],
    "np.shares_memory": [call(A, B), call(A, B, max_work=1)],
    "np.sinc": [call(V), call(A), call(E)],
    "np.size": [call(A), call(A, 1), call(A, axis=0)],
    "np.sort": [
        call(V), call(A, 0), call(A, axis=None), call(A, kind="stable"), call(A, stable=True),
        *DESCENDING,
    ],
    "np.sort_complex": [call(Z), call(V), call(IX)],
    "np.split": [call(V, 2), call(A, [1], axis=1)],
    "np.squeeze": [call(A[None]), call(A[None], 0), call(A[:, :, None], axis=(2,))],
    "np.stack": [
        call([A, B]), call((A, B), axis=1), call([A, B], dtype="float32"),
        call([A, B], dtype="int64", casting="unsafe"),
    ],
    "np.std": SPREAD,
    "np.sum": SUMMED,
    "np.swapaxes": [call(X4, 0, 2)],
    "np.take": [
        call(V, IX), call(A, 1, axis=1), call(A, K), call(V, IX + 3, mode="wrap"),
        call(V, [-7, 9], mode="clip"), call(A, [2, 0], 1),
    ],
    "np.take_along_axis": [
        call(A, K, axis=1), call(A, IX[:1][None], 0), call(A, IX, None), call(A, K[:1], axis=-1),
        call(A[:1], K, 1), call(A, K),
    ],
    "np.tensordot": [
        call(C, D), call(A, B, axes=([1], [1])), call(X4, C, axes=[[1], [0]]), call(V, W, axes=0),
    ],
    "np.tile": [call(A, 2), call(A, (2, 1)), call(V, (2, 2))],
    "np.trace": [
        call(C), call(C, 1), call(X4, axis1=1, axis2=2), call(C, dtype="float32"),
        call(X4, 0, 2, 0), call(np.eye(3, dtype="int8")),
    ],
    "np.trapezoid": [
        call(V), call(A, dx=0.5), call(A, P), call(X4, axis=1), call(A, x=B), call(X4, P, axis=1),
        call(K),
    ],
    "np.tril": [call(C), call(A, 1), call(X4, k=-1), call(W)],
    "np.tril_indices_from": [call(C), call(A, k=1)],
    "np.trim_zeros": [
        rough(E), rough(np.asarray([0.0, 1.5, 0.0])), rough(np.asarray([0.0, 1.5, 0.0]), "f"),
        rough(np.asarray([[0.0, 0.0], [0.0, 2.0]]), axis=0),
        rough(np.asarray([0.0, 1.5, 0.0]), trim="b"),
    ],
    "np.triu": [call(C), call(A, 1), call(X4, k=-1), call(W)],
    "np.triu_indices_from": [call(C), call(A, k=1)],
    "np.union1d": [call(W, P), call(K, [7])],
    "np.unique": [
        call(K), call(V), call(K, return_index=True), call(K, return_inverse=True),
        call(K, return_counts=True), call(K, True, True, True), call(A, axis=0),
        rough(INFINITE, equal_nan=False), call(V, sorted=True),
    ],
    "np.unique_all": [call(V), call(K)],
    "np.unique_counts": [call(V), call(K)],
    "np.unique_inverse": [call(V), call(K)],
    "np.unique_values": [call(V), call(K)],
    "np.unravel_index": [call(IX, (3, 3)), call(K, (2, 2), order="F")],
    "np.unstack": [call(A), call(X4, axis=1)],
    "np.unwrap": [
        call(5 * V), call(5 * V, discont=9.0), call(4 * A, axis=0), call(4 * A, period=3.0),
        call(np.asarray([0, 7, 2]), period=4),
    ],
    "np.vander": [
        call(V), call(V, 3), call(V, increasing=True), call(V, N=2, increasing=True), call(IX),
        call(Z),
    ],
    "np.var": SPREAD,
    "np.vdot": [call(V, V[::-1]), call(Z, V), call(A, B)],
    "np.vsplit": [call(A, 2), call(A, [1])],
    "np.vstack": [
        call((W, P)), call([A, W]), call([A, W], dtype="float32"),
        call([A, W], dtype="int64", casting="unsafe"),
    ],
    "np.where": [call(M, A, B), call(M, A, 2.0), call(M)],
    "np.zeros_like": creations(),
    "np.linalg.cholesky": [symmetric(H), symmetric(H, upper=True)],
    "np.linalg.cond": [
        call(C), *[call(C, p) for p in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")], call(A),
        call(T, 1),
    ],
    "np.linalg.cross": [call(A, B), call(A.T, B.T, axis=0)],
    "np.linalg.det": [call(C), call(T), call(ZC)],
    "np.linalg.diagonal": [call(C), call(T, offset=1)],
    "np.linalg.eig": [call(C)],
    "np.linalg.eigh": [symmetric(H, UPLO="l")],  # "U" in test_stored_triangles: the phases differ
    "np.linalg.eigvals": [call(C), call(T)],
    "np.linalg.eigvalsh": [symmetric(H), of_upper(H, "U")],
    "np.linalg.inv": [call(C), call(T), call(ZC)],
    "np.linalg.lstsq": [
        call(C, W), call(A.T, P), call(A.T, C), call(A.T, P, rcond=1e-2), call(A, Q),
    ],
    "np.linalg.matmul": [call(C, D), call(T, C)],
    "np.linalg.matrix_norm": [
        call(C), call(T, keepdims=True),
        *[call(C, ord=p) for p in (1, -1, 2, -2, np.inf, -np.inf, "nuc")],
    ],
    "np.linalg.matrix_power": [call(C, 3), call(C, -2), call(T, 0), call(C, 1)],
    "np.linalg.matrix_rank": [call(C), call(T, 0.1), call(H, hermitian=True), call(C, rtol=0.5)],
    "np.linalg.matrix_transpose": [call(A)],
    "np.linalg.multi_dot": [call([A, C, W]), call([C, D, H, C]), call([W, C])],
    "np.linalg.norm": [
        call(V), call(A), *[call(V, p) for p in (0, 1, -1, 2, 3, 0.5, np.inf, -np.inf)],
        *[call(C, p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)], call(A, axis=1),
        call(X4, axis=(0, 2)), call(A, 1, 0, True), call(A, keepdims=True), call(K), call(Z),
        call(V.astype("float32"), 3), call(K[0], 3),
    ],
    "np.linalg.outer": [call(V, W)],
    "np.linalg.pinv": [call(A), call(C, 1e-3), symmetric(H, hermitian=True), call(A, rtol=1e-3)],
    "np.linalg.qr": [call(C), rough(A.T, "complete"), call(C, mode="r")],
    "np.linalg.slogdet": [call(C), call(T), call(ZC)],
    "np.linalg.solve": [call(C, W), call(T, C)],
    "np.linalg.svd": [
        rough(A), call(A, False), call(C, compute_uv=False), symmetric(H, hermitian=True),
        symmetric(H, compute_uv=False, hermitian=True),
    ],
    "np.linalg.svdvals": [call(A)],
    "np.linalg.tensordot": [call(C, D), call(A, B, axes=([1], [1]))],
    "np.linalg.tensorinv": [call(CUBE), call(C + D, ind=1)],
    "np.linalg.tensorsolve": [call(CUBE, A), call(np.moveaxis(CUBE, 2, 0), A, axes=(0,))],
    "np.linalg.trace": [call(C), call(T, offset=1), call(C, dtype="float32")],
    "np.linalg.vecdot": [call(A, B), call(A.T, B.T, axis=0)],
    "np.linalg.vector_norm": [
        call(V), call(A, axis=1), call(A, keepdims=True), call(V, ord=3), call(A, axis=0, ord=1),
    ],
    "np.fft.fft": transforms(A, 3),
    "np.fft.fft2": transforms_of_axes(X4),
    "np.fft.fftn": transforms_of_axes(X4),
    "np.fft.fftshift": [call(V), call(A, 1), call(A, axes=(0,))],
    "np.fft.hfft": transforms(ZC[:2], 4),
    "np.fft.ifft": transforms(ZC, 3),
    "np.fft.ifft2": transforms_of_axes(X4),
    "np.fft.ifftn": transforms_of_axes(X4),
    "np.fft.ifftshift": [call(V), call(A, 1), call(A, axes=(0,))],
    "np.fft.ihfft": transforms(A, 3),
    "np.fft.irfft": transforms(ZC, 4),
    "np.fft.irfft2": transforms_of_axes(X4 + 1j),
    "np.fft.irfftn": transforms_of_axes(X4 + 1j),
    "np.fft.rfft": transforms(A, 3),
    "np.fft.rfft2": transforms_of_axes(X4),
    "np.fft.rfftn": transforms_of_axes(X4),
    "np.emath.arccos": [call(V), call(W / 2)],
    "np.emath.arcsin": [call(V), call(W / 2)],
    "np.emath.arctanh": [call(V), call(W / 2)],
    "np.emath.log": [call(V), call(A)],
    "np.emath.log10": [call(V), call(A)],
    "np.emath.log2": [call(V), call(A)],
    "np.emath.logn": [call(2.0, V), call(P + 1, W)],
    "np.emath.power": [call(V, 2), call(V, W[:1]), call([2, 4], -P[:2])],
    "np.emath.sqrt": [call(V), call(A)],
    "np.lib.stride_tricks.sliding_window_view": [
        call(V, 2), call(A, (2, 2)), call(X4, 2, axis=1), call(V, 2, subok=True),
    ],
}  # fmt: skip
# Functions that write to their first argument.
WRITERS = {"np.copyto", "np.fill_diagonal", "np.place", "np.put", "np.put_along_axis", "np.putmask"}
# Parameters that no call of the table passes by keyword, such as ``*args`` and ``**kwargs``.
NO_KEYWORD = {"out", "kwargs", "kwds", "kw", "args", "arys", "arrays_and_dtypes", "varargs", "xi"}
# Keywords that raise an error for Arrays: (function, parameter) -> a value.
REFUSED = {
    ("np.argpartition", "order"): "x",
    ("np.argsort", "order"): "x",
    ("np.partition", "order"): "x",
    ("np.sort", "order"): "x",
    ("np.lib.stride_tricks.sliding_window_view", "writeable"): True,
}
# Functions whose sums or products run in another order than NumPy's, with the units in the last
# place by which values may differ.
CLOSE = dict.fromkeys(
    (
        "np.convolve", "np.correlate", "np.dot", "np.einsum", "np.nanprod", "np.nanstd", "np.nanvar",
        "np.polyfit", "np.prod", "np.linalg.cond", "np.linalg.lstsq", "np.linalg.norm",
        "np.linalg.pinv",
    ),
    8.0,
)  # fmt: skip
# Functions that do not dispatch on a list of Arrays as their first argument: the Arrays are converted
# to NumPy values, with a warning.  For the last two, a list means coordinates or fields.
UNASKED = {
    "np.apply_along_axis", "np.full_like", "np.nanmax", "np.nanmean", "np.nanmin", "np.nanprod",
    "np.nanstd", "np.nansum", "np.nanvar", "np.pad", "np.polyint", "np.repeat", "np.take",
    "np.histogramdd", "np.result_type",
}  # fmt: skip
