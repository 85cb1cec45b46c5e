"""``DispatchTable``: for one op, the function that computes it for each type of raw data.

The type of an op's first operand, such as ``numpy.ndarray``, selects the function.
"""

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
    """Return a Python number as 0-d raw data on the default device."""
    return storage_at(None).asarray(value, None, DEFAULT[0], None)


class Element(NamedTuple):
    """A 0-d result on another library's data, for which NumPy would return an immutable scalar.

    An Array of an ``Element`` is immutable, too: ``x += 1`` makes a new Array.

    data : the 0-d raw data.
    """

    data: Any


def immutable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``function`` so that 0-d results become ``Element``, which makes their Arrays immutable."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        return Element(result) if type(result) in STORAGES and not result.shape else result

    return call


def as_data(result: Any, kind: type) -> Any:
    """Convert an op's result, a NumPy scalar or an ``Element``, to 0-d raw data for an Array.

    kind : the type of the op's first operand, whose storage gets the data.
    """
    if type(result) is Element:
        return result.data
    storage = STORAGES.get(kind) or STORAGES[type(result)]  # kind may be a type of Python number
    return storage.asarray(result, None, None, None)


class DispatchTable(dict[type, Callable[..., Any]]):
    """A dict from the type of an op's first operand, such as numpy.ndarray, to the function for it.

    An entry is made when it is first read, as for cupy.ndarray.  name : the name of the op.
    """

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
        """Call the op with a Python number as first operand; compute on the default device."""
        data = number(value)
        result = self[type(data)](data, *arguments, **keywords)
        return np.asarray(result) if isinstance(result, np.generic) else result
