"""The Array: a handle on storage plus the name of the value that it holds now.

It knows no op and no tape: operators are attached by ``ops.operators``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ._storage import STORAGES, storage_of

# Bits of Array._state.
KEPT = 1  # a record shares this data: copy before the next write
SCALAR = 2  # a 0-d result of an op, immutable in NumPy: x += 1 makes a new Array
HOT = 4  # written in part since its data was made: small views of it are kept by copy
PINNED = 8  # foreign code may share this data: kept by copy at once
VIEW = 16  # an alias of part of another Array; see _view

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
namespace: list[ModuleType] = []  # the package itself, entered by arraytape/__init__


class Array:
    """An array of the array API standard whose ops are recorded on the active tapes.

    Made by creation functions such as ``asarray`` and by ops, never by calling the class.
    """

    # _tid: the name of the value held now; 0: nobody follows it; -1: a view, whose name and
    # data follow from its root.  Read _tid before _data: a view's data may be stale.
    __slots__ = ("_data", "_state", "_tid", "_view")
    _data: Any
    _state: int
    _tid: int
    _view: View  # set for views only
    __hash__ = None  # type: ignore[assignment]  # == compares elements

    @property
    def dtype(self) -> Any:
        return self._data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return len(self._data.shape)

    @property
    def size(self) -> int:
        count = 1
        for length in self._data.shape:
            count *= length
        return count

    @property
    def device(self) -> Any:
        return storage_of(self._data).device(self._data)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        if api_version is not None and api_version not in VERSIONS:
            raise ValueError(f"unknown array API version {api_version!r}; known: {VERSIONS}")
        return namespace[0]

    def __len__(self) -> int:
        if not self._data.shape:
            raise TypeError("len() of a 0-d Array")
        return self._data.shape[0]  # type: ignore[no-any-return]


class View:
    """How a view Array follows its root: its value is always ``path(current value of root)``.

    root : the handle that owns the data.  path : steps from its data to the view's.
    src : the root data from which the view was cut.  vtid names the view of root value ``seen``.
    """

    __slots__ = ("path", "root", "seen", "src", "vtid")

    def __init__(self, root: Array, path: tuple[Any, ...], src: Any) -> None:
        self.root = root
        self.path = path
        self.src = src
        self.seen = 0
        self.vtid = 0


def wrap(data: Any, tid: int = 0, state: int = 0) -> Array:
    """An Array around raw data."""
    array = Array()
    array._data = data
    array._tid = tid
    array._state = state
    return array


def as_data(result: Any, kind: type) -> Any:
    """An op's raw result as data: NumPy returns a scalar where the standard has a 0-d array."""
    return STORAGES[kind].asarray(result, None, None, None)
