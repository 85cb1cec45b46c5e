"""The backward pass: one loop from the end of a tape's records.

The engine does what rules need not know: it conjugates, sums over broadcast axes, casts to the
input's dtype and adds contributions up, in place where a buffer is nobody else's.  The same loop
runs on raw data (``Raw``) and, when an outer recorder is active, on Arrays (``Recorded``), which
is all there is to higher order.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy import ndarray

from .._array.array import KEPT, Array, namespace, wrap
from .._array.paths import Path, sum_to, walk
from .._array.views import location
from .._record.plan import PLANS, STEPS, Plan, Structural, results_of
from .._storage.storage import COMPLEX, HERE, Storage, is_complex, storage_of
from .hidden_axes import Levelled, RecordedLevels

Record = tuple[Any, ...]


class Raw(Levelled):
    """Cotangents by tid, on raw data; ``storage`` and ``xp`` follow the data of the record at hand.

    ``borrowed`` names the buffers that something else may refer to: a rule that hands its
    cotangent on unchanged shares it.  Everything else that owns its memory is added to in place.
    """

    picks = False  # whether the seeds pick elements of the targets: to the guard, others are dead

    def __init__(self, storage: Storage, followed: Collection[int]) -> None:
        self.storage, self.kind = storage, storage.kind
        self.xp: Any = storage.xp
        self.followed = followed
        self.cotangents: dict[int, Any] = {}
        self.borrowed: set[int] = set()
        self.wanted: Collection[int] = ()

    def start(self, tid: int, seed: Any) -> None:
        """Seed the pass at a target."""
        self.lend(tid, seed)

    def go_back(self, plan: Plan | Structural, record: Record) -> None:
        """One record, of any kind."""
        for tid in results_of(record):
            held = self.cotangents.get(tid)
            if held is not None:
                with self.at(held):
                    if isinstance(plan, Structural):
                        self.structural(plan, record)
                    else:
                        self.pull(plan, record)
                return

    def structural(self, plan: Structural, record: Record) -> None:
        """A record of aliasing or of an exit."""
        plan.pull(self, record)

    def take(self, tid: int) -> Any:
        """The cotangent of a value whose record the loop has reached; kept if it was asked for."""
        if tid in self.wanted:
            self.borrowed.add(tid)
            held = self.cotangents.get(tid)
        else:
            held = self.cotangents.pop(tid, None)
        if held is not None and type(held) is not self.kind:
            self.move_to(held)
        return held

    def at(self, held: Any) -> AbstractContextManager[Any]:
        """Within it, operators on raw data compute where a cotangent lies."""
        return storage_of(held).at(held)

    def move_to(self, data: Any) -> None:
        """Compute where this data lies: a tape may hold values of several storages."""
        if type(data) is not self.storage.kind and not self.storage.mixed:
            self.storage = storage_of(data)
            self.kind, self.xp = self.storage.kind, self.storage.xp

    def add(self, tid: int, contribution: Any) -> None:
        """Add a contribution that nobody else refers to."""
        cotangents = self.cotangents
        held = cotangents.get(tid)
        if held is None:
            cotangents[tid] = contribution
        elif tid in self.borrowed:
            cotangents[tid] = held + contribution
            self.borrowed.discard(tid)
        elif self.owns(held):
            cotangents[tid] = self.into(held, contribution)
        else:
            cotangents[tid] = held + contribution

    def lend(self, tid: int, contribution: Any) -> None:
        """Add a contribution that something else refers to."""
        if self.cotangents.get(tid) is None:
            self.cotangents[tid] = contribution
            self.borrowed.add(tid)
        else:
            self.add(tid, contribution)

    def take_owned(self, tid: int) -> Any:
        """``take`` as a buffer to write into: a copy if it was asked for or is somebody else's."""
        if tid not in self.wanted:
            return self.gathered(tid)
        held = self.take(tid)
        return None if held is None else self.copied(held)

    def gathered(self, tid: int) -> Any:
        """What has come together for a value that the loop has yet to reach, to write into."""
        held = self.cotangents.pop(tid, None)
        if held is None:
            return None
        if type(held) is not self.kind:
            self.move_to(held)
        return held if tid not in self.borrowed and self.owns(held) else self.copied(held)

    def in_hand(self, tid: int) -> Any:
        """What ``gathered`` would take, in its place; None if it is not NumPy's and our own."""
        held = self.cotangents.get(tid)
        ours = type(held) is ndarray and held.base is None and tid not in self.borrowed
        return held if ours else None

    def copied(self, data: Any) -> Any:
        """A copy in memory of its own."""
        self.move_to(data)
        return self.xp.asarray(data, copy=True)

    def give(self, tid: int, buffer: Any) -> None:
        """Hand in a buffer that was taken, or made, for this tid."""
        self.borrowed.discard(tid)
        held = self.cotangents.get(tid)
        self.cotangents[tid] = buffer if held is None else self.into(buffer, held)

    def owns(self, held: Any) -> bool:
        return held.base is None if type(held) is ndarray else storage_of(held).owns(held)

    into = staticmethod(operator.iadd)

    negated = staticmethod(operator.neg)

    def in_place(self, data: Any) -> bool:
        return storage_of(data).in_place(data)

    def put(self, data: Any, key: Any, value: Any) -> Any:
        return storage_of(data).put(data, key, value)

    def shares(self, part: Any, whole: Any) -> bool:
        return storage_of(part).shares(part, whole)

    def walk(self, g: Any, path: Path) -> Any:
        """The part of a cotangent at the end of a view's path."""
        self.move_to(g)
        return walk(g, path, self.xp)

    def fit(self, contribution: Any, shape: Any, dtype: Any, op: str = "an op") -> Any:
        """A contribution in the shape and dtype of the input that it belongs to."""
        contribution = self.settle(contribution, shape)
        xp = self.xp
        if contribution.shape != shape:
            given = contribution.shape
            try:
                contribution = sum_to(contribution, shape, xp)
            except Exception as error:
                raise ValueError(
                    f"the gradient rule of {op} gave a contribution of shape {given} to an input "
                    f"of shape {shape}"
                ) from error
        if contribution.dtype != dtype:
            if xp.isdtype(contribution.dtype, COMPLEX) and not xp.isdtype(dtype, COMPLEX):
                contribution = xp.real(contribution)
            contribution = xp.astype(contribution, dtype)
        return contribution

    def lift(self, plan: Any, record: Record) -> Record:
        """The record as the rules are to see it."""
        return record

    def pull(self, plan: Plan, record: Record) -> None:
        """One op's record: from the cotangents of its results to contributions to its inputs."""
        g = self.take_results(record)
        if g is None:
            return
        record = self.lift(plan, record)
        for pull in plan.pulls:
            part = self.apply(plan, pull, g, record)
            if plan.op.joint:
                for tid, piece in zip(self.inputs(plan, record), part, strict=True):
                    if piece is not None and tid in self.followed:
                        self.lend(tid, piece)
            elif part is not None:
                with self.at(part) if plan.op.moves else HERE:
                    (self.lend if part is g else self.add)(record[pull[0]], part)

    def take_results(self, record: Record) -> Any:
        """The cotangent of a record's result; of several, a tuple; None when there is none."""
        out = record[1]
        if type(out) is not tuple:
            return self.take(out)
        g = tuple([self.take(tid) for tid in out])
        return None if all(part is None for part in g) else g

    def inputs(self, plan: Plan, record: Record) -> tuple[int, ...]:
        return record[2] if plan.op.variadic else record[2 : 2 + len(plan.op.inputs)]

    def apply(self, plan: Plan, pull: tuple[Any, ...], g: Any, record: Record) -> Any:
        """One rule's contribution in its input's shape and dtype; a list of them if it is joint."""
        _, rule, _, asks, fit = pull
        xp = self.xp
        arguments = [record[i] if i else xp for i in asks]
        if plan.diagonal and is_complex(g):
            part = xp.conj(rule(xp.conj(g), *arguments))
        else:
            part = rule(g, *arguments)
        if plan.op.joint:
            part = list(part) if isinstance(part, list | tuple) else [part]
            if len(part) != len(self.inputs(plan, record)):
                raise ValueError(
                    f"the gradient rule of {plan.op.name} gave {len(part)} contributions for "
                    f"{len(self.inputs(plan, record))} inputs"
                )
            if not plan.fits:
                return part
            shapes, dtypes = ([record[i] for i in places] for places in plan.fits)
            layout = zip(*(shapes + dtypes if plan.op.variadic else (shapes, dtypes)), strict=True)
            return [
                None if p is None else self.fit(p, shape, dtype, plan.op.name)
                for p, (shape, dtype) in zip(part, layout, strict=True)
            ]
        if part is None or fit is None:
            return part
        return self.fit(part, record[fit[0]], record[fit[1]], plan.op.name)


class Recorded(RecordedLevels, Raw):
    """Cotangents by tid, on Arrays: the rules' own ops are recorded by the outer recorders."""

    def __init__(self, storage: Storage, followed: Collection[int]) -> None:
        super().__init__(storage, followed)
        self.xp = namespace()

    def move_to(self, data: Any) -> None:
        pass  # Arrays dispatch by themselves

    def at(self, held: Any) -> AbstractContextManager[Any]:
        return storage_of(held._data).at(held._data)

    def copied(self, data: Any) -> Any:
        return self.xp.asarray(data, copy=True)

    def owns(self, held: Any) -> bool:
        return type(held) is Array and held._tid >= 0 and held.ndim > 0

    def in_place(self, data: Any) -> bool:
        return True  # an Array can always be written to

    def put(self, data: Any, key: Any, value: Any) -> Any:
        data[key] = value
        return data

    def shares(self, part: Any, whole: Any) -> bool:
        return location(part)[0] is location(whole)[0]

    def lift(self, plan: Any, record: Record) -> Record:
        """The record with kept data as Arrays under the names that outer recorders know."""
        if not plan.lifts:
            return record
        items = list(record)
        for place, source, output in plan.lifts:
            data = items[place]
            if hasattr(data, "dtype"):
                tid = items[source]
                items[place] = wrap(data, tid[output] if type(tid) is tuple else tid, KEPT)
        return tuple(items)


def backward(pass_: Raw, records: list[Record], careful: bool) -> None:
    """Walk the records from the end; ``pass_`` starts with the seeds and ends with the gradients.

    The loop below is for plain records of real data in one storage; ``pull`` says the same in
    general, and ``careful`` asks for it.
    """
    lifts = type(pass_) is Recorded
    if careful or not (lifts or type(pass_) is Raw):
        for record in reversed(records):
            pass_.go_back(PLANS[record[0]], record)
        return
    cotangents, borrowed, wanted = pass_.cotangents, pass_.borrowed, pass_.wanted
    take, setdefault, reduce = cotangents.pop, cotangents.setdefault, np.add.reduce
    for record in reversed(records):
        steps = STEPS[record[0]]
        if steps is None:
            plan = PLANS[record[0]]
            if type(plan) is Structural:
                plan.pull(pass_, record)
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
            record = pass_.lift(PLANS[record[0]], record)
        for at, rule, only, more in steps:
            if only:
                part = rule(g, record[only])
            elif more is None:
                part = g
            else:
                asks, fit = more
                part = rule(g, *[record[i] if i else pass_.xp for i in asks])
                if part is None:
                    continue
                if fit is not None:
                    shape, dtype = record[fit[0]], record[fit[1]]
                    if part.dtype is not dtype:
                        part = pass_.fit(part, shape, dtype, PLANS[record[0]].name)
                    elif part.shape != shape:
                        if part.shape[1:] == shape and type(part) is ndarray:
                            part = reduce(part, 0)
                        else:
                            part = pass_.fit(part, shape, dtype, PLANS[record[0]].name)
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
                pass_.add(tid, part)
