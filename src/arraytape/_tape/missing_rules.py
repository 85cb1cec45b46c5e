"""The errors for ops without a rule, and the search for such ops between sources and targets.

The search runs before a backward pass, so that a tape is not used up by a request that fails.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from .._array.unfinished_writes import UNFINISHED
from .._record.op import REGISTRY
from .._record.plan import PLANS, Plan, Record, Structural, ids_made_of, inputs_of, results_of
from .._util.errors import see, user_line


def missing_rule(plan: Plan | Structural, record: Sequence[Any]) -> str | None:
    """Return the name of a record's op or function if the record has no rule for a followed input.

    Return None if it has all rules.

    plan : says what the record's items are.  record : the tape's entry for one call of an op.
    """
    if isinstance(plan, Plan):
        return plan.op.name if plan.missing or plan.unknown else None
    return getattr(record[-1], "missing", None)


def find_missing_rule(record: Record, depending: Container[int]) -> MissingRule | None:
    """Return the error to raise if a record has no rule for an input in ``depending``; None if it has.

    depending : the ids of the values that depend on the sources of a derivative.
    """
    plan = PLANS[record[0]]
    if isinstance(plan, Plan) and plan.unknown:
        found = [reason for place, reason in plan.unknown.items() if record[place] in depending]
        return missing_rule_error(plan.op.name, *found[0]) if found else None
    name = missing_rule(plan, record)
    if plan is UNFINISHED and any(value_id in depending for value_id in inputs_of(record)):
        return UnfinishedWrite(record[-1].said)
    if name is None or not any(value_id in depending for value_id in inputs_of(record)):
        return None
    return missing_rule_error(name, *getattr(record[-1], "reason", ()))


class MissingRule(LookupError):
    """The error that an op or function without a rule lies between source and target.

    name : the op or function.
    unknown : empty, or (argument, reason) if only the derivative with respect to that argument is
    unknown.
    """

    def __init__(self, message: str, name: str, *unknown: str) -> None:
        super().__init__(message, name, *unknown)
        self.message, self.name, self.unknown = message, name, unknown

    def rebuild_error(self) -> MissingRule:
        """Return a new error with the current user line, which says if a rule was declared meanwhile.

        A user may call ``register_gradient`` after the op ran.
        """
        return missing_rule_error(self.name, *self.unknown)

    def __str__(self) -> str:
        return self.message


class UnfinishedWrite(MissingRule):
    """The error that a write which did not finish lies between source and target.

    what : a phrase with the Array and the line of the write.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            f"compute the Array anew: the write into {what} did not finish. An error or an "
            "interruption came before it was recorded, so the data may be old or new or a part of each, "
            f"and no derivative goes through it [at {user_line()}] {see('unfinished-write')}",
            "unfinished write",
        )
        self.what = what

    def rebuild_error(self) -> MissingRule:
        return UnfinishedWrite(self.what)


def missing_rule_error(name: str, *unknown: str) -> MissingRule:
    """Return the error for an op or function without a rule, with advice on how to give it one.

    unknown : empty, or (argument, reason) if only the derivative with respect to that argument is
    unknown.
    """
    if unknown:
        return unknown_rule_error(name, *unknown)
    op = REGISTRY.get(name)
    if op is None:
        declare = "Give it one with host_function(f, vjp) or custom_gradient"
    elif op.rules or op.joint:
        declare = "It has one by now, but had none when it ran: record again"
    else:
        declare = f"Declare one with register_gradient({name!r}) or no_gradient({name!r})"
    return MissingRule(
        f"gradient registry has no entry for: {name}. {declare}, or stop_gradient its result "
        f"[at {user_line()}] {see('no-gradient-rule')}",
        name,
    )


def unknown_rule_error(name: str, argument: str, why: str) -> MissingRule:
    return MissingRule(
        f"{name} has no derivative with respect to {argument}: {why}. stop_gradient it if it is a "
        f"constant, or give the function a rule of your own with custom_gradient [at {user_line()}] "
        f"{see('no-gradient-rule')}",
        name,
        argument,
        why,
    )


def check_rules(
    records: Sequence[tuple[Any, ...]], starts: Iterable[int], sources: Iterable[int]
) -> None:
    """Raise MissingRule if an op without a rule lies between the sources and the targets ``starts``.

    sources, starts : value ids.
    """
    depending = ids_made_of(records, sources)
    reached = set(starts)
    for record in reversed(records):
        if reached.isdisjoint(results_of(record)):
            continue
        error = find_missing_rule(record, depending)
        if error is not None:
            raise error
        reached.update(inputs_of(record))
