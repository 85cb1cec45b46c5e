"""Traced data: the raw data of Arrays while a function is traced.

A ``Traced`` object holds an ndarray, and the node of the program that computes it.  Operators, ufuncs
and raw functions on traced data compute their result as usual.  They also add a node to the trace
(``Trace.emit``).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Iterable
from contextvars import ContextVar
from sys import gettrace, settrace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._define.define_op import read_only
from ..._storage import numpy_namespace
from ..._storage.batched.batched_data import Batched
from ..._storage.numpy_storage import NUMPY
from ..._storage.storage import HOST, MAKING
from ..._util.array_types import Index, RawArray
from ..._util.blocks import Setting
from ..._util.container_kinds import mapped_leaves

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..._storage.storage import Storage
    from ..program import Node
    from .trace import Trace


# The Trace that is under construction in this thread, or None.
ACTIVE: ContextVar[Any] = ContextVar("arraytape trace", default=None)
HANDLE = "_value_id"  # an attribute by which Arrays are recognised: only they have it
# The types of arguments that neither are data nor contain data.
AS_IT_IS = frozenset((bool, complex, float, int, str, type(None), type(...), type))


class Traced:
    """A stand-in for an ndarray that records each NumPy call on it, for an ``xp.function``.

    trace : the ``Trace``, the program under construction.
    node : the node of the program that computes the data.
    value : the data, an ndarray.
    base : the storage of the values: NumPy's, or that of a device in a subclass.

    In another thread, or after the end of the trace, calls compute with the value, and are not added.
    """

    __slots__ = ("__weakref__", "node", "trace", "value")
    __array_priority__ = 500
    base: Storage = NUMPY

    def __init__(self, trace: Trace, node: Node, value: Any) -> None:
        self.trace, self.node, self.value = trace, node, value

    # Properties written in C are fast, and their calls are not reported to the trace function.
    shape: Any = property(operator.attrgetter("value.shape"))
    ndim: Any = property(operator.attrgetter("value.ndim"))
    size: Any = property(operator.attrgetter("value.size"))
    dtype: Any = property(operator.attrgetter("value.dtype"))
    strides: Any = property(operator.attrgetter("value.strides"))

    @property
    def device(self) -> Any:
        return HOST

    @property
    def mT(self) -> Any:
        return call_noted("matrix_transpose", numpy_namespace.matrix_transpose, self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "at" or not all(map(is_plain_operand, inputs)):
            return NotImplemented
        # With ``out``, NumPy writes the result to an ndarray of the user.  A program does not repeat
        # that, so that ``guarded_value`` adds a guard: a replay needs the same inputs.
        if "out" in options:
            if any(isinstance(x, Traced) for x in options["out"]):
                return NotImplemented
            return getattr(ufunc, method)(*map(guarded_value, inputs), **options)
        pythons = ufunc.types[0].startswith("O")  # a ufunc that np.frompyfunc made
        if method == "__call__" and not pythons:
            return call_noted(ufunc.__name__, ufunc, *inputs, **options)
        return foreign_call(f"{ufunc.__name__}.{method}", getattr(ufunc, method), inputs, options)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        if not all(issubclass(kind, Traced | self.base.kind) for kind in types):
            return NotImplemented
        return foreign_call(function.__name__, function, args, keywords)

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES:
            return foreign_call(name, operator.attrgetter(name), (self,), {})
        if name not in METHODS:
            raise AttributeError(f"a traced value has no {name}")
        return functools.partial(method_call, name, self)

    def __getitem__(self, key: Index) -> Any:
        return call_noted("getitem", numpy_namespace.getitem, self, key)

    def __len__(self) -> int:
        return len(self.value)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Any:
        found = guarded_value(self)
        return found if dtype is None else found.astype(dtype)

    def __bool__(self) -> bool:
        return bool(guarded_value(self))

    def __float__(self) -> float:
        return float(guarded_value(self))

    def __int__(self) -> int:
        return int(guarded_value(self))

    def __index__(self) -> int:
        return operator.index(guarded_value(self))

    def __complex__(self) -> complex:
        return complex(guarded_value(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Traced:
        return self  # no copy is needed, because nothing writes to traced data

    def __reduce__(self) -> Any:
        return guarded_value(self).__reduce__()

    def __repr__(self) -> str:
        return f"traced {self.value!r}"


# Type of raw data that a trace can follow -> the type of traced data that stands in for it.  A type for
# CuPy's arrays is added by ``traced_on_device.enter_device_data``.
TRACED_TYPES: dict[type, type[Traced]] = {np.ndarray: Traced}


# --- values of traced data ----------------------------------------------------------------------------
def untraced(x: Any) -> Any:
    """Return the value of traced data, or plain data itself, without a guard or a check of the thread.

    Traced data is a stand-in for an array, which records NumPy calls.
    """
    return x.value if isinstance(x, Traced) else x


def traced_value(x: Any) -> Any:
    """Return the value of traced data (a stand-in that records calls), or plain data itself.

    No trace records what the caller computes with the value.  So if the data belongs to an open trace
    of another thread, that trace is spoiled: the function that it traces is not replayed.
    """
    if not isinstance(x, Traced):
        return x
    trace = x.trace
    if trace.open and ACTIVE.get() is not trace:
        trace.spoil("one of its values was used in another thread or trace")
    return x.value


def traced_values(value: Any) -> Any:
    """Return a nesting of arguments with ndarrays in place of traced data.

    Traced data is a stand-in for an array, which records NumPy calls.
    """
    return mapped_leaves(value, lambda x: plain_slice(x) if type(x) is slice else traced_value(x))


def plain_slice(key: slice) -> slice:
    """Return a slice whose start, stop and step are ints or None.

    A traced start, stop or step is read, so that replays check it.
    """
    ends = key.start, key.stop, key.step
    if all(end is None or type(end) is int for end in ends):
        return key
    return slice(*[end if end is None else operator.index(end) for end in ends])


def guarded_value(x: RawArray | Traced) -> Any:
    """Return the value of x for code that is not traced, such as ``float(x)``.

    If x is traced (its calls are recorded), a guard is added: a replay needs the same value.
    """
    if isinstance(x, Traced) and x.trace is ACTIVE.get():
        return x.trace.read_value(x)
    return traced_value(x)


def is_plain_operand(x: Any) -> bool:
    """Return True if operators of traced data accept the operand x: traced data, an ndarray or a number.

    Return False for Arrays and for batched data, whose own operators must be called.
    """
    return isinstance(x, Traced) or not (type(x) is Batched or hasattr(x, HANDLE))


# --- calls that are added to the trace ----------------------------------------------------------------
def call_noted(
    op: str,
    function: Callable[..., Any],
    /,
    *args: Any,
    device: Hashable | None = None,
    **keywords: Any,
) -> Any:
    """Call a function on raw data, and add the call to the program under construction, if any.

    op : the name of the function in the program.
    """
    trace = ACTIVE.get()
    if trace is None:
        return function(*traced_values(args), **traced_values(keywords))
    hook = trace.hook
    if hook is None or gettrace() is not hook:
        return trace.emit(op, function, args, keywords)
    # Suspend the trace function, which slows down each Python call.  It would find nothing here, because
    # functions on NumPy data use no Array.
    settrace(None)
    try:
        return trace.emit(op, function, args, keywords)
    finally:
        settrace(hook)


def call_unseen(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function without reports of the Python functions that it calls (``CallReporter``).

    The reports find functions whose state replays compare.  So the function must use no Array and no
    state of the user's.
    """
    trace = ACTIVE.get()
    hook = None if trace is None else trace.hook
    if hook is None or gettrace() is not hook:
        return function(*args)
    settrace(None)
    try:
        return function(*args)
    finally:
        settrace(hook)


def noted_function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper of ``function`` that adds its calls to the program under construction.

    name : the name of the call there.
    """
    return functools.partial(call_noted, name, function)


# Attributes and methods of ndarray that traced data has, too, because users' rules may use them.
ATTRIBUTES = frozenset(("T", "flat", "imag", "real"))
METHODS = frozenset(
    ("all", "any", "argmax", "argmin", "argsort", "astype", "clip", "compress", "conj", "conjugate",
     "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "prod",
     "ravel", "repeat", "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take",
     "trace", "transpose", "var", "view", "item", "tolist")
)  # fmt: skip


def foreign_call(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a function outside arraytape, and add the call to the program under construction, if any.

    While a program is recorded, the function gets its arrays read-only, because no call of a program may
    write to its arguments.
    """
    trace = ACTIVE.get()
    if trace is None:
        return function(*traced_values(args), **traced_values(keywords))
    return trace.emit(trace.name_foreign(name), read_only_call(function), args, keywords)


def method_call(name: str, x: Traced, *args: Any, **keywords: Any) -> Any:
    """Call the ndarray method ``name`` on traced data; ``item`` and ``tolist`` read the value.

    The call is recorded.  After a read, replays check that the value is unchanged.
    """
    if name in ("item", "tolist"):
        return getattr(guarded_value(x), name)(*args, **keywords)
    return foreign_call(name, getattr(x.base.kind, name), (x, *args), keywords)


def read_only_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper that calls ``function`` on read-only arrays, and records no NumPy calls within.

    ``function`` is code outside arraytape.  The program has the whole call, so that the calls within
    must not be added.
    """

    def call_protected(*args: Any, **keywords: Any) -> Any:
        given = [read_only(x) for x in args]
        named = {name: read_only(x) for name, x in keywords.items()}
        with Setting(ACTIVE, None), Setting(MAKING, None):
            return function(*given, **named)

    return call_protected


# --- operators of traced data -------------------------------------------------------------------------
# Special methods, without underscores -> the names of their calls in programs.
BINARY = {
    "add": "add", "and": "bitwise_and", "eq": "equal", "floordiv": "floor_divide",
    "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lshift": "bitwise_left_shift",
    "lt": "less", "matmul": "matmul", "mod": "remainder", "mul": "multiply", "ne": "not_equal",
    "or": "bitwise_or", "pow": "power_operator", "rshift": "bitwise_right_shift", "sub": "subtract",
    "truediv": "divide", "xor": "bitwise_xor",
}  # fmt: skip
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
UNARY = {"abs": "abs", "invert": "bitwise_invert", "neg": "negative", "pos": "positive"}


def binary_operator(short: str, op: str, reflected: bool) -> Callable[[Traced, Any], Any]:
    """Return a special method of traced data, such as ``__add__``, that records its call.

    short : the operator's name in the module ``operator``, such as "add".
    op : the name of the call in the program.
    reflected : True for a method such as ``__radd__``, whose operands are exchanged.
    """
    function = getattr(operator, {"and": "and_", "or": "or_"}.get(short, short))

    def binary_method(x: Traced, other: Any) -> Any:
        kind = type(other)
        if kind not in AS_IT_IS and not is_plain_operand(other):
            return NotImplemented
        return (
            call_noted(op, function, other, x) if reflected else call_noted(op, function, x, other)
        )

    return binary_method


def unary_operator(short: str, op: str) -> Callable[[Traced], Any]:
    """Return a special method of traced data, such as ``__neg__``, that records its call.

    short : the operator's name in the module ``operator``.
    op : the name of the call in the program.
    """
    function = getattr(operator, short)
    return lambda x: call_noted(op, function, x)


for _short, _op in BINARY.items():
    setattr(Traced, f"__{_short}__", binary_operator(_short, _op, False))
    if _short not in COMPARISONS:
        setattr(Traced, f"__r{_short}__", binary_operator(_short, _op, True))
for _short, _op in UNARY.items():
    setattr(Traced, f"__{_short}__", unary_operator(_short, _op))
Traced.__hash__ = object.__hash__  # type: ignore[method-assign]
