"""NumPy's functions that take arrays apart, put them together and turn them round, on Arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .._array.array import Array, asarray_like
from .._util.errors import describe, user_line
from ..ops import creation_functions as creation
from ..ops.data_type_functions import astype
from ..ops.extras import diag, pad
from ..ops.indexing_functions import take
from ..ops.manipulation_functions import (
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    normalize_axis_index,
    permute_dims,
    reshape,
    stack,
    tile,
)
from .arguments import array_of, as_arrays, axes_of, check_only, on_axis, on_host


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """See ``numpy.array_split``: views."""
    ary = array_of(ary)
    at = normalize_axis_index("split", ary, axis)
    before = (slice(None),) * at
    parts = np.array_split(np.arange(ary.shape[at]), indices_or_sections)
    ends = [(part[0], part[-1] + 1) if part.size else (0, 0) for part in parts]
    return [ary[(*before, slice(int(i), int(j)))] for i, j in ends]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """See ``numpy.split``: views."""
    ary = array_of(ary)
    axis = normalize_axis_index("split", ary, axis)
    if not np.ndim(indices_or_sections) and ary.shape[axis] % indices_or_sections:
        raise ValueError(
            f"np.split: {indices_or_sections} parts of {ary.shape[axis]} are not equal "
            f"[at {user_line()}]"
        )
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """See ``numpy.hsplit``."""
    check_axes("hsplit", ary, 1)
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """See ``numpy.dsplit``."""
    check_axes("dsplit", ary, 3)
    return split(ary, indices_or_sections, 2)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """See ``numpy.vsplit``."""
    check_axes("vsplit", ary, 2)
    return split(ary, indices_or_sections)


def check_axes(name: str, ary: Any, least: int) -> None:
    """ValueError for an array with fewer axes than a function needs."""
    if ary.ndim < least:
        raise ValueError(
            f"np.{name} needs {least} axes or more, got {describe(ary)} [at {user_line()}]"
        )


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """See ``numpy.rot90``: a view."""
    m = array_of(m)
    first, second = (normalize_axis_index("rot90", m, i) for i in axes)
    order = [*range(m.ndim)]
    order[first], order[second] = second, first
    if k % 4 == 1:
        return permute_dims(flip(m, axis=second), tuple(order))
    if k % 4 == 3:
        return flip(permute_dims(m, tuple(order)), axis=second)
    return flip(m, axis=(first, second)) if k % 4 else m[...]


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """See ``numpy.rollaxis``."""
    axis = normalize_axis_index("rollaxis", a, axis)
    start = normalize_axis_index("rollaxis", a, start, extra=int(start >= 0))
    return moveaxis(a, axis, start - 1 if axis < start else start)


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """See ``numpy.append``."""
    arr, values = as_arrays(arr, values)
    first, at = on_axis("append", arr, axis)
    return concat([first, on_axis("append", values, axis)[0]], axis=at)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """See ``numpy.insert``."""
    arr, values = as_arrays(arr, values)
    arr, at = on_axis("insert", arr, axis)
    obj = on_host(obj) if isinstance(obj, Array) else obj
    single = not isinstance(obj, slice) and np.ndim(obj) == 0
    values = reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
    values = moveaxis(values, 0, at) if single else values
    n = arr.shape[at]
    count = len(np.insert(np.arange(n), obj, 0)) - n
    count = values.shape[at] if count == 1 else count
    wide = broadcast_to(values, (*arr.shape[:at], count, *arr.shape[at + 1 :]))
    order = np.insert(np.arange(n), obj, np.arange(n, n + count))
    whole = concat([arr, astype(wide, arr.dtype, copy=False)], axis=at)
    return take(whole, asarray_like(arr, order), axis=at)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """See ``numpy.delete``."""
    arr, at = on_axis("delete", array_of(arr), axis)
    obj = on_host(obj) if isinstance(obj, Array) else obj
    return take(arr, asarray_like(arr, np.delete(np.arange(arr.shape[at]), obj)), axis=at)


def compress(condition: Any, a: Any, axis: int | None = None) -> Array:
    """See ``numpy.compress``."""
    a, at = on_axis("compress", array_of(a), axis)
    return take(a, asarray_like(a, np.flatnonzero(on_host(condition))), axis=at)


def block(arrays: Any) -> Array:
    """See ``numpy.block``."""
    parts = [*leaves(arrays)]
    home = as_arrays(*parts)
    depth = levels(arrays)
    n = max(depth, *(x.ndim for x in home))
    each = iter([reshape(x, (1,) * (n - x.ndim) + x.shape) for x in home])

    def joined(nested: Any, axis: int) -> Array:
        if not isinstance(nested, list):
            return next(each)
        return concat([joined(part, axis + 1) for part in nested], axis=axis)

    return joined(arrays, n - depth)


def leaves(nested: Any) -> Any:
    if not isinstance(nested, list):
        yield nested
        return
    for part in nested:
        yield from leaves(part)


def levels(nested: Any) -> int:
    return 1 + levels(nested[0]) if isinstance(nested, list) else 0


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, /, *args: Any, **kw: Any
) -> Any:
    """See ``numpy.apply_along_axis``: one call after the other."""
    arr = array_of(arr)
    at = normalize_axis_index("apply_along_axis", arr, axis)
    lines = moveaxis(arr, at, -1)
    found = [func1d(lines[i], *args, **kw) for i in np.ndindex(lines.shape[:-1])]
    whole = stack(as_arrays(arr, *found)[1:])
    extra = whole.ndim - 1
    whole = reshape(whole, (*lines.shape[:-1], *whole.shape[1:]))
    ends = tuple(range(whole.ndim - extra, whole.ndim))
    return moveaxis(whole, ends, tuple(range(at, at + extra)))


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Array:
    """See ``numpy.lib.stride_tricks.sliding_window_view``: read-only, and a copy."""
    x = array_of(x)
    lengths = np.atleast_1d(window_shape).tolist()
    axes = axes_of("sliding_window_view", x, axis)
    if len(lengths) != len(axes):
        raise ValueError(f"sliding_window_view: a length for each axis [at {user_line()}]")
    for length, at in zip(lengths, axes, strict=True):
        starts = np.arange(x.shape[at] - length + 1)[:, None]
        x = moveaxis(x[(*(slice(None),) * at, starts + np.arange(length))], at + 1, -1)
    return broadcast_to(x, x.shape)


def diagflat(v: Any, k: int = 0) -> Array:
    """See ``numpy.diagflat``."""
    return diag(reshape(array_of(v), (-1,)), k=k)


def tiled(A: Any, reps: Any) -> Array:
    """See ``numpy.tile``."""
    return tile(array_of(A), tuple(np.atleast_1d(reps).tolist()))


def in_order(x: Array, shape: Any, order: str) -> Array:
    """A reshape in the order of C or of Fortran: a view where NumPy's is one."""
    if order == "F":
        turned = permute_dims(x, tuple(reversed(range(x.ndim))))
        found = reshape(turned, tuple(reversed(shape)))
        return permute_dims(found, tuple(reversed(range(found.ndim))))
    flags = getattr(x._data, "flags", None)  # other storages have no layout to follow
    if order == "C" or (order in ("A", "K") and (flags is None or flags.c_contiguous)):
        return reshape(x, shape)
    raise ValueError(
        f"reshape: order={order!r} of this array has no counterpart [at {user_line()}]"
    )


def ravel(a: Any, order: str = "C") -> Array:
    """Give the elements one dimension, as ``numpy.ravel`` does.

    Parameters
    ----------
    a : Array
        The array.
    order : str, default: 'C'
        In which order elements are read.

    Returns
    -------
    Array
        A view where the layout allows one, else a copy.
    """
    return in_order(array_of(a), (-1,), order)


def reshaped(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Array:
    """See ``numpy.reshape``."""
    shape = newshape if shape is None else shape
    shape = tuple([operator.index(n) for n in np.atleast_1d(shape).tolist()])
    return reshape(array_of(a), shape, copy=copy) if order == "C" else in_order(a, shape, order)


def like(name: str) -> Callable[..., Array]:
    """``numpy.zeros_like`` and its kin, with another shape where one is given."""

    def call(
        a: Any, *fill: Any, dtype: Any = None, shape: Any = None, device: Any = None, **layout: Any
    ) -> Array:
        if name != "full" and fill:
            dtype, fill = fill[0], ()
        if "fill_value" in layout:
            fill = (layout["fill_value"],)
        a = array_of(a)
        home = a.device if device is None else device
        shape = a.shape if shape is None else tuple(np.atleast_1d(shape).tolist())
        return getattr(creation, name)(shape, *fill, dtype=dtype or a.dtype, device=home)

    return call


def array(object: Any, dtype: Any = None, *, ndmin: int = 0, **options: Any) -> Array:
    """``numpy.array(..., like=x)``."""
    made = creation.asarray(object, dtype=dtype, copy=options.get("copy", True) or None)
    return reshape(made, (1,) * (ndmin - made.ndim) + made.shape)


def meshgrid(
    *xi: Any, indexing: Literal["xy", "ij"] = "xy", sparse: bool = False, copy: bool = True
) -> Any:
    """See ``numpy.meshgrid``."""
    check_only("meshgrid", "sparse", sparse, False)
    return creation.meshgrid(*as_arrays(*xi), indexing=indexing)


def expanded(a: Any, axis: Any) -> Array:
    """See ``numpy.expand_dims``."""
    return expand_dims(array_of(a), tuple(axis) if isinstance(axis, list) else axis)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.append: append,
    np.apply_along_axis: apply_along_axis,
    np.array: array,
    np.array_split: array_split,
    np.block: block,
    np.compress: compress,
    np.delete: delete,
    np.diagflat: diagflat,
    np.dsplit: dsplit,
    np.empty_like: like("empty"),
    np.expand_dims: expanded,
    np.fliplr: lambda m: flip(m, axis=1),
    np.flipud: lambda m: flip(m, axis=0),
    np.full_like: like("full"),
    np.hsplit: hsplit,
    np.identity: lambda n, dtype=None: creation.eye(n, dtype=dtype),
    np.insert: insert,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
    np.meshgrid: meshgrid,
    np.ones_like: like("ones"),
    np.pad: pad,
    np.ravel: ravel,
    np.reshape: reshaped,
    np.rollaxis: rollaxis,
    np.rot90: rot90,
    np.split: split,
    np.tile: tiled,
    np.vsplit: vsplit,
    np.zeros_like: like("zeros"),
}
