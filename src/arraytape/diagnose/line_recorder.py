"""The lines of ops: a recorder of everything that a thread computes on Arrays, tapes or not.

A tape has no lines, and no record of what it does not follow.  ``Lines`` is a mode, too, and follows
every operand before an op runs: the ops report to it as to a tape.  Of ops without derivative, which
report to no recorder, it takes the results from their calls.
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
    """One op that ran, or another event that makes values of values.

    kind : "op", "left" (an exit), "constant" (an op without derivative) or "assign".  dtype : of the
    result of an op without derivative.  on, paused : the recorders of the thread, by ``id``, and those
    that ``stop_recording`` paused.
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
    """The result of ``lines``: the steps of a thread, in the order in which they ran."""

    # A bystander, so that gradients which are taken meanwhile compute on raw data as they would without.
    one_shot = answers = True

    def __init__(self) -> None:
        self.followed: set[int] = set()
        self.steps: list[Step] = []
        self.made_at: dict[int, str] = {}  # file:line by the tid of what was made

    # --- as a recorder ------------------------------------------------------------------------------
    def record(self, record: Record) -> None:
        """Take the record of an op: what it made of what, where, and which tapes were recording."""
        plan = plan_of(record)
        kind = "left" if plan is LEFT else "op"
        self.add(plan.name, kind, results_of(record), inputs_of(record))

    def add(
        self, name: str, kind: str, outs: Iterable[int], ins: Iterable[int], dtype: str = ""
    ) -> None:
        """Keep a step."""
        outs, line, stack = tuple(outs), user_line(), recorders()
        paused = frozenset(id(one.paused) for one in stack if isinstance(one, Paused))
        on = frozenset(id(one) for one in stack)
        self.steps.append(Step(name, kind, outs, tuple(ins), line, dtype, on, paused))
        self.made_at.update(dict.fromkeys(outs, line))

    def assigned(self, variable: Variable, value: Any, /) -> None:
        """Keep a step of a Variable that takes a new value."""
        ins = [leaf._current_id() for leaf in arrays_in(value)]
        if any(ins):
            self.followed.add(variable._current_id())
            self.add(f"Variable {variable.name!r}", "assign", [variable._current_id()], ins)

    # --- as a mode ----------------------------------------------------------------------------------
    def takes(self, op: Op) -> bool:
        return REGISTRY.data.get(op.name) is op and self in recorders()

    def answer(self, call: OpCall) -> Any:
        """Give what an op takes ids, so that the op reports to this recorder; then run it."""
        ins = [self.follow(leaf) for given in call.operands() for leaf in arrays_in(given)]
        answer = call.run()
        if not call.op.recorded:
            self.follow_constants(call.op, ins, answer)
        return answer

    def watched(self, x: Any) -> None:
        self.follow(x)

    def follow(self, x: Array) -> int:
        """The id of the value of an Array, which is followed from here on; 0 where it can have none."""
        root, _ = location(x)
        if not root._tid and root._state & EXPORTED:
            return 0  # to give it an id would revoke what foreign code has of it
        self.followed.add(root._ensure_id())
        return x._current_id()

    def follow_constants(self, op: Op, ins: list[int], answer: Any) -> None:
        """Give what an op without derivative gave an id, and keep a step that says from what."""
        results = arrays_in(answer)
        outs = [self.follow(y) for y in results]
        if outs:
            self.add(op.name, "constant", outs, ins, str(results[0].dtype))


def arrays_in(value: Any) -> list[Array]:
    """Return the Arrays in an operand or a result of an op; none where the op is about to refuse it."""
    try:
        return [leaf for leaf in nest.leaves(value) if isinstance(leaf, Array)]
    except ValueError:  # a nesting that holds itself
        return []


class Noting(Context):
    """The block of ``lines``."""

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


def lines() -> Noting:
    """Within it, all ops of this thread are noted with their lines, for ``explain`` and ``nans``.

        with diagnose.lines() as seen, xp.GradientTape() as tape:
            ...
        print(diagnose.explain(tape, y, x, seen))

    Returns
    -------
    context manager
        Gives what is noted, ``Lines``: no values, one entry for each op.

    Notes
    -----
    Each op takes several times as long as without.

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
    return Noting()
