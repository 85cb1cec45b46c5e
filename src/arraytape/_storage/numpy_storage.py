"""The storage of NumPy's arrays, which is always registered; its device "cpu" is the first default."""

from __future__ import annotations

from collections.abc import Hashable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._record.op_facts import hull, state_facts
from .._util.array_types import Index, RawArray
from . import numpy_namespace
from .scattering import add_at
from .storage import HOST, MAKING, Storage, admitted, enter

if TYPE_CHECKING:
    import numpy.typing as npt


class NumPyStorage(Storage):
    """The storage of NumPy's arrays, which calls the fastest of NumPy's equivalent functions."""

    name = "numpy"
    kind = np.ndarray
    xp = numpy_namespace
    dlpack_types = (1, 3, 11)  # memory of the CPU, and memory pinned by CUDA and by ROCm

    def ufunc(self, name: str) -> tuple[Any, str]:
        """Return (ufunc, data): the ufunc that compiled ops may call directly for the op ``name``.

        ``data`` is "float64" if the ufunc is right for float64 data alone, and "ufunc" if it is right
        for all data.  Return (None, "") if there is no ufunc.
        """
        if name in numpy_namespace.FLOAT64:
            return numpy_namespace.FLOAT64[name], "float64"
        home, _, name = name.rpartition(".")
        if home == "special":
            found = getattr(numpy_namespace.special, name)
        else:
            found = vars(numpy_namespace).get(name) or getattr(np, name, None)
        return (found, "ufunc") if isinstance(found, np.ufunc) else (None, "")

    def devices(self) -> tuple[Any, ...]:
        return (HOST,)

    def device(self, data: RawArray) -> Any:
        return HOST

    def moved(self, data: np.ndarray[Any, Any], device: Hashable) -> Any:
        return data.copy()

    def create(self, name: str, device: Hashable, *arguments: Any, **keywords: Any) -> Any:
        making = MAKING.get()
        if making is not None:
            return making.create(name, device, *arguments, **keywords)
        return attrgetter(name)(np)(*arguments, **keywords)

    def asarray(
        self, value: Any, dtype: npt.DTypeLike | None, device: Hashable, copy: bool | None
    ) -> Any:
        making = MAKING.get()
        if making is not None:
            return making.asarray(value, dtype, device, copy)
        return admitted(np.array(value, dtype=dtype, copy=copy))

    def from_dlpack(self, x: Any, copy: bool | None) -> Any:
        return admitted(np.from_dlpack(x, copy=copy))

    def copy(self, data: Any) -> Any:
        return data.copy(order="K")

    def contiguous(self, data: Any) -> Any:
        return data.copy()

    def order(self, data: Any) -> str:
        flags = data.flags
        return ("C" if flags.c_contiguous else "") + ("F" if flags.f_contiguous else "")

    def laid_out(self, data: Any, like: Any) -> Any:
        if data.strides == like.strides:
            return data
        copy = np.empty_like(like, dtype=data.dtype)
        if data.strides == copy.strides:  # only gaps between the elements of ``like`` are missing
            return data
        copy[...] = data
        return copy

    def arranged(self, data: RawArray, like: np.ndarray[Any, Any], rank: int) -> Any:
        return arranged(data, order_in_memory(like, rank))

    def host(self, data: Any) -> np.ndarray[Any, Any]:
        return data  # type: ignore[no-any-return]

    def shares(self, part: np.ndarray[Any, Any], whole: RawArray) -> bool:
        return np.may_share_memory(part, whole)

    def owns(self, data: RawArray) -> bool:
        return type(data) is np.ndarray and data.base is None

    def writeable(self, data: Any) -> bool:
        return data.flags.writeable  # type: ignore[no-any-return]

    def key(self, key: Index, data: RawArray) -> Any:
        return key

    def add_at(self, data: RawArray, key: Index, value: Any) -> Any:
        return add_at(data, key, value)

    def unless_none(self, mask: Any) -> Any:
        return mask if np.count_nonzero(mask) else None  # twice as fast as any()

    def counted(self, mask: Any) -> int | None:
        return int(np.count_nonzero(mask))

    def has_nan(self, data: np.ndarray[Any, Any]) -> bool:
        # One pass of BLAS, without a mask in memory.  For real data the sum of squares is NaN only if an
        # element is, since squares are not negative: inf is never added to -inf.
        flat = data.ravel()
        square = flat.dot(flat)
        return bool(square != square)


def order_in_memory(like: np.ndarray[Any, Any], rank: int) -> tuple[int, ...]:
    """Return the last ``rank`` axes of ``like``, numbered from 0, sorted by descending stride.

    A copy with this order of axes in memory can be reshaped without a further copy if ``like`` can.
    """
    steps = like.strides[like.ndim - rank :]
    return tuple(sorted(range(rank), key=lambda axis: -abs(steps[axis])))


@state_facts(
    "arranged", "laid_out", continuous=True, propagates_nan=True, in_order=True, range=hull
)
def arranged(data: RawArray, order: tuple[int, ...]) -> Any:
    """Return a contiguous copy of ``data`` whose last axes have the given order in memory.

    order : the last ``len(order)`` axes, numbered from 0, the one with the largest stride first.
    """
    count = data.ndim - len(order)
    axes = (*range(count), *[count + axis for axis in order])
    made = np.empty([data.shape[axis] for axis in axes], data.dtype)
    copy = made.transpose(sorted(range(data.ndim), key=axes.__getitem__))
    copy[...] = data
    return copy


NUMPY = NumPyStorage()
enter(NUMPY)
