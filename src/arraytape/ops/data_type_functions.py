"""Data types: casting, promotion, inspection."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array
from .._errors import explain
from .._storage import NUMPY, storage_of
from .._view import current
from .._words import composite, linear, sample, without_derivative


@linear(
    transpose=lambda g, dtype: g,  # the engine casts back
    samples=(
        sample((3, 4), dtype=np.dtype("float64")),
        sample((2,), dtype=np.dtype("complex128")),
    ),
)
def cast(x: Array, /, dtype: Any) -> Array:
    """A copy of x with another dtype."""


@without_derivative
def discretized(x: Array, /, dtype: Any) -> Array:
    """A copy of x with an integer or boolean dtype."""


@composite
def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """x with another dtype; x itself when nothing changes and copy=False.

    Casting to an integer or boolean dtype cuts the gradient.
    """
    _, data = current(x)
    storage = storage_of(data)
    storage.check_device(device)
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise explain("astype", error, x=x, dtype=dtype) from error
    if dtype == data.dtype and not copy:
        return x
    return cast(x, dtype) if dtype.kind in "fc" else discretized(x, dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind ("real floating", "integral"...), or one of several."""
    return bool(NUMPY.xp.isdtype(np.dtype(dtype), kind))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of an op on these arrays, dtypes and Python scalars."""
    return np.result_type(*(x._data if isinstance(x, Array) else x for x in arrays_and_dtypes))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether values cast without loss by the standard's promotion rules."""
    return bool(np.can_cast(from_.dtype if isinstance(from_, Array) else from_, to))


def finfo(type: Any, /) -> Any:
    """Limits of a floating-point dtype: bits, eps, max, min, smallest_normal, dtype."""
    return NUMPY.xp.finfo(type.dtype if isinstance(type, Array) else type)


def iinfo(type: Any, /) -> Any:
    """Limits of an integer dtype: bits, max, min, dtype."""
    return NUMPY.xp.iinfo(type.dtype if isinstance(type, Array) else type)
