"""One traced call of a function: the function runs as usual, and its computations become a program.

``Function.trace`` makes a ``Call`` and runs ``Call.trace_call``, which returns the function's result.
During the call, a ``Lifter`` replaces the data of each Array that the function uses by ``Traced`` data,
which records NumPy calls.  Afterwards the Call holds the program (``trace.program``), the description of
the result (``origins``, ``structure``) and the numbers of the written Arrays (``writes``).  If the call
cannot be replayed, ``spoiled`` is the reason.  ``compare.py`` compares two Calls, and ``plan_text.py``
writes the Python source that replays one Call.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import IS_VIEW, KEPT, SCALAR, Array
from .._array.paths import Path
from .._array.views import current, extended_path, refresh, root_of
from .._tape.recording import Recording
from .._util import nest
from .bound_arguments import argument_arrays, argument_leaves, check_apart, is_read_only
from .reach.ran import CalledFunctions, UnnamedState
from .reach.reasons import Changed, unreadable
from .reach.sameness import PLAIN, same_data
from .reach.state import State
from .recorded import Recorded
from .tracing.lift import Lifter, write_value
from .tracing.trace import Trace, is_writeable, shares_memory
from .tracing.traced import TRACED_TYPES, Traced


class LeafOrigin(NamedTuple):
    """The source from which a replay takes one Array or other object ("leaf") of the function's result.

    A leaf lies within the result's lists, tuples and dicts.  One of the first four fields is set.
    output : the number of an output of the program.
    handle : the number of a lifted Array, one that existed before the call.
    argument : the number of a leaf among the arguments.
    value : a plain value.
    state : for an output, SCALAR or 0, to be set in the Array's ``_state``.
    path : if the leaf is a view of the output or handle, the path of the view.
    view : if the leaf is a view, its number among the views in the result, else -1.
    """

    output: int = -1
    handle: int = -1
    argument: int = -1
    value: Any = None
    state: int = 0
    path: Path = ()
    view: int = -1


class Call:
    """A call of a user's function in which its NumPy calls are recorded ("traced") as a program.

    names, values : the names and values of the arguments, in the order of the parameters.
    tape : the tape that records the call, or None.
    found : Python state that earlier calls used although no name in the function's code leads to it,
        such as a library's hook.  This call adds what it finds.
    spoiled : the reason why the call cannot be replayed, or "".
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Sequence[str],
        values: Sequence[Any],
        tape: Recording | None = None,
        found: UnnamedState | None = None,
    ) -> None:
        self.function, self.names, self.values = function, names, values
        self.trace = Trace()
        self.recorded = None if tape is None else Recorded(tape, self.trace)
        self.arrays = argument_arrays(values)
        check_apart(self.arrays)
        self.found = UnnamedState() if found is None else found
        # Whether the call used state that ``State`` had not compared before the call.
        self.found_new_state = False
        self.state = State(function, dict(zip(names, values, strict=True)), self.found)
        self.ran = CalledFunctions(self.state.user_codes)
        self.lifter = Lifter(self.trace, self.ran, tape is not None)
        self.read = self.state.read
        self.reached = self.read(values)
        self.result: Any = None
        # The types and keys of the result's containers, from the function ``result_structure``.
        self.structure: Any = None
        self.same: dict[int, int] = {}  # id(container in the result) -> number of this argument
        self.leaves: list[Any] = []  # the Arrays and other objects in the containers of the result
        self.origins: list[LeafOrigin] = []  # for each leaf, where it comes from
        self.outputs: dict[int, int] = {}  # id(Array in the result) -> number of the output
        self.settled: list[Any] = []  # ndarrays that have replaced traced data of result Arrays
        self.views: dict[int, int] = {}  # id(view in the result) -> number of the view
        # Number of a lifted Array that the function wrote to -> its new (node, value, value id).
        self.written: dict[int, Any] = {}
        self.writes: list[int] = []  # the numbers of the lifted Arrays that the function wrote to
        self.output_ids: list[int] = []  # the value ids of the outputs
        self.written_ids: list[int] = []  # the value ids of the written values
        self.closed = False
        self.drawn_path = ""  # path of a random generator or iterator that the call may have used
        self.other_inputs: list[Any] = []  # the result of ``other_arrays``

    @property
    def spoiled(self) -> str:
        return self.trace.spoiled

    def spoil_call(self, why: str) -> None:
        """Refuse to replay the call, for the reason ``why``; the call itself goes on.

        Only the first reason is kept.
        """
        self.trace.spoil(why)

    def trace_call(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the function and return its result; record its NumPy calls as a program.

        While the function runs, its Arrays hold traced data, a stand-in that records NumPy calls.
        Afterwards the Arrays' own data is put back, even after an error.
        """
        try:
            return self.traced_run(args, keywords)
        except BaseException:  # an interrupt may have stopped ``close_trace``: call it again
            self.close_trace()
            self.release_traced()
            raise

    def traced_run(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the function, record its NumPy calls, and describe its result and effects.

        The data of its Arrays is replaced by traced data, a stand-in that records the calls. Effects are
        writes to Arrays and calls of callbacks.
        """
        try:
            for x in self.arrays:
                self.lifter.lift_argument(x)
            if self.recorded is not None:
                self.recorded.note_start()
            self.lifter.start()
            self.result = self.function(*args, **keywords)
            self.lifter.exports.apply_numpy_writes()
            self.lifter.stop()
            self.describe_result()
            self.origins = [self.describe_leaf(leaf) for leaf in self.leaves]
            for effect in self.trace.effects:
                self.trace.program.outputs += [value.node for value in effect.noted_values]
        finally:
            self.close_trace()
            for effect in self.trace.effects:
                effect.run_after_trace()
        self.rejoin_views()
        self.other_inputs = self.other_arrays()
        self.check_program()
        return self.result

    def other_arrays(self) -> list[Any]:
        """Return the Arrays that the function used but that are no arguments, such as globals.

        An Array that ``State`` reached by a path, such as "model.w", is represented by its index in
        ``reached``, so that two calls are compared by path.
        """
        paths = {id(x): i for i, x in enumerate(self.reached)}
        return [paths.get(id(x), x) for x in self.lifter.handles[len(self.arrays) :]]

    def describe_result(self) -> None:
        """Set ``leaves``, ``same`` and ``structure``, from which a replay builds the function's result.

        ``leaves`` says where each Array or value of the result comes from. ``structure`` has the types
        of the lists, tuples and dicts around them. ``same`` has the containers that are arguments.
        """
        try:
            self.leaves = nest.leaves(self.result)
            self.note_containers(self.result, set())
            self.structure = result_structure(self.result, self.same)
        except (TypeError, ValueError, RecursionError) as error:
            self.spoil_call(f"its result cannot be taken apart ({error})")

    def note_containers(self, value: Any, met: set[int]) -> None:
        """Note in ``same`` which lists, dicts and other mutable containers of the result are arguments.

        A replay returns these arguments, and makes all other containers anew.  So the call is not
        replayed if another mutable container is in the result twice, or existed before the call.
        value : the result.  met : the ids of the containers found so far.
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
                self.spoil_call("the same container is twice in its result")
            elif id(value) in self.state.known:
                self.spoil_call(
                    "a container in its result existed before the call. Return a copy of it"
                )
            met.add(id(value))
        for _, part in nest.items_of(parts):
            self.note_containers(part, met)

    def close_trace(self) -> None:
        """Put the own data of all used Arrays back, then write the function's new values to them.

        A second call does nothing, or completes the first one after an interrupt. While the function
        ran, the Arrays held traced data, a stand-in that records NumPy calls.
        """
        self.lifter.stop()
        self.trace.open = False
        self.written |= self.lifter.restore_data()
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
            write_value(handles[place], value, value_id)
            del self.written[place]
        self.lifter.exports.end_exports()

    def recorded_ids(self) -> list[int]:
        """Return for each output, and then for each written value, its id in ``recorded.records``.

        The id is 0 for a value that the tape does not follow.  A replay under a tape replaces these ids
        by value ids of its own.
        """
        ids = self.recorded.ids if self.recorded is not None else {}
        return [ids.get(value_id, 0) for value_id in (*self.output_ids, *self.written_ids)]

    def release_call_data(self) -> None:
        """Release the arguments and results of this call, so that they use no memory.

        The call is kept until an equal call follows, because a program is replayed only after two equal
        calls.
        """
        self.values, self.result, self.leaves, self.arrays = (), None, [], []
        self.settled = []
        del self.state, self.reached, self.ran, self.lifter.ran
        self.lifter.lifted.clear()

    # --- description of the result ----------------------------------------------------------------
    def describe_leaf(self, leaf: Any) -> LeafOrigin:
        """Return from where a replay takes this leaf of the result, such as an output of the program.

        If the leaf is an Array that the call made, replace its traced data (a stand-in that records
        NumPy calls) by NumPy data.
        """
        if not isinstance(leaf, Array):
            return self.plain_leaf(leaf)
        root = root_of(leaf)
        made = id(leaf) in self.outputs or id(root) in self.outputs
        if type(root._data) in TRACED_TYPES and not made:
            self.lifter.lift_used(root)  # an Array that no op used, but that the function returns
        lifted = [*self.lifter.lifted]
        if id(leaf) in self.lifter.lifted:
            return LeafOrigin(handle=lifted.index(id(leaf)))
        if id(root) in self.lifter.lifted:
            return LeafOrigin(handle=lifted.index(id(root)), **self.view_given(leaf))
        if root is not leaf and (self.shares_root(leaf) or is_read_only(leaf)):
            return LeafOrigin(output=self.output_number(root), **self.view_given(leaf))
        return LeafOrigin(output=self.output_number(leaf), state=leaf._state & SCALAR)

    def plain_leaf(self, leaf: Any) -> LeafOrigin:
        """Return from where a replay takes a leaf of the result that is no Array.

        The leaf is an argument, or else a constant.
        """
        for i, given in enumerate(argument_leaves(self.values)):
            if given is leaf and type(leaf) not in PLAIN:
                return LeafOrigin(argument=i)
        if type(leaf) not in PLAIN and not isinstance(leaf, np.generic | np.dtype | type):
            self.spoil_call(
                f"a part of its result is a {type(leaf).__name__}, neither an Array nor a number"
            )
        return LeafOrigin(value=leaf)

    def output_number(self, x: Array) -> int:
        """Return the number of the program's output for an Array that the call has made.

        At the first call for an Array, add the output.  The program is the list of recorded NumPy calls.
        """
        if id(x) not in self.outputs:
            self.outputs[id(x)] = len(self.trace.program.outputs)
            value_id, data = current(x)
            self.output_ids.append(value_id)
            self.trace.program.outputs.append(self.trace.node_of(data))
            self.settle_array(root_of(x))
            current(x)
        return self.outputs[id(x)]

    def shares_root(self, leaf: Array) -> bool:
        """Return True if the result also contains the Array that ``leaf`` shows, or another view of it.

        leaf : a view in the result.
        """
        root = root_of(leaf)
        return any(
            x is not leaf and isinstance(x, Array) and root_of(x) is root for x in self.leaves
        )

    def view_given(self, leaf: Array) -> dict[str, Any]:
        """Return the fields ``path`` and ``view`` of ``LeafOrigin`` for a view in the result.

        The path has the steps (indexing, reshape, ...) from the viewed Array to the view. If the path
        contains an index array, the call is not replayed: the array's values may differ in the next
        call.
        """
        path = leaf._view.path
        if not is_plain_path(path):
            self.spoil_call("a result is a view at an index that is an array")
        number = self.views.setdefault(id(leaf), len(self.views))
        return {"path": path, "view": number}

    def rejoin_views(self) -> None:
        """Make each view in the result share memory again with the Array that it shows, its root.

        While the call was recorded, both had data of their own.  If the root is an argument that is
        itself a view, the result becomes a view of that view's root.
        """
        for leaf in self.leaves:
            if isinstance(leaf, Array) and leaf._state & IS_VIEW:
                view = leaf._view
                above = view.root
                if above._state & IS_VIEW:
                    view.path = extended_path(above._view.root, above._view.path, view.path)
                    view.root, view.seen = above._view.root, 0
                view.src = None
                refresh(leaf)

    def settle_array(self, x: Array) -> None:
        """Give x, an Array that the call has made, a NumPy array in place of its traced data.

        The value is copied if it is read-only or shares memory with another Array of the call. Traced
        data is a stand-in for an array, and records NumPy calls.
        """
        if isinstance(x._data, Traced):
            value = x._data.value
            taken = [*[one.data for one in self.lifter.lifted.values()], *self.settled]
            if not is_writeable(value) or shares_memory(value, taken):
                value = value.copy(order="K")
            x._data = value
            self.settled.append(value)
            if self.recorded is not None:
                x._state |= KEPT

    # --- checks after the call --------------------------------------------------------------------
    def check_program(self) -> None:
        """Refuse to replay the call if it had an effect that recorded NumPy calls cannot repeat."""
        if self.recorded is not None and self.recorded.why:
            self.spoil_call(f"under a tape: {self.recorded.why}")
        if self.state.why_uncomparable:
            self.spoil_call(self.state.why_uncomparable)
        if self.recorded is not None and self.trace.device:
            self.spoil_call(f"under a tape, calls on {self.trace.device} are not replayed")
        try:
            self.check_state()
            self.add_unnamed_state()
        finally:
            self.release_traced()

    def add_unnamed_state(self) -> None:
        """Add to ``found`` the state that the call used although no name in the code leads to it.

        An example is the state of a library's hook.  Later calls compare it before they replay.
        Set ``found_new_state`` if some of the state is new.  If a user's object raises an exception when
        it is inspected, the call is not replayed.
        """
        given: set[int] = set()
        pending = [self.result]
        while pending:
            value = pending.pop()
            if id(value) not in given:
                given.add(id(value))
                parts = nest.parts_of_nesting(value)
                pending += [] if parts is None else [part for _, part in nest.items_of(parts)]
        try:
            self.found_new_state = self.found.add_call(self.ran, self.state.known, given)
        except Exception as error:  # a user's object may raise when it is inspected
            self.spoil_call(unreadable(error))

    def check_state(self) -> None:
        """Refuse to replay the call if it changed Python state that the function reads.

        Such state is, for example, a global counter. A replay would not repeat the change.
        """
        self.drawn_path = self.state.mutable_sources.changed_path()
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
        for data, copy in self.trace.users_arrays:
            if not same_data(data, copy):
                self.spoil_call(
                    f"memory outside arraytape, of shape {data.shape}, changes while it runs"
                )

    def release_traced(self) -> None:
        """Replace traced data by its values in all Arrays that still exist after the call.

        Traced data is the stand-in for an array that records NumPy calls. If such an Array is not in the
        result, the call is not replayed, because replays would not make the Array.
        """
        for generation in range(3):  # younger generations first: a full collection may take long
            if not self.kept_traced():
                return
            gc.collect(generation)
        kept = self.kept_traced()
        for traced in kept[:1]:
            self.spoil_call(
                f"an Array of shape {traced.shape} that it made is kept beside its result. Return it"
            )
        for holder in gc.get_referrers(*kept) if kept else ():
            if isinstance(holder, Array) and isinstance(holder._data, Traced):
                self.settle_array(holder)

    def kept_traced(self) -> list[Traced]:
        """Return the traced data that still exists after the call, except for that of the call's inputs.

        Traced data is the stand-in for an array that records NumPy calls.
        """
        own = {id(one.traced) for one in self.lifter.lifted.values()}
        return [traced for traced in self.trace.live if id(traced) not in own]


def is_plain_path(path: Any) -> bool:
    """Return True if the path from an Array to its view has no index array.

    An index array may hold other values in the next call, so that a replay could not make the view.
    """
    if type(path) is tuple:
        return all(map(is_plain_path, path))
    return type(path) in PLAIN


def result_structure(value: Any, same: dict[int, int]) -> Any:
    """Return the types of the containers in a nesting, with the names of their elements.

    Two calls can share a program only if the structures of their results are equal.
    same : id of a container that is an argument -> number of this argument, which is returned in place
        of the container's type.
    """
    parts = nest.parts_of_nesting(value)
    if parts is None or id(value) in same:
        return same.get(id(value))
    items = nest.items_of(parts)
    return type(value), tuple([(name, result_structure(part, same)) for name, part in items])
