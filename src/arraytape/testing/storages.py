"""Storages that stand in for other hardware and other libraries, to test code against.

``hostile`` behaves like a GPU's or a lazy library's data at its strictest: bool(), float(), len()
and iteration raise, every result is an array, and no NumPy function takes it.  ``strict`` is that over
array_api_strict, which has nothing beyond the standard, and several devices that do not mix.
``frozen`` is ``hostile`` with data that cannot be written to, as JAX's.

>>> import arraytape as xp
>>> with xp.testing.storages.on(xp.testing.storages.hostile()):  # data that raises when it is read
...     xp.testing.check_gradients(lambda x: xp.sum(xp.exp(x)), [xp.asarray([1.0, 2.0])])
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._storage import numpy_namespace
from .._storage.numpy_storage import NUMPY
from .._storage.storage import DEFAULT, Storage, enter
from .._util.array_types import Index
from .._util.blocks import Context
from .._util.errors import entrance
from ._boxed import Boxed, BoxedNamespace, Boxes, Frozen, FrozenNamespace, StrictBoxes

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["frozen", "hostile", "on", "strict"]


def __dir__() -> list[str]:
    return sorted(__all__)


class BoxedStorage(Storage):
    """A storage of boxed data."""

    base: type[Boxed] = Boxed
    namespace: type[BoxedNamespace] = BoxedNamespace

    def __init__(
        self, name: str, boxes: type[Boxes], within: ModuleType, devices: tuple[Any, ...]
    ) -> None:
        self.name = name
        kind = type(f"{name.title().replace('_', '')}Data", (self.base,), {"__slots__": ()})
        self.kind = kind
        self.boxes = kind.boxes = boxes(within, kind)  # type: ignore[attr-defined]
        self.boxes.name = name
        self.xp = self.namespace(self.boxes)
        self._devices = devices

    def devices(self) -> tuple[Any, ...]:
        return self._devices

    def create(self, name: str, device: Hashable, *arguments: Any, **keywords: Any) -> Any:
        device = self._devices[0] if device is None else device
        return super().create(name, device, *arguments, **keywords)

    def asarray(
        self, value: Any, dtype: npt.DTypeLike | None, device: Any, copy: bool | None
    ) -> Any:
        if isinstance(value, Boxed):
            return self.xp.asarray(value, dtype=dtype, copy=copy)
        host = np.asarray(value, dtype=dtype)
        if host.dtype.kind not in "biufc":
            raise TypeError(f"no data of dtype {host.dtype}")
        if copy is False:
            raise ValueError("host data needs a copy")
        device = self._devices[0] if device is None else device
        return self.boxes.from_memory(host.copy(order="K"), device)

    def host(self, data: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = data.memory
        return found

    def shares(self, part: Any, whole: Any) -> bool:
        return np.may_share_memory(part.memory, whole.memory)

    def writeable(self, data: Any) -> bool:
        found: bool = data.memory.flags.writeable
        return found

    def copy(self, data: Any) -> Any:
        return self.boxes.from_memory(data.memory.copy(order="K"), data.device)

    def contiguous(self, data: Any) -> Any:
        return self.boxes.from_memory(data.memory.copy(), data.device)

    def order(self, data: Any) -> str:
        return NUMPY.order(data.memory)

    def laid_out(self, data: Any, like: Any) -> Any:
        if data.memory.strides == like.memory.strides:
            return data
        return self.boxes.from_memory(NUMPY.laid_out(data.memory, like.memory), data.device)


class FrozenStorage(BoxedStorage):
    """A storage of data that cannot be written to."""

    base, namespace = Frozen, FrozenNamespace
    copy = Storage.copy  # data is its own copy

    def in_place(self, data: Any) -> bool:
        return False

    def put(self, data: Any, key: Index, value: Any) -> Any:
        if isinstance(value, Boxed) and value.device != data.device:
            raise ValueError(f"cannot write data on {value.device} into data on {data.device}")
        memory = data.memory.copy(order="K")
        memory[self.boxes.memory_key(data, key)] = getattr(value, "memory", value)
        return self.boxes.from_memory(memory, data.device)

    def writeable(self, data: Any) -> bool:
        return True


@cache
def hostile() -> BoxedStorage:
    """Return the storage of NumPy's functions on data that raises whenever a value is read.

    Returns
    -------
    Storage
        The storage, whose device is "hostile:0".

    Examples
    --------
    >>> import arraytape as xp
    >>> with xp.testing.storages.on(xp.testing.storages.hostile()):
    ...     x = xp.asarray([1.0, 2.0])
    ...     y = xp.exp(x)  # the op computes without reading a value in Python
    >>> y.device
    'hostile:0'
    >>> print(y)  # a copy on the host, as of CUDA's data
    [2.71828183 7.3890561 ]
    """
    storage = BoxedStorage("hostile", Boxes, numpy_namespace, ("hostile:0",))
    enter(storage)
    return storage


@cache
def frozen() -> BoxedStorage:
    """Return the storage of data like that of ``hostile`` which cannot be written to, either.

    Returns
    -------
    Storage
        The storage, whose device is "frozen:0".

    Examples
    --------
    >>> import arraytape as xp
    >>> with xp.testing.storages.on(xp.testing.storages.frozen()):
    ...     x = xp.asarray([1.0, 2.0])
    ...     x[0] = 5.0  # the handle moves on; the data under it cannot be written to
    >>> print(x)
    [5. 2.]
    """
    storage = FrozenStorage("frozen", Boxes, numpy_namespace, ("frozen:0",))
    enter(storage)
    return storage


@cache
def strict() -> BoxedStorage:
    """Return the storage of array_api_strict's functions, on three devices.

    Returns
    -------
    Storage
        The storage.

    Raises
    ------
    ImportError
        When the package array-api-strict is not installed.

    Examples
    --------
    >>> import arraytape as xp
    >>> with xp.testing.storages.on(xp.testing.storages.strict()):
    ...     x = xp.asarray([1.0, 2.0])
    ...     y = xp.sum(x)
    >>> x.device
    array_api_strict.Device('CPU_DEVICE')
    """
    import array_api_strict

    devices = tuple(array_api_strict.Device(n) for n in ("CPU_DEVICE", "device1", "device2"))
    storage = BoxedStorage("array_api_strict", StrictBoxes, array_api_strict, devices)
    enter(storage)
    return storage


class DefaultDevice(Context):
    """The context manager of ``on``: a block with a default device."""

    def __init__(self, device: Hashable) -> None:
        self.device = device

    def _begin(self) -> None:
        self.before = [*DEFAULT]
        DEFAULT[0] = self.device

    def _end(self) -> None:
        DEFAULT[:] = getattr(self, "before", DEFAULT)


@entrance
def on(storage: Storage, device: Hashable | None = None) -> DefaultDevice:
    """Open a block in which creation functions that are given no device make data of this storage.

    Parameters
    ----------
    storage : Storage
        The storage.
    device : str | None, default: None
        One of its devices; None: the first one.

    Returns
    -------
    context manager
        Gives nothing.

    Examples
    --------
    >>> import arraytape as xp
    >>> storage = xp.testing.storages.hostile()
    >>> with xp.testing.storages.on(storage):
    ...     x = xp.zeros(3)
    >>> x.device
    'hostile:0'
    """
    return DefaultDevice(storage.devices()[0] if device is None else device)
