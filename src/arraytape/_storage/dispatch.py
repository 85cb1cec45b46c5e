"""Raw functions: what the ops compute on the data of each storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._record.op_facts import facts_of
from .._util.array_types import RawOperand
from .numpy_storage import NUMPY
from .storage import DEFAULT, EVERYWHERE, STORAGES, storage_at, storage_for

NUMBERS = frozenset((bool, int, float, complex))


def number(value: RawOperand) -> Any:
    """Return a Python number as 0-d data on the default device."""
    return storage_at(None).asarray(value, None, DEFAULT[0], None)


class Element(NamedTuple):
    """A 0-d result on other storages, in place of NumPy's scalar."""

    data: Any


def immutable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a raw function whose 0-d results are marked: they are not to be written to, as in NumPy."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        return Element(result) if type(result) in STORAGES and not result.shape else result

    return call


def as_data(result: Any, kind: type) -> Any:
    """Return an op's raw result as data: NumPy returns a scalar where the standard has a 0-d array."""
    if type(result) is Element:
        return result.data
    storage = STORAGES.get(kind) or STORAGES[type(result)]  # of a Python number: where it went
    return storage.asarray(result, None, None, None)


class DispatchTable(dict[type, Callable[..., Any]]):
    """type of data -> the raw function of one op, looked up in the storage on first use."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, kind: type) -> Callable[..., Any]:
        if kind in NUMBERS:
            return self.of_number
        storage = storage_for(kind)
        if storage is None:
            raise TypeError(f"no storage holds data of type {kind.__module__}.{kind.__name__}")
        found, name = storage.function(self.name), self.name
        plain = storage is NUMPY or not facts_of(name).scalars or name in EVERYWHERE
        self[kind] = found = found if plain else immutable(found)
        return found

    def of_number(self, value: RawOperand, *arguments: Any, **keywords: Any) -> Any:
        """``xp.sqrt(2.0)``: the number as an array where creation functions make theirs."""
        data = number(value)
        result = self[type(data)](data, *arguments, **keywords)
        return np.asarray(result) if isinstance(result, np.generic) else result
