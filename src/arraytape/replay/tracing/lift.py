"""Lifting: give the Arrays that a traced function uses ``Traced`` data, and restore their data later.

``Call`` makes a ``Lifter``, which replaces the data of each argument by a ``Traced`` object.  This
object is an input of the program.  ``LiftingMode`` lifts Arrays that are no arguments before an op first
uses them.  ``restore_data`` puts the data of all Arrays back.  An Array that then holds another
``Traced`` object than its input was written to by the function.  Its new value becomes a write of the
program.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ..._array.array import IS_VIEW, KEPT, PINNED, SCALAR, Array, View, wrap
from ..._array.exports import is_shared
from ..._array.views import current, extended_path, keep_data, root_of
from ..._record.mode_stack import Mode, OpFunctionLike, pushed
from ..._record.stack import only_recorders
from ..._storage.storage import MAKING
from ..._util.array_types import RawArray
from ...variable import Variable
from ..program import Node
from ..reach.ran import CalledFunctions
from .exported_buffers import ExportedCopies
from .frames import THREADS, CallReporter
from .trace import Trace
from .traced import ACTIVE, AS_IT_IS, TRACED_TYPES, Traced, untraced
from .traced_storage import TRACED

LISTS = (tuple, list)
STARTERS = ("start", "submit")  # methods of threads and executors that start work in a thread


class Lifted(NamedTuple):
    """An Array that holds traced data, with what it held before: data, ``_state`` and ``_value_id``.

    Traced data is a stand-in that records NumPy calls.
    traced : the input of the program that stands in for ``data``.
    followed_id : the id of the value for the tape around the call, 0 without a tape.
    """

    handle: Array
    data: Any
    state: int
    value_id: int
    traced: Traced
    followed_id: int


class Lifter:
    """The Arrays whose data is replaced while a function's calls are recorded ("lifted" Arrays).

    They hold traced data instead, a stand-in that records NumPy calls as a program.
    ran : the functions that run during the call are registered here.
    recorded : whether a tape records the call.  If so, the lifted Arrays keep their value ids, and the
        tape's records share their data.
    """

    def __init__(self, trace: Trace, ran: CalledFunctions, recorded: bool = False) -> None:
        self.trace, self.ran, self.recorded = trace, ran, recorded
        self.spoil = trace.spoil
        self.lifted: dict[int, Lifted] = {}  # id(Array) -> ``Lifted``, in the order of inputs
        self.views: dict[int, list[Array]] = {}  # id(Array) -> arguments that are views of it

        self.exports = ExportedCopies(self.spoil)
        self.calls = CallReporter(self.register_call, ran.returned)
        self.mode = pushed(LiftingMode(self))
        self.is_lifting = False
        self.before = ACTIVE.get(), MAKING.get()
        # The numbers of the Arrays whose data ``restore_data`` has put back.
        self.restored: set[int] = set()
        self.written: dict[int, tuple[Node, Any, int]] = {}  # the result of ``restore_data``

    @property
    def handles(self) -> list[Array]:
        """Return the Arrays whose data is replaced by a stand-in, in the order of the inputs."""
        return [one.handle for one in self.lifted.values()]

    def lift_argument(self, x: Array) -> None:
        """Replace the data of an argument by traced data, a stand-in that records NumPy calls.

        If the argument is a view, the Array that it shows keeps its data, until the function uses that
        Array, too.
        """
        if not isinstance(x, Variable):
            current(x)  # updates the data of a view after writes to the viewed Array
        if x._state & IS_VIEW:
            self.views.setdefault(id(x._view.root), []).append(x)
        self.replace_data(x)

    def lift_used(self, x: Array) -> None:
        """Replace the data of an Array that an op uses by traced data, a stand-in that records calls.

        If x is a view, the data of the Array that it shows (its root) is replaced.
        """
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
        self.replace_data(root)
        if id(root) in self.views:
            self.rejoin_views(root, self.views.pop(id(root)))

    def rejoin_views(self, root: Array, views: list[Array]) -> None:
        """Make the arguments ``views`` views of ``root`` again, because the function uses the root, too.

        Until then, each argument had a stand-in of its own for its data.  Values that the function has
        written to the views are written to the root, and views of the arguments become views of the
        root.  The call is not replayed.
        """
        self.spoil("an argument is a view of an Array that it uses")
        token = ACTIVE.set(self.trace)  # the function may have ended, if the root is in its result
        try:
            for x in views:
                one = self.lifted[id(x)]
                now, value_id = x._data, x._value_id
                x._state, x._value_id = one.state, one.value_id
                x._view.src = None
                if now is not one.traced:
                    x[...] = wrap(now, value_id, KEPT)
                for link in gc.get_referrers(x):  # links of views of x that the function has made
                    if isinstance(link, View) and link.root is x:
                        link.path = extended_path(root, x._view.path, link.path)
                        link.root, link.src, link.seen = root, None, 0
        finally:
            ACTIVE.reset(token)

    def replace_data(self, x: Array) -> None:
        """Replace the data of an Array by traced data, a stand-in that is a new input of the program.

        From then on, each op on the Array adds its calls to the program.
        """
        if type(x._data) not in TRACED_TYPES:
            self.spoil(f"data of {type(x._data).__name__} is not traced")
            return
        value_id = x._current_id() if self.recorded else 0
        traced = self.trace.input(keep_data(x) if self.recorded else x._data)
        self.lifted[id(x)] = Lifted(x, x._data, x._state, x._value_id, traced, value_id)
        if not isinstance(x, Variable):
            x._value_id, x._state = value_id, x._state & SCALAR
        x._data = traced

    def restore_data(self) -> dict[int, tuple[Node, Any, int]]:
        """Give each used Array its own data back, and return the values that the function wrote to them.

        The result is a dict from an Array's index in ``handles`` to (node, value, value id): the node
        computes the value, and the id is the one that a tape follows, or 0.  If an interrupt stops the
        method, a second call restores the remaining Arrays.
        """
        for place, (x, data, state, value_id, traced, _) in enumerate(self.lifted.values()):
            if place in self.restored:
                continue
            # The state of x has IS_VIEW only after ``rejoin_views``, which wrote to the viewed Array.
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
        """Begin to record the computations of this thread, and to register called functions."""
        self.before = ACTIVE.get(), MAKING.get()
        ACTIVE.set(self.trace)
        MAKING.set(TRACED)
        self.mode._begin()
        self.calls.start()
        self.trace.hook = self.calls.suspendable

    def stop(self) -> None:
        """End the recording, and restore the settings from before; may be called repeatedly."""
        if not self.calls.stop():
            self.spoil("a debugger or another tracing tool was started while it ran")
        self.mode._end()
        ACTIVE.set(self.before[0])
        MAKING.set(self.before[1])

    def register_call(self, frame: FrameType) -> bool:
        """Register the call of a function outside arraytape, whose frame ``CallReporter`` passes.

        Return True if ``CallReporter`` shall report the result of the call, too.
        """
        code, known, above = frame.f_code, self.ran.libraries, frame.f_back
        if code.co_filename in THREADS and code.co_name in STARTERS:
            self.spoil("it has work done by a thread, which is not followed")
        if code in known and above is not None and above.f_code in known:
            return False  # most calls: caller and callee are registered functions of a library
        return self.ran.note(frame)

    def lift_operands(self, values: Iterable[Any]) -> None:
        """Replace the data of an op's operands, Arrays in ``values``, by stand-ins that record calls.

        Before that, apply the writes that NumPy code made to copies of Arrays' data.
        """
        if self.is_lifting:
            return
        self.is_lifting = True
        try:
            if self.exports.copies:
                self.exports.apply_numpy_writes()
            self.lift_nested(values, ())
        finally:
            self.is_lifting = False

    def lift_nested(self, values: Iterable[Any], around: tuple[Any, ...]) -> None:
        """Replace the data of the Arrays in ``values``, and in lists and tuples within, by stand-ins.

        The stand-ins, traced data, record NumPy calls.
        around : the lists that enclose ``values``.  A list that contains itself is not entered again.
        """
        for value in values:
            if isinstance(value, Array):
                self.lift_used(value)
            elif type(value) in LISTS and not any(value is one for one in around):
                self.lift_nested(value, (*around, value))

    def update_after_write(self) -> None:
        """Update the copies of Arrays' data that NumPy code holds, after an op wrote to an Array.

        In eager code, such a copy shares the Array's memory.
        """
        if self.exports.copies and not self.is_lifting:
            self.exports.update_copies()
            self.lift_operands(())


class LiftingMode(Mode):
    """The mode that notifies a ``Lifter`` of each op on Arrays, and of other reads and writes.

    Its methods are those of ``Mode``, which arraytape calls while the mode is active.  The Lifter
    replaces the Arrays' data by stand-ins, whose NumPy calls are recorded.
    """

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
            if not (kwargs or lifter.exports.copies):
                return  # the fast way for most calls: all operands are traced already
        lifter.lift_operands((*args, *kwargs.values()))

    def meets(self, x: RawArray) -> None:
        self.lifter.lift_operands((x,))

    def wrote(self, x: RawArray) -> None:
        self.lifter.update_after_write()

    def exported(self, x: Array, value: np.ndarray[Any, Any]) -> None:
        self.lifter.exports.add_copy(x, value)

    def misses(self) -> None:
        self.lifter.spoil("it computes in another context, which is not followed")


def write_value(x: Array, value: RawArray, value_id: int = 0) -> None:
    """Write ``value`` to the Array x, at the end of a traced or replayed call that writes to x.

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
