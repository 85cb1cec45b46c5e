"""Cuts: ops that no tape recorded, though they took a value that a tape follows or may follow later.

While a tape records, or has ended and was not asked for a gradient, an op without a record leaves a
``Cut``: at its results, if it took values with ids; else at its operands, which may be watched late, as
long as the tape follows nothing at all.  Results get ids, so that ops on them are noted, too.  Cuts tell
why a gradient is None.  Nothing is noted while no tape is awaited.

Noting an op takes several times as long as the op.  So a process may note ``FIRST`` ops at once and
``RATE`` more each second, about 1% of its time.  Once these are used up no tape is awaited, until one is
entered after a while.  A mistake in a loop shows in its first rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from types import CodeType
from typing import Any, NamedTuple

from .._record.stack import AWAITED, UNSTARTED, new_tid
from .._util.places import NO_NAMES, Place, frame_that_counts
from .array import IS_VIEW, Array

MANY = 64  # ids in one cut
FIRST = 1000  # ops that may be noted at once
RATE = 3000  # ops that may be noted in each second after
ENOUGH = FIRST / 2  # ops that may be noted, from which on the clock need not be read
LEAST = 30  # ops that may be noted, where a tape is awaited


class Cut(NamedTuple):
    """An op that no tape recorded.

    time : on the scale of value ids.  name : of the op.  tids : the ids of the values that it took; ()
    for a cut at an operand, which had no id yet.  code, instruction : the user's line.
    """

    time: int
    name: str
    tids: tuple[int, ...]
    code: CodeType | None
    instruction: int

    @property
    def used_at(self) -> str:
        if self.code is None:
            return "an unknown line"
        return str(Place(self.code, self.instruction, 0, NO_NAMES))


left = [float(FIRST), monotonic()]  # how many ops may still be noted, as of which time


def may_note() -> bool:
    """Return True if there is time to note what runs from here on."""
    now = monotonic()
    left[:] = min(FIRST, left[0] + RATE * (now - left[1])), now
    return left[0] >= LEAST


def forget_gone() -> None:
    """Forget the tapes that nothing refers to any more."""
    for awaited in AWAITED, UNSTARTED:
        for key, reference in awaited.copy().items():  # in one step, beside other threads
            if reference() is None:
                awaited.pop(key, None)


def note_cut(
    name: str, results: Sequence[Array], tids: Sequence[int], operands: Sequence[Any]
) -> None:
    """Note a Cut at the results of an op without a record, or else at its operands."""
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
    used = Cut(new_tid(), name, (), code, instruction)
    cut, before, taken = used, list[int](), [tid for tid in tids if tid]
    for x, tid in zip(operands, tids, strict=False):
        if not isinstance(x, Array):
            continue
        is_view = x._state & IS_VIEW
        root = x._view.root if is_view else x
        if tid and is_view:
            taken.append(x._view.seen)  # its own id may be new
        last = cut_of(root)
        if last is not None and last.tids:
            cut = cut if last.code is None else last
            before += last.tids
        elif not tid:
            root._cut = used
    every = tuple(dict.fromkeys(before + taken))[:MANY]  # those that a tape may follow come first
    for y in results:
        y._cut = cut._replace(tids=every) if every else None
        if every and not y._tid and not y._state & IS_VIEW and y._data.dtype.kind in "fc":
            y._tid = new_tid()


def cut_of(x: Array) -> Cut | None:
    """Return the Cut at an Array, or at the root of a view; None where there is none."""
    root = x._view.root if x._state & IS_VIEW else x
    try:
        return SLOT(root)  # type: ignore[no-any-return]
    except AttributeError:
        return None


SLOT: Any = vars(Array)["_cut"].__get__  # ``getattr`` would ask for names of other libraries
