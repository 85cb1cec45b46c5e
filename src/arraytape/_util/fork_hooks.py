"""Forks that find no module half loaded.

Chapters, and what functions need, are imported when they are first asked for.  Meanwhile Python holds a
lock for each module, which a forked child finds held for ever if another thread was about to import it.
"""

from __future__ import annotations

import _imp
import os
import sys
from contextlib import suppress
from importlib import import_module
from threading import get_ident
from typing import Any

# The packages of which arraytape imports modules late.
PACKAGES = "arraytape", "array_api_compat", "numpy", "scipy", "sklearn", "cupy", "dask"
ROUNDS = 100  # of waiting, after which the fork goes on as it would have


def being_imported() -> list[str]:
    """Return the modules of these packages that other threads import at this moment."""
    locks: dict[str, Any] = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})
    held = [(name, reference()) for name, reference in locks.copy().items()]
    return [name for name, lock in held if name.partition(".")[0] in PACKAGES and is_held(lock)]


def is_held(lock: Any) -> bool:
    """Return True if another thread holds the lock of a module, or is taking it."""
    if lock is None:  # it was freed meanwhile
        return False
    if getattr(lock, "owner", None) not in (None, get_ident()):
        return True
    inner = getattr(lock, "lock", None)
    if inner is None or not inner.acquire(False):
        return inner is not None
    inner.release()
    return False


def wait_for_imports() -> None:
    """Wait, before a fork, until other threads have ended their imports, and let none begin."""
    for _ in range(ROUNDS):
        _imp.acquire_lock()  # without which no import begins
        names = being_imported()
        if not names:
            return
        _imp.release_lock()
        for name in names:
            with suppress(Exception):  # the other thread raises it, too
                import_module(name)
    _imp.acquire_lock()


def let_imports_begin() -> None:
    with suppress(RuntimeError):  # not held
        _imp.release_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=wait_for_imports, after_in_parent=let_imports_begin, after_in_child=let_imports_begin
    )
