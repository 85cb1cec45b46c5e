"""NumPy's methods of arrays, beyond those of the standard: each is a function of the namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import IS_VIEW, Array
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
    method.__doc__ = f"See ``{name}``."
    return method


def running(name: str) -> Callable[..., Array]:
    """A cumulative function as a method: of all elements in one dimension when there is no axis."""
    function = getattr(statistics, name)

    def method(x: Array, axis: int | None = None, dtype: Any = None) -> Array:
        if axis is None:
            x, axis = reshape(x, (-1,)), 0
        return function(x, axis=axis, dtype=dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See ``{name}``."
    return method


def method_reshape(x: Array, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
    """See ``reshape``; the lengths may come one by one."""
    shape = shape[0] if len(shape) == 1 else shape
    return reshape(x, shape, copy=copy) if order == "C" else reshaped(x, shape, order, copy=copy)


def method_transpose(x: Array, *axes: Any) -> Array:
    """See ``permute_dims``; the axes are reversed when none are given."""
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return permute_dims(x, tuple(order) if order else tuple(reversed(range(x.ndim))))


def method_swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    """A view with two axes in each other's place."""
    order = [*range(x.ndim)]
    i, j = (normalize_axis_index("swapaxes", x, axis) for axis in (axis1, axis2))
    order[i], order[j] = j, i
    return permute_dims(x, tuple(order))


def method_squeeze(x: Array, axis: Axis = None) -> Array:
    """See ``squeeze``; all axes of length 1 when none is given."""
    return squeeze(x, tuple(i for i, n in enumerate(x.shape) if n == 1) if axis is None else axis)


def method_astype(
    x: Array, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Array:  # fmt: skip
    """See ``astype``; the layout in memory is not for the caller to choose."""
    if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"astype: {describe(x)} is no {dtype} by casting={casting!r} [at {user_line()}]"
        )
    return dtypes.astype(x, dtype, copy=copy)


def method_copy(x: Array, order: str = "C") -> Array:
    """A recorded copy."""
    return copied(x)


def method_flatten(x: Array, order: str = "C") -> Array:
    """A copy in one dimension."""
    return copied(ravel(x, order))


def method_clip(x: Array, min: Any = None, max: Any = None) -> Array:
    """See ``numpy.clip``."""
    return clip(x, min, max)


def method_repeat(x: Array, repeats: int | Array, axis: int | None = None) -> Array:
    """See ``repeat``."""
    return repeat(x, repeats, axis=axis)


def method_take(x: Array, indices: Any, axis: int | None = None) -> Array:
    """The elements at some places, of all in one dimension when there is no axis; see ``take``."""
    if isinstance(indices, Array) and indices.ndim == 1 and axis is not None:
        return take(x, indices, axis=axis)
    at = 0 if axis is None else normalize_axis_index("take", x, axis)
    flat = reshape(x, (-1,)) if axis is None else x
    return flat[(*(slice(None),) * at, indices)]


def method_argsort(
    x: Array, axis: int | None = -1, kind: str | None = None, *, stable: bool = True
) -> Array:
    """See ``argsort``; of all elements in one dimension for axis=None."""
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return argsort(x, axis=axis, stable=stable)


def method_diagonal(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A copy of a diagonal, of the first two axes unless others are named."""
    return diagonal(last_two(x, axis1, axis2), offset=offset)


def method_trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The sum over a diagonal, of the first two axes unless others are named."""
    return trace(last_two(x, axis1, axis2), offset=offset)


def last_two(x: Array, axis1: int, axis2: int) -> Array:
    """x with two axes moved to the end."""
    ends = [normalize_axis_index("diagonal", x, axis) for axis in (axis1, axis2)]
    return permute_dims(x, tuple([i for i in range(x.ndim) if i not in ends] + ends))


def method_fill(x: Array, value: Any) -> None:
    """Write one value everywhere."""
    setitem(x, ..., value)


def method_sort(x: Array, axis: int = -1, kind: str | None = None) -> None:
    """Put x itself in order."""
    setitem(x, ..., sort(x, axis=axis))


def method_partition(x: Array, kth: Any, axis: int = -1) -> None:
    """See ``numpy.partition``: what is in order is partitioned anywhere."""
    method_sort(x, axis)


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
    """x in one dimension: a view, or where that is impossible a read-only copy."""
    found = reshape(x, (-1,))
    return found if found._state & IS_VIEW else broadcast_to(found, found.shape)


def set_flat(x: Array, value: Any) -> None:
    """One value everywhere, or one for each element."""
    (value,) = as_arrays(x, value)[1:]
    setitem(x, ..., reshape(value, x.shape if value.size == x.size else ()))


def method_view(x: Array, dtype: Any = None) -> Array:
    """Another handle on x; of a real or complex dtype of the same precision, a read-only copy.

    Real numbers are read in pairs along the last axis, as NumPy does it.
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


METHODS: dict[str, Any] = {
    "__divmod__": lambda x, other: divmod(x, other),
    "__rdivmod__": lambda x, other: divmod(other, x),
    **{
        name: reduction(name)
        for name in (
            "all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var",
        )
    },
    "argpartition": of_values(np.argpartition),
    "argsort": method_argsort,
    "astype": method_astype,
    "choose": choose,
    "clip": method_clip,
    "compress": lambda x, condition, axis=None: compress(condition, x, axis),
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
    "imag": property(elementwise.imag, set_imag),
    "itemsize": property(lambda x: x.dtype.itemsize),
    "nbytes": property(lambda x: x.dtype.itemsize * x.size),
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
