"""Leaving the tape is never silent: float(x), np.asarray(x), dlpack... are remembered.

Each exit of a followed value goes into the records as an op without a result.  It costs nothing
in the backward pass; when a gradient comes back None, the tape names the exit's file and line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._array import Array
from ._errors import user_line
from ._op import Structural
from ._paths import inputs_of, results_of
from ._record import new_tid, recorders, tell
from ._view import current

LEFT = Structural("left", lambda at, record: None)


def leave(x: Array, how: str) -> Any:
    """The data of ``x`` for the world outside; recorders that follow it remember where and how."""
    tid, data = current(x)
    if tid:
        for recorder in recorders():
            if tid in recorder.followed:
                left = (LEFT.number, new_tid(), tid, f"{user_line()} ({how})")
                tell(recorder, left)
                recorder.notice(LEFT, left)
    return data


def last_exit(records: Sequence[tuple[Any, ...]]) -> str | None:
    """``file:line (how)`` of the last exit among these records, if there is one."""
    return next((record[3] for record in reversed(records) if record[0] == LEFT.number), None)


def blame(records: Sequence[tuple[Any, ...]], sources: Sequence[int]) -> dict[int, str]:
    """For each source tid the last exit, as ``file:line (how)``, of a value that depends on it."""
    found: dict[int, str] = {}
    reach: dict[int, set[int]] = {tid: {tid} for tid in sources}
    for record in records:
        origins = set().union(*(reach[tid] for tid in inputs_of(record) if tid in reach))
        if not origins:
            continue
        if record[0] == LEFT.number:
            found |= dict.fromkeys(origins, record[3])
            continue
        for out in results_of(record):
            reach[out] = reach.get(out, set()) | origins
    return found
