"""Locks that a forked child can take: it has none of the threads that held them.

Where Python has a GIL, threads do not switch within a few attributes that are read and set without a
call in between: steps of this kind on the op path need no lock.  ``in_one_step`` gives them one where
Python runs without a GIL.
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
LOCKS: WeakSet[Any] = WeakSet()  # all that arraytape holds


def reentrant_lock() -> Any:
    """Return a lock that its thread may take again, even if an interruption has left it taken.

    In a forked child the lock is free, whichever thread held it in the parent.
    """
    made = RLock()
    LOCKS.add(made)
    return made


# Held while a thread imports what is loaded on demand: where two threads import modules that need each
# other, Python gives one of them a module that is not complete.  No module asks for it in its body, but
# under ``_numpy_hook``, which holds it.
LOADING = reentrant_lock()


def in_one_step(held: AbstractContextManager[Any]) -> Callable[[F], F]:
    """Return a decorator: the function holds a reentrant lock if Python runs without a GIL."""

    def with_lock(function: F) -> F:
        if not FREE_THREADED:
            return function

        @functools.wraps(function)
        def guarding(*args: Any, **keywords: Any) -> Any:
            with held:
                return function(*args, **keywords)

        return guarding  # type: ignore[return-value]

    return with_lock


def renew() -> None:
    """Free all locks: the threads that may have held them are not in this process."""
    for made in tuple(LOCKS):
        made._at_fork_reinit()  # as the standard library does with its own locks


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew)
