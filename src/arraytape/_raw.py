"""Raw functions: what the ops compute on the data of each storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._storage import EVERYWHERE, NUMPY, STORAGES, storage_for

# Functions whose 0-d results NumPy gives as arrays; others give scalars, which nothing is written into.
ARRAYS = {"cast", "imag", "real", "reshaped", "scattered", "stop_gradient", "where"}


class Element(NamedTuple):
    """A 0-d result on other storages, in place of NumPy's scalar."""

    data: Any


def immutable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A raw function whose 0-d results are marked: they are not to be written to, as in NumPy."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        return Element(result) if type(result) in STORAGES and not result.shape else result

    return call


def as_data(result: Any, kind: type) -> Any:
    """An op's raw result as data: NumPy returns a scalar where the standard has a 0-d array."""
    if type(result) is Element:
        return result.data
    return STORAGES[kind].asarray(result, None, None, None)


class RawFunctions(dict[type, Callable[..., Any]]):
    """type of data -> the raw function of one op, looked up in the storage on first use."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, kind: type) -> Callable[..., Any]:
        storage = storage_for(kind)
        if storage is None:
            raise TypeError(f"no storage holds data of type {kind.__module__}.{kind.__name__}")
        found, name = storage.function(self.name), self.name
        plain = storage is NUMPY or name in ARRAYS or name in EVERYWHERE
        self[kind] = found = found if plain else immutable(found)
        return found
