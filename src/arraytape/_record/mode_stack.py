"""Modes: objects that see, or answer, what this thread computes on Arrays while they are on its stack.

``MODES`` has the modes of all threads.  While it is empty, a call of an op pays for one test.  Otherwise
the call asks the modes of its own thread, innermost first, before it reads any operand.

A mode that *observes* (``before``, ``meets``, ...) stays on the stack, and also sees what rules and
other modes compute.  A mode that *answers* (``answer``) is off the stack meanwhile, so that it sees no
call that its own call makes in turn.  The stack is the value of a context variable, with the id of its
thread: what a copied context computes in another thread is seen by no mode.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from threading import get_ident
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

from .._util.blocks import Context, Setting
from .._util.locks import in_one_step, reentrant_lock
from .op import Op
from .stack import SeesCalls, recorders

if TYPE_CHECKING:
    from .._array.array import Array

# By id(), the modes that are on the stack of any thread; entry points test whether there are any.
MODES: dict[int, Mode] = {}
# The builtins of compiled ops: Python's own, and MODES, which is None there while there are no modes.  A
# test for None takes half the instructions of a test whether a dict is empty, and one write serves all.
OP_BUILTINS: dict[str, Any] = {**vars(builtins), "MODES": None}
TURNING = reentrant_lock()
GO_ON: Any = object()  # in place of an answer: the op computes its result itself


class OpFunctionLike(Protocol):
    """The part of a compiled op's function that modes use."""

    op: Op
    names: tuple[str, ...]
    function: FunctionType

    def with_raw(self, raw: Callable[..., Any]) -> FunctionType:
        """Return the function with another raw function, which asks no mode."""


class Mode:
    """An object that may stand on the stack of modes; by default it sees and changes nothing.

    answers : True if ``answer`` is called in place of ``before``.  thread : the id of the thread on
    whose stack the mode is, or 0.
    """

    answers = False
    thread = 0

    def takes(self, op: Op) -> bool:
        """Return True if the mode answers calls of this op here."""
        return True

    def before(self, own: OpFunctionLike, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Take note of a call of an op, before any operand is read."""

    def answer(self, call: OpCall) -> Any:
        """Return the result of a call; that of the modes beneath, or the op, is ``call.run()``."""
        return call.run()

    def meets(self, x: Array) -> None:
        """Take note that a view, an exit or a write is about to read or write the Array x."""

    def wrote(self, x: Array) -> None:
        """Take note that the data of the Array x was written to."""

    def exported(self, x: Array, value: Any) -> None:
        """Take note that NumPy got the data of the Array x; outside of traces the two share memory."""

    def watched(self, x: Array) -> None:
        """Take note that a tape follows the Array x from now on."""

    def misses(self) -> None:
        """Take note that the mode's thread computes in a context whose stack does not have the mode."""


class ProgramMode(Mode):
    """A mode that answers the calls that are made while a recorder on the stack has the mode.

    Those are the calls of one program, without the calls of a policy or of ``saved_data``.
    """

    answers = True

    def is_here(self) -> bool:
        """Return True if a recorder on the stack has this mode."""
        for recorder in recorders():
            if isinstance(recorder, SeesCalls) and any(
                self is one for one in recorder.program_modes
            ):
                return True
        return False


class OpCall:
    """One call of an op: all its arguments, defaults included, as the caller gave them.

    raw : the function that an outer mode has put in the place of the op's raw function, or None.
    """

    __slots__ = ("args", "kwargs", "op", "own", "raw")

    def __init__(
        self,
        own: OpFunctionLike,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        raw: Callable[..., Any] | None = None,
    ) -> None:
        self.own, self.op, self.args, self.kwargs, self.raw = own, own.op, args, kwargs, raw

    def operands(self) -> list[Any]:
        """Return the arguments for the op's inputs, in the op's order."""
        given = dict(zip(self.own.names, self.args, strict=False)) | self.kwargs
        return [given[x] for x in self.op.inputs if x in given]

    def run(self, raw: Callable[..., Any] | None = None) -> Any:
        """Return the result of the modes beneath, or the op, with ``raw`` as raw function if given."""
        raw = self.raw or raw
        if raw is None:
            return self.own.function(*self.args, **self.kwargs)
        thread, observers, answering = mode_stack_here()
        given = answered(thread, observers, answering, self.own, self.args, self.kwargs, raw)
        if given is not GO_ON:
            return given
        for mode in observers:
            mode.before(self.own, self.args, self.kwargs)
        return self.own.with_raw(raw)(*self.args, **self.kwargs)


ModeStack = tuple[int, tuple[Mode, ...], tuple[Mode, ...]]  # thread, observers, answering ones
NO_MODES: ModeStack = (0, (), ())
MODE_STACK: ContextVar[ModeStack] = ContextVar("arraytape modes", default=NO_MODES)


def mode_stack_here() -> ModeStack:
    """Return the stack of the running thread and task, without modes whose block has ended."""
    thread, observers, answering = MODE_STACK.get()
    if thread != get_ident():
        return get_ident(), (), ()
    # The context may be a copy of one in which a block was open that has ended since.
    observers = tuple([mode for mode in observers if mode.thread])
    return thread, observers, tuple([mode for mode in answering if mode.thread])


def asked_stack() -> ModeStack:
    """Return the stack here; call ``misses`` of observers of this thread that are not on it."""
    stack = thread, observers, _ = mode_stack_here()
    for mode in list(MODES.values()):
        if mode.thread == thread and not mode.answers and mode not in observers:
            mode.misses()
    return stack


def modes_here() -> tuple[Mode, ...]:
    """Return the modes of the running thread and task."""
    thread, observers, answering = MODE_STACK.get()
    modes = observers + answering
    if thread == get_ident() and len(MODES) == len(modes):  # the usual case, in one frame
        for mode in modes:
            if not mode.thread:
                break
        else:
            return modes
    _, observers, answering = asked_stack()
    return observers + answering


def ask_modes(own: OpFunctionLike, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pass a call of an op to the modes of this thread; return what they answer, or GO_ON."""
    thread, observers, answering = MODE_STACK.get()
    if len(observers) == len(MODES) == 1 and thread == get_ident() and observers[0].thread:
        observers[0].before(own, args, kwargs)  # the usual case in a trace, where each step counts
        return GO_ON
    thread, observers, answering = asked_stack()
    if answering:
        given = answered(thread, observers, answering, own, args, kwargs, None)
        if given is not GO_ON:
            return given
    for mode in observers:
        mode.before(own, args, kwargs)
    return GO_ON


def answered(
    thread: int,
    observers: tuple[Mode, ...],
    answering: tuple[Mode, ...],
    own: OpFunctionLike,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    raw: Callable[..., Any] | None,
) -> Any:
    """Return the answer of the innermost mode that takes a call, or GO_ON."""
    for mode in reversed(answering):
        if mode.takes(own.op):
            rest = tuple([other for other in answering if other is not mode])
            token = MODE_STACK.set((thread, observers, rest))
            try:
                return mode.answer(OpCall(own, args, kwargs, raw))
            finally:
                MODE_STACK.reset(token)
    return GO_ON


# --- events other than calls of ops -------------------------------------------------------------------
def meet(*handles: Any) -> None:
    """Tell the modes of this thread that a view, an exit or a write will read or write handles."""
    for mode in modes_here():
        for x in handles:
            mode.meets(x)


def tell_written(x: Array) -> None:
    """Tell the modes of this thread that the data of a handle was written to."""
    for mode in modes_here():
        mode.wrote(x)


def tell_exported(x: Array, value: Any) -> None:
    """Tell the modes of this thread that NumPy was handed data of a handle."""
    for mode in modes_here():
        mode.exported(x, value)


def tell_watched(x: Array) -> None:
    """Tell the modes of this thread that a tape follows an Array from now on."""
    for mode in modes_here():
        mode.watched(x)


# --- the stack ----------------------------------------------------------------------------------------
@in_one_step(TURNING)
def turn_test() -> None:
    """Set the name that compiled ops test, so that it is None while there are no modes."""
    OP_BUILTINS["MODES"] = MODES or None


class pushed(Context):
    """A block in which a mode, which stands on no other stack, is the innermost one of this thread."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    def _begin(self) -> Mode:
        self.mode.thread = get_ident()
        MODES[id(self.mode)] = self.mode
        turn_test()
        thread, observers, answering = mode_stack_here()
        if self.mode.answers:
            MODE_STACK.set((thread, observers, (*answering, self.mode)))
        else:
            MODE_STACK.set((thread, (*observers, self.mode), answering))
        return self.mode

    def _end(self) -> None:
        self.mode.thread = 0
        MODES.pop(id(self.mode), None)
        turn_test()
        thread, observers, answering = mode_stack_here()
        MODE_STACK.set((thread, observers, answering) if observers or answering else NO_MODES)


def without_program_modes() -> Setting[ModeStack]:
    """Return a block within which no ProgramMode sees calls: they are no part of its program."""
    thread, observers, answering = mode_stack_here()
    rest = tuple([mode for mode in answering if not isinstance(mode, ProgramMode)])
    return Setting(MODE_STACK, (thread, observers, rest))


def _forget() -> None:
    MODE_STACK.set(NO_MODES)
    for mode in MODES.values():
        mode.thread = 0
    MODES.clear()
    turn_test()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
