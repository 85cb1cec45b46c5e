"""The methods of NumPy's ufuncs on Arrays: ``accumulate``, ``at``, ``reduce`` and ``reduceat``.

NumPy's method computes the value from the raw data.  For the derivative, a recorded loop calls the
ufunc's op for one element along the axis after the other.  Where the namespace has a function for the
method, such as ``cumulative_sum`` for ``np.add.accumulate``, that function is called instead.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._define.raw_calls import at_users_line
from .._util.errors import describe, user_line
from ..ops.creation_functions import asarray, ones
from ..ops.data_type_functions import astype
from ..ops.indexing_functions import scatter_add
from ..ops.manipulation_functions import (
    broadcast_to,
    expand_dims,
    moveaxis,
    normalize_axis_index,
    reshape,
    stack,
)
from ..ops.searching_functions import where
from ..ops.statistical_functions import cumulative_prod, cumulative_sum
from ..ops.writing import setitem
from . import exact
from .numpy_arguments import (
    ArrayLike,
    Axis,
    DType,
    array_of,
    arrays_like_first,
    host_values,
    mask_of,
    normalize_axes,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import Index

Op = Callable[[Any, Any], Any]  # an op of two arguments, or a composition of ops


def call_method(
    ufunc: np.ufunc, method: str, ours: Callable[..., Any], *args: Any, **options: Any
) -> Any:
    """Call a method of a NumPy ufunc, such as "reduce", for the value, and ``ours`` for the derivative.

    ours : a composition of ops, which gets the same arguments.
    """
    numpys = exact.named_as(f"{ufunc.__name__}.{method}", getattr(ufunc, method))
    return exact.compute_by_numpy(numpys, lambda: ours(*args, **options), args, options)


def ufunc_reduce(ufunc: np.ufunc, op: Op, x: ArrayLike, **options: Any) -> Any:
    return call_method(ufunc, "reduce", functools.partial(fold, ufunc, op), array_of(x), **options)


def fold(
    ufunc: np.ufunc, op: Op, x: Array, axis: Axis = 0, dtype: DType = None, keepdims: bool = False,
    initial: ArrayLike | None = None, where: ArrayLike = True,
) -> Array:  # fmt: skip
    """Compute ``ufunc.reduce`` of x by ops: op(op(x[0], x[1]), x[2]) and so on along the axes.

    Parameters
    ----------
    ufunc : numpy.ufunc
        The ufunc, whose identity is the initial value if ``where`` is given and ``initial`` is not.
    op : callable
        The op of arraytape that computes the ufunc of two Arrays.
    initial : Array or number
        The first operand, if any.
    where : Array or bool
        Elements at which it is False are left out.
    """
    axes = tuple(sorted(normalize_axes(ufunc.__name__, x, axis)))
    rest = tuple(n for i, n in enumerate(x.shape) if i not in axes)

    def rows_of(array: Array) -> Iterator[Array]:
        moved = moveaxis(broadcast_to(array, x.shape), axes, tuple(range(len(axes))))
        rows = reshape(moved, (-1, *rest))
        return (rows[i, ...] for i in range(rows.shape[0]))

    parts = rows_of(x if dtype is None else astype(x, np.dtype(dtype), copy=False))
    if where is not True and initial is None:
        initial = ufunc.identity
    y: Array | None = next(parts, None) if initial is None else None
    if initial is not None:
        y = broadcast_to(arrays_like_first(x, initial)[1], rest)
    if y is None:
        raise ValueError(f"np.{ufunc.__name__}.reduce: {describe(x)} is empty [at {user_line()}]")
    if where is True:
        for part in parts:
            y = op(y, part)
    else:
        for part, mask in zip(parts, rows_of(mask_of(ufunc.__name__, x, where)), strict=True):
            y = choose(mask, op(y, part), y)
    return expand_dims(y, axis=axes) if keepdims and axes else y


# On processors with AVX-512, NumPy's ``reduce`` of these ufuncs returns a wrong value, which differs
# from the last result of ``accumulate``.  No derivative could fit such a value, so a ``reduce`` or
# ``reduceat`` of these ufuncs on Arrays raises TypeError.
MISREDUCED = frozenset((np.arctan2, np.power))

choose = where  # another name of the op, for functions that have a parameter ``where``


def accumulate_steps(op: Op, x: Array, axis: int, dtype: DType = None) -> Array:
    """Compute ``ufunc.accumulate`` of x by ops: return x[0], op(x[0], x[1]) and so on, stacked."""
    x = moveaxis(x if dtype is None else astype(x, np.dtype(dtype), copy=False), axis, 0)
    found = [x[i, ...] for i in range(x.shape[0])]
    for i in range(1, len(found)):
        found[i] = op(found[i - 1], found[i])
    return stack(found, axis=axis) if found else moveaxis(x, 0, axis)


# The functions of the standard that compute the method ``accumulate`` of a ufunc.
ACCUMULATED: dict[np.ufunc, Callable[..., Array]] = {
    np.add: cumulative_sum,
    np.multiply: cumulative_prod,
}


def ufunc_accumulate(
    ufunc: np.ufunc, op: Op, x: ArrayLike, axis: int | None = 0, dtype: DType = None
) -> Any:
    x = array_of(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(
                f"np.{ufunc.__name__}.accumulate: pass an axis of {describe(x)}, not None "
                f"[at {user_line()}]"
            )
        axis = 0
    if not x.ndim and axis in (0, -1):
        raise TypeError(
            f"np.{ufunc.__name__}.accumulate: {describe(x)} has no axis [at {user_line()}]"
        )
    axis = normalize_axis_index("accumulate", x, axis)
    if ufunc in ACCUMULATED:
        return ACCUMULATED[ufunc](x, axis=axis, dtype=dtype)
    options = {} if dtype is None else {"dtype": dtype}
    return call_method(
        ufunc, "accumulate", functools.partial(accumulate_steps, op), x, axis, **options
    )


def ufunc_reduceat(
    ufunc: np.ufunc, op: Op, x: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DType = None
) -> Any:
    """Compute ``ufunc.reduceat``: reduce slices of x, each from one of ``indices`` to the next.

    The last slice ends at the end of the axis.  An index that is not below the next one gives the
    element at the index.  op : the op of arraytape that computes the ufunc.
    """
    starts = host_values(indices)
    if not starts.size:
        starts = starts.astype(np.intp)  # an empty list has the dtype float64 in NumPy

    def reduce_slices(x: Array, _: Any, axis: int, dtype: DType = None) -> Array:
        moved = moveaxis(x if dtype is None else astype(x, np.dtype(dtype), copy=False), axis, 0)
        lengths = np.maximum(np.append(starts[1:], moved.shape[0]) - starts, 1)
        slices = np.repeat(np.arange(len(starts)), lengths)  # each element's slice
        elements = np.arange(len(slices)) + np.repeat(
            starts - (np.cumsum(lengths) - lengths), lengths
        )
        if ufunc is np.add:
            y = scatter_add(moved[elements, ...], (len(starts), *moved.shape[1:]), slices)
        else:
            later = elements != starts[slices]
            y = update_in_order(
                op,
                asarray(moved[starts, ...], copy=True),
                slices[later],
                moved[elements[later], ...],
            )
        return moveaxis(y, 0, axis)

    options: dict[str, Any] = {"axis": axis} | ({} if dtype is None else {"dtype": dtype})
    return call_method(ufunc, "reduceat", reduce_slices, array_of(x), starts, **options)


def split_by_occurrence(positions: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Split the indices of ``positions`` into groups in which each position occurs once at most.

    So one write can update all elements of a group: [5, 3, 5] gives the groups [0, 1] and [2].  The k-th
    group has the indices of the k-th occurrences.
    """
    order = np.argsort(positions, kind="stable")
    _, counts = np.unique(positions, return_counts=True)
    occurrence = np.empty_like(order)
    occurrence[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    by_occurrence = np.argsort(occurrence, kind="stable")
    return np.split(by_occurrence, np.cumsum(np.bincount(occurrence))[:-1]) if len(order) else []


def update_in_order(
    op: Callable[..., Any], y: Array, positions: np.ndarray[Any, Any], *values: Array
) -> Array:
    """Set y[p] to op(y[p], v) for each p in ``positions`` and its v in ``values``; return y.

    op : an op of the old element and the values.  A position that occurs several times is updated
    several times, in this order.
    """
    for chosen in split_by_occurrence(positions):
        at = positions[chosen]
        setitem(y, (at, ...), op(y[at, ...], *[value[chosen, ...] for value in values]))
    return y


# The ufuncs whose method ``at`` is a sum, and the factor by which the added value is multiplied.
ADDED: dict[np.ufunc, float] = {np.add: 1.0, np.subtract: -1.0}


def apply_at_in_copy(
    ufunc: np.ufunc, x: np.ndarray[Any, Any], indices: Index, *value: npt.ArrayLike
) -> Any:
    """Return a copy of the ndarray x to which ``ufunc.at(x, indices, *value)`` was applied."""
    y = x.copy(order="K")
    at_users_line(ufunc.at, ValueError())(y, indices, *value)
    return y


def ufunc_at(
    ufunc: np.ufunc, op: Callable[..., Any], x: Array, indices: Index, *value: ArrayLike
) -> None:
    """Run ``ufunc.at``: apply the ufunc in place to x[i] for each i of the indices, even if i repeats.

    op : the op of arraytape that computes the ufunc.  value : the second operand, if there is one.
    """

    def add_at_by_ops() -> Array:
        taken = x[indices].shape
        added = astype(arrays_like_first(x, *value)[1] * ADDED[ufunc], x.dtype, copy=False)
        y = x + scatter_add(broadcast_to(added, taken), x.shape, indices)
        named = scatter_add(ones(taken, device=x.device), x.shape, indices) != 0
        return where(named, y, x)  # x itself elsewhere, since adding 0.0 would turn -0.0 into 0.0

    def update_by_ops() -> Array:
        numbers = np.arange(x.size).reshape(x.shape)[host_key(indices)]
        values = [
            reshape(broadcast_to(v, numbers.shape), (-1,)) for v in arrays_like_first(x, *value)[1:]
        ]
        y = update_in_order(op, asarray(reshape(x, (-1,)), copy=True), numbers.reshape(-1), *values)
        return reshape(y, x.shape)

    numpys = exact.named_as(f"{ufunc.__name__}.at", apply_at_in_copy, ufunc)
    ours = add_at_by_ops if ufunc in ADDED else update_by_ops
    setitem(x, ..., exact.compute_by_numpy(numpys, ours, (x, indices, *value), {}))


def host_key(indices: Index) -> Any:
    """Return an index, such as a tuple, with NumPy arrays in place of Arrays."""
    if isinstance(indices, tuple):
        return tuple(host_key(part) for part in indices)
    return host_values(indices) if isinstance(indices, Array) else indices


def outer_operands(x1: ArrayLike, x2: ArrayLike) -> list[Array]:
    """Return operands for ``ufunc.outer``, reshaped so that all pairs of their elements are combined."""
    x1, x2 = arrays_like_first(x1, x2)
    return [reshape(x1, x1.shape + (1,) * x2.ndim), x2]
