"""The source lines at which a function compares its argument with values on a tape, as ``x < limit``.

The function may jump where the two values are equal, and no derivative shows the jump.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._array.array import Array
from .._record.mode_stack import OpCall, ProgramMode, pushed
from .._record.op import Op
from .._record.plan import Record
from .._record.stack import BaseRecorder, SeesCalls, entered, recorders
from .._util.errors import user_line


class Comparisons(BaseRecorder, SeesCalls, ProgramMode):
    """A recorder and mode that finds ops such as ``less`` on a value computed from ``x`` and another.

    The other value counts only if an outer tape follows it: the function may jump where both are equal,
    and no derivative shows the jump.
    lines : a dict from the name of a comparing op to the source location of its first such call.
    """

    def __init__(self, x: Array) -> None:
        super().__init__()
        self.others = recorders()
        self.followed = {x._ensure_id()}
        self.program_modes = (self,)
        self.lines: dict[str, str] = {}

    def record(self, record: Record) -> None:
        pass  # only ``followed`` is needed, which the caller of ``record`` updates

    def takes(self, op: Op) -> bool:
        return op.jumps and self.is_tracing_here()

    def answer(self, call: OpCall) -> Any:
        ids = [x._current_id() for x in call.operands() if isinstance(x, Array)]
        if not self.followed.isdisjoint(ids) and any(
            value_id in other.followed for value_id in ids if value_id for other in self.others
        ):
            self.lines.setdefault(call.op.name, user_line())
        return call.run()


def called_and_compared(f: Callable[..., Any], x: Array, *rest: Any) -> tuple[Any, dict[str, str]]:
    """Return ``f(x, *rest)``, and the lines at which f compares values computed from x with others.

    At such a line f may jump.  The lines are a dict from the op's name, "less", to the first source
    line.
    """
    seen = Comparisons(x)
    with pushed(seen), entered(seen):
        return f(x, *rest), seen.lines
