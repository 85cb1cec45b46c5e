"""Exports: memory of an Array that NumPy code shares, for as long as that code refers to the memory.

The ndarray that ``np.asarray(x)`` returns has an ``Export`` object as its ``base``.  A view of the
ndarray has the same ``base``, since NumPy passes over bases that are ndarrays.  So every view,
memoryview and C buffer of the ndarray keeps the Export alive, and the Array can find out when all of
them are freed.  As long as an Export lives, the Array keeps its memory, and records keep a copy of the
data, since NumPy code may write to the memory.  All records share one copy until the data changes.
Otherwise each record would copy a constant that a library holds, such as the points of a KDTree.

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
    """The ``base`` of an ndarray that shares an Array's memory, such as the result of ``np.asarray(x)``.

    It lives as long as the ndarray or a view of it.  So the Array knows while NumPy code may write to
    the memory.

    data : the Array's own ndarray, whose memory is shared.
    firm : True if the user asked for shared memory, so that the ndarray is never made read-only.
    handed_out : a weak reference to the ndarray that ``hand_out`` returned.
    """

    __slots__ = ("__weakref__", "data", "firm", "handed_out")

    def __init__(self, data: np.ndarray[Any, Any], firm: bool) -> None:
        self.data, self.firm = data, firm

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.data.__array_interface__

    def hand_out(self) -> np.ndarray[Any, Any]:
        """Return a new ndarray on the memory of ``data``, with this object as its base."""
        # NumPy reads ``__array_interface__``, and makes self the base of the array.
        array = np.asarray(self)
        self.handed_out = ref(array)
        return array

    def freeze(self) -> None:
        """Make the exported ndarray read-only.  Existing views of it stay writeable."""
        array = self.handed_out()
        if array is not None:
            array.flags.writeable = False


class Exports:
    """The ``Export`` objects of one Array that is no view: one for each ndarray that shares its memory.

    live : the Export objects that are not freed.
    last : a function that returns the copy of the data that all records of tapes share, or None.
    """

    __slots__ = ("last", "live")

    def __init__(self) -> None:
        self.live: WeakSet[Export] = WeakSet()
        self.last: Any = lambda: None

    def remember_copy(self, data: np.ndarray[Any, Any]) -> Any:
        """Remember ``data``, a copy of the Array's data for a record of a tape, and return it.

        Later records share this copy, as long as one record holds it.
        """
        self.last = ref(data)
        return data

    def kept_copy(self, data: np.ndarray[Any, Any]) -> Any:
        """Return the copy of the Array's ``data`` that all records of tapes share, or None.

        None means that there is no copy, or that NumPy code has written to the data since it was made.
        Only a comparison of all bits shows this.
        """
        last = self.last()
        return last if last is not None and same_bits(last, data) else None


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Return True if two arrays of the same shape and dtype hold the same bits, NaNs included.

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
    """Return True if code outside of arraytape shares the memory of ``root``, which is no view."""
    state = root._state
    return bool(state & PINNED or (state & EXPORTED and root._exports.live))


def is_unwritten(root: Array, data: RawArray) -> bool:
    """Return True if nobody has written to ``root`` since a record of a tape kept ``data`` of it.

    root : an Array that is no view.  data : the Array's own data, or the copy that the record keeps
    while NumPy code shares the Array's data.
    """
    if root._data is data:
        return True
    return bool(root._state & EXPORTED) and root._exports.kept_copy(root._data) is data


def released(root: Array) -> None:
    """Clear the state bit EXPORTED of an Array, because the last ndarray on its memory was freed.

    While such ndarrays lived, NumPy code could write to the memory, so tapes recorded a copy of the
    data.  If the copy still equals the data, the Array uses it from now on, and frees its own memory.
    """
    kept = root._exports.kept_copy(root._data)
    if kept is not None:
        root._state |= KEPT  # set first: no other thread may write to the memory that records share
        root._data = kept
    root._state &= ~EXPORTED


def revoke(root: Array) -> None:
    """Stop NumPy code from writing to the memory of an Array whose value a tape begins to follow.

    The ndarrays that share the memory become read-only, and the Array gets a copy of the data.  If the
    user asked for shared memory explicitly, as by ``copy=False``, the Array goes on sharing it.

    root : the Array, which is no view.
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
