"""The backward pass of a one-shot tape that keeps much: what nothing needs any more goes on the way.

The guarded rerun (``guard``) goes through the records again when a gradient holds a NaN, so a record
may go only where that cannot need it:

at once      from the end of the tape to the last record that selects elements: as long as every element
             is active, a guarded pass computes what the plain one did
in segments  from there on: at the end of a segment the cotangents that it left are looked at.  Without
             a NaN among them the rerun would find the same, so of the segment it needs no more than
             which elements were active; records stay without their large arrays (``Hollow``).  With a
             NaN the guarded pass goes on from the segment's start

Where a user's function was recorded nothing goes in segments: it is not run on made-up values.

Large elementwise records are computed block by block, in the cotangent's own memory where nothing else
refers to it: their rules need no temporaries of full size, and give the same bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from .._array.aliasing import ADD, PUT, VIEW, WATCH
from .._record.plan import (
    PLANS,
    PRODUCTS,
    STEPS,
    Plan,
    Pull,
    Record,
    Structural,
    results_of,
    same,
)
from .._storage.storage import MAKING, STORAGES, storage_of
from .activity import ALL, ActivityData
from .backward import BackwardPass, backward
from .cusps import selects
from .data import RawData
from .guard import GuardedPass, tell_once
from .summary import LARGE, is_large, size_of

if TYPE_CHECKING:
    from .recording import Recording

BLOCK = 2**14  # elements that a rule is run on at a time: they stay in the processor's cache
MUCH = 2**24  # bytes that a tape is worth the trouble for
HUGE = 2**22  # bytes of a cotangent that is beyond the cache: rules are run on it block by block
SEGMENT = 2**22  # bytes that a segment keeps at least
SEGMENTS = 4  # at most, roughly: each end takes a look at the cotangents
FEW = 4  # records are looked at, to find out whether a tape keeps much
MANY = 64  # where a large array is watched


# --- whether to ---------------------------------------------------------------------------------------
def keeps_much(recording: Recording) -> bool:
    """Whether records keep many bytes, judged by a sample: a look at each would take too long."""
    records = recording.records
    step = len(records) // (MANY if recording.watches_large else FEW) + 1
    sizes: dict[int, int] = {}
    for record in records[step // 2 :: step]:
        for item in record[3:]:  # after the number, a result and an input
            kind = type(item)
            if kind is ndarray:
                if item.nbytes >= LARGE:
                    sizes[id(item)] = item.nbytes
            elif kind is not int and kind is not tuple and kind in STORAGES and is_large(item):
                sizes[id(item)] = bytes_of(item)
    return bool(sizes) and sum(sizes.values()) * step >= MUCH


def may_let_go(recording: Recording) -> bool:
    """Whether nothing but a backward pass will ask for the records of a one-shot tape.

    A trace keeps all data anyway, and its program would do all that is looked at on the way.
    """
    return not (
        recording.persistent
        or MAKING.get() is not None
        or recording.careful
        or recording.shared
        or recording.journal is not None
        or recording.numerics is not None
        or recording.observers
        or recording.attended()
    )


def bytes_of(data: Any) -> int:
    """The bytes of data of any storage; 0 where they are not known."""
    return data.nbytes if type(data) is ndarray else size_of(data) or 0


def new_bytes(records: Iterable[Record], counted: set[int]) -> int:
    """The bytes of arrays in records that are not ``counted`` yet, by id; then they are."""
    total = 0
    for record in records:
        for item in record:
            kind = type(item)
            if kind is not int and kind in STORAGES and id(item) not in counted:
                counted.add(id(item))
                total += bytes_of(item)
    return total


# --- the pass -----------------------------------------------------------------------------------------
class Hollow:
    """In a record in the place of an array that has gone: its layout."""

    __slots__ = ("dtype", "shape")

    def __init__(self, data: Any) -> None:
        self.shape, self.dtype = data.shape, data.dtype

    def filled(self) -> Any:
        """Ones, which take no memory: which elements are active does not depend on values."""
        return np.broadcast_to(np.ones((), self.dtype), self.shape)


class LettingGo:
    """One backward pass over records that it takes off the tape.

    pass_ : the plain pass, with its seeds.  passed : the records that a guarded rerun would go through
    before the ones that are still on the tape, from the last one on, without large arrays.  reached :
    the layouts of the cotangents where these begin; all of their elements are active.  idle : tids
    whose cotangents nobody asks for.
    """

    def __init__(self, pass_: BackwardPass, recording: Recording, sources: Collection[int]) -> None:
        self.pass_, self.recording, self.records = pass_, recording, recording.records
        self.idle = recording.leaves.difference(sources)
        self.passed: list[Record] = []
        self.reached: dict[int, Hollow] = {}

    def run(self, guard: bool) -> BackwardPass:
        """Go through all records; the pass that has the gradients, which may be a guarded one."""
        if not guard:
            while self.records:
                self.go_back(self.taken())
            return self.pass_
        while self.records and not self.may_select(self.records[-1]):
            self.go_back(self.taken())
        self.reached = {tid: Hollow(g) for tid, g in self.pass_.cotangents.items() if g is not None}
        counted: set[int] = set()
        size = max(SEGMENT, new_bytes(self.records, set()) // SEGMENTS)
        if not all(map(may_be_hollow, self.records)):
            size = 1 << 62
        while self.records:
            guarded = self.segment(size, counted)
            if guarded is not None:
                return guarded
        return self.pass_

    def taken(self) -> Record:
        """The last record, which is the tape's no more."""
        self.recording.used_up = True  # first: what is gone in part must not be asked
        return self.records.pop()

    def go_back(self, record: Record) -> None:
        """One record, by blocks where it is large."""
        if not by_blocks(self.pass_, record):
            backward(self.pass_, [record], False)

    def reaches(self, record: Record) -> bool:
        """Whether there is a cotangent of a result."""
        held = self.pass_.cotangents
        return any(held.get(tid) is not None for tid in results_of(record))

    def may_select(self, record: Record) -> bool:
        """Whether activity may differ between elements once this record was passed.

        A linear op is asked: its rule shows it, on counts of ones.
        """
        plan = PLANS[record[0]]
        if not self.reaches(record):
            return False
        if not isinstance(plan, Plan) or plan.reading is not None or len(results_of(record)) > 1:
            return True
        if not selects(plan, record):
            return False
        return plan.op.kind != "linear" or self.drops(plan, record)

    def drops(self, plan: Plan, record: Record) -> bool:
        """Whether the rules of a linear op leave elements of an input without any of the counts."""
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

    def segment(self, size: int, counted: set[int]) -> BackwardPass | None:
        """Go through records that keep so many bytes; a guarded pass to the end where a NaN comes up."""
        pass_, records = self.pass_, self.records
        before = {tid: g for tid, g in pass_.cotangents.items() if g is not None}
        pass_.borrowed.update(before)  # what a rerun starts with is not written to
        segment: list[Record] = []
        start, kept = len(records), 0
        while start and kept < size:
            start -= 1
            if self.reaches(records[start]):
                segment.append(records[start])
                kept += new_bytes(segment[-1:], counted)
                self.go_back(segment[-1])
        if self.left_nan(before):
            return self.guarded(before, [*records[:start], *reversed(segment)])
        self.recording.used_up = True
        self.passed += map(hollowed, segment) if start else ()
        del records[start:]
        return None

    def left_nan(self, before: dict[int, Any]) -> bool:
        """Whether a cotangent holds a NaN that did not when the segment began."""
        return any(
            g is not None and g is not before.get(tid) and tid not in self.idle and holds_nan(g)
            for tid, g in self.pass_.cotangents.items()
        )

    def guarded(self, before: dict[int, Any], records: list[Record]) -> BackwardPass:
        """The guarded pass from the start of a segment on, to the end."""
        tell_once()
        plain = self.pass_
        pass_ = GuardedPass(RawData(plain.data.storage), plain.followed)
        pass_.wanted = plain.wanted
        for tid, layout in self.reached.items():
            pass_.lend(tid, layout.filled())
            pass_.activity.add(tid, ALL)
        for record in self.passed:
            pass_.go_back(PLANS[record[0]], filled(record))
        pass_.cotangents, pass_.borrowed = dict(before), set(before)
        for tid in before:
            pass_.activity.cotangents.setdefault(tid, ALL)
        backward(pass_, records, True)
        return pass_


# --- records without their arrays ---------------------------------------------------------------------
def may_be_hollow(record: Record) -> bool:
    """Whether a rerun may go through a record on made-up cotangents: no function of a user's is run."""
    plan = PLANS[record[0]]
    if isinstance(plan, Structural):
        return plan in (VIEW, PUT, ADD, WATCH)
    return not plan.op.checked


def hollowed(record: Record) -> Record:
    """A record without large arrays, where its rules can be run on any values in their place.

    Those of elementwise ops and of products can: no value is an error to them.
    """
    plan = PLANS[record[0]]
    if not isinstance(plan, Plan) or plan.op.selects:
        return record
    if not (plan.diagonal or set(plan.op.linear_in).issuperset(plan.op.inputs)):
        return record
    return tuple(
        [
            Hollow(item) if type(item) is ndarray and item.nbytes >= LARGE else item
            for item in record
        ]
    )


def filled(record: Record) -> Record:
    """A record with something in the place of what has gone."""
    return tuple([item.filled() if type(item) is Hollow else item for item in record])


# --- large elementwise records ------------------------------------------------------------------------
def references(box: list[Any]) -> int:
    """How often the one thing in a list is referred to, with what Python's version adds."""
    return getrefcount(box[0])


ALONE = references([object()])  # of what a list alone refers to


def by_blocks(pass_: BackwardPass, record: Record) -> bool:
    """Pass an elementwise record of large real data back; whether it is one, and that was done."""
    plan, steps = PLANS[record[0]], STEPS[record[0]]
    if steps is None or not isinstance(plan, Plan) or not plan.diagonal:
        return False
    out = record[1]
    g = pass_.cotangents.get(out)
    if type(g) is not ndarray or g.nbytes < HUGE or g.dtype.kind != "f":
        return False
    if out in pass_.wanted:
        return False
    if not g.flags.c_contiguous:
        return all_ones(g) and by_factors(pass_, record)
    del g
    box = [pass_.cotangents.pop(out)]
    for i, pull in enumerate(plan.pulls):
        last = i == len(plan.pulls) - 1
        if pull.rule is same:
            part = fitted(pass_, pull, record, box[0])
            (pass_.lend if part is box[0] else pass_.add)(record[pull.at], part)
            continue
        owned = last and references(box) == ALONE and is_own(box[0])
        part = fitted(pass_, pull, record, computed(pass_, pull, record, box[0], owned))
        if part is not None:
            pass_.add(record[pull.at], part)
    return True


def is_own(g: Any) -> bool:
    """Whether a cotangent that nothing else refers to may be written to."""
    return g.base is None and bool(g.flags.writeable)


def computed(pass_: BackwardPass, pull: Pull, record: Record, g: Any, owned: bool) -> Any:
    """What a rule gives, before it is fitted.  owned : whether g's memory is free to write to."""
    kept = [record[place] if place else pass_.xp for place in pull.asks]
    if is_product(pull.rule) and type(kept[0]) is ndarray:
        into = g if owned and kept[0].dtype is g.dtype else None
        return np.multiply(g, kept[0], into) if kept[0].shape in (g.shape, ()) else g * kept[0]
    found = in_blocks(pull.rule, g, kept, owned)
    return pull.rule(g, *kept) if found is None else found


def is_product(rule: Any) -> bool:
    """Whether a rule is one product, with what it asks for."""
    code = getattr(rule, "__code__", None)
    return code is not None and code.co_code in PRODUCTS


def fitted(pass_: BackwardPass, pull: Pull, record: Record, part: Any) -> Any:
    """A contribution in its input's shape and dtype: summed as ``backward`` does."""
    if pull.fit is None or part is None:
        return part
    shape, dtype = record[pull.fit[0]], record[pull.fit[1]]
    if part.dtype is not dtype:
        return pass_.fit(part, shape, dtype)
    if part.shape == shape:
        return part
    return np.add.reduce(part, 0) if part.shape[1:] == shape else pass_.fit(part, shape, dtype)


def in_blocks(rule: Any, g: Any, kept: Sequence[Any], owned: bool) -> Any:
    """A rule's value, computed block by block, in the memory of g if it is owned; None if it cannot."""
    if not all(map(cuts(g), kept)):
        return None
    flat = g.ravel()
    whole = [item.ravel() if has_axes(item) else None for item in kept]
    found = g if owned else np.empty_like(g)
    into = found.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        here = slice(start, start + BLOCK)
        given = [k if w is None else w[here] for k, w in zip(kept, whole, strict=True)]
        block = rule(flat[here], *given)
        if start == 0:  # a rule that is no plain line of operators shows it at once
            if type(block) is not ndarray or block.shape != flat[here].shape:
                return None
            if block.dtype is not flat.dtype:
                return None
        into[here] = block
    return found


def has_axes(item: Any) -> bool:
    """Whether what a rule asks for is an array with axes."""
    return type(item) is ndarray and item.ndim > 0


def cuts(g: Any) -> Callable[[Any], bool]:
    """Whether what a rule asks for can be cut into blocks as a cotangent, or is the same for all."""
    shape = g.shape

    def can_be_cut(item: Any) -> bool:
        if has_axes(item):
            return bool(item.shape == shape and item.flags.c_contiguous)
        return type(item) is not tuple  # a shape

    return can_be_cut


def all_ones(g: Any) -> bool:
    """Whether a cotangent is one 1, broadcast: that of a sum."""
    return not any(g.strides) and bool(g[(0,) * g.ndim] == 1)


def by_factors(pass_: BackwardPass, record: Record) -> bool:
    """Lend the factors of a product as the contributions that they are to a cotangent of ones."""
    g, steps = pass_.cotangents[record[1]], STEPS[record[0]] or ()
    for _, rule, only, _ in steps:
        factor = record[only] if rule is operator.mul else None
        if type(factor) is not ndarray or factor.shape != g.shape or factor.dtype is not g.dtype:
            return False
    del pass_.cotangents[record[1]]
    for at, _, only, _ in steps:
        pass_.lend(record[at], record[only])
    return True


def condensed(data: Any) -> Any:
    """Data with one place for elements that a stride of 0 repeats."""
    if 0 not in data.strides or not data.size:
        return data
    return data[tuple([slice(None) if step else 0 for step in data.strides])]


def holds_nan(g: Any) -> bool:
    """Whether a cotangent holds a NaN."""
    return storage_of(g).has_nan(condensed(g) if type(g) is ndarray else g)
