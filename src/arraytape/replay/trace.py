"""Tracing: data that notes each call on it, and the program that comes of it."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType
from typing import Any
from weakref import WeakSet

import numpy as np

from .._define.define_op import read_only
from .._define.raw_calls import NO_REGISTRY, at_users_line, is_warning, with_globals
from .._storage import numpy_namespace
from .._storage.batched.data import Batched
from .._storage.storage import HOST, MAKING
from .._util.errors import foreign, user_line
from .program import CONSTANT, INPUT, Guard, Node, Program, replaced

ACTIVE: ContextVar[Trace | None] = ContextVar("arraytape trace", default=None)

# Calls whose results have a shape that depends on values.
SHAPED = frozenset(
    ("nonzero", "repeat", "unique_all", "unique_counts", "unique_inverse", "unique_values")
)

FOREIGN = "foreign"  # what the names of calls of functions that are not ours begin with
# The types of arguments that are no data and have none in them.
AS_IT_IS = frozenset((bool, complex, float, int, str, type(None), type(...), type))

# Functions of ours around an op: the second is there in the first call of the op alone.
WRAPPERS = ("public", "uncompiled")
EXITS = {"numpy": "np.asarray", "array": "np.asarray", "representation": "repr", "text": "str"}


class Trace:
    """A program in the making.

    spoiled : why it cannot be replayed, "" while it can.  foreign : memory that is not ours and became
    constants, each beside the node that has a copy of it.
    """

    def __init__(self) -> None:
        self.program = Program()
        self.spoiled = ""
        self.open = True
        self.foreign: list[tuple[Any, Node]] = []
        self.constants: dict[int, tuple[Any, Node]] = {}  # by id, with what keeps the id taken
        self.effects: list[Any] = []  # calls of callbacks: see ``callback``
        self.live: WeakSet[Traced] = WeakSet()
        self.lines: dict[Node, str] = {}  # where constants were met
        self.places: dict[str, str] = {}  # where functions were called that are not ours
        self.errors = np.geterr()
        self.quiet = False  # whether something was computed under another np.errstate

    def input(self, data: Any) -> Traced:
        """Data that each replay is given anew."""
        node = Node(INPUT, like=data)
        self.program.inputs.append(node)
        self.program.nodes.append(node)
        return self.traced(node, data)

    def constant(self, data: Any) -> Node:
        """Data that is the same in each replay; it is not written to as long as the program lives."""
        known = self.constants.get(id(data))
        if known is None:
            node = Node(CONSTANT, like=data, value=data)
            self.lines[node] = user_line()
            self.program.nodes.append(node)
            known = self.constants[id(data)] = (data, node)
        return known[1]

    def from_outside(self, data: Any) -> Traced:
        """A copy of memory that others may write to; a guard compares it."""
        node = self.constant(data.copy(order="K"))
        self.foreign.append((data, node))
        return self.traced(node, node.value)

    def traced(self, node: Node, value: Any) -> Traced:
        found = Traced(self, node, value)
        self.live.add(found)
        return found

    def spoil(self, why: str) -> None:
        """Say why this is not to be replayed; the first reason counts."""
        self.spoiled = self.spoiled or why

    def guard(self, kind: str, node: Node, expected: Any) -> None:
        self.program.guards.append(Guard(kind, node, expected, exit_line()))

    def node_of(self, x: Any) -> Node:
        """The node of data: of a trace that has ended, and of plain data, a constant."""
        if type(x) is Traced:
            return x.node if x.trace is self else self.constant(value_of(x))
        return self.memory(x)

    def memory(self, data: Any) -> Node:
        """A constant of plain data, which others may write to unless NumPy forbids it."""
        if not data.flags.writeable and data.base is None:
            return self.constant(data)
        if id(data) not in self.constants:
            node = Node(CONSTANT, like=data, value=data.copy(order="K"))
            self.lines[node] = user_line()
            if node.value.strides != data.strides:
                node.value = data  # a broadcast or a part with gaps: by reference
            self.program.nodes.append(node)
            self.constants[id(data)] = data, node
            self.foreign.append((data, node))
        return self.constants[id(data)][1]

    def arguments(self, value: Any) -> Any:
        """Arguments of a raw function, with nodes in the place of data."""
        kind = type(value)
        if kind is Traced or kind is np.ndarray:
            return self.node_of(value)
        if kind is tuple or kind is list:
            return kind([self.arguments(part) for part in value])
        if kind is dict:
            return {name: self.arguments(part) for name, part in value.items()}
        if isinstance(value, np.generic):
            return self.constant(np.asarray(value))
        return integers(value) if kind is slice else value

    def opaque(self, name: str) -> str:
        """A name for one call of a function that is not ours: no other call is equal to it."""
        name = f"{FOREIGN}.{name}.{len(self.program.nodes)}"
        self.places[name] = user_line()
        return name

    def emit(self, op: str, call: Callable[..., Any], args: Any, keywords: Any) -> Any:
        """Call a raw function on values, and note it.

        A trace function sees each call of a Python function in here: there are few.
        """
        values, nodes, data = self.taken(args)
        options = named = keywords
        if keywords:
            options, named = values_of(keywords), self.arguments(keywords)
            data += arrays_in(options)
        value = called(call, values, options)
        self.quiet = self.quiet or np.geterr() != self.errors
        if isinstance(value, tuple | list):
            return self.several(op, call, nodes, named, value)
        if not isinstance(value, np.ndarray | np.generic):
            return value  # a dtype, a shape, a bool
        value = np.asarray(value)
        node = Node(op, call, nodes, named, value)
        node.view = not value.flags.writeable or shares_memory(value, data)
        self.program.nodes.append(node)
        if op in SHAPED or op[:7] == FOREIGN or (op == "getitem" and has_mask(values[1])):
            self.guard("shape", node, value.shape)
        found = Traced(self, node, value)
        self.live.add(found)
        return found

    def taken(self, args: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], list[Any]]:
        """Arguments with values in the place of data, with nodes in that place, and the values."""
        values, nodes, data = [], [], []
        for x in args:
            kind = type(x)
            if kind is Traced and x.trace is self:
                values.append(x.value)
                nodes.append(x.node)
                data.append(x.value)
            elif kind in AS_IT_IS:
                values.append(x)
                nodes.append(x)
            else:
                value = values_of(x)
                values.append(value)
                nodes.append(self.arguments(x))
                data += arrays_in(value)
        return tuple(values), tuple(nodes), data

    def several(self, op: str, call: Any, args: Any, keywords: Any, values: Any) -> Any:
        """The results of a call that has several."""
        whole = Node(op, call, args, keywords)
        parts = []
        for i, value in enumerate(values):
            if not isinstance(value, np.ndarray | np.generic):
                parts.append(value)
                continue
            if whole not in self.program.nodes[-len(values) - 1 :]:
                self.program.nodes.append(whole)
            value = np.asarray(value)
            node = Node("item", operator.getitem, (whole, i), like=value)
            node.view = True
            self.program.nodes.append(node)
            if is_shaped(op):
                self.guard("shape", node, value.shape)
            parts.append(self.traced(node, value))
        return type(values)(*parts) if hasattr(values, "_fields") else type(values)(parts)

    def look(self, x: Traced) -> Any:
        """The value on the host, by which the function may decide anything: a guard compares it."""
        self.guard("value", x.node, x.value.tobytes())
        return x.value.copy()


class Traced:
    """Raw data whose calls are noted.

    Outside its trace, in another thread or once that has ended, it is its value and notes nothing.
    """

    __slots__ = ("__weakref__", "node", "trace", "value")
    __array_priority__ = 500

    def __init__(self, trace: Trace, node: Node, value: Any) -> None:
        self.trace, self.node, self.value = trace, node, value

    @property
    def shape(self) -> Any:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self.value.size  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def strides(self) -> Any:
        return self.value.strides

    @property
    def device(self) -> Any:
        return HOST

    @property
    def mT(self) -> Any:
        return call("matrix_transpose", numpy_namespace.matrix_transpose, self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "at" or not all(map(is_plain, inputs)):
            return NotImplemented
        if "out" in options:  # memory outside arraytape is written to: a look at the values
            if any(type(x) is Traced for x in options["out"]):
                return NotImplemented
            return getattr(ufunc, method)(*map(looked_at, inputs), **options)
        if method == "__call__":
            return call(ufunc.__name__, ufunc, *inputs, **options)
        return foreign_call(f"{ufunc.__name__}.{method}", getattr(ufunc, method), inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        if not all(kind is Traced or issubclass(kind, np.ndarray) for kind in types):
            return NotImplemented
        return foreign_call(function.__name__, function, args, keywords)

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES:
            return foreign_call(name, operator.attrgetter(name), (self,), {})
        if name not in METHODS:
            raise AttributeError(f"a traced value has no {name}")
        return functools.partial(method_call, name, self)

    def __getitem__(self, key: Any) -> Any:
        return call("getitem", numpy_namespace.getitem, self, key)

    def __len__(self) -> int:
        return len(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        found = looked_at(self)
        return found if dtype is None else found.astype(dtype)

    def __bool__(self) -> bool:
        return bool(looked_at(self))

    def __float__(self) -> float:
        return float(looked_at(self))

    def __int__(self) -> int:
        return int(looked_at(self))

    def __index__(self) -> int:
        return operator.index(looked_at(self))

    def __complex__(self) -> complex:
        return complex(looked_at(self))

    def __repr__(self) -> str:
        return f"traced {self.value!r}"


def exit_line() -> str:
    """What looks at a value, with the user's line: ``__float__() at f.py:3``."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and not foreign(frame):
        name = frame.f_code.co_name if frame.f_code.co_name not in WRAPPERS else name
        frame = frame.f_back
    name = name.strip("_").removeprefix("to_") if name.isidentifier() else "a look at a value"
    return f"{EXITS.get(name, name)}() at {user_line()}"


# --- what is not ours: NumPy's functions and methods in rules of users ------------------------------
ATTRIBUTES = frozenset(("T", "flat", "imag", "real"))
METHODS = frozenset(
    ("all", "any", "argmax", "argmin", "argsort", "astype", "clip", "compress", "conj", "conjugate",
     "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "prod",
     "ravel", "repeat", "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take",
     "trace", "transpose", "var", "view", "item", "tolist")
)  # fmt: skip


def is_plain(x: Any) -> bool:
    """Whether a ufunc's operand is data of NumPy's, traced or not, or a number."""
    return type(x) is not Batched and not hasattr(x, HANDLE)


def foreign_call(name: str, function: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """Call what may write to its arguments, were they not read-only here."""
    trace = ACTIVE.get()
    if trace is None:
        return function(*values_of(args), **values_of(keywords))
    return trace.emit(trace.opaque(name), protected(function), args, keywords)


def method_call(name: str, x: Traced, *args: Any, **keywords: Any) -> Any:
    """Call a method of ndarray's."""
    if name in ("item", "tolist"):
        return getattr(looked_at(x), name)(*args, **keywords)
    return foreign_call(name, getattr(np.ndarray, name), (x, *args), keywords)


def protected(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is given arrays as read-only views, and is one call for a trace."""

    def call(*args: Any, **keywords: Any) -> Any:
        given = [read_only(x) for x in args]
        tokens = ACTIVE.set(None), MAKING.set(None)
        try:
            return function(*given, **{name: read_only(x) for name, x in keywords.items()})
        finally:
            MAKING.reset(tokens[1])
            ACTIVE.reset(tokens[0])

    return call


def is_shaped(op: str) -> bool:
    """Whether the shapes of a call's results may depend on values."""
    return op in SHAPED or op.startswith(FOREIGN)


@functools.cache
def noticing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A raw function that raises where NumPy warns in it; see ``raw_calls``."""
    if getattr(function, "__globals__", None) is vars(numpy_namespace):
        return with_globals(function, NO_REGISTRY)  # type: ignore[no-any-return]
    return function


def called(function: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """What a raw function gives; NumPy's warnings have the user's line."""
    raw = noticing(function)
    try:
        return raw(*args, **keywords)
    except TypeError as error:
        if not is_warning(error):
            raise
        return at_users_line(raw, error)(*args, **keywords)


__warningregistry__ = ()  # NumPy raises in ``called`` where it would warn: see ``raw_calls``


# --- values -------------------------------------------------------------------------------------------
def value_of(x: Any) -> Any:
    """The value of data; who takes it outside of the trace, which goes on, spoils that."""
    if type(x) is not Traced:
        return x
    trace = x.trace
    if trace.open and ACTIVE.get() is not trace:
        trace.spoil("a value of it was used in another thread or trace")
    return x.value


def values_of(value: Any) -> Any:
    """Arguments with values in the place of traced data."""
    kind = type(value)
    if kind is Traced:
        return value_of(value)
    if kind is tuple or kind is list:
        return kind([values_of(part) for part in value])
    if kind is dict:
        return {name: values_of(part) for name, part in value.items()}
    return integers(value) if kind is slice else value


def integers(key: slice) -> slice:
    """A slice whose ends are Python's integers: 0-d Arrays are looked at."""
    ends = (key.start, key.stop, key.step)
    return slice(*[end if end is None else operator.index(end) for end in ends])


def arrays_in(value: Any) -> list[Any]:
    """The data among arguments that are values already."""
    kind = type(value)
    if kind is np.ndarray:
        return [value]
    if kind is dict:
        value = value.values()
    elif kind is not tuple and kind is not list:
        return []
    return [x for part in value if type(part) not in AS_IT_IS for x in arrays_in(part)]


def shares_memory(value: Any, data: list[Any]) -> bool:
    """Whether a value shares memory with data; one that owns its memory, with its own views alone."""
    owns = value.base is None
    for x in data:
        if value is x or (not (owns and x.base is None) and np.may_share_memory(value, x)):
            return True
    return False


def looked_at(x: Any) -> Any:
    """The value of data on the host."""
    if type(x) is Traced and x.trace is ACTIVE.get():
        return x.trace.look(x)
    return value_of(x)


def call(op: str, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Call a raw function; the active trace notes it."""
    trace = ACTIVE.get()
    if trace is None:
        return function(*values_of(args), **values_of(keywords))
    return trace.emit(op, function, args, keywords)


def has_mask(key: Any) -> bool:
    """Whether a key has a boolean array, so that the shape of what it names depends on values."""
    parts = key if type(key) is tuple else (key,)
    return any(getattr(getattr(part, "dtype", None), "kind", "") == "b" for part in parts)


# --- operators ----------------------------------------------------------------------------------------
BINARY = {
    "add": "add", "and": "bitwise_and", "eq": "equal", "floordiv": "floor_divide",
    "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lshift": "bitwise_left_shift",
    "lt": "less", "matmul": "matmul", "mod": "remainder", "mul": "multiply", "ne": "not_equal",
    "or": "bitwise_or", "pow": "power_operator", "rshift": "bitwise_right_shift", "sub": "subtract",
    "truediv": "divide", "xor": "bitwise_xor",
}  # fmt: skip
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
UNARY = {"abs": "abs", "invert": "bitwise_invert", "neg": "negative", "pos": "positive"}
HANDLE = "_tid"  # what Arrays have, whose own operators take traced data


def binary(short: str, op: str, reflected: bool) -> Callable[[Traced, Any], Any]:
    function = getattr(operator, {"and": "and_", "or": "or_"}.get(short, short))

    def method(x: Traced, other: Any) -> Any:
        if type(other) is Batched or hasattr(other, HANDLE):
            return NotImplemented
        return call(op, function, other, x) if reflected else call(op, function, x, other)

    return method


def unary(short: str, op: str) -> Callable[[Traced], Any]:
    function = getattr(operator, short)
    return lambda x: call(op, function, x)


for _short, _op in BINARY.items():
    setattr(Traced, f"__{_short}__", binary(_short, _op, False))
    if _short not in COMPARISONS:
        setattr(Traced, f"__r{_short}__", binary(_short, _op, True))
for _short, _op in UNARY.items():
    setattr(Traced, f"__{_short}__", unary(_short, _op))
Traced.__hash__ = object.__hash__  # type: ignore[method-assign]

__all__ = ["ACTIVE", "Trace", "Traced", "call", "looked_at", "replaced", "value_of", "values_of"]
