"""The backward pass of a one-shot tape that keeps much data: records are freed while the pass runs.

If a gradient holds a NaN, the guarded rerun (``guard.py``) goes through the records again.  So a record
is freed only when the rerun no longer needs it.  The pass goes from the last record to the first:

at once      First come the records made after the last op that selected elements.  The target depends
             on all their elements (all are active), so a rerun would change nothing: each is freed
             after its step
in segments  The other, earlier records are processed in segments.  At the end of each segment its
             cotangents are checked for NaN.  Without a NaN, a later rerun needs the segment only to
             find the active elements, so its records are kept without their large arrays
             (``Hollow``).  With a NaN, a guarded pass repeats the segment and all earlier records

If one of the earlier records is a call of a user's function, all of them are one segment: such a
function must not run on made-up values, which replace the freed arrays.
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
from .blockwise import pass_back_by_blocks
from .buffers import LARGE, bytes_or_zero
from .cusps import selects
from .data import RawData
from .guard import GuardedPass, log_guarded_rerun

if TYPE_CHECKING:
    from .._util.array_types import RawArray
    from .recording import Recording

MUCH = 2**24  # bytes: if the records keep as many or more, freeing them during the pass pays
SEGMENT = 2**22  # the least number of bytes that the records of a segment keep
SEGMENTS = 4  # about the greatest number of segments: each costs a NaN check of the cotangents
FEW = 4  # the number of records in the sample by which ``keeps_many_bytes`` estimates the bytes
MANY = 64  # the number of records in that sample for a tape that watches a large array


# --- conditions ---------------------------------------------------------------------------------------
def keeps_many_bytes(recording: Recording) -> bool:
    """Return True if the records keep at least ``MUCH`` bytes, as estimated from a few records.

    Then the pass frees records as it goes, which pays only for much memory.
    """
    records = recording.records
    step = len(records) // (MANY if recording.watches_large else FEW) + 1
    sizes: dict[int, int] = {}
    for record in records[step // 2 :: step]:
        for item in record[3:]:  # items 0 to 2 are the plan number, a result id and an input id
            if type(item) in STORAGES:
                size = item.nbytes if type(item) is ndarray else bytes_or_zero(item)
                if size >= LARGE:
                    sizes[id(item)] = size
    return bool(sizes) and sum(sizes.values()) * step >= MUCH


def may_release_records(recording: Recording) -> bool:
    """Return True if nothing but the next plain backward pass of the tape needs its records.

    Return False also while a function is traced (``MAKING``): the trace keeps all data anyway, and would
    contain the NaN checks that the releasing pass makes.
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
    """Return the bytes of the arrays in records, without those that were counted by earlier calls.

    counted : the ``id()`` of each array that was counted.  The new arrays are added to this set.
    """
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
    """The item that replaces a freed array in a record: the array's shape and dtype."""

    __slots__ = ("dtype", "shape")

    def __init__(self, data: RawArray) -> None:
        self.shape, self.dtype = data.shape, data.dtype

    def ones_in_place(self) -> Any:
        """Return ones in place of the freed array.  Their strides are 0, so they take no memory.

        A guarded pass (the rerun after a NaN) may use them in place of the array, to find the elements
        that the target depends on: these are the same for any values.
        """
        return np.broadcast_to(np.ones((), self.dtype), self.shape)


class ReleasingPass:
    """A backward pass that frees the records of a one-shot tape as it goes, in segments.

    A segment is a run of records with so many bytes, after which cotangents are checked for NaN.

    pass_ : the plain pass, with its seeds.
    reached : dict from value ids to the shapes and dtypes (Hollow) of the cotangents before the first
    segment, all of whose elements are active.  A rerun after a NaN begins with them.
    passed : the records of finished segments, without large arrays, in the order of the pass.  A rerun
    goes through them only to find the active elements.
    idle : the ids of watched values whose gradients are not requested.
    """

    def __init__(self, pass_: BackwardPass, recording: Recording, sources: Collection[int]) -> None:
        self.pass_, self.recording, self.records = pass_, recording, recording.records
        self.idle = recording.leaves.difference(sources)
        self.passed: list[Record] = []
        self.reached: dict[int, Hollow] = {}

    def run_releasing(self, guard: bool) -> BackwardPass:
        """Pass cotangents back through all records; return the pass that holds the gradients.

        That is the plain pass, or the guarded pass that replaced it because of a NaN.

        guard : True to check for NaN.  After one, a guarded pass repeats some records: elements that
        selections left out contribute 0 there.
        """
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
        """Remove the last record from the tape, and return it."""
        # ``used_up`` is set first.  If an interruption comes between the two lines, a later request for
        # a gradient raises, in place of a wrong result without the removed record.
        self.recording.used_up = True
        return self.records.pop()

    def pass_record_back(self, record: Record) -> None:
        """Pass cotangents back through one record, by blocks if it is large.

        A block is a run of elements that fits into the processor's cache.
        """
        if not pass_back_by_blocks(self.pass_, record):
            backward(self.pass_, [record], False)

    def may_select(self, record: Record) -> bool:
        """Return True if this record's op may be a selection, which leaves out elements of an input.

        Records made after the last selection can be freed at once: a rerun after a NaN would not change
        their cotangents.
        """
        plan = PLANS[record[0]]
        if not self.pass_.has_cotangent(record):
            return False
        if not isinstance(plan, Plan) or plan.reading is not None or len(results_of(record)) > 1:
            return True
        if not selects(plan, record):
            return False
        return plan.op.kind != "linear" or self.leaves_out_elements(plan, record)

    def leaves_out_elements(self, plan: Plan, record: Record) -> bool:
        """Return True if the linear op of this record leaves out elements of an input, as indexing does.

        The op's rules are applied to a cotangent of ones.  Where the result is 0, the op did not use the
        element of the input.  Also return True if a rule's result is no ndarray.

        plan : the description of the record's items and rules.
        """
        g = self.pass_.cotangents[record[1]]
        if type(g) is not ndarray:
            return True
        masks = ActivityData(storage_of(g))
        counts = np.broadcast_to(np.ones(()), g.shape)
        for pull in plan.pulls:
            found = masks.apply(plan, pull, counts, record)
            if (
                plan.op.joint
                or type(found) is not ndarray
                or not without_repeated_axes(found).all()
            ):
                return True
        return False

    def run_segment(self, size: int, counted: set[int]) -> BackwardPass | None:
        """Pass cotangents back through a segment of records that keep about ``size`` bytes.

        Return None, or after a NaN the guarded pass that repeated this segment and all earlier records.
        counted : the ``id()`` of each array whose bytes were counted.
        """
        pass_, records = self.pass_, self.records
        before = {value_id: g for value_id, g in pass_.cotangents.items() if g is not None}
        # A rerun starts with the cotangents in ``before``.  Borrowed cotangents are never overwritten.
        pass_.borrowed.update(before)
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
        """Return True if the last segment (run of records) made a cotangent that holds a NaN.

        before : the cotangents before the segment.  Watched values whose gradients are not requested
        (``idle``) are ignored.
        """
        return any(
            g is not None
            and g is not before.get(value_id)
            and value_id not in self.idle
            and holds_nan(g)
            for value_id, g in self.pass_.cotangents.items()
        )

    def rerun_guarded(self, before: dict[int, Any], records: list[Record]) -> BackwardPass:
        """Pass the cotangents ``before`` back through ``records`` in a guarded pass; return the pass.

        In a guarded pass, elements that selections left out contribute 0, not NaN.  It first goes
        through ``passed``, the records that were processed without a NaN, on cotangents of ones.  This
        only finds the active elements, since the arrays of these records have been freed.
        """
        log_guarded_rerun()
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
    """Return True if a guarded rerun (after a NaN) may run the record's rule on ones for freed arrays.

    Return False for calls of users' functions, which may fail on made-up values.
    """
    plan = PLANS[record[0]]
    if isinstance(plan, Structural):
        return plan in (VIEW, PUT, ADD, WATCH)
    return not plan.op.checked


def hollowed(record: Record) -> Record:
    """Return a record with a ``Hollow`` in place of each large array, so that the arrays can be freed.

    Only elementwise ops and products are changed.  The rerun after a NaN puts ones in place of a Hollow,
    the shape and dtype of an array: these ops pass activity on in the same way for any values.
    """
    plan = PLANS[record[0]]
    if not isinstance(plan, Plan) or plan.op.selects:
        return record
    if not (plan.diagonal or set(plan.op.linear_in).issuperset(plan.op.inputs)):
        return record
    large = [type(item) is ndarray and item.nbytes >= LARGE for item in record]
    return tuple([Hollow(x) if is_large else x for x, is_large in zip(record, large, strict=True)])


def refill_record(record: Record) -> Record:
    """Return a record with ones in place of its freed arrays, for the rerun after a NaN.

    The rerun only finds the elements on which the target depends, the same ones for any values.
    """
    return tuple([item.ones_in_place() if type(item) is Hollow else item for item in record])


# --- NaN checks ---------------------------------------------------------------------------------------
def without_repeated_axes(data: np.ndarray[Any, Any]) -> Any:
    """Return data without its axes of stride 0, along which one element is repeated.

    A check of all elements then takes less time.
    """
    if 0 not in data.strides or not data.size:
        return data
    return data[tuple([slice(None) if step else 0 for step in data.strides])]


def holds_nan(g: RawArray) -> bool:
    return storage_of(g).has_nan(without_repeated_axes(g) if type(g) is ndarray else g)
