"""CuPy's arrays as a storage: imported when a CUDA device is named, or CuPy's data met, first.

Devices are called "cuda:0", "cuda:1"...; "cuda" and CuPy's own Device objects are understood too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ._standard import Standard
from ._storage import ON_DEMAND, Storage


class CuPyNamespace(Standard):
    """The raw namespace of CuPy's arrays."""

    def add_at(self, x: Any, key: Any, value: Any) -> None:
        import cupyx

        cupyx.scatter_add(x, key, value)


class CuPyStorage(Storage):
    """CuPy's arrays on the GPUs of CUDA."""

    name = "cupy"
    ordered_writes = False  # threads write in any order
    dlpack_types = (2, 13)  # CUDA's and managed memory

    def __init__(self) -> None:
        import array_api_compat.cupy as compat
        import cupy

        self.cupy = cupy
        self.kind = cupy.ndarray
        self.xp = CuPyNamespace(compat)

    def devices(self) -> tuple[Any, ...]:
        try:
            count = self.cupy.cuda.runtime.getDeviceCount()
        except self.cupy.cuda.runtime.CUDARuntimeError:  # no driver, or no GPU
            count = 0
        return tuple(f"cuda:{i}" for i in range(count))

    def device(self, data: Any) -> Any:
        return f"cuda:{data.device.id}"

    def on(self, device: Any) -> Any:
        if device is None or isinstance(device, self.cupy.cuda.Device):
            return device
        return self.cupy.cuda.Device(int(str(device).partition(":")[2] or 0))

    def takes(self, device: Any) -> bool:
        if isinstance(device, self.cupy.cuda.Device):
            device = f"cuda:{device.id}"
        return ("cuda:0" if device == "cuda" else device) in self.devices()

    def moved(self, data: Any, device: Any) -> Any:
        with self.on(device):
            return self.cupy.array(data, copy=True)

    def copy(self, data: Any) -> Any:
        with data.device:
            return data.copy(order="K")

    def laid_out(self, data: Any, like: Any) -> Any:
        if data.strides == like.strides:
            return data
        copy = self.cupy.empty_like(like, dtype=data.dtype)
        copy[...] = data
        return copy

    def host(self, data: Any) -> np.ndarray[Any, Any]:
        return self.cupy.asnumpy(data)  # type: ignore[no-any-return]

    def shares(self, part: Any, whole: Any) -> bool:
        return bool(self.cupy.may_share_memory(part, whole))

    def owns(self, data: Any) -> bool:
        return type(data) is self.cupy.ndarray and data.base is None


@functools.cache
def storage() -> CuPyStorage:
    """The one CuPy storage; ImportError that says what to install when there is no CuPy."""
    try:
        return CuPyStorage()
    except ImportError as error:
        raise ImportError(
            f"CuPy cannot be imported ({error}); pip install 'arraytape[cupy12]' for CUDA 12, "
            "'arraytape[cupy13]' for CUDA 13"
        ) from error


ON_DEMAND.update(cupy=storage, cuda=storage)
