"""Locks that are free in a forked child, which lacks the threads that held them.

With a GIL, threads do not switch between reads and writes of attributes without a call in between.  So
short steps of this kind on the op path need no lock.  ``in_one_step`` gives them a lock only in builds
without a GIL.
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
HAVE_LOCKS = (Condition, Semaphore)  # classes of the standard library whose objects have one
LOCKS: WeakSet[Any] = WeakSet()  # all locks of arraytape


def reentrant_lock() -> Any:
    """Return a lock that its thread may take again, even if an interrupt has left it taken.

    The lock is free in a forked child, whichever thread of the parent held it.
    """
    made = RLock()
    LOCKS.add(made)
    return made


# Held during late imports: if two threads import modules that import each other, Python gives one thread
# an incomplete module.  The body of a module must not take this lock, except below ``_numpy_hook``,
# whose thread holds it.
LOADING = reentrant_lock()


def in_one_step(held: AbstractContextManager[Any]) -> Callable[[F], F]:
    """Return a decorator that holds a reentrant lock during calls, in builds without a GIL."""

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
