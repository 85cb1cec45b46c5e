"""Dispatch modes: objects that observe the calls of ops in a thread, or compute results in place of ops.

Tracing of ``xp.function`` and the policies of ``recompute_grad`` are modes.  Each thread and task has a
stack of modes.  An *observing* mode is notified of each call of an op (``before``) and of other events
(``meets``, ``wrote``, ...).  It stays on the stack during the call, so that it also observes the ops of
rules and of other modes.  An *answering* mode returns the result in place of the op (``answer``).  It is
off the stack meanwhile, so that it does not get the calls that ``answer`` makes.

``MODES`` has the modes of all threads.  While it is empty, modes cost a call of an op only one test.
Otherwise the call passes through the modes of its own thread, the innermost first, before the op reads
any operand.

The stack is the value of a context variable, together with the id of its thread.  If a context is copied
into another thread, the modes do not see the ops of that thread.
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

# The modes on the stacks of all threads, by id().
MODES: dict[int, Mode] = {}
# The ``__builtins__`` of compiled ops: Python's builtins, and the name MODES, which is None while there
# are no modes.  A test for None takes half the instructions of a test for an empty dict, and a single
# assignment here changes the name for all compiled ops.
OP_BUILTINS: dict[str, Any] = {**vars(builtins), "MODES": None}
TURNING = reentrant_lock()  # held while MODES is set in OP_BUILTINS
GO_ON: Any = object()  # ``ask_modes`` returns this if no mode answers: the op itself computes


class OpFunctionLike(Protocol):
    """The type of an op's public function, such as ``xp.exp``, with the members that modes use.

    The class is ``_define.op_function.OpFunction``, which this module may not import.

    op : the op.  names : the names of the function's positional parameters.
    function : the compiled function, which passes the call to the modes that are on the stack.
    """

    op: Op
    names: tuple[str, ...]
    function: FunctionType

    def with_raw(self, raw: Callable[..., Any]) -> FunctionType:
        """Return a copy of ``function`` that calls ``raw``, not NumPy's function, and bypasses modes.

        A mode, which answers calls of ops, calls the copy to record an op whose data it computes itself.

        raw : a function of the operands' data that returns the data of the result.
        """


class Mode:
    """The base class of dispatch modes, which observe or answer the calls of ops in a thread.

    Its methods do nothing; a subclass overrides those for the events that it needs.

    answers : True for an answering mode, whose ``answer`` returns the results of ops; False for an
    observing mode, whose ``before`` is called.
    thread : the id of the thread on whose stack the mode is, or 0 if it is on none.
    """

    answers = False
    thread = 0

    def takes(self, op: Op) -> bool:
        """Return True if an answering mode wants to answer a call of this op at this moment."""
        return True

    def before(self, own: OpFunctionLike, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """React to a call of an op, before any operand is read.

        own : the op's public function.  args, kwargs : the arguments of the call.
        """

    def answer(self, call: OpCall) -> Any:
        """Return the result of a call of an op, in place of the op.

        ``call.run()`` passes the call on to the outer modes and finally to the op.
        """
        return call.run()

    def meets(self, x: Array) -> None:
        """React in advance to an access to the Array x that is no op: a view, conversion or write.

        The mode then knows that the traced function, for example, uses x.
        """

    def wrote(self, x: Array) -> None:
        """React to a write to the data of the Array x, after the write."""

    def exported(self, x: Array, value: Any) -> None:
        """React to a conversion of the Array x to the NumPy array ``value``, as by ``np.asarray(x)``.

        Unless a function is being traced, x and ``value`` share memory.
        """

    def watched(self, x: Array) -> None:
        """React to ``watch``: a tape follows the Array x from now on."""

    def misses(self) -> None:
        """React to a call of an op in this thread that the mode cannot observe.

        The call runs in a ``contextvars`` context whose stack of modes does not have the mode.
        """


class ProgramMode(Mode):
    """A mode that answers the calls of ops in one run of a user's function, and no other calls.

    The recorder that runs or traces the function lists the mode in ``program_modes``.  While another
    function runs, such as a policy of ``recompute_grad`` or the ``pack`` of ``saved_data``, no such
    recorder is on the stack.
    """

    answers = True

    def is_tracing_here(self) -> bool:
        """Return True if the function for which this mode was made is running in this thread.

        Then the stack has the recorder of ``recompute_grad`` or ``xp.function`` that runs it.
        """
        for recorder in recorders():
            if isinstance(recorder, SeesCalls) and any(
                self is one for one in recorder.program_modes
            ):
                return True
        return False


class OpCall:
    """A call of an op, as passed to the method ``answer`` of a mode, which may return the result.

    own : the op's public function, such as ``exp``.
    args, kwargs : the arguments as the caller passed them, and defaults.
    raw : the function that computes in place of the op's function on NumPy or CuPy data; None unless
    another mode has set one.
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
        """Return the arguments for the op's inputs (not its parameters), in the order of the op."""
        given = dict(zip(self.own.names, self.args, strict=False)) | self.kwargs
        return [given[x] for x in self.op.inputs if x in given]

    def run(self, raw: Callable[..., Any] | None = None) -> Any:
        """Pass the call on to the remaining modes and finally to the op; return the result.

        raw : a function for the op to call in place of NumPy's function, or None.  It is ignored if
        another mode has set such a function already.
        """
        raw = self.raw or raw
        if raw is None:
            return self.own.function(*self.args, **self.kwargs)
        thread, observers, answering = mode_stack_here()
        given = ask_answering_modes(
            thread, observers, answering, self.own, self.args, self.kwargs, raw
        )
        if given is not GO_ON:
            return given
        for mode in observers:
            mode.before(self.own, self.args, self.kwargs)
        return self.own.with_raw(raw)(*self.args, **self.kwargs)


ModeStack = tuple[int, tuple[Mode, ...], tuple[Mode, ...]]  # thread id, observing, answering modes
NO_MODES: ModeStack = (0, (), ())
MODE_STACK: ContextVar[ModeStack] = ContextVar("arraytape modes", default=NO_MODES)


def mode_stack_here() -> ModeStack:
    """Return this thread's id, its observing modes and its answering modes, innermost last.

    Modes whose block has ended are left out.
    """
    thread, observers, answering = MODE_STACK.get()
    if thread != get_ident():
        return get_ident(), (), ()
    # If the context is a copy, the block of a mode may have ended in the original context alone.
    observers = tuple([mode for mode in observers if mode.thread])
    return thread, observers, tuple([mode for mode in answering if mode.thread])


def mode_stack_of_call() -> ModeStack:
    """Return this thread's id, observing and answering modes, for a call of an op.

    An observing mode may be open in this thread without being on the stack, if the running context was
    copied before the mode's block began.  Such a mode cannot observe the call, so call its ``misses``.
    """
    stack = thread, observers, _ = mode_stack_here()
    for mode in list(MODES.values()):
        if mode.thread == thread and not mode.answers and mode not in observers:
            mode.misses()
    return stack


def modes_here() -> tuple[Mode, ...]:
    """Return the modes of this thread and task, observing modes first."""
    thread, observers, answering = MODE_STACK.get()
    modes = observers + answering
    if thread == get_ident() and len(MODES) == len(modes):  # the usual case: save a call
        for mode in modes:
            if not mode.thread:
                break
        else:
            return modes
    _, observers, answering = mode_stack_of_call()
    return observers + answering


def ask_modes(own: OpFunctionLike, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pass a call of an op to the modes of this thread; return the result of one that answers it.

    Return GO_ON if no mode does, so that the op itself computes the result.

    own : the op's public function.  args, kwargs : the arguments of the call.
    """
    thread, observers, answering = MODE_STACK.get()
    if len(observers) == len(MODES) == 1 and thread == get_ident() and observers[0].thread:
        observers[0].before(own, args, kwargs)  # the usual case in a trace, which should be fast
        return GO_ON
    thread, observers, answering = mode_stack_of_call()
    if answering:
        given = ask_answering_modes(thread, observers, answering, own, args, kwargs, None)
        if given is not GO_ON:
            return given
    for mode in observers:
        mode.before(own, args, kwargs)
    return GO_ON


def ask_answering_modes(
    thread: int,
    observers: tuple[Mode, ...],
    answering: tuple[Mode, ...],
    own: OpFunctionLike,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    raw: Callable[..., Any] | None,
) -> Any:
    """Return the result of the innermost answering mode that ``takes`` the op; GO_ON if none does.

    The mode is off the stack while it answers, so that it does not get the calls that it makes itself.

    thread, observers, answering : the stack of modes.  own : the op's public function.
    args, kwargs : the arguments of the call.  raw : the function to call in place of NumPy's, or None.
    """
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
def notify_access(*handles: Any) -> None:
    """Notify the modes of this thread of an access to Arrays that is no op, such as a view or write.

    A mode that traces a function, for example, has to know which Arrays the function reads.
    """
    for mode in modes_here():
        for x in handles:
            mode.meets(x)


def notify_written(x: Array) -> None:
    """Notify the modes of this thread, which may trace a function, of a write to an Array's data."""
    for mode in modes_here():
        mode.wrote(x)


def notify_exported(x: Array, value: Any) -> None:
    """Notify the modes of this thread that an Array was converted to the NumPy array ``value``."""
    for mode in modes_here():
        mode.exported(x, value)


def notify_watched(x: Array) -> None:
    """Notify the modes of this thread that a tape follows an Array from now on."""
    for mode in modes_here():
        mode.watched(x)


# --- the stack ----------------------------------------------------------------------------------------
@in_one_step(TURNING)
def update_modes_test() -> None:
    """Set the builtin name MODES of compiled ops to the dict of modes, or to None if there are none.

    Compiled ops call ``ask_modes`` only if MODES is not None.
    """
    OP_BUILTINS["MODES"] = MODES or None


class pushed(Context):
    """A ``with`` block in which ``mode`` observes or answers this thread's calls of ops first.

    It is the innermost mode of the thread's stack, and must not be on a stack already.
    """

    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    def _begin(self) -> Mode:
        self.mode.thread = get_ident()
        MODES[id(self.mode)] = self.mode
        update_modes_test()
        thread, observers, answering = mode_stack_here()
        if self.mode.answers:
            MODE_STACK.set((thread, observers, (*answering, self.mode)))
        else:
            MODE_STACK.set((thread, (*observers, self.mode), answering))
        return self.mode

    def _end(self) -> None:
        self.mode.thread = 0
        MODES.pop(id(self.mode), None)
        update_modes_test()
        thread, observers, answering = mode_stack_here()
        MODE_STACK.set((thread, observers, answering) if observers or answering else NO_MODES)


def without_program_modes() -> Setting[ModeStack]:
    """Return a ``with`` block whose calls of ops do not belong to a traced function.

    Modes that trace or recompute the function (``ProgramMode``) do not get these calls.
    """
    thread, observers, answering = mode_stack_here()
    rest = tuple([mode for mode in answering if not isinstance(mode, ProgramMode)])
    return Setting(MODE_STACK, (thread, observers, rest))


def _forget() -> None:
    """Remove all modes from a forked child process, because their blocks run only in the parent."""
    MODE_STACK.set(NO_MODES)
    for mode in MODES.values():
        mode.thread = 0
    MODES.clear()
    update_modes_test()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
