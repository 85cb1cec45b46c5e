"""Names beyond the standard that NumPy's users and third-party code ask a namespace for."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import current
from .._define.words import composite
from .._storage.storage import storage_of
from .._util.errors import describe, user_line
from . import data_type_functions, elementwise_functions, searching_functions
from . import statistical_functions as statistics
from ._einsum import contracted
from .creation_functions import full, linspace, zeros
from .indexing_functions import scatter_add, take
from .linalg import diagonal
from .manipulation_functions import concat, normalize_axis_index, reshape, squeeze
from .sorting_functions import sort


@composite
def median(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The middle value along an axis, or the mean of the two in the middle; NaN where there is one."""
    ones = (1,) * x.ndim
    flat = reshape(x, (-1,)) if axis is None else x
    at = 0 if axis is None else normalize_axis_index("median", x, axis)
    ordered, count = sort(flat, axis=at), flat.shape[at]
    if not count:
        raise ValueError(f"median: axis {axis} of {describe(x)} is empty [at {user_line()}]")
    before = (slice(None),) * at
    middle = ordered[(*before, slice((count - 1) // 2, count // 2 + 1))]
    last = ordered[(*before, slice(-1, None))]
    value = statistics.mean(middle, axis=at, keepdims=True)
    value = searching_functions.where(elementwise_functions.isnan(last), last, value)
    if axis is None:
        return reshape(value, ones if keepdims else ())
    return value if keepdims else squeeze(value, at)


@composite
def bincount(x: Array, /, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each non-negative integer occurs, or the sum of its weights (which stay connected)."""
    _, data = current(x)
    indices = storage_of(data).host(data)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or (indices < 0).any():
        raise ValueError(
            f"bincount: needs non-negative integers in one dimension, got {describe(x)} "
            f"[at {user_line()}]"
        )
    size = max(int(indices.max()) + 1 if indices.size else 0, minlength)
    if weights is None:
        return asarray_like(x, np.bincount(indices, minlength=size))
    return scatter_add(data_type_functions.astype(weights, "float64", copy=False), (size,), data)


@composite
def diag(x: Array, /, k: int = 0) -> Array:
    """A matrix with x on its k-th diagonal; of a matrix, a copy of its k-th diagonal."""
    if x.ndim != 1:
        return diagonal(x, offset=k)
    n = x.shape[0] + abs(k)
    rows = np.arange(x.shape[0])
    matrix = zeros((n, n), dtype=x.dtype, device=x.device)
    matrix[rows + max(-k, 0), rows + max(k, 0)] = x
    return matrix


@composite
def logspace(
    start: float | Array,
    stop: float | Array,
    /,
    num: int = 50,
    *,
    endpoint: bool = True,
    base: float | Array = 10.0,
    dtype: Any = None,
    device: Any = None,
) -> Array:
    """``num`` powers of a base, evenly spaced in their exponents; 0-d Arrays keep their gradient."""
    exponents = linspace(start, stop, num, endpoint=endpoint, device=device)
    powers = elementwise_functions.pow(base, exponents)
    return powers if dtype is None else data_type_functions.astype(powers, dtype, copy=False)


@composite
def einsum(subscripts: str, /, *operands: Array, optimize: Any = False) -> Array:
    """Einstein's summation, as ``numpy.einsum`` has it: ``einsum("ij,jk->ik", a, b)`` is ``a @ b``.

    optimize : True or what ``numpy.einsum_path`` knows; else the operands are multiplied from the left.
    """
    return contracted(subscripts, operands, optimize)


@composite
def pad(
    x: Array,
    pad_width: Any,
    /,
    mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
    *,
    constant_values: Any = 0,
    reflect_type: Literal["even"] = "even",
) -> Array:
    """x with more elements around it, as ``numpy.pad`` makes them: constants, or x's own.

    pad_width, constant_values : one for all, (before, after), or that for each axis.
    """
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or reflect_type != "even":
        raise ValueError(
            f"pad: no mode {mode!r} with reflect_type={reflect_type!r} [at {user_line()}]"
        )
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    if mode == "constant":
        values = pairs(constant_values, x.ndim)
        for at, (width, ends) in enumerate(zip(widths, values, strict=True)):
            parts = []
            for n, value in zip(width, ends, strict=True):
                shape = (*x.shape[:at], n, *x.shape[at + 1 :])
                parts.append(full(shape, value, dtype=x.dtype, device=x.device))
            x = concat([parts[0], x, parts[1]], axis=at)
        return x
    for at, width in enumerate(widths):
        if any(width):
            x = take(x, asarray_like(x, np.pad(np.arange(x.shape[at]), width, mode)), axis=at)
    return x


def pairs(values: Any, count: int) -> list[Any]:
    """A value before and one after, for each axis."""
    if isinstance(values, Array) or not np.ndim(values):
        return [(values, values)] * count
    if isinstance(values[0], Array) or not np.ndim(values[0]):
        ends = (values[0], values[-1])
        return [ends] * count
    return [(each[0], each[-1]) for each in (values if len(values) > 1 else [values[0]] * count)]
