"""Find the lines where a function compares one of its arguments with values that recorders follow.

Where the two are equal, a result that depends on the comparison jumps, and no derivative shows that.
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
    """A recorder that follows values computed from one Array, and sees where they are compared.

    lines : by op, the line of the first comparison with a value that another recorder follows.
    """

    def __init__(self, x: Array) -> None:
        super().__init__()
        self.others = recorders()
        self.followed = {x._ensure_id()}
        self.program_modes = (self,)
        self.lines: dict[str, str] = {}

    def record(self, record: Record) -> None:
        pass  # only ``followed`` is needed

    def takes(self, op: Op) -> bool:
        return op.jumps and self.is_here()

    def answer(self, call: OpCall) -> Any:
        ids = [x._current_id() for x in call.operands() if isinstance(x, Array)]
        if not self.followed.isdisjoint(ids) and any(
            value_id in other.followed for value_id in ids if value_id for other in self.others
        ):
            self.lines.setdefault(call.op.name, user_line())
        return call.run()


def called_and_compared(f: Callable[..., Any], x: Array, *rest: Any) -> tuple[Any, dict[str, str]]:
    """Return f(x, *rest), and by op the lines of comparisons of x with values that recorders follow."""
    seen = Comparisons(x)
    with pushed(seen), entered(seen):
        return f(x, *rest), seen.lines
