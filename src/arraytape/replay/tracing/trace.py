"""A trace: a program under construction, to which each call on traced data adds a node.

``traced.py`` and ``traced_storage.py`` pass calls to ``Trace.emit``.  A value that the function reads
(``float(x)``, ``if x > 0``) becomes a guard: a condition that each replay checks.  An effect that a
program cannot repeat spoils the trace: the call is then not replayed.
"""

from __future__ import annotations

import functools
import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from types import FrameType
from typing import Any
from weakref import ref

import numpy as np

from ..._define.raw_calls import NO_REGISTRY, at_users_line, is_warning, with_globals
from ..._record.op_facts import facts_of
from ..._storage import numpy_namespace
from ..._util.array_types import Index, RawArray
from ..._util.blocks import error_state
from ..._util.container_kinds import mapped_leaves
from ..._util.errors import outside, user_line
from ..program import CONSTANT, FOREIGN, INPUT, Guard, Node, Program
from .traced import (
    AS_IT_IS,
    TRACED_TYPES,
    Traced,
    call_unseen,
    plain_slice,
    traced_value,
    traced_values,
)

# NumPy functions whose results have shapes that depend on the values of their arguments.
SHAPED = frozenset(("np.lstsq", "np.polyfit", "np.unique"))

RAISES = "raises"  # prefix of ``Node.op`` for calls that raised in the traced function
# Options of np.errstate that a program cannot follow.
REPORTING_MODES = frozenset(("raise", "call", "log"))

# Functions of arraytape that a guard's ``line`` does not name, because users do not know them: wrappers
# of ops, and the object with which interop replaces a library's ``float`` ("__call__").
WRAPPERS = ("public", "first_call", "uncompiled", "__call__")
# Names of functions that convert to NumPy -> the users' expressions that call them.
EXPRESSIONS = {
    "numpy": "np.asarray",
    "array": "np.asarray",
    "representation": "repr",
    "text": "str",
}

# Not a dict: so CPython raises TypeError in ``call_on_ndarrays`` in place of one of NumPy's warnings.
__warningregistry__ = ()


class Trace:
    """A program under construction, while a user's function runs: calls on its data are recorded.

    program : the ``Program``, to which calls are added.
    spoiled : the reason why the call cannot be replayed, or "".
    open : False after the end of the traced call.
    users_arrays : pairs of a user's ndarray and a copy of it.  A replay compares the two, because the
        program contains the values of the copy.
    hook : the ``sys.settrace`` function that is suspended while NumPy's functions run, or None.
    """

    def __init__(self) -> None:
        self.program = Program()
        self.spoiled = ""
        self.open = True
        self.hook: Any = None
        self.users_arrays: list[tuple[Any, Any]] = []
        self.device = ""  # the device of data that is not on the host, such as "cuda:0", or ""
        self.device_state: Any = None  # CuPy's settings at the first call on the device
        self.constants: dict[int, tuple[Any, Node]] = {}  # id(data) -> (data, node)
        self.effects: list[Any] = []  # an ``Effect`` for each call of a callback
        self.made: list[ref[Traced]] = []  # all traced data of this trace
        self.lines: dict[Node, str] = {}  # constant -> source line of its first use
        self.places: dict[str, str] = {}  # op of a call outside arraytape -> its source line
        self.errors, self.state = np.geterr(), error_state()
        self.quiet = False  # True if the function sets np.errstate or warnings filters
        self.filter = next(iter(warnings.filters), None)
        self.filters, self.shows = warnings.filters, getattr(warnings, "_showwarnmsg_impl", None)

    # --- inputs and constants ---------------------------------------------------------------------
    def traced(self, node: Node, value: RawArray) -> Traced:
        """Return traced data, which records NumPy calls, for ``value``, which ``node`` computes."""
        kind = TRACED_TYPES[type(value)]
        found = kind(self, node, value)
        if kind is not Traced:
            self.note_device(node, kind.base.device(value))
        self.made.append(ref(found))
        return found

    def note_device(self, node: Node, device: str) -> None:
        """Store the device of a node's value; refuse a program for values on two devices."""
        node.device = device
        if device != self.device:
            if self.device:
                self.spoil(f"it computes on both {self.device} and {device}")
            self.device = device

    @property
    def live(self) -> list[Traced]:
        """Return the traced data of this trace to which something still refers.

        Traced data is a stand-in for an array, and records NumPy calls.
        """
        return [x for x in [one() for one in self.made] if x is not None]

    def input(self, data: RawArray) -> Traced:
        """Make ``data`` a new input of the program, and return traced data that stands in for it.

        Calls on traced data are recorded in the program.
        """
        node = Node(INPUT, like=data)
        self.program.inputs.append(node)
        self.program.nodes.append(node)
        return self.traced(node, data)

    def constant(self, data: RawArray) -> Node:
        """Return the constant of the program that holds this very ndarray; make it at the first call.

        The caller makes sure that nothing writes to the data as long as the program exists.
        """
        known = self.constants.get(id(data))
        return self.new_constant(data, data) if known is None else known[1]

    def new_constant(self, data: RawArray, value: RawArray) -> Node:
        """Add a constant with the value ``value`` to the program, and return its node.

        ``value`` is ``data`` itself, or a copy of it.  Later calls of ``constant(data)`` return the same
        node.
        """
        node = Node(CONSTANT, like=data, value=value)
        if type(value) is not np.ndarray:
            self.note_device(node, TRACED_TYPES[type(value)].base.device(value))
        self.lines[node] = user_line()
        self.program.nodes.append(node)
        self.constants[id(data)] = data, node
        return node

    def from_outside(self, data: np.ndarray[Any, Any]) -> Traced:
        """Return a copy of a user's ndarray as traced data, whose NumPy calls are recorded.

        Replays check that the ndarray is unchanged.
        """
        node = self.constant(data.copy(order="K"))
        self.users_arrays.append((data, node.value))
        return self.traced(node, node.value)

    def memory(self, data: np.ndarray[Any, Any]) -> Node:
        """Return a constant of the program for an ndarray that no recorded call has made.

        If code may write to the ndarray, each replay compares it with a copy that is made now.  The
        constant holds the copy, or the ndarray itself if the copy has other strides, as a copy of a
        broadcast has.  A call that reads new data on a device is not replayed.
        """
        if type(data) is not np.ndarray:
            if id(data) not in self.constants:
                self.spoil(
                    f"it reads a {type(data).__module__}.ndarray that was made outside arraytape. "
                    "Convert it by asarray before the call"
                )
            return self.constant(data)
        if id(data) in self.constants or (not data.flags.writeable and data.base is None):
            return self.constant(data)
        copy = data.copy(order="K")
        node = self.new_constant(data, copy if copy.strides == data.strides else data)
        self.users_arrays.append((data, copy))
        return node

    def node_of(self, x: Any) -> Node:
        """Return the program's value (node) for traced data; for other data, a constant.

        Traced data of another recording is treated like plain data.
        """
        if isinstance(x, Traced):
            return x.node if x.trace is self else self.constant(traced_value(x))
        return self.memory(x)

    # --- guards, and reasons against the program --------------------------------------------------
    def spoil(self, why: str) -> None:
        """Refuse to replay the call, for the reason ``why``; only the first reason is kept.

        An example is a write that a program cannot repeat.  The traced call goes on as usual, because
        its results are right in any case.
        """
        self.spoiled = self.spoiled or why

    def guard(self, kind: str, node: Node, expected: bytes | tuple[int, ...] | None) -> None:
        """Add a condition on the value of ``node``, which each replay checks.

        Messages on it name the user's line that runs now.  On a device, a condition other than "no NaN"
        spoils the trace, because each replay would have to wait for the device.
        kind : "value", "shape" or "no NaN".
        """
        if node.device and kind != "no NaN":
            self.spoil(f"{exit_line()} depends on values on {node.device}. Keep them Arrays")
        self.program.guards.append(Guard(kind, node, expected, exit_line()))

    def read_value(self, x: Traced) -> Any:
        """Return a copy of the value of x, which the function reads, for example by ``float(x)``.

        The branches of the function may depend on the value.  So a guard is added: a replay needs the
        same value.
        """
        self.guard("value", x.node, x.value.tobytes())
        return x.value.copy() if type(x) is Traced else call_unseen(x.base.host, x.value)

    # --- calls that are added to the program ------------------------------------------------------
    def name_foreign(self, name: str) -> str:
        """Return a unique op name for a call outside arraytape; store the user's line, for messages."""
        name = f"{FOREIGN}.{name}.{len(self.program.nodes)}"
        self.places[name] = user_line()
        return name

    def emit(
        self, op: str, call: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> Any:
        """Call a function on the values of its arguments, and add the call to the program.

        op : the name of the function in the program.
        call : the function, which takes raw data.
        args, keywords : its arguments, in which traced data stands for raw data.

        Return the result as traced data, or as a tuple or list of traced data.  A result that is no
        data, such as a dtype, is returned as it is.
        """
        values, nodes, data = self.split_arguments(args)
        options = named = keywords
        if keywords:
            options, named = traced_values(keywords), self.with_nodes(keywords)
            data += arrays_in(options)
        self.check_settings()
        try:
            value = call_on_ndarrays(call, values, options)
        except Exception as error:
            self.add_raising_call(op, Raises(call, error), nodes, named)
            raise
        if isinstance(value, tuple | list):
            return self.add_results(op, call, nodes, named, value)
        value = np.asarray(value) if isinstance(value, np.generic) else value
        if type(value) not in TRACED_TYPES:
            return value  # a result that is no data, such as a dtype, a shape or a bool
        node = Node(op, call, nodes, named, value)
        node.view = not is_writeable(value) or shares_memory(value, data)
        self.program.nodes.append(node)
        traced = self.traced(node, value)
        if is_shaped(op) or (op == "getitem" and has_mask(values[1])):
            self.guard_shape(op, node)
        return traced

    def guard_shape(self, op: str, node: Node) -> None:
        """Add a guard (a condition that replays check) on a shape that depends on values.

        An example is the shape of ``x[mask]``.  A call outside arraytape on a device needs no guard: it
        waits for the device, so that no graph, which has fixed shapes, is captured.
        """
        if not (node.device and op.startswith(FOREIGN)):
            self.guard("shape", node, node.shape)

    def check_settings(self) -> None:
        """Notice that the function, whose calls are recorded, has set np.errstate or warnings filters.

        ``emit`` calls this before it adds a call.  Replays of such a function run without NumPy's
        warnings (``quiet``).  If warnings are recorded or raise, the result may depend on them, so the
        call is not replayed.
        """
        state = error_state()
        if state != self.state:
            self.state, errors = state, np.geterr()
            self.quiet = self.quiet or errors != self.errors
            if errors != self.errors and not REPORTING_MODES.isdisjoint(errors.values()):
                self.spoil("it sets np.errstate so that errors raise, or call a function")
        if warnings.filters is not self.filters:  # the call is within warnings.catch_warnings
            self.quiet = True
            recorded = getattr(warnings, "_showwarnmsg_impl", None) is not self.shows
            new = takewhile(lambda one: one is not self.filter, warnings.filters)
            if recorded or any(one[0] == "error" for one in new):
                self.spoil("it records warnings, or makes errors of them")

    def add_raising_call(
        self, op: str, call: Raises, args: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> None:
        """Add a call that raised an error to the program; each replay must raise the error, too.

        The function may catch the error, so the program has to contain the call.
        call : makes the call, and returns True if it raises the same error.
        """
        if self.device:
            self.spoil(f"it catches an exception of {op} beside data on {self.device}")
        node = Node(f"{RAISES}.{op}", call, args, keywords, like=call.ALWAYS)
        self.program.nodes.append(node)
        self.guard("value", node, call.ALWAYS.tobytes())

    def add_results(
        self,
        op: str,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: Mapping[str, Any],
        values: tuple[Any, ...] | list[Any],
    ) -> Any:
        """Add a call with several results to the program: one node for the call, one for each result.

        values : the results, which get nodes with the op "item".  Return them as traced data, in a
            container of the same type.
        """
        whole = Node(op, call, args, keywords)
        parts = [self.add_item(whole, i, value) for i, value in enumerate(values)]
        return type(values)(*parts) if hasattr(values, "_fields") else type(values)(parts)

    def add_item(self, whole: Node, i: int, value: Any) -> Any:
        """Add a node "item" for ``value``, result i of the call ``whole``; return it as traced data.

        Before the first "item" node of a call, the node ``whole`` itself is added.  A value that is no
        array and no NumPy scalar gets no node, and is returned unchanged.
        """
        value = np.asarray(value) if isinstance(value, np.generic) else value
        if type(value) not in TRACED_TYPES:
            return value
        nodes = self.program.nodes
        if nodes[-1] is not whole and nodes[-1].args[:1] != (whole,):
            nodes.append(whole)
        node = Node("item", operator.getitem, (whole, i), like=value)
        node.view = True
        nodes.append(node)
        traced = self.traced(node, value)
        whole.device = node.device
        if is_shaped(whole.op):
            self.guard_shape(whole.op, node)
        return traced

    # --- arguments as nodes -----------------------------------------------------------------------
    def split_arguments(self, args: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...], list[Any]]:
        """Return the arguments of a call as values, as nodes of the program, and as a list of ndarrays.

        Values have ndarrays in place of traced data, which records NumPy calls.  With the nodes,
        ``emit`` describes the call in the program.  With the ndarrays, it finds out whether the result
        is a view.
        """
        values, nodes, data = [], [], []
        for x in args:
            kind = type(x)
            if kind is Traced and x.trace is self:
                value = x.value
                values.append(value)
                nodes.append(x.node)
                data.append(value)
            elif kind in AS_IT_IS:
                values.append(x)
                nodes.append(x)
            else:
                value = traced_values(x)
                values.append(value)
                nodes.append(self.with_nodes(x))
                data += arrays_in(value)
        return values, tuple(nodes), data

    def with_nodes(self, value: Any) -> Any:
        """Return a nesting of arguments with nodes (values of the program) in place of data."""
        return mapped_leaves(value, self.node_of_leaf)

    def node_of_leaf(self, x: Any) -> Any:
        """Return the program's node for an argument that is data; return other arguments as they are.

        A traced start or stop of a slice is read, so that replays check it.
        """
        kind = type(x)
        if isinstance(x, Traced) or kind in TRACED_TYPES:
            return self.node_of(x)
        if isinstance(x, np.generic):
            return self.constant(np.asarray(x))
        return plain_slice(x) if kind is slice else x


class Raises:
    """A callable that calls a function, and returns True if this raises the given error again.

    Each replay must raise the error, too.  The program has a ``Raises`` in place of a call that raised
    in the traced call.
    call : the function, which takes NumPy data.
    error : the error of the traced call.  Its type and text are compared.
    """

    ALWAYS = np.asarray(True)  # the result that a replay needs: the same error again

    def __init__(self, call: Callable[..., Any], error: Exception) -> None:
        self.call, self.kind, self.text = call, type(error), str(error)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        try:
            self.call(*args, **keywords)
        except Exception as error:
            return np.asarray(type(error) is self.kind and str(error) == self.text)
        return np.asarray(False)


def exit_line() -> str:
    """Return the user's expression that reads a value now, with its line: ``float() at f.py:3``.

    If the expression has no name, return ``the read of a value at f.py:3``.
    Messages about a guard (a condition on this value in replays) contain it.  The line is the nearest
    running line outside arraytape, which may belong to another library.
    """
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and not outside(frame.f_code.co_filename):
        name = frame.f_code.co_name if frame.f_code.co_name not in WRAPPERS else name
        frame = frame.f_back
    name = name.strip("_").removeprefix("to_")
    what = f"{EXPRESSIONS.get(name, name)}()" if name.isidentifier() else "the read of a value"
    line = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown line"
    return f"{what} at {line}"


def is_shaped(op: str) -> bool:
    """Return True if the shapes of a call's results may depend on the values of its arguments.

    Replays then check the shapes.
    """
    return bool(facts_of(op).data_dependent_shape) or op in SHAPED or op.startswith(FOREIGN)


def has_mask(key: Index) -> bool:
    """Return True if an index contains a mask: the shape of x[key] then depends on values."""
    parts = key if type(key) is tuple else (key,)
    return any(getattr(getattr(part, "dtype", None), "kind", "") == "b" for part in parts)


def call_on_ndarrays(
    function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Call a function on NumPy data; NumPy's warnings are reported at the user's line.

    A function of arraytape's own namespace would warn at its own line.  So a copy of the function runs
    first, in which NumPy raises an error in place of a warning; this is fast.  After the error, the
    call is repeated with the warning.
    """
    ours = getattr(function, "__globals__", None) is vars(numpy_namespace)
    raw = raising_on_warnings(function) if ours else function
    try:
        return raw(*args, **keywords)
    except TypeError as error:
        if not is_warning(error):
            raise
        return at_users_line(raw, error)(*args, **keywords)


@functools.cache
def raising_on_warnings(function: Callable[..., Any]) -> Any:
    """Return a copy of a function in which NumPy raises TypeError in place of a warning.

    The copy has its own globals, in which ``__warningregistry__`` is no dict.
    """
    return with_globals(function, NO_REGISTRY)


def arrays_in(value: Any) -> list[Any]:
    """Return the arrays in a nesting of tuples, lists and dicts, as a flat list."""
    kind = type(value)
    if kind in TRACED_TYPES:
        return [value]
    if kind is dict:
        value = value.values()
    elif kind is not tuple and kind is not list:
        return []
    return [x for part in value if type(part) not in AS_IT_IS for x in arrays_in(part)]


def shares_memory(value: Any, data: list[Any]) -> bool:
    """Return True if ``value``, a call's result, may share memory with one of its arguments ``data``.

    Two arrays without a base own their memory, so they share none, and no further check is needed.
    """
    owns, kind = value.base is None, type(value)
    shares = np.may_share_memory if kind is np.ndarray else TRACED_TYPES[kind].base.shares
    for x in data:
        if value is x:
            return True
        if not (owns and x.base is None) and type(x) is kind and shares(value, x):
            return True
    return False


def is_writeable(value: Any) -> bool:
    kind = type(value)
    if kind is np.ndarray:
        return value.flags.writeable  # type: ignore[no-any-return]
    return TRACED_TYPES[kind].base.writeable(value)
