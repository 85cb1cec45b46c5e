"""Reference counts, which show that nothing but a container still refers to an object."""

from __future__ import annotations

from sys import getrefcount
from typing import Any


def references_to_item(container: Any, key: Any) -> int:
    """Return sys.getrefcount of ``container[key]``, which shows if something else uses the object.

    The count includes references that this call makes, whose number depends on Python's version.  So
    compare the count with ALONE, the count of an object to which only a container refers.
    """
    return getrefcount(container[key])


ALONE = references_to_item([object()], 0)
