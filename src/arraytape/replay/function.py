"""``xp.function``: the first two calls are traced and compared, later ones replay the program."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import numpy as np

from .._array.array import IS_VIEW, SCALAR, Array, wrap
from .._array.views import current
from .._record.stack import watched
from .._util import nest
from .._util.errors import TapeWarning, describe, stacklevel, user_line
from ..variable import Variable
from .compare import difference
from .lift import Lifter, commit, tracing
from .program import GuardFailed, Program
from .simplify import simplified
from .source import Source
from .state import difference as state_difference
from .state import snapshot
from .trace import ACTIVE, Trace, Traced

P = ParamSpec("P")
R = TypeVar("R")
TRACES = 2  # that must be the same program before it is replayed


class Changed(Exception):
    """Why a plan does not hold for a call."""


class Given(NamedTuple):
    """A leaf of a function's result: the output of this number, a handle, or a Python value."""

    output: int = -1
    handle: int = -1
    value: Any = None
    state: int = 0


class Call:
    """One traced call: what it gave, and the program, unless it is ``spoiled``."""

    def __init__(self, f: Callable[..., Any], args: Any, keywords: Any) -> None:
        self.trace = Trace()
        self.lifter = Lifter(self.trace)
        self.state = state_of(f, args, keywords)
        for x in arrays_in((args, keywords)):
            self.lifter.argument(x)
        self.count = len(self.lifter.lifted)
        self.check_overlaps()
        try:
            with tracing(self.lifter):
                self.result = f(*args, **keywords)
        except BaseException:
            self.finish(())
            raise
        self.leaves = nest.leaves(self.result)
        self.given = self.finish(self.leaves)
        after = state_difference(self.state, state_of(f, args, keywords))
        if after:
            self.spoil(f"it changes {after}")

    @property
    def spoiled(self) -> str:
        return self.trace.spoiled

    def spoil(self, why: str) -> None:
        self.lifter.spoil(why)

    def check_overlaps(self) -> None:
        """Arguments that share memory are not traced: a write to one is seen by the other."""
        data = [one.data for one in self.lifter.lifted.values()]
        if any(np.may_share_memory(x, y) for i, x in enumerate(data) for y in data[:i]):
            self.spoil("arguments share memory")

    def finish(self, leaves: Any) -> list[Given]:
        """Give all handles their data, do the writes, and say what the result is made of."""
        trace, lifter = self.trace, self.lifter
        known = {id(one.handle): place for place, one in enumerate(lifter.lifted.values())}
        found = []
        for leaf in leaves:
            if not isinstance(leaf, Array):
                found.append(Given(value=leaf))
            elif id(leaf) in known:
                found.append(Given(handle=known[id(leaf)]))
            else:
                found.append(self.output(leaf, known))
        written = lifter.put_back()
        trace.open = False
        self.written = [*written]
        trace.program.writes = [node for node, _ in written.values()]
        handles = lifter.handles
        for place, (_, value) in written.items():
            commit(handles[place], value)
        return found

    def output(self, leaf: Array, known: dict[int, int]) -> Given:
        """A leaf that the function has made, with its value in the place of traced data."""
        root = leaf._view.root if leaf._state & IS_VIEW else leaf
        if id(root) in known:
            self.spoil("a result is a view of an argument")
        _, data = current(leaf)
        node = self.trace.node_of(data)
        if type(root._data) is Traced:
            value = root._data.value
            shared = any(
                np.may_share_memory(value, one.data) for one in self.lifter.lifted.values()
            )
            root._data = value.copy(order="K") if shared else value
            current(leaf)
        if node in self.trace.program.outputs:
            self.spoil("two results are one value")
        self.trace.program.outputs.append(node)
        return Given(output=len(self.trace.program.outputs) - 1, state=leaf._state & SCALAR)

    def escaped(self) -> bool:
        """Whether something beside the result holds values that the call has made."""
        return bool(len(self.trace.live))


class Plan:
    """A program that takes a function's place, for calls of one signature."""

    def __init__(self, call: Call, name: str) -> None:
        program = call.trace.program
        self.before = len(program.nodes)
        self.program = simplified(program)
        self.source = Source(self.program, name)
        self.template, self.given = call.result, call.given
        self.count = call.count
        self.written = call.written
        self.found = call.lifter.handles[call.count :]  # Arrays that are no arguments
        self.layouts = [layout(x) for x in self.found]
        self.state = call.state
        self.foreign = [
            (data, node.value)
            for data, node in call.trace.foreign
            if node in set(self.program.nodes)
        ]
        self.replayed = 0

    def check(self, state: dict[str, Any]) -> None:
        """Raise Changed where the program would not be the function's."""
        changed = state_difference(self.state, state)
        if changed:
            raise Changed(f"{changed} has changed")
        for x, known in zip(self.found, self.layouts, strict=True):
            if layout(x) != known:
                raise Changed("an Array that it uses has another shape, dtype or layout")
        for data, known in self.foreign:
            if data.tobytes() != known.tobytes():
                raise Changed("memory outside arraytape that it uses has changed")

    def run(self, handles: list[Array]) -> Any:
        """The result for a call's Arrays."""
        handles = [*handles, *self.found]
        values = [
            current(x)[1] if x._tid >= 0 or not isinstance(x, Variable) else x._data
            for x in handles
        ]
        outputs, writes = self.source.function(*values)
        leaves = []
        for given in self.given:
            if given.output >= 0:
                leaves.append(wrap(outputs[given.output], 0, given.state))
            elif given.handle >= 0:
                leaves.append(handles[given.handle])
            else:
                leaves.append(given.value)
        for place, value in zip(self.written, writes, strict=True):
            commit(handles[place], value)
        self.replayed += 1
        return nest.pack(self.template, leaves)


class Entry:
    """What is known of calls of one signature."""

    def __init__(self) -> None:
        self.last: Call | None = None
        self.plans: list[Plan] = []
        self.eager = ""  # why these calls are never replayed
        self.traced = 0


class Function(Generic[P, R]):
    """A function whose calls are replayed: see ``function``."""

    def __init__(self, f: Callable[P, R], limit: int, strict: bool) -> None:
        functools.update_wrapper(self, f)
        self.eager, self.limit, self.strict = f, limit, strict
        self.entries: dict[Any, Entry] = {}
        self.counts = {"traced": 0, "replayed": 0, "eager": 0}
        self.reasons: Counter[str] = Counter()
        self.lock = threading.RLock()
        self.signature = inspect.signature(f)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R:
        if ACTIVE.get() is not None or watched():
            return self.eager(*args, **keywords)
        arrays = arrays_in((args, keywords))
        key = signature_of(args, keywords, arrays)
        with self.lock:
            entry = self.entries.setdefault(key, Entry())
        if entry.eager:
            return self.run_eagerly(entry.eager, args, keywords)
        for plan in tuple(entry.plans):
            try:
                plan.check(state_of(self.eager, args, keywords))
                with np.errstate(all="ignore"):
                    result = plan.run(arrays)
            except (Changed, GuardFailed) as why:
                self.reasons[said(why)] += 1
                continue
            self.counts["replayed"] += 1
            return result  # type: ignore[no-any-return]
        if not self.lock.acquire(blocking=False):  # another thread traces
            return self.run_eagerly("another thread was tracing", args, keywords)
        try:
            return self.trace(entry, args, keywords)
        finally:
            self.lock.release()

    def run_eagerly(self, why: str, args: Any, keywords: Any) -> Any:
        self.counts["eager"] += 1
        self.reasons[why] += 1
        return self.eager(*args, **keywords)

    def trace(self, entry: Entry, args: Any, keywords: Any) -> Any:
        """Run the function and note what it computes; after two equal programs there is a plan."""
        before, entry.last = entry.last, None
        call = Call(self.eager, args, keywords)
        entry.traced += 1
        self.counts["traced"] += 1
        result = call.result
        if call.spoiled:
            self.give_up(entry, call.spoiled)
            return result
        if before is None:
            entry.last = call
            return result
        why = difference(before.trace.program, call.trace.program) or other_result(before, call)
        if why:
            if guards_differ(before.trace.program, call.trace.program):
                entry.last = call  # values decide, and guards say so
            else:
                self.give_up(entry, f"a call computed something else than the one before: {why}")
                return result
        else:
            entry.plans.insert(
                0, Plan(call, self.eager.__name__ if self.eager.__name__.isidentifier() else "f")
            )
        if entry.traced > 2 * self.limit:
            guard = next((g for g in call.trace.program.guards), None)
            at = f" at {guard.line}" if guard else ""
            self.give_up(entry, f"a value by which it decides{at} is another one in each call")
        return result

    def give_up(self, entry: Entry, why: str) -> None:
        """Run calls of this signature as they are from now on, and say so once."""
        entry.eager, entry.last = why, None
        entry.plans.clear()
        message = f"function {self.eager.__qualname__}: not replayed, {why} [at {user_line()}]"
        if self.strict:
            raise RuntimeError(message)
        warnings.warn(message, TapeWarning, stacklevel=stacklevel())


def guards_differ(first: Program, second: Program) -> bool:
    return [g.expected for g in first.guards] != [g.expected for g in second.guards]


def said(why: Exception) -> str:
    """A reason in words."""
    if isinstance(why, GuardFailed):
        return f"{why.guard.kind} at {why.guard.line}"
    return str(why)


def other_result(first: Call, second: Call) -> str:
    """Whether two calls gave results of different make."""
    for a, b in zip(first.given, second.given, strict=False):
        same_value = a.value is b.value or (
            type(a.value) is type(b.value) and repr(a.value) == repr(b.value)
        )
        if (a.output, a.handle, a.state) != (b.output, b.handle, b.state) or not same_value:
            return "a result that is no Array differs"
    if len(first.given) != len(second.given) or first.written != second.written:
        return "another number of results or writes"
    return ""


def arrays_in(arguments: Any) -> list[Array]:
    """The Arrays among arguments, each once."""
    found = {id(x): x for x in nest.leaves(arguments) if isinstance(x, Array)}
    return [*found.values()]


def layout(x: Array) -> Any:
    """What of an Array decides about the program."""
    data = current(x)[1] if not isinstance(x, Variable) else x._data
    return (
        type(x),
        data.shape,
        data.dtype,
        getattr(data, "strides", None),
        x._state & SCALAR,
        type(data),
    )


def signature_of(args: Any, keywords: Any, arrays: list[Array]) -> Any:
    """What calls must have in common to run one program."""
    places = {id(x): i for i, x in enumerate(arrays)}
    leaves = nest.leaves((args, keywords))
    parts = tuple((places[id(x)], *layout(x)) if isinstance(x, Array) else plain(x) for x in leaves)
    names = tuple(keywords)
    return len(args), names, parts, tuple(np.geterr().items()), structure(args), structure(keywords)


def structure(value: Any) -> Any:
    """The kinds of containers in a nesting, with the names of their parts."""
    parts = nest.parts_of(value)
    if parts is None:
        return None
    items = parts.items() if isinstance(parts, dict) else enumerate(parts)
    return type(value), tuple([(name, structure(part)) for name, part in items])


def plain(x: Any) -> Any:
    """A Python argument in a signature: by type and value where it is plain, else by identity."""
    if isinstance(x, bool | int | float | complex | str | bytes | type(None) | np.generic):
        return type(x), repr(x)
    return type(x), id(x)


def state_of(f: Callable[..., Any], args: Any, keywords: Any) -> dict[str, Any]:
    """The state that a call can reach."""
    others = {
        f"argument {i}": x
        for i, x in enumerate(nest.leaves((args, keywords)))
        if not isinstance(x, Array)
    }
    return snapshot({getattr(f, "__name__", "f"): f, **others})


def function(f: Callable[P, R] | None = None, /, *, limit: int = 8, strict: bool = False) -> Any:
    """Replay a function's calls as one straight NumPy program.

    Parameters
    ----------
    f : Callable | None, default: None
        Takes and gives Arrays, Variables, nestings of these and Python values; None: ``function`` gives
        a decorator.
    limit : int, default: 8
        How many programs there may be for one signature before its calls run as they are.
    strict : bool, default: False
        Whether to raise where calls cannot be replayed, instead of running them as they are.

    Returns
    -------
    Function
        Takes the arguments of f and gives its result.

    Raises
    ------
    TypeError
        When f cannot be called, or is a coroutine function.
    RuntimeError
        At a call, with strict=True, when calls like it cannot be replayed.
    """
    if f is None:
        return functools.partial(function, limit=limit, strict=strict)
    if not callable(f) or inspect.iscoroutinefunction(f):
        raise TypeError(f"function: needs a function, got {describe(f)} [at {user_line()}]")
    return Function(f, limit, strict)
