"""Methods of Array that ``numpy.ndarray`` has and the standard lacks, such as ``x.sum()``.

``_numpy_hook`` attaches the functions in ``METHODS`` to Array.  It has a list of their names, so that
this module is imported only when such a method is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .._array.array import SCALAR, Array
from .._array.paths import IMAG, REAL
from .._array.views import alias, in_order
from .._define.docstrings import append_example
from .._define.examples import examples_of
from .._define.operands import has_own_operators, list_on_device_of
from .._util.errors import describe, entrance, user_line
from ..ops import data_type_functions as dtypes
from ..ops import elementwise_functions as elementwise
from ..ops import indexing_functions as indexing
from ..ops import linalg
from ..ops import manipulation_functions as manipulation
from ..ops import searching_functions as searching
from ..ops.creation_functions import copied
from ..ops.manipulation_functions import normalize_axis_index, permute_dims, read_only
from ..ops.writing import setitem
from . import exact, pieces, reductions, selection, ufuncs
from .flat_iterator import FlatIterator
from .linear_algebra import dot
from .numpy_arguments import (
    ArrayLike,
    Axis,
    Casting,
    DType,
    arrays_like_first,
    cast_checked,
    normalize_shape,
    on_axis,
    without_gradient,
)


def position_of(name: str) -> Callable[..., Array]:
    """Return the method ``argmax`` or ``argmin`` of Array, given by name.

    Its ``axis`` may be positional, as in NumPy; in the standard it is a keyword.
    """
    function = getattr(searching, name)

    def find_position(x: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
        return function(x, axis=axis, keepdims=keepdims)

    find_position.__name__ = find_position.__qualname__ = name
    find_position.__doc__ = reductions.documented(
        name, "keepdims", axis="The axis; None: of all elements."
    )
    return find_position


# --- methods that change the shape -------------------------------------------------------------
def reshape(x: Array, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
    """Reshape the array: ``reshape`` as a method.

    Parameters
    ----------
    *shape : int | tuple[int, ...]
        The new shape, as a tuple or as several ints.  One length may be -1: it follows from the size.
    order : str, default: 'C'
        The order in which elements are read and written, as in ``numpy.reshape``.
    copy : bool | None, default: None
        True: always copy; None: copy only if no view is possible; False: never copy.

    Returns
    -------
    Array
        A view if the layout of x allows one, else a copy.

    Raises
    ------
    ValueError
        When x has another number of elements, or when copy=False and no view is possible.
    """
    shape = normalize_shape("reshape", shape[0] if len(shape) == 1 else shape)
    if isinstance(order, str) and order == "C":
        return manipulation.reshape(x, shape, copy=copy)
    pieces.check_order(order)
    return pieces.numpy_reshape(x, shape, order, copy=copy)


def transpose(x: Array, *axes: Any) -> Array:
    """Permute the axes: ``permute_dims`` as a method.

    Parameters
    ----------
    *axes : int | tuple[int, ...]
        For each axis of the result the axis of x, as a tuple or as several ints.  By default the
        order of the axes is reversed.

    Returns
    -------
    Array
        A view.

    Raises
    ------
    ValueError
        When axes does not name each axis of x once.
    """
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int | np.integer) else axes
    order = () if order is None else tuple(order)
    return permute_dims(x, order or tuple(reversed(range(x.ndim))))


def swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    """Exchange two axes.

    Parameters
    ----------
    axis1 : int
        The first axis.
    axis2 : int
        The second axis.

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


def squeeze(x: Array, axis: Axis = None) -> Array:
    """Remove axes of length 1: ``squeeze`` as a method.

    Parameters
    ----------
    axis : int | tuple[int, ...] | None, default: None
        The axis or axes; None: all axes of length 1.

    Returns
    -------
    Array
        A view.

    Raises
    ------
    ValueError
        When ``axis`` names an axis whose length is not 1.
    IndexError
        When there is no such axis.
    """
    if x._state & SCALAR:
        return x
    if not x.ndim and axis in (0, -1):  # NumPy allows these axes for arrays of shape ()
        return x[...]
    ones = tuple([i for i, n in enumerate(x.shape) if n == 1])
    return manipulation.squeeze(x, ones if axis is None else axis)


def repeat(x: Array, repeats: int | Array, axis: int | None = None) -> Array:
    """Repeat elements: ``repeat`` as a method.

    Parameters
    ----------
    repeats : int | Array
        The number of repetitions: one for all elements, or one for each.
    axis : int | None, default: None
        The axis; None: x is flattened first.

    Returns
    -------
    Array
        The repeated elements, of the dtype of x.

    Raises
    ------
    ValueError
        When a number of repetitions is negative, or there is not one for each element.
    IndexError
        When there is no such axis.
    """
    x = x if x.ndim or axis not in (0, -1) else reshape(x, (1,))
    return manipulation.repeat(x, repeats, axis=axis)


# --- methods that copy, and view ---------------------------------------------------------------
def astype(
    x: Array, dtype: DType, order: str = "K", casting: Casting = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Array:  # fmt: skip
    """Cast to another dtype: ``astype`` as a method.

    Parameters
    ----------
    dtype : dtype
        The dtype of the result.  The gradient of an integer or boolean result is None.
    order : str, default: 'K'
        The layout of the result in memory, as in ``numpy.asarray``.
    casting : str, default: 'unsafe'
        The casts that are allowed, as in ``numpy.can_cast``.
    subok : bool, default: True
        Not used.
    copy : bool, default: True
        True: copy also if the dtype does not change.

    Returns
    -------
    Array
        The cast elements in the shape of x; x itself if nothing changes and copy=False.

    Raises
    ------
    TypeError
        When dtype is no dtype, or the cast is not allowed.
    """
    if casting != "unsafe":
        cast_checked("astype", x, dtype, casting)
    return pieces.laid_out_in_order(dtypes.astype(x, dtype, copy=copy), order, x)


def copy(x: Array, order: str = "C", subok: bool = False) -> Array:
    """Copy the array; the copy is recorded.

    Parameters
    ----------
    order : str, default: 'C'
        The layout of the copy in memory: 'C', 'F', 'A' ('F' if x has Fortran's layout, else 'C') or 'K'
        (the layout of x).
    subok : bool, default: False
        Not used.

    Returns
    -------
    Array
        The copy.
    """
    y = pieces.laid_out_in_order(copied(x), order, x)
    y._state |= x._state & SCALAR
    return y


def flatten(x: Array, order: str = "C") -> Array:
    """Copy the elements into one dimension.

    Parameters
    ----------
    order : str, default: 'C'
        The order in which elements are read, as in ``numpy.ravel``.

    Returns
    -------
    Array
        A copy with one dimension.
    """
    return copied(pieces.ravel(x, order))


def view(x: Array, dtype: DType = None) -> Array:
    """Return a view of x, or reinterpret pairs of real numbers as complex numbers, or back.

    Parameters
    ----------
    dtype : dtype | None, default: None
        None or the dtype of x: the result is a view.  The complex dtype for a real x: pairs of
        numbers along the last axis become the parts of complex numbers.  The real dtype for a complex
        x: the parts become pairs.  In both cases the result is a read-only copy, and the dtypes must
        have the same precision.

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
        return x if x._state & SCALAR else x[...]
    pair = np.dtype(
        f"c{2 * x.dtype.itemsize}" if x.dtype.kind == "f" else f"f{x.dtype.itemsize // 2}"
    )
    if x.dtype.kind not in "fc" or wanted != pair or not x.ndim:
        raise TypeError(
            f"view: {describe(x)} cannot be read as {wanted} [at {user_line()}]; use astype to convert. "
            "view reads a real dtype only as the complex dtype of the same precision, and back"
        )
    return read_only(dtypes.reinterpreted(x, wanted.kind))  # a write to the copy would not change x


# --- methods that select elements or return indices --------------------------------------------
def clip(x: Array, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Limit each element to an interval, as ``numpy.clip`` does.

    Parameters
    ----------
    min : Array | float | None, default: None
        The lower bound; None: no lower bound.
    max : Array | float | None, default: None
        The upper bound; None: no upper bound.

    Returns
    -------
    Array
        The result of ``clip``; integers become floats if a bound is a float.

    Raises
    ------
    ValueError
        When the shapes do not broadcast.
    """
    return exact.compute_by_numpy(
        np.clip, lambda: selection.numpy_clip(x, min, max), (x, min, max), {}
    )


def compress(x: Array, condition: ArrayLike, axis: int | None = None) -> Array:
    """Select slices along an axis, as ``numpy.compress`` does.

    Parameters
    ----------
    condition : Array | list
        A boolean for each slice.
    axis : int | None, default: None
        The axis; None: x is flattened first.

    Returns
    -------
    Array
        The selected slices, of the dtype of x.

    Raises
    ------
    IndexError
        When there is no such axis, or when the condition is longer than the axis.
    """
    return pieces.numpy_compress(condition, x, axis)


def take(x: Array, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Array:
    """Take elements by index, as ``numpy.take`` does.

    Parameters
    ----------
    indices : Array | int | list
        Indices along the axis, in any shape; negative ones count from the end.
    axis : int | None, default: None
        The axis; None: x is flattened first.
    mode : str, default: 'raise'
        For indices out of range: 'raise' an error, 'wrap' around, or 'clip' to the range.

    Returns
    -------
    Array
        The elements, of the dtype of x.  In the shape, the shape of indices replaces the axis.

    Raises
    ------
    IndexError
        When an index is out of range, or there is no such axis.
    """
    one = isinstance(indices, Array) and indices.ndim == 1 and indices.dtype.kind != "b"
    if one and mode == "raise" and axis is not None and x.ndim:
        return indexing.take(x, indices, axis=axis)
    x, at = on_axis("take", x if x.ndim else reshape(x, (1,)), axis)
    if not x.size:
        return pieces.take_from_empty(x, indices, at, mode)
    indices = selection.wrap_or_clip_indices(
        selection.as_integer_indices(indices), x.shape[at], mode
    )
    found = x[(*(slice(None),) * at, indices)]
    return in_order(found, "C") if found.ndim else found


def argsort(
    x: Array, axis: int | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = None, descending: bool | None = None,
) -> Array:  # fmt: skip
    """Return the indices that sort along an axis: ``argsort`` as a method.

    Parameters
    ----------
    axis : int | None, default: -1
        The axis; None: x is flattened first.
    kind : str | None, default: None
        Not used.
    order : None, default: None
        Names of fields, which no Array has.
    stable : bool | None, default: None
        Not used: equal elements always keep their order.
    descending : bool | None, default: None
        True: the greatest element comes first.  NaN comes last in either order.

    Returns
    -------
    Array
        Indices of dtype int64, in the shape of x.

    Raises
    ------
    IndexError
        When there is no such axis.
    ValueError
        When kind is given together with stable or descending.
    """
    reductions.check_order("argsort", kind, order, stable, descending)
    if not x.ndim and axis in (0, -1):
        return argsort(reshape(x, (1,)), 0)
    x, at = on_axis("argsort", x, axis)
    return reductions.places_in_order(x, at, bool(descending))


def last_two(x: Array, axis1: int, axis2: int) -> Array:
    """Return a view of x in which axis1 and axis2 are the last two axes, as ``linalg`` needs them."""
    ends = [normalize_axis_index("diagonal", x, axis) for axis in (axis1, axis2)]
    return permute_dims(x, tuple([i for i in range(x.ndim) if i not in ends] + ends))


def diagonal(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return a diagonal of the matrices over two axes, by default the first two, as a view.

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
        A read-only view with the diagonals along the last axis.

    Raises
    ------
    ValueError
        When x has fewer than two dimensions.
    IndexError
        When there is no such axis.
    """
    return linalg.diagonal(last_two(x, axis1, axis2), offset=offset)


def trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DType = None) -> Array:
    """Sum over a diagonal of the matrices over two axes, by default the first two.

    Parameters
    ----------
    offset : int, default: 0
        The diagonal: 0 for the main one, above it if positive, below it if negative.
    axis1 : int, default: 0
        The axis of the rows.
    axis2 : int, default: 1
        The axis of the columns.
    dtype : dtype | None, default: None
        The dtype of the sums.

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
    return linalg.trace(last_two(x, axis1, axis2), offset=offset, dtype=dtype)


def argpartition(x: Array, kth: ArrayLike, axis: int | None = -1, **options: Any) -> Array:
    """Return the indices that partition along an axis, as ``numpy.argpartition`` does.

    Parameters
    ----------
    kth : int
        An index into the sorted elements: no element before it is greater, and none after it is
        smaller, than the element at this index.
    axis : int | None, default: -1
        The axis; None: x is flattened first.
    **options : object
        Further parameters of ``numpy.argpartition``.

    Returns
    -------
    Array
        Indices of dtype int64, in the shape of x.

    Raises
    ------
    ValueError
        When there is no such axis or index.
    """
    found: Array = without_gradient(np.argpartition)(x, kth, axis, **options)
    return found


def searchsorted(
    x: Array, v: Array | float, side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:  # fmt: skip
    """Return the indices at which inserted elements keep x sorted: ``searchsorted`` as a method.

    Parameters
    ----------
    v : Array | number
        The elements, of real dtype.
    side : str, default: 'left'
        'left' inserts before equal elements, 'right' after them.
    sorter : Array | None, default: None
        Indices that sort x; None: x is sorted.

    Returns
    -------
    Array
        Indices into x, of dtype int64 and of the shape of v.

    Raises
    ------
    ValueError
        When x does not have one dimension, sorter has another shape than x, or side is neither word.
    """
    return searching.searchsorted(x, v, side=side, sorter=sorter)


# --- methods and properties that write ---------------------------------------------------------
def fill(x: Array, value: ArrayLike) -> None:
    """Assign one value to all elements.

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


def sort(
    x: Array, axis: int = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = None, descending: bool | None = None,
) -> None:  # fmt: skip
    """Sort the elements of x itself along an axis.

    Parameters
    ----------
    axis : int, default: -1
        The axis; a negative one counts from the end.
    kind : str | None, default: None
        Not used.
    order : None, default: None
        Names of fields, which no Array has.
    stable : bool | None, default: None
        Not used: equal elements always keep their order.
    descending : bool | None, default: None
        True: the greatest element comes first.  NaN comes last in either order.

    Raises
    ------
    ValueError
        When the array is read-only, or kind is given together with stable or descending.
    IndexError
        When there is no such axis.
    """
    at = normalize_axis_index("sort", x, axis)
    options = {"stable": stable, "descending": descending}
    setitem(x, ..., reductions.numpy_sort(x, at, kind, order, **options))


def partition(x: Array, kth: ArrayLike, axis: int = -1) -> None:
    """Sort the elements of x itself, which partitions them at each index.

    Parameters
    ----------
    kth : int
        An index into the sorted elements: no element before it is greater, and none after it is
        smaller, than the element at this index.
    axis : int, default: -1
        The axis; a negative one counts from the end.

    Raises
    ------
    ValueError
        When the array is read-only, or kth is out of range.
    TypeError
        When kth is no integer.
    IndexError
        When there is no such axis.
    """
    reductions.check_places(x, kth, axis)
    sort(x, axis)


def get_real(x: Array) -> Array:
    """Return the real part: a view of complex numbers, or x itself if x is real."""
    return elementwise.real(x)


def set_real(x: Array, value: ArrayLike) -> None:
    """Assign to the real part: ``x.real = value``."""
    if x.dtype.kind != "c":
        setitem(x, ..., value)
        return
    seen = alias(x, REAL, None)
    if seen is None:  # the library has no view of the real parts
        setitem(x, ..., arrays_like_first(x, value)[1] + 1j * elementwise.imag(x))
    else:
        setitem(seen, ..., value)


def get_imag(x: Array) -> Array:
    """Return the imaginary part: a view of complex numbers, or read-only zeros if x is real."""
    return elementwise.imag(x)


def set_imag(x: Array, value: ArrayLike) -> None:
    """Assign to the imaginary part: ``x.imag = value``."""
    if x.dtype.kind != "c":
        raise TypeError(f"imag: {describe(x)} has no imaginary part to set [at {user_line()}]")
    seen = alias(x, IMAG, None)
    if seen is None:
        setitem(x, ..., elementwise.real(x) + 1j * arrays_like_first(x, value)[1])
    else:
        setitem(seen, ..., value)


def conj(x: Array) -> Array:
    """Conjugate complex numbers, as ``numpy.ndarray.conj`` does.

    Returns
    -------
    Array
        The conjugates, or x itself if x is real.
    """
    return elementwise.conj(x) if x.dtype.kind == "c" else x._snapshot()


def set_flat(x: Array, value: ArrayLike) -> None:
    """Run ``x.flat = value``: assign values to all elements in C order; repeat them if there are few."""
    FlatIterator(x)[:] = value


# --- sizes, divmod and the table of methods ------------------------------------------------------
def itemsize(x: Array) -> int:
    """Return the number of bytes of one element."""
    return x.dtype.itemsize


def nbytes(x: Array) -> int:
    """Return the number of bytes of all elements."""
    return x.dtype.itemsize * x.size


def divmod(x: Array, other: ArrayLike) -> tuple[Array, Array]:
    """Compute ``divmod(x, other)``: the quotient rounded down, and the remainder.

    Parameters
    ----------
    other : Array or number
        The divisor.

    Returns
    -------
    tuple of Array
        The results of ``floor_divide`` and ``remainder``, with their errors and derivatives.
        NotImplemented for an operand with operators of its own, which Python calls then.
    """
    if has_own_operators(type(other)):
        return NotImplemented
    return ufuncs.divmod(x, list_on_device_of("divmod", x, other))


def rdivmod(x: Array, other: ArrayLike) -> tuple[Array, Array]:
    """Compute ``divmod(other, x)``: the quotient rounded down, and the remainder.

    Parameters
    ----------
    other : Array or number
        The dividend.

    Returns
    -------
    tuple of Array
        The results of ``floor_divide`` and ``remainder``, with their errors and derivatives.
        NotImplemented for an operand with operators of its own, which Python calls then.
    """
    if has_own_operators(type(other)):
        return NotImplemented
    return ufuncs.divmod(list_on_device_of("divmod", x, other), x)


METHODS: dict[str, Any] = {
    "__divmod__": divmod,
    "__rdivmod__": rdivmod,
    "all": reductions.all,
    "any": reductions.any,
    "argmax": position_of("argmax"),
    "argmin": position_of("argmin"),
    "argpartition": argpartition,
    "argsort": argsort,
    "astype": astype,
    "choose": selection.choose,
    "clip": clip,
    "compress": compress,
    "conj": conj,
    "conjugate": conj,
    "copy": copy,
    "cumprod": reductions.cumprod,
    "cumsum": reductions.cumsum,
    "diagonal": diagonal,
    "dot": dot,
    "fill": fill,
    "flat": property(FlatIterator, entrance(set_flat)),
    "flatten": flatten,
    "imag": property(get_imag, entrance(set_imag)),
    "itemsize": property(itemsize),
    "max": reductions.amax,
    "mean": reductions.mean,
    "min": reductions.amin,
    "nbytes": property(nbytes),
    "nonzero": searching.nonzero,
    "partition": partition,
    "prod": reductions.prod,
    "put": selection.put,
    "ravel": pieces.ravel,
    "real": property(get_real, entrance(set_real)),
    "repeat": repeat,
    "reshape": reshape,
    "round": reductions.round_decimals,
    "searchsorted": searchsorted,
    "sort": sort,
    "squeeze": squeeze,
    "std": reductions.std,
    "sum": reductions.sum,
    "swapaxes": swapaxes,
    "take": take,
    "trace": trace,
    "transpose": transpose,
    "var": reductions.var,
    "view": view,
}
# Methods that users call in loops.  They get no ``entrance``, which costs a call; the functions that
# they call raise documented errors.
QUICK = {
    "__divmod__", "__rdivmod__", "conj", "conjugate", "copy", "dot", "fill", "flatten", "ravel",
    "reshape", "squeeze", "sum", "swapaxes", "transpose",
}  # fmt: skip
METHODS |= {
    name: entrance(method)
    for name, method in METHODS.items()
    if name not in QUICK and not isinstance(method, property)
}
for _name, _example in examples_of("_numpy_api").items():
    append_example(METHODS[_name], _example)
