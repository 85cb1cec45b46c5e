"""The lines at which a function, while it runs, compares its argument with values on a tape.

Ops such as ``less`` and ``sign`` jump.  If the result of a function depends on such a comparison, the
result may jump where the two values are equal, and no derivative shows the jump.
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
    """A recorder that also intercepts ops (a mode) and finds comparisons of values computed from ``x``.

    Where the two values are equal, a function may jump, and its derivative does not show the jump.  Only
    comparisons with a value that an outer tape follows count.  lines : a dict from the name of a
    comparing op to the source location of its first such call.
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

    At such a line f may jump.  The lines are a dict from the name of a comparing op to its first
    location.
    """
    seen = Comparisons(x)
    with pushed(seen), entered(seen):
        return f(x, *rest), seen.lines
