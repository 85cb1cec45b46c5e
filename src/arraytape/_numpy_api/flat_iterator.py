"""The iterator ``x.flat`` over the elements of an Array, whose reads and writes tapes record."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import current, in_order
from .._util.array_types import Index
from ..ops.creation_functions import copied
from ..ops.manipulation_functions import reshape
from ..ops.writing import check_writeable, setitem
from .numpy_arguments import ArrayLike, DType, arrays_like_first, host_values


class FlatIterator:
    """An iterator over the elements of an Array in C order, like ``numpy.flatiter``.

    A read by index or slice returns a recorded copy of elements.  A write changes the Array.

    Attributes
    ----------
    base : Array
        The Array.
    coords : tuple[int, ...]
        The index in base of the next element.
    index : int
        The number of elements that the iteration has returned so far.
    """

    __hash__ = None  # type: ignore[assignment]  # since == compares elements

    def __init__(self, base: Array) -> None:
        self.base, self.index = base, 0

    def flat_view(self) -> Array:
        """Return the elements of base as a 1-D Array, a view if the layout allows one, else a copy."""
        return reshape(self.base, (-1,))

    @property
    def coords(self) -> tuple[int, ...]:
        """Return the index in base of the next element."""
        return tuple(int(i) for i in np.unravel_index(self.index, self.base.shape))

    def copy(self) -> Array:
        """Copy the elements.

        Returns
        -------
        Array
            A recorded copy with one dimension.
        """
        return in_order(copied(self.flat_view()), "C")

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Array]:
        return self

    def __next__(self) -> Array:
        if self.index >= self.base.size:
            raise StopIteration
        self.index += 1
        return self[self.index - 1]

    def __getitem__(self, key: Index) -> Array:
        found = self.flat_view()[key]
        return found if not found.ndim else in_order(found, "C")

    def __setitem__(self, key: Index, value: ArrayLike) -> None:
        """Write elements; if there are fewer values than elements, repeat the values, as NumPy does."""
        check_writeable(self.base, current(self.base)[1])
        key = host_values(key) if isinstance(key, Array) else key
        numbers: Any = np.arange(self.base.size)  # indexed so that NumPy interprets the key
        places = numbers[key]
        value = reshape(arrays_like_first(self.base, value)[1], (-1,))
        if not value.size or not places.size:
            return
        if places.ndim:
            value = value[asarray_like(value, np.arange(places.size) % value.size)]
            value = reshape(value, places.shape)
        else:
            value = value[0]
        if self.base.ndim:
            setitem(self.base, np.unravel_index(places, self.base.shape), value)
        elif places.size:
            setitem(self.base, ..., value[-1] if value.ndim else value)

    # NumPy's functions and operators run on a recorded copy of the elements.
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, /, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*[elements_of(x) for x in inputs], **options)

    def __array_function__(
        self, function: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        named = {name: elements_of(x) for name, x in kwargs.items()}
        return function(*[elements_of(x) for x in args], **named)

    def __array__(self, dtype: DType = None, *, copy: bool | None = None) -> Any:
        return np.asarray(self.copy(), dtype=dtype)

    def __repr__(self) -> str:
        return f"<FlatIterator over {self.base!r}>"


def elements_of(value: Any) -> Any:
    """Replace each FlatIterator in nested lists and tuples by an Array of its elements."""
    if isinstance(value, list | tuple):
        return type(value)(elements_of(part) for part in value)
    return value.copy() if isinstance(value, FlatIterator) else value


def comparison(compare: Callable[[Any, Any], Any]) -> Callable[[FlatIterator, Any], Any]:
    return lambda x, other: compare(x.copy(), elements_of(other))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(FlatIterator, f"__{_name}__", comparison(getattr(operator, _name)))
