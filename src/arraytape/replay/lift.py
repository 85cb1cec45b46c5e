"""Arrays that a traced function is given, or finds: their data is traced while it runs.

A handle keeps its identity: its data is put aside, traced data takes its place, and what the function
has written is found when the data is put back.  Arrays that are no arguments are found by a trace
function, which sees each call into the package before its body reads a handle.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from .._array.array import FOREIGN, IS_VIEW, SCALAR, Array, wrap
from .._array.views import current
from .._storage.storage import MAKING
from .._util.errors import PACKAGE
from ..variable import Variable
from .program import Node
from .storage import TRACED
from .trace import ACTIVE, Trace, Traced

RAW = tuple(
    f"{PACKAGE}{room}" for room in ("replay", "_storage", "_record", "_util")
)  # see data alone
OURS = ("<arraytape", PACKAGE)  # beginnings of the names of our files
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
        self.views: dict[int, Array] = {}  # views that were given, by id of their roots

    @property
    def handles(self) -> list[Array]:
        """The lifted handles, in the order of the program's inputs."""
        return [one.handle for one in self.lifted.values()]

    def argument(self, x: Array) -> None:
        """Lift an Array that the function is given; a view by itself, without its root."""
        if x._state & IS_VIEW and x._view.root._state & FOREIGN:
            self.spoil("an argument shares memory with foreign code")
        current(x)  # brings a view up to date
        if x._state & IS_VIEW:
            self.views[id(x._view.root)] = x
        self.put_in(x)

    def found(self, x: Array) -> None:
        """Lift an Array that the function uses without having been given it."""
        try:
            root = x._view.root if x._state & IS_VIEW else x
            data = root._data
        except AttributeError:  # it is being made
            return
        if id(root) in self.views:
            self.spoil("an argument is a view of an Array that the function uses, too")
        if id(root) not in self.lifted and type(data) is np.ndarray:
            self.put_in(root)

    def put_in(self, x: Array) -> None:
        if type(x._data) is not np.ndarray:
            self.spoil(f"data of {type(x._data).__name__} is not traced")
            return
        if x._state & FOREIGN:
            self.spoil("an Array shares memory with foreign code")
        traced = self.trace.input(x._data)
        self.lifted[id(x)] = Lifted(x, x._data, x._state, x._tid, traced)
        if not isinstance(x, Variable):
            x._tid, x._state = 0, x._state & SCALAR
        x._data = traced

    def spoil(self, why: str) -> None:
        self.trace.spoiled = self.trace.spoiled or why

    def put_back(self) -> dict[int, tuple[Node, Any]]:
        """Give each handle its data; what was written, by the handle's place: node and value."""
        written = {}
        for place, (x, data, state, tid, traced) in enumerate(self.lifted.values()):
            now = current(x)[1]
            x._data, x._state, x._tid = data, state, tid
            if now is not traced:
                node = self.trace.node_of(now)
                written[place] = node, now.value if type(now) is Traced else now
        return written

    # --- the trace function -----------------------------------------------------------------------
    def see(self, frame: FrameType) -> None:
        """Lift the Arrays among the arguments of a call into the package."""
        file = frame.f_code.co_filename
        if not file.startswith(OURS) or file.startswith(RAW):
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
    """Within it what this thread computes is noted; a debugger, or coverage, goes on."""
    before = sys.gettrace()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        lifter.see(frame)
        return None if before is None else before(frame, event, argument)

    tokens = ACTIVE.set(lifter.trace), MAKING.set(TRACED)
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
        MAKING.reset(tokens[1])
        ACTIVE.reset(tokens[0])


def commit(x: Array, value: Any) -> None:
    """Write a value to a handle, as the function did."""
    new = wrap(value, 0, 0)
    if isinstance(x, Variable):
        x.assign(new)
    else:
        x[...] = new
