"""Hooks that delay a fork until other threads have finished their imports.

Arraytape imports modules late, at the first use of a name.  Python holds a lock for each module during
its import.  If another thread held such a lock at a fork, the child would wait for that lock for ever.
"""

from __future__ import annotations

import _imp
import os
import sys
from contextlib import suppress
from importlib import import_module
from threading import get_ident
from typing import Any

# The packages whose modules arraytape imports late.
PACKAGES = "arraytape", "array_api_compat", "numpy", "scipy", "sklearn", "cupy", "dask"
ROUNDS = 100  # the maximum number of waits; then the process forks although imports are running


def being_imported() -> list[str]:
    """Return the modules of PACKAGES that other threads are importing.

    A fork waits until their imports end, or else the child would inherit held import locks.
    """
    locks: dict[str, Any] = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})
    held = [(name, reference()) for name, reference in locks.copy().items()]
    return [name for name, lock in held if name.partition(".")[0] in PACKAGES and is_held(lock)]


def is_held(lock: Any) -> bool:
    """Return True if another thread holds a module's import lock, or is about to take it.

    lock : an entry of importlib's table of module locks; None if it was freed.
    """
    if lock is None:  # freed since its weak reference was read
        return False
    if getattr(lock, "owner", None) not in (None, get_ident()):
        return True
    inner = getattr(lock, "lock", None)
    if inner is None or not inner.acquire(False):
        return inner is not None  # another thread is about to take the lock
    inner.release()
    return False


def wait_for_imports() -> None:
    """Take Python's import lock when no other thread is importing a module of PACKAGES.

    This runs before a fork, so that the child inherits no held lock; ROUNDS limits the wait.
    """
    for _ in range(ROUNDS):
        _imp.acquire_lock()  # no import can begin without this lock
        names = being_imported()
        if not names:
            return
        _imp.release_lock()
        for name in names:
            # This import waits for the other thread's.  If it fails, the other thread raises the error.
            with suppress(Exception):
                import_module(name)
    _imp.acquire_lock()


def let_imports_begin() -> None:
    with suppress(RuntimeError):  # raised if this thread does not hold the lock
        _imp.release_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=wait_for_imports, after_in_parent=let_imports_begin, after_in_child=let_imports_begin
    )
