"""What a tape says of itself: its state, how much it recorded and keeps, what it watches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._record.stack import recorders
from .._storage.batched.data import Batched
from .._storage.storage import STORAGES
from .packing import Packed

if TYPE_CHECKING:
    from .recording import Recording

LARGE = 2**18  # bytes of an array that is worth letting go before its tape
# What a record holds beside data: it takes no memory to speak of.
SMALL = (int, float, complex, str, slice, type, type(None), type(Ellipsis), np.dtype, np.generic)


def summary(recording: Recording | None) -> str:
    """One line.  It reads what is there and calls no op, so a tape may record meanwhile."""
    if recording is None:
        return "not initialized"
    state = state_of(recording) + (", persistent" if recording.persistent else "")
    if recording.used_up or not recording.entered:
        return state
    records = list(recording.records)  # other threads may record
    size, complete = kept_bytes(records)
    kept = f"{counted(len(records), 'record')} keeping {'' if complete else 'at least '}{as_text(size)}"
    variables = len(recording.variables)
    numbers = {"Array": len(recording.watched) - variables, "Variable": variables}
    watched = " and ".join(counted(n, what) for what, n in numbers.items() if n)
    return f"{state}; {kept if records else 'no records'}; watches {watched or 'nothing'}"


def state_of(recording: Recording) -> str:
    """Whether the tape records, as seen from the running thread."""
    if recording.used_up:
        return "used up"
    if not recording.entered:
        return "not entered"
    if not recording.active:
        return "stopped"
    stack = recorders()
    if any(recorder is recording for recorder in stack):
        return "recording"
    if any(getattr(recorder, "paused", None) is recording for recorder in stack):
        return "paused by stop_recording"
    return "recording elsewhere"  # in another thread or task


def kept_bytes(records: Iterable[Any]) -> tuple[int, bool]:
    """The bytes of the data in the records, and whether that is all they keep.

    Each buffer counts once; a view counts as the whole buffer, which it keeps alive.  What the rule of
    a ``custom_gradient`` and the function of a ``recompute_grad`` close over cannot be seen.
    """
    buffers = Buffers()
    buffers.count(buffers.new_in(records))
    return buffers.total, buffers.complete


class Buffers:
    """The buffers that records keep alive, each counted once: by id, which holds while they are kept.

    complete : whether all that was met said its size.
    """

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.total, self.complete = 0, True

    def count(self, found: dict[int, int]) -> None:
        """Count what ``new_in`` found."""
        self.sizes |= found
        self.total += sum(found.values())

    def new_in(self, records: Iterable[Any]) -> dict[int, int]:
        """The bytes of the buffers in records that are not counted yet, by the id of the buffer."""
        found: dict[int, int] = {}
        lists: set[int] = set()
        waiting = list(records)
        while waiting:
            item = waiting.pop()
            if isinstance(item, SMALL) or id(item) in lists:
                continue
            if isinstance(item, list):  # it may hold itself
                lists.add(id(item))
            if hasattr(item, "kept_arrays"):  # a call of a user's function
                self.complete = False
            parts = parts_of(item)
            if parts is not None:
                waiting.extend(parts)
                continue
            whole = whole_of(item)
            size = size_of(whole)
            self.complete = self.complete and size is not None
            if id(whole) not in self.sizes:
                found[id(whole)] = size or 0
        return found


def parts_of(item: Any) -> Sequence[Any] | None:
    """What something in a record consists of; None for data."""
    if isinstance(item, tuple | list):
        return item
    if isinstance(item, Packed):
        return (item.data,)
    if isinstance(item, Array):  # what a user's function packed
        return (item._data,)
    if type(item) is Batched:
        return item._data, item.diagonal  # ``data`` would make the diagonal dense
    found: Sequence[Any] | None = getattr(item, "kept_arrays", None)
    return found


def whole_of(data: Any) -> Any:
    """The array that owns the memory of data: NumPy's and CuPy's views name it as ``base``."""
    while (base := getattr(data, "base", None)) is not None and type(base) in STORAGES:
        data = base
    return data


def size_of(data: Any) -> int | None:
    """The bytes of data; None for what is no data of a storage, or does not say."""
    if isinstance(data, np.ndarray):
        return data.nbytes
    if type(data) not in STORAGES:
        return None
    try:
        size: int = math.prod(data.shape) * data.dtype.itemsize
    except (AttributeError, TypeError):
        return None
    return size


def is_large(data: Any) -> bool:
    """Whether data is worth letting go before its tape."""
    size = data.nbytes if type(data) is np.ndarray else size_of(data) or 0
    return bool(size >= LARGE)


def as_text(size: int) -> str:
    """``"96 bytes"``, ``"3.1 kB"``, ``"2.0 GB"``."""
    if size < 1000:
        return counted(size, "byte")
    value, units = size / 1000, ["GB", "MB", "kB"]
    unit = units.pop()
    while value >= 999.95 and units:  # 1000.0 in one decimal
        value, unit = value / 1000, units.pop()
    return f"{value:.1f} {unit}"


def counted(count: int, what: str) -> str:
    """``"1 record"``, ``"2 records"``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
