"""NumPy's functions that choose elements, find places and write into arrays, on Arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import current
from .._storage.storage import storage_of
from .._util.errors import user_line
from ..ops import elementwise_functions as elementwise
from ..ops.data_type_functions import astype
from ..ops.indexing_functions import take
from ..ops.manipulation_functions import (
    broadcast_arrays,
    broadcast_to,
    normalize_axis_index,
    reshape,
)
from ..ops.searching_functions import where
from ..ops.utility_functions import any
from ..ops.writing import setitem
from .arguments import array_of, as_arrays, on_axis, on_host, without_gradient


def may_share_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Whether a write to one may be seen through the other."""
    first, second = (current(x)[1] if isinstance(x, Array) else x for x in (a, b))
    return type(first) is type(second) and storage_of(first).shares(first, second)


def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **options: Any,
) -> Any:
    """See ``numpy.unique``; a repeated value's gradient goes to its first occurrence."""
    _, index, inverse, counts = np.unique(on_host(ar), True, True, True, axis, **options)
    x, at = on_axis("unique", ar, axis)
    values = take(x, asarray_like(ar, index), axis=at)
    asked = zip(
        (return_index, return_inverse, return_counts), (index, inverse, counts), strict=True
    )
    more = [asarray_like(ar, part) for wanted, part in asked if wanted]
    return (values, *more) if more else values


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """See ``numpy.select``."""
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"np.select: {len(condlist)} conditions, {len(choicelist)} choices [at {user_line()}]"
        )
    *parts, y = as_arrays(*choicelist, *condlist, default)
    choices, conditions = parts[: len(choicelist)], parts[len(choicelist) :]
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        y = where(condition, choice, y)
    return y


def clip(a: Any, min: Any = None, max: Any = None) -> Array:
    """See ``numpy.clip``: integers between floats become floats."""
    a = array_of(a)
    bounds = [getattr(bound, "dtype", bound) for bound in (min, max) if bound is not None]
    dtype = np.result_type(a.dtype, *bounds)
    between = a.dtype.kind in "biu" and dtype.kind == "f"
    return elementwise.clip(astype(a, dtype) if between else a, min, max)


def choose(a: Any, choices: Sequence[Any]) -> Array:
    """Choose each element from several arrays, as ``numpy.choose`` does.

    Parameters
    ----------
    a : Array
        Integers: which of the choices.
    choices : Sequence[Array]
        The arrays, of shapes that broadcast with that of a.

    Returns
    -------
    Array
        Of the common shape and dtype of the choices.

    Raises
    ------
    ValueError
        When an integer names no choice, or the shapes do not broadcast.
    """
    a, *choices = broadcast_arrays(*as_arrays(a, *choices))
    if bool(any((a < 0) | (a >= len(choices)))):
        raise ValueError(f"np.choose: there are {len(choices)} choices [at {user_line()}]")
    y = choices[-1]
    for k, choice in enumerate(choices[:-1]):
        y = where(a == k, choice, y)
    return y


def extract(condition: Any, arr: Any) -> Array:
    """See ``numpy.extract``."""
    condition, arr = as_arrays(condition, arr)
    return reshape(arr, (-1,))[astype(reshape(condition, (-1,)), np.bool, copy=False)]


# --- writing -----------------------------------------------------------------------------------
def target(name: str, x: Any) -> Array:
    """TypeError for a NumPy array, which cannot take a recorded value."""
    if not isinstance(x, Array):
        raise TypeError(
            f"np.{name} cannot write a recorded value into a NumPy array [at {user_line()}]; make "
            "it an Array with asarray first"
        )
    return x


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """See ``numpy.copyto``."""
    dst, src = target("copyto", dst), as_arrays(dst, src)[1]
    put_where(dst, where, src)


def put_where(x: Array, mask: Any, value: Any) -> None:
    """``x[...] = value`` where a mask says so."""
    setitem(x, ..., value if mask is True else where(as_arrays(x, mask)[1], value, x))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """See ``numpy.putmask``; one value, or one for each element."""
    a, values = target("putmask", a), as_arrays(a, values)[1]
    if values.size != 1 and values.shape != a.shape:
        raise ValueError(f"np.putmask of Arrays repeats no values [at {user_line()}]")
    put_where(a, mask, values if values.size != 1 else reshape(values, ()))


def put(a: Any, ind: Any, v: Any) -> None:
    """Write to some places of the flattened array, as ``numpy.put`` does.

    Parameters
    ----------
    a : Array
        What is written to.
    ind : Array | int | list
        The places; negative ones count from the end.
    v : Array or number
        One value, or one for each place.

    Raises
    ------
    ValueError
        When the array is read-only, or the values do not fit the places.
    IndexError
        When a place is out of range.
    """
    a, v = target("put", a), as_arrays(a, v)[1]
    ind = on_host(ind)
    key = np.unravel_index(np.where(ind < 0, ind + a.size, ind), a.shape)
    setitem(a, key, reshape(v, ()) if v.size == 1 else reshape(v, ind.shape))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    """See ``numpy.put_along_axis``."""
    arr = target("put_along_axis", arr)
    indices = on_host(indices)
    if axis is None:
        put(arr, indices, broadcast_to(as_arrays(arr, values)[1], indices.shape))
        return
    at = normalize_axis_index("put_along_axis", arr, axis)
    lines = np.ogrid[tuple([slice(n) for n in arr.shape])]
    key = tuple([indices if i == at else line for i, line in enumerate(lines)])
    setitem(arr, key, as_arrays(arr, values)[1])


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """See ``numpy.fill_diagonal``."""
    a = target("fill_diagonal", a)
    if a.ndim < 2 or wrap:
        raise ValueError(
            f"np.fill_diagonal of Arrays has no wrap=True, and 2 axes [at {user_line()}]"
        )
    setitem(a, (np.arange(min(a.shape)),) * a.ndim, as_arrays(a, val)[1])


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.clip: clip,
    **{
        function: without_gradient(function)
        for function in (
            np.allclose, np.argpartition, np.argwhere, np.array_equal, np.array_equiv, np.digitize,
            np.flatnonzero, np.isclose, np.isin, np.isneginf, np.isposinf, np.lexsort,
            np.linalg.matrix_rank, np.nanargmax, np.nanargmin, np.ravel_multi_index,
            np.searchsorted, np.shares_memory,
            np.tril_indices_from, np.triu_indices_from, np.unravel_index,
        )
    },
    np.choose: choose,
    np.copyto: copyto,
    np.extract: extract,
    np.fill_diagonal: fill_diagonal,
    np.may_share_memory: may_share_memory,
    np.put: put,
    np.put_along_axis: put_along_axis,
    np.putmask: putmask,
    np.select: select,
    np.unique: unique,
}  # fmt: skip
