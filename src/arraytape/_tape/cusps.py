"""Cusps: slopes that may be finite where the curvature is not, as that of x ** 1.5 at 0."""

from __future__ import annotations

from collections.abc import Iterable

from .._record.op import Cusped
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of, plan_of, results_of
from .packing import unpack_record


def has_cusp(plan: Plan | Structural, record: Record) -> bool:
    """Return True if the slope of a record may be finite where its curvature is not."""
    if isinstance(plan, Plan):
        return answered(plan.op.cusped, plan, record)
    return bool(getattr(record[-1], "cusped", False))


def selects(plan: Plan, record: Record) -> bool:
    """Return True if a record's op selects elements of its inputs by their values, or moves them."""
    return answered(plan.op.selects, plan, record)


def answered(flag: Cusped, plan: Plan, record: Record) -> bool:
    """Return an op's flag for a record: see ``Op.cusped`` for flags that are functions."""
    if not callable(flag):
        return flag
    return flag(
        lambda name: (
            unpack_record(plan.kept_value(record, name)) if plan.keeps_value(name) else None
        )
    )


def hides_a_cusp(records: Iterable[Record]) -> bool:
    """Return True if a selection follows an op with a cusp.

    A finite gradient does not show that the next order is finite, so a recorded pass must be guarded.
    """
    for record in records:  # a quick test, which is enough for most tapes
        if PLANS[record[0]].cusped:
            break
    else:
        return False
    cusped: set[int] = set()
    for record in records:
        plan = plan_of(record)
        found, follows = has_cusp(plan, record), not cusped.isdisjoint(inputs_of(record))
        if isinstance(plan, Plan):
            if follows and selects(plan, record):
                return True
            if found or follows:
                cusped.update(results_of(record))
        elif found or follows:
            return True
    return False
