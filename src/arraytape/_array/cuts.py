"""Note ops that no tape recorded, so that the warning "the gradient is None" can name their lines.

An op is noted if a tape follows one of its operands or may follow it later, but did not record the op:
for example because the op ran after the tape's block, or before ``watch``.  Ops are noted while a tape
is *awaited*: the tape records, or it has ended and has not computed a gradient yet.  The note is a
``Cut`` in the attribute ``_cut`` of Arrays.  If an operand has a value id, the results of the op get the
Cut.  They also get value ids, so that later ops on them are noted, too.  If no operand has an id and the
awaited tape follows nothing yet, the operands get the Cut, since they may be watched later.

To note an op takes several times as long as the op.  So a process may note ``FIRST`` ops at once and
``RATE`` more each second, which takes about 1% of its time.  When this budget is used up, no tape is
awaited any more, until a tape is entered after the budget has grown again.  That is enough for programs
with loops, since a mistake in a loop shows in the first iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from types import CodeType
from typing import Any, NamedTuple

from .._record.stack import AWAITED, UNSTARTED, new_value_id
from .._util.source_locations import NO_NAMES, Place, innermost_outside_frame
from .array import IS_VIEW, Array

MANY = 64  # the greatest length of ``Cut.value_ids``
FIRST = 1000  # the budget (how many ops may be noted now) at the start, and its maximum
RATE = 3000  # ops per second by which the budget grows
ENOUGH = FIRST / 2  # with this budget, ops are noted for a new tape without updating the budget
LEAST = 30  # with a smaller budget, no ops are noted for a new tape


class Cut(NamedTuple):
    """A note on an op that no tape recorded.  The warning "the gradient is None" names its line.

    time : a new value id, drawn when the op ran.  Ids grow, so that they show the order of events.
    name : the name of the op.
    value_ids : the ids of the op's operands, and of the operands of noted ops from which these came; ()
    for the note that an operand without an id gets.
    code, instruction : the code object and the bytecode index of the user's line; None and 0 if unknown.
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


# The budget, and the time in seconds at which it was last brought up to date.
budget = [float(FIRST), monotonic()]


def may_note() -> bool:
    """Return True if the budget allows to note further ops that no tape recorded.

    To note an op, for a warning about a gradient of None, takes several times as long as the op.  So the
    process has a budget of ops, which grows with time.  Notes begin again at LEAST ops.
    """
    now = monotonic()
    budget[:] = min(FIRST, budget[0] + RATE * (now - budget[1])), now
    return budget[0] >= LEAST


def forget_freed_tapes() -> None:
    """Remove tapes that were garbage-collected from the dicts AWAITED and UNSTARTED.

    While the dicts hold a tape, ops that it did not record are noted, for warnings about gradients of
    None.  AWAITED has the tapes without a gradient so far, UNSTARTED those that follow no value yet.
    """
    for awaited in AWAITED, UNSTARTED:
        for key, reference in awaited.copy().items():  # other threads may change the dict
            if reference() is None:
                awaited.pop(key, None)


def note_cut(
    name: str, results: Sequence[Array], value_ids: Sequence[int], operands: Sequence[Any]
) -> None:
    """Note an op that no tape recorded, so that a warning "the gradient is None" can name its line.

    Operands without a value id get the note as their ``_cut``, and results if an operand has an id.

    name : the name of the op.  operands : its arguments, of which only Arrays count.
    value_ids : the numbers by which tapes know the operands' values; 0 for a value without a number.
    """
    budget[0] -= 1
    if budget[0] < 0:
        AWAITED.clear()
        UNSTARTED.clear()
        return
    for reference in AWAITED.copy().values():
        if reference() is not None:
            break
    else:
        forget_freed_tapes()
        return
    frame = innermost_outside_frame()
    code, instruction = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
    used = Cut(new_value_id(), name, (), code, instruction)
    cut, before, taken = used, list[int](), [value_id for value_id in value_ids if value_id]
    for x, value_id in zip(operands, value_ids, strict=False):
        if not isinstance(x, Array):
            continue
        is_view = x._state & IS_VIEW
        root = x._view.root if is_view else x
        if value_id and is_view:
            # A tape may follow the root's value, but not the view's id, if that was made just now.
            taken.append(x._view.seen)
        last = cut_of(root)
        if last is not None and last.value_ids:
            cut = cut if last.code is None else last
            before += last.value_ids
        elif not value_id:
            root._cut = used
    every = tuple(dict.fromkeys(before + taken))[:MANY]  # ids from earlier Cuts are kept first
    for y in results:
        y._cut = cut._replace(value_ids=every) if every else None
        if every and not y._value_id and not y._state & IS_VIEW and y._data.dtype.kind in "fc":
            y._value_id = new_value_id()


def cut_of(x: Array) -> Cut | None:
    """Return the note on an op that no tape recorded, from which x was computed; None if there is none.

    The note of a view is that of its root, the Array that owns the data.
    """
    root = x._view.root if x._state & IS_VIEW else x
    return getattr(root, "_cut", None)
