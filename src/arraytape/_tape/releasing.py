"""The backward pass of a one-shot tape that keeps much: records are freed once nothing needs them.

The guarded rerun (``guard``) goes through the records again if a gradient holds a NaN.  So a record is
freed only when the rerun cannot need it:

at once      from the end of the tape to the last record that selects elements: as long as every element
             is active, a guarded pass computes what the plain one did
in segments  from there on.  At the end of a segment its cotangents are checked for NaN.  Without a NaN,
             a later rerun needs no more of the segment than which elements were active: its records
             stay without their large arrays (``Hollow``).  With a NaN, the guarded pass starts from
             the segment's first cotangents

If a user's function was recorded, all records from there on are one segment: such a function is not run
on made-up values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from .._array.aliasing import ADD, PUT, VIEW, WATCH
from .._record.plan import PLANS, Plan, Record, Structural, results_of
from .._storage.storage import MAKING, STORAGES, storage_of
from .activity import ALL, ActivityData
from .backward import BackwardPass, backward
from .blockwise import by_blocks
from .buffers import LARGE, bytes_or_zero
from .cusps import selects
from .data import RawData
from .guard import GuardedPass, tell_once

if TYPE_CHECKING:
    from .._util.array_types import RawArray
    from .recording import Recording

MUCH = 2**24  # bytes of all records from which on freeing them pays
SEGMENT = 2**22  # the least bytes that a segment keeps
SEGMENTS = 4  # the most segments, roughly: each ends with a check of the cotangents
FEW = 4  # records in the sample that tells whether a tape keeps much
MANY = 64  # records in the sample if a large array is watched


# --- conditions ---------------------------------------------------------------------------------------
def keeps_much(recording: Recording) -> bool:
    """Return True if records keep ``MUCH``, as a sample shows: to check each would take too long."""
    records = recording.records
    step = len(records) // (MANY if recording.watches_large else FEW) + 1
    sizes: dict[int, int] = {}
    for record in records[step // 2 :: step]:
        for item in record[3:]:  # after the number, a result and an input
            if type(item) in STORAGES:
                size = item.nbytes if type(item) is ndarray else bytes_or_zero(item)
                if size >= LARGE:
                    sizes[id(item)] = size
    return bool(sizes) and sum(sizes.values()) * step >= MUCH


def may_release_records(recording: Recording) -> bool:
    """Return True if nothing but a backward pass will ask for the records of a one-shot tape.

    Not while a trace runs: it keeps all data anyway, and its program would contain all checks.
    """
    return not (
        recording.persistent
        or MAKING.get() is not None
        or recording.careful
        or recording.shared
        or recording.journal is not None
        or recording.numerics is not None
        or recording.observers
        or recording.needs_stepwise()
    )


def new_bytes(records: Iterable[Record], counted: set[int]) -> int:
    """Return the bytes of arrays in records whose ids are not in ``counted`` yet, and add these ids."""
    total = 0
    for record in records:
        for item in record:
            kind = type(item)
            if kind is not int and kind in STORAGES and id(item) not in counted:
                counted.add(id(item))
                total += bytes_or_zero(item)
    return total


# --- the pass -----------------------------------------------------------------------------------------
class Hollow:
    """The stand-in for a freed array in a record: its layout."""

    __slots__ = ("dtype", "shape")

    def __init__(self, data: RawArray) -> None:
        self.shape, self.dtype = data.shape, data.dtype

    def ones_in_place(self) -> Any:
        """Return ones that take no memory: which elements are active does not depend on values."""
        return np.broadcast_to(np.ones((), self.dtype), self.shape)


class ReleasingPass:
    """A backward pass over records that it takes off the tape.

    pass_ : the plain pass, with its seeds.  passed : the records that are off the tape and that a
    guarded rerun would go through first, from the last one on, without large arrays.  reached : the
    layouts of the cotangents with which that rerun would begin; all of their elements are active.
    idle : watched ids whose cotangents are not asked for.
    """

    def __init__(self, pass_: BackwardPass, recording: Recording, sources: Collection[int]) -> None:
        self.pass_, self.recording, self.records = pass_, recording, recording.records
        self.idle = recording.leaves.difference(sources)
        self.passed: list[Record] = []
        self.reached: dict[int, Hollow] = {}

    def run_releasing(self, guard: bool) -> BackwardPass:
        """Pass back through all records; return the plain pass, or the guarded one that took over."""
        if not guard:
            while self.records:
                self.pass_record_back(self.take_record())
            return self.pass_
        while self.records and not self.may_select(self.records[-1]):
            self.pass_record_back(self.take_record())
        self.reached = {
            value_id: Hollow(g) for value_id, g in self.pass_.cotangents.items() if g is not None
        }
        counted: set[int] = set()
        size = max(SEGMENT, new_bytes(self.records, set()) // SEGMENTS)
        if not all(map(may_be_hollow, self.records)):
            size = 1 << 62
        while self.records:
            guarded = self.run_segment(size, counted)
            if guarded is not None:
                return guarded
        return self.pass_

    def take_record(self) -> Record:
        self.recording.used_up = True  # before the record goes: an interruption may come between
        return self.records.pop()

    def pass_record_back(self, record: Record) -> None:
        """Pass cotangents back through one record, by blocks if it is large."""
        if not by_blocks(self.pass_, record):
            backward(self.pass_, [record], False)

    def may_select(self, record: Record) -> bool:
        """Return True if activity may differ between elements once cotangents passed this record."""
        plan = PLANS[record[0]]
        if not self.pass_.has_cotangent(record):
            return False
        if not isinstance(plan, Plan) or plan.reading is not None or len(results_of(record)) > 1:
            return True
        if not selects(plan, record):
            return False
        return plan.op.kind != "linear" or self.drops(plan, record)

    def drops(self, plan: Plan, record: Record) -> bool:
        """Return True if a linear op leaves out elements of an input: its rules give them no counts."""
        g = self.pass_.cotangents[record[1]]
        if type(g) is not ndarray:
            return True
        masks = ActivityData(storage_of(g))
        counts = np.broadcast_to(np.ones(()), g.shape)
        for pull in plan.pulls:
            found = masks.apply(plan, pull, counts, record)
            if plan.op.joint or type(found) is not ndarray or not condensed(found).all():
                return True
        return False

    def run_segment(self, size: int, counted: set[int]) -> BackwardPass | None:
        """Pass back through ``size`` bytes of records; on a NaN, return a finished guarded pass."""
        pass_, records = self.pass_, self.records
        before = {value_id: g for value_id, g in pass_.cotangents.items() if g is not None}
        pass_.borrowed.update(before)  # not to be written to, since a rerun starts with them
        segment: list[Record] = []
        start, kept = len(records), 0
        while start and kept < size:
            start -= 1
            if self.pass_.has_cotangent(records[start]):
                segment.append(records[start])
                kept += new_bytes(segment[-1:], counted)
                self.pass_record_back(segment[-1])
        if self.left_nan(before):
            return self.rerun_guarded(before, [*records[:start], *reversed(segment)])
        self.recording.used_up = True
        self.passed += map(hollowed, segment) if start else ()
        del records[start:]
        return None

    def left_nan(self, before: dict[int, Any]) -> bool:
        """Return True if a cotangent that changed within the segment holds a NaN."""
        return any(
            g is not None
            and g is not before.get(value_id)
            and value_id not in self.idle
            and holds_nan(g)
            for value_id, g in self.pass_.cotangents.items()
        )

    def rerun_guarded(self, before: dict[int, Any], records: list[Record]) -> BackwardPass:
        tell_once()
        plain = self.pass_
        pass_ = GuardedPass(RawData(plain.data.storage), plain.followed)
        pass_.wanted = plain.wanted
        for value_id, layout in self.reached.items():
            pass_.lend_contribution(value_id, layout.ones_in_place())
            pass_.activity.add_contribution(value_id, ALL)
        for record in self.passed:
            pass_.go_back(PLANS[record[0]], refill_record(record))
        pass_.cotangents, pass_.borrowed = dict(before), set(before)
        for value_id in before:
            pass_.activity.cotangents.setdefault(value_id, ALL)
        backward(pass_, records, True)
        return pass_


# --- records without their arrays ---------------------------------------------------------------------
def may_be_hollow(record: Record) -> bool:
    """Return True unless a rerun on made-up cotangents would run a user's function."""
    plan = PLANS[record[0]]
    if isinstance(plan, Structural):
        return plan in (VIEW, PUT, ADD, WATCH)
    return not plan.op.checked


def hollowed(record: Record) -> Record:
    """Return a record of an elementwise op or a product without its large arrays; others as they are.

    The rules of these ops run on any values: none is an error.
    """
    plan = PLANS[record[0]]
    if not isinstance(plan, Plan) or plan.op.selects:
        return record
    if not (plan.diagonal or set(plan.op.linear_in).issuperset(plan.op.inputs)):
        return record
    large = [type(item) is ndarray and item.nbytes >= LARGE for item in record]
    return tuple([Hollow(x) if is_large else x for x, is_large in zip(record, large, strict=True)])


def refill_record(record: Record) -> Record:
    return tuple([item.ones_in_place() if type(item) is Hollow else item for item in record])


# --- NaN checks ---------------------------------------------------------------------------------------
def condensed(data: np.ndarray[Any, Any]) -> Any:
    """Return data with one element along each axis that a stride of 0 repeats."""
    if 0 not in data.strides or not data.size:
        return data
    return data[tuple([slice(None) if step else 0 for step in data.strides])]


def holds_nan(g: RawArray) -> bool:
    return storage_of(g).has_nan(condensed(g) if type(g) is ndarray else g)
