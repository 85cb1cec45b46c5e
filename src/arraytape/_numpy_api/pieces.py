"""NumPy's functions that split, join, flip, reshape and create arrays: ``np.split`` on Arrays."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np

from .._array.array import Array, asarray_like
from .._array.paths import WINDOWS
from .._array.views import data_in_layout, in_order, order_of, with_axes_in_memory
from .._util.errors import describe, explain, failure, short_repr, user_line
from ..ops import creation_functions as creation
from ..ops.creation_functions import copied
from ..ops.data_type_functions import astype
from ..ops.extras import diag
from ..ops.indexing_functions import take
from ..ops.manipulation_functions import (
    concat,
    expand_dims,
    flip,
    moveaxis,
    normalize_axis_index,
    permute_dims,
    read_only,
    reshape,
    stack,
    tile,
    view_or_frozen_copy,
)
from .numpy_arguments import (
    ArrayLike,
    Axis,
    DType,
    ShapeLike,
    array_of,
    arrays_like_first,
    as_operands,
    host_values,
    normalize_axes,
    normalize_shape,
    on_axis,
)

Blocks: TypeAlias = "list[Blocks] | ArrayLike"  # the argument of ``numpy.block``


def array_split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[Array]:
    ary = array_of(ary)
    at = normalize_axis_index("split", ary, axis)
    before = (slice(None),) * at
    ends = ends_of_parts(ary.shape[at], indices_or_sections)
    return [ary[(*before, slice(i, j))] for i, j in itertools.pairwise(ends)]


def ends_of_parts(n: int, indices_or_sections: ArrayLike) -> list[int]:
    """Return the indices at which ``np.array_split`` splits an axis of length n, from 0 to n.

    indices_or_sections : the indices without 0 and n, or the number of parts.
    """
    asked = host_values(indices_or_sections)
    if asked.ndim:
        return [0, *asked.tolist(), n]
    count = number_of_parts(asked)
    each, longer = divmod(n, count)
    return [k * each + min(k, longer) for k in range(count + 1)]


MOST_PARTS = 2**31  # a list of as many parts would fill the memory


def number_of_parts(parts: np.ndarray[Any, Any]) -> int:
    """Return the number of parts for ``np.split`` as an int.

    parts : the user's argument as an array of shape ().  Raise TypeError if it is no integer, ValueError
    if it is not positive.
    """
    try:
        count = operator.index(parts.item())
    except TypeError as error:
        raise failure(f"np.split: {describe(parts.item())} parts", error) from error
    if not 0 < count < MOST_PARTS:
        raise ValueError(f"np.split: pass one or more parts, got {count} [at {user_line()}]")
    return count


def split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[Array]:
    ary = array_of(ary)
    axis = normalize_axis_index("split", ary, axis)
    asked = host_values(indices_or_sections)
    if asked.ndim == 0 and asked == 0:  # NumPy raises ZeroDivisionError, too
        raise ZeroDivisionError(f"np.split: pass one or more parts, got 0 [at {user_line()}]")
    if not asked.ndim and ary.shape[axis] % number_of_parts(asked):
        raise ValueError(
            f"np.split: use np.array_split, since {ary.shape[axis]} elements cannot be split into "
            f"{asked} equal parts [at {user_line()}]"
        )
    return array_split(ary, indices_or_sections, axis)


def split_along(name: str, least: int, axis: int) -> Callable[..., list[Array]]:
    """Return ``numpy.hsplit``, ``vsplit`` or ``dsplit`` for Arrays, given by ``name``.

    least : the smallest number of axes of the array.  axis : the axis that is split.
    """

    def split_on_axis(ary: Array, indices_or_sections: ArrayLike) -> list[Array]:
        if ary.ndim < least:
            raise ValueError(
                f"np.{name} needs {least} axes or more, got {describe(ary)} [at {user_line()}]"
            )
        return split(ary, indices_or_sections, min(axis, ary.ndim - 1))

    return split_on_axis


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    m = array_of(m)
    first, second = (normalize_axis_index("rot90", m, i) for i in axes)
    if first == second:
        raise ValueError(f"np.rot90: pass two different axes, got {axes} [at {user_line()}]")
    order = [*range(m.ndim)]
    order[first], order[second] = second, first
    if k % 4 == 1:
        return permute_dims(flip(m, axis=second), tuple(order))
    if k % 4 == 3:
        return flip(permute_dims(m, tuple(order)), axis=second)
    return flip(m, axis=(first, second)) if k % 4 else m[...]


def rollaxis(a: Array, axis: int, start: int = 0) -> Array:
    axis = normalize_axis_index("rollaxis", a, axis)
    start = normalize_axis_index("rollaxis", a, start, extra=int(start >= 0))
    return moveaxis(a, axis, start - 1 if axis < start else start)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    # np.append converts each argument on its own, so a Python number is in double precision.
    arr, values = arrays_like_first(
        arr, np.asarray(values) if isinstance(values, int | float) else values
    )
    first, at = on_axis("append", arr, axis)
    return concat([first, on_axis("append", values, axis)[0]], axis=at)


def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Array:
    """Compute ``numpy.insert`` by one gather from the joined elements of ``arr`` and ``values``.

    NumPy's own ``insert``, called on the elements' numbers, determines their order in the result.
    """
    arr, values = arrays_like_first(arr, values)
    arr, at = on_axis("insert", arr, axis)
    obj = host_values(obj) if isinstance(obj, Array) else obj
    old = np.arange(arr.size).reshape(arr.shape)
    new = np.arange(arr.size, arr.size + values.size).reshape(values.shape)
    try:
        places = np.insert(old, obj, new, at)
    except Exception as error:
        raise explain("np.insert", error, arr=arr, obj=obj, values=values) from error
    parts = [reshape(arr, (-1,)), astype(reshape(values, (-1,)), arr.dtype, copy=False)]
    found = concat(parts, axis=0)[asarray_like(arr, places)]
    return in_order(found, "F" if is_fortran(arr) else "C")


def delete(arr: ArrayLike, obj: Any, axis: int | None = None) -> Array:
    arr, at = on_axis("delete", array_of(arr), axis)
    obj = host_values(obj) if isinstance(obj, Array) else obj
    places = np.arange(arr.shape[at])
    left = np.delete(places, obj)
    if isinstance(obj, slice) or np.size(obj) == 1:
        found = take(arr, asarray_like(arr, left), axis=at)
        return in_order(found, "F" if is_fortran(arr) else "C")
    return arr[(*(slice(None),) * at, asarray_like(arr, np.isin(places, left)))]


def numpy_compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None) -> Array:
    a = array_of(a)
    a, at = on_axis("compress", a if a.ndim else reshape(a, (1,)), axis)
    places = np.flatnonzero(host_values(condition))
    return take(a, asarray_like(a, places), axis=at) if a.size else take_from_empty(a, places, at)


def take_from_empty(a: Array, places: ArrayLike, axis: int, mode: Any = "raise") -> Array:
    """Compute ``numpy.take`` of an Array without elements.

    NumPy checks the indices and determines the shape.

    places : the indices.  axis, mode : as in ``numpy.take``.
    """
    places = host_values(places)
    places = places if places.size else places.astype(int)
    try:  # with mode="wrap", NumPy 2.4 never returns for an axis of length 0
        found = np.take(np.empty(a.shape), places, axis, mode="clip" if mode == "wrap" else mode)
    except IndexError as error:
        raise explain("np.take", error, a=a, indices=places, axis=axis) from error
    return in_order(reshape(a, found.shape), "C")


def numpy_block(arrays: Blocks) -> Array:
    parts = [*leaves(arrays)]
    home = as_operands(*parts)
    depth = levels(arrays)
    n = max(depth, *(x.ndim for x in home))
    each = iter([reshape(x, (1,) * (n - x.ndim) + x.shape) for x in home])

    if not depth:
        return in_order(copied(next(each)), "C")

    def join_blocks(nested: Blocks, axis: int) -> Array:
        if not isinstance(nested, list):
            return next(each)
        return concat([join_blocks(inner, axis + 1) for inner in nested], axis=axis)

    return join_blocks(arrays, n - depth)


def leaves(nested: Blocks) -> Iterator[ArrayLike]:
    if not isinstance(nested, list):
        yield nested
        return
    for inner in nested:
        yield from leaves(inner)


def levels(nested: Blocks) -> int:
    return 1 + levels(nested[0]) if isinstance(nested, list) else 0


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, /, *args: Any, **kw: Any
) -> Any:
    """Run ``numpy.apply_along_axis``: call ``func1d`` for each line of ``arr`` along the axis."""
    arr = array_of(arr)
    at = normalize_axis_index("apply_along_axis", arr, axis)
    lines = moveaxis(arr, at, -1)
    found = [func1d(lines[i], *args, **kw) for i in np.ndindex(lines.shape[:-1])]
    whole = stack(arrays_like_first(arr, *found)[1:])
    extra = whole.ndim - 1
    whole = reshape(whole, (*lines.shape[:-1], *whole.shape[1:]))
    ends = tuple(range(whole.ndim - extra, whole.ndim))
    return moveaxis(whole, ends, tuple(range(at, at + extra)))


def sliding_window_view(
    x: ArrayLike, window_shape: Any, axis: Axis = None, *, subok: bool = False,
    writeable: bool = False,
) -> Array:  # fmt: skip
    x = array_of(x)
    if writeable:
        raise TypeError(
            f"sliding_window_view: write to the array itself, without writeable=True: windows overlap, "
            f"so that a write to a window would change others [at {user_line()}]"
        )
    lengths = np.atleast_1d(window_shape).tolist()
    axes = normalize_axes("sliding_window_view", x, axis)
    if len(lengths) != len(axes) or min(lengths, default=0) < 0:
        raise ValueError(
            f"sliding_window_view: pass one length that is not negative for each of the axes {axes}, "
            f"got {window_shape} [at {user_line()}]"
        )
    ndim = x.ndim
    for length, at in zip(lengths, axes, strict=True):
        if length > x.shape[at]:
            raise ValueError(
                f"sliding_window_view: a window of length {length} is longer than axis {at} of "
                f"{describe(x)} [at {user_line()}]"
            )
        x = view_or_frozen_copy(x, WINDOWS, (at - x.ndim, length))
    return read_only(x) if x.ndim > ndim else read_only(x[...])


def tiled(A: ArrayLike, reps: ArrayLike) -> Array:
    A, times = array_of(A), tuple(np.atleast_1d(host_values(reps)).tolist())
    if any(n != 1 for n in times):
        return tile(A, times)
    return copied(reshape(A, (1,) * (len(times) - A.ndim) + A.shape))


def is_fortran(x: Array) -> bool:
    """Return True if x is contiguous in Fortran order but not in C order."""
    return order_of(x) == "F"


def with_reversed_axes(x: Array) -> Array:
    return permute_dims(x, tuple(reversed(range(x.ndim))))


def check_order(order: str | None) -> None:
    """Raise TypeError for an order that is no string."""
    if order is not None and not isinstance(order, str):
        raise TypeError(
            f"order must be 'C', 'F', 'A' or 'K', got {describe(order)} [at {user_line()}]"
        )


def laid_out_in_order(y: Array, order: str | None, like: Array) -> Array:
    """Return y, the result of a function, in the memory layout that the function's ``order`` requests.

    "A" means "F" if ``like``, the function's argument, is in Fortran order, else "C".  "K" means no
    change.
    """
    check_order(order)
    if order == "A":
        order = "F" if is_fortran(like) else "C"
    return y if order in ("K", None) or order in order_of(y) else in_order(y, order)


def in_memory_order(x: Array) -> Array:
    """Return a view of x whose axes are sorted by stride, the longest first, for ``np.ravel(x, "K")``.

    Axes of stride 0 keep their positions, as in ``numpy.nditer``.
    """
    strides = getattr(data_in_layout(x), "strides", None)  # None for data without strides
    if strides is None:
        return x
    inner: list[int] = []  # the axes sorted so far, with the smallest stride first
    for axis in reversed(range(x.ndim)):
        place = len(inner)
        for i in reversed(range(len(inner))):
            step, other = abs(strides[axis]), abs(strides[inner[i]])
            if step and other:
                if other <= step:
                    break
                place = i
        inner.insert(place, axis)
    return permute_dims(x, tuple(reversed(inner)))


def ravel(a: ArrayLike, order: str = "C") -> Array:
    """Flatten the array, as ``numpy.ravel`` does.

    Parameters
    ----------
    a : Array
        The array.
    order : str, default: 'C'
        The order in which elements are read: 'C', 'F', 'A' ('F' if a has Fortran's layout, else 'C')
        or 'K' (the order in memory).

    Returns
    -------
    Array
        A view if the elements lie in memory in this order without gaps, else a copy.
    """
    a = array_of(a)
    check_order(order)
    if order == "A":
        order = "F" if is_fortran(a) else "C"
    if order == "F":
        a = with_reversed_axes(a)
    elif order == "K":
        a = in_memory_order(a)
    elif order != "C":
        raise ValueError(
            f"ravel: no order {short_repr(order)}, only 'C', 'F', 'A' and 'K' [at {user_line()}]"
        )
    return reshape(a, (-1,), copy=None if not a.size or "C" in order_of(a) else True)


def numpy_reshape(
    a: ArrayLike, /, shape: ShapeLike | None = None, order: str = "C", *,
    newshape: ShapeLike | None = None, copy: bool | None = None,
) -> Array:  # fmt: skip
    x = array_of(a)
    shape = normalize_shape("np.reshape", newshape if shape is None else shape)
    if order == "A":
        order = "F" if is_fortran(x) else "C"
    if order == "C":
        return reshape(x, shape, copy=copy)
    if order != "F":
        raise ValueError(
            f"reshape: no order {short_repr(order)}, only 'C', 'F' and 'A' [at {user_line()}]"
        )
    found = reshape(with_reversed_axes(x), shape[::-1], copy=copy)
    return with_reversed_axes(found)


def array_maker_like(name: str) -> Callable[..., Array]:
    """Return ``numpy.zeros_like``, ``ones_like``, ``empty_like`` or ``full_like`` for Arrays.

    name : "zeros", "ones", "empty" or "full".
    """
    alike, other = getattr(creation, f"{name}_like"), getattr(creation, name)

    def make_array_like(
        a: ArrayLike, *fill: Any, dtype: DType = None, order: str = "K", subok: bool = True,
        shape: ShapeLike | None = None, device: Hashable | None = None, **named: Any,
    ) -> Array:  # fmt: skip
        if name != "full" and fill:
            dtype, fill = fill[0], ()
        if "fill_value" in named:
            fill = (named["fill_value"],)
        a = array_of(a)
        if shape is None:
            return laid_out_in_order(alike(a, *fill, dtype=dtype, device=device), order, a)
        home = a.device if device is None else device
        shape = normalize_shape(f"np.{name}_like", shape)
        made = other(shape, *fill, dtype=dtype or a.dtype, device=home)
        if order == "K" and len(shape) == a.ndim:
            return axes_in_memory_like(made, a)
        return laid_out_in_order(made, order, a)

    return make_array_like


def axes_in_memory_like(made: Array, a: Array) -> Array:
    """Return ``made`` with the memory layout of ``a``: its axes have the same order by stride.

    ``np.zeros_like(a)`` and similar functions return such arrays.
    """
    strides = getattr(data_in_layout(a), "strides", None)
    if strides is None or order_of(a):
        return in_order(made, "F") if is_fortran(a) else made
    order = sorted(range(a.ndim), key=lambda i: -abs(strides[i]))
    return with_axes_in_memory(made, tuple(order))


def numpy_array(
    object: ArrayLike, dtype: DType = None, *, copy: bool | None = True, order: str = "K",
    ndmin: int = 0, **options: Any,
) -> Array:  # fmt: skip

    made = creation.asarray(object, dtype=dtype, copy=copy or None)
    made = laid_out_in_order(made, order, made)
    return reshape(made, (1,) * (ndmin - made.ndim) + made.shape)


def meshgrid(
    *xi: Any, indexing: Literal["xy", "ij"] = "xy", sparse: bool = False, copy: bool = True
) -> Any:
    """Compute ``numpy.meshgrid`` of 1-D Arrays; with ``copy=False`` the grids are views."""
    grids = creation.grids(arrays_like_first(*xi), indexing, sparse)
    return tuple([in_order(grid, "C") for grid in grids]) if copy else tuple(grids)


def expanded(a: ArrayLike, axis: int | tuple[int, ...] | list[int]) -> Array:
    return expand_dims(array_of(a), tuple(axis) if isinstance(axis, list) else axis)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.append: append,
    np.apply_along_axis: apply_along_axis,
    np.array: numpy_array,
    np.array_split: array_split,
    np.block: numpy_block,
    np.compress: numpy_compress,
    np.delete: delete,
    np.diagflat: lambda v, k=0: diag(reshape(array_of(v), (-1,)), k=k),
    np.dsplit: split_along("dsplit", 3, 2),
    np.empty_like: array_maker_like("empty"),
    np.expand_dims: expanded,
    np.fliplr: lambda m: flip(m, axis=1),
    np.flipud: lambda m: flip(m, axis=0),
    np.full_like: array_maker_like("full"),
    np.hsplit: split_along("hsplit", 1, 1),
    np.identity: lambda n, dtype=None: creation.eye(n, dtype=dtype),
    np.insert: insert,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
    np.meshgrid: meshgrid,
    np.ones_like: array_maker_like("ones"),
    np.ravel: ravel,
    np.reshape: numpy_reshape,
    np.rollaxis: rollaxis,
    np.rot90: rot90,
    np.split: split,
    np.tile: tiled,
    np.vsplit: split_along("vsplit", 2, 0),
    np.zeros_like: array_maker_like("zeros"),
}
