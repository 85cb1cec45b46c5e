"""Calls of ops in other hands, while somebody asks for it.

A compiled function has no hook, since every call would pay for it.  While an op is intercepted, its
functions have other code (``asking``), which looks for interceptors in the recorders of its thread.
These see each call before and after it ran; one may hand in results that it has, and then the function
wraps and records them in place of what it would compute.  Afterwards the functions have their own code
again.  Without an interceptor on the stack the other code does what the function's own does, so what
an interruption leaves behind costs time, until the op is called again.

An interceptor sees the calls that a program makes, and none of those that such a call makes in turn
(a user's forward, a tangent), nor those of a recorder that is told of them: it is ``busy`` then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, Protocol
from weakref import WeakSet

from .._array.array import KEPT, Array
from .._record.op import Op
from .._record.stack import recorders
from .._util.locks import reentrant_lock

LOCK = reentrant_lock()  # for building and for changes of code; not on the op path
INTERESTS: WeakSet[Interest] = WeakSet()  # of all threads; each lives as long as its block


def uncompiled(*args: Any, **kwargs: Any) -> Any:
    """The code of a public function before its first call; its globals hold ``first_call``."""
    return first_call(args, kwargs)  # type: ignore[name-defined]  # noqa: F821


def asking(*args: Any, **kwargs: Any) -> Any:
    """The code of a public function while its op is intercepted; its globals hold ``intercepted``."""
    return intercepted(args, kwargs)  # type: ignore[name-defined]  # noqa: F821


UNCOMPILED, ASKING = uncompiled.__code__, asking.__code__


class Interest:
    """The ops that one block intercepts."""

    __slots__ = ("__weakref__", "ops")

    def __init__(self, ops: Iterable[Op]) -> None:
        self.ops = frozenset(ops)


class Results:
    """The results of a call, as data that a later call may hand out again.

    The Arrays are marked, so that a write to one copies it first.
    """

    __slots__ = ("data", "several", "states")

    def __init__(self, answer: Any, arrays: Sequence[Array]) -> None:
        for y in arrays:
            y._state |= KEPT
        self.data = [y._data for y in arrays]
        self.states = [y._state for y in arrays]
        self.several = None if type(answer) is Array else type(answer)

    def raw(self, *_: Any, **__: Any) -> Any:
        """What the op's raw function gave, whatever it is called with."""
        if self.several is None:
            return self.data[0]
        return self.several(*self.data) if hasattr(self.several, "_fields") else tuple(self.data)

    def mark(self, arrays: Sequence[Array]) -> None:
        """Give Arrays of this data the state that those of the first call had."""
        for y, state in zip(arrays, self.states, strict=True):
            y._state |= state


class OpCall:
    """One call of an op: what it was given, as the caller gave it."""

    __slots__ = ("args", "kwargs", "names", "op")

    def __init__(
        self, op: Op, names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.op, self.names, self.args, self.kwargs = op, names, args, kwargs

    def operands(self) -> list[Any]:
        """The arguments for the op's inputs, in the op's order."""
        given = dict(zip(self.names, self.args, strict=False)) | self.kwargs
        return [given[x] for x in self.op.inputs if x in given]


class Interceptor(Protocol):
    """What sees the calls of ops, when a recorder on the stack ``SeesCalls`` for it."""

    busy: bool

    def takes(self, op: Op) -> bool:
        """Whether it sees calls of this op."""

    def before(self, call: OpCall) -> Results | None:
        """Called before the op runs; the results to take in place of computing them, or None."""

    def after(self, call: OpCall, answer: Any, arrays: Sequence[Array]) -> None:
        """Called with what the op gave, and the Arrays in it."""


class SeesCalls:
    """A recorder whose interceptors see the calls of ops while it is on the stack."""

    interceptors: Sequence[Interceptor] = ()


class Compiled:
    """The public function of an op, or an operator's method, and how to intercept its calls.

    build : gives the function the code that is compiled when it is first called.
    """

    __slots__ = ("build", "function", "names", "op", "own")

    def __init__(
        self, op: Op, function: FunctionType, names: Sequence[str], build: Callable[[], None]
    ) -> None:
        self.op, self.function, self.names, self.build = op, function, tuple(names), build
        self.own: CodeType | None = None  # its code, while it is intercepted

    def build_once(self) -> None:
        """Compile the function, unless another thread did meanwhile."""
        with LOCK:
            if self.function.__code__ is UNCOMPILED:
                self.build()

    def intercept(self) -> None:
        """From now on calls ask first."""
        if self.function.__code__ is ASKING:
            return
        self.own = self.function.__code__
        self.function.__globals__["intercepted"] = self.call
        self.function.__code__ = ASKING

    def release(self) -> None:
        """Calls ask no more."""
        if self.own is not None:
            self.function.__code__ = self.own
        self.own = None

    def rest(self) -> None:
        """Calls ask no more if nobody intercepts the op: a block may have been interrupted."""
        with LOCK:
            if not is_wanted(self.op):
                self.release()

    def code(self) -> CodeType:
        """The function's own code."""
        own = self.own
        if own is not None and own is not UNCOMPILED:
            return own
        with LOCK:
            if self.own is UNCOMPILED:  # intercepted before its first call
                self.release()
                self.build_once()
                self.intercept()
            return self.own or self.function.__code__

    def run(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Results | None = None
    ) -> Any:
        """What the function gives, with ``given`` as the results of the raw function."""
        code, function = self.code(), self.function
        if code is ASKING or code is UNCOMPILED:  # another thread was faster
            return function(*args, **kwargs)
        scope = function.__globals__
        if given is not None:
            scope = scope | {"UFUNC": given.raw, "RAW": AnyKind(given.raw)}
        twin = FunctionType(code, scope, function.__name__, function.__defaults__)
        twin.__kwdefaults__ = function.__kwdefaults__
        return twin(*args, **kwargs)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while the op is intercepted."""
        found = [one for one in interceptors() if one.takes(self.op)]
        if not found:
            self.rest()
            return self.run(args, kwargs)
        call, given = OpCall(self.op, self.names, args, kwargs), None
        with unseen(found):
            for one in found:
                given = one.before(call) or given
            answer = self.run(args, kwargs, given)
            arrays = arrays_in(answer)
            if arrays and given is not None:
                given.mark(arrays)
            for one in found if arrays else ():
                one.after(call, answer, arrays)
        return answer


class AnyKind(dict[type, Callable[..., Any]]):
    """type of data -> one function for all of them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def __missing__(self, kind: type) -> Callable[..., Any]:
        return self.function


def interceptors() -> list[Interceptor]:
    """The interceptors of this thread that are not busy."""
    return [
        one
        for recorder in recorders()
        if isinstance(recorder, SeesCalls)
        for one in recorder.interceptors
        if not one.busy
    ]


@contextmanager
def unseen(by: Sequence[Interceptor] | None = None) -> Iterator[None]:
    """Within it these interceptors (by default all) see no call: it is no part of the program."""
    idle = interceptors() if by is None else by
    try:
        for one in idle:
            one.busy = True
        yield
    finally:
        for one in idle:
            one.busy = False


def arrays_in(answer: Any) -> Sequence[Array]:
    """The Arrays that a call of an op gave: none where an operator declined, or others answered."""
    if type(answer) is Array:
        return (answer,)
    if isinstance(answer, tuple) and all(type(part) is Array for part in answer):
        return answer
    return ()


@contextmanager
def intercepting(ops: Iterable[Op]) -> Iterator[None]:
    """Within it calls of these ops, in all threads, look for interceptors."""
    interest = Interest(ops)
    try:
        with LOCK:
            INTERESTS.add(interest)
            for op in interest.ops:
                for compiled in op.functions:
                    compiled.intercept()
        yield
    finally:
        with LOCK:
            INTERESTS.discard(interest)
            for op in interest.ops:
                if not is_wanted(op):
                    for compiled in op.functions:
                        compiled.release()


def is_wanted(op: Op) -> bool:
    """Whether somebody intercepts an op just now.  The caller holds the lock."""
    return any(op in interest.ops for interest in INTERESTS)
