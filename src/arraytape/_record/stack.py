"""Recorders: the protocol of tapes and other recorders, their stack in each thread, and value ids.

Each recorder on the stack gets a record of each op on a value that it follows.  The stack is the value
of a context variable, so asyncio tasks do not see each other's tapes.  It is kept
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
# Recorders with an open block in any thread, by id().  They are notified if a thread without a recorder
# uses a value: it may be a value that they follow, and they do not get a record of the use.
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

    The protocol has all members that other code uses.  ``BaseRecorder`` has defaults.  A record is the
    entry of one op's call.  If one of an op's inputs is in ``followed``, the op calls ``record``, and
    then adds the ids of its results to ``followed``.
    """

    @property
    def followed(self) -> set[int]:
        """Return the ids of the values that the recorder follows: it gets the records of ops on them.

        The set is empty while the recorder is paused or closed, so that it gets no record.
        """

    @property
    def record(self) -> Callable[[Record], Any]:
        """Return the function that is called with each record of the recorder.

        For a tape this usually is the ``append`` of its list of records, a C function.
        """

    @property
    def one_shot(self) -> bool:
        """Return True if the recorder computes a derivative once, and never records this computation.

        Gradient tapes do, unless they are persistent.  If the only recorder on the stack is one, the
        records inside a call of a user's function need not be kept.
        """

    @property
    def listed(self) -> bool:
        """Return True if the recorder (a tape, say) is in the table OPEN while it is on a stack.

        Other threads notify the recorders in the table that they used or replaced values.
        """

    @property
    def frames(self) -> Collection[int]:
        """Return the ``id()`` of each Python frame with an open ``with`` block of the recorder.

        The call stacks that the recorder notes end at these frames.
        """

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """React to an event that a later backward pass has to take into account.

        The events are: an op without a rule, a copy to another library, a complex result, a conversion
        to untracked data, an interrupted write, and some calls of users' functions.

        plan, record : the kind of the event, and its ids and data.  The record is complete only if the
        plan is ``Structural``.
        """

    def accessed(self, variable: Variable, /) -> None:
        """React, in advance, to the read of a Variable: a tape watches a trainable Variable."""

    def used_elsewhere(self, value_ids: Sequence[int], /) -> None:
        """React to the use of values in a thread that has no recorder.

        A tape notes the values that it follows, for the warning about a gradient of None.

        value_ids : the ids of the values, which the recorder may follow or not.
        """


class OfThisProcess:
    """The base class of objects that raise TypeError if they are pickled or copied.

    They refer to values by ids, and in another process the ids are those of other values.
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
    """The base class of recorders (tapes, accumulators): it follows nothing and ignores events.

    Subclasses define ``record``, which gets an entry for each op on a followed value.
    """

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
    """A recorder that is notified of assignments to Variables, and of reads in other threads."""

    def assigned(self, variable: Variable, value: RawArray | npt.ArrayLike, /) -> None:
        """React to an assignment to ``variable``, before its value changes.

        value : the new value, or the operand of an in-place operator.
        """

    def read_elsewhere(self, variable: Variable, /) -> None:
        """React to the read of ``variable`` in a thread that has no recorder."""


class SeesCalls:
    """A recorder of a run of a user's function, whose ops are answered by modes of that run.

    program_modes : the modes, each a ``ProgramMode``; they answer while the recorder is on the stack.
    """

    program_modes: Sequence[Any] = ()


def notify_assigned(variable: Variable, value: RawArray | npt.ArrayLike) -> None:
    """Notify the recorders on the stack that a Variable's value is about to be replaced.

    Assignments are not recorded, so a recorder (a tape, say) notes them to explain gradients of None.
    """
    for recorder in recorders():
        if isinstance(recorder, SeesAssignments):
            recorder.assigned(variable, value)


def add_structural_record(recorder: Recorder, record: Record) -> None:
    """Add a record that no op made, as of a view or a write, to a recorder (a tape, say).

    The recorder then follows the result.  Do nothing if the recorder cannot follow values, for example
    because its block has ended.

    record : a record with one result.
    """
    followed = recorder.followed
    if isinstance(followed, set):
        recorder.record(record)
        followed.add(record[1])


class entered(Context):
    """A ``with`` block in which ``recorder`` (a tape, say) is the innermost recorder of this thread.

    Meanwhile it is in the table OPEN, so that other threads can notify it that they use values.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def _begin(self) -> None:
        push_recorder(self.recorder)
        OPEN[id(self.recorder)] = ref(self.recorder)

    def _end(self) -> None:
        OPEN.pop(id(self.recorder), None)
        remove_recorder(self.recorder)


def only_recorders(*stack: Recorder) -> Setting[Stack]:
    """Return a ``with`` block in which only the recorders ``stack`` get this thread's records."""
    return Setting(STACK, (get_ident(), stack))


def recorders() -> tuple[Recorder, ...]:
    """Return the recorders (tapes, accumulators) of the running thread and task, outermost first."""
    thread, stack = active()
    return stack if thread == get_ident() else ()


def push_recorder(recorder: Recorder) -> None:
    """Make ``recorder``, a tape for example, the innermost recorder of this thread and task.

    Ops then report their records to ``recorder`` as well.  First remove recorders from the stack that an
    interrupted ``with`` block has left there.
    """
    stack = recorders()
    if stack:
        stack = tuple([other for other in reachable_recorders(stack) if other is not recorder])
    STACK.set((get_ident(), (*stack, recorder)))


def reachable_recorders(stack: tuple[Recorder, ...]) -> list[Recorder]:
    """Return the recorders (tapes, say) of a stack without those whose ``with`` block is over.

    If only the stack refers to a recorder, nothing will take it off the stack: a KeyboardInterrupt at
    the beginning of its ``__exit__`` has ended the block.  A ``Paused`` to which only the stack refers
    is replaced by the recorder that it paused.
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
    """Take ``recorder`` (a tape, say), or a ``Paused`` in its place, off the stack, if it is there.

    A ``Paused`` keeps the place of a recorder while it does not record.
    """
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
    """A recorder that follows no value, and so gets no records; it may react to other events.

    Such events are assignments to Variables and reads of them, for example.
    """

    followed: set[int] = frozenset()  # type: ignore[assignment]

    def __init__(self) -> None:
        pass  # keeps ``followed`` of the class: BaseRecorder would make a set for each instance

    def record(self, record: Record) -> None:
        pass


class Paused(Bystander):
    """The object that replaces a paused recorder (tape) on the stack of one thread and task.

    So the recorder gets its place back at the end of the pause.
    """

    def __init__(self, paused: Recorder) -> None:
        self.paused = paused


def ops_may_be_recorded() -> bool:
    """Return True if this thread has a recorder (a tape, say) that is not paused.

    It may then record an op.
    """
    stack = recorders()
    return bool(stack) and any(not isinstance(recorder, Bystander) for recorder in stack)


def replace_recorder(old: Recorder, new: Recorder) -> None:
    """Replace ``old`` by ``new`` on this thread's stack of recorders; do nothing if it is not there."""
    stack = recorders()
    if any(other is old for other in stack):
        swapped = tuple(new if other is old else other for other in stack)
        STACK.set((get_ident(), swapped))


def notify_other_threads(value_ids: Sequence[int], variable: Variable | None = None) -> None:
    """Notify the recorders (tapes, say) of other threads that this thread used or replaced values.

    A thread without recorders records nothing, so a gradient may be None; a warning can then say why.

    variable : a Variable that this thread reads; a tape may not follow its value yet.
    """
    for key, reference in OPEN.copy().items():
        recorder = reference()
        if recorder is None:
            OPEN.pop(key, None)
        elif variable is None:
            recorder.used_elsewhere(value_ids)
        elif isinstance(recorder, SeesAssignments):
            recorder.read_elsewhere(variable)


def _forget() -> None:
    """Remove all recorders (tapes, say) from a forked child, because their blocks run in the parent."""
    STACK.set(EMPTY)
    OPEN.clear()
    AWAITED.clear()
    UNSTARTED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
