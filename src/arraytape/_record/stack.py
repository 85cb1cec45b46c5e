"""The recorder stack of this thread, ids for values, and the protocol of recorders.

The stack is the value of a context variable, so asyncio tasks do not see each other's tapes.  It has the
id of its thread: a context that was copied into another thread (``asyncio.to_thread``, free-threaded
Python) records nothing there.
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

active = STACK.get  # compiled ops compare the thread id themselves
# Open recorders by id(): values that are used in a thread without a recorder are reported to them.
OPEN: dict[int, ref[Recorder]] = {}
# Makes a new value id, or the time of an event on the same scale; 0 is the id of no value.  Each is an
# int object of its own, unlike Python's small ints: ``_tape.dead_records`` counts references to it.
new_value_id = itertools.count(1 << 12).__next__
# The tapes that may yet be asked for a gradient, by id(): ops without a record leave a ``Cut`` for them.
AWAITED: dict[int, ref[Recorder]] = {}
# Those of AWAITED that are open and follow nothing yet: an op may use an Array that is watched too late.
UNSTARTED: dict[int, ref[Recorder]] = {}


class Recorder(Protocol):
    """An object that may stand on the stack: a tape, an accumulator, a diagnostic.

    Callers use nothing but these members; ``BaseRecorder`` has defaults.  A recorder gets the record of
    an op if it follows one of the op's inputs.  The caller then adds the ids of the results to
    ``followed``.
    """

    @property
    def followed(self) -> set[int]:
        """Return the ids of the values that the recorder follows.

        The set is empty while the recorder is paused or closed, so that it gets no record.
        """

    @property
    def record(self) -> Callable[[Record], Any]:
        """Take one record: plan number, result id(s), input ids, kept values.

        For a tape this is the ``append`` of its list, which needs no Python frame.
        """

    @property
    def one_shot(self) -> bool:
        """Return True if the recorder computes one answer, and records nothing of that."""

    @property
    def listed(self) -> bool:
        """Return True if the recorder is in ``OPEN`` as long as it is on a stack."""

    @property
    def frames(self) -> Collection[int]:
        """Return the id() of each frame in which a block of the recorder is open."""

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """Take note of a record that the plain loop of a backward pass cannot take.

        Called after ``record`` for an op without a rule, a move between storages, a complex result of
        real data, an exit, or a notable call of a function.  ``record`` is whole only if the plan is
        ``Structural``.
        """

    def accessed(self, variable: Variable, /) -> None:
        """Follow a Variable, if wanted: called before each read."""

    def used_elsewhere(self, value_ids: Sequence[int], /) -> None:
        """Take note that a thread without a recorder used values; called if it is in ``OPEN``."""


class OfThisProcess:
    """An object that refers to values by ids, which mean other values in another process."""

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"a {name} cannot be pickled or copied: it refers to values by ids, which are those of "
            f"other values elsewhere [at {user_line()}]. Make the {name} where the computation "
            "runs, and send Arrays, Variables and gradients, which are pickled as values "
            f"{see('tape-in-a-pickle')}"
        )


class BaseRecorder(OfThisProcess):
    """A recorder that follows nothing yet and ignores all calls; a subclass defines ``record``."""

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
    """A recorder that is notified before a Variable's value is replaced while it is on the stack."""

    def assigned(self, variable: Variable, value: RawArray | npt.ArrayLike, /) -> None:
        """Take note of an assignment; value : the new value, or an operand of an in-place operator."""


class SeesCalls:
    """A recorder that has modes, which see the calls of ops while it is on the stack."""

    program_modes: Sequence[Any] = ()


def tell_assigned(variable: Variable, value: RawArray | npt.ArrayLike) -> None:
    """Tell recorders that a Variable's value is about to be replaced."""
    for recorder in recorders():
        if isinstance(recorder, SeesAssignments):
            recorder.assigned(variable, value)


def tell(recorder: Recorder, record: Record) -> None:
    """Give a structural record with one result to a recorder, unless its block has ended."""
    followed = recorder.followed
    if followed:
        recorder.record(record)
        followed.add(record[1])


class entered(Context):
    """A block in which a recorder is the innermost one, and is notified of uses in other threads."""

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
    """Make ``recorder`` the innermost recorder of this thread and task, and no other thread's."""
    stack = recorders()
    if stack:
        stack = tuple([other for other in reachable_recorders(stack) if other is not recorder])
    STACK.set((get_ident(), (*stack, recorder)))


def reachable_recorders(stack: tuple[Recorder, ...]) -> list[Recorder]:
    """Return the recorders to which something other than the stack refers.

    Nothing can take any other recorder off the stack: a KeyboardInterrupt on entry to its ``__exit__``
    has ended the block.
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
    """Take ``recorder``, or its stand-in, off the stack; do nothing if it is not there."""
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
        pass  # no set of its own, as ``BaseRecorder`` makes

    def record(self, record: Record) -> None:
        pass


class Paused(Bystander):
    """The stand-in, on one stack, for a recorder that is paused there."""

    def __init__(self, paused: Recorder) -> None:
        self.paused = paused


def watched() -> bool:
    """Return True if any recorder on this thread's stack may see an op."""
    stack = recorders()
    return bool(stack) and any(not isinstance(recorder, Bystander) for recorder in stack)


def replace_recorder(old: Recorder, new: Recorder) -> None:
    """Put ``new`` in the place of ``old`` on this thread's stack; do nothing if it is not there."""
    stack = recorders()
    if any(other is old for other in stack):
        swapped = tuple(new if other is old else other for other in stack)
        STACK.set((get_ident(), swapped))


def elsewhere(value_ids: Sequence[int]) -> None:
    """Report values used or replaced here to the open recorders of other threads."""
    for key, reference in OPEN.copy().items():
        recorder = reference()
        if recorder is not None:
            recorder.used_elsewhere(value_ids)
        else:
            OPEN.pop(key, None)


def _forget() -> None:
    STACK.set(EMPTY)
    OPEN.clear()
    AWAITED.clear()
    UNSTARTED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
