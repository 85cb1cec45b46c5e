"""``remembered``: a cached property without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class remembered(Generic[T]):
    """A property that is computed at its first read from an object, and then stored in the object.

    ``functools.cached_property`` has a lock before Python 3.12.  If another thread held that lock at a
    fork, no thread of the child could release it.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, owner: Any, cls: type) -> T:
        found = self.compute(owner)
        owner.__dict__[self.name] = found  # read next time: this descriptor has no __set__
        return found
