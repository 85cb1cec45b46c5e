"""NumPy's functions of shapes that the standard has not, on Arrays: ``np.hstack`` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._util.errors import user_line
from ..ops import data_type_functions as dtypes
from ..ops.creation_functions import copied
from ..ops.manipulation_functions import broadcast_to, concat, reshape
from .functions import as_arrays, at_least
from .methods import METHODS, method_transpose

NUMBERS = "biufc"  # kinds of dtypes


def only(name: str, parameter: str, value: Any, known: Any) -> None:
    """TypeError for a parameter's value that has no recorded counterpart."""
    if value != known:
        raise TypeError(
            f"np.{name} of Arrays has no {parameter}={value!r}, only {known!r} [at {user_line()}]"
        )


def listed(found: Any) -> list[Array]:
    return list(found) if isinstance(found, tuple) else [found]


def atleast_3d(*arys: Any) -> Any:
    """See ``numpy.atleast_3d``."""
    found = tuple([deep(x) for x in as_arrays(*arys)])
    return found if len(found) != 1 else found[0]


def deep(x: Array) -> Array:
    if x.ndim > 2:
        return x
    return reshape(x, (*x.shape, 1) if x.ndim == 2 else (1, x.size, 1))


def transpose(a: Array, axes: Any = None) -> Array:
    """See ``numpy.transpose``."""
    return method_transpose(a, *(() if axes is None else (axes,)))


def copy(a: Array, order: str = "K", subok: bool = False) -> Array:
    """See ``numpy.copy``."""
    return copied(a)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """See ``numpy.broadcast_arrays``; what holds no numbers, such as None, becomes NumPy's array."""
    plain: list[Any] = [x if isinstance(x, Array) else np.asarray(x) for x in args]
    numbers = iter(as_arrays(*[x for x in plain if x.dtype.kind in NUMBERS]))
    shape = np.broadcast_shapes(*[x.shape for x in plain])
    return tuple([
        broadcast_to(next(numbers), shape) if x.dtype.kind in NUMBERS
        else np.broadcast_to(x, shape)
        for x in plain
    ])  # fmt: skip


def joined(arrays: list[Array], axis: int, dtype: Any = None, casting: str = "same_kind") -> Array:
    only("concatenate", "casting", casting, "same_kind")
    whole = concat(arrays, axis=axis)
    return whole if dtype is None else dtypes.astype(whole, dtype, copy=False)


def hstack(tup: Sequence[Any], **options: Any) -> Array:
    """See ``numpy.hstack``."""
    parts = listed(at_least(1)(*tup))
    return joined(parts, 0 if parts[0].ndim == 1 else 1, **options)


def vstack(tup: Sequence[Any], **options: Any) -> Array:
    """See ``numpy.vstack``."""
    return joined(listed(at_least(2)(*tup)), 0, **options)


def dstack(tup: Sequence[Any]) -> Array:
    """See ``numpy.dstack``."""
    return joined(listed(atleast_3d(*tup)), 2)


def column_stack(tup: Sequence[Any]) -> Array:
    """See ``numpy.column_stack``."""
    parts = as_arrays(*tup)
    return joined([x if x.ndim > 1 else reshape(x, (x.size, 1)) for x in parts], 1)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{
        function: METHODS[function.__name__]
        for function in (
            np.cumprod, np.cumsum, np.diagonal, np.squeeze, np.swapaxes, np.take, np.trace,
        )
    },
    np.atleast_3d: atleast_3d,
    np.broadcast_arrays: broadcast_arrays,
    np.column_stack: column_stack,
    np.copy: copy,
    np.dstack: dstack,
    np.hstack: hstack,
    np.transpose: transpose,
    np.vstack: vstack,
}  # fmt: skip
