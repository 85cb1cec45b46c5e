"""Lifting: while a traced function runs, the Arrays that it uses hold traced data.

``Call`` makes a ``Lifter``, which replaces the data of each argument by traced data, an input of the
program.  Arrays that are no arguments are lifted by ``LiftingMode``, before an op first uses them.
``put_back`` restores the data of all Arrays.  If an Array then holds other traced data than its input,
the function has written to it, and the new value is a write of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ..._array.array import IS_VIEW, KEPT, PINNED, SCALAR, Array, wrap
from ..._array.exports import is_shared
from ..._array.views import current, keep_data, root_of
from ..._record.mode_stack import Mode, OpFunctionLike, pushed
from ..._record.stack import only_recorders
from ..._storage.storage import MAKING
from ..._util.array_types import RawArray
from ...variable import Variable
from ..program import Node
from ..reach.ran import Ran
from .exported_buffers import Loans
from .frames import THREADS, Calls
from .trace import Trace
from .traced import ACTIVE, AS_IT_IS, TRACED_TYPES, Traced, untraced
from .traced_storage import TRACED

LISTS = (tuple, list)
STARTERS = ("start", "submit")  # methods of threads and executors that start work in a thread


class Lifted(NamedTuple):
    """An Array that holds traced data, and its former data, ``_state`` and ``_value_id``."""

    handle: Array
    data: Any
    state: int
    value_id: int
    traced: Traced
    value: int  # the id of the value for a tape around the call, 0 without a tape


class Lifter:
    """The Arrays of one trace whose data is replaced by traced data ("lifted").

    ran : the ``Ran`` that registers the functions that run.  recorded : whether a tape records the
    call.  If so, the lifted Arrays keep their value ids, and the tape's records share their data.
    """

    def __init__(self, trace: Trace, ran: Ran, recorded: bool = False) -> None:
        self.trace, self.ran, self.recorded = trace, ran, recorded
        self.spoil = trace.spoil
        self.lifted: dict[int, Lifted] = {}  # id(Array) -> ``Lifted``, in the order of inputs
        self.views: dict[int, list[Array]] = {}  # id(Array) -> arguments that are views of it

        self.loans = Loans(self.spoil)
        self.calls = Calls(self.see, ran.returned)
        self.mode = pushed(LiftingMode(self))
        self.is_looking = False
        self.before = ACTIVE.get(), MAKING.get()
        self.restored: set[int] = set()
        self.written: dict[int, tuple[Node, Any, int]] = {}

    @property
    def handles(self) -> list[Array]:
        """Return the Arrays with traced data, in the order of the inputs of the program."""
        return [one.handle for one in self.lifted.values()]

    def argument(self, x: Array) -> None:
        """Replace the data of an argument by traced data, but not that of the Array whose view it is."""
        if not isinstance(x, Variable):
            current(x)  # updates the data of a view after writes to the viewed Array
        if x._state & IS_VIEW:
            self.views.setdefault(id(x._view.root), []).append(x)
        self.put_in(x)

    def found(self, x: Array) -> None:
        """Replace the data of a used Array (for a view, of the viewed Array) by traced data."""
        try:
            root = root_of(x)
            if type(root._data) not in TRACED_TYPES:
                return
        except AttributeError:  # the Array is under construction and has no data yet
            return
        if id(root) in self.lifted:
            return
        if root._state & PINNED:
            return  # the contents become a constant, which a replay compares with the memory
        if is_shared(root):
            self.spoil("an Array that it uses shares memory with code outside arraytape")
            return  # the Array keeps its memory, so that both sides see writes
        self.put_in(root)
        if id(root) in self.views:
            self.rejoin(root, self.views.pop(id(root)))

    def rejoin(self, root: Array, views: list[Array]) -> None:
        """Make the arguments ``views`` views of ``root`` again, because the function uses the root, too.

        Values that the function has written to the views are written to the root.  The trace gets no
        program.
        """
        self.spoil("an argument is a view of an Array that it uses")
        for x in views:
            one = self.lifted[id(x)]
            now = x._data
            x._state, x._value_id = one.state, one.value_id
            x._view.src = None
            if now is not one.traced:
                x[...] = wrap(now, 0, 0)

    def put_in(self, x: Array) -> None:
        """Replace the data of an Array by traced data, a new input of the program."""
        if type(x._data) not in TRACED_TYPES:
            self.spoil(f"data of {type(x._data).__name__} is not traced")
            return
        value_id = x._current_id() if self.recorded else 0
        traced = self.trace.input(keep_data(x) if self.recorded else x._data)
        self.lifted[id(x)] = Lifted(x, x._data, x._state, x._value_id, traced, value_id)
        if not isinstance(x, Variable):
            x._value_id, x._state = value_id, x._state & SCALAR
        x._data = traced

    def put_back(self) -> dict[int, tuple[Node, Any, int]]:
        """Restore the data of each lifted Array, and return the values that the function wrote to them.

        The result is a dict from an Array's index in ``handles`` to (node, value, value id): the node
        that computes the value, and the id that a tape follows, or 0.  If an interrupt stops the
        method, a second call restores the remaining Arrays.
        """
        for place, (x, data, state, value_id, traced, _) in enumerate(self.lifted.values()):
            if place in self.restored:
                continue
            # The state of ``x`` has IS_VIEW only after ``rejoin``, which wrote to the viewed Array.
            now = current(x)[1] if not x._state & IS_VIEW else traced
            if now is not traced and now is not data:
                if is_shared(x._view.root if state & IS_VIEW else x):
                    self.spoil("it writes to memory that code outside arraytape shares")
                node = self.trace.node_of(now)
                own = x._current_id() if self.recorded else 0
                self.written[place] = node, untraced(now), own
            x._state, x._value_id = state, value_id
            x._data = data
            if state & IS_VIEW:
                x._view.src = x._view.root._data
            self.restored.add(place)
        return self.written

    # --- while the function runs ------------------------------------------------------------------
    def start(self) -> None:
        """Begin to trace the computations of this thread, and to register the functions it calls."""
        self.before = ACTIVE.get(), MAKING.get()
        ACTIVE.set(self.trace)
        MAKING.set(TRACED)
        self.mode._begin()
        self.calls.start()
        self.trace.hook = self.calls.only

    def stop(self) -> None:
        """End the tracing, and restore the settings from before ``start``; may be called repeatedly."""
        if not self.calls.stop():
            self.spoil("a debugger or another tracing tool was started while it ran")
        self.mode._end()
        ACTIVE.set(self.before[0])
        MAKING.set(self.before[1])

    def see(self, frame: FrameType) -> bool:
        """Register the call of a function outside arraytape; ``Calls`` passes the frame of each call.

        Return True if ``Calls`` shall pass the result of the call to ``Ran.returned``.
        """
        code, known, above = frame.f_code, self.ran.libraries, frame.f_back
        if code.co_filename in THREADS and code.co_name in STARTERS:
            self.spoil("it has work done by a thread, which is not followed")
        if code in known and above is not None and above.f_code in known:
            return False  # most calls: caller and callee are registered functions of a library
        return self.ran.note(frame)

    def look(self, values: Iterable[Any]) -> None:
        """Replace the data of the Arrays in ``values``, an op's operands, by traced data.

        Before that, apply the writes of NumPy code to exported copies (``Loans.collect``).
        """
        if self.is_looking:
            return
        self.is_looking = True
        try:
            if self.loans.live:
                self.loans.collect()
            self.look_into(values, ())
        finally:
            self.is_looking = False

    def look_into(self, values: Iterable[Any], around: tuple[Any, ...]) -> None:
        """Replace the data of the Arrays among values, and in nested lists and tuples, by traced data.

        around : the enclosing lists; a list that contains itself is not entered again.
        """
        for value in values:
            if isinstance(value, Array):
                self.found(value)
            elif type(value) in LISTS and not any(value is one for one in around):
                self.look_into(value, (*around, value))

    def look_after_write(self) -> None:
        """Update the copies of Arrays' data that NumPy code holds, after an op wrote to an Array."""
        if self.loans.live and not self.is_looking:
            self.loans.give()
            self.look(())


class LiftingMode(Mode):
    """A mode that notifies the ``Lifter`` of each op on Arrays, and of other reads and writes."""

    def __init__(self, lifter: Lifter) -> None:
        self.lifter = lifter

    def before(self, own: OpFunctionLike, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        lifter = self.lifter
        for x in args:
            if type(x) is Array:
                if not isinstance(x._data, Traced):
                    break
            elif type(x) not in AS_IT_IS:
                break
        else:
            if not (kwargs or lifter.loans.live):
                return  # the fast way for most calls: all operands are traced already
        lifter.look((*args, *kwargs.values()))

    def meets(self, x: RawArray) -> None:
        self.lifter.look((x,))

    def wrote(self, x: RawArray) -> None:
        self.lifter.look_after_write()

    def exported(self, x: Array, value: np.ndarray[Any, Any]) -> None:
        self.lifter.loans.lend(x, value)

    def misses(self) -> None:
        self.lifter.spoil("it computes in another context, which is not followed")


def commit(x: Array, value: RawArray, value_id: int = 0) -> None:
    """Write a value to an Array, as the traced function did.

    value_id : the id that a tape around the call follows for the value, or 0.
    """
    new = wrap(value, value_id, KEPT)
    if isinstance(x, Variable):
        x.assign(new)
    elif x._state & IS_VIEW or not value_id:
        x[...] = new
    else:  # the tape has recorded the write already: write without recorders, and set the id
        with only_recorders():
            x[...] = new
        x._value_id = value_id
