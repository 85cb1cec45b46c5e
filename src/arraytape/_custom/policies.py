"""Policies of recompute_grad: which results the first run keeps and the second takes.

In both runs a mode sees the calls of ops, and counts them for each op.  The first run keeps results by
op and number of the call.  The second run takes them for the same calls, whose operands must have the
same shapes and dtypes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .._array.array import KEPT, Array, wrap
from .._record.mode_stack import OpCall, ProgramMode, without_program_modes
from .._record.op import REGISTRY, Op
from .._storage.batched.batched_data import ACTIVE, Batched
from .._util.errors import describe, user_line

Choice = Callable[..., Any]
PolicyLike = Callable[..., Any] | Iterable[Callable[..., Any]]


class ArrayLayout(NamedTuple):
    """The shape and dtype of an array, as a policy gets them."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Return the number of bytes of the elements."""
        return self.size * int(self.dtype.itemsize)


class Policy:
    """The ops that a policy is about, and the choice of the results to keep.

    choose : called with the op's function and layouts of results and operands; None to keep all.
    ops : None for all ops with a public name.
    """

    def __init__(self, policy: PolicyLike) -> None:
        self.choose: Choice | None = None
        self.ops: frozenset[Op] | None = None
        if callable(policy) and op_of(policy) is None:
            self.choose = policy
            return
        if not callable(policy) and not isinstance(policy, Iterable):
            raise TypeError(
                "recompute_grad: a policy is a collection of ops, such as [xp.matmul], or a function "
                f"(op, result, *operands) -> bool, got {describe(policy)} [at {user_line()}]"
            )
        self.ops = frozenset(map(checked_op, [policy] if callable(policy) else policy))

    def is_about(self, op: Op) -> bool:
        """Return True if calls of an op are counted and may be kept."""
        return REGISTRY.data.get(op.name) is op if self.ops is None else op in self.ops

    def keeps(self, call: OpCall, answer: Any) -> bool:
        """Return True if the results of a call are to be kept."""
        if self.choose is None:
            return True
        with without_program_modes():
            return bool(self.choose(call.op.public, told(answer), *map(told, call.operands())))


def op_of(function: Callable[..., Any]) -> Op | None:
    """Return the op with this public function; None if there is none."""
    return next((op for op in REGISTRY.values() if op.public is function), None)


def checked_op(function: Callable[..., Any]) -> Op:
    """Return the op of a function; raise ValueError for no op, or one that is composed of others."""
    op = op_of(function)
    if op is not None and op.functions:
        return op
    name = getattr(function, "__name__", None)
    what = describe(function) if name is None else f"{name}, which is no op of arraytape"
    if op is not None:
        what = f"{op.name}, which is composed of other ops"
    raise ValueError(
        f"recompute_grad: a policy lists ops, whose results can be kept, got {what} "
        f"[at {user_line()}]. To see the ops that a function f runs: "
        "policy=lambda op, result, *operands: print(op.__name__)"
    )


def told(value: Any) -> Any:
    """Return an argument or result of a call with layouts in the place of arrays."""
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type):
        return ArrayLayout(tuple(value.shape), value.dtype)
    return tuple(map(told, value)) if isinstance(value, list | tuple) else value


def compared(value: Any) -> Any:
    """Return the part of an argument that must be the same in both runs."""
    value = told(value)
    if type(value) is tuple:
        return tuple(map(compared, value))
    known = value is None or isinstance(value, ArrayLayout | bool | int | str)
    return value if known else type(value)


class Results:
    """The results of a call, as data that a later call returns again.

    The Arrays are marked as shared, so that a write copies first.
    """

    __slots__ = ("data", "several", "states")

    def __init__(self, answer: Any, arrays: Sequence[Array]) -> None:
        for y in arrays:
            y._state |= KEPT
        self.data = [y._data for y in arrays]
        self.states = [y._state for y in arrays]
        self.several = None if type(answer) is Array else type(answer)

    def raw(self, *_: Any, **__: Any) -> Any:
        """Return the kept results, as the op's raw function gave them."""
        if self.several is None:
            return self.data[0]
        return self.several(*self.data) if hasattr(self.several, "_fields") else tuple(self.data)

    def mark(self, arrays: Sequence[Array]) -> None:
        """Give Arrays of this data the state that the Arrays of the first call had."""
        for y, state in zip(arrays, self.states, strict=True):
            y._state |= state


def arrays_of_answer(answer: Any) -> Sequence[Array]:
    """Return the Arrays that an op returned; none if an operator returned NotImplemented."""
    if type(answer) is Array:
        return (answer,)
    if isinstance(answer, tuple) and all(type(part) is Array for part in answer):
        return answer
    return ()


class Kept(NamedTuple):
    """A kept call: its arguments in the form in which they are compared, and its results."""

    arguments: tuple[Any, ...]
    results: Results


class PolicyMode(ProgramMode):
    """A mode that answers and counts the calls of ops that a policy is about."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.calls: Counter[Op] = Counter()

    def takes(self, op: Op) -> bool:
        return self.policy.is_about(op) and self.is_here()

    def count_call(self, op: Op) -> int:
        """Return the number of this call of an op, from 1 on."""
        self.calls[op] += 1
        return self.calls[op]


class Keeping(PolicyMode):
    """The mode of the first run, which keeps the results that a policy chooses."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.kept: dict[tuple[Op, int], Kept] = {}
        self.axes = {*ACTIVE.get()}

    def answer(self, call: OpCall) -> Any:
        number = self.count_call(call.op)
        answer = call.run()
        arrays = arrays_of_answer(answer)
        # A vmap inside the function makes other hidden axes in the second run: such results do not stay.
        stays = all(
            type(y._data) is not Batched or self.axes.issuperset(y._data.axis_ids) for y in arrays
        )
        if arrays and stays and self.policy.keeps(call, answer):
            self.kept[call.op, number] = Kept(arguments_of(call), Results(answer, arrays))
        return answer

    def arrays(self) -> list[Array]:
        """Return the kept results."""
        return [wrap(data) for kept in self.kept.values() for data in kept.results.data]


class Giving(PolicyMode):
    """The mode of the second run, which returns kept results in place of computing them.

    name : the name of the function in messages.
    """

    def __init__(self, name: str, first: Keeping) -> None:
        super().__init__(first.policy)
        self.name, self.first = name, first

    def answer(self, call: OpCall) -> Any:
        number = self.count_call(call.op)
        kept = self.first.kept.get((call.op, number))
        if kept is None:
            return call.run()
        arguments = arguments_of(call)
        if arguments != kept.arguments:
            raise self.other(
                f"call {number} of {call.op.name} got {shown(arguments)} where it had got "
                f"{shown(kept.arguments)}"
            )
        answer = call.run(kept.results.raw)
        arrays = arrays_of_answer(answer)
        if arrays:
            kept.results.mark(arrays)
        return answer

    def check_complete(self) -> None:
        """Raise RuntimeError if ops of the policy ran another number of times than in the first run."""
        for op, times in self.first.calls.items():
            if self.calls[op] != times:
                raise self.other(
                    f"{op.name} ran {self.calls[op]} times where it had run {times} times"
                )

    def other(self, what: str) -> RuntimeError:
        return RuntimeError(
            f"{self.name}: the function did something else when it ran again for the gradient, so "
            f"that results kept by its policy do not fit: {what} [at {user_line()}]"
        )


def arguments_of(call: OpCall) -> tuple[Any, ...]:
    """Return the arguments of a call in the form in which they are compared."""
    return (*map(compared, call.args), *[(k, compared(v)) for k, v in sorted(call.kwargs.items())])


def shown(arguments: Any) -> str:
    if isinstance(arguments, ArrayLayout):
        return f"{arguments.dtype}{arguments.shape}"
    if isinstance(arguments, tuple):
        return f"({', '.join(map(shown, arguments))})"
    return arguments.__name__ if isinstance(arguments, type) else repr(arguments)
