"""Conversion of Arrays to NumPy data, and type aliases for arguments of a library's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import arraytape

from .._array.array import Array

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import RawArray

# An argument of a library's function: an Array, or data that NumPy converts to an array.
ArrayInput: TypeAlias = "Array | npt.ArrayLike"
DTypeInput: TypeAlias = "npt.DTypeLike | None"
Shape: TypeAlias = "tuple[int, ...]"
NumpyData: TypeAlias = "np.ndarray[Any, Any]"
# A cotangent for each result of an op, or None for a result that no other op used.
Cotangents: TypeAlias = "tuple[RawArray | None, ...]"


def plain_data(x: Any) -> Any:
    """Return an Array's value as NumPy data that no tape follows; return other objects unchanged."""
    return np.asarray(arraytape.stop_gradient(x)) if isinstance(x, Array) else x
