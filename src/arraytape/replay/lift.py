"""Arrays that a traced function is given, or finds: their data is traced while it runs.

A handle keeps its identity: its data is put aside, traced data takes its place, and what the function
has written is found when the data is put back.  Arrays that are no arguments are found by a profile
function, which sees each call into the package before its body reads a handle.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from .._array.array import IS_VIEW, PINNED, SCALAR, Array, wrap
from .._array.exports import is_shared
from .._array.views import current
from .._storage.storage import MAKING
from .._util.errors import PACKAGE
from ..variable import Variable
from .program import Node
from .storage import TRACED
from .trace import ACTIVE, Trace, Traced

GENERATED = "<arraytape"
MANY = 64  # parts of a list that are looked at


class Lifted(NamedTuple):
    """A handle whose data is traced, and what it held before."""

    handle: Array
    data: Any
    state: int
    tid: int
    traced: Traced


class Lifter:
    """Lifts handles into a trace, and puts them back."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.lifted: dict[int, Lifted] = {}  # by id of the handle
        self.pinned: dict[int, Lifted] = {}  # handles on memory outside, which is no input
        self.views: dict[int, Array] = {}  # views that were given, by id of their roots

    @property
    def handles(self) -> list[Array]:
        """The lifted handles, in the order of the program's inputs."""
        return [one.handle for one in self.lifted.values()]

    def argument(self, x: Array) -> None:
        """Lift an Array that the function is given; a view by itself, without its root."""
        current(x)  # brings a view up to date
        if x._state & IS_VIEW:
            self.views[id(x._view.root)] = x
        self.put_in(x)

    def found(self, x: Array) -> None:
        """Lift an Array that the function uses without having been given it."""
        try:
            root = x._view.root if x._state & IS_VIEW else x
            data, state = root._data, root._state
        except AttributeError:  # it is being made
            return
        if id(root) in self.views:
            self.spoil("an argument is a view of an Array that the function uses, too")
        if id(root) in self.lifted or id(root) in self.pinned:
            return
        if state & PINNED:
            self.pin(root)
        elif type(data) is np.ndarray:
            self.put_in(root)

    def put_in(self, x: Array) -> None:
        if type(x._data) is not np.ndarray:
            self.spoil(f"data of {type(x._data).__name__} is not traced")
            return
        self.replace(x, self.trace.input(x._data), x._data, self.lifted)

    def pin(self, x: Array) -> None:
        """Lift a handle on memory outside arraytape, whose values are constants with a guard."""
        data = x._data
        if type(data) is np.ndarray:
            self.replace(x, self.trace.from_outside(data), data, self.pinned)
        elif type(data) is Traced and data.trace is self.trace:  # made while tracing
            memory = self.trace.memory_of(data.node)
            if memory is not None:
                self.pinned[id(x)] = Lifted(x, memory, x._state, x._tid, data)

    def replace(self, x: Array, traced: Traced, data: Any, known: dict[int, Lifted]) -> None:
        known[id(x)] = Lifted(x, data, x._state, x._tid, traced)
        if not isinstance(x, Variable):
            x._tid, x._state = 0, x._state & SCALAR
        x._data = traced

    def spoil(self, why: str) -> None:
        self.trace.spoil(why)

    def put_back(self) -> dict[int, tuple[Node, Any]]:
        """Give each handle its data; what was written, by the handle's place: node and value."""
        if self.trace.overwritten():
            self.spoil("NumPy code wrote to the memory of an Array")
        written = {}
        for place, (x, data, state, tid, traced) in enumerate(self.lifted.values()):
            now = current(x)[1]
            x._data, x._state, x._tid = data, state, tid
            if now is not traced:
                if is_shared(x._view.root if state & IS_VIEW else x):
                    self.spoil("it writes to memory that foreign code shares")
                node = self.trace.node_of(now)
                written[place] = node, now.value if type(now) is Traced else now
        for x, data, state, tid, traced in self.pinned.values():
            now = current(x)[1]
            x._data, x._state, x._tid = data, state, tid
            if now is not traced:
                self.spoil("it writes to memory outside arraytape")
                data[...] = now.value if type(now) is Traced else now
        return written

    # --- the profile function ---------------------------------------------------------------------
    def see(self, frame: FrameType, event: Any, argument: Any) -> None:
        """Lift the Arrays among the arguments of a call into the package."""
        if event != "call":
            return
        file = frame.f_code.co_filename
        if not file.startswith((GENERATED, PACKAGE)):
            return
        for value in frame.f_locals.values():
            if isinstance(value, Array):
                self.found(value)
            elif type(value) is tuple or type(value) is list:
                for part in value[:MANY]:
                    if isinstance(part, Array):
                        self.found(part)


@contextmanager
def tracing(lifter: Lifter) -> Iterator[None]:
    """Within it what this thread computes is noted; a profile function of others goes on."""
    before = sys.getprofile()

    def profile(frame: FrameType, event: Any, argument: Any) -> None:
        lifter.see(frame, event, argument)
        if before is not None:
            before(frame, event, argument)

    tokens = ACTIVE.set(lifter.trace), MAKING.set(TRACED)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        MAKING.reset(tokens[1])
        ACTIVE.reset(tokens[0])


def commit(x: Array, value: Any) -> None:
    """Write a value to a handle, as the function did."""
    new = wrap(value, 0, 0)
    if isinstance(x, Variable):
        x.assign(new)
    else:
        x[...] = new
