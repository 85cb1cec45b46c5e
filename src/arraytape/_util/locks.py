"""Locks that become free in a forked child, since the threads that held them do not exist there.

With a GIL, Python switches threads at calls, but not between plain reads and writes of attributes.  So
functions on the hot path that do only a few of these need no lock.  ``in_one_step`` protects such
functions by a lock only in builds without a GIL.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from threading import Condition, Lock, RLock, Semaphore
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

F = TypeVar("F", bound=Callable[..., Any])
FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()
LOCK_TYPES = (type(Lock()), type(RLock()))
HAVE_LOCKS = (Condition, Semaphore)  # classes of the standard library whose instances hold a lock
LOCKS: WeakSet[Any] = WeakSet()  # all locks that ``reentrant_lock`` has made


def reentrant_lock() -> Any:
    """Return an RLock, which becomes free in a forked child even if a thread of the parent holds it.

    The lock is reentrant so that a thread can take it again if a KeyboardInterrupt kept the thread from
    releasing it.
    """
    made = RLock()
    LOCKS.add(made)
    return made


# Held during late imports: if two threads import modules that import each other, Python gives one thread
# an incomplete module.  The body of a module must not take this lock.  Only the modules that
# ``_numpy_hook`` imports may do so, because the importing thread already holds the lock.
LOADING = reentrant_lock()


def in_one_step(held: AbstractContextManager[Any]) -> Callable[[F], F]:
    """Return a decorator that makes a function hold the lock ``held``, in builds without a GIL only.

    With a GIL such a function runs in one step anyway.
    """

    def with_lock(function: F) -> F:
        if not FREE_THREADED:
            return function

        @functools.wraps(function)
        def guarding(*args: Any, **keywords: Any) -> Any:
            with held:
                return function(*args, **keywords)

        return guarding  # type: ignore[return-value]

    return with_lock


def free_all_locks() -> None:
    for lock in tuple(LOCKS):
        lock._at_fork_reinit()  # as the standard library does with its own locks


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=free_all_locks)
