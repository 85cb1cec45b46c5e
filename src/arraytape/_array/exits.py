"""Exits: a followed value that leaves by float(x), np.asarray(x), dlpack... leaves a record.

    LEFT  (plan, exit, value, how, stack, data)

The record is that of an op without a result, and costs nothing in the backward pass.  From it ``_exits``
finds out whether such a value may have come back as a constant, and messages name its line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from .._record.plan import Structural
from .._record.stack import OPEN, Recorder, elsewhere, new_tid, recorders, tell
from .._util.errors import numpys_function
from .._util.places import Stack, cut_stack, stack_here
from .array import Array
from .views import current

if TYPE_CHECKING:
    from .._util.array_types import RawArray

LEFT = Structural("left", lambda at, record: None, lambda at, record: [None])
# Data that stop_gradient returned, by its address: its numbers are meant to come back as constants.
STOPPED: WeakValueDictionary[int, Any] = WeakValueDictionary()
# Not recorded, only noticed with (plan, entries, result): constants entered inside the call that made
# the result.
ENTERED = Structural("entered", lambda at, record: None, lambda at, record: [None])


def followers(x: Array) -> list[Recorder]:
    tid = current(x)[0]
    return [recorder for recorder in recorders() if tid in recorder.followed] if tid else []


def leave_tapes(x: Array, how: str) -> Any:
    """Return the data of ``x`` for foreign code; recorders that follow ``x`` note the exit."""
    tid, data = current(x)
    if tid:
        stack = recorders()
        if OPEN and not stack:
            elsewhere((tid,))
        followers = [recorder for recorder in stack if tid in recorder.followed]
        if followers:
            tell_exit(followers, tid, how_in_numpy(how), data)
    return data


def how_in_numpy(how: str) -> str:
    """Return how a value leaves, with the function of NumPy's in which it does."""
    function = numpys_function()
    return f"{how} in NumPy's {function}" if function else how


def tell_exit(
    recorders: Sequence[Recorder], tid: int, how: str, data: RawArray | None = None
) -> None:
    """Hand recorders the record of an exit at the running line."""
    frames = [recorder.frames for recorder in recorders]
    pass_on_exit(recorders, tid, how, stack_here(*frames), weakly(data))


def pass_on_exit(
    recorders: Sequence[Recorder], tid: int, how: str, stack: Stack, data: Callable[[], Any]
) -> None:
    """Hand recorders the record of an exit at ``stack``."""
    for recorder in recorders:
        left = (LEFT.number, new_tid(), tid, how, cut_stack(stack, recorder.frames), data)
        tell(recorder, left)
        recorder.notice(LEFT, left)


def weakly(data: RawArray | None) -> Callable[[], Any]:
    """Return a weak reference to NumPy's data; for other data a function that returns None."""
    return ref(data) if isinstance(data, np.ndarray) else lambda: None


class LeftRecord(NamedTuple):
    """A record of an exit, to read by name."""

    plan: int
    exit: int  # an id of its own: nothing is computed from it
    value: int
    how: str  # "float()"
    stack: Stack
    data: Callable[[], Any]  # returns the data that left, or None if it was freed
