"""The guarded rerun: what a selection did not take contributes exactly zero.

``where(x > 0, sqrt(x), 0)`` at 0 multiplies a cotangent that nobody selected, 0, with an infinite
slope: NaN.  The plain backward pass pays nothing for this; when a requested gradient holds a NaN,
the pass runs again beside a second one that carries, for every cotangent, which of its elements
the target depends on at all ("alive").  Selections and moves decide that by their own rules, run
on ones; a contribution at an element that is not alive becomes 0.  An honest 0 x inf, zero by
value and not by selection, stays NaN: ``sqrt(x) ** 2`` at 0.
"""

from __future__ import annotations

from typing import Any

from ._array import Array
from ._engine import Raw, Record, Recorded
from ._op import Plan
from ._storage import HERE


class Alive(Raw):
    """Cotangents of ones: an element that ends up 0 is one that no selection took."""

    def ones(self, data: Any) -> Any:
        data = data._data if type(data) is Array else data
        self.move_to(data)
        return self.xp.ones(data.shape, dtype=self.xp.float64, device=data.device)

    def mask(self, counts: Any) -> Any:
        """1 where alive, 0 elsewhere: renewed at every step, so that nothing under- or overflows."""
        self.move_to(counts)
        with self.at(counts):
            return self.xp.astype(counts != 0, self.xp.float64)


def guarded(base: type[Raw]) -> type[Raw]:
    """The guarded form of a pass."""

    class Guarded(base):  # type: ignore[valid-type,misc]
        def __init__(self, storage: Any, followed: Any) -> None:
            super().__init__(storage, followed)
            self.alive = Alive(storage, followed)

        def start(self, tid: int, seed: Any) -> None:
            super().start(tid, seed)
            self.alive.lend(tid, self.alive.ones(seed))

        def structural(self, plan: Any, record: Record) -> None:
            plan.special(self.alive, record)
            super().structural(plan, record)

        def pull(self, plan: Plan, record: Record) -> None:
            alive = self.alive.take_results(record)
            g = self.take_results(record)
            if g is None:
                return
            lifted = self.lift(plan, record)
            for pull in plan.pulls:
                parts = self.apply(plan, pull, g, lifted)
                if parts is None:
                    continue
                living = self.living(plan, pull, alive, record, parts)
                if plan.op.joint:
                    tids = self.inputs(plan, record)
                else:
                    tids, parts, living = (record[pull[0]],), [parts], [living]
                for tid, part, lives in zip(tids, parts, living, strict=True):
                    if part is None or tid not in self.followed:
                        continue
                    self.move_to(part)
                    with self.at(part) if plan.op.moves else HERE:
                        self.alive.add(tid, lives)
                        self.add(tid, self.xp.where(self.as_mask(lives), part, 0.0))

        def living(self, plan: Plan, pull: Any, alive: Any, record: Record, parts: Any) -> Any:
            """Which elements of the contributions are alive, by the kind of op that made them."""
            if plan.op.selects:
                counts = self.alive.apply(plan, pull, alive, record)
                if type(counts) is not list:
                    return self.alive.mask(counts)
                return [None if c is None else self.alive.mask(c) for c in counts]
            if plan.diagonal:
                return self.alive.mask(self.alive.fit(alive, parts.shape, alive.dtype))
            if type(parts) is list:
                return [None if p is None else self.alive.ones(p) for p in parts]
            return self.alive.ones(parts)

        def as_mask(self, lives: Any) -> Any:
            mask = lives != 0
            return self.xp.asarray(mask) if isinstance(self, Recorded) else mask

    return Guarded


GuardedRaw = guarded(Raw)
GuardedRecorded = guarded(Recorded)
