"""One traced call: the function runs as usual, and its computations become a program."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import IS_VIEW, KEPT, SCALAR, Array
from .._array.paths import Path
from .._array.views import below, current, refresh, root_of
from .._tape.recording import Recording
from .._util import nest
from .bound_arguments import argument_arrays, argument_leaves, check_apart, is_read_only
from .reach.ran import Found, Ran
from .reach.reasons import Changed, unreadable
from .reach.sameness import PLAIN, same_data
from .reach.state import State
from .recorded import Recorded
from .tracing.lift import Lifter, commit
from .tracing.trace import Trace, shares_memory
from .tracing.traced import Traced


class Given(NamedTuple):
    """A leaf of a function's result, given by one of these.

    output : the program's output of this number, in state ``state``.  handle : the lifted Array of
    this number.  argument : the leaf of this number among the arguments.  value : a plain value.
    path : of a view of that output or handle; ``view`` is the number of the view.
    """

    output: int = -1
    handle: int = -1
    argument: int = -1
    value: Any = None
    state: int = 0
    path: Path = ()
    view: int = -1


class Call:
    """A call during and after its tracing.

    values : the arguments, in the order of the parameters.  tape : the tape that records the call,
    if any.  found : state that calls of this signature read and that names do not lead to; this
    call adds to it.  spoiled : why there is no program, or "".
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Sequence[str],
        values: Sequence[Any],
        tape: Recording | None = None,
        found: Found | None = None,
    ) -> None:
        self.function, self.names, self.values = function, names, values
        self.trace = Trace()
        self.recorded = None if tape is None else Recorded(tape, self.trace)
        self.arrays = argument_arrays(values)
        check_apart(self.arrays)
        self.found = Found() if found is None else found
        self.late = False  # whether it read state that was not compared before it ran
        self.state = State(function, dict(zip(names, values, strict=True)), self.found)
        self.ran = Ran(self.state.codes)
        self.lifter = Lifter(self.trace, self.ran, tape is not None)
        self.read = self.state.read
        self.reached = self.read(values)
        self.result: Any = None
        self.structure: Any = (
            None  # the nesting of the result, kept since the caller may change the result
        )
        self.same: dict[int, int] = {}  # by id of a container in the result, the argument's number
        self.leaves: list[Any] = []
        self.given: list[Given] = []
        self.outputs: dict[int, int] = {}  # by id of a result, its number
        self.settled: list[Any] = []  # data of results
        self.views: dict[int, int] = {}  # by id of a result that is a view, its number
        self.written: dict[
            int, Any
        ] = {}  # by place of a handle, node, value and id to be committed
        self.writes: list[int] = []
        self.output_ids: list[int] = []  # of values that tapes may follow
        self.written_ids: list[int] = []
        self.closed = False
        self.drawn = ""  # the path of a random source or iterator that was asked
        self.others: list[Any] = []

    @property
    def spoiled(self) -> str:
        return self.trace.spoiled

    def spoil_call(self, why: str) -> None:
        self.trace.spoil(why)

    def trace_call(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the function; whatever happens, restore the data of all handles afterwards."""
        try:
            return self.traced_run(args, keywords)
        except BaseException:  # an interrupt, perhaps in the middle of ``close_trace``
            self.close_trace()
            self.release_traced()
            raise

    def traced_run(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        try:
            for x in self.arrays:
                self.lifter.argument(x)
            if self.recorded is not None:
                self.recorded.begin()
            self.lifter.start()
            self.result = self.function(*args, **keywords)
            self.lifter.loans.collect()
            self.lifter.stop()
            self.take_apart()
            self.given = [self.describe_leaf(leaf) for leaf in self.leaves]
            for effect in self.trace.effects:
                self.trace.program.outputs += [value.node for value in effect.noted_values]
        finally:
            self.close_trace()
            for effect in self.trace.effects:
                effect.as_traced()
        self.rejoin()
        self.others = self.other_arrays()
        self.check_program()
        return self.result

    def other_arrays(self) -> list[Any]:
        """Return for each Array that is no argument the number of its path, or the Array itself."""
        paths = {id(x): i for i, x in enumerate(self.reached)}
        return [paths.get(id(x), x) for x in self.lifter.handles[len(self.arrays) :]]

    def take_apart(self) -> None:
        """Find the leaves and the structure of the result."""
        try:
            self.leaves = nest.leaves(self.result)
            self.containers(self.result, set())
            self.structure = structure(self.result, self.same)
        except (TypeError, ValueError, RecursionError) as error:
            self.spoil_call(f"its result cannot be taken apart ({error})")

    def containers(self, value: Any, met: set[int]) -> None:
        """Find arguments among containers in the result; spoil the call if another one is shared.

        Tuples may be shared: they are immutable.
        """
        parts = nest.parts_of_nesting(value)
        if parts is None:
            return
        if type(value) is not tuple:
            place = [i for i, one in enumerate(self.values) if one is value]
            if place:
                self.same[id(value)] = place[0]
                return
            if id(value) in met:
                self.spoil_call("one container is twice in its result")
            elif id(value) in self.state.known:
                self.spoil_call(
                    "a container in its result is one that it found. Return a copy of it"
                )
            met.add(id(value))
        for _, part in nest.items_of(parts):
            self.containers(part, met)

    def close_trace(self) -> None:
        """Give all handles their data back, and write what the function wrote.

        A second call does nothing, or completes the first one after an interrupt.
        """
        self.lifter.stop()
        self.trace.open = False
        self.written |= self.lifter.put_back()
        if self.recorded is not None:
            self.recorded.end_records([*self.lifter.lifted.values()])
        if not self.closed:
            self.writes = [*self.written]
            self.trace.program.writes = [node for node, _, _ in self.written.values()]
            self.written_ids = [value_id for _, _, value_id in self.written.values()]
            self.closed = True
        handles = self.lifter.handles
        while self.written:
            place = next(iter(self.written))
            _, value, value_id = self.written[place]
            commit(handles[place], value, value_id)
            del self.written[place]
        self.lifter.loans.end()

    def given_ids(self) -> list[int]:
        """Return the ids of outputs and writes in ``recorded``; 0 for values without a tape."""
        ids = self.recorded.ids if self.recorded is not None else {}
        return [ids.get(value_id, 0) for value_id in (*self.output_ids, *self.written_ids)]

    def set_aside(self) -> None:
        """Keep what a comparison needs, and release the arguments and results of this call."""
        self.values, self.result, self.leaves, self.arrays = (), None, [], []
        self.settled = []
        del self.state, self.reached, self.ran, self.lifter.ran
        self.lifter.lifted.clear()

    # --- the result -------------------------------------------------------------------------------
    def describe_leaf(self, leaf: Any) -> Given:
        """Return how a program gives a leaf of the result; replace traced data of an Array."""
        if not isinstance(leaf, Array):
            return self.plain_leaf(leaf)
        root = root_of(leaf)
        made = id(leaf) in self.outputs or id(root) in self.outputs
        if type(root._data) is np.ndarray and not made:
            self.lifter.found(root)  # not used, and yet given
        lifted = [*self.lifter.lifted]
        if id(leaf) in self.lifter.lifted:
            return Given(handle=lifted.index(id(leaf)))
        if id(root) in self.lifter.lifted:
            return Given(handle=lifted.index(id(root)), **self.view_given(leaf))
        if root is not leaf and (self.shares_root(leaf) or is_read_only(leaf)):
            return Given(output=self.output(root), **self.view_given(leaf))
        return Given(output=self.output(leaf), state=leaf._state & SCALAR)

    def plain_leaf(self, leaf: Any) -> Given:
        """Return how a program gives a leaf that is no Array: an argument or a constant."""
        for i, given in enumerate(argument_leaves(self.values)):
            if given is leaf and type(leaf) not in PLAIN:
                return Given(argument=i)
        if type(leaf) not in PLAIN and not isinstance(leaf, np.generic | np.dtype | type):
            self.spoil_call(
                f"a part of its result is a {type(leaf).__name__}, neither an Array nor a number"
            )
        return Given(value=leaf)

    def output(self, x: Array) -> int:
        """Return the number of an output for an Array that the call has made."""
        if id(x) not in self.outputs:
            self.outputs[id(x)] = len(self.trace.program.outputs)
            value_id, data = current(x)
            self.output_ids.append(value_id)
            self.trace.program.outputs.append(self.trace.node_of(data))
            self.settle_array(root_of(x))
            current(x)
        return self.outputs[id(x)]

    def shares_root(self, leaf: Array) -> bool:
        """Return True if another result is a view of the same root."""
        root = root_of(leaf)
        return any(
            x is not leaf and isinstance(x, Array) and root_of(x) is root for x in self.leaves
        )

    def view_given(self, leaf: Array) -> dict[str, Any]:
        """Return the number and path of a view; spoil the call if the path has an array index."""
        path = leaf._view.path
        if not has_no_data(path):
            self.spoil_call("a result is a view at an index that is an array")
        number = self.views.setdefault(id(leaf), len(self.views))
        return {"path": path, "view": number}

    def rejoin(self) -> None:
        """Make results that are views share memory with their roots again."""
        for leaf in self.leaves:
            if isinstance(leaf, Array) and leaf._state & IS_VIEW:
                about = leaf._view
                above = about.root
                if above._state & IS_VIEW:
                    about.path = below(above._view.root, above._view.path, about.path)
                    about.root, about.seen = above._view.root, 0
                about.src = None
                refresh(leaf)

    def settle_array(self, x: Array) -> None:
        """Replace the traced data of an Array that the call has made by its value."""
        if type(x._data) is Traced:
            value = x._data.value
            taken = [*[one.data for one in self.lifter.lifted.values()], *self.settled]
            if not value.flags.writeable or shares_memory(value, taken):
                value = value.copy(order="K")
            x._data = value
            self.settled.append(value)
            if self.recorded is not None:
                x._state |= KEPT

    # --- afterwards -------------------------------------------------------------------------------
    def check_program(self) -> None:
        """Spoil the call if it did what a program cannot do."""
        if self.recorded is not None and self.recorded.why:
            self.spoil_call(f"under a tape: {self.recorded.why}")
        if self.state.full:
            self.spoil_call(self.state.full)
        try:
            self.check_state()
            self.note_what_ran()
        finally:
            self.release_traced()

    def note_what_ran(self) -> None:
        """Add the functions that ran to ``found``, so that the next call compares their state."""
        given: set[int] = set()
        pending = [self.result]
        while pending:
            value = pending.pop()
            if id(value) not in given:
                given.add(id(value))
                parts = nest.parts_of_nesting(value)
                pending += [] if parts is None else [part for _, part in nest.items_of(parts)]
        try:
            self.late = self.found.add_what_ran(self.ran, self.state.known, given)
        except Exception as error:  # a user's object may raise when it is inspected
            self.spoil_call(unreadable(error))

    def check_state(self) -> None:
        self.drawn = self.state.moving.moved_path()
        try:
            after = self.state.read(self.values)
        except Changed as change:
            self.spoil_call(f"it changes {change}. Make it an Array, or pass and return it")
            return
        except Exception as error:
            self.spoil_call(unreadable(error))
            return
        for path, x, y in zip(self.state.paths, self.reached, after, strict=True):
            if x is not y:
                self.spoil_call(
                    f"it binds {path} to another Array. Write to it ({path}[...] = value)"
                )
        for data, node in self.trace.foreign:
            if not same_data(data, node.value):
                self.spoil_call(
                    f"memory outside arraytape, of shape {data.shape}, changes while it runs"
                )

    def release_traced(self) -> None:
        """Replace traced data that anything outlives the call with, by values.

        An Array that is kept aside from the result spoils the call.
        """
        for generation in range(3):  # a full collection may take long, and is rarely needed
            if not self.kept_traced():
                return
            gc.collect(generation)
        kept = self.kept_traced()
        for traced in kept[:1]:
            self.spoil_call(
                f"an Array of shape {traced.shape} that it made is kept beside its result. Return it"
            )
        for holder in gc.get_referrers(*kept) if kept else ():
            if isinstance(holder, Array) and type(holder._data) is Traced:
                self.settle_array(holder)

    def kept_traced(self) -> list[Traced]:
        """Return traced data that still exists, except for that of the lifter."""
        own = {id(one.traced) for one in self.lifter.lifted.values()}
        return [traced for traced in self.trace.live if id(traced) not in own]


def has_no_data(path: Any) -> bool:
    """Return True if a path consists only of plain values."""
    if type(path) is tuple:
        return all(map(has_no_data, path))
    return type(path) in PLAIN


def structure(value: Any, same: dict[int, int]) -> Any:
    """Return the types of containers in a nesting, with the names of their parts.

    same : by id of a container, the number of the argument that it is, which stands for it.
    """
    parts = nest.parts_of_nesting(value)
    if parts is None or id(value) in same:
        return same.get(id(value))
    items = nest.items_of(parts)
    return type(value), tuple([(name, structure(part, same)) for name, part in items])
