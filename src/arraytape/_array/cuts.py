"""Cuts: ops that took a value which a tape follows, or is to follow later, and that no tape recorded.

While a tape records, or has ended and was not asked for a gradient, each op without a record leaves a
``Cut``: with its results, if it took values with ids or results of such an op; else with its operands.
From these a tape tells why a gradient is None.  Nothing is noted while no tape is awaited.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from .._record.stack import AWAITED, CLOCK
from .._util.places import NO_NAMES, Place, counts
from .array import IS_VIEW, Array

MANY = 64  # ids in one cut
ENOUGH = 100_000  # cuts, after which nobody seems to ask for a gradient


class Cut(NamedTuple):
    """An op that no tape recorded.

    time : on ``CLOCK``.  name : of the op.  tids : the ids of what it took; () for a cut at an operand,
    which had no id yet.  code, instruction : the user's line.
    """

    time: int
    name: str
    tids: tuple[int, ...]
    code: CodeType | None
    instruction: int

    @property
    def line(self) -> str:
        """``file:line`` of the user's."""
        if self.code is None:
            return "an unknown line"
        return str(Place(self.code, self.instruction, 0, NO_NAMES))


noted = 0


def note_cut(
    name: str, results: Sequence[Array], tids: Sequence[int], operands: Sequence[Any]
) -> None:
    """Leave a Cut at the results of an op without a record, or else at its operands."""
    global noted
    noted += 1
    if noted > ENOUGH:
        AWAITED.clear()
        noted = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not counts(frame):
        frame = frame.f_back
    code, instruction = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)
    used = Cut(CLOCK[0], name, (), code, instruction)
    taken, cut = [tid for tid in tids if tid], used
    for x, tid in zip(operands, tids, strict=False):
        if not isinstance(x, Array):
            continue
        is_view = x._state & IS_VIEW
        root = x._view.root if is_view else x
        if tid:
            taken += [x._view.seen] if is_view else []  # a view's own id may be new
            continue
        before = cut_of(root)
        if before is None or not before.tids:
            root._cut = used
        else:
            cut = before
            taken += before.tids[:MANY]
    for y in results:
        y._cut = cut._replace(tids=tuple(taken)) if taken else None


def cut_of(x: Array) -> Cut | None:
    """Return the Cut at an Array, or at the root of a view; None where there is none."""
    root = x._view.root if x._state & IS_VIEW else x
    try:
        return SLOT(root)  # type: ignore[no-any-return]
    except AttributeError:
        return None


SLOT: Any = vars(Array)["_cut"].__get__  # ``getattr`` would ask for names of other libraries
