"""The stack of recorders of this thread, ids for values, and the protocol of recorders.

The stack is the value of a context variable, so asyncio tasks do not see each other's tapes.  It is kept
with the id of its thread.  So a context that was copied into another thread (by ``asyncio.to_thread``,
or by free-threaded Python) records nothing there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING, Any, NoReturn, Protocol
from weakref import ref

from .._util.blocks import Context, Setting
from .._util.errors import see, user_line
from .._util.references import ALONE, references_to_item
from .plan import Plan, Record, Structural

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import RawArray
    from ..variable import Variable

Stack = tuple[int, tuple["Recorder", ...]]
EMPTY: Stack = (0, ())
STACK: ContextVar[Stack] = ContextVar("arraytape recorders", default=EMPTY)

active = STACK.get  # a caller has to compare the thread id, as ``recorders`` does
# Recorders with an open block, by id().  If a thread without a recorder uses a value, they are notified.
OPEN: dict[int, ref[Recorder]] = {}
# A function that returns a new value id, or a time on the same scale: later calls return greater ints.
# No value has the id 0.  Ids start at 4096, since each has to be an int object of its own, unlike
# Python's small ints: ``_tape.dead_records`` counts the references to an id.
new_value_id = itertools.count(1 << 12).__next__
# The tapes that may still compute a gradient, by id().  As long as there are any, an op that no tape
# records makes a ``Cut``, which lets the warning about a gradient of None name the op.
AWAITED: dict[int, ref[Recorder]] = {}
# The tapes of AWAITED that are open and follow nothing yet.  As long as there are any, each op on an
# Array makes a Cut, since the user may watch the Array after the op, which is too late.
UNSTARTED: dict[int, ref[Recorder]] = {}


class Recorder(Protocol):
    """An object that can be on the stack of recorders: a tape, an accumulator, a diagnostic.

    These are all the members that other code uses.  ``BaseRecorder`` has defaults.  ``record`` is called
    for an op if one of the op's inputs is in ``followed``.  The caller then adds the ids of the results
    to ``followed``.
    """

    @property
    def followed(self) -> set[int]:
        """Return the ids of the values that the recorder follows.

        The set is empty while the recorder is paused or closed, so that it gets no record.
        """

    @property
    def record(self) -> Callable[[Record], Any]:
        """Return the function that is called with a record.

        For a tape this usually is the ``append`` of its list, a C function.
        """

    @property
    def one_shot(self) -> bool:
        """Return True if the recorder computes one derivative, and does not record that computation."""

    @property
    def listed(self) -> bool:
        """Return True if other threads are to notify the recorder while it is on a stack (in OPEN)."""

    @property
    def frames(self) -> Collection[int]:
        """Return the ``id()`` of each frame in which a block of the recorder is open."""

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """React to an event that a later backward pass has to take into account.

        Called for an op without a rule, a copy to another library, a complex result, a conversion to
        untracked data or an interrupted write.  Some calls of users' functions call it, too.  plan,
        record : what happened.  The record is complete only if the plan is ``Structural``.
        """

    def accessed(self, variable: Variable, /) -> None:
        """React to the read of a Variable, before the read: a tape watches a trainable Variable."""

    def used_elsewhere(self, value_ids: Sequence[int], /) -> None:
        """React to the use of values in a thread that has no recorder, for example by a warning.

        Called for all recorders in ``OPEN``.
        """


class OfThisProcess:
    """An object that cannot be pickled or copied, since it refers to values by ids.

    In another process the ids are those of other values.
    """

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"a {name} cannot be pickled or copied: it refers to values by ids, which mean other values "
            f"in another process [at {user_line()}]. Make the {name} where the computation "
            "runs, and send Arrays, Variables and gradients, which are pickled as values "
            f"{see('tape-in-a-pickle')}"
        )


class BaseRecorder(OfThisProcess):
    """A recorder that follows nothing yet and ignores notifications.  Subclasses define ``record``."""

    followed: set[int]
    one_shot: bool = False
    listed: bool = False
    frames: Collection[int] = ()

    def __init__(self) -> None:
        self.followed = set()

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        pass

    def accessed(self, variable: Variable, /) -> None:
        pass

    def used_elsewhere(self, value_ids: Sequence[int], /) -> None:
        pass


class SeesAssignments:
    """A recorder that is notified of assignments to Variables while it is on the stack."""

    def assigned(self, variable: Variable, value: RawArray | npt.ArrayLike, /) -> None:
        """React to an assignment to ``variable``, before its value changes.

        value : the new value, or the operand of an in-place operator.
        """


class SeesCalls:
    """A recorder whose ``program_modes`` get the calls of ops while the recorder is on the stack."""

    program_modes: Sequence[Any] = ()


def tell_assigned(variable: Variable, value: RawArray | npt.ArrayLike) -> None:
    """Notify the recorders on the stack that a Variable's value is about to be replaced."""
    for recorder in recorders():
        if isinstance(recorder, SeesAssignments):
            recorder.assigned(variable, value)


def tell(recorder: Recorder, record: Record) -> None:
    """Add a record with one result, which no op made, to a recorder that then follows the result.

    Do nothing if the recorder follows no value, for example because its block has ended.
    """
    followed = recorder.followed
    if followed:
        recorder.record(record)
        followed.add(record[1])


class entered(Context):
    """A block in which ``recorder`` is this thread's innermost, and in OPEN: other threads notify it."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def _begin(self) -> None:
        push_recorder(self.recorder)
        OPEN[id(self.recorder)] = ref(self.recorder)

    def _end(self) -> None:
        OPEN.pop(id(self.recorder), None)
        remove_recorder(self.recorder)


def only_recorders(*stack: Recorder) -> Setting[Stack]:
    """Return a block in which these are the only recorders of this thread and task."""
    return Setting(STACK, (get_ident(), stack))


def recorders() -> tuple[Recorder, ...]:
    """Return the recorders of the running thread and task, outermost first."""
    thread, stack = active()
    return stack if thread == get_ident() else ()


def push_recorder(recorder: Recorder) -> None:
    """Make ``recorder`` the innermost recorder of this thread and task.

    Remove recorders whose block was interrupted before its end.
    """
    stack = recorders()
    if stack:
        stack = tuple([other for other in reachable_recorders(stack) if other is not recorder])
    STACK.set((get_ident(), (*stack, recorder)))


def reachable_recorders(stack: tuple[Recorder, ...]) -> list[Recorder]:
    """Return the recorders of a stack to which something other than the stack refers.

    If nothing else refers to a recorder, nothing will take it off the stack: a KeyboardInterrupt at the
    beginning of its ``__exit__`` has ended the block.  A ``Paused`` to which nothing else refers is
    replaced by the recorder that it paused.
    """
    lost = [references_to_item(stack, i) <= ALONE for i in range(len(stack))]
    if not any(lost):
        return [*stack]
    return [
        other.paused if alone and isinstance(other, Paused) else other
        for other, alone in zip(stack, lost, strict=True)
        if not alone or isinstance(other, Paused)
    ]


def remove_recorder(recorder: Recorder) -> None:
    """Take ``recorder``, or a ``Paused`` in its place, off the stack; do nothing if neither is on it."""
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
    """A recorder that never follows a value, so that it gets no records."""

    followed: set[int] = frozenset()  # type: ignore[assignment]

    def __init__(self) -> None:
        pass  # keeps ``followed`` of the class: BaseRecorder would make a set for each instance

    def record(self, record: Record) -> None:
        pass


class Paused(Bystander):
    """The object that takes the place of a paused recorder on the stack of one thread and task."""

    def __init__(self, paused: Recorder) -> None:
        self.paused = paused


def watched() -> bool:
    """Return True if a recorder on this thread's stack may record an op."""
    stack = recorders()
    return bool(stack) and any(not isinstance(recorder, Bystander) for recorder in stack)


def replace_recorder(old: Recorder, new: Recorder) -> None:
    """Replace ``old`` by ``new`` on this thread's stack; do nothing if ``old`` is not on it."""
    stack = recorders()
    if any(other is old for other in stack):
        swapped = tuple(new if other is old else other for other in stack)
        STACK.set((get_ident(), swapped))


def elsewhere(value_ids: Sequence[int]) -> None:
    """Notify the open recorders of other threads that this thread used or replaced values."""
    for key, reference in OPEN.copy().items():
        recorder = reference()
        if recorder is not None:
            recorder.used_elsewhere(value_ids)
        else:
            OPEN.pop(key, None)


def _forget() -> None:
    """Remove all recorders, in a forked process: their blocks are those of the parent process."""
    STACK.set(EMPTY)
    OPEN.clear()
    AWAITED.clear()
    UNSTARTED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
