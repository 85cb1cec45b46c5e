"""Cuts: ops that no tape recorded, though they took a value that a tape follows or may follow later.

Cuts explain why a gradient is None.  They are noted while a tape is awaited: the tape records, or has
ended and was not yet asked for a gradient.  An op without a record then leaves a ``Cut`` at its
results, if an operand has an id.  Otherwise the Cut is left at the operands, which may yet be watched,
as long as the tape follows nothing.  The results get ids, so that ops on them are noted, too.

Noting an op takes several times as long as the op.  So a process may note ``FIRST`` ops at once and
``RATE`` more each second, about 1% of its time.  Once this budget is used up, all tapes stop being
awaited; a tape that is entered later, when the budget has grown, is awaited again.  That suffices for
loops: a mistake in a loop shows in its first rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from types import CodeType
from typing import Any, NamedTuple

from .._record.stack import AWAITED, UNSTARTED, new_value_id
from .._util.source_locations import NO_NAMES, Place, frame_that_counts
from .array import IS_VIEW, Array

MANY = 64  # the most ids in one cut
FIRST = 1000  # the budget at the start, and its maximum: ops that may be noted
RATE = 3000  # ops per second by which the budget grows
ENOUGH = FIRST / 2  # a budget from which on a tape is awaited without reading the clock
LEAST = 30  # the least budget with which a tape is awaited


class Cut(NamedTuple):
    """An op that no tape recorded.

    time : when it ran, on the scale of value ids.  name : the op's name.  value_ids : its
    operands'; () for a Cut at an operand without an id.  code, instruction : the user's source location.
    """

    time: int
    name: str
    value_ids: tuple[int, ...]
    code: CodeType | None
    instruction: int

    @property
    def used_at(self) -> str:
        if self.code is None:
            return "an unknown line"
        return str(Place(self.code, self.instruction, 0, NO_NAMES))


left = [
    float(FIRST),
    monotonic(),
]  # the budget, and the time in seconds when it was brought up to date


def may_note() -> bool:
    """Bring the budget up to date and return True if it suffices for a tape to be awaited."""
    now = monotonic()
    left[:] = min(FIRST, left[0] + RATE * (now - left[1])), now
    return left[0] >= LEAST


def forget_gone() -> None:
    """Stop awaiting tapes that were freed."""
    for awaited in AWAITED, UNSTARTED:
        for key, reference in awaited.copy().items():  # a copy, since other threads change the dict
            if reference() is None:
                awaited.pop(key, None)


def note_cut(
    name: str, results: Sequence[Array], value_ids: Sequence[int], operands: Sequence[Any]
) -> None:
    """Note a Cut at the results of an op without a record and at its operands without ids."""
    left[0] -= 1
    if left[0] < 0:
        AWAITED.clear()
        UNSTARTED.clear()
        return
    for reference in AWAITED.copy().values():
        if reference() is not None:
            break
    else:
        forget_gone()
        return
    frame = frame_that_counts()
    code, instruction = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
    used = Cut(new_value_id(), name, (), code, instruction)
    cut, before, taken = used, list[int](), [value_id for value_id in value_ids if value_id]
    for x, value_id in zip(operands, value_ids, strict=False):
        if not isinstance(x, Array):
            continue
        is_view = x._state & IS_VIEW
        root = x._view.root if is_view else x
        if value_id and is_view:
            taken.append(x._view.seen)  # tapes may know the root's id alone: a view's id may be new
        last = cut_of(root)
        if last is not None and last.value_ids:
            cut = cut if last.code is None else last
            before += last.value_ids
        elif not value_id:
            root._cut = used
    every = tuple(dict.fromkeys(before + taken))[:MANY]  # ids from earlier cuts come first
    for y in results:
        y._cut = cut._replace(value_ids=every) if every else None
        if every and not y._value_id and not y._state & IS_VIEW and y._data.dtype.kind in "fc":
            y._value_id = new_value_id()


def cut_of(x: Array) -> Cut | None:
    """Return the Cut at an Array or, for a view, at its root; None if there is no Cut."""
    root = x._view.root if x._state & IS_VIEW else x
    return getattr(root, "_cut", None)
