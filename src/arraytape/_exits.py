"""Leaving the tape is never silent: float(x), np.asarray(x), dlpack... are remembered.

Each exit of a followed value goes into the records as an op without a result.  It costs nothing
in the backward pass; when a gradient comes back None, the tape names the exit's file and line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._array import Array
from ._errors import user_line
from ._op import Plan, Structural
from ._record import new_tid, recorders
from ._view import current

LEFT = Structural("left", lambda at, record: None)
LEFT.missing = True  # so that a tape notices


def leave(x: Array, how: str) -> Any:
    """The data of ``x`` for the world outside; recorders that follow it remember where and how."""
    tid, data = current(x)
    if tid:
        for recorder in recorders():
            if tid in recorder.followed:
                recorder.record(LEFT, (new_tid(), tid, f"{user_line()} ({how})"))
    return data


def blame(
    plans: Sequence[Plan | Structural], records: Sequence[tuple[Any, ...]], sources: Sequence[int]
) -> dict[int, str]:
    """For each source tid the last exit, as ``file:line (how)``, of a value that depends on it."""
    found: dict[int, str] = {}
    reach: dict[int, set[int]] = {tid: {tid} for tid in sources}
    for plan, record in zip(plans, records, strict=True):
        inputs: list[Any] = []
        for tid in record[1 : 1 + len(plan.op.inputs)] if isinstance(plan, Plan) else record[1:3]:
            inputs.extend(tid if type(tid) is tuple else [tid])
        origins = set().union(*(reach[t] for t in inputs if type(t) is int and t in reach))
        if not origins:
            continue
        if plan is LEFT:
            found |= dict.fromkeys(origins, record[2])
            continue
        for out in record[0] if type(record[0]) is tuple else (record[0],):
            reach[out] = reach.get(out, set()) | origins
    return found
