"""Cusps: points at which an op's first derivative is finite and its second is not, as x ** 1.5 at 0.

A selection after a cusp can hide the point: the first derivative is then finite, and the next order is
0 * infinity, NaN.  So a pass that an outer tape records is guarded if a selection follows a cusp: it
sets the contributions of elements that were not selected to 0 (``guard.py``).  It is also guarded
if eigenvalues or singular values nearly coincide: only a guarded pass computes limits of quotients, and
derivatives of quotients are less exact than those of limits.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._record.op import Cusped
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of, plan_of, results_of
from .packing import unpack_record


def has_cusp(plan: Plan | Structural, record: Record) -> bool:
    """Return True if a record's op may have a cusp at the recorded values.

    At a cusp the first derivative is finite and the second infinite, as for x ** 1.5 at 0.

    plan : says what the record's items are.  record : the tape's entry for one call of an op.
    """
    if isinstance(plan, Plan):
        return evaluate_flag(plan.op.cusped, plan, record)
    return bool(getattr(record[-1], "cusped", False))


def selects(plan: Plan, record: Record) -> bool:
    """Return True if the rules of a record's op only select, move and add elements, as indexing does.

    plan : says what the record's items are.  record : the tape's entry for one call of an op.
    """
    return evaluate_flag(plan.op.selects, plan, record)


def evaluate_flag(flag: Cusped, plan: Plan, record: Record) -> bool:
    """Return the value of an op's ``cusped`` or ``selects`` for one record, as a bool.

    flag : the attribute: a bool, or a function that returns a bool.  Its argument is a function from the
    name of an input or parameter to the kept value, or to None if the record does not keep the value.
    plan : says what the record's items are.  record : the tape's entry for one call of an op.
    """
    if not callable(flag):
        return flag
    return flag(
        lambda name: (
            unpack_record(plan.kept_value(record, name)) if plan.keeps_value(name) else None
        )
    )


def hides_a_cusp(records: Iterable[Record]) -> bool:
    """Return True if a selection, such as ``where``, may hide a cusp, so that the pass must be guarded.

    A cusp (infinite second derivative, as x ** 1.5 at 0) may be hidden if a selection, or a user's
    function, depends on the result of an op with a cusp.  Return True also for a factorisation with
    nearly equal eigenvalues or singular values, because only a guarded pass (``guard.py``) computes the
    limits that its derivatives need.
    """
    for record in records:  # a quick test first: most tapes have no op with a cusp
        if PLANS[record[0]].cusped:
            break
    else:
        return False
    cusped: set[int] = set()
    for record in records:
        plan = plan_of(record)
        found, follows = has_cusp(plan, record), not cusped.isdisjoint(inputs_of(record))
        if isinstance(plan, Plan):
            if (follows and selects(plan, record)) or (found and plan.keeps_value("limits")):
                return True
            if found or follows:
                cusped.update(results_of(record))
        elif found or follows:
            return True
    return False
