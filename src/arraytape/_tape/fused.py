"""The backward pass for array libraries that run several elementwise operations as one kernel (CuPy).

One kernel computes the rules of an elementwise op, and adds the results to the inputs' cotangents.  It
is made at its first use, for a plan and the set of inputs that already have a cotangent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .._array.paths import broadcast_axes
from .._record.plan import AFTER_RESTORING, PLANS, Plan, Pull, Record, identity_rule
from .._storage.standard import restore_axes
from .._storage.storage import Storage, is_complex
from .backward import BackwardPass

if TYPE_CHECKING:
    import numpy as np

    from .._util.array_types import RawArray, ResultCotangents

Constants = tuple[object, ...]
ARGUMENT = object()  # in place of a kept value that is an argument of a kernel, not a constant
EXPONENTS = frozenset((2, 3))  # with these as constants, the rule of pow is one kernel
OF_RESTORING = frozenset(
    ("shape", "axis", "keepdims")
)  # a reduction's arguments for ``restore_axes``


class Sum(NamedTuple):
    """The sum of all contributions to the cotangent of one operand, which a fused kernel computes.

    value_id : the operand's value id.  held : its cotangent so far, which is added, or None.
    pulls : the rules that give the contributions, as indices in ``Plan.pulls``.
    """

    value_id: int
    pulls: tuple[int, ...]
    held: Any


class FusedPass(BackwardPass):
    """A backward pass that runs all rules of an elementwise op's record as one kernel.

    A kernel is one call of the GPU; with CuPy each call takes longer than the arithmetic.
    """

    def pull_rules(self, plan: Plan, g: ResultCotangents, record: Record) -> None:
        restored = len(plan.pulls) == 1 and plan.pulls[0].rule in AFTER_RESTORING
        if (
            type(g) is tuple or not (plan.diagonal or restored) or plan.op.checked or is_complex(g)
            or (record[plan.pulls[0].at] not in self.followed and restored)
        ):  # fmt: skip
            super().pull_rules(plan, g, record)
            return
        kept = [record[place] for place in argument_places(plan)]
        constants = tuple([x if is_constant(x) else ARGUMENT for x in kept])
        given = [x for x, held in zip(kept, constants, strict=True) if held is ARGUMENT]
        if not all(self.data.storage.fuses(x) for x in (g, *given)):
            super().pull_rules(plan, g, record)
        elif restored:
            self.pull_restored(plan, g, given, constants, record)
        else:
            self.pull_elementwise(plan, g, given, constants, record)

    def pull_elementwise(
        self, plan: Plan, g: Any, given: list[Any], constants: Constants, record: Record
    ) -> None:
        """Pass the cotangent g of an elementwise op back, by one kernel for all inputs if possible.

        given, constants : the kept values of the record, as ``gradient_kernel`` takes them.
        """
        sums, apart = self.sums_of(plan, g, record)
        layout = tuple([(pulls, held is not None) for _, pulls, held in sums])
        if layout:
            run = gradient_kernel(self.data.storage, plan.number, layout, constants)
            found = run(g, *given, *[held for _, _, held in sums if held is not None])
            for (value_id, _, held), part in zip(sums, found, strict=True):
                self.set_sum(value_id, part, held)
        for i in apart:
            self.pull_broadcast(plan, i, g, given, constants, record)

    def pull_broadcast(
        self, plan: Plan, i: int, g: Any, given: list[Any], constants: Constants, record: Record
    ) -> None:
        """Add the contribution of rule number i to the cotangent of an input that was broadcast or cast.

        One kernel computes the contribution and its sum over the broadcast axes.
        given, constants : the kept values of the record, as ``gradient_kernel`` takes them.
        """
        pull, data = plan.pulls[i], self.data
        assert pull.fit is not None
        shape, dtype = record[pull.fit[0]], record[pull.fit[1]]
        if pull.rule is identity_rule:
            self.add_contribution(
                record[pull.at], data.fit_contribution(g, shape, dtype, plan.op.name)
            )
            return
        axes = broadcast_axes(g.shape, shape) if dtype == g.dtype else ()
        layout = (((i,), False),)
        part = gradient_kernel(data.storage, plan.number, layout, constants, axes)(g, *given)
        part = part if axes else part[0]
        if part is not None:
            part = part if part.shape == shape or not axes else data.xp.reshape(part, shape)
            fitted = data.fit_contribution(part, shape, dtype, plan.op.name)
            self.add_contribution(record[pull.at], fitted)

    def pull_restored(
        self, plan: Plan, g: Any, given: list[Any], constants: Constants, record: Record
    ) -> None:
        """Pass the cotangent g of a reduction back, by one kernel if possible.

        plan : a plan with a single rule, which is in ``AFTER_RESTORING``.
        given, constants : the kept values of the record, as ``gradient_kernel`` takes them.
        """
        pull, data, op = plan.pulls[0], self.data, plan.op
        shape, axis, keepdims = (
            record[pull.asks[op.asks[pull.rule].index(name)]]
            for name in ("shape", "axis", "keepdims")
        )
        g = restore_axes(g, shape, axis, keepdims, data.xp)
        held = None if pull.fit else self.held_like(shape, g.dtype, record[pull.at])
        run = gradient_kernel(data.storage, plan.number, (((0,), held is not None),), constants)
        (part,) = run(g, *given, *([] if held is None else [held]))
        if pull.fit:
            part = data.fit_contribution(part, shape, record[pull.fit[1]], op.name)
        self.set_sum(record[pull.at], part, held)

    def set_sum(self, value_id: int, part: Any, held: Any) -> None:
        """Set a value's cotangent to ``part``, which includes ``held``; add it if ``held`` is None."""
        if held is not None:
            self.cotangents[value_id] = part
            self.borrowed.discard(value_id)
        elif part is not None:
            self.add_contribution(value_id, part)

    def sums_of(self, plan: Plan, g: Any, record: Record) -> tuple[list[Sum], list[int]]:
        """Return a Sum for each input to whose cotangent the kernel of a record contributes.

        A contribution that is the cotangent g itself needs no kernel: this method adds it, without a
        Sum.  Also return the numbers of the rules whose contributions have to be fitted to the input.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        sums: dict[int, Sum] = {}
        apart = []
        for i, pull in enumerate(plan.pulls):
            value_id = record[pull.at]
            if value_id not in self.followed:
                continue
            if not has_layout_of(pull, g, record):
                apart.append(i)
            elif value_id in sums:
                before = sums[value_id]
                sums[value_id] = before._replace(pulls=(*before.pulls, i))
            else:
                sums[value_id] = Sum(value_id, (i,), self.held_like(g.shape, g.dtype, value_id))
        unchanged = [
            value_id for value_id, one in sums.items()
            if one.held is None and [plan.pulls[i].rule for i in one.pulls] == [identity_rule]
        ]  # fmt: skip
        own = (
            len(unchanged) == 1 and record[1] not in self.borrowed
        )  # then nothing else refers to g
        for value_id in unchanged:
            del sums[value_id]
            (self.add_contribution if own else self.lend_contribution)(value_id, g)
        return list(sums.values()), apart

    def held_like(self, shape: tuple[int, ...], dtype: np.dtype[Any], value_id: int) -> Any:
        """Return a value's cotangent so far, if it has this shape and dtype; else None.

        Only to such a cotangent can the kernel add.
        """
        held: Any = self.cotangents.get(value_id)
        alike = type(held) is self.data.kind and held.shape == shape and held.dtype == dtype
        return held if alike else None


def has_layout_of(pull: Pull, g: RawArray, record: Record) -> bool:
    """Return True if a rule's input has the shape and the dtype of the cotangent g.

    The rule's result then needs neither a sum over broadcast axes nor a cast.

    pull : the description of the rule.  record : the op's call, which keeps the input's shape and dtype.
    """
    if pull.fit is None:
        return True
    return bool(record[pull.fit[0]] == g.shape and record[pull.fit[1]] == g.dtype)


@cache
def argument_places(plan: Plan) -> tuple[int, ...]:
    """Return the positions in a record of the values that the plan's rules get.

    The values are arguments or constants of the kernel that computes all rules at once.  The shape and
    the axes of a reduction are neither, because the pass restores the axes of the cotangent first.

    plan : the description of the record's items and rules.
    """
    places = set()
    for pull in plan.pulls:
        own = OF_RESTORING if pull.rule in AFTER_RESTORING else ()
        named = zip(plan.op.asks[pull.rule], pull.asks, strict=True)
        places |= {place for name, place in named if place and name not in own}
    return tuple(sorted(places))


def is_constant(x: Any) -> bool:
    """Return True if a kept value is a constant of the kernel: None, or an exponent such as 2."""
    return x is None or (type(x) in (int, float) and x in EXPONENTS)


@cache
def gradient_kernel(
    storage: Storage,
    number: int,
    layout: tuple[tuple[tuple[int, ...], bool], ...],
    constants: Constants,
    axes: tuple[int, ...] = (),
) -> Callable[..., Any]:
    """Return the kernel that computes all contributions of a record with plan ``number``.

    Arguments of the kernel: the cotangent, the record's values at ``argument_places(plan)`` that are not
    constants, and cotangents of inputs to which to add.  Its result is a tuple with a sum for each item
    of ``layout``, or the only one, summed over ``axes``.

    storage : the functions for the array library.
    layout : a pair for each input: the indices of its rules, and True to add a cotangent.
    constants : for each kept value, the constant, or ``ARGUMENT``.
    """
    plan: Any = PLANS[number]
    places, xp = argument_places(plan), storage.xp

    def sums(g: Any, *given: Any) -> Any:
        left = iter(given)
        values = [next(left) if x is ARGUMENT else x for x in constants]
        kept = dict(zip(places, values, strict=True))
        found = []
        for pulls, added in layout:
            total = next(left) if added else None
            for i in pulls:
                pull = plan.pulls[i]
                rule = AFTER_RESTORING.get(pull.rule, pull.rule)
                arguments = [kept.get(at) if at else xp for at in pull.asks if not at or at in kept]
                part = rule(g, *arguments)
                total = part if total is None else total if part is None else total + part
            found.append(total)
        return found[0] if axes else tuple(found)

    sums.__name__ = f"gradient_of_{plan.op.name}".replace(".", "_")
    return storage.fused(sums, axes)
