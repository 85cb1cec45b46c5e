"""Leaving the tape is never silent: float(x), np.asarray(x), dlpack... are remembered.

Each exit of a followed value goes into the records as an op without a result.  It costs nothing
in the backward pass; when a gradient comes back None, the tape names the exit's file and line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._record.plan import Structural, inputs_of, results_of
from .._record.stack import OPEN, Recorder, elsewhere, new_tid, recorders, tell
from .._util.errors import user_line
from .array import Array
from .views import current

LEFT = Structural("left", lambda at, record: None, lambda at, record: [None])


def leave(x: Array, how: str) -> Any:
    """The data of ``x`` for the world outside; recorders that follow it remember where and how."""
    tid, data = current(x)
    if tid:
        stack = recorders()
        if OPEN and not stack:
            elsewhere((tid,))
        for recorder in stack:
            if tid in recorder.followed:
                tell_exit(recorder, tid, f"{user_line()} ({how})")
    return data


def tell_exit(recorder: Recorder, tid: int, line: str) -> None:
    """Tell a recorder that a value left at ``line``, which is ``file:line (how)``."""
    left = (LEFT.number, new_tid(), tid, line)
    tell(recorder, left)
    recorder.notice(LEFT, left)


def last_exit(records: Sequence[tuple[Any, ...]]) -> str | None:
    """``file:line (how)`` of the last exit among these records, if there is one."""
    return next((record[3] for record in reversed(records) if record[0] == LEFT.number), None)


def installed(line: str) -> bool:
    """Whether ``file:line`` lies in an installed package."""
    return "site-packages" in line or "dist-packages" in line


class Exit(NamedTuple):
    """Where a value left, and whether what left may have come back as a part of the target."""

    line: str  # file:line (how)
    before: bool  # in somebody else's code, while the target was still to be computed


def blame(
    records: Sequence[tuple[Any, ...]], sources: Sequence[int], targets: Sequence[int]
) -> dict[int, Exit]:
    """For each source tid the last exit of a value that depends on it.

    An exit in installed code, before the target is done, takes precedence: what left there may have
    come back as a constant.  What leaves in one's own code, or is printed afterwards, was meant to.
    """
    done = {*targets}
    ends = [i for i, record in enumerate(records) if not done.isdisjoint(results_of(record))]
    found: dict[int, Exit] = {}
    reach: dict[int, set[int]] = {tid: {tid} for tid in sources}
    for i, record in enumerate(records):
        origins = set().union(*(reach[tid] for tid in inputs_of(record) if tid in reach))
        if not origins:
            continue
        if record[0] == LEFT.number:
            before = bool(ends) and i < ends[-1] and record[2] not in done and installed(record[3])
            for tid in origins:
                if before or tid not in found or not found[tid].before:
                    found[tid] = Exit(record[3], before)
            continue
        for out in results_of(record):
            reach[out] = reach.get(out, set()) | origins
    return found
