"""The buffers that records keep alive, and their bytes."""

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

LARGE = 2**18  # bytes of an array that is freed before its tape
# Types of the items of records that are no data: their memory is not counted.
SMALL = (int, float, complex, str, slice, type, type(None), type(Ellipsis), np.dtype, np.generic)


def kept_bytes(records: Iterable[Any]) -> tuple[int, bool]:
    """Return the bytes of the data in the records, and whether records keep nothing else.

    Each buffer counts once; a view counts as the whole buffer, which it keeps alive.  Values in closures
    of a ``custom_gradient``'s rule or a ``recompute_grad``'s function are not found.
    """
    buffers = Buffers()
    return buffers.count(records), buffers.complete


class Buffers:
    """The buffers that records keep alive, each counted once.

    sizes : bytes by id, while the records live.  complete : whether the size of all buffers is known.
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
        """Return the bytes of buffers in records that are not counted yet, by the id of the buffer."""
        found: dict[int, int] = {}
        lists: set[int] = set()
        waiting = list(records)
        while waiting:
            item = waiting.pop()
            if isinstance(item, SMALL) or id(item) in lists:
                continue
            if isinstance(item, list):  # a list may contain itself
                lists.add(id(item))
            if hasattr(item, "kept_arrays"):  # a call of a user's function
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
    """Return the parts of an item of a record; None for data."""
    if isinstance(item, tuple | list):
        return item
    if isinstance(item, Packed):
        return (item.data,)
    if isinstance(item, Array):  # the result of a user's ``pack``
        return (item._data,)
    if type(item) is Batched:
        return item._data, item.diagonal  # ``data`` would make the diagonal dense
    found: Sequence[Any] | None = getattr(item, "kept_arrays", None)
    return found


def owner_of_memory(data: RawArray) -> Any:
    """Return the array that owns the memory of data: the last ``base`` of NumPy's and CuPy's views."""
    while (base := getattr(data, "base", None)) is not None and type(base) in STORAGES:
        data = base
    return data


def data_bytes(data: Any) -> int | None:
    """Return the bytes of data; None if it is no data of a storage, or its size is not known."""
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
    """Return the bytes of data of any storage; 0 if they are not known."""
    return data.nbytes if type(data) is np.ndarray else data_bytes(data) or 0


def is_large_data(data: RawArray) -> bool:
    """Return True if data is large enough to be freed before its tape."""
    return bytes_or_zero(data) >= LARGE
