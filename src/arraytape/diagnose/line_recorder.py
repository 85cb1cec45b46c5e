"""``lines``: a recorder of the source line of each op that a thread runs on Arrays.

A tape stores no lines, and has no record of ops on values that it does not follow.  ``Lines`` is both a
recorder and a mode, which intercepts the calls of ops.  As a mode it follows all operands before each
op, so that the op is recorded by ``Lines`` as by a tape.  No recorder gets a record of an op without a
derivative, so the mode's method ``answer`` notes such ops.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .._array.array import EXPORTED, Array
from .._array.exits import LEFT
from .._array.views import location
from .._record.mode_stack import Mode, OpCall, pushed
from .._record.op import REGISTRY, Op
from .._record.plan import Record, inputs_of, plan_of, results_of
from .._record.stack import (
    Bystander,
    Paused,
    SeesAssignments,
    push_recorder,
    recorders,
    remove_recorder,
)
from .._util import nest
from .._util.blocks import Context
from .._util.errors import user_line
from ..variable import Variable


class Step(NamedTuple):
    """An op that ran, an untracked conversion or an assignment, as ``Lines`` notes it.

    kind : "op", "left" (an untracked conversion), "constant" (an op without derivative) or "assign".
    outs, ins : the value ids of results and inputs.
    line : "file:line".
    dtype : the result's dtype, for the kind "constant" alone.
    on : the ``id()`` of each recorder of the thread.
    paused : the ``id()`` of each recorder that ``stop_recording`` paused.
    """

    name: str
    kind: str
    outs: tuple[int, ...]
    ins: tuple[int, ...]
    line: str
    dtype: str
    on: frozenset[int]
    paused: frozenset[int]


class Lines(Bystander, SeesAssignments, Mode):
    """The ops that ran in a block of ``diagnose.lines``, in order, each as a ``Step`` with its line."""

    # A Bystander does not count as an outer recorder, so gradients in the block compute on raw data.
    one_shot = answers = True

    def __init__(self) -> None:
        self.followed: set[int] = set()
        self.steps: list[Step] = []
        self.made_at: dict[int, str] = {}  # value id of a result -> "file:line" of its op

    # --- as a recorder ------------------------------------------------------------------------------
    def record(self, record: Record) -> None:
        plan = plan_of(record)
        kind = "left" if plan is LEFT else "op"
        self.add(plan.name, kind, results_of(record), inputs_of(record))

    def add(
        self, name: str, kind: str, outs: Iterable[int], ins: Iterable[int], dtype: str = ""
    ) -> None:
        """Note an op, an untracked conversion or an assignment that runs now, as a ``Step``.

        kind : the kind of the Step, such as "op".  outs, ins : the value ids of results and inputs.
        """
        outs, line, stack = tuple(outs), user_line(), recorders()
        paused = frozenset(id(one.paused) for one in stack if isinstance(one, Paused))
        on = frozenset(id(one) for one in stack)
        self.steps.append(Step(name, kind, outs, tuple(ins), line, dtype, on, paused))
        self.made_at.update(dict.fromkeys(outs, line))

    def assigned(self, variable: Variable, value: Any, /) -> None:
        """Note an assignment to a Variable, if the assigned value was computed by noted ops."""
        ins = [leaf._current_id() for leaf in arrays_in(value)]
        if any(ins):
            self.followed.add(variable._current_id())
            self.add(f"Variable {variable.name!r}", "assign", [variable._current_id()], ins)

    # --- as a mode ----------------------------------------------------------------------------------
    def takes(self, op: Op) -> bool:
        return REGISTRY.data.get(op.name) is op and self in recorders()

    def answer(self, call: OpCall) -> Any:
        """Follow an op's operands, so that ``record`` gets the op's record; return the op's result.

        An op without a derivative makes no record, so it is noted here.
        """
        ins = [self.follow(leaf) for given in call.operands() for leaf in arrays_in(given)]
        answer = call.run()
        results = [] if call.op.recorded else arrays_in(answer)
        if results:
            outs = [self.follow(y) for y in results]
            self.add(call.op.name, "constant", outs, ins, str(results[0].dtype))
        return answer

    def watched(self, x: Array) -> None:
        self.follow(x)

    def follow(self, x: Array) -> int:
        """Follow an Array, so that ops on it are noted; return its value id.

        Return 0, and do not follow the Array, if NumPy code shares its memory.
        """
        root, _ = location(x)
        if not root._value_id and root._state & EXPORTED:
            return 0  # an id would make the memory read-only that NumPy code shares
        self.followed.add(root._ensure_id())
        return x._current_id()


def arrays_in(value: Any) -> list[Array]:
    """Return the Arrays in an operand or result, which may be a nesting."""
    try:
        return [leaf for leaf in nest.leaves(value) if isinstance(leaf, Array)]
    except ValueError:  # a nesting that contains itself: the op itself will raise the error
        return []


class NotingLines(Context):
    """The context manager that ``lines`` returns; its ``Lines`` notes the ops that run in the block."""

    def _begin(self) -> Lines:
        self.seen = Lines()
        self.mode = pushed(self.seen)
        push_recorder(self.seen)
        self.mode._begin()
        return self.seen

    def _end(self) -> None:
        mode = getattr(self, "mode", None)
        if mode is not None:
            mode._end()
            remove_recorder(self.seen)


def lines() -> NotingLines:
    """Open a block that notes the source line of each op of this thread, for ``explain`` and ``nans``.

        with diagnose.lines() as seen, xp.GradientTape() as tape:
            ...
        print(diagnose.explain(tape, y, x, seen))

    Returns
    -------
    context manager
        The value for ``as`` is a ``Lines``: one entry for each op, without data.

    Notes
    -----
    In the block each op takes several times as long.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.5, 2.5])
    >>> with xp.diagnose.lines() as seen, xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = xp.floor(x)
    >>> print(xp.diagnose.explain(tape, y, x, seen))
    The gradient is None: floor at ... has no derivative, by declaration, so its result is ...
    """
    return NotingLines()
