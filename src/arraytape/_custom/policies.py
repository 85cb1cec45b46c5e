"""Policies of recompute_grad: the choice of op results that are kept and not computed again.

``recompute_grad`` runs the user's function a second time in the backward pass.  In both runs a mode
intercepts the calls of ops and counts the calls of each op.  In the first run ``StoreKept`` stores
results under (op, number of the call).  In the second run ``ReturnKept`` returns the stored results for
the same calls, whose operands must have the same shapes and dtypes.
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
    """The shape and dtype of an array, which a policy function gets in place of the array."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * int(self.dtype.itemsize)


class Policy:
    """The ``policy`` argument of recompute_grad, checked: a set of ops or a function.

    It chooses the results of ops that the first run keeps, so that the second run need not compute them.

    choose : the user's function, called with the op's public function and with an ArrayLayout for the
    result and for each operand; None to keep the results of all calls of ``ops``.
    ops : the ops whose results are kept; None, with ``choose``, for all ops in the registry.
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
        """Return True if the policy may keep results of ``op``: then the calls of the op are counted."""
        return REGISTRY.data.get(op.name) is op if self.ops is None else op in self.ops

    def keeps(self, call: OpCall, answer: Any) -> bool:
        """Return True if the result ``answer`` of ``call``, an op of the policy, is to be kept.

        The second run of the user's function then does not compute it again.
        """
        if self.choose is None:
            return True
        with without_program_modes():
            operands = map(replace_by_layouts, call.operands())
            return bool(self.choose(call.op.public, replace_by_layouts(answer), *operands))


def op_of(function: Callable[..., Any]) -> Op | None:
    """Return the op whose public function is ``function``; None if there is no such op.

    Users name ops by their public functions, such as ``xp.matmul``, in a policy.
    """
    return next((op for op in REGISTRY.values() if op.public is function), None)


def checked_op(function: Callable[..., Any]) -> Op:
    """Return the op whose public function is ``function``.

    Raise ValueError if there is no such op, or if the op is composed of other ops.  A policy's mode
    intercepts the calls of those other ops, but not the call of the composed op.
    """
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


def replace_by_layouts(value: Any) -> Any:
    """Return an argument or result of an op with an ArrayLayout in place of each array.

    The user's policy function gets these, so that it cannot depend on values.
    """
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type):
        return ArrayLayout(tuple(value.shape), value.dtype)
    return tuple(map(replace_by_layouts, value)) if isinstance(value, list | tuple) else value


def comparable_part(value: Any) -> Any:
    """Return the property of an op's argument that must be the same in both runs of a function.

    ``recompute_grad`` compares the runs.  The property is the ArrayLayout (shape and dtype) of an array,
    or the value of a bool, int, str or None.  Of other objects only the type has to be the same, because
    a float, for example, may be random.
    """
    value = replace_by_layouts(value)
    if type(value) is tuple:
        return tuple(map(comparable_part, value))
    known = value is None or isinstance(value, ArrayLayout | bool | int | str)
    return value if known else type(value)


class Results:
    """The data of an op's results in the first run of a function, kept for its second run.

    ``recompute_grad`` runs the function twice.  The constructor marks the Arrays as KEPT, so that a
    write to one of them copies the data first.

    data : the raw data of each result.
    states : the flags ``Array._state`` of each result (KEPT, SCALAR, ...).
    several : the type of tuple that the op returned, or None if it returned one Array.
    """

    __slots__ = ("data", "several", "states")

    def __init__(self, answer: Any, arrays: Sequence[Array]) -> None:
        for y in arrays:
            y._state |= KEPT
        self.data = [y._data for y in arrays]
        self.states = [y._state for y in arrays]
        self.several = None if type(answer) is Array else type(answer)

    def as_raw_result(self, *_: Any, **__: Any) -> Any:
        """Return the stored data as NumPy's function for the op would: one array, or a tuple.

        The second run calls this in place of NumPy's function, with arguments that are ignored.
        """
        if self.several is None:
            return self.data[0]
        return self.several(*self.data) if hasattr(self.several, "_fields") else tuple(self.data)

    def copy_states_to(self, arrays: Sequence[Array]) -> None:
        """Copy the flags ``_state`` of the first run's results to the second run's ``arrays``.

        The flags say, for example, that NumPy returned a scalar.
        """
        for y, state in zip(arrays, self.states, strict=True):
            y._state |= state


def arrays_of_answer(answer: Any) -> Sequence[Array]:
    """Return the Arrays in the result of an op, which may be NotImplemented and then has none."""
    if type(answer) is Array:
        return (answer,)
    if isinstance(answer, tuple) and all(type(part) is Array for part in answer):
        return answer
    return ()


class Kept(NamedTuple):
    """The results of an op's call in the first run of a function, and what its arguments were.

    The second run must call the op with arguments of the same shapes, dtypes and options.
    """

    arguments: tuple[Any, ...]
    results: Results


class PolicyMode(ProgramMode):
    """A mode that counts the calls of each op, to find the same call in both runs of a function.

    The function is the argument of ``recompute_grad``; a mode intercepts the calls of ops.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.calls: Counter[Op] = Counter()

    def takes(self, op: Op) -> bool:
        return self.policy.is_about(op) and self.is_tracing_here()

    def count_call(self, op: Op) -> int:
        """Count a call of an op; return its number, from 1 on."""
        self.calls[op] += 1
        return self.calls[op]


class StoreKept(PolicyMode):
    """The mode of a ``recompute_grad`` function's first run; it stores results that a policy chooses."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.kept: dict[tuple[Op, int], Kept] = {}
        self.axes = {*ACTIVE.get()}

    def answer(self, call: OpCall) -> Any:
        number = self.count_call(call.op)
        answer = call.run()
        arrays = arrays_of_answer(answer)
        # A vmap inside the function makes new hidden axes in each run, so that data with axes of the
        # first run could not be used in the second.  Such results are not kept.
        stays = all(
            type(y._data) is not Batched or self.axes.issuperset(y._data.axis_ids) for y in arrays
        )
        if arrays and stays and self.policy.keeps(call, answer):
            self.kept[call.op, number] = Kept(comparable_arguments(call), Results(answer, arrays))
        return answer

    def arrays(self) -> list[Array]:
        """Return the kept results as Arrays, for the tape's count of the memory that it keeps."""
        return [wrap(data) for kept in self.kept.values() for data in kept.results.data]


class ReturnKept(PolicyMode):
    """The mode of a ``recompute_grad`` function's second run: ops return results that the first stored.

    first : the mode of the first run, which has the results.
    """

    def __init__(self, name: str, first: StoreKept) -> None:
        super().__init__(first.policy)
        self.name, self.first = name, first

    def answer(self, call: OpCall) -> Any:
        number = self.count_call(call.op)
        kept = self.first.kept.get((call.op, number))
        if kept is None:
            return call.run()
        arguments = comparable_arguments(call)
        if arguments != kept.arguments:
            raise self.difference_error(
                f"call {number} of {call.op.name} got {format_arguments(arguments)} where it had got "
                f"{format_arguments(kept.arguments)}"
            )
        answer = call.run(kept.results.as_raw_result)
        arrays = arrays_of_answer(answer)
        if arrays:
            kept.results.copy_states_to(arrays)
        return answer

    def check_complete(self) -> None:
        """Raise RuntimeError unless both runs of the function called each op equally often.

        Only the ops of the policy count.
        """
        for op, times in self.first.calls.items():
            if self.calls[op] != times:
                raise self.difference_error(
                    f"{op.name} ran {self.calls[op]} times where it had run {times} times"
                )

    def difference_error(self, what: str) -> RuntimeError:
        """Return the error for two runs that differ; ``what`` is a clause that says how."""
        return RuntimeError(
            f"{self.name}: make the function run the same ops on arguments of the same shapes each "
            f"time. When it ran again for the gradient, {what}, so the results that its policy kept do "
            f"not fit [at {user_line()}]"
        )


def comparable_arguments(call: OpCall) -> tuple[Any, ...]:
    """Return the shapes, dtypes and options of an op's arguments, to compare both runs of a function."""
    return (
        *map(comparable_part, call.args),
        *[(k, comparable_part(v)) for k, v in sorted(call.kwargs.items())],
    )


def format_arguments(arguments: Any) -> str:
    if isinstance(arguments, ArrayLayout):
        return f"{arguments.dtype}{arguments.shape}"
    if isinstance(arguments, tuple):
        return f"({', '.join(map(format_arguments, arguments))})"
    return arguments.__name__ if isinstance(arguments, type) else repr(arguments)
