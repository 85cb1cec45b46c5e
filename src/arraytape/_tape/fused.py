"""The backward pass for array libraries that run several elementwise operations as one kernel (CuPy).

One kernel computes the rules of an elementwise op, and adds the results to the inputs' cotangents.  It
is made at its first use, for a plan and the set of inputs that already have a cotangent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .._record.plan import PLANS, Plan, Pull, Record, identity_rule
from .._storage.storage import Storage, is_complex
from .backward import BackwardPass

if TYPE_CHECKING:
    from .._util.array_types import RawArray, ResultCotangents


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
        storage = self.data.storage
        if type(g) is tuple or not plan.diagonal or plan.op.checked or is_complex(g):
            super().pull_rules(plan, g, record)
            return
        kept = [record[place] for place in argument_places(plan)]
        if not all(storage.fuses(x) for x in (g, *kept)):
            super().pull_rules(plan, g, record)
            return
        sums = self.sums_of(plan, g, record)
        layout = tuple([(pulls, held is not None) for _, pulls, held in sums])
        if layout:
            run = gradient_kernel(storage, plan.number, layout)
            found = run(g, *kept, *[held for _, _, held in sums if held is not None])
            for (value_id, pulls, held), part in zip(sums, found, strict=True):
                if part is None:
                    continue
                if held is not None:
                    self.cotangents[value_id] = part
                    self.borrowed.discard(value_id)
                else:
                    self.add_contribution(value_id, self.fitted(plan, pulls, part, record))

    def sums_of(self, plan: Plan, g: Any, record: Record) -> list[Sum]:
        """Return a Sum for each input to whose cotangent the kernel of a record contributes.

        A contribution that is the cotangent g itself needs no kernel: this method adds it, without a
        Sum.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        sums: dict[int, Sum] = {}
        apart = []
        for i, pull in enumerate(plan.pulls):
            value_id = record[pull.at]
            if value_id not in self.followed:
                continue
            if not has_layout_of(pull, g, record):
                apart.append(Sum(value_id, (i,), None))
            elif value_id in sums:
                before = sums[value_id]
                sums[value_id] = before._replace(pulls=(*before.pulls, i))
            else:
                sums[value_id] = Sum(value_id, (i,), self.held_like(g, value_id))
        for value_id, one in list(sums.items()):
            if one.held is None and [plan.pulls[i].rule for i in one.pulls] == [identity_rule]:
                del sums[value_id]
                self.lend_contribution(value_id, g)
        return [*sums.values(), *apart]

    def held_like(self, g: Any, value_id: int) -> Any:
        """Return a value's cotangent so far, if it has the type, shape and dtype of g; else None.

        Only to such a cotangent can the kernel add.
        """
        held: Any = self.cotangents.get(value_id)
        alike = type(held) is type(g) and held.shape == g.shape and held.dtype == g.dtype
        return held if alike else None

    def fitted(self, plan: Plan, pulls: tuple[int, ...], part: RawArray, record: Record) -> Any:
        """Return ``part``, a result of the kernel, summed and cast to the input's shape and dtype.

        pulls : the indices in ``plan.pulls`` of the rules whose results the kernel added up to ``part``.
        """
        fit = plan.pulls[pulls[0]].fit
        if fit is None:
            return part
        return self.data.fit_contribution(part, record[fit[0]], record[fit[1]], plan.op.name)


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
    """Return the positions in a record of all values that the plan's rules get.

    These values become the arguments of the kernel that computes all rules at once.

    plan : the description of the record's items and rules.
    """
    return tuple(sorted({place for pull in plan.pulls for place in pull.asks if place}))


@cache
def gradient_kernel(
    storage: Storage, number: int, layout: tuple[tuple[tuple[int, ...], bool], ...]
) -> Callable[..., Any]:
    """Return the kernel that computes all contributions of a record with plan ``number``.

    Arguments of the kernel: the cotangent, the record's values at ``argument_places(plan)``, and
    cotangents of inputs to which to add.  Its result is a tuple with a sum for each item of ``layout``.

    storage : the functions for the array library.
    layout : a pair for each input: the indices of its rules, and True to add a cotangent.
    """
    plan: Any = PLANS[number]
    places, xp = argument_places(plan), storage.xp

    def sums(g: Any, *given: Any) -> Any:
        kept = dict(zip(places, given, strict=False))
        held = iter(given[len(places) :])
        found = []
        for pulls, added in layout:
            total = next(held) if added else None
            for i in pulls:
                pull = plan.pulls[i]
                arguments = [kept[place] if place else xp for place in pull.asks]
                part = pull.rule(g, *arguments)
                total = part if total is None else total if part is None else total + part
            found.append(total)
        return tuple(found)

    sums.__name__ = f"gradient_of_{plan.op.name}".replace(".", "_")
    return storage.fused(sums)
