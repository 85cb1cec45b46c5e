"""The inspection API: what this namespace can do."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from .._util.errors import user_line
from .storage import DEFAULT, devices, discover, storage_at

KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
ALL = KINDS["bool"] + KINDS["numeric"]


class Info:
    """Capabilities, devices and dtypes, as the standard's inspection API names them."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        return DEFAULT[0]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        self._check(device)
        defaults = ("float64", "complex128", "int64", "int64")
        names = ("real floating", "complex floating", "integral", "indexing")
        return {name: np.dtype(default) for name, default in zip(names, defaults, strict=True)}

    def devices(self) -> tuple[Any, ...]:
        if find_spec("cupy"):
            discover(device="cuda")
        return devices()

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """The dtypes by name; ValueError for an unknown kind."""
        self._check(device)
        kinds = (kind,) if isinstance(kind, str) else kind
        unknown = [k for k in kinds or () if k not in KINDS]
        if unknown:
            raise ValueError(
                f"unknown kinds of dtype {unknown}; known: {', '.join(KINDS)} [at {user_line()}]"
            )
        names = ALL if kinds is None else [name for k in kinds for name in KINDS[k]]
        return {name: np.dtype(name) for name in ALL if name in names}

    def _check(self, device: Any) -> None:
        storage_at(device)


def set_default_device(device: Any) -> None:
    """Where creation functions put arrays when they are given no device, from here on.

    So third-party code that names no device runs on a GPU.  ValueError for an unknown device.
    """
    storage_at(device)
    DEFAULT[0] = device


def __array_namespace_info__() -> Info:
    """The inspection API of this namespace."""
    return Info()
