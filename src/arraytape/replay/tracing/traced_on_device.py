"""Traced data on a device: its values are CuPy's arrays, and its calls are CuPy's.

``enter_device_data`` registers the types of such data, so that functions of CuPy's data are traced.  A
trace may have data on the host and on one device, with copies from the host to the device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._storage.storage import MAKING, Storage, enter, makes_a_view, storage_for
from ..._util.array_types import Index, RawArray, RawOperand
from ..._util.blocks import Setting
from ..program import put
from ..reach.reasons import Apart
from .traced import (
    ACTIVE,
    TRACED_TYPES,
    Traced,
    call_noted,
    call_unseen,
    guarded_value,
    traced_value,
    traced_values,
)
from .traced_storage import UPLOAD, TracedNamespace, TracedStorage

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..program import Node
    from .trace import Trace


class DeviceNamespace(TracedNamespace):
    """The raw functions of a device's storage, which add their calls to the traced program."""

    def key(self, key: Index, x: RawArray) -> Any:
        return self._traced.key(key, x)

    def inverse_again(self, x: RawArray, singular: RawArray, /) -> Any:
        return call_noted("inverse_again", self._base.inverse_again, x, singular)

    def cofactors(self, x: RawArray, /) -> Any:
        return call_noted("cofactors", self._base.cofactors, x)

    def log_sum_exp(self, x: RawArray, /, **options: Any) -> Any:
        return call_noted("log_sum_exp", self._base.log_sum_exp, x, **options)

    def window_correlation(self, x1: RawArray, x2: RawArray, /, *options: Any, **named: Any) -> Any:
        return call_noted(
            "window_correlation", self._base.window_correlation, x1, x2, *options, **named
        )


class DeviceStorage(TracedStorage):
    """The storage of traced data on a device; its functions record their calls.

    base : the storage of the values themselves, such as CuPy's.
    kind : the type of the traced data, a subclass of ``Traced``.
    """

    def __init__(self, base: Storage, kind: type[Traced]) -> None:
        self.base, self.kind = base, kind
        self.name = f"traced {base.name}"
        self.ordered_writes = base.ordered_writes
        self.xp = DeviceNamespace(base.xp, traced=self)

    def function(self, name: str) -> Callable[..., Any]:
        return Storage.function(self, name)

    def numpys_value(
        self, function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> Any:
        return None

    # --- devices ----------------------------------------------------------------------------------
    def device(self, data: RawArray) -> Any:
        return self.base.device(traced_value(data))

    def moved(self, data: RawArray, device: Hashable) -> Any:
        return call_noted("moved", self.base.moved, data, device)

    # --- new data and copies ----------------------------------------------------------------------
    def create(self, name: str, device: Hashable, *arguments: Any, **keywords: Any) -> Any:
        self.check_current(device)
        return call_noted(name, attrgetter(name)(self.base.xp), *arguments, **keywords)

    def check_current(self, device: Hashable) -> None:
        """Refuse to replay a call that makes data on another device than CuPy's current device."""
        trace = ACTIVE.get()
        given = None if device is None else self.base.on(device)
        if trace is not None and given is not None and given != type(given)():
            trace.spoil("it makes an Array on a device that is not CuPy's current device")

    def asarray(
        self, value: Any, dtype: npt.DTypeLike | None, device: Hashable, copy: bool | None
    ) -> Any:
        """Return ``value`` as traced data on the device, whose calls are recorded.

        Traced data of the host is copied to the device by a call of the program.  Other data becomes a
        constant on the device.
        """
        trace = ACTIVE.get()
        if trace is None:
            return self.base.asarray(traced_values(value), dtype, device, copy)
        self.check_current(device)
        if type(value) is self.kind:
            if dtype is None or value.dtype == dtype:
                return value
            return call_noted("astype", self.base.xp.astype, value, dtype)
        if type(value) is Traced:
            return self.asarray(
                call_noted(UPLOAD, self.base.moved, value, device), dtype, None, None
            )
        if type(value) is self.base.kind:
            return self.asarray(trace.traced(trace.memory(value), value), dtype, None, copy)
        with Setting(MAKING, None):
            made = call_unseen(self.base.asarray, traced_values(value), dtype, device, True)
        if type(value) is np.ndarray:  # a replay compares the user's ndarray with a copy
            trace.users_arrays.append((value, value.copy(order="K")))
        return trace.traced(trace.constant(made), made)

    def copy(self, data: RawArray) -> Any:
        value = traced_value(data)
        if self.base.writeable(value) and self.base.order(value):
            return data  # no copy is needed, because nothing writes to traced data
        return call_noted("copied", self.base.copy, data)

    def contiguous(self, data: RawArray) -> Any:
        value = traced_value(data)
        if self.base.writeable(value) and "C" in self.base.order(value):
            return data
        return call_noted("contiguous", self.base.contiguous, data)

    def laid_out(self, data: RawArray, like: Any) -> Any:
        value, pattern = traced_value(data), traced_value(like)
        if value.strides == pattern.strides:
            return data
        return call_noted("laid_out", self.base.laid_out, data, like)

    def arranged(self, data: RawArray, like: Any, rank: int) -> Any:
        return call_noted("arranged", self.base.arranged, data, like, rank)

    def host(self, data: RawArray) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = guarded_value(data)
        return found if type(found) is np.ndarray else self.base.host(found)

    # --- reads, writes and checks of memory -------------------------------------------------------
    def put(self, data: RawArray, key: Index, value: RawOperand) -> Any:
        return call_noted("put", put, data, self.key(key, data), value)

    def add_at(self, data: RawArray, key: Index, value: RawOperand) -> Any:
        if makes_a_view(key):
            part = call_noted("getitem", self.base.function("getitem"), data, key)
            return self.put(data, key, call_noted("add", self.base.function("add"), part, value))
        return call_noted(
            "add_at", partial(added_on_device, self.base), data, self.key(key, data), value
        )

    def shares(self, part: RawArray, whole: RawArray) -> bool:
        return self.base.shares(traced_value(part), traced_value(whole))

    def key(self, key: Index, data: RawArray) -> Any:
        if type(key) is tuple:
            return tuple([self.key(part, data) for part in key])
        return self.asarray(key, None, None, None) if type(key) in (np.ndarray, Traced) else key

    def unless_none(self, mask: RawArray) -> Any:
        return mask


def added_on_device(storage: Storage, x: RawArray, key: Index, value: RawArray) -> Any:
    """Return a copy of x after ``x[key] += value``; an index that occurs twice in ``key`` adds twice."""
    return storage.add_at(storage.copy(x), key, value)


def device_state() -> Any:
    """Return CuPy's error settings; a traced call that changes them is not replayed.

    Calls that raise an error because of the settings cannot be in a graph.
    """
    cupyx: Any = sys.modules["cupyx"]
    return cupyx.geterr()


def enter_device_data() -> None:
    """Register CuPy's arrays as data that traces follow, if CuPy was imported and has a device.

    Raise Apart if the user's code captures a graph now: the host must not wait for values then, as a
    recording does.  ``Function`` calls this before each search for a plan, because CuPy may be imported
    at any time.
    """
    cupy: Any = sys.modules.get("cupy")
    kind = getattr(cupy, "ndarray", None) if "cupyx" in sys.modules else None
    if kind in TRACED_TYPES and cupy.cuda.get_current_stream().is_capturing():
        raise Apart("CuPy captures the current stream")
    if kind is None or kind in TRACED_TYPES:
        return
    base = storage_for(kind)
    if base is None or not base.devices():
        return

    class DeviceTraced(Traced):
        """Traced data whose value is on a device: a stand-in for an array that records calls."""

        __slots__ = ()

        def __init__(self, trace: Trace, node: Node, value: Any) -> None:
            super().__init__(trace, node, value)
            state = device_state()
            trace.device_state = state if trace.device_state is None else trace.device_state
            if state != trace.device_state:
                trace.spoil("it sets cupyx.errstate")

        device: Any = property(attrgetter("value.device"))

        @property
        def mT(self) -> Any:
            return storage.xp.matrix_transpose(self)

        def __getitem__(self, key: Index) -> Any:
            data: Any = self
            return storage.xp.getitem(data, storage.key(key, data))

        def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Any:
            raise TypeError("implicit conversion of data on a device to a NumPy array")

    DeviceTraced.base = base
    storage = DeviceStorage(base, DeviceTraced)
    enter(storage)
    TRACED_TYPES[kind] = DeviceTraced
