"""Comparison by bits of the values on which a program depends: NaN equals NaN, 0.0 is not -0.0.

``==`` cannot be used: a replay for -0.0 may differ from one for 0.0, and NaN != NaN would refuse each
replay.
"""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.exports import same_bits
from ..._util.array_types import RawArray

# Types of immutable values that contain no other objects of the user's: they are compared by value.
PLAIN = frozenset(
    (bool, int, float, complex, str, bytes, type(None), slice, range, type(Ellipsis),
     type(NotImplemented))
)  # fmt: skip
EQUAL = frozenset((bool, int, str, bytes, type(None)))  # types whose equal values have equal bits
BUFFERS = (bytearray, memoryview, array.array)


def same_plain(a: Any, b: Any) -> bool:
    """Return True if two plain values have equal types and bits.

    a, b : objects whose type is in PLAIN, or NumPy scalars or dtypes.
    """
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in EQUAL:
        return bool(a == b)
    return (kind is float and a == b != 0.0) or repr(a) == repr(b)


def same_data(a: Any, b: Any) -> bool:
    """Return True if two ndarrays hold the same bits, in the same shape and dtype."""
    if type(a) is not type(b) or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind == "O":
        return all(x is y for x, y in zip(a.flat, b.flat, strict=True))
    if a.strides == b.strides and same_bits(a, b):
        return True
    return bool(a.tobytes() == b.tobytes())


def same_value(a: RawArray, b: RawArray) -> bool:
    """Return True if two values of any type are identical or equal; ndarrays are compared by bits.

    Replays use it to compare values with those of the recorded call.
    """
    if a is b:
        return True
    if isinstance(a, np.ndarray):
        return same_data(a, b)
    if type(a) in PLAIN or isinstance(a, np.generic | np.dtype):
        return same_plain(a, b)
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # __eq__ of a user's class may raise, or recur without end
        return False


def same_items(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return True if two sequences of equal length hold the same plain values."""
    return all(x is y or same_plain(x, y) for x, y in zip(a, b, strict=True))


def buffer_of(x: Any) -> Any:
    """Return the type, layout and bytes of an object with Python's buffer protocol, for comparison.

    An example is a ctypes number.
    """
    view = memoryview(x)
    return type(x), view.format, view.shape, view.tobytes()
