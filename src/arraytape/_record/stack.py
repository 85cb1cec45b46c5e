"""The recorder stack of this thread, ids for values, and what a recorder is.

The stack lives in a context variable, so asyncio tasks do not see each other's tapes.
It carries the id of its thread: a context that was copied into another thread
(``asyncio.to_thread``, free-threaded Python) records nothing there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from sys import getrefcount
from threading import get_ident
from typing import Any, NoReturn, Protocol
from weakref import ref

from .._util.blocks import Context, Setting
from .._util.errors import see, user_line
from .plan import Plan, Record, Structural

Stack = tuple[int, tuple["Recorder", ...]]
EMPTY: Stack = (0, ())
STACK: ContextVar[Stack] = ContextVar("arraytape recorders", default=EMPTY)

active = STACK.get  # -> (thread id, recorders); the hot path compares the id itself
# Open recorders by id, to report values to that are used in a thread without a recorder.
OPEN: dict[int, ref[Recorder]] = {}
# A new value id, or the time of an event among these; 0 is the id of no value.  Each is an int object of
# its own, which Python's small ints are not: by the references to it ``_tape.sweeping`` knows whether
# anything may ask for the value.
new_tid = itertools.count(1 << 12).__next__
# The tapes that record, or have ended and were not asked for a gradient yet, by id: see ``_array.cuts``.
AWAITED: dict[int, ref[Recorder]] = {}
# Those of them whose block is open, as long as they follow nothing: ops may take what is watched late.
UNSTARTED: dict[int, ref[Recorder]] = {}


class Recorder(Protocol):
    """What may stand on the stack: tapes, accumulators, diagnostics.

    This is all that callers use of one; ``BaseRecorder`` has defaults.  A recorder is handed the
    record of an op when it follows one of the op's inputs, and the caller then adds the ids of the
    op's results to ``followed``.
    """

    @property
    def followed(self) -> set[int]:
        """The ids of the values that it follows.

        Empty while it is paused or closed, so that one left on a stack is handed nothing.
        """

    @property
    def record(self) -> Callable[[Record], Any]:
        """Take one record: plan number, result id(s), input ids, what is kept.

        A tape's is its list's ``append``, so that recording needs no Python frame of its own.
        """

    @property
    def one_shot(self) -> bool:
        """Whether it stops before it computes its one answer, so that it never records that."""

    @property
    def listed(self) -> bool:
        """Whether it is in ``OPEN`` as long as it is on a stack."""

    @property
    def frames(self) -> Collection[int]:
        """The addresses of the frames whose blocks it records: what is around them is not its affair."""

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """Called after ``record`` where the plan or the data ask for more than the plain loop.

        That is an op without a rule, a move between storages, data that turn complex, an exit, or a
        call that says so.  ``record`` is the record of a ``Structural`` plan; of an op's, read the
        plan alone.
        """

    def accessed(self, variable: Any, /) -> None:
        """Called before a Variable is read, so that it may be followed from this read on."""

    def used_elsewhere(self, tids: Sequence[int], /) -> None:
        """Called for a recorder in ``OPEN`` when values are used in a thread without a recorder."""


class OfThisProcess:
    """What refers to values by their ids, which are those of other values in another process."""

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"a {name} cannot be pickled or copied: it refers to values by ids, which are those of "
            f"other values elsewhere [at {user_line()}]. Make the {name} where the computation "
            "runs, and send Arrays, Variables and gradients, which are pickled as values "
            f"{see('tape-in-a-pickle')}"
        )


class BaseRecorder(OfThisProcess):
    """A recorder that follows nothing yet and passes over all that it is told but records.

    A subclass says what ``record`` does; without it a type checker finds that it is no Recorder.
    """

    followed: set[int]
    one_shot: bool = False
    listed: bool = False
    frames: Collection[int] = ()

    def __init__(self) -> None:
        self.followed = set()

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """Pass over it."""

    def accessed(self, variable: Any, /) -> None:
        """Pass over it."""

    def used_elsewhere(self, tids: Sequence[int], /) -> None:
        """Pass over it."""


class SeesAssignments:
    """A recorder that is told before a Variable's value is replaced while it is on the stack."""

    def assigned(self, variable: Any, value: Any, /) -> None:
        """Called before the value is replaced; value : what is assigned, or computed with."""


def tell_assigned(variable: Any, value: Any) -> None:
    """Tell the recorders that want to know that a Variable's value is about to be replaced."""
    for recorder in recorders():
        if isinstance(recorder, SeesAssignments):
            recorder.assigned(variable, value)


def tell(recorder: Recorder, record: Record) -> None:
    """Hand a structural record with one result to a recorder, unless it was left meanwhile."""
    followed = recorder.followed
    if followed:
        recorder.record(record)
        followed.add(record[1])


class entered(Context):
    """Within it a recorder is the innermost one here, and hears of uses in other threads."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def _begin(self) -> None:
        push_recorder(self.recorder)
        OPEN[id(self.recorder)] = ref(self.recorder)

    def _end(self) -> None:
        OPEN.pop(id(self.recorder), None)
        remove_recorder(self.recorder)


def only_recorders(*stack: Recorder) -> Setting[Stack]:
    """Within it these are the recorders of this thread and task; the ones around are suspended."""
    return Setting(STACK, (get_ident(), stack))


def recorders() -> tuple[Recorder, ...]:
    """The recorders of the running thread and task, outermost first."""
    thread, stack = active()
    return stack if thread == get_ident() else ()


def push_recorder(recorder: Recorder) -> None:
    """Make ``recorder`` the innermost recorder of this thread and task, and only that."""
    stack = recorders()
    if stack:
        stack = tuple([other for other in reachable_recorders(stack) if other is not recorder])
    STACK.set((get_ident(), (*stack, recorder)))


def references_to_recorders(items: tuple[Any, ...]) -> list[int]:
    """How often each item is referred to, with what Python's version adds while it looks."""
    return [getrefcount(one) for one in items]


(ALONE,) = references_to_recorders((object(),))  # of what a tuple alone refers to


def reachable_recorders(stack: tuple[Recorder, ...]) -> list[Recorder]:
    """The recorders that something beside the stack refers to, and so can still remove.

    A KeyboardInterrupt that arrives on entry to ``__exit__`` ends a block without leaving it.
    """
    lost = [count <= ALONE for count in references_to_recorders(stack)]
    if not any(lost):
        return [*stack]
    found = [
        other.paused if alone and isinstance(other, Paused) else other
        for other, alone in zip(stack, lost, strict=True)
        if not alone or isinstance(other, Paused)
    ]
    return found


def remove_recorder(recorder: Recorder) -> None:
    """Take ``recorder`` off the stack, wherever it is; no error when it is not there."""
    stack = recorders()
    if len(stack) == 1 and stack[0] is recorder:
        STACK.set(EMPTY)
        return
    rest = tuple(
        other
        for other in stack
        if other is not recorder and not (isinstance(other, Paused) and other.paused is recorder)
    )
    STACK.set((get_ident(), rest) if rest else EMPTY)


class Bystander(BaseRecorder):
    """A recorder that never follows a value, so that no op is recorded for its sake."""

    followed: set[int] = frozenset()  # type: ignore[assignment]

    def __init__(self) -> None:
        """Nothing to set up: what it follows is the class's empty set for good."""

    def record(self, record: Record) -> None:
        """Never called: no value is followed."""


class Paused(Bystander):
    """The stand-in, on one stack, for a recorder that is paused there."""

    def __init__(self, paused: Recorder) -> None:
        self.paused = paused


def watched() -> bool:
    """Whether any recorder on this thread's stack may see an op."""
    stack = recorders()
    return bool(stack) and any(not isinstance(recorder, Bystander) for recorder in stack)


def replace_recorder(old: Recorder, new: Recorder) -> None:
    """Put ``new`` in the place of ``old`` on this thread's stack; nothing when it is not there."""
    stack = recorders()
    if any(other is old for other in stack):
        swapped = tuple(new if other is old else other for other in stack)
        STACK.set((get_ident(), swapped))


def elsewhere(tids: Sequence[int]) -> None:
    """Report values used or replaced here to the open recorders of other threads."""
    for key, reference in OPEN.copy().items():
        recorder = reference()
        if recorder is not None:
            recorder.used_elsewhere(tids)
        else:
            OPEN.pop(key, None)


def _forget() -> None:
    STACK.set(EMPTY)
    OPEN.clear()
    AWAITED.clear()
    UNSTARTED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
