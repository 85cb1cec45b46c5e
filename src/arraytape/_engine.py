"""The backward pass: one loop from the end of a tape's records.

The engine does what rules need not know: it conjugates, sums over broadcast axes, casts to the
input's dtype and adds contributions up, in place where a buffer is nobody else's.  The same loop
runs on raw data (``Raw``) and, when an outer recorder is active, on Arrays (``Recorded``), which
is all there is to higher order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from ._array import KEPT, Array, namespace, wrap
from ._op import Plan, Structural
from ._storage import Storage, storage_of

Record = tuple[Any, ...]
COMPLEX = "complex floating"


def sum_to(g: Any, shape: tuple[int, ...], xp: Any) -> Any:
    """``g`` summed over the axes along which an operand of this shape was broadcast."""
    if g.shape == shape:
        return g
    extra = len(g.shape) - len(shape)
    if extra < 0:  # a write drops leading axes of length 1
        return xp.reshape(g, shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1
    )
    if axes:
        g = xp.sum(g, axis=axes, keepdims=True)
    return xp.reshape(g, shape)


class Raw:
    """Cotangents by tid, on raw data.

    ``borrowed`` names the buffers that something else may refer to: a rule that hands its
    cotangent on unchanged shares it.  Everything else that owns its memory is added to in place.
    """

    def __init__(self, storage: Storage, followed: Collection[int]) -> None:
        self.storage = storage
        self.xp: Any = storage.xp
        self.followed = followed
        self.cotangents: dict[int, Any] = {}
        self.borrowed: set[int] = set()
        self.wanted: Collection[int] = ()

    def follows(self, tid: int) -> bool:
        return tid in self.followed

    def take(self, tid: int) -> Any:
        """The cotangent of a value whose record the loop has reached; kept if it was asked for."""
        if tid in self.wanted:
            self.borrowed.add(tid)
            return self.cotangents.get(tid)
        return self.cotangents.pop(tid, None)

    def add(self, tid: int, contribution: Any) -> None:
        """Add a contribution that nobody else refers to."""
        held = self.cotangents.get(tid)
        if held is None:
            self.cotangents[tid] = contribution
        elif tid not in self.borrowed and self.owns(held):
            self.cotangents[tid] = self.into(held, contribution)
        else:
            self.cotangents[tid] = held + contribution
            self.borrowed.discard(tid)

    def lend(self, tid: int, contribution: Any) -> None:
        """Add a contribution that something else refers to."""
        if self.cotangents.get(tid) is None:
            self.cotangents[tid] = contribution
            self.borrowed.add(tid)
        else:
            self.add(tid, contribution)

    def take_owned(self, tid: int) -> Any:
        """Take a cotangent as a buffer to write into: itself if it is nobody else's, or a copy."""
        borrowed = tid in self.borrowed or tid in self.wanted
        held = self.take(tid)
        if held is None or (not borrowed and self.owns(held)):
            return held
        return self.xp.asarray(held, copy=True)

    def give(self, tid: int, buffer: Any) -> None:
        """Hand in a buffer that was taken, or made, for this tid."""
        self.borrowed.discard(tid)
        held = self.cotangents.get(tid)
        self.cotangents[tid] = buffer if held is None else self.into(buffer, held)

    def owns(self, held: Any) -> bool:
        return type(held) is np.ndarray and held.base is None and held.flags.writeable

    def into(self, held: Any, contribution: Any) -> Any:
        return np.add(held, contribution, held)

    def shares(self, part: Any, whole: Any) -> bool:
        return self.storage.shares(part, whole)

    def fit(self, contribution: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """A contribution in the shape and dtype of the input that it belongs to."""
        xp = self.xp
        if contribution.shape != shape:
            contribution = sum_to(contribution, shape, xp)
        if contribution.dtype != dtype:
            if xp.isdtype(contribution.dtype, COMPLEX) and not xp.isdtype(dtype, COMPLEX):
                contribution = xp.real(contribution)
            contribution = xp.astype(contribution, dtype)
        return contribution

    def lift(self, plan: Plan, record: Record) -> Record:
        return record


class Recorded(Raw):
    """Cotangents by tid, on Arrays: the rules' own ops are recorded by the outer recorders."""

    def __init__(self, storage: Storage, followed: Collection[int]) -> None:
        super().__init__(storage, followed)
        self.xp = namespace[0]

    def owns(self, held: Any) -> bool:
        return type(held) is Array and held._tid >= 0 and held.ndim > 0

    def into(self, held: Any, contribution: Any) -> Any:
        held += contribution
        return held

    def shares(self, part: Any, whole: Any) -> bool:
        return self.storage.shares(part._data, whole._data)

    def lift(self, plan: Plan, record: Record) -> Record:
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


def backward(pass_: Raw, records: Iterator[tuple[Plan | Structural, Record]], complex_: bool) -> None:
    """Walk the records from the end; ``pass_`` starts with the seeds and ends with the gradients."""
    cotangents, wanted, xp = pass_.cotangents, pass_.wanted, pass_.xp
    recorded = type(pass_) is not Raw
    for plan, record in records:
        out = record[0]
        g = cotangents.get(out)
        if g is None:
            if plan.special is not None:
                plan.special(pass_, record)
                continue
            if type(out) is not tuple:
                continue
            g = tuple(pass_.take(tid) for tid in out)
            if all(part is None for part in g):
                continue
        elif plan.special is not None:
            plan.special(pass_, record)
            continue
        elif out in wanted:
            pass_.borrowed.add(out)
        else:
            del cotangents[out]
        if recorded:
            record = pass_.lift(plan, record)
        for at, rule, asks, fit in plan.pulls:
            if complex_ and plan.diagonal and xp.isdtype(g.dtype, COMPLEX):
                part = xp.conj(rule(xp.conj(g), *[record[i] if i >= 0 else xp for i in asks]))
            elif len(asks) == 1 and asks[0] > 0:
                part = rule(g, record[asks[0]])
            elif not asks:
                part = rule(g)
            else:
                part = rule(g, *[record[i] if i >= 0 else xp for i in asks])
            if plan.joint:
                spread(pass_, plan, record, part, fit)
                continue
            if part is None:
                continue
            if fit is not None:
                part = pass_.fit(part, record[fit[0]], record[fit[1]])
            tid = record[at]
            if part is g:
                pass_.lend(tid, part)
            elif tid in cotangents:
                pass_.add(tid, part)
            else:
                cotangents[tid] = part


def spread(pass_: Raw, plan: Plan, record: Record, parts: Any, fits: Any) -> None:
    """The contributions of a joint rule, one for each input (or for each array of a sequence)."""
    if plan.op.variadic:
        tids, layout = record[1], zip(record[fits[0][0]], record[fits[0][1]], strict=True)
    else:
        tids = record[1 : 1 + len(plan.op.inputs)]
        layout = ((record[i], record[j]) for i, j in fits) if fits else iter([None] * len(tids))
    for tid, part, fit in zip(tids, parts, layout, strict=True):
        if part is not None and pass_.follows(tid):
            pass_.add(tid, pass_.fit(part, *fit) if fit else part)
