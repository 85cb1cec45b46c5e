"""Exports: memory of an Array that NumPy code shares, for as long as that code has it.

The array that ``np.asarray(x)`` returns has an ``Export`` as its base.  NumPy's base chains stop at an
object that is no ndarray, so every view, memoryview and C buffer of that array keeps the Export alive.
Thus the Array knows when the last of them is freed.  As long as an Export lives, the Array keeps its
memory, and records keep a copy of it.  Records share one copy until the values change.  Otherwise each
record would copy, again and again, a constant that a library holds, such as the points of a KDTree.

A recorded value must not change under its id.  When a tape begins to follow a value, its exports are
revoked: the exported arrays become read-only, and the Array gets a copy.  A firm export, which the user
asked for by name (``copy=False``, dlpack), is not revoked: there the user answers for writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

import numpy as np

from .._storage.numpy_storage import NUMPY
from .array import EXPORTED, KEPT, MOVING, PINNED, Array

if TYPE_CHECKING:
    from .._util.array_types import RawArray


class Export:
    """The base of one exported ndarray; ``data`` is the Array's own."""

    __slots__ = ("__weakref__", "data", "firm", "handed_out")

    def __init__(self, data: np.ndarray[Any, Any], firm: bool) -> None:
        self.data, self.firm = data, firm

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.data.__array_interface__

    def hand_out(self) -> np.ndarray[Any, Any]:
        array = np.asarray(self)
        self.handed_out = ref(array)
        return array

    def freeze(self) -> None:
        """Make the exported ndarray read-only; views made of it before stay writeable."""
        array = self.handed_out()
        if array is not None:
            array.flags.writeable = False


class Exports:
    """The live exports of a root.

    last : a weak reference to the copy of the root's data that records share.
    """

    __slots__ = ("last", "live")

    def __init__(self) -> None:
        self.live: WeakSet[Export] = WeakSet()
        self.last: Any = lambda: None

    def remember_copy(self, data: np.ndarray[Any, Any]) -> Any:
        self.last = ref(data)
        return data

    def kept_copy(self, data: np.ndarray[Any, Any]) -> Any:
        """Return the copy of ``data`` that records share; None if there is none, or the values changed.

        All bits are compared, because nothing else tells whether foreign code has written.
        """
        last = self.last()
        return last if last is not None and same_bits(last, data) else None


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Return True if two arrays of one layout hold the same bits; False if the test needs a copy."""
    if a.strides != b.strides or not a.size:
        return False
    flat = [x.ravel(order="K") for x in (a, b)]
    if any(one.base is None for one in flat):
        return False
    one, other = (x.view(np.uint64 if x.itemsize % 8 == 0 else np.uint8) for x in flat)
    return np.array_equal(one, other)


def is_shared(root: Array) -> bool:
    """Return True if foreign code shares the memory of a root now."""
    state = root._state
    return bool(state & PINNED or (state & EXPORTED and root._exports.live))


def is_unwritten(root: Array, data: RawArray) -> bool:
    """Return True if a root has this data, or exported a copy of it to which no code has written."""
    if root._data is data:
        return True
    return bool(root._state & EXPORTED) and root._exports.kept_copy(root._data) is data


def released(root: Array) -> None:
    """End the state EXPORTED of a root whose last export is freed.

    If no foreign code has written, the root takes the memory of the records' copy: that frees its own.
    """
    kept = root._exports.kept_copy(root._data)
    if kept is not None:
        root._state |= KEPT  # set first: another thread must not write to memory that records share
        root._data = kept
    root._state &= ~EXPORTED


def revoke(root: Array) -> None:
    """End the sharing of a root's memory, because a tape is to follow its value.

    The exported arrays become read-only and keep the present value; the root gets a copy.
    """
    with MOVING:
        if not root._state & EXPORTED:
            return  # another thread has revoked them
        exports = [*root._exports.live]
        for export in exports:
            if not export.firm:
                export.freeze()
        if any(export.firm for export in exports):
            return
        if exports:
            root._data = NUMPY.copy(root._data)
        root._state &= ~EXPORTED
