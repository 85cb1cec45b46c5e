"""Packing of the data that records keep: ``diagnose.saved_data``.

In place of an array, a record keeps the result of the user's function ``pack``: the name of a file or a
compressed copy, for example.  The backward pass calls the user's ``unpack`` to get the array back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from weakref import WeakValueDictionary

from .._array.array import KEPT, Array, wrap
from .._array.views import current
from .._record.mode_stack import without_program_modes
from .._record.plan import Plan, Record, plan_of
from .._storage.batched.batched_data import Batched
from .._storage.storage import STORAGES
from .._util.errors import describe, layout_text, user_line
from .._util.references import weak_reference

Pack = Callable[[Array], Any]
Unpack = Callable[[Any], Array]


class Packed:
    """The item that replaces an array in a record.

    data : the result of the user's ``pack``.  unpack : the user's function that returns the array.
    source : a function that returns the original array while it is alive, and None afterwards.
    """

    __slots__ = ("__weakref__", "data", "device", "dtype", "shape", "size", "source", "unpack")

    def __init__(self, x: Array, pack: Pack, unpack: Unpack) -> None:
        self.source = weak_reference(x._data)
        self.shape, self.dtype, self.size = x._data.shape, x._data.dtype, x.size
        self.device, self.unpack = x.device, unpack
        with without_program_modes():
            self.data = pack(x)

    def unpack_array(self) -> Any:
        """Return the raw data that ``unpack`` returns.

        Raise ValueError if its shape, dtype or device are not those of the original array.
        """
        x = self.unpack(self.data)
        given = (x.shape, x._data.dtype, x.device) if isinstance(x, Array) else None
        if given != (self.shape, self.dtype, self.device):
            raise ValueError(
                f"saved_data: unpack must return an Array {layout_text(self)}, like the argument of "
                f"pack, got {describe(x)} [at {user_line()}]"
            )
        return current(x)[1]


class Packing:
    """An open block of ``saved_data``, which replaces arrays in records by ``Packed`` objects.

    known : Packed objects by the ``id()`` of the array, so that an array in two records is packed once.
    recordings : the recordings whose records are packed.
    """

    def __init__(self, pack: Pack, unpack: Unpack) -> None:
        self.pack, self.unpack = pack, unpack
        self.recordings: list[Any] = []
        self.known: WeakValueDictionary[int, Packed] = WeakValueDictionary()

    def pack_record(self, record: Record) -> Record:
        """Return the record of an op with its arrays packed.  Return any other record unchanged.

        The user's function ``pack`` stores each array, for example in a file.
        """
        plan = plan_of(record)
        if not isinstance(plan, Plan) or not plan.positions:
            return record
        first = min(plan.positions.values())
        return (*record[:first], *map(self.pack_item, record[first:]))

    def pack_item(self, item: Any) -> Any:
        """Return an item of a record with Packed objects in place of arrays.

        A Packed object holds what the user's ``pack`` returned.
        """
        if type(item) in (tuple, list):
            return type(item)(map(self.pack_item, item))
        if type(item) not in STORAGES or type(item) is Batched:
            return item
        found = self.known.get(id(item))
        if found is None or found.source() is not item:  # the id() may be that of a freed array
            found = self.known[id(item)] = Packed(wrap(item, 0, KEPT), self.pack, self.unpack)
        return found


# The Packing of the innermost block of ``saved_data`` in this thread and task.
PACKING: ContextVar[Packing | None] = ContextVar("arraytape packing", default=None)


def unpack_record(item: Any) -> Any:
    """Return a record, or one of its items, with the original arrays in place of packed ones.

    The user's functions ``pack`` and ``unpack`` of ``saved_data`` store and restore the arrays.
    """
    if type(item) is Packed:
        return item.unpack_array()
    if type(item) in (tuple, list) and holds_packed(item):
        return type(item)(map(unpack_record, item))
    return item


def holds_packed(item: Any) -> bool:
    """Return True if a record, or one of its items, holds arrays that the user's ``pack`` replaced."""
    if type(item) in (tuple, list):
        return any(type(part) in (tuple, list, Packed) and holds_packed(part) for part in item)
    return type(item) is Packed
