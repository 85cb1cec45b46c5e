"""Storages that imitate other hardware and other libraries, for tests of code without these.

``hostile`` is stricter than the data of any GPU or lazy library: bool(), float(), len() and iteration
raise, every result is an array, and no NumPy function accepts the data.  ``frozen`` is like
``hostile``, with data that cannot be written to, as JAX's arrays.  ``strict`` is like ``hostile``, with
the functions of array_api_strict, which has nothing beyond the standard, and three devices whose data do
not mix.

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
from .._util.array_types import Index, RawArray, RawOperand
from .._util.blocks import Context
from .._util.errors import entrance
from ._boxed import Boxed, BoxedNamespace, Boxes, Frozen, FrozenNamespace, StrictBoxes

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["frozen", "hostile", "on", "strict"]


def __dir__() -> list[str]:
    return sorted(__all__)


class BoxedStorage(Storage):
    """A storage (kind of data) whose arrays Python code cannot read, as if on another device."""

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
        self, value: Any, dtype: npt.DTypeLike | None, device: Hashable, copy: bool | None
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

    def host(self, data: RawArray) -> np.ndarray[Any, Any]:
        return memory_of(data)

    def shares(self, part: RawArray, whole: RawArray) -> bool:
        return np.may_share_memory(memory_of(part), memory_of(whole))

    def writeable(self, data: RawArray) -> bool:
        return memory_of(data).flags.writeable

    def copy(self, data: RawArray) -> Any:
        return self.boxes.from_memory(memory_of(data).copy(order="K"), data.device)

    def contiguous(self, data: RawArray) -> Any:
        return self.boxes.from_memory(memory_of(data).copy(), data.device)

    def order(self, data: RawArray) -> str:
        return NUMPY.order(memory_of(data))

    def laid_out(self, data: RawArray, like: RawArray) -> Any:
        memory, other = memory_of(data), memory_of(like)
        if memory.strides == other.strides:
            return data
        return self.boxes.from_memory(NUMPY.laid_out(memory, other), data.device)


def memory_of(data: RawArray) -> np.ndarray[Any, Any]:
    assert isinstance(data, Boxed)
    return data.memory


class FrozenStorage(BoxedStorage):
    """A storage (kind of data) of boxed arrays that cannot be written to, as JAX's cannot."""

    base, namespace = Frozen, FrozenNamespace
    copy = Storage.copy  # returns the data itself, since no write can change the data

    def in_place(self, data: RawArray) -> bool:
        return False

    def put(self, data: RawArray, key: Index, value: RawOperand) -> Any:
        assert isinstance(data, Boxed)
        memory = data.memory.copy(order="K")
        data.write_into(memory, key, value)
        return self.boxes.from_memory(memory, data.device)

    def writeable(self, data: RawArray) -> bool:
        return True


@cache
def hostile() -> BoxedStorage:
    """Return a storage that computes with NumPy, on data that raises when Python reads a value.

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
    >>> print(y)  # print copies the data to the host, as for CUDA's data
    [2.71828183 7.3890561 ]
    """
    storage = BoxedStorage("hostile", Boxes, numpy_namespace, ("hostile:0",))
    enter(storage)
    return storage


@cache
def frozen() -> BoxedStorage:
    """Return a storage like ``hostile``, whose data cannot be written to.

    Returns
    -------
    Storage
        The storage, whose device is "frozen:0".

    Examples
    --------
    >>> import arraytape as xp
    >>> with xp.testing.storages.on(xp.testing.storages.frozen()):
    ...     x = xp.asarray([1.0, 2.0])
    ...     x[0] = 5.0  # the Array gets new data, since its data cannot be written to
    >>> print(x)
    [5. 2.]
    """
    storage = FrozenStorage("frozen", Boxes, numpy_namespace, ("frozen:0",))
    enter(storage)
    return storage


@cache
def strict() -> BoxedStorage:
    """Return a storage that computes with array_api_strict, on three devices.

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
    """The context manager that ``on`` returns: a block with a default device."""

    def __init__(self, device: Hashable) -> None:
        self.device = device

    def _begin(self) -> None:
        self.before = [*DEFAULT]
        DEFAULT[0] = self.device

    def _end(self) -> None:
        DEFAULT[:] = getattr(self, "before", DEFAULT)


@entrance
def on(storage: Storage, device: Hashable | None = None) -> DefaultDevice:
    """Open a block in which creation functions without a ``device`` use this storage.

    Parameters
    ----------
    storage : Storage
        The storage.
    device : str | None, default: None
        A device of the storage.  None selects the first device of the storage.

    Returns
    -------
    context manager
        A context manager without a value.

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
