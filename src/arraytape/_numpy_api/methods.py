"""NumPy's methods of arrays, beyond those of the standard: each is a function of the namespace.

``_numpy_hook`` attaches ``METHODS`` to Array, and knows the names before this module is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import IS_VIEW, Array
from .._util.errors import describe, user_line
from ..ops import data_type_functions as dtypes
from ..ops import elementwise_functions as elementwise
from ..ops import indexing_functions as indexing
from ..ops import linalg, sorting_functions
from ..ops import manipulation_functions as manipulation
from ..ops import searching_functions as searching
from ..ops.creation_functions import copied
from ..ops.manipulation_functions import broadcast_to, normalize_axis_index, permute_dims
from ..ops.writing import setitem
from . import pieces, reductions, selection, ufuncs
from .arguments import Axis, as_arrays, on_axis, without_gradient
from .products import dot


def position_of(name: str) -> Callable[..., Array]:
    """``argmax`` or ``argmin``, with the axis in NumPy's place."""
    function = getattr(searching, name)

    def method(x: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
        return function(x, axis=axis, keepdims=keepdims)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See ``{name}``."
    return method


# --- shapes ------------------------------------------------------------------------------------
def reshape(x: Array, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
    """See ``reshape``; the lengths may come one by one."""
    shape = shape[0] if len(shape) == 1 else shape
    if order == "C":
        return manipulation.reshape(x, shape, copy=copy)
    return pieces.reshaped(x, shape, order, copy=copy)


def transpose(x: Array, *axes: Any) -> Array:
    """See ``permute_dims``; the axes are reversed when none are given."""
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return permute_dims(x, tuple(order) if order else tuple(reversed(range(x.ndim))))


def swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    """A view with two axes in each other's place."""
    order = [*range(x.ndim)]
    i, j = (normalize_axis_index("swapaxes", x, axis) for axis in (axis1, axis2))
    order[i], order[j] = j, i
    return permute_dims(x, tuple(order))


def squeeze(x: Array, axis: Axis = None) -> Array:
    """See ``squeeze``; all axes of length 1 when none is given."""
    ones = tuple([i for i, n in enumerate(x.shape) if n == 1])
    return manipulation.squeeze(x, ones if axis is None else axis)


def repeat(x: Array, repeats: int | Array, axis: int | None = None) -> Array:
    """See ``repeat``."""
    return manipulation.repeat(x, repeats, axis=axis)


# --- copies ------------------------------------------------------------------------------------
def astype(
    x: Array, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Array:  # fmt: skip
    """See ``astype``; the layout in memory is not for the caller to choose."""
    if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"astype: {describe(x)} is no {dtype} by casting={casting!r} [at {user_line()}]"
        )
    return dtypes.astype(x, dtype, copy=copy)


def copy(x: Array, order: str = "C", subok: bool = False) -> Array:
    """A recorded copy."""
    return copied(x)


def flatten(x: Array, order: str = "C") -> Array:
    """A copy in one dimension."""
    return copied(pieces.ravel(x, order))


def view(x: Array, dtype: Any = None) -> Array:
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
    copy = dtypes.reinterpreted(x, wanted.kind)
    return broadcast_to(copy, copy.shape)  # read-only, since a write to it would not arrive in x


# --- elements ----------------------------------------------------------------------------------
def clip(x: Array, min: Any = None, max: Any = None) -> Array:
    """See ``numpy.clip``."""
    return selection.clip(x, min, max)


def compress(x: Array, condition: Any, axis: int | None = None) -> Array:
    """See ``numpy.compress``."""
    return pieces.compress(condition, x, axis)


def take(x: Array, indices: Any, axis: int | None = None) -> Array:
    """The elements at some places, of all in one dimension when there is no axis; see ``take``."""
    if isinstance(indices, Array) and indices.ndim == 1 and axis is not None:
        return indexing.take(x, indices, axis=axis)
    x, at = on_axis("take", x, axis)
    return x[(*(slice(None),) * at, indices)]


def argsort(
    x: Array, axis: int | None = -1, kind: str | None = None, *, stable: bool = True
) -> Array:
    """See ``argsort``; of all elements in one dimension for axis=None."""
    x, at = on_axis("argsort", x, axis)
    return sorting_functions.argsort(x, axis=at, stable=stable)


def last_two(x: Array, axis1: int, axis2: int) -> Array:
    """x with two axes moved to the end."""
    ends = [normalize_axis_index("diagonal", x, axis) for axis in (axis1, axis2)]
    return permute_dims(x, tuple([i for i in range(x.ndim) if i not in ends] + ends))


def diagonal(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """A copy of a diagonal, of the first two axes unless others are named."""
    return linalg.diagonal(last_two(x, axis1, axis2), offset=offset)


def trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The sum over a diagonal, of the first two axes unless others are named."""
    return linalg.trace(last_two(x, axis1, axis2), offset=offset)


# --- writing -----------------------------------------------------------------------------------
def fill(x: Array, value: Any) -> None:
    """Write one value everywhere."""
    setitem(x, ..., value)


def sort(x: Array, axis: int = -1, kind: str | None = None) -> None:
    """Put x itself in order."""
    setitem(x, ..., sorting_functions.sort(x, axis=axis))


def partition(x: Array, kth: Any, axis: int = -1) -> None:
    """See ``numpy.partition``: x is sorted, so it is partitioned at every place."""
    sort(x, axis)


def get_real(x: Array) -> Array:
    """The real part: of real numbers a view, of complex ones a copy."""
    return elementwise.real(x) if x.dtype.kind == "c" else x[...]


def set_real(x: Array, value: Any) -> None:
    """Write the real part."""
    if x.dtype.kind == "c":
        value = as_arrays(x, value)[1] + 1j * elementwise.imag(x)
    setitem(x, ..., value)


def get_imag(x: Array) -> Array:
    """The imaginary part: a copy."""
    return elementwise.imag(x)


def set_imag(x: Array, value: Any) -> None:
    """Write the imaginary part."""
    if x.dtype.kind != "c":
        raise TypeError(f"imag: {describe(x)} has no imaginary part to set [at {user_line()}]")
    setitem(x, ..., elementwise.real(x) + 1j * as_arrays(x, value)[1])


def get_flat(x: Array) -> Array:
    """x in one dimension: a view, or where that is impossible a read-only copy."""
    found = manipulation.reshape(x, (-1,))
    return found if found._state & IS_VIEW else broadcast_to(found, found.shape)


def set_flat(x: Array, value: Any) -> None:
    """One value everywhere, or one for each element."""
    value = as_arrays(x, value)[1]
    setitem(x, ..., manipulation.reshape(value, x.shape if value.size == x.size else ()))


# --- all of them -------------------------------------------------------------------------------
def itemsize(x: Array) -> int:
    """The bytes of one element."""
    return x.dtype.itemsize


def nbytes(x: Array) -> int:
    """The bytes of all elements."""
    return x.dtype.itemsize * x.size


def rdivmod(x: Array, other: Any) -> tuple[Array, Array]:
    """``divmod(other, x)``."""
    return ufuncs.divmod(other, x)


METHODS: dict[str, Any] = {
    "__divmod__": ufuncs.divmod,
    "__rdivmod__": rdivmod,
    "all": reductions.all,
    "any": reductions.any,
    "argmax": position_of("argmax"),
    "argmin": position_of("argmin"),
    "argpartition": without_gradient(np.argpartition),
    "argsort": argsort,
    "astype": astype,
    "choose": selection.choose,
    "clip": clip,
    "compress": compress,
    "conj": elementwise.conj,
    "conjugate": elementwise.conj,
    "copy": copy,
    "cumprod": reductions.cumprod,
    "cumsum": reductions.cumsum,
    "diagonal": diagonal,
    "dot": dot,
    "fill": fill,
    "flat": property(get_flat, set_flat),
    "flatten": flatten,
    "imag": property(get_imag, set_imag),
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
    "real": property(get_real, set_real),
    "repeat": repeat,
    "reshape": reshape,
    "round": reductions.rounded,
    "searchsorted": searching.searchsorted,
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
