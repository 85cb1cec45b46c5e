"""Exits: a followed value that leaves by float(x), np.asarray(x), dlpack... leaves a record.

    LEFT  (plan, exit, value, line)

The record is that of an op without a result.  It costs nothing in the backward pass; when a gradient
comes back None, the tape names the exit's file and line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._record.plan import Record, Structural, inputs_of, results_of
from .._record.stack import OPEN, Recorder, elsewhere, new_tid, recorders, tell
from .._util.errors import numpys_function, user_line
from .array import Array
from .views import current

WITHIN = " in NumPy's "  # of an exit in the code of a function of NumPy's, before its name
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
                function = numpys_function()
                within = f"{WITHIN}{function}" if function else ""
                tell_exit(recorder, tid, f"{user_line()} ({how}{within})")
    return data


def tell_exit(recorder: Recorder, tid: int, line: str) -> None:
    """Tell a recorder that a value left at ``line``, which is ``file:line (how)``."""
    left = left_record(tid, line)
    tell(recorder, left)
    recorder.notice(LEFT, left)


class LeftRecord(NamedTuple):
    """A record of an exit, to read by name."""

    plan: int
    exit: int  # an id of its own: nothing is computed from it
    value: int
    line: str  # file:line (how)


def left_record(tid: int, line: str) -> Record:
    """A record of an exit: a plain tuple, which the cyclic garbage collector does not track."""
    return (LEFT.number, new_tid(), tid, line)


def last_exit(records: Sequence[tuple[Any, ...]]) -> str | None:
    """``file:line (how)`` of the last exit among these records, if there is one."""
    return next((LeftRecord(*r).line for r in reversed(records) if r[0] == LEFT.number), None)


def installed(line: str) -> bool:
    """Whether ``file:line`` lies in an installed package, or calls NumPy's code, where a value left."""
    return "site-packages" in line or "dist-packages" in line or WITHIN in line


class Exit(NamedTuple):
    """Where a value left, and whether what left may have come back as a part of the target."""

    line: str  # file:line (how)
    before: bool  # in code of an installed package, while the target was still to be computed


def blame(
    records: Sequence[tuple[Any, ...]], sources: Sequence[int], targets: Sequence[int]
) -> dict[int, Exit]:
    """For each source tid the last exit of a value that depends on it.

    An exit in installed code, before the target is done, takes precedence: what left there may have
    come back as a constant.  What leaves in the user's own code, or afterwards, leaves on purpose.
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
            left = LeftRecord(*record)
            before = bool(ends) and i < ends[-1] and left.value not in done and installed(left.line)
            for tid in origins:
                if before or tid not in found or not found[tid].before:
                    found[tid] = Exit(left.line, before)
            continue
        for out in results_of(record):
            reach[out] = reach.get(out, set()) | origins
    return found
