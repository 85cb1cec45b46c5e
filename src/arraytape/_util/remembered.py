"""A property that is computed once for each object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class remembered(Generic[T]):
    """A property that is computed once for each object.

    ``functools.cached_property`` before Python 3.12 has a lock, which a forked child may find held.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, owner: Any, cls: type) -> T:
        found = self.compute(owner)
        owner.__dict__[self.name] = found  # where it is found before this is asked again
        return found
