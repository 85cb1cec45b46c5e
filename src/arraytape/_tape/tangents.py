"""The tangents of forward mode, by value id, and their changes by writes into Arrays.

A write into an Array makes a new value, whose tangent differs from the old one in a part.  The tangent
of the old value is seldom needed again.  So the old tangent is overwritten in place, and only the part
that the write replaces is copied.  A loop that writes T rows copies T rows, not T arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._array.aliasing import AddRecord, PutRecord
from .._array.array import Array
from .._array.paths import Path, add_through, walk_path, write_through
from .._array.views import location
from .._storage.batched.batched_data import axis_ids_of, plain
from .._storage.storage import is_complex, storage_of
from .data import ArrayData

if TYPE_CHECKING:
    from .._util.array_types import Index


class Tangents:
    """A mapping from value ids to the tangents that a forward pass has computed.

    A write to an Array may also overwrite the tangent of its old value in place.  Then the mapping keeps
    the overwritten part, from which it restores the old tangent if that is needed.
    """

    def __init__(self) -> None:
        self._held: dict[int, Array] = {}
        # The tangents to which nothing else refers: a dict from ``id(tangent)`` to the value id.
        self._own: dict[int, int] = {}
        # Dict from the id of a value before a write to: the id of the value after the write, the path
        # and the key of the write, and the part of the tangent that the write replaced.
        self._before: dict[int, tuple[int, Path, Index, Array]] = {}

    def __contains__(self, value_id: object) -> bool:
        return value_id in self._held or value_id in self._before

    def __getitem__(self, value_id: int) -> Array:
        found = self._held.get(value_id)
        return self._restored(value_id) if found is None else found

    def get(self, value_id: int) -> Array | None:
        known = value_id in self
        return self[value_id] if known else None

    def value_ids(self) -> set[int]:
        return self._held.keys() | self._before.keys()

    def __setitem__(self, value_id: int, tangent: Array) -> None:
        root, _ = location(tangent)
        self._own.pop(id(root), None)  # the Array may now be the tangent of two values
        self._held[value_id] = tangent

    def _restored(self, value_id: int) -> Array:
        """Return the tangent of an old value: a copy of the newest tangent, with later writes undone."""
        writes = []
        while value_id in self._before:
            value_id, path, key, part = self._before[value_id]
            writes.append((path, key, part))
        newest = self._held[value_id]
        at = ArrayData(storage_of(newest._data))
        whole: Array = at.copy_data(newest)
        for path, key, part in reversed(writes):
            whole = write_through(whole, path, key, part, at)
        return whole

    def apply_write(self, write: PutRecord | AddRecord) -> None:
        """Compute and store the tangent of an Array after a write to the Array or to one of its views.

        Do nothing if neither the Array nor the written value has a tangent.

        write : the record of the write, as of ``x[key] = value`` or ``x += value``.
        """
        old, path, key = write.old, write.path, ... if isinstance(write, AddRecord) else write.key
        held, t = self.get(old), self.get(write.value)
        some = t if held is None else held
        if some is None:
            return
        at = ArrayData(storage_of(some._data))
        if held is None:
            dtype = plain(write.root_dtype)
            whole = at.xp.zeros(write.root_shape, dtype=dtype, device=some.device)
        elif self._own.get(id(held)) == old and can_write_in_place(held, t, (key, path)):
            part = at.copy_data(walk_path(held, path, at.xp)[key])
            self._before[old] = write.new, path, key, part
            del self._held[old], self._own[id(held)]
            whole = held
        else:
            whole = at.copy_data(held)
        whole = write_into_tangent(write, whole, t, at)
        self._held[write.new], self._own[id(whole)] = whole, write.new


def can_write_in_place(whole: Array, t: Array | None, key: tuple[Index, Path]) -> bool:
    """Return True if the tangent ``t`` can be written into the tangent ``whole`` in place.

    A write such as ``x[key] = value`` needs this: t is the tangent of the value, ``whole`` that of x.
    Return False if t is ``whole`` itself, or if t or the key has hidden axes (of vmap) that ``whole``
    would have to get.

    key : the key of the recorded write, and the path (the steps from the Array) of the view that was
    written to.
    """
    if t is whole or axis_ids_of(key):
        return False
    return t is None or set(axis_ids_of((t._data,))) <= set(axis_ids_of((whole._data,)))


def write_into_tangent(
    write: PutRecord | AddRecord, whole: Array, t: Array | None, at: ArrayData
) -> Any:
    """Return the tangent of a whole Array after a write to it or to one of its views.

    write : the record of the write.
    whole : the Array's tangent before the write, which may be changed in place.
    t : the tangent of the value that was written; None if the value does not depend on the primals.
    at : the operations on Arrays that the write's transposes and sums use.
    """
    path = write.path
    if t is not None and is_complex(t) and write.root_dtype.kind != "c":
        t = at.xp.real(t)
    if isinstance(write, AddRecord):
        return whole if t is None else add_through(whole, path, t if write.sign > 0 else -t, at)
    key, lost = write.key, write.lost
    if lost is None or t is None:
        return write_through(whole, path, key, 0.0 if t is None else t, at)
    # The key names an element twice, and ``lost`` masks the values that were overwritten.  The tangents
    # are added, not written: NumPy might write them in another order, so that other elements would last.
    whole = write_through(whole, path, key, 0.0, at)
    if t.ndim > lost.ndim:  # ``x[key] = value`` ignores leading axes of length 1 of the value
        t = at.xp.reshape(t, t.shape[t.ndim - lost.ndim :])
    lasting = at.xp.where(lost, 0.0, at.xp.broadcast_to(t, lost.shape))
    added = at.xp.scatter_add(lasting, walk_path(whole, path, at.xp).shape, key)
    return add_through(whole, path, added, at)
