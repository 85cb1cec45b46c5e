"""``remembered``: a cached property without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class remembered(Generic[T]):
    """A property that is computed once for each object.

    Not ``functools.cached_property``: before Python 3.12 that has a lock, which another thread may hold
    at a fork, and then no thread of the child can release it.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, owner: Any, cls: type) -> T:
        found = self.compute(owner)
        owner.__dict__[self.name] = found  # an instance attribute hides this descriptor from now on
        return found
