"""The guarded rerun: what a selection did not take contributes exactly zero.

``where(x > 0, sqrt(x), 0)`` at 0 multiplies a cotangent that nobody selected, 0, with an infinite
slope: NaN.  The plain backward pass pays nothing for this; when a requested gradient holds a NaN,
the pass runs again beside a second one that carries, for every cotangent, which of its elements
the target depends on at all ("alive").  An honest 0 x inf, zero by value and not by selection, stays
NaN: ``sqrt(x) ** 2`` at 0.

How aliveness passes an op follows from the op's own rule.  A rule that only selects, moves and adds
up is run on ones.  An elementwise one leaves it where it is.  Any other is run on uneven numbers in
place of everything that it keeps: where that gives 0, nothing alive arrives.  The same trial shows
which contributions a kept NaN or infinity truly reaches; the others are computed without it, so
that a dead row of a matrix product does not spoil the sums over the live ones.

``gradient(..., nan="keep")`` switches all of this off: the plain pass alone, NaN included, at no look
at values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._array.array import Array
from .._record.plan import LAYOUT, PLANS, Plan, Record, inputs_of, results_of
from .._storage.storage import COMPLEX, HERE, inexact, is_complex, storage_of
from .backward import Raw, Recorded

ALL: Any = "all"  # in place of a mask of ones


class Alive(Raw):
    """By tid, which elements are alive: ``ALL``, or counts that are 0 where no selection took one."""

    def add(self, tid: int, contribution: Any) -> None:
        held = self.cotangents.get(tid)
        if held is None or contribution is ALL:
            self.cotangents[tid] = contribution
        elif held is not ALL:
            self.cotangents[tid] = held + contribution
        self.borrowed.discard(tid)

    def lend(self, tid: int, contribution: Any) -> None:
        first = self.cotangents.get(tid) is None
        self.add(tid, contribution)
        if first and contribution is not ALL:
            self.borrowed.add(tid)

    def move_to(self, data: Any) -> None:
        if data is not ALL:
            super().move_to(data)

    negated = staticmethod(lambda g: g)  # counts do not cancel

    def fit(self, contribution: Any, shape: Any, dtype: Any, op: str = "an op") -> Any:
        """Counts keep their dtype, but for an imaginary part that a real input has no use for."""
        cut = is_complex(contribution) and not self.xp.isdtype(dtype, COMPLEX)
        return super().fit(contribution, shape, dtype if cut else contribution.dtype, op)

    def ones(self, data: Any) -> Any:
        data = data._data if type(data) is Array else data
        self.move_to(data)
        return self.xp.ones(data.shape, dtype=self.xp.float64, device=data.device)

    def counted(self, alive: Any, g: Any) -> Any:
        """Aliveness as an array; of several results, each."""
        if type(g) is tuple:
            return tuple(
                [p if p is None else self.counted(a, p) for a, p in zip(alive, g, strict=True)]
            )
        return self.ones(g) if alive is ALL else alive

    def renewed(self, counts: Any) -> Any:
        """1 where alive, 0 elsewhere: at every step, so that nothing under- or overflows."""
        self.move_to(counts)
        with self.at(counts):
            dead = storage_of(counts).unless_none(counts == 0)
            return ALL if dead is None else self.xp.where(dead, 0.0, self.ones(counts))

    def uneven(self, data: Any, start: float) -> Any:
        """Numbers in place of data, no two alike, none of them 0."""
        count = 1
        for n in data.shape:
            count *= n
        xp = self.xp
        turns = xp.arange(count, dtype=xp.float64, device=data.device)
        line = 2.0 + xp.cos(turns * 0.7 + start)
        if data.dtype.kind == "c":
            line = line + 1j * (2.0 + xp.sin(turns * 1.3 + start))
        return xp.astype(xp.reshape(line, data.shape), data.dtype)

    def seeds(self, alive: Any, g: Any) -> Any:
        """Uneven cotangents in the place of g, 0 where nothing is alive."""
        if type(g) is tuple:
            return tuple(
                [p if p is None else self.seeds(a, p) for a, p in zip(alive, g, strict=True)]
            )
        g = g._data if type(g) is Array else g
        return self.xp.astype(alive, g.dtype) * self.uneven(g, 3.0)


def idle_inputs(plan: Plan, record: Record, found: list[Any]) -> dict[int, Any]:
    """Where a record keeps an input, which of its elements got 0 in a trial."""
    inputs = plan.op.inputs
    if plan.op.joint:
        by_input = dict(zip(inputs, found[0], strict=False))
    else:
        by_input = {inputs[pull[0] - 2]: f for pull, f in zip(plan.pulls, found, strict=True)}
    places = {x: plan.positions[x] for x in by_input if x in plan.positions}
    return {
        place: by_input[x] == 0
        for x, place in places.items()
        if by_input[x] is not None and by_input[x].shape == getattr(record[place], "shape", None)
    }


def hides_a_cusp(records: list[Record]) -> bool:
    """Whether a selection follows an op whose slope may be finite where its curvature is not.

    A finite gradient through those says nothing about the next order, so the guard must be on.
    """
    if not any(PLANS[record[0]].cusped for record in records):
        return False
    cusped: set[int] = set()
    for record in records:
        plan = PLANS[record[0]]
        if isinstance(plan, Plan):
            if has_cusp(plan, record):
                cusped.update(results_of(record))
            if cusped.isdisjoint(inputs_of(record)):
                continue
            if plan.op.selects:
                return True
            cusped.update(results_of(record))
        elif not cusped.isdisjoint(inputs_of(record)) or getattr(record[-1], "cusped", False):
            return True
    return False


def has_cusp(plan: Plan, record: Record) -> bool:
    """Whether the slope of a record's op may be finite where its curvature is not."""
    if not plan.op.cusped:
        return False
    exponent = record[plan.positions["x2"]] if "x2" in plan.positions else 0.5
    return not (isinstance(exponent, int | float) and float(exponent).is_integer())


def kept_floats(plan: Plan, record: Record) -> list[int]:
    """Where a record keeps floating-point data."""
    places = [
        place for name, place in plan.positions.items() if name.partition(" ")[0] not in LAYOUT
    ]
    return [p for p in places if hasattr(record[p], "shape") and inexact(record[p])]


def replaced(record: Record, values: dict[int, Any]) -> Record:
    """A record with other values at some of its places."""
    return tuple([values.get(place, item) for place, item in enumerate(record)])


def guarded(base: type[Raw]) -> type[Raw]:
    """The guarded form of a pass."""

    class Guarded(base):  # type: ignore[valid-type,misc]
        def __init__(self, storage: Any, followed: Any) -> None:
            super().__init__(storage, followed)
            self.alive = Alive(storage, followed)

        def start(self, tid: int, seed: Any) -> None:
            super().start(tid, seed)
            if not self.picks:
                self.alive.add(tid, ALL)
                return
            self.alive.move_to(seed := seed._data if type(seed) is Array else seed)
            with self.alive.at(seed):
                self.alive.add(tid, self.alive.xp.where(seed != 0, self.alive.ones(seed), 0.0))

        def structural(self, plan: Any, record: Record) -> None:
            if plan.unfolds:  # into records that carry aliveness themselves
                super().structural(plan, record)
                return
            held = self.alive.cotangents
            for tid in record[1:3]:
                if held.get(tid) is ALL and self.cotangents.get(tid) is not None:
                    held[tid] = self.alive.ones(self.cotangents[tid])
            plan.pull(self.alive, record)
            super().structural(plan, record)

        def pull(self, plan: Plan, record: Record) -> None:
            alive = self.alive.take_results(record)
            g = self.take_results(record)
            if g is None:
                return
            for pull, (parts, living) in zip(
                plan.pulls, self.parts(plan, g, alive, record), strict=True
            ):
                if plan.op.joint:
                    tids = self.inputs(plan, record)
                else:
                    tids, parts, living = (record[pull[0]],), [parts], [living]
                for tid, part, lives in zip(tids, parts, living, strict=True):
                    if part is None or tid not in self.followed:
                        continue
                    self.alive.add(tid, lives)
                    with self.at(part) if plan.op.moves else HERE:
                        if lives is ALL:
                            (self.lend if part is g or plan.op.joint else self.add)(tid, part)
                        else:
                            self.add(tid, self.only(lives, part))

        def parts(self, plan: Plan, g: Any, alive: Any, record: Record) -> Iterator[Any]:
            """For each rule its contributions, and which of their elements are alive."""
            op, trial, lifted = plan.op, self.alive, self.lift(plan, record)
            every = all(
                a is None or a is ALL for a in (alive if type(alive) is tuple else (alive,))
            )
            if not (every or op.selects or op.diagonal or op.checked):
                yield from self.tried(plan, g, trial.counted(alive, g), record, lifted)
                return
            for pull in plan.pulls:
                if op.diagonal and not (every or op.selects):
                    # Before it is summed over broadcast axes, where the dead would meet the living.
                    part = self.only(alive, self.apply(plan, (*pull[:4], None), g, lifted))
                    fit = pull[4]
                    counts = alive if fit is None else trial.fit(alive, record[fit[0]], alive.dtype)
                    yield self.fitted(pull, part, record), trial.renewed(counts)
                    continue
                parts = self.apply(plan, pull, g, lifted)
                if op.selects:
                    counts = trial.apply(plan, pull, trial.counted(alive, g), record)
                    yield parts, each(counts, trial.renewed)
                else:  # a rule of the user's own is not run on anything but what it is meant for
                    yield parts, each(parts, lambda part: ALL)

        def tried(
            self, plan: Plan, g: Any, alive: Any, record: Record, lifted: Record
        ) -> Iterator[Any]:
            """Contributions of rules that mix elements, and their aliveness, both by trial."""
            trial, xp = self.alive, self.alive.xp
            if "dead" in plan.positions:  # for rules that ask which results are never read
                dead = tuple([a if a is None else self.own(a == 0) for a in alive])
                lifted = replaced(lifted, {plan.positions["dead"]: dead})
            places = kept_floats(plan, record)
            spoilt = {p: ~xp.isfinite(record[p]) for p in places}
            smooth = {p: trial.uneven(record[p], 1.0) for p in places}
            other = {
                p: xp.where(spoilt[p], trial.uneven(record[p], 2.0), smooth[p]) for p in places
            }
            seed = trial.seeds(alive, g)
            try:
                first, second = (
                    [trial.apply(plan, pull, seed, replaced(record, kept)) for pull in plan.pulls]
                    for kept in (smooth, other)
                )
            except (ArithmeticError, ValueError):  # uneven numbers are no fit argument, say
                for pull in plan.pulls:
                    whole = self.apply(plan, pull, g, lifted)
                    yield whole, each(whole, lambda part: ALL)
                return
            # An input's element that reaches no living result has no part in any derivative of it.
            filler = {p: self.own(smooth[p]) for p in places}
            for p, mask in idle_inputs(plan, record, first).items():
                lifted = replaced(lifted, {p: self.xp.where(self.own(mask), filler[p], lifted[p])})
            clean = {p: self.xp.where(self.own(spoilt[p]), filler[p], lifted[p]) for p in places}
            for pull, f, s in zip(plan.pulls, first, second, strict=True):
                whole = self.apply(plan, pull, g, lifted)
                try:
                    apart = self.apply(plan, pull, g, replaced(lifted, clean))
                except (ArithmeticError, ValueError):
                    apart = whole
                living = each(f, lambda counts: trial.renewed(trial.xp.abs(counts)))
                if type(whole) is not list:
                    yield self.xp.where(self.own(f != s), whole, apart), living
                    continue
                yield (
                    [
                        None if w is None else self.xp.where(self.own(one != two), w, a)
                        for w, a, one, two in zip(whole, apart, f, s, strict=True)
                    ],
                    living,
                )

        def fitted(self, pull: Any, part: Any, record: Record) -> Any:
            """A contribution summed and cast to the input's layout, where the plan asks for it."""
            fit = pull[4]
            return part if fit is None else self.fit(part, record[fit[0]], record[fit[1]])

        def only(self, lives: Any, part: Any) -> Any:
            """A contribution with exact zeros where nothing is alive."""
            self.move_to(part)
            return self.xp.where(self.own(lives != 0), part, 0.0)

        def own(self, data: Any) -> Any:
            """Raw data as the pass's own namespace takes it."""
            return self.xp.asarray(data) if isinstance(self, Recorded) else data

    return Guarded


def each(found: Any, change: Any) -> Any:
    """One contribution, or each of a joint rule's that is there, changed."""
    if type(found) is list:
        return [None if part is None else change(part) for part in found]
    return None if found is None else change(found)


GuardedRaw = guarded(Raw)
GuardedRecorded = guarded(Recorded)
