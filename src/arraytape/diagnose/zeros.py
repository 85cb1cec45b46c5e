"""Causes of a zero gradient, found by a backward pass that checks the cotangents around each record."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from .._array.aliasing import PUT, write_of
from .._record.plan import Plan, Record, Structural, inputs_of, plan_of, results_of
from .._tape.backward import BackwardPass
from .._tape.data import RawData
from .._tape.none_causes import public_op_name
from .._tape.numerics import values_on_host
from .facts import GradientFacts, name_of

PRODUCTS = ("multiply", "matmul", "vecdot")


class ZeroPoint(NamedTuple):
    """A record whose result has a nonzero cotangent, but which passes only zeros on towards the source.

    cancelled : True if the zero may be a sum that cancels.  Then an input had a nonzero cotangent before
        the record's rule ran, or the record has an input twice.
    """

    record: Record
    cancelled: bool


class ZeroSearch(BackwardPass):
    """A backward pass that notes in ``zero_points`` the records at which cotangents become zero."""

    on_path: Collection[int] = ()  # the value ids that depend on the source

    def __init__(self, data: RawData, followed: Collection[int]) -> None:
        super().__init__(data, followed)
        self.zero_points: list[ZeroPoint] = []

    def go_back(self, plan: Plan | Structural, record: Record) -> None:
        """Pass cotangents back through a record, and note the record if they become zero there."""
        came = any(self.has_nonzero(value_id) for value_id in results_of(record))
        inputs = [value_id for value_id in inputs_of(record) if value_id in self.on_path]
        before = len({*inputs}) < len(inputs) or any(
            self.has_nonzero(value_id) for value_id in inputs
        )
        super().go_back(plan, record)
        if came and inputs and not any(self.has_nonzero(value_id) for value_id in inputs):
            self.zero_points.append(ZeroPoint(record, cancelled=before))

    def has_nonzero(self, value_id: int) -> bool:
        """Return True if a value has a cotangent that is not zero."""
        held = self.cotangents.get(value_id)
        return held is not None and not is_zero(held)


def is_zero(data: Any) -> bool:
    """Return True if all elements of ``data``, which is raw data or a kept number, are zero."""
    return not values_on_host(data).any()


def why_zero(facts: GradientFacts) -> str:
    """Return a phrase that names the ops at which the gradient became zero, and why.

    Return "" if no op is found.  If the target has no elements, the phrase says that.
    """

    def searching(data: RawData, followed: set[int]) -> ZeroSearch:
        pass_ = ZeroSearch(data, followed)
        pass_.on_path = facts.reached_ids
        return pass_

    pass_, _ = facts.run(searching)
    if not pass_.zero_points:
        return "the target has no elements" if facts.target.size == 0 else ""
    return " and ".join(
        dict.fromkeys(zero_reason(facts, zero_point) for zero_point in pass_.zero_points)
    )


def zero_reason(facts: GradientFacts, zero_point: ZeroPoint) -> str:
    """Return a phrase that says why the cotangent became zero at the record of ``zero_point``."""
    record, where = zero_point.record, facts.op_and_line(zero_point.record)
    if zero_point.cancelled:
        return f"what {where} passes back cancels, in itself or with what came another way"
    if record[0] == PUT.number and write_of(record).value not in facts.reached_ids:
        return (
            f"{where} erased it: what was written took the place of all elements that depend on it"
        )
    if zero_operand(record):
        return f"{where} multiplied it by zero"
    if name_of(record) == "where":
        return f"{where} took the other operand in every element"
    return f"the derivative of {where} is zero for these values"


def zero_operand(record: Record) -> bool:
    """Return True if a product has an operand that is zero in every element.

    The derivative with respect to the other operand is then zero.
    """
    plan = plan_of(record)
    if not isinstance(plan, Plan) or public_op_name(plan.name) not in PRODUCTS:
        return False
    kept = [plan.kept_value(record, name) for name in plan.kept_data() if name in plan.op.inputs]
    return any(is_zero(one) for one in kept)
