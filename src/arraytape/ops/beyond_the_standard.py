"""Names beyond the standard that NumPy's users and third-party code ask a namespace for."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array, beside
from .._errors import describe, user_line
from .._storage import storage_of
from .._view import current
from .._words import composite
from . import data_type_functions, elementwise_functions, searching_functions
from . import statistical_functions as statistics
from .creation_functions import linspace, zeros
from .indexing_functions import scatter_add
from .linalg import diagonal
from .manipulation_functions import normal_axis, reshape, squeeze
from .sorting_functions import sort


@composite
def median(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The middle value along an axis, or the mean of the two in the middle; NaN where there is one."""
    ones = (1,) * x.ndim
    flat = reshape(x, (-1,)) if axis is None else x
    at = 0 if axis is None else normal_axis("median", x, axis)
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
        return beside(x, np.bincount(indices, minlength=size))
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
