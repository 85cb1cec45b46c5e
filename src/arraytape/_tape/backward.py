"""The backward pass: one loop from the end of a tape's records.

The pass does what rules need not know: it conjugates, sums over broadcast axes, casts to the input's
dtype and adds contributions, in place where it owns the buffer.  It computes on its ``data``: raw data
or Arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from .._array.array import Array
from .._array.paths import sum_to
from .._record.plan import (
    PLANS,
    STEPS,
    Plan,
    Pull,
    Record,
    Structural,
    identity_rule,
    inputs_of,
    results_of,
)
from .._storage.batched.batched_data import REPLAY, Batched, active
from .._storage.storage import HERE
from .data import RawData

if TYPE_CHECKING:
    from .._util.array_types import RawArray, ResultCotangents

iadd: Any = operator.iadd  # ``data += contribution`` as an expression
Gradients = Callable[[Sequence[Array | None]], Sequence[Array | None]]


class BackwardPass:
    """Cotangents by value id, and the ways in which records pass them back.

    ``borrowed`` has the ids of cotangents whose memory something else may refer to: a rule that returns
    its cotangent unchanged shares it.  All other buffers that own their memory are added to in place.
    ``wanted`` has the ids of the cotangents that are asked for, and so outlive their records.
    """

    picks = False  # whether the seeds are 0 but for some elements of the targets
    frugal = False  # whether new memory is slow to get: see ``blockwise``

    def __init__(self, data: RawData, followed: Collection[int]) -> None:
        self.data, self.followed = data, followed
        self.cotangents: dict[int, Any] = {}
        self.borrowed: set[int] = set()
        self.wanted: Collection[int] = ()

    def seed_target(self, tid: int, seed: RawArray) -> None:
        self.lend_contribution(tid, seed)

    def passes(self) -> list[BackwardPass]:
        return [self]

    # --- cotangents: taken when the loop reaches their record, added up before ---------------------
    def take_cotangent(self, tid: int) -> Any:
        """Take the cotangent of a value whose record the loop has reached; a wanted one stays."""
        if tid in self.wanted:
            self.borrowed.add(tid)
            held = self.cotangents.get(tid)
        else:
            held = self.cotangents.pop(tid, None)
        if held is not None and type(held) is not self.data.kind:
            self.data.move_to(held)
        return held

    def peek(self, tid: int) -> Any:
        """Return the sum of the contributions to a value so far, and leave it there."""
        held = self.cotangents.get(tid)
        if held is not None and type(held) is not self.data.kind:
            self.data.move_to(held)
        return held

    def take_results(self, record: Record) -> Any:
        """Take the cotangent of a record's result; of several, a tuple; None if there is none."""
        out = record[1]
        if type(out) is not tuple:
            return self.take_cotangent(out)
        g = tuple([self.take_cotangent(tid) for tid in out])
        return None if all(part is None for part in g) else g

    def take_owned(self, tid: int) -> Any:
        """Take a cotangent as a buffer to write into: a copy if it is wanted or borrowed."""
        if tid not in self.wanted:
            return self.take_buffer(tid)
        held = self.take_cotangent(tid)
        return None if held is None else self.data.copy_data(held)

    def take_buffer(self, tid: int) -> Any:
        """Take the sum for a value that the loop has yet to reach, as a buffer to write into."""
        held = self.cotangents.pop(tid, None)
        if held is None:
            return None
        if type(held) is not self.data.kind:
            self.data.move_to(held)
        owned = tid not in self.borrowed and self.data.owns_memory(held)
        return held if owned else self.data.copy_data(held)

    def in_hand(self, tid: int) -> Any:
        """Return the buffer that ``take_buffer`` would take if it is NumPy's and owned; else None."""
        held = self.cotangents.get(tid)
        owned = type(held) is ndarray and held.base is None and tid not in self.borrowed
        return held if owned else None

    def take_in_hand(self, tid: int) -> Any:
        """Take a buffer as ``take_owned`` does; return None, and take nothing, if that needs a copy."""
        held = None if tid in self.wanted else self.in_hand(tid)
        if held is not None:
            del self.cotangents[tid]
            if ndarray is not self.data.kind:
                self.data.move_to(held)
        return held

    def give_buffer(self, tid: int, buffer: RawArray) -> None:
        self.borrowed.discard(tid)
        held = self.cotangents.get(tid)
        self.cotangents[tid] = buffer if held is None else iadd(buffer, held)

    def add_contribution(self, tid: int, contribution: RawArray) -> None:
        """Add a contribution to whose memory nothing else refers."""
        cotangents = self.cotangents
        held = cotangents.get(tid)
        if held is None:
            cotangents[tid] = contribution
        elif tid in self.borrowed:
            cotangents[tid] = held + contribution
            self.borrowed.discard(tid)
        elif self.data.sums_in(held):
            cotangents[tid] = iadd(held, contribution)
        else:
            cotangents[tid] = held + contribution

    def lend_contribution(self, tid: int, contribution: Any) -> None:
        """Add a contribution to whose memory something else refers."""
        if self.cotangents.get(tid) is None:
            self.cotangents[tid] = contribution
            self.borrowed.add(tid)
        else:
            self.add_contribution(tid, contribution)

    def has_cotangent(self, record: Record) -> bool:
        return any(self.cotangents.get(tid) is not None for tid in results_of(record))

    # --- one record, of any kind --------------------------------------------------------------------
    def go_back(self, plan: Plan | Structural, record: Record) -> None:
        """Pass the cotangents of a record's results back, on the device where they lie."""
        for tid in results_of(record):
            held = self.cotangents.get(tid)
            if held is not None:
                with self.data.on_device_of(held):
                    if isinstance(plan, Structural):
                        self.pull_structural(plan, record)
                    else:
                        self.pull_op(plan, record)
                return

    def pull_structural(self, plan: Structural, record: Record) -> None:
        plan.pull_cotangents(self, record)

    def pull_op(self, plan: Plan, record: Record) -> None:
        """Pass cotangents back through an op's record: the general form of the loop of ``backward``."""
        if plan.reading is not None:
            self.add_part(plan.reading, plan, record)
            return
        g = self.take_results(record)
        if g is None:
            return
        record = self.data.lift(plan, record)
        for pull in plan.pulls:
            found = self.data.apply(plan, pull, g, record)
            for tid, part in contributions(plan, pull, record, found):
                if part is not None and tid in self.followed:
                    shared = is_shared(plan, part, g)
                    with self.data.on_device_of(part) if plan.op.moves else HERE:
                        (self.lend_contribution if shared else self.add_contribution)(tid, part)

    def add_part(self, reading: Pull, plan: Plan, record: Record) -> None:
        """Add an element read's cotangent to the part of the input that was read."""
        tid = record[reading.at]
        g = self.take_cotangent(record[1])
        if g is None or tid not in self.followed:
            return
        record = self.data.lift(plan, record)
        kept = [record[place] if place else self.data.xp for place in reading.asks]
        key = reading.rule.key_from(kept)  # type: ignore[attr-defined]
        if not self.data.adds_at(key, g):
            self.add_contribution(tid, self.data.apply(plan, reading, g, record))
            return
        buffer = self.in_hand(tid)
        if buffer is None or type(g) is Batched:
            buffer = self.take_buffer(tid)
            if buffer is None:
                shape = record[plan.positions[f"shape {plan.op.inputs[reading.at - 2]}"]]
                buffer = self.data.xp.zeros(shape, dtype=g.dtype, device=g.device)
            self.give_buffer(tid, self.data.add_at_key(self.data.widen_buffer(buffer, g), key, g))
        elif type(key) is int:
            buffer[key] += g
        else:
            self.data.add_at_key(buffer, key, g)

    def pull_users_rule(
        self, outs: Sequence[int], tids: Sequence[int], gradients: Gradients
    ) -> None:
        """Pass cotangents back by a user's rule, which works on Arrays."""
        held = [self.take_cotangent(out) for out in outs]
        if all(g is None for g in held):
            return
        cotangents = [None if g is None else self.data.array_of(g) for g in held]
        with active(REPLAY):  # the rule works on values of vmaps that have ended
            found = gradients(cotangents)
        for tid, part in zip(tids, found, strict=True):
            if part is not None and tid in self.followed:
                self.lend_contribution(tid, self.data.of_array(part))


def is_shared(plan: Plan, part: RawArray, g: ResultCotangents) -> bool:
    """Return True if a contribution may share memory with its cotangent or with another contribution."""
    return part is g or bool(plan.op.joint) or plan.op.moves


def contributions(plan: Plan, pull: Pull, record: Record, found: Any) -> list[tuple[int, Any]]:
    """Return pairs of an input's id and its contribution, from the result of a rule."""
    if plan.op.joint:
        return list(zip(inputs_of(record), found, strict=True))
    return [(record[pull.at], found)]


def backward(pass_: BackwardPass, records: list[Record], careful: bool) -> None:
    """Go through the records from the last to the first; ``pass_`` begins with the seeds.

    The loop is for plain records of real data in one storage.  ``careful``, and any subclass of
    BackwardPass, asks for the general form, ``go_back``.  One function, because a call for each record
    takes longer than most rules.
    """
    if careful or type(pass_) is not BackwardPass:
        for record in reversed(records):
            pass_.go_back(PLANS[record[0]], record)
        return
    data, lifts = pass_.data, pass_.data.recorded
    cotangents, borrowed, wanted = pass_.cotangents, pass_.borrowed, pass_.wanted
    take, setdefault, reduce = cotangents.pop, cotangents.setdefault, np.add.reduce
    for record in reversed(records):
        steps = STEPS[record[0]]
        if steps is None:
            plan = PLANS[record[0]]
            if type(plan) is Structural:
                plan.pull_cotangents(pass_, record)
            elif isinstance(plan, Plan) and plan.reading is not None:
                pass_.add_part(plan.reading, plan, record)
            else:
                pass_.go_back(plan, record)
            continue
        out = record[1]
        g = take(out, None)
        if g is None:
            continue
        if wanted and out in wanted:
            cotangents[out] = g
            borrowed.add(out)
        if lifts:
            record = data.lift(PLANS[record[0]], record)
        for at, rule, only, more in steps:
            if only:
                part = rule(g, record[only])
            elif more is None:
                part = g
            else:
                picked, with_xp, fit = more
                if rule is identity_rule:
                    part = g
                elif with_xp:
                    part = rule(g, *picked(record), data.xp)
                else:
                    part = rule(g, *picked(record))
                if part is None:
                    continue
                if fit is not None:
                    shape, dtype = record[fit[0]], record[fit[1]]
                    raw = part._data if lifts else part  # an Array's properties are Python frames
                    if raw.dtype is not dtype:
                        part = data.fit_contribution(part, shape, dtype, PLANS[record[0]].name)
                    elif raw.shape != shape:
                        if type(raw) is ndarray:
                            if raw.shape[1:] != shape:
                                part = sum_to(part, shape, data.xp)
                            else:
                                part = data.xp.sum(part, axis=0) if lifts else reduce(part, 0)
                        else:
                            part = data.fit_contribution(part, shape, dtype, PLANS[record[0]].name)
                    elif type(raw) is Batched and lifts:  # an Array's dtype does not show it
                        part = data.fit_contribution(part, shape, dtype, PLANS[record[0]].name)
            tid = record[at]
            if part is g:
                if tid not in cotangents:
                    cotangents[tid] = part
                    borrowed.add(tid)
                    continue
                held = cotangents[tid]
            else:
                held = setdefault(tid, part)
                if held is part:
                    continue
            if type(held) is ndarray and held.base is None and tid not in borrowed:
                held += part
            else:
                pass_.add_contribution(tid, part)
