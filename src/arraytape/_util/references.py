"""Counts of references to objects, by which a buffer, a record or a recorder is known to be unused."""

from __future__ import annotations

from sys import getrefcount
from typing import Any


def references_to_item(container: Any, key: Any) -> int:
    """Return sys.getrefcount of ``container[key]``.

    The count includes references of this call, as many as Python's version makes: compare it with
    ALONE, the count of an object to which only a container refers.
    """
    return getrefcount(container[key])


ALONE = references_to_item([object()], 0)
