"""``BatchedStorage``, the storage of the data that vmap and Jacobians compute with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._util.array_types import Index, RawArray, RawOperand
from ..._util.blocks import Setting
from ..storage import (
    CHECKED_INDICES,
    EVERYWHERE,
    HERE,
    STORAGES,
    Storage,
    any_has_nan,
    storage_at,
    storage_of,
)
from .batched_data import Batched, aligned, axis_ids_of, check_open, refusal
from .batched_namespace import BatchedNamespace

if TYPE_CHECKING:
    import numpy.typing as npt


class BatchedStorage(Storage):
    """The adapter for batched data, which holds an array for each example of a vmap in one raw array.

    Its methods call those of the storage (the adapter of NumPy or CuPy) of this raw array.
    """

    name, kind, mixed, many = "batched", Batched, 2, True

    def __init__(self) -> None:
        self.xp = BatchedNamespace()

    def function(self, name: str) -> Callable[..., Any]:
        found = EVERYWHERE.get(name) or self.xp.find(name)

        def checked_function(*values: Any, **keywords: Any) -> Any:
            check_open(axis_ids_of((*values, *keywords.values())))
            with self.at(*values):
                return found(*values, **keywords)

        return checked_function

    def beneath(self, data: Any) -> Storage:
        return storage_of(data.sample).beneath(data.sample)

    def devices(self) -> tuple[Any, ...]:
        return ()

    def takes(self, device: Hashable) -> bool:
        return False

    def device(self, data: Any) -> Any:
        return storage_of(data.sample).device(data.sample)

    def on(self, device: Hashable) -> Any:
        return storage_at(device).on(device)

    def moved(self, data: Batched, device: Hashable) -> Any:
        raise refusal("a move to another device", data)

    def at(self, *data: Any) -> AbstractContextManager[Any]:
        given = [d for x in data for d in (x if type(x) in (list, tuple) else (x,))]
        inner = [d.sample if type(d) is Batched else d for d in given]
        first = next((d for d in inner if type(d) in STORAGES), None)
        return HERE if first is None else storage_of(first).at(*inner)

    def elementwise(self, functions: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
        def elementwise_call(*values: Any, **keywords: Any) -> Any:
            operands, axis_ids = aligned(values)
            check_open(axis_ids)
            kind = next(type(v.sample) for v in values if type(v) is Batched)
            with self.at(*values):
                return Batched(functions[kind](*operands, **keywords), axis_ids)

        return elementwise_call

    def create(self, name: str, device: Hashable, *arguments: Any, **keywords: Any) -> Any:
        return self.xp.find(name)(*arguments, device=device, **keywords)

    def asarray(
        self, value: Any, dtype: npt.DTypeLike | None, device: Hashable, copy: bool | None
    ) -> Any:
        return self.xp.asarray(value, dtype=dtype, device=device, copy=copy)

    def to_dlpack(self, data: Batched, **options: Any) -> Any:
        raise refusal("dlpack", data)

    def copy(self, data: Any) -> Any:
        return Batched(storage_of(data.data).copy(data.data), data.axis_ids)

    def contiguous(self, data: Any) -> Any:
        return Batched(storage_of(data.data).contiguous(data.data), data.axis_ids)

    def order(self, data: Any) -> str:
        if 0 in data.hidden:
            return "C"
        example = data.data[(*(0,) * len(data.axis_ids), ...)]  # all examples have the same layout
        return storage_of(example).order(example)

    def laid_out(self, data: RawArray, like: RawArray | Batched) -> Any:
        if not (type(data) is type(like) is Batched and data.axis_ids == like.axis_ids):
            return data
        laid = storage_of(data.data).laid_out(data.data, like.data)
        return data if laid is data.data else Batched(laid, data.axis_ids)

    def host(self, data: Any) -> np.ndarray[Any, Any]:
        raise refusal("a look at the values", data)

    def first_numbers(self, data: Any, count: int) -> np.ndarray[Any, Any]:
        return storage_of(data.data).first_numbers(data.data, count)

    def in_place(self, data: Any) -> bool:
        return storage_of(data.sample).in_place(data.sample)

    def put(self, data: RawArray, key: Index, value: RawOperand) -> Any:
        return self.xp.put(data, key, value)

    def shares(self, part: Any, whole: RawArray) -> bool:
        a, b = (d.data if type(d) is Batched else d for d in (part, whole))
        return storage_of(a).shares(a, b)

    def owns(self, data: Any) -> bool:
        return data._data is None or storage_of(data._data).owns(data._data)

    def writeable(self, data: Any) -> bool:
        return storage_of(data.data).writeable(data.data)

    def key(self, key: Any, data: Any) -> Any:
        sample = data.sample if type(data) is Batched else data
        storage = storage_of(sample)
        if not CHECKED_INDICES.get():
            if type(key) is tuple:
                return tuple([self.key(part, data) for part in key])
            return key if type(key) is Batched else storage.key(key, sample)
        with Setting(CHECKED_INDICES, False):  # a part does not tell to which axis of x it belongs
            key = self.key(key, data)
        if Batched not in map(type, key if type(key) is tuple else (key,)):
            storage.check_indices(
                key, data.shape
            )  # other keys are checked by ``indexing.check_key``
        return key

    def unless_none(self, mask: Any) -> Any:
        data = mask.data if type(mask) is Batched else mask
        return None if storage_of(data).unless_none(data) is None else mask

    def has_nan(self, data: Batched) -> bool:
        return storage_of(data.sample).has_nan(data.sample)

    def any_nan(self, parts: Sequence[Batched]) -> bool:
        return any_has_nan([data.sample for data in parts])


BATCHED = BatchedStorage()
