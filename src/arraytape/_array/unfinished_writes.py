"""Record writes such as ``x += v`` that an error or an interruption stopped before they were recorded.

    UNFINISHED  (plan, new, old, value, what)

The Array may hold its old data, the new data, or a part of each, so no derivative would be correct.  The
root of x gets a new value id, ``new``.  A gradient that needs this id raises an error, because of the
UNFINISHED record.  ``old`` and ``value`` are the ids of the root's value before the write and of the
written value; ``what`` describes the write.  If the array library refused the write with an error,
nothing was written, and no record is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._record.mode_stack import MODES, notify_written
from .._record.plan import Structural
from .._record.stack import (
    OPEN,
    add_structural_record,
    new_value_id,
    notify_other_threads,
    recorders,
)
from .._util.errors import describe, user_line
from .array import Array
from .views import location

if TYPE_CHECKING:
    from .._util.array_types import RawArray

# Errors for a key, a shape or a dtype that does not fit.  Every library raises them before it writes.
REFUSALS = (IndexError, TypeError, ValueError)


class Unfinished:
    """The description of a write such as ``x += v`` that an error or interruption stopped halfway.

    A tape records it, and a gradient through the value of x raises an error with this description.

    said : a phrase that names the Array and the source location of the write.
    """

    missing = "unfinished write"

    def __init__(self, said: str) -> None:
        self.said = said


def unfinished(x: Array | None, written_id: int) -> None:
    """Record that a write into x did not finish, so that a gradient through the value of x is an error.

    The data of x may be written in part, so that no derivative would be correct.

    x : the Array, or None if the write was refused or is recorded already: then nothing is done.
    written_id : the number by which tapes know the value that was to be written; 0 if none does.
    """
    if x is None:
        return
    root, _ = location(x)
    old = root._value_id
    if not (old or written_id):
        return
    stack = recorders()
    followers = [r for r in stack if old in r.followed or written_id in r.followed]
    root._value_id = new_value_id() if followers else 0
    what = Unfinished(f"{describe(x)} at {user_line()}")
    for recorder in followers:
        record = (UNFINISHED.number, root._value_id, old, written_id, what)
        add_structural_record(recorder, record)
        recorder.notice(UNFINISHED, record)
    if OPEN and not stack:
        notify_other_threads((old, written_id))


def set_value_fields(x: Array, data: RawArray, value_id: int, state: int) -> None:
    """Give x other data, another value id and other state bits: all three, or none if interrupted."""
    before = x._data, x._value_id, x._state
    try:
        x._data, x._value_id, x._state = data, value_id, state
    except BaseException:
        x._data, x._value_id, x._state = before
        raise
    if MODES:
        notify_written(x)


# The rule drops the cotangent, since a gradient that needs the rule raises an error before the pass.
UNFINISHED = Structural(
    "unfinished write", lambda at, record: at.take_cotangent(record[1]), lambda at, record: [None],
    inputs=slice(2, 4),
)  # fmt: skip
