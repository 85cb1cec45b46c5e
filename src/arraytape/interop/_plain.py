"""Arrays as NumPy data, for what has no derivative and for compiled code; the types of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import arraytape

from .._array.array import Array

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import RawArray

# An argument of a library's function: an Array, or what NumPy converts.
ArrayInput: TypeAlias = "Array | npt.ArrayLike"
DTypeInput: TypeAlias = "npt.DTypeLike | None"
Shape: TypeAlias = "tuple[int, ...]"
NumpyData: TypeAlias = "np.ndarray[Any, Any]"
Cotangents: TypeAlias = "tuple[RawArray | None, ...]"  # of several results; None: nothing reads it


def plain_data(x: Any) -> Any:
    """Return the value of an Array as NumPy data; anything else as it is."""
    return np.asarray(arraytape.stop_gradient(x)) if isinstance(x, Array) else x
