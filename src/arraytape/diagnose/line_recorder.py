"""The lines of ops: a recorder of everything that a thread computes on Arrays, tapes or not.

A tape has no lines, and no record of what it does not follow.  ``Lines`` follows every operand: the ops
report to it as to a tape.  Of ops without derivative, which report to nobody, and of assignments to
Variables, Python's own profiler hook tells it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .._array.array import EXPORTED, Array
from .._array.exits import LEFT
from .._array.views import location
from .._record.op import REGISTRY, Op
from .._record.plan import Record, inputs_of, plan_of, results_of
from .._record.stack import Bystander, Paused, push_recorder, recorders, remove_recorder
from .._tape.recording import Recording
from .._util import nest
from .._util.blocks import Context
from .._util.errors import user_line
from ..variable import Variable

COMPILED = "<arraytape "  # how the file names of compiled ops begin
ASSIGNMENTS: set[CodeType] = {
    function.__code__ for function in (Variable.assign, Variable._update, Variable.__setitem__)
}
WATCHES = Recording.follow.__code__


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


class Lines(Bystander):
    """What ``lines`` gives: the steps of a thread, in the order in which they ran."""

    # A bystander, so that gradients which are taken meanwhile compute on raw data as they would without.
    one_shot = True

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

    # --- as a profiler hook -------------------------------------------------------------------------
    def event(self, frame: FrameType, event: str, answer: Any) -> None:
        """A function is called, or returns: see ``sys.setprofile``."""
        code = frame.f_code
        if event == "call" and code in ASSIGNMENTS:
            self.assigned(frame)
        elif event == "return" and code is WATCHES:
            self.follow(frame.f_locals["x"])
        elif code.co_filename.startswith(COMPILED) and self in recorders():
            op = REGISTRY.get(frame.f_globals.get("NAME", ""))
            if op is not None and event == "call":
                self.follow_operands(op, frame)
            elif op is not None and event == "return" and not op.recorded:
                self.follow_constants(op, frame, answer)

    def follow_operands(self, op: Op, frame: FrameType) -> None:
        """Before an op runs: what it takes gets ids, so that it reports to this recorder."""
        for x in op.inputs:
            for leaf in arrays_in(frame.f_locals.get(x)):
                self.follow(leaf)

    def follow(self, x: Array) -> int:
        """The id of the value of an Array, which is followed from here on; 0 where it can have none."""
        root, _ = location(x)
        if not root._tid and root._state & EXPORTED:
            return 0  # to give it an id would revoke what foreign code has of it
        self.followed.add(root._ensure_id())
        return x._current_id()

    def follow_constants(self, op: Op, frame: FrameType, answer: Any) -> None:
        """After an op without derivative: what it gave gets an id, and a step says from what."""
        results = arrays_in(answer)
        given = [frame.f_locals.get(f"t_{x}", 0) for x in op.inputs]
        ins = [tid for one in given for tid in (one if isinstance(one, list | tuple) else [one])]
        outs = [self.follow(y) for y in results]
        if outs:
            self.add(op.name, "constant", outs, ins, str(results[0].dtype))

    def assigned(self, frame: FrameType) -> None:
        """A Variable takes a new value."""
        variable, value = frame.f_locals["self"], frame.f_locals["value"]
        ins = [leaf._current_id() for leaf in arrays_in(value)]
        if any(ins):
            self.followed.add(variable._current_id())
            self.add(f"Variable {variable.name!r}", "assign", [variable._current_id()], ins)


def arrays_in(value: Any) -> list[Array]:
    """The Arrays in an operand or a result of an op; none where the op is about to refuse it."""
    try:
        return [leaf for leaf in nest.leaves(value) if isinstance(leaf, Array)]
    except ValueError:  # a nesting that holds itself
        return []


class Noting(Context):
    """The block of ``lines``."""

    def _begin(self) -> Lines:
        self.seen, self.before = Lines(), sys.getprofile()
        push_recorder(self.seen)
        sys.setprofile(self.seen.event)
        return self.seen

    def _end(self) -> None:
        seen = getattr(self, "seen", None)
        if seen is not None:
            if getattr(sys.getprofile(), "__self__", None) is seen:
                sys.setprofile(self.before)
            remove_recorder(seen)


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
    Each op takes several times as long as without.  It uses ``sys.setprofile``: a profiler that uses
    it, too, sees nothing meanwhile.

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
