"""Activity: which elements of a cotangent the target depends on at all.

A mask says so for each cotangent of a guarded pass: ``ALL``, or counts, which are 0 where no path
through selections leads to the target.  Counts pass an op by its own rule where it only selects,
moves and adds up elements.  The rule of any other op is probed: run on generic values in place of
everything that the record keeps, where a result of 0 shows that nothing active arrives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._array.array import Array
from .._record.plan import Plan, Record
from .._storage.storage import COMPLEX, inexact, is_complex, storage_of
from .backward import BackwardPass, Gradients
from .data import RawData

ALL: Any = "all"  # in place of a mask of ones


class ActivityData(RawData):
    """Counts of what is active, on raw data."""

    def move_to(self, data: Any) -> None:
        if data is not ALL:
            super().move_to(data)

    negated = staticmethod(lambda g: g)  # counts do not cancel

    def fit_contribution(self, contribution: Any, shape: Any, dtype: Any, op: str = "an op") -> Any:
        """Counts keep their dtype, but for an imaginary part that a real input has no use for."""
        cut = is_complex(contribution) and not self.xp.isdtype(dtype, COMPLEX)
        return super().fit_contribution(
            contribution, shape, dtype if cut else contribution.dtype, op
        )

    def mask_of_ones(self, data: Any) -> Any:
        """A mask of ones for data, of complex data for both parts."""
        data = raw_of(data)
        self.move_to(data)
        ones = self.xp.ones(data.shape, dtype=self.xp.float64, device=data.device)
        return self.for_parts_of(data, ones)

    def for_parts_of(self, data: Any, mask: Any) -> Any:
        """A mask for data: of complex data for both of its parts, which views may take apart."""
        if mask is ALL or is_complex(mask) == is_complex(data):
            return mask
        if is_complex(data):
            return mask * (1 + 1j)
        return self.xp.astype(mask != 0, self.xp.float64)

    def as_mask(self, counts: Any) -> Any:
        """1 where active, 0 elsewhere: at every step, so that nothing under- or overflows."""
        self.move_to(counts)
        with self.on_device_of(counts):
            inactive = storage_of(counts).unless_none(counts == 0)
            return (
                ALL if inactive is None else self.xp.where(inactive, 0.0, self.mask_of_ones(counts))
            )

    def as_counts(self, active: Any, g: Any) -> Any:
        """A mask as an array in the shape of a cotangent; of several results, each."""
        if type(g) is tuple:
            pairs = zip(active, g, strict=True)
            return tuple([p if p is None else self.as_counts(a, p) for a, p in pairs])
        return self.mask_of_ones(g) if active is ALL else active

    def generic_values(self, data: Any, start: float) -> Any:
        """Numbers in place of data, no two alike, none of them 0; as matrices of full rank.

        Of evenly spaced angles they would be matrices of rank 3, of which a system has no solution.
        """
        xp, count = self.xp, math.prod(data.shape)
        turns = xp.arange(count, dtype=xp.float64, device=data.device)
        angles = (0.7 + 0.31 * turns) * turns
        line = 2.0 + xp.cos(angles + start)
        if data.dtype.kind == "c":
            line = line + 1j * (2.0 + xp.sin(1.3 * angles + start))
        return xp.astype(xp.reshape(line, data.shape), data.dtype)

    def generic_cotangent(self, active: Any, g: Any) -> Any:
        """Generic values in the place of a cotangent, 0 where nothing is active."""
        if type(g) is tuple:
            pairs = zip(active, g, strict=True)
            return tuple([p if p is None else self.generic_cotangent(a, p) for a, p in pairs])
        g = raw_of(g)
        return self.xp.astype(active != 0, g.dtype) * self.generic_values(g, 3.0)


class ActivityPass(BackwardPass):
    """The pass of masks that runs beside a guarded one."""

    data: ActivityData

    def add_contribution(self, tid: int, contribution: Any) -> None:
        held = self.cotangents.get(tid)
        if held is None or contribution is ALL:
            self.cotangents[tid] = contribution
        elif held is not ALL:
            self.cotangents[tid] = held + contribution
        self.borrowed.discard(tid)

    def lend_contribution(self, tid: int, contribution: Any) -> None:
        first = self.cotangents.get(tid) is None
        self.add_contribution(tid, contribution)
        if first and contribution is not ALL:
            self.borrowed.add(tid)

    def pull_users_rule(
        self, outs: Sequence[int], tids: Sequence[int], gradients: Gradients
    ) -> None:
        """A user's rule is run on nothing but cotangents: all that it may reach is active."""
        held = [self.take_cotangent(out) for out in outs]
        if any(mask is not None for mask in held):
            for tid in tids:
                self.add_contribution(tid, ALL)


class Probe(NamedTuple):
    """What the rules of a record gave for generic values, in place of two different sets of them.

    spoilt : by name of what the record keeps, where that is NaN or infinite.  values : the first set,
    by name.  first, second : what each rule gave; where they differ, a spoilt value takes part.
    """

    spoilt: dict[str, Any]
    values: dict[str, Any]
    first: list[Any]
    second: list[Any]


def probe(data: ActivityData, plan: Plan, active: Any, g: Any, record: Record) -> Probe | None:
    """Run a record's rules on generic values; None for rules that take no such arguments."""
    xp = data.xp
    kept = {name: plan.kept_value(record, name) for name in plan.kept_data()}
    kept = {name: x for name, x in kept.items() if hasattr(x, "shape") and inexact(x)}
    spoilt = {name: ~xp.isfinite(x) for name, x in kept.items()}
    values = {name: data.generic_values(x, 1.0) for name, x in kept.items()}
    others = {
        name: xp.where(spoilt[name], data.generic_values(x, 2.0), values[name])
        for name, x in kept.items()
    }
    cotangent = data.generic_cotangent(active, g)
    try:
        first, second = (
            [
                data.apply(plan, pull, cotangent, plan.with_kept(record, given))
                for pull in plan.pulls
            ]
            for given in (values, others)
        )
    except (ArithmeticError, ValueError):
        return None
    return Probe(spoilt, values, first, second)


def raw_of(data: Any) -> Any:
    """The raw data of an Array; raw data itself."""
    return data._data if type(data) is Array else data
