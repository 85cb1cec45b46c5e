"""Names beyond the standard that NumPy's users and third-party code ask a namespace for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import Array, beside
from .._errors import describe, user_line
from .._storage import storage_of
from .._view import current
from .._words import composite
from . import data_type_functions, elementwise_functions, searching_functions
from . import statistical_functions as statistics
from .creation_functions import copied, zeros
from .indexing_functions import scatter_add
from .linalg import diagonal
from .manipulation_functions import normal_axis, permute_dims, reshape, squeeze
from .numpy_functions import dot
from .sorting_functions import sort

Axis = int | tuple[int, ...] | None


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


def reduction(name: str) -> Callable[..., Array]:
    """A reduction as a method, with the axis in NumPy's place."""
    function = getattr(statistics, name, None) or getattr(searching_functions, name)

    def method(x: Array, axis: Axis = None, **options: Any) -> Array:
        return function(x, axis=axis, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See ``{name}``."
    return method


def method_reshape(x: Array, *shape: Any, copy: bool | None = None) -> Array:
    """See ``reshape``; the lengths may come one by one."""
    return reshape(x, shape[0] if len(shape) == 1 else shape, copy=copy)


def method_transpose(x: Array, *axes: Any) -> Array:
    """See ``permute_dims``; the axes are reversed when none are given."""
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return permute_dims(x, tuple(order) if order else tuple(reversed(range(x.ndim))))


def method_astype(x: Array, dtype: Any, *, copy: bool = True) -> Array:
    """See ``astype``."""
    return data_type_functions.astype(x, dtype, copy=copy)


def method_flatten(x: Array) -> Array:
    """A copy in one dimension."""
    return copied(reshape(x, (-1,)))


METHODS: dict[str, Any] = {
    **{name: reduction(name) for name in ("max", "mean", "min", "prod", "std", "sum", "var")},
    **{name: reduction(name) for name in ("argmax", "argmin")},
    "astype": method_astype,
    "conj": elementwise_functions.conj,
    "copy": copied,
    "dot": dot,
    "flatten": method_flatten,
    "imag": property(elementwise_functions.imag),
    "ravel": lambda x: reshape(x, (-1,)),
    "real": property(elementwise_functions.real),
    "reshape": method_reshape,
    "squeeze": lambda x, axis: squeeze(x, axis),
    "transpose": method_transpose,
}
for name, method in METHODS.items():
    setattr(Array, name, method)
