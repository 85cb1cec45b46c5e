"""NumPy's methods of arrays, beyond those of the standard: each is a function of the namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import IS_VIEW, Array
from .._util.attach import attach
from .._util.errors import describe, user_line
from ..ops import data_type_functions as dtypes
from ..ops import elementwise_functions as elementwise
from ..ops import searching_functions as searching
from ..ops import statistical_functions as statistics
from ..ops import utility_functions as utilities
from ..ops.creation_functions import copied
from ..ops.data_type_functions import reinterpreted
from ..ops.indexing_functions import take
from ..ops.linalg import diagonal, trace
from ..ops.manipulation_functions import (
    broadcast_to,
    normalize_axis_index,
    permute_dims,
    repeat,
    reshape,
    squeeze,
)
from ..ops.sorting_functions import argsort, sort
from ..ops.writing import setitem
from . import reductions
from .functions import as_arrays, dot, of_values
from .pieces import compress, ravel, reshaped
from .selection import choose, clip, put
from .ufuncs import divmod

Axis = int | tuple[int, ...] | None


REDUCTION = """\
Reduce axes (all by default): ``{name}`` as a method.

Parameters
----------
axis : int | tuple[int, ...] | None, default: None
    The axis or axes to reduce, negative ones from the end; None: all of them.
*dtype : dtype
    The dtype of the result, where ``numpy.{name}`` takes it by position.
**options : object
    ``keepdims`` and what else ``numpy.{name}`` takes.

Returns
-------
Array
    That of ``{name}``, whose errors and derivative it has.

Raises
------
IndexError
    When there is no such axis."""
RUNNING = """\
Accumulate along an axis: ``{name}`` as a method.

Parameters
----------
axis : int | None, default: None
    The axis; None: the array is flattened first.
dtype : dtype | None, default: None
    The dtype of the result.

Returns
-------
Array
    That of ``{name}``, whose errors and derivative it has.

Raises
------
IndexError
    When there is no such axis."""


def reduction(name: str) -> Callable[..., Array]:
    """A reduction as a method, with the axis in NumPy's place and what else NumPy's takes."""
    homes = (statistics, searching, utilities)
    function = next(found for home in homes if (found := getattr(home, name, None)) is not None)
    numpys = reductions.FUNCTIONS.get(getattr(np, name), function)

    def method(x: Array, axis: Axis = None, *dtype: Any, **options: Any) -> Array:
        if dtype or not options.keys() <= {"keepdims"}:
            return numpys(x, axis, *dtype, **options)
        return function(x, axis=axis, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = REDUCTION.format(name=name)
    return method


def running(name: str) -> Callable[..., Array]:
    """A cumulative function as a method: of all elements in one dimension when there is no axis."""
    function = getattr(statistics, name)

    def method(x: Array, axis: int | None = None, dtype: Any = None) -> Array:
        if axis is None:
            x, axis = reshape(x, (-1,)), 0
        return function(x, axis=axis, dtype=dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = RUNNING.format(name=name)
    return method


def method_reshape(x: Array, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
    """Give the elements another shape: ``reshape`` as a method.

    Parameters
    ----------
    *shape : int | tuple[int, ...]
        The new shape, as a tuple or as lengths one by one; one may be -1.
    order : str, default: 'C'
        In which order elements are read and written, as of ``numpy.reshape``.
    copy : bool | None, default: None
        True: always copy; None: where no view is possible; False: never.

    Returns
    -------
    Array
        A view where the layout allows one, else a copy.

    Raises
    ------
    ValueError
        When x has another number of elements, or needs a copy and copy=False.
    """
    shape = shape[0] if len(shape) == 1 else shape
    return reshape(x, shape, copy=copy) if order == "C" else reshaped(x, shape, order, copy=copy)


def method_transpose(x: Array, *axes: Any) -> Array:
    """Permute the axes: ``permute_dims`` as a method.

    Parameters
    ----------
    *axes : int | tuple[int, ...]
        For each axis of the result the axis of x, as a tuple or one by one; none: in reverse
        order.

    Returns
    -------
    Array
        A view.

    Raises
    ------
    ValueError
        When axes does not name each axis of x once.
    """
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return permute_dims(x, tuple(order) if order else tuple(reversed(range(x.ndim))))


def method_swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    """Put two axes into each other's place.

    Parameters
    ----------
    axis1 : int
        One of them.
    axis2 : int
        The other one.

    Returns
    -------
    Array
        A view.

    Raises
    ------
    IndexError
        When there is no such axis.
    """
    order = [*range(x.ndim)]
    i, j = (normalize_axis_index("swapaxes", x, axis) for axis in (axis1, axis2))
    order[i], order[j] = j, i
    return permute_dims(x, tuple(order))


def method_squeeze(x: Array, axis: Axis = None) -> Array:
    """Leave out axes of length 1: ``squeeze`` as a method.

    Parameters
    ----------
    axis : int | tuple[int, ...] | None, default: None
        The axis or axes; None: all of length 1.

    Returns
    -------
    Array
        A view.

    Raises
    ------
    ValueError
        When an axis has another length.
    IndexError
        When there is no such axis.
    """
    return squeeze(x, tuple(i for i, n in enumerate(x.shape) if n == 1) if axis is None else axis)


def method_astype(
    x: Array, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Array:  # fmt: skip
    """Cast to another dtype: ``astype`` as a method.

    Parameters
    ----------
    dtype : dtype
        The dtype of the result.  An integer or boolean one cuts the gradient.
    order : str, default: 'K'
        Not used: the layout in memory is not for the caller to choose.
    casting : str, default: 'unsafe'
        Which casts are allowed, as of ``numpy.can_cast``.
    subok : bool, default: True
        Not used.
    copy : bool, default: True
        Whether the result is a copy also where the dtype does not change.

    Returns
    -------
    Array
        Of the shape of x; x itself when nothing changes and copy=False.

    Raises
    ------
    TypeError
        When dtype is no dtype, or the cast is not allowed.
    """
    if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"astype: {describe(x)} is no {dtype} by casting={casting!r} [at {user_line()}]"
        )
    return dtypes.astype(x, dtype, copy=copy)


def method_copy(x: Array, order: str = "C") -> Array:
    """Copy the array; the copy is recorded.

    Parameters
    ----------
    order : str, default: 'C'
        Not used.

    Returns
    -------
    Array
        A copy in memory of its own.
    """
    return copied(x)


def method_flatten(x: Array, order: str = "C") -> Array:
    """Copy the elements into one dimension.

    Parameters
    ----------
    order : str, default: 'C'
        In which order elements are read, as of ``numpy.ravel``.

    Returns
    -------
    Array
        A copy with one dimension.
    """
    return copied(ravel(x, order))


def method_clip(x: Array, min: Any = None, max: Any = None) -> Array:
    """Limit each element to an interval, as ``numpy.clip`` does.

    Parameters
    ----------
    min : Array | float | None, default: None
        Lower bound.
    max : Array | float | None, default: None
        Upper bound.

    Returns
    -------
    Array
        As of ``clip``; integers between floats become floats.

    Raises
    ------
    ValueError
        When the shapes do not broadcast.
    """
    return clip(x, min, max)


def method_repeat(x: Array, repeats: int | Array, axis: int | None = None) -> Array:
    """Repeat elements: ``repeat`` as a method.

    Parameters
    ----------
    repeats : int | Array
        How often: for all elements, or one number for each.
    axis : int | None, default: None
        The axis; None: x is flattened first.

    Returns
    -------
    Array
        Of the dtype of x.

    Raises
    ------
    ValueError
        When a number of repeats is negative, or there is not one for each element.
    IndexError
        When there is no such axis.
    """
    return repeat(x, repeats, axis=axis)


def method_take(x: Array, indices: Any, axis: int | None = None) -> Array:
    """Take elements at some places, as ``numpy.take`` does.

    Parameters
    ----------
    indices : Array | int | list
        Places along the axis, in any shape; negative ones count from the end.
    axis : int | None, default: None
        The axis; None: x is flattened first.

    Returns
    -------
    Array
        Of the dtype of x, with the shape of indices in the place of the axis.

    Raises
    ------
    IndexError
        When an index is out of range, or there is no such axis.
    """
    if isinstance(indices, Array) and indices.ndim == 1 and axis is not None:
        return take(x, indices, axis=axis)
    at = 0 if axis is None else normalize_axis_index("take", x, axis)
    flat = reshape(x, (-1,)) if axis is None else x
    return flat[(*(slice(None),) * at, indices)]


def method_argsort(
    x: Array, axis: int | None = -1, kind: str | None = None, *, stable: bool = True
) -> Array:
    """Indices that sort along an axis: ``argsort`` as a method.

    Parameters
    ----------
    axis : int | None, default: -1
        The axis; None: x is flattened first.
    kind : str | None, default: None
        Not used.
    stable : bool, default: True
        Whether equal elements keep their order; they do so in any case.

    Returns
    -------
    Array
        Of the shape of x; its dtype is int64.

    Raises
    ------
    IndexError
        When there is no such axis.
    """
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return argsort(x, axis=axis, stable=stable)


def method_diagonal(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Copy a diagonal, of the first two axes unless others are named.

    Parameters
    ----------
    offset : int, default: 0
        The diagonal: 0 for the main one, above it if positive, below it if negative.
    axis1 : int, default: 0
        The axis of the rows.
    axis2 : int, default: 1
        The axis of the columns.

    Returns
    -------
    Array
        The diagonals along the last axis.

    Raises
    ------
    ValueError
        When x has fewer than two dimensions.
    IndexError
        When there is no such axis.
    """
    return diagonal(last_two(x, axis1, axis2), offset=offset)


def method_trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Sum over a diagonal, of the first two axes unless others are named.

    Parameters
    ----------
    offset : int, default: 0
        The diagonal: 0 for the main one, above it if positive, below it if negative.
    axis1 : int, default: 0
        The axis of the rows.
    axis2 : int, default: 1
        The axis of the columns.

    Returns
    -------
    Array
        The sums.

    Raises
    ------
    ValueError
        When x has fewer than two dimensions.
    IndexError
        When there is no such axis.
    """
    return trace(last_two(x, axis1, axis2), offset=offset)


def last_two(x: Array, axis1: int, axis2: int) -> Array:
    """x with two axes moved to the end."""
    ends = [normalize_axis_index("diagonal", x, axis) for axis in (axis1, axis2)]
    return permute_dims(x, tuple([i for i in range(x.ndim) if i not in ends] + ends))


def method_fill(x: Array, value: Any) -> None:
    """Write one value everywhere.

    Parameters
    ----------
    value : Array or number
        The value.

    Raises
    ------
    ValueError
        When the array is read-only, or the shapes do not fit.
    """
    setitem(x, ..., value)


def method_sort(x: Array, axis: int = -1, kind: str | None = None) -> None:
    """Put the elements of x itself in order along an axis.

    Parameters
    ----------
    axis : int, default: -1
        The axis; a negative one counts from the end.
    kind : str | None, default: None
        Not used.

    Raises
    ------
    ValueError
        When the array is read-only.
    IndexError
        When there is no such axis.
    """
    setitem(x, ..., sort(x, axis=axis))


def method_partition(x: Array, kth: Any, axis: int = -1) -> None:
    """Put the elements of x itself in order, which is partitioned anywhere.

    Parameters
    ----------
    kth : int
        Not used.
    axis : int, default: -1
        The axis; a negative one counts from the end.

    Raises
    ------
    ValueError
        When the array is read-only.
    IndexError
        When there is no such axis.
    """
    method_sort(x, axis)


def get_itemsize(x: Array) -> int:
    """Bytes of one element."""
    return int(x.dtype.itemsize)


def get_nbytes(x: Array) -> int:
    """Bytes of all elements."""
    return int(x.dtype.itemsize * x.size)


def get_real(x: Array) -> Array:
    """The real part: of real numbers a view, of complex ones a copy."""
    return elementwise.real(x) if x.dtype.kind == "c" else x[...]


def set_real(x: Array, value: Any) -> None:
    """Write the real part."""
    setitem(
        x, ..., as_arrays(x, value)[1] + 1j * elementwise.imag(x) if x.dtype.kind == "c" else value
    )


def set_imag(x: Array, value: Any) -> None:
    """Write the imaginary part."""
    if x.dtype.kind != "c":
        raise TypeError(f"imag: {describe(x)} has no imaginary part to set [at {user_line()}]")
    setitem(x, ..., elementwise.real(x) + 1j * as_arrays(x, value)[1])


def get_flat(x: Array) -> Array:
    """The elements in one dimension: a view, or where that is impossible a read-only copy."""
    found = reshape(x, (-1,))
    return found if found._state & IS_VIEW else broadcast_to(found, found.shape)


def set_flat(x: Array, value: Any) -> None:
    """One value everywhere, or one for each element."""
    (value,) = as_arrays(x, value)[1:]
    setitem(x, ..., reshape(value, x.shape if value.size == x.size else ()))


def method_view(x: Array, dtype: Any = None) -> Array:
    """Make another handle on x, or read pairs of real numbers as complex ones.

    Parameters
    ----------
    dtype : dtype | None, default: None
        None or that of x: a view.  The complex dtype of the same precision, or back: pairs along
        the last axis are read as complex numbers, in a read-only copy.

    Returns
    -------
    Array
        A view, or a read-only copy.

    Raises
    ------
    TypeError
        When x cannot be read as that dtype; use astype to convert.
    """
    wanted = x.dtype if dtype is None else np.dtype(dtype)
    if wanted == x.dtype:
        return x[...]
    pair = np.dtype(
        f"c{2 * x.dtype.itemsize}" if x.dtype.kind == "f" else f"f{x.dtype.itemsize // 2}"
    )
    if x.dtype.kind not in "fc" or wanted != pair or not x.ndim:
        raise TypeError(
            f"view: {describe(x)} cannot be read as {wanted} [at {user_line()}]; a real dtype only as "
            "the complex one of its precision and back: use astype to convert"
        )
    copy = reinterpreted(x, wanted.kind)
    return broadcast_to(copy, copy.shape)  # read-only: nobody writes to it and takes it for x


def method_compress(x: Array, condition: Any, axis: int | None = None) -> Array:
    """Select slices along an axis, as ``numpy.compress`` does.

    Parameters
    ----------
    condition : Array | list
        A truth for each slice.
    axis : int | None, default: None
        The axis; None: x is flattened first.

    Returns
    -------
    Array
        The selected slices, of the dtype of x.

    Raises
    ------
    IndexError
        When there is no such axis, or the condition is longer than it.
    """
    return compress(condition, x, axis)


def method_argpartition(x: Array, kth: Any, axis: int | None = -1, **options: Any) -> Array:
    """Indices that partition along an axis, as ``numpy.argpartition`` does.

    Parameters
    ----------
    kth : int
        The place in order at which to partition.
    axis : int | None, default: -1
        The axis; None: x is flattened first.
    **options : object
        What else ``numpy.argpartition`` takes.

    Returns
    -------
    Array
        Of the shape of x; its dtype is int64.

    Raises
    ------
    ValueError
        When there is no such axis or place.
    """
    found: Array = of_values(np.argpartition)(x, kth, axis, **options)
    return found


def method_divmod(x: Array, other: Any) -> tuple[Array, Array]:
    """``divmod(x, other)``: the quotient rounded down, and the remainder.

    Parameters
    ----------
    other : Array or number
        The divisor.

    Returns
    -------
    tuple of Array
        Those of ``floor_divide`` and ``remainder``, whose errors and derivatives they have.
    """
    return divmod(x, other)


def method_rdivmod(x: Array, other: Any) -> tuple[Array, Array]:
    """``divmod(other, x)``: the quotient rounded down, and the remainder.

    Parameters
    ----------
    other : Array or number
        The dividend.

    Returns
    -------
    tuple of Array
        Those of ``floor_divide`` and ``remainder``, whose errors and derivatives they have.
    """
    return divmod(other, x)


METHODS: dict[str, Any] = {
    "__divmod__": method_divmod,
    "__rdivmod__": method_rdivmod,
    **{
        name: reduction(name)
        for name in (
            "all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var",
        )
    },
    "argpartition": method_argpartition,
    "argsort": method_argsort,
    "astype": method_astype,
    "choose": choose,
    "clip": method_clip,
    "compress": method_compress,
    "conj": elementwise.conj,
    "conjugate": elementwise.conj,
    "copy": method_copy,
    "cumprod": running("cumulative_prod"),
    "cumsum": running("cumulative_sum"),
    "diagonal": method_diagonal,
    "dot": dot,
    "fill": method_fill,
    "flat": property(get_flat, set_flat),
    "flatten": method_flatten,
    "imag": property(elementwise.imag, set_imag, doc="The imaginary part; zeros for real numbers."),
    "itemsize": property(get_itemsize),
    "nbytes": property(get_nbytes),
    "nonzero": searching.nonzero,
    "partition": method_partition,
    "put": put,
    "ravel": ravel,
    "real": property(get_real, set_real),
    "repeat": method_repeat,
    "reshape": method_reshape,
    "round": reductions.rounded,
    "searchsorted": searching.searchsorted,
    "sort": method_sort,
    "squeeze": method_squeeze,
    "swapaxes": method_swapaxes,
    "take": method_take,
    "trace": method_trace,
    "transpose": method_transpose,
    "view": method_view,
}  # fmt: skip
attach(Array, METHODS)
