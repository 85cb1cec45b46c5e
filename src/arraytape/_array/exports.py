"""Exports: memory of an Array that NumPy code shares, for as long as that code has it.

The array that ``np.asarray(x)`` returns has an ``Export`` as its base.  Base chains stop at an object
that is no ndarray, so every view, memoryview and C buffer made of it keeps the Export alive, and the
Array knows when the last of them is freed.  As long as an Export lives, the Array's memory does not
move, and records keep a copy of it.  They share one copy until the value changes: else each record
would copy a constant that a library holds, too, such as the points of a KDTree.

A recorded value must not change under its id.  When a tape begins to follow a value, its exports are
revoked: the exported arrays become read-only, and the Array moves on to a copy.  A firm export, which
was asked for by name (``copy=False``, dlpack), is not revoked: there the user answers for writes.
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
    """The base of one exported ndarray; data: the Array's own."""

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
        """Make the exported ndarray read-only; arrays made of it before stay as they are."""
        array = self.handed_out()
        if array is not None:
            array.flags.writeable = False


class Exports:
    """The exports of a root.

    last : a weak reference to the copy of its data that records have; until the values change they need
    no other.
    """

    __slots__ = ("last", "live")

    def __init__(self) -> None:
        self.live: WeakSet[Export] = WeakSet()
        self.last: Any = lambda: None

    def remember_copy(self, data: np.ndarray[Any, Any]) -> Any:
        self.last = ref(data)
        return data

    def kept_copy(self, data: np.ndarray[Any, Any]) -> Any:
        """Return the copy that records have of ``data``; None if there is none, or the values changed.

        A write by foreign code shows in nothing but the values.
        """
        last = self.last()
        return last if last is not None and same_bits(last, data) else None


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Return True if two arrays of one layout hold the same bits; False if that needs a copy."""
    if a.strides != b.strides or not a.size:
        return False
    flat = [x.ravel(order="K") for x in (a, b)]
    if any(one.base is None for one in flat):
        return False
    one, other = (x.view(np.uint64 if x.itemsize % 8 == 0 else np.uint8) for x in flat)
    return np.array_equal(one, other)


def is_shared(root: Array) -> bool:
    """Return True if foreign code may see writes to a root, or write to it."""
    state = root._state
    return bool(state & PINNED or (state & EXPORTED and root._exports.live))


def is_unwritten(root: Array, data: RawArray) -> bool:
    """Return True if a root still has this data, or has exported a copy of it to which no code wrote."""
    if root._data is data:
        return True
    return bool(root._state & EXPORTED) and root._exports.kept_copy(root._data) is data


def released(root: Array) -> None:
    """Note that a root's last export is freed: if unwritten, the root takes its old memory again."""
    kept = root._exports.kept_copy(root._data)
    if kept is not None:
        root._state |= KEPT  # first: memory that records share must never be without it
        root._data = kept
    root._state &= ~EXPORTED


def revoke(root: Array) -> None:
    """Take the memory of a root from foreign code, since a tape is to follow its value.

    The exported array becomes read-only and keeps the present value; the root moves on to a copy.
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
