"""The recorder stack of this thread, names for values, and what a recorder is.

The stack lives in a context variable, so asyncio tasks do not see each other's tapes.
It carries the id of its thread: a context that was copied into another thread
(``asyncio.to_thread``, free-threaded Python) records nothing there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from sys import getrefcount
from threading import get_ident
from typing import Any, Protocol
from weakref import ref

Stack = tuple[int, tuple["Recorder", ...]]
EMPTY: Stack = (0, ())
STACK: ContextVar[Stack] = ContextVar("arraytape recorders", default=EMPTY)

active = STACK.get  # -> (thread id, recorders); the hot path compares the id itself
# Who records in some thread or task, to be told what threads in which nobody records do: by id.
OPEN: dict[int, ref[Any]] = {}
new_tid = itertools.count(1).__next__  # a fresh name for a value; 0 is nobody's


class Recorder(Protocol):
    """Whoever wants to see the ops on the values it follows: tapes, accumulators, diagnostics.

    ``followed`` holds the tids, and whoever records an op adds its result's.  It is empty while
    the recorder is paused or closed, so that a stale one on the stack sees nothing.
    """

    followed: set[int]

    @property
    def record(self) -> Callable[[tuple[Any, ...]], Any]:
        """Take one record: plan number, result tid, input tids, what is kept.  A tape's is its
        list's ``append``, so that recording needs no Python frame of its own."""

    def notice(self, plan: Any, values: tuple[Any, ...]) -> None:
        """Called after ``record`` for a plan that is notable: see ``_op.Plan``."""


def tell(recorder: Recorder, record: tuple[Any, ...]) -> None:
    """Hand a structural record to a recorder."""
    recorder.record(record)
    recorder.followed.add(record[1])


def recorders() -> tuple[Recorder, ...]:
    """The recorders of the running thread and task, outermost first."""
    thread, stack = active()
    return stack if thread == get_ident() else ()


def push(recorder: Recorder) -> None:
    """Make ``recorder`` the innermost recorder of this thread and task, and only that."""
    stack = recorders()
    if stack:
        stack = tuple([other for other in known(stack) if other is not recorder])
    STACK.set((get_ident(), (*stack, recorder)))


def references(items: tuple[Any, ...]) -> list[int]:
    """How often each item is referred to, with what Python's version adds while it looks."""
    return [getrefcount(one) for one in items]


(ALONE,) = references((object(),))  # of what a tuple alone refers to


def known(stack: tuple[Recorder, ...]) -> list[Recorder]:
    """The recorders that somebody else knows, too, and so can still leave.

    A KeyboardInterrupt that arrives on entry to ``__exit__`` ends a block without leaving it.
    """
    lost = [count <= ALONE for count in references(stack)]
    if not any(lost):
        return [*stack]
    found = [
        other.paused if alone and isinstance(other, Paused) else other
        for other, alone in zip(stack, lost, strict=True)
        if not alone or isinstance(other, Paused)
    ]
    return found


def remove(recorder: Recorder) -> None:
    """Take ``recorder`` off the stack, wherever it is; no error when it is not there."""
    stack = recorders()
    if len(stack) == 1 and stack[0] is recorder:
        STACK.set(EMPTY)
        return
    rest = tuple(
        other
        for other in stack
        if other is not recorder and getattr(other, "paused", None) is not recorder
    )
    STACK.set((get_ident(), rest) if rest else EMPTY)


class Bystander:
    """What stands on the stack and follows nobody."""

    followed: set[int] = frozenset()  # type: ignore[assignment]

    def record(self, record: tuple[Any, ...]) -> None:
        """Never called: nothing is followed."""

    def notice(self, plan: Any, values: tuple[Any, ...]) -> None:
        """Never called: nothing is followed."""


class Paused(Bystander):
    """What stands in the place of a recorder that is paused there."""

    def __init__(self, paused: Recorder) -> None:
        self.paused = paused


def watched() -> bool:
    """Whether any recorder on this thread's stack may see an op."""
    stack = recorders()
    return bool(stack) and any(not isinstance(recorder, Bystander) for recorder in stack)


def replace(old: Recorder, new: Recorder) -> None:
    """Put ``new`` in the place of ``old`` on this thread's stack; nothing when it is not there."""
    stack = recorders()
    if any(other is old for other in stack):
        swapped = tuple(new if other is old else other for other in stack)
        STACK.set((get_ident(), swapped))


def elsewhere(tids: Sequence[int]) -> None:
    """Values are used, unrecorded, where nobody records: those who follow them will want to know."""
    for key, reference in tuple(OPEN.items()):
        recorder = reference()
        if recorder is not None:
            recorder.used_elsewhere(tids)
        else:
            OPEN.pop(key, None)


def _forget() -> None:
    STACK.set(EMPTY)
    OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
