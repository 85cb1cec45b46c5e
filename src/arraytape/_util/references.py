"""Reference counts and weak references, which show whether something else refers to an object."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any
from weakref import ref


def references_to_item(container: Any, key: Any) -> int:
    """Return sys.getrefcount of ``container[key]``, which shows if something else uses the object.

    The count includes references that this call makes, whose number depends on Python's version.  So
    compare the count with ALONE, the count of an object to which only a container refers.
    """
    return getrefcount(container[key])


ALONE = references_to_item([object()], 0)


def weak_reference(thing: Any) -> Callable[[], Any]:
    """Return a weak reference; if the type of ``thing`` allows none, a function that returns None.

    It shows whether an array is still alive, or its ``id()`` may be that of a newer array.
    """
    try:
        return ref(thing)
    except TypeError:
        return lambda: None
