"""Counts of the bytes of memory (buffers) that the records of a tape keep alive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._storage.batched.batched_data import Batched
from .._storage.storage import STORAGES
from .packing import Packed

if TYPE_CHECKING:
    from .._util.array_types import RawArray

LARGE = 2**18  # bytes from which on an array is worth freeing while its tape lives
# Types of items of records that are no arrays.  Their memory counts as 0.
SMALL = (int, float, complex, str, slice, type, type(None), type(Ellipsis), np.dtype, np.generic)


def kept_bytes(records: Iterable[Any]) -> tuple[int, bool]:
    """Return the bytes of the buffers in the records, and True if the records keep no other data.

    Each buffer counts once.  A view counts as its whole buffer, which the view keeps alive.  The tables
    of memory that users print need both.  Values that the rule of a ``custom_gradient`` or the function
    of a ``recompute_grad`` closes over are not counted; then the second result is False.
    """
    buffers = Buffers()
    return buffers.count(records), buffers.complete


class Buffers:
    """A count of the buffers that records keep alive.  Each buffer counts once.

    sizes : the bytes of each buffer, by its ``id()``, which is valid as long as the records live.
    complete : False if the size of a buffer is unknown, or a user's function may keep more.
    """

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.total, self.complete = 0, True

    def add_sizes(self, found: dict[int, int]) -> None:
        self.sizes |= found
        self.total += sum(found.values())

    def count(self, records: Iterable[Any]) -> int:
        """Count the buffers in records; return the bytes of those that were not counted yet."""
        found = self.new_in(records)
        self.add_sizes(found)
        return sum(found.values())

    def new_in(self, records: Iterable[Any]) -> dict[int, int]:
        """Return a dict from ``id()`` to bytes, of the buffers in records that are not counted yet.

        A memory limit asks this before the records are kept, so nothing is counted here.
        """
        found: dict[int, int] = {}
        lists: set[int] = set()
        waiting = list(records)
        while waiting:
            item = waiting.pop()
            if isinstance(item, SMALL) or id(item) in lists:
                continue
            if isinstance(item, list):  # a list may contain itself
                lists.add(id(item))
            if hasattr(item, "kept_arrays"):  # the call of a user's function, which may keep more
                self.complete = False
            parts = parts_of_record(item)
            if parts is not None:
                waiting.extend(parts)
                continue
            whole = owner_of_memory(item)
            size = data_bytes(whole)
            self.complete = self.complete and size is not None
            if id(whole) not in self.sizes:
                found[id(whole)] = size or 0
        return found


def parts_of_record(item: Any) -> Sequence[Any] | None:
    """Return the objects inside an item of a record, such as the items of a list; None for an array.

    The count of bytes goes through these objects, down to the arrays.
    """
    if isinstance(item, tuple | list):
        return item
    if isinstance(item, Packed):
        return (item.data,)
    if isinstance(item, Array):  # the result of a user's ``pack``
        return (item._data,)
    if type(item) is Batched:
        return item._data, item.diagonal  # the property ``data`` would make the diagonal dense
    found: Sequence[Any] | None = getattr(item, "kept_arrays", None)
    return found


def owner_of_memory(data: RawArray) -> Any:
    """Return the array that owns the memory of data: the last ``base`` of NumPy's and CuPy's views.

    A view keeps the whole memory of that array alive, and counts as much.
    """
    while (base := getattr(data, "base", None)) is not None and type(base) in STORAGES:
        data = base
    return data


def data_bytes(data: Any) -> int | None:
    """Return the bytes of raw data; None for an object of another type, or an unknown size."""
    if isinstance(data, np.ndarray):
        return data.nbytes
    if type(data) not in STORAGES:
        return None
    try:
        size: int = math.prod(data.shape) * data.dtype.itemsize
    except (AttributeError, TypeError):
        return None
    return size


def bytes_or_zero(data: RawArray) -> int:
    """Return the bytes of raw data of any library; 0 if they are unknown."""
    return data.nbytes if type(data) is np.ndarray else data_bytes(data) or 0


def is_large_data(data: RawArray) -> bool:
    """Return True if data has at least ``LARGE`` bytes, so that freeing it early saves memory."""
    return bytes_or_zero(data) >= LARGE
