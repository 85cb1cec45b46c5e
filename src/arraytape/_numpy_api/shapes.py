"""NumPy's functions that join arrays or change shapes, such as ``np.stack``, on Arrays.

They have all of NumPy's parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._util.errors import user_line
from ..ops import manipulation_functions as manipulation
from ..ops import statistical_functions as statistics
from ..ops.creation_functions import tril, triu
from ..ops.manipulation_functions import concat, in_shape, reshape
from . import methods
from .implementations import NUMBERS
from .numpy_arguments import (
    ArrayLike,
    Casting,
    DType,
    array_of,
    arrays_like_first,
    as_operands,
    cast_checked,
    write_into,
)


def at_least(n: int) -> Callable[..., Any]:
    """Return ``numpy.atleast_1d``, ``atleast_2d`` or ``atleast_3d``; their results are views."""

    def add_axes(x: Array) -> Array:
        if not x.ndim:
            return reshape(x, (1,) * n)
        behind = n == 3 and x.ndim < 3  # np.atleast_3d adds one axis at the end
        return x[(*(None,) * (n - x.ndim - behind), ..., *(None,) * behind)]

    def call_at_least(*arys: Any) -> Any:
        found = tuple([add_axes(x) for x in as_operands(*arys)])
        return found if len(found) != 1 else found[0]

    return call_at_least


def each_at_least(n: int, tup: Sequence[Any]) -> list[Array]:
    """Return the operands of a function such as ``np.vstack`` as Arrays with at least n axes.

    tup : the operands.
    """
    return [at_least(n)(x) for x in as_operands(*tup)]


def numpy_broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Compute ``numpy.broadcast_arrays``; arrays without numbers, such as strings, become ndarrays."""
    plain: list[Any] = [x if isinstance(x, Array) else np.asarray(x) for x in args]
    numbers = iter(arrays_like_first(*[x for x in plain if x.dtype.kind in NUMBERS]))
    shape = np.broadcast_shapes(*[x.shape for x in plain])
    if all(x.shape == shape for x in plain):
        return tuple([next(numbers) if x.dtype.kind in NUMBERS else x for x in plain])
    return tuple([
        in_shape(next(numbers), shape) if x.dtype.kind in NUMBERS else np.broadcast_to(x, shape)
        for x in plain
    ])  # fmt: skip


def join_arrays(
    arrays: Sequence[Any], axis: int | None = 0, out: Array | None = None, *, dtype: DType = None,
    casting: Casting = "same_kind", join: Callable[..., Array] = concat,
) -> Array:  # fmt: skip
    """Compute ``numpy.concatenate``, or ``numpy.stack`` if the op ``join`` is ``stack``.

    The arrays are cast to ``dtype``, else to the dtype of ``out``, else to their common dtype.  A
    TypeError is raised if ``casting`` forbids it.
    """
    parts = as_operands(*arrays)
    if dtype is not None and out is not None:
        raise TypeError(f"np.{join.__name__}: pass out= or dtype=, not both [at {user_line()}]")
    if out is not None:
        dtype = out.dtype
    elif dtype is None and parts:
        dtype = np.result_type(*[x.dtype for x in parts])
    parts = [cast_checked(f"np.{join.__name__}", x, dtype, casting) for x in parts]
    whole = join(parts, axis=axis)
    return whole if out is None else write_into(out, whole)


def numpy_stack(
    arrays: Sequence[Any], axis: int = 0, out: Array | None = None, *, dtype: DType = None,
    casting: Casting = "same_kind",
) -> Array:  # fmt: skip
    return join_arrays(arrays, axis, out, dtype=dtype, casting=casting, join=manipulation.stack)


def numpy_broadcast_to(array: ArrayLike, shape: Any, subok: bool = False) -> Array:
    lengths = tuple(np.atleast_1d(shape).tolist())  # NumPy allows booleans as lengths
    return manipulation.broadcast_to(array_of(array), lengths)


def hstack(tup: Sequence[Any], *, dtype: DType = None, casting: Casting = "same_kind") -> Array:
    parts = each_at_least(1, tup)
    axis = 0 if parts[0].ndim == 1 else 1
    return join_arrays(parts, axis, dtype=dtype, casting=casting)


def vstack(tup: Sequence[Any], *, dtype: DType = None, casting: Casting = "same_kind") -> Array:
    return join_arrays(each_at_least(2, tup), dtype=dtype, casting=casting)


def dstack(tup: Sequence[Any]) -> Array:
    return join_arrays(each_at_least(3, tup), 2)


def column_stack(tup: Sequence[Any]) -> Array:
    parts = as_operands(*tup)
    return join_arrays([x if x.ndim > 1 else reshape(x, (x.size, 1)) for x in parts], 1)


def triangle(cut: Callable[..., Array]) -> Callable[..., Array]:
    """Return ``numpy.tril`` or ``numpy.triu`` for Arrays; a vector is repeated as the rows of a matrix.

    cut : the op of matrices that it calls, ``tril`` or ``triu``.
    """

    def cut_triangle(m: ArrayLike, k: int = 0) -> Array:
        m = array_of(m)
        return cut(numpy_broadcast_to(m, m.shape * 2) if m.ndim == 1 else m, k=k)

    return cut_triangle


def cumulative(along: Callable[..., Array]) -> Callable[..., Array]:
    """Return ``numpy.cumulative_sum`` or ``cumulative_prod`` for Arrays.

    Shape () is treated as shape (1,).  along : the op that it calls.
    """

    def accumulate_elements(
        x: ArrayLike, *, axis: int | None = None, dtype: DType = None, include_initial: bool = False
    ) -> Array:
        x = array_of(x)
        x = x if x.ndim else reshape(x, (1,))
        return along(x, axis=axis, dtype=dtype, include_initial=include_initial)

    return accumulate_elements


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{
        function: methods.METHODS[function.__name__]
        for function in (
            np.argsort, np.cumprod, np.cumsum, np.diagonal, np.repeat, np.squeeze, np.swapaxes,
            np.take, np.trace,
        )
    },
    np.atleast_1d: at_least(1),
    np.atleast_2d: at_least(2),
    np.atleast_3d: at_least(3),
    np.broadcast_arrays: numpy_broadcast_arrays,
    np.broadcast_to: numpy_broadcast_to,
    np.concatenate: join_arrays,
    np.column_stack: column_stack,
    np.cumulative_prod: cumulative(statistics.cumulative_prod),
    np.cumulative_sum: cumulative(statistics.cumulative_sum),
    np.copy: lambda a, order="K", subok=False: methods.copy(array_of(a), order),
    np.dstack: dstack,
    np.hstack: hstack,
    np.stack: numpy_stack,
    np.transpose: lambda a, axes=None: methods.transpose(a, axes),
    np.tril: triangle(tril),
    np.triu: triangle(triu),
    np.vstack: vstack,
}  # fmt: skip
