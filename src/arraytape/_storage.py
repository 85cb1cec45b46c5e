"""Storage: what an Array needs to know about one kind of data.

One ``Storage`` object serves one type of raw data (``numpy.ndarray``, ...) and is found by
``type(data)``.  Its ``xp`` is the raw namespace: the standard's functions on raw data.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from . import _numpy

COMPLEX = "complex floating"


class Storage:
    """NumPy's storage, and the protocol of every other: override what differs.

    ``kind`` is the type of the data, ``name`` how messages call it, ``xp`` its raw namespace.
    """

    name = "numpy"
    kind: type = np.ndarray
    xp: ModuleType = _numpy

    def function(self, name: str) -> Callable[..., Any]:
        """The raw function behind an op, by its dotted name ("exp", "linalg.svd")."""
        found: Any = self.xp
        for part in name.split("."):
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]

    def ufunc(self, name: str) -> tuple[Any, str]:
        """NumPy's own function for an op, and for which data it will do: "" for none."""
        if name in _numpy.FLOAT64:
            return _numpy.FLOAT64[name], "float64"
        found = vars(_numpy).get(name) or getattr(np, name, None)
        return (found, "ufunc") if isinstance(found, np.ufunc) else (None, "")

    def asarray(self, value: Any, dtype: Any, device: Any, copy: bool | None) -> Any:
        """``value`` as this storage's data.  ``copy=True`` promises memory of its own."""
        self.check_device(device)
        return np.array(value, dtype=dtype, copy=copy)

    def check_device(self, device: Any) -> None:
        """ValueError when ``device`` is not one of this storage's."""
        if device is not None and device != "cpu":
            raise ValueError(f"unknown device {device!r}: NumPy data lives on 'cpu'")

    def device(self, data: Any) -> Any:
        return "cpu"

    def host(self, data: Any) -> np.ndarray[Any, Any]:
        """The data as a NumPy array, sharing memory where it can."""
        return data  # type: ignore[no-any-return]

    def copy(self, data: Any) -> Any:
        """The same values in memory of their own; strides keep their order, so views stay views."""
        return data.copy(order="K")

    def unless_none(self, mask: Any) -> Any:
        """A mask to keep, or None when nothing in it is set; the mask where a look is not free."""
        return mask if mask.any() else None

    def laid_out(self, data: Any, like: Any) -> Any:
        """A copy of data in the memory layout of another array of its shape."""
        copy = np.empty_like(like, dtype=data.dtype)
        copy[...] = data
        return copy

    def shares(self, part: Any, whole: Any) -> bool:
        """Whether a write to one may be seen through the other."""
        return np.may_share_memory(part, whole)

    def has_nan(self, data: Any) -> bool:
        """Whether any element is NaN: one look at floating-point data."""
        square = np.vdot(data, data)  # squares are not negative, so only a NaN makes one
        return bool(square != square)

    def writeable(self, data: Any) -> bool:
        return data.flags.writeable  # type: ignore[no-any-return]

    def add_at(self, data: Any, key: Any, value: Any) -> None:
        """``data[key] += value`` in place, where repeated integers in ``key`` add up."""
        np.add.at(data, key, value)


NUMPY = Storage()
STORAGES: dict[type, Storage] = {np.ndarray: NUMPY}


def storage_of(data: Any) -> Storage:
    """The storage for this raw data; TypeError when no storage holds its type."""
    try:
        return STORAGES[type(data)]
    except KeyError:
        known = ", ".join(sorted({storage.name for storage in STORAGES.values()}))
        raise TypeError(
            f"arraytape cannot hold data of type {type(data).__module__}.{type(data).__name__}; "
            f"known storages: {known}. Convert it with asarray first."
        ) from None


class RawFunctions(dict[type, Callable[..., Any]]):
    """type of data -> the raw function of one op, looked up in the storage on first use."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, kind: type) -> Callable[..., Any]:
        storage = STORAGES.get(kind)
        if storage is None:
            raise TypeError(f"no storage holds data of type {kind.__module__}.{kind.__name__}")
        self[kind] = found = storage.function(self.name)
        return found


def is_complex(x: Any) -> bool:
    """Whether x (data, an Array or a scalar) is complex: a fact of its dtype, not of its values."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return isinstance(x, complex)
    kind = getattr(dtype, "kind", None)
    return kind == "c" if kind else bool(storage_of(x).xp.isdtype(dtype, COMPLEX))


def inexact(x: Any) -> bool:
    """Whether values of x's dtype have gradients: real and complex floating point."""
    kind = getattr(x.dtype, "kind", None)
    if kind:
        return kind in "fc"
    return bool(storage_of(x).xp.isdtype(x.dtype, ("real floating", COMPLEX)))
