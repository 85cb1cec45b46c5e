"""Record conversions ("exits") of a value that a tape follows to data that no tape can follow.

Such conversions are float(x), np.asarray(x), DLPack and others.  Each is recorded as

    LEFT  (plan, exit, value, how, stack, data)

``LeftRecord`` explains the items.  A LEFT record has no result, so the backward pass ignores it.  If a
gradient is None or incomplete, the subpackage ``_exits`` finds out from these records whether the
converted value may have come back as a constant.  The message names the line of the conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from .._record.plan import Structural
from .._record.stack import (
    OPEN,
    Recorder,
    add_structural_record,
    new_value_id,
    notify_other_threads,
    recorders,
)
from .._util.errors import numpys_function, user_line
from .._util.references import weak_reference
from .._util.source_locations import Stack, cut_stack, stack_here
from .array import Array
from .views import current

if TYPE_CHECKING:
    from .._util.array_types import RawArray

LEFT = Structural("left", lambda at, record: None, lambda at, record: [None])
# Dict from the ``id()`` of data to the data, for results of stop_gradient.  The user means them to be
# constants, so their conversion causes no warning.
STOPPED: WeakValueDictionary[int, Any] = WeakValueDictionary()
# After a call of a user's function, ``Recorder.notice`` is called with ENTERED and the constants that
# recorded ops used inside the call.  No tape holds a record with this plan.
ENTERED = Structural("entered", lambda at, record: None, lambda at, record: [None])


def followers(x: Array) -> list[Recorder]:
    """Return the recorders of this thread (tapes, accumulators) that follow the value of x."""
    value_id = current(x)[0]
    return (
        [recorder for recorder in recorders() if value_id in recorder.followed] if value_id else []
    )


def leave_tapes(x: Array, how: str) -> Any:
    """Return the raw data of ``x`` for a conversion to data that no tape can follow, such as float(x).

    Tapes that follow x record the conversion, for messages about gradients of None.

    how : the conversion, such as "float()".
    """
    value_id, data = current(x)
    if value_id:
        stack = recorders()
        if OPEN and not stack:
            notify_other_threads((value_id,))
        followers = [recorder for recorder in stack if value_id in recorder.followed]
        if followers:
            function = numpys_function()
            said = f"{how} in NumPy's {function}" if function else how
            record_exit(followers, value_id, said, data)
    return data


def record_exit(
    recorders: Sequence[Recorder], value_id: int, how: str, data: RawArray | None = None
) -> None:
    """Record that a value was converted to data that no tape can follow, at the user's current line.

    recorders : the tapes and accumulators that follow the value.  value_id : the number by which they
    know the value.  how : the conversion, such as "float()", for messages.
    data : the converted data, or None if it is not known.
    """
    frames = [recorder.frames for recorder in recorders]
    record_exit_at(recorders, value_id, how, stack_here(*frames), weak_reference(data))


def record_exit_at(
    recorders: Sequence[Recorder], value_id: int, how: str, stack: Stack, data: Callable[[], Any]
) -> None:
    """Record that a value was converted to data that no tape can follow, at the location ``stack``.

    So outer tapes get the conversions in a function that ran with a tape of its own, as under ``vmap``.

    recorders : the tapes and accumulators that follow the value.  value_id : the number by which they
    know the value.  how : the conversion, such as "float()", for messages.
    data : a function that returns the converted data, or None if the data was freed or is not known.
    """
    for recorder in recorders:
        left = (LEFT.number, new_value_id(), value_id, how, cut_stack(stack, recorder.frames), data)
        add_structural_record(recorder, left)
        recorder.notice(LEFT, left)


def record_exit_elsewhere(
    recorder: Recorder, value_ids: Collection[int], lost: set[tuple[int, str]], how: str
) -> None:
    """Record, once for each value and line, that another thread used values of a recorder.

    recorder : the tape or accumulator.  value_ids : the values' ids.
    lost : its set of pairs (value id, line), to which new pairs are added.
    how : where the values were used, for messages.
    """
    line = user_line() if value_ids else ""
    for value_id in value_ids:
        if (value_id, line) not in lost:
            lost.add((value_id, line))
            record_exit([recorder], value_id, how)


class LeftRecord(NamedTuple):
    """A tape's LEFT record as a named tuple: a value was converted to data that no tape follows."""

    plan: int  # always LEFT.number
    exit: int  # an id of the conversion itself, in the place of the id of a result
    value: int  # the id of the converted value
    how: str  # such as "float()"
    stack: Stack
    data: Callable[[], Any]  # returns the converted data, or None if it was freed
