"""Exports: memory of an Array that NumPy code shares, for as long as that code refers to it.

The ndarray that ``np.asarray(x)`` returns has an ``Export`` object as its ``base``.  NumPy's chain of
bases ends at an object that is no ndarray.  So every view, memoryview and C buffer of the ndarray keeps
the Export alive, and the Array can tell when all of them are freed.  As long as an Export lives, the
Array keeps its memory, and records keep a copy of the data, since NumPy code may write to the memory.
Records share one copy until the data changes.  Otherwise each record would make a copy of a constant
that a library holds, such as the points of a KDTree.

A followed value must not change.  So when a tape begins to follow a value, its exports are revoked: the
exported ndarrays become read-only, and the Array gets a copy.  A firm export, which the user requested
explicitly (``copy=False``, DLPack), is not revoked: the user is responsible for writes to it.
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
    """The ``base`` of an exported ndarray.

    data : the Array's own ndarray, whose memory is exported.  firm : True if ``revoke`` leaves it be.
    handed_out : a weak reference to the exported ndarray.
    """

    __slots__ = ("__weakref__", "data", "firm", "handed_out")

    def __init__(self, data: np.ndarray[Any, Any], firm: bool) -> None:
        self.data, self.firm = data, firm

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.data.__array_interface__

    def hand_out(self) -> np.ndarray[Any, Any]:
        # NumPy reads ``__array_interface__``, and makes self the base of the array.
        array = np.asarray(self)
        self.handed_out = ref(array)
        return array

    def freeze(self) -> None:
        """Make the exported ndarray read-only.  Existing views of it remain writeable."""
        array = self.handed_out()
        if array is not None:
            array.flags.writeable = False


class Exports:
    """The exports of one root, an Array that is no view: NumPy arrays that share its memory.

    live : the Export objects that are not freed.
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
        """Return the copy of ``data`` that records share.

        Return None if there is none, or if data has changed since.  Only a comparison of all bits shows
        whether other code has written to the exported memory.
        """
        last = self.last()
        return last if last is not None and same_bits(last, data) else None


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Return True if two arrays of the same shape and dtype hold the same bits.

    Return False if they do not, or if the comparison would need a copy because of their strides.
    """
    if a.strides != b.strides or not a.size:
        return False
    flat = [x.ravel(order="K") for x in (a, b)]
    if any(one.base is None for one in flat):
        return False
    one, other = (x.view(np.uint64 if x.itemsize % 8 == 0 else np.uint8) for x in flat)
    return np.array_equal(one, other)


def is_shared(root: Array) -> bool:
    """Return True if code outside of arraytape shares the memory of an Array that is no view now."""
    state = root._state
    return bool(state & PINNED or (state & EXPORTED and root._exports.live))


def is_unwritten(root: Array, data: RawArray) -> bool:
    """Return True if the data of an Array (no view) is unchanged since ``keep_data`` returned ``data``.

    ``data`` is the root's own data, or the copy that records keep while the root's data is exported.
    """
    if root._data is data:
        return True
    return bool(root._state & EXPORTED) and root._exports.kept_copy(root._data) is data


def released(root: Array) -> None:
    """End the state EXPORTED of an Array ``root`` whose last export (NumPy array) was freed.

    If no other code has written to its memory, it uses the records' copy from now on, so that its own
    memory is freed.
    """
    kept = root._exports.kept_copy(root._data)
    if kept is not None:
        root._state |= KEPT  # set first: no other thread may write to the memory that records share
        root._data = kept
    root._state &= ~EXPORTED


def revoke(root: Array) -> None:
    """Stop NumPy code from writing to the memory of ``root``, because a tape is to follow its value.

    Exported arrays become read-only, and the Array gets a copy.  A firm export, which the user requested
    explicitly, stays as it is.
    """
    with MOVING:
        if not root._state & EXPORTED:
            return  # another thread has revoked the exports meanwhile
        exports = [*root._exports.live]
        for export in exports:
            if not export.firm:
                export.freeze()
        if any(export.firm for export in exports):
            return
        if exports:
            root._data = NUMPY.copy(root._data)
        root._state &= ~EXPORTED
