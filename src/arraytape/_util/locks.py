"""Locks that a forked child can take: it has none of the threads that held them."""

from __future__ import annotations

import os
from threading import Lock, RLock
from typing import Any
from weakref import WeakSet

LOCKS: WeakSet[Any] = WeakSet()  # all that arraytape holds


def lock() -> Any:
    """A lock for steps that call no code of the user's."""
    return renewed(Lock())


def reentrant_lock() -> Any:
    """A lock that its thread may take again."""
    return renewed(RLock())


def renewed(made: Any) -> Any:
    """A lock that is free in a forked child, whichever thread held it in the parent."""
    LOCKS.add(made)
    return made


def renew() -> None:
    """Free all locks: the threads that may have held them are not in this process."""
    for made in tuple(LOCKS):
        made._at_fork_reinit()  # as the standard library does with its own locks


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew)
