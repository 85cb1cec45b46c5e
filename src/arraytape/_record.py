"""The recorder stack of this thread, names for values, and what a recorder is.

The stack lives in a context variable, so asyncio tasks do not see each other's tapes.
It carries the id of its thread: a context that was copied into another thread
(``asyncio.to_thread``, free-threaded Python) records nothing there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection
from contextvars import ContextVar
from threading import get_ident
from typing import Any, Protocol

Stack = tuple[int, tuple["Recorder", ...]]
EMPTY: Stack = (0, ())
STACK: ContextVar[Stack] = ContextVar("arraytape recorders", default=EMPTY)

active = STACK.get  # -> (thread id, recorders); the hot path compares the id itself
new_tid = itertools.count(1).__next__  # a fresh name for a value; 0 is nobody's


class Recorder(Protocol):
    """Whoever wants to see the ops that touch the values it follows: tapes, accumulators, diagnostics."""

    followed: Collection[int]  # tids; empty while paused or closed, so stale recorders see nothing

    def record(self, plan: Any, values: tuple[Any, ...]) -> None:
        """One op ran.  ``plan`` says what ``values`` holds and which of it a derivative needs."""


def recorders() -> tuple[Recorder, ...]:
    """The recorders of the running thread and task, outermost first."""
    thread, stack = active()
    return stack if thread == get_ident() else ()


def push(recorder: Recorder) -> None:
    """Make ``recorder`` the innermost recorder of this thread and task."""
    STACK.set((get_ident(), (*recorders(), recorder)))


def remove(recorder: Recorder) -> None:
    """Take ``recorder`` off the stack, wherever it is; no error when it is not there."""
    rest = tuple(other for other in recorders() if other is not recorder)
    STACK.set((get_ident(), rest) if rest else EMPTY)


def _forget() -> None:
    STACK.set(EMPTY)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
