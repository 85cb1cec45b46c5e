"""Records of exits: untracked conversions such as float(x), np.asarray(x) or dlpack of a followed value.

    LEFT  (plan, exit, value, how, stack, data)

A LEFT record is that of an op without a result, and costs nothing in the backward pass.  ``_exits``
finds out from it whether the converted value may have come back as a constant, and error messages
name its source location.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from .._record.plan import Structural
from .._record.stack import OPEN, Recorder, elsewhere, new_value_id, recorders, tell
from .._util.errors import numpys_function
from .._util.source_locations import Stack, cut_stack, stack_here
from .array import Array
from .views import current

if TYPE_CHECKING:
    from .._util.array_types import RawArray

LEFT = Structural("left", lambda at, record: None, lambda at, record: [None])
# Data that stop_gradient returned, by its address: no exit of it is suspicious.
STOPPED: WeakValueDictionary[int, Any] = WeakValueDictionary()
# Handed to ``Recorder.notice`` as (plan, entries, result), never recorded: constants that entered
# inside the call that made the result.
ENTERED = Structural("entered", lambda at, record: None, lambda at, record: [None])


def followers(x: Array) -> list[Recorder]:
    value_id = current(x)[0]
    return (
        [recorder for recorder in recorders() if value_id in recorder.followed] if value_id else []
    )


def leave_tapes(x: Array, how: str) -> Any:
    """Return the data of ``x`` for foreign code; record the exit where a recorder follows ``x``."""
    value_id, data = current(x)
    if value_id:
        stack = recorders()
        if OPEN and not stack:
            elsewhere((value_id,))
        followers = [recorder for recorder in stack if value_id in recorder.followed]
        if followers:
            function = numpys_function()
            said = f"{how} in NumPy's {function}" if function else how
            tell_exit(followers, value_id, said, data)
    return data


def tell_exit(
    recorders: Sequence[Recorder], value_id: int, how: str, data: RawArray | None = None
) -> None:
    """Hand recorders the record of an exit at the user's current line."""
    frames = [recorder.frames for recorder in recorders]
    pass_on_exit(recorders, value_id, how, stack_here(*frames), weakly(data))


def pass_on_exit(
    recorders: Sequence[Recorder], value_id: int, how: str, stack: Stack, data: Callable[[], Any]
) -> None:
    """Hand recorders the record of an exit at ``stack``."""
    for recorder in recorders:
        left = (LEFT.number, new_value_id(), value_id, how, cut_stack(stack, recorder.frames), data)
        tell(recorder, left)
        recorder.notice(LEFT, left)


def weakly(data: RawArray | None) -> Callable[[], Any]:
    """Return a weak reference to data of NumPy; for other data, a function that returns None."""
    return ref(data) if isinstance(data, np.ndarray) else lambda: None


class LeftRecord(NamedTuple):
    """The fields of a LEFT record."""

    plan: int
    exit: int  # a fresh id in the place of a result's
    value: int
    how: str  # such as "float()"
    stack: Stack
    data: Callable[[], Any]  # returns the converted data, or None if it was freed
