"""NumPy's functions that say more than the standard's of that name, on Arrays.

They are what ``np.average(x)``, ``np.unique(x)``... run when an argument is an Array; the namespace
has no such names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import current
from .._storage.storage import storage_of
from ..ops.creation_functions import asarray
from ..ops.data_type_functions import astype, result_type
from ..ops.elementwise_functions import divide, equal, multiply
from ..ops.indexing_functions import take
from ..ops.linear_algebra_functions import matmul, tensordot
from ..ops.manipulation_functions import broadcast_to, normalize_axis_index, permute_dims, reshape
from ..ops.statistical_functions import mean, sum
from ..ops.utility_functions import any

Axis = int | tuple[int, ...] | None


def as_arrays(*values: Any) -> list[Any]:
    """Arrays as they are, plain arrays and scalars as Arrays where the first Array lies.

    A Python float takes on the precision of that Array, as it does with NumPy's arrays.
    """
    home = next((value for value in values if isinstance(value, Array)), None)

    def made(value: Any) -> Array:
        if home is None:
            return asarray(np.asarray(value))
        weak = type(value) in (float, complex)
        return asarray_like(
            home, np.asarray(value, np.result_type(home.dtype, value) if weak else None)
        )

    return [value if isinstance(value, Array) or value is None else made(value) for value in values]


def array_of(value: Any) -> Array:
    """One value as an Array."""
    found: Array = value if isinstance(value, Array) else asarray(np.asarray(value))
    return found


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """See ``numpy.average``; both the values and the weights stay connected."""
    a, weights = as_arrays(a, weights)
    if weights is None:
        found = mean(a, axis=axis, keepdims=keepdims)
        total = asarray_like(a, np.asarray(a.size / max(found.size, 1), found.dtype))
    else:
        weights = aligned(a, weights, axis)
        dtype = result_type(a.dtype, weights.dtype, *(["float64"] if a.dtype.kind in "iub" else []))
        weights = astype(weights, dtype)
        total = sum(weights, axis=axis, keepdims=keepdims)
        if any(equal(total, 0.0)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        products = multiply(astype(a, dtype, copy=False), weights)
        found = divide(sum(products, axis=axis, keepdims=keepdims), total)
    return (found, broadcast_to(total, found.shape)) if returned else found


def aligned(a: Array, weights: Array, axis: Axis) -> Array:
    """Weights of the averaged axes alone, in the shape in which they meet ``a``."""
    if a.shape == weights.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = [
        normalize_axis_index("average", a, i)
        for i in (axis if isinstance(axis, tuple) else (axis,))
    ]
    if weights.shape != tuple(a.shape[i] for i in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    weights = permute_dims(weights, tuple(np.argsort(axes).tolist()))
    return reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))


def at_least(n: int) -> Callable[..., Any]:
    """``numpy.atleast_1d`` and ``numpy.atleast_2d``: axes of length 1 in front, as views."""

    def call(*arys: Any) -> Any:
        found = tuple([reshape(x, (1,) * (n - x.ndim) + x.shape) for x in as_arrays(*arys)])
        return found if len(found) != 1 else found[0]

    return call


def dot(a: Any, b: Any) -> Array:
    """Dot product, as ``numpy.dot`` has it.

    Parameters
    ----------
    a : Array
        The operand on the left.
    b : Array
        The operand on the right.

    Returns
    -------
    Array
        Of scalars the product, of matrices and vectors the matrix product; in general the sum
        over the last axis of a and the last but one of b.

    Raises
    ------
    ValueError
        When the shapes do not fit together.
    """
    a, b = as_arrays(a, b)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    return matmul(a, b) if b.ndim <= 2 else tensordot(a, b, axes=([-1], [-2]))


def may_share_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Whether a write to one may be seen through the other."""
    first, second = (current(x)[1] if isinstance(x, Array) else x for x in (a, b))
    return type(first) is type(second) and storage_of(first).shares(first, second)


def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **options: Any,
) -> Any:
    """See ``numpy.unique``; a repeated value's gradient goes to its first occurrence."""
    _, index, inverse, counts = np.unique(on_host(ar), True, True, True, axis, **options)
    flat = reshape(ar, (-1,)) if axis is None else ar
    values = take(flat, asarray_like(ar, index), axis=axis or 0)
    asked = zip(
        (return_index, return_inverse, return_counts), (index, inverse, counts), strict=True
    )
    more = [asarray_like(ar, part) for wanted, part in asked if wanted]
    return (values, *more) if more else values


def of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function whose answers are integers or truths: it has no gradient to lose."""

    def plain(x: Any) -> Any:
        if isinstance(x, tuple | list):  # such as the keys of np.lexsort
            return type(x)([plain(part) for part in x])
        return on_host(x) if isinstance(x, Array) else x

    def ask(*args: Any, **options: Any) -> Any:
        values = [*args, *options.values()]
        values += [part for x in values if isinstance(x, tuple | list) for part in x]
        home = next(x for x in values if isinstance(x, Array))
        answer = function(*plain(args), **{n: plain(x) for n, x in options.items()})
        if isinstance(answer, tuple):
            return tuple([asarray_like(home, np.asarray(part)) for part in answer])
        return (
            answer if isinstance(answer, bool | np.bool) else asarray_like(home, np.asarray(answer))
        )

    return ask


def on_host(x: Array) -> Any:
    """The current values as a NumPy array."""
    data = current(x)[1]
    return storage_of(data).host(data)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{f: of_values(f) for f in (np.allclose, np.array_equal, np.array_equiv, np.isclose)},
    np.atleast_1d: at_least(1),
    np.atleast_2d: at_least(2),
    np.average: average,
    np.dot: dot,
    np.may_share_memory: may_share_memory,
    np.unique: unique,
}
