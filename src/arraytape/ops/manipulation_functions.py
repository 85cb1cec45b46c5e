"""Manipulation functions: reshaping, moving, joining and repeating.

Functions that only rearrange elements return views where NumPy does.  The others consist of linear ops.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._array.paths import (
    BROADCAST,
    DIAGONAL,
    GETITEM,
    IMAG,
    PERMUTE,
    READ_ONLY,
    REAL,
    RESHAPE,
    WINDOWS,
)
from .._array.views import alias, current, lay_out_like
from .._define.words import composite, linear, sample
from .._record.op_facts import VIEW
from .._storage.standard import Axis
from .._storage.storage import storage_of
from .._util.array_types import Namespace, RawArray
from .._util.attach import attach_method
from .._util.errors import describe, entrance, explain, user_line
from .elementwise_functions import imag_part, real_part
from .indexing_functions import take

INTEGERS = frozenset((int,))


def view(op: str, x: Array, kind: str, argument: Any) -> Array:
    """Return a view of x, made by one step; if the step does not fit x, raise the error of ``op``.

    kind, argument : the step, such as PERMUTE and a tuple of axes.
    """
    try:
        seen = alias(x, kind, argument)
    except Exception as error:
        parameter = {PERMUTE: "axes", BROADCAST: "shape"}.get(kind, "key")
        raise explain(op, error, x=x, **{parameter: argument}) from error
    assert seen is not None, f"{op} is a view on every storage"
    return seen


def view_or_frozen_copy(x: Array, kind: str, argument: Any) -> Array:
    """Return a view of x such as a diagonal; a read-only copy if x's library has no such views.

    kind, argument : the step from x to the view, such as DIAGONAL and the offset.
    """
    seen = alias(x, kind, argument)
    return read_only(COPIES[kind](x, argument)) if seen is None else seen


def read_only(x: Array) -> Array:
    """Return a view of x that cannot be written to."""
    seen = alias(x, READ_ONLY, None)
    return x if seen is None else seen  # ``alias`` returns None if x has no elements


def diagonal_of(x: Array, offset: int) -> Array:
    """Return a copy of the diagonals of matrices."""
    rows, columns = x.shape[-2:]
    places = np.arange(max(0, min(rows + min(offset, 0), columns - max(offset, 0))))
    return x[..., places - min(offset, 0), places + max(offset, 0)]


def windows_of(x: Array, argument: tuple[int, int]) -> Array:
    """Return a copy of the sliding windows along an axis; each window lies along a new last axis.

    argument : the pair of the axis, as a negative number, and the length of the windows.
    """
    axis, length = argument
    starts = np.arange(x.shape[axis] - length + 1)[:, None]
    gathered = x[(..., starts + np.arange(length), *(slice(None),) * (-axis - 1))]
    return moveaxis(gathered, axis, -1)


# For array libraries that cannot make a view of a kind: the kind -> a function that returns a copy.
COPIES: dict[str, Callable[[Array, Any], Array]] = {
    DIAGONAL: diagonal_of,
    IMAG: lambda x, _: imag_part(x),
    READ_ONLY: lambda x, _: x,
    REAL: lambda x, _: real_part(x),
    WINDOWS: windows_of,
}


@attach_method(Array, "_part")
def view_or_copy(x: Array, kind: str, argument: Any) -> Array:
    """Return a view of x such as a diagonal, or a copy if x's library has no such views.

    Derivative rules call it for a cotangent x that is an Array.

    kind, argument : the step from x to the view, such as DIAGONAL and the offset.
    """
    seen = alias(x, kind, argument)
    return COPIES[kind](x, argument) if seen is None else seen


def normalize_axis_index(op: str, x: Array, axis: int, extra: int = 0) -> int:
    """Return an axis as a non-negative int; raise AxisError (an IndexError) if x has no such axis.

    op : the op, for the message.  extra : the number of axes that the op adds to those of x.
    """
    ndim = x.ndim + extra
    try:
        axis = operator.index(axis)
    except TypeError as error:
        raise TypeError(
            f"{op}: an axis is an integer, got {describe(axis)} for {describe(x)} [at {user_line()}]"
        ) from error
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(
            f"{op}: axis {axis} is out of range for {describe(x)} [at {user_line()}]; it has the axes "
            f"{-ndim} to {ndim - 1}"
        )
    return axis % ndim


def distinct_axes(op: str, x: Array, axes: Sequence[int]) -> set[int]:
    """Return axes as a set of non-negative ints; raise ValueError if an axis is repeated."""
    found = {normalize_axis_index(op, x, a) for a in axes}
    if len(found) < len(axes):
        raise ValueError(f"{op}: repeated axis in {axes} for {describe(x)} [at {user_line()}]")
    return found


@composite(**VIEW)
def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Permute the axes, as a view.

    Parameters
    ----------
    axes
        For each axis of the result, the corresponding axis of x; each axis of x occurs once.

    Returns
    -------
    Array
        A view of x, of shape ``tuple(x.shape[i] for i in axes)``.

    Raises
    ------
    ValueError
        When axes does not contain each axis of x once.
    """
    return view("permute_dims", x, PERMUTE, tuple(axes))


@composite(**VIEW, in_order=True)
def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Reshape an array, as a view if the memory layout allows one.

    Parameters
    ----------
    shape
        The new shape, with as many elements.  One length may be -1, and is computed from the others.

    Returns
    -------
    Array
        Of the given shape and the dtype of x.

    Raises
    ------
    ValueError
        When x has another number of elements, or a copy is needed and copy is False.
    """
    if type(shape) is not tuple or not INTEGERS.issuperset(map(type, shape)):
        shape = tuple([operator.index(n) for n in ((shape,) if isinstance(shape, int) else shape)])
    if copy is not True:
        try:
            seen = alias(x, RESHAPE, shape)
        except Exception as error:
            raise explain("reshape", error, x=x, shape=shape) from error
        if seen is not None:
            return seen
        if copy is False:
            raise ValueError(
                f"reshape: shape {shape} of {x.shape} needs a copy, but copy=False "
                f"[at {user_line()}]"
            )
    return reshaped(x, shape)


@linear(
    transpose=lambda g, old, xp: xp.reshape(g, old),
    saves={"old": lambda x: x.shape},
    samples=(sample((3, 4), shape=(2, 6)), sample((1,), shape=()), sample((0, 3), shape=(3, 0))),
    origin="inner", signature="(...)->(...)", **VIEW, in_order=True, scalars=False,
)  # fmt: skip
def reshaped(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Copy x and reshape the copy."""


@composite(**VIEW, in_order=True)
def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Broadcast an array to a shape, as a read-only view.

    Parameters
    ----------
    shape
        The new shape.

    Returns
    -------
    Array
        A read-only view of x.

    Raises
    ------
    ValueError
        When the shape of x does not broadcast to the new one.
    """
    return view("broadcast_to", x, BROADCAST, tuple(shape))


@composite(**VIEW, signature="(AXES)->(AXES)")
def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Add axes of length 1, as a view.

    Parameters
    ----------
    axis
        The position or positions of new axes in the result; negative numbers count from its end.

    Returns
    -------
    Array
        A view of x.

    Raises
    ------
    ValueError
        When an axis is listed twice.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    at = {normalize_axis_index("expand_dims", x, a, extra=len(axes)) for a in axes}
    if len(at) < len(axes):
        raise ValueError(
            f"expand_dims: repeated axis in {axes} for {describe(x)} [at {user_line()}]"
        )
    places = range(x.ndim + len(axes))
    # As in NumPy, the view is a reshape where possible.  ``x[None]`` would have other strides, on which
    # the rounding of later ops depends.
    lengths = iter(x.shape)
    seen = alias(x, RESHAPE, tuple([1 if i in at else next(lengths) for i in places]))
    if seen is not None:
        return seen
    key = tuple(None if i in at else slice(None) for i in places)
    return view("expand_dims", x, GETITEM, key if key else ...)


@composite(**VIEW, signature="(AXES)->(AXES)")
def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Remove the given axes of length 1, as a view.

    Parameters
    ----------
    axis
        The axis or axes to remove; negative numbers count from the end.

    Returns
    -------
    Array
        A view of x.

    Raises
    ------
    ValueError
        When an axis has another length than 1.
    """
    axes = distinct_axes("squeeze", x, (axis,) if isinstance(axis, int) else axis)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(
            f"squeeze: axes {sorted(axes)} of {describe(x)} are not all of length 1 "
            f"[at {user_line()}]"
        )
    key = tuple(0 if i in axes else slice(None) for i in range(x.ndim))
    return view("squeeze", x, GETITEM, (*key, ...))


@composite(
    takes="any",
    gives=("x", "x"),
    **VIEW,
    signature="(AXES)->(AXES)",
)
def flip(x: Array, /, *, axis: Axis = None) -> Array:
    """Reverse the order of elements along the given axes (all by default), as a view.

    Parameters
    ----------
    axis
        The axis or axes to reverse; negative numbers count from the end.  None: all axes.

    Returns
    -------
    Array
        A view of x, of the same shape.
    """
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    at = distinct_axes("flip", x, axes)
    key = tuple(slice(None, None, -1) if i in at else slice(None) for i in range(x.ndim))
    return view("flip", x, GETITEM, (*key, ...))


@composite(**VIEW)
def moveaxis(
    x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Array:
    """Move axes to other positions, as a view; the other axes keep their order.

    Parameters
    ----------
    source
        The axis or axes of x to move; negative numbers count from the end.
    destination
        The position in the result of each axis in source.

    Returns
    -------
    Array
        A view of x.

    Raises
    ------
    ValueError
        When source and destination differ in length, or list an axis twice.
    IndexError
        When there is no such axis.
    """
    sources = (source,) if isinstance(source, int) else source
    targets = (destination,) if isinstance(destination, int) else destination
    moved = [normalize_axis_index("moveaxis", x, a) for a in sources]
    places = [normalize_axis_index("moveaxis", x, a) for a in targets]
    if len(moved) != len(places) or len(set(moved)) < len(moved) or len(set(places)) < len(places):
        raise ValueError(
            f"moveaxis: source {source} and destination {destination} of {describe(x)} do not pair up "
            f"[at {user_line()}]"
        )
    order = [a for a in range(x.ndim) if a not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, tuple(order))


@composite
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an array into its slices along an axis, as views; elements of a 1-d array are copies.

    Returns
    -------
    tuple of Array
        ``x.shape[axis]`` Arrays, without that axis.
    """
    at = normalize_axis_index("unstack", x, axis)
    before = (slice(None),) * at
    return tuple(x[(*before, i)] for i in range(x.shape[at]))


def _concat_vjp(
    g: RawArray, shape: Sequence[tuple[int, ...]], axis: int | None, xp: Namespace
) -> Any:
    """Return the part of g for each of the joined arrays.

    These are the cotangents of the arrays for the cotangent g of their concatenation.

    shape : the shapes of the arrays.
    """
    if axis is None:
        g, parts, start = xp.reshape(g, (-1,)), [], 0
        for old in shape:
            size = math.prod(old)
            parts.append(xp.reshape(g[start : start + size], old))
            start += size
        return parts
    at, parts, start = axis % len(g.shape), [], 0
    for old in shape:
        parts.append(g[(*(slice(None),) * at, slice(start, start + old[at]))])
        start += old[at]
    return parts


@linear(
    transpose=_concat_vjp,
    samples=(
        sample([(2, 3), (1, 3)]),
        sample([(2, 3), (2, 1)], axis=-1),
        sample([(2, 2), (3,)], axis=None),
    ),
    signature="(...)->(...)", promotes="all", propagates_nan=True, rearranges=True,
)  # fmt: skip
def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an existing axis.

    Parameters
    ----------
    arrays
        A list or tuple of Arrays whose shapes agree apart from the joined axis.
    axis
        The axis; a negative number counts from the end.  None: the arrays are flattened first.

    Returns
    -------
    Array
        Of the dtype to which those of the arrays promote.

    Raises
    ------
    ValueError
        When there are no arrays, or their shapes differ along another axis.
    """


def _stack_vjp(g: RawArray, axis: int) -> Any:
    """Return the slice of g along the axis for each of the stacked arrays.

    These are the cotangents of the arrays for the cotangent g of their stack.
    """
    return [g[(*(slice(None),) * (axis % len(g.shape)), i)] for i in range(g.shape[axis])]


@linear(
    transpose=_stack_vjp,
    samples=(sample([(2, 3), (2, 3)]), sample([(3,), (3,), (3,)], axis=-1), sample([(), ()])),
    signature="(...)->(...)", promotes="all", propagates_nan=True, rearranges=True,
)  # fmt: skip
def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    arrays
        A list or tuple of Arrays of one shape.
    axis
        The position of the new axis in the result; a negative number counts from its end.

    Returns
    -------
    Array
        Of the dtype to which those of the arrays promote.

    Raises
    ------
    ValueError
        When there are no arrays, or their shapes differ.
    """


@composite(takes="any", gives=("x", "x"))
def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Array:
    """Shift elements along axes; elements shifted beyond the end reappear at the start.

    Parameters
    ----------
    shift
        The number of positions: one number for all axes, or one for each axis.
    axis
        The axis or axes; None: x is flattened, shifted, and reshaped to its shape.

    Raises
    ------
    ValueError
        When shift and axis differ in length.
    """
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, axis=0), x.shape)
    axes = (axis,) if isinstance(axis, int) else axis
    shifts = shift if isinstance(shift, tuple) else (shift,)
    count = max(len(shifts), len(axes))
    shifts, axes = (part * count if len(part) == 1 else part for part in (shifts, axes))
    if len(shifts) != len(axes):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes [at {user_line()}]")
    rolled = x
    for n, a in zip(shifts, axes, strict=True):
        at = normalize_axis_index("roll", x, a)
        cut = -operator.index(n) % x.shape[at] if x.shape[at] else 0
        before = (slice(None),) * at
        parts = rolled[(*before, slice(cut, None))], rolled[(*before, slice(None, cut))]
        rolled = concat(parts, axis=at)
    return lay_out_like(rolled, x)


@composite
def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to their common shape, as views; return arrays of the same shape unchanged.

    Returns
    -------
    tuple of Array
        One Array for each argument, all of one shape.  Views with repeated elements are read-only.

    Raises
    ------
    ValueError
        When the shapes do not broadcast.
    """
    shape = broadcast_shapes(*(x.shape for x in arrays))
    if all(x.shape == shape for x in arrays):
        return arrays
    return tuple(in_shape(x, shape) for x in arrays)


def in_shape(x: Array, shape: tuple[int, ...]) -> Array:
    """Return a view of x, broadcast to ``shape``, read-only where elements are repeated."""
    return reshape(x, shape) if x.size == math.prod(shape) else broadcast_to(x, shape)


@entrance
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that results from broadcasting shapes.

    Parameters
    ----------
    *shapes : tuple[int, ...]
        The shapes.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    ValueError
        When the shapes do not broadcast.

    References
    ----------
    https://data-apis.org/array-api/latest/API_specification/generated/array_api.broadcast_shapes.html

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return tuple(int(n) for n in np.broadcast_shapes(*shapes))


@composite(data_dependent_shape="repeats")
def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element, or each slice along an axis.

    Parameters
    ----------
    repeats
        The number of repetitions: one number for all elements, or an Array with one integer for each.

    Returns
    -------
    Array
        Of the dtype of x, and of its shape apart from the axis.

    Raises
    ------
    ValueError
        When a number of repetitions is negative, or their count is not that of the elements.
    """
    if axis is None:
        return repeat(reshape(x, (-1,)), repeats, axis=0)
    at = normalize_axis_index("repeat", x, axis)
    if (
        type(repeats) is int and repeats > 0
    ):  # the gradient is a sum, a tenth of an indexed one's time
        before, after = x.shape[: at + 1], x.shape[at + 1 :]
        spread = broadcast_to(expand_dims(x, axis=at + 1), (*before, repeats, *after))
        return reshape(spread, (*before[:-1], before[-1] * repeats, *after), copy=True)
    # Arrays are read, since the shape of the result depends on the values.
    times: Any = current(repeats)[1] if isinstance(repeats, Array) else repeats
    data = current(x)[1]
    try:
        indices = storage_of(data).repeated(x.shape[at], times, data)
    except Exception as error:
        raise explain("repeat", error, x=x, repeats=repeats) from error
    return take(x, asarray_like(x, indices), axis=at)


@composite
def tile(x: Array, repetitions: int | tuple[int, ...], /) -> Array:
    """Repeat the whole array along each axis.

    Parameters
    ----------
    repetitions
        The number of repetitions along each axis.  The last number belongs to the last axis of x; if
        there are more numbers than axes, x gets new axes in front.

    Returns
    -------
    Array
        Of the dtype of x, and of the shape of x times the repetitions.
    """
    times = repetitions if isinstance(repetitions, tuple) else (repetitions,)
    times = (1,) * (x.ndim - len(times)) + times
    shape = (1,) * (len(times) - x.ndim) + x.shape
    apart = tuple(n for pair in zip((1,) * len(shape), shape, strict=True) for n in pair)
    spread = tuple(n for pair in zip(times, shape, strict=True) for n in pair)
    whole = tuple(a * b for a, b in zip(times, shape, strict=True))
    if not x.size:
        return reshape(x, whole)
    return reshape(broadcast_to(reshape(x, apart), spread), whole, copy=True)
