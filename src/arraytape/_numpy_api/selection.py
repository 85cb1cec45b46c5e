"""NumPy's functions that select elements, search indices or write into arrays: ``np.put``, on Arrays."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import SCALAR, Array, asarray_like
from .._array.paths import PICK, Path, walk_path
from .._array.views import current, in_order, lay_out_like, location, order_of, with_axes_in_memory
from .._define.operands import first_array
from .._storage import numpy_namespace
from .._storage.storage import storage_of
from .._util.errors import describe, failure, raise_documented, short_repr, user_line
from ..ops import elementwise_functions as elementwise
from ..ops.data_type_functions import astype
from ..ops.indexing_functions import take, take_along_axis
from ..ops.manipulation_functions import (
    broadcast_arrays,
    broadcast_to,
    normalize_axis_index,
    reshape,
)
from ..ops.searching_functions import where
from ..ops.utility_functions import any
from ..ops.writing import check_writeable, setitem
from .numpy_arguments import (
    ArrayLike,
    Casting,
    DType,
    array_of,
    arrays_like_first,
    assembled,
    cast_checked,
    host_values,
    mark_as_scalar,
    mask_of,
    on_axis,
    without_gradient,
)


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Return True if a and b may share memory, so that a write to one changes the other."""
    first, second = (current(x)[1] if isinstance(x, Array) else x for x in (a, b))
    ours = [data for data, x in ((first, a), (second, b)) if isinstance(x, Array)]
    # An argument that is no Array may be any object that NumPy can read as an array.
    if builtins.all(type(data) is np.ndarray for data in ours):
        return np.may_share_memory(first, second, max_work)
    return type(first) is type(second) and storage_of(first).shares(first, second)


def unique(
    ar: Array, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: int | None = None, **options: Any,
) -> Any:  # fmt: skip
    """Compute ``numpy.unique``; the cotangent of a value goes to its first occurrence in ``ar``."""
    _, index, inverse, counts = np.unique(host_values(ar), True, True, True, axis, **options)
    x, at = on_axis("unique", ar, axis)
    values = take(x, asarray_like(ar, index), axis=at)
    first = (at, *(i for i in range(x.ndim) if i != at))  # NumPy moves the axis to the front
    values = with_axes_in_memory(values, first)
    asked = zip(
        (return_index, return_inverse, return_counts), (index, inverse, counts), strict=True
    )
    more = [asarray_like(ar, part) for wanted, part in asked if wanted]
    return (values, *more) if more else values


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> Array:
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"np.select: pass as many choices as conditions, got {len(choicelist)} choices and "
            f"{len(condlist)} conditions [at {user_line()}]"
        )
    values = [*choicelist, default]
    *parts, y = arrays_like_first(*choicelist, *condlist, default)
    choices, conditions = parts[: len(choicelist)], parts[len(choicelist) :]
    if builtins.any(condition.dtype.kind != "b" for condition in conditions):
        raise TypeError(f"np.select: conditions must be boolean [at {user_line()}]")
    weak = (int, float, complex)  # Python's numbers adapt to the dtypes of the arrays
    dtype = np.result_type(*[
        value if type(value) in weak else x.dtype
        for value, x in zip(values, [*choices, y], strict=True)
    ])  # fmt: skip
    y = astype(y, dtype, copy=False)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        y = where(condition, astype(choice, dtype, copy=False), y)
    return in_order(y, "C")


def numpy_clip(
    a: ArrayLike, min: Any = None, max: Any = None, *, dtype: DType = None,
    casting: Casting = "same_kind",
) -> Array:  # fmt: skip
    """Compute ``numpy.clip``; by default in the dtype ``np.result_type`` of the array and the bounds."""
    a, min, max = (assembled(x) for x in (a, min, max))
    min, max = (np.asarray(x) if type(x) in (bool, list, tuple) else x for x in (min, max))
    a = array_of(a)
    bounds = [getattr(bound, "dtype", bound) for bound in (min, max) if bound is not None]
    try:
        wanted = np.result_type(a.dtype, *bounds) if dtype is None else dtype
    except Exception as error:
        raise_documented(error, "clip", a, min, max)
    y = elementwise.clip(cast_checked("np.clip", a, wanted, casting), min, max)
    # NumPy's result has the memory layout of ``a``, unless a bound has as many axes as ``a``.
    small = y.shape == a.shape and np.ndim(min) < a.ndim and np.ndim(max) < a.ndim
    if not y.ndim:
        return mark_as_scalar(y)
    return lay_out_like(y, a) if small and order_of(a) else y


def choose(a: Any, choices: Sequence[Any], mode: str = "raise") -> Array:
    """Choose each element from several arrays, as ``numpy.choose`` does.

    Parameters
    ----------
    a : Array
        Integers: the index of a choice for each element.
    choices : Sequence[Array]
        The arrays, of shapes that broadcast with that of a.
    mode : str, default: 'raise'
        For integers out of range: 'raise' an error, 'wrap' around, or 'clip' to the range.

    Returns
    -------
    Array
        An Array of the common shape and dtype of the choices.

    Raises
    ------
    ValueError
        When an integer is out of range, or the shapes do not broadcast.
    """
    a, *choices = broadcast_arrays(array_of(a), *arrays_like_first(*choices))
    a = wrap_or_clip_indices(a, len(choices), mode)
    if mode == "raise" and bool(any((a < 0) | (a >= len(choices)))):
        raise ValueError(
            f"np.choose: pass indices from 0 to {len(choices) - 1}, as there are {len(choices)} choices "
            f"[at {user_line()}]"
        )
    y = choices[-1]
    for k, choice in enumerate(choices[:-1]):
        y = where(a == k, choice, y)
    return in_order(y, "C") if y.ndim else mark_as_scalar(y[...])


def as_integer_indices(indices: ArrayLike) -> Any:
    """Return indices for ``numpy.take``, with booleans cast to 0 and 1, because NumPy takes them so."""
    if isinstance(indices, Array):
        return astype(indices, np.intp) if indices.dtype.kind == "b" else indices
    if isinstance(indices, list | tuple) and first_array(indices) is not None:
        return indices
    host = np.asarray(indices)
    return host.astype(np.intp) if host.dtype.kind == "b" else indices


def wrap_or_clip_indices(indices: ArrayLike, n: int, mode: str) -> Any:
    """Bring indices into the range of an axis of length n, for the argument ``mode`` of ``np.take``.

    mode : "raise" leaves them unchanged, "wrap" takes them modulo n, "clip" limits them.
    """
    if mode == "raise":
        return indices
    if mode not in ("wrap", "clip"):
        raise ValueError(
            f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {short_repr(mode)})"
        )
    if isinstance(indices, list) and not indices:  # np.asarray([]) has the dtype float64
        return indices
    indices = array_of(indices)
    return indices % n if mode == "wrap" else elementwise.clip(indices, 0, n - 1)


def along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> Array:
    """Compute ``numpy.take_along_axis``; with axis=None, on the flattened array."""
    arr, at = on_axis("take_along_axis", array_of(arr), axis)
    return take_along_axis(arr, array_of(indices), axis=at)


def extract(condition: ArrayLike, arr: ArrayLike) -> Array:
    return reshape(array_of(arr), (-1,))[np.flatnonzero(host_values(condition))]


# --- functions that write into arrays ----------------------------------------------------------
def writable_target(name: str, x: ArrayLike) -> Array:
    """Return x, the Array that NumPy's function ``name`` shall write to, if it can be written to.

    Raise TypeError for a NumPy array, ValueError for a read-only Array.
    """
    if not isinstance(x, Array):
        raise TypeError(
            f"np.{name} cannot write a recorded value into a NumPy array [at {user_line()}]; make "
            "it an Array with asarray first"
        )
    check_writeable(x, current(x)[1])
    return x


def copyto(
    dst: ArrayLike, src: Any, casting: Casting = "same_kind", where: ArrayLike = True
) -> None:
    if are_same_elements(src, dst):  # NumPy raises no error for this, even if dst is read-only
        return
    dst = writable_target("copyto", dst)
    # NumPy checks the cast, since a Python number may be cast to more dtypes than an array.
    sample = np.zeros((), src.dtype) if hasattr(src, "dtype") else np.asarray(src).flat[:1]
    weak = type(src) in (bool, int, float, complex)
    try:
        np.copyto(np.zeros(1, dst.dtype), src if weak else sample, casting=casting)
    except TypeError as error:
        raise failure("np.copyto", error) from error
    put_where(dst, where, arrays_like_first(dst, src)[1])


def are_same_elements(x: ArrayLike, y: ArrayLike) -> bool:
    """Return True if x and y are the same elements of the same memory in the same order."""
    if x is y or not isinstance(x, Array) or not isinstance(y, Array):
        return x is y
    a, b = current(x)[1], current(y)[1]
    if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
        return False
    if type(a) is not np.ndarray or not a.size:
        return show_same_elements(location(x), location(y))
    at = [data.__array_interface__["data"][0] for data in (a, b)]
    return bool(a.strides == b.strides and at[0] == at[1])


def show_same_elements(place: tuple[Array, Path], other: tuple[Array, Path]) -> bool:
    """Return True if two views show the same elements.

    place, other : the views as pairs (root, path).  The root is the Array whose memory the view shows.
    The path has the indexing steps that lead to the view.
    """
    root = place[0]
    if other[0] is not root or not root.size or place[1] == other[1]:
        return other[0] is root
    # A PICK step indexes hidden axes of vmap, which the array ``places`` below does not have.
    if builtins.any(kind is PICK for _, path in (place, other) for kind, _ in path):
        return False
    places: Any = np.arange(root.size).reshape(root.shape)
    if root.dtype.kind == "c":
        places = places + 1j * (places + root.size)
    return np.array_equal(*[walk_path(places, path, numpy_namespace) for _, path in (place, other)])


def put_where(x: Array, mask: ArrayLike, value: Array) -> None:
    """Assign ``value`` to the elements of x at which ``mask`` is True, or to all if it is ``True``."""
    setitem(x, ..., value if mask is True else where(mask_of("copyto", x, mask), value, x))


def putmask(a: ArrayLike, mask: ArrayLike, values: ArrayLike) -> None:
    """Run ``numpy.putmask``: element i becomes value i where the mask is True; values are repeated."""
    a, weak = writable_target("putmask", a), not isinstance(values, Array | np.ndarray)
    weak = weak or (isinstance(values, Array) and bool(values._state & SCALAR))
    values, mask = arrays_like_first(a, values)[1], mask_in_shape(a, mask, "putmask")
    cast_checked("np.putmask", values, a.dtype, "unsafe" if weak else "safe")
    if values.size:
        put_where(a, mask, reshape(repeated(values, a.size), a.shape))


def mask_in_shape(a: Array, mask: ArrayLike, name: str) -> np.ndarray[Any, Any]:
    """Return the mask of ``np.place`` or ``np.putmask`` as booleans in the shape of ``a``.

    Raise ValueError if the sizes differ.  name : the function, for the message.
    """
    mask = np.asarray(host_values(mask), bool)
    if mask.size != a.size:
        raise ValueError(
            f"np.{name}: pass a mask of {a.size} elements, as many as {describe(a)} has, got "
            f"{mask.size} [at {user_line()}]"
        )
    return mask.reshape(a.shape)


def repeated(values: Array, n: int) -> Array:
    values = reshape(values, (-1,))
    return take(values, asarray_like(values, np.arange(n) % values.size), axis=0)


def numpy_place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike) -> None:
    """Run ``numpy.place``: the k-th element at which the mask is True becomes the k-th value."""
    arr, vals = writable_target("place", arr), arrays_like_first(arr, vals)[1]
    mask = mask_in_shape(arr, mask, "place")
    count = int(np.count_nonzero(mask))
    if count and not vals.size:
        raise ValueError(f"np.place: cannot insert from an empty array [at {user_line()}]")
    if count:
        setitem(arr, mask, repeated(vals, count))


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Write to elements of the flattened array, as ``numpy.put`` does.

    Parameters
    ----------
    a : Array
        The array that is written to.
    ind : Array | int | list
        The indices; negative ones count from the end.
    v : Array or number
        A value for each index; too few values are repeated.
    mode : str, default: 'raise'
        For indices out of range: 'raise' an error, 'wrap' around, or 'clip' to the range.

    Raises
    ------
    ValueError
        When the array is read-only, or there is no such mode.
    IndexError
        When an index is out of range.
    """
    a, v = writable_target("put", a), arrays_like_first(a, v)[1]
    ind = np.ravel(host_values(wrap_or_clip_indices(ind, a.size, mode)))
    if not ind.size or not v.size:
        return
    outside = ind[(ind < -a.size) | (ind >= a.size)]
    if outside.size:
        raise IndexError(
            f"np.put: index {outside[0]} is out of bounds for {describe(a)} [at {user_line()}]"
        )
    v = repeated(v, ind.size)
    key = np.unravel_index(np.where(ind < 0, ind + a.size, ind), a.shape) if a.ndim else ...
    setitem(a, key, v if a.ndim else v[-1])


def put_along_axis(
    arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: int | None = -1
) -> None:
    arr = writable_target("put_along_axis", arr)
    indices = host_values(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(
                f"np.put_along_axis: when axis=None, indices must have a single dimension "
                f"[at {user_line()}]"
            )
        put(arr, indices, broadcast_to(arrays_like_first(arr, values)[1], indices.shape))
        return
    at = normalize_axis_index("put_along_axis", arr, axis)
    lines = np.ogrid[tuple([slice(n) for n in arr.shape])]
    key = tuple([indices if i == at else line for i, line in enumerate(lines)])
    setitem(arr, key, arrays_like_first(arr, values)[1])


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.clip: numpy_clip,
    **{
        function: without_gradient(function)
        for function in (
            np.allclose, np.argpartition, np.argwhere, np.array_equal, np.array_equiv,
            np.diag_indices_from, np.digitize,
            np.flatnonzero, np.isclose, np.isin, np.isneginf, np.isposinf, np.lexsort,
            np.linalg.matrix_rank, np.nanargmax, np.nanargmin, np.ravel_multi_index,
            np.searchsorted, np.shares_memory,
            np.tril_indices_from, np.triu_indices_from, np.unravel_index,
        )
    },
    np.choose: choose,
    np.copyto: copyto,
    np.extract: extract,
    np.may_share_memory: may_share_memory,
    np.place: numpy_place,
    np.put: put,
    np.put_along_axis: put_along_axis,
    np.putmask: putmask,
    np.select: select,
    np.take_along_axis: along_axis,
    np.unique: unique,
}  # fmt: skip
