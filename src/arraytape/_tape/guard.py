"""The guarded rerun of a backward pass: elements that a selection did not take contribute exactly zero.

The derivative of ``where(x > 0, sqrt(x), 0)`` at x = 0 is a problem: the selection sets the cotangent of
sqrt(x) to 0, and the rule of sqrt multiplies it by an infinite slope, which makes a NaN.  The plain
backward pass does not prevent such products.  If a requested gradient holds a NaN, the pass runs again
with masks of the active elements, those that selections took (``activity.py``).  Contributions are set
to 0 at all other elements.  A cotangent that is 0 for another reason than a selection remains a factor:
``sqrt(x) ** 2`` at 0 has the gradient NaN.

For each record, one of four strategies passes the mask back and sets contributions to 0:

by rule      the op selects, moves and adds elements: its rule is applied to the mask
by position  an elementwise op: an element of an input is active if that of the result is
all active   no element is inactive, or the rule is a user's: all elements of the inputs are active
by probing   any other op: its rule runs on made-up values, and elements with a result of 0 are inactive

``gradient(..., nan="keep")`` runs the plain pass alone, without a NaN check.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .._record.plan import Plan, Pull, Record, Structural, inputs_of, results_of
from .._storage.storage import HERE
from .._util.decision_log import log_decision
from .._util.errors import user_line
from .activity import ALL, ActivityData, ActivityPass, Masks, Probe, probe, raw_of
from .backward import BackwardPass, contributions, is_shared
from .cusps import selects
from .data import RawData
from .limits import QuotientLimits
from .undefined import note_undefined

if TYPE_CHECKING:
    from .._util.array_types import RawArray, ResultCotangents


@cache
def log_guarded_rerun() -> None:
    """Write to the log, once in a process, that the guarded rerun of a gradient with a NaN ran."""
    log_decision(
        "a gradient held a NaN, and the guarded rerun ran [at %s]: elements that a selection did not "
        "take contribute zero. diagnose.nans says where the NaN came from; further reruns are not "
        "logged",
        user_line,
    )


class Contribution(NamedTuple):
    """A rule's contribution ``part`` to the input ``value_id``, and the mask of its active elements.

    An element is active if selections, such as ``where``, took it, so that the target depends on it.

    borrowed : True if other objects may refer to the memory of ``part``.
    """

    value_id: int
    part: Any
    mask: Any
    borrowed: bool = False


class GuardedPass(BackwardPass):
    """The backward pass of the rerun after a NaN; it sets contributions of inactive elements to 0.

    Inactive elements are those that a selection, such as ``where``, did not take.

    activity : the pass that finds the active elements, as masks, record by record with this pass.
    undefined : a phrase for each factorisation whose rule made the first NaN (``note_undefined``).
    records : the records of the pass; None if they cannot be differentiated again (``QuotientLimits``).
    seeds : pairs of the value id of a target and its cotangent.
    depth : the level of nesting in ``QuotientLimits``: 0 for the pass that a gradient runs, 1 for a pass
    that computes limits for it, and so on.
    repeated : a list of one item, the number of records that passes for limits have repeated so far.
    """

    records: Sequence[Record] | None = None
    depth = 0

    def __init__(self, data: RawData, followed: Container[int]) -> None:
        super().__init__(data, followed)
        self.undefined: list[str] = []
        self.seeds: list[tuple[int, Any]] = []
        self.repeated = [0]
        self.activity = ActivityPass(ActivityData(data.storage), followed)

    def pass_for_limit(
        self, data: RawData, followed: Container[int], records: Sequence[Record]
    ) -> GuardedPass:
        """Return a new pass with which ``QuotientLimits`` computes a limit that this pass needs.

        A limit replaces a quotient 0 / 0 in the derivative of a matrix factorisation.

        data : the operations on cotangents.  followed : the ids of values that get a cotangent.
        records : the records that the new pass goes through; their number is added to ``repeated``.
        """
        found = GuardedPass(data, followed)
        found.records, found.depth, found.repeated = records, self.depth + 1, self.repeated
        return found

    @property
    def masks(self) -> ActivityData:
        """Return the array operations on masks.

        A mask marks the elements of a cotangent on which the target depends.
        """
        return self.activity.data

    def passes(self) -> list[BackwardPass]:
        return [self, self.activity]

    def seed_target(self, value_id: int, seed: RawArray) -> None:
        super().seed_target(value_id, seed)
        self.seeds.append((value_id, seed))
        # All elements of a target are active, unless the seeds pick some (for a row of a Jacobian).
        if not self.picks:
            self.activity.add_contribution(value_id, ALL)
            return
        seed, masks = raw_of(seed), self.masks
        masks.move_to(seed)
        with masks.on_device_of(seed):
            self.activity.add_contribution(
                value_id, masks.xp.where(seed != 0, masks.mask_of_ones(seed), 0.0)
            )

    def pull_structural(self, plan: Structural, record: Record) -> None:
        # A plan that ``unfolds`` stands for a call of a user's function, and runs the function again.
        # The records of that run pass masks back.
        if not plan.unfolds:
            self.expand_all_masks(record)
            plan.pull_cotangents(self.activity, record)
        super().pull_structural(plan, record)

    def add_part(self, reading: Pull, plan: Plan, record: Record) -> None:
        self.expand_all_masks(record)
        self.activity.add_part(reading, plan, record)
        super().add_part(reading, plan, record)

    def expand_all_masks(self, record: Record) -> None:
        """Replace the mask ``ALL`` of the record's results and first input by an array of ones.

        The rule of a view, a write, or a read ``x[key]`` reads or changes a part of a mask, and thus
        needs an array.  Values without a cotangent keep their mask.
        """
        held = self.activity.cotangents
        for value_id in (*results_of(record), *inputs_of(record)[:1]):
            if held.get(value_id) is ALL and self.cotangents.get(value_id) is not None:
                held[value_id] = self.masks.mask_of_ones(self.cotangents[value_id])

    def pull_op(self, plan: Plan, record: Record) -> None:
        if plan.reading is not None:
            self.add_part(plan.reading, plan, record)
            return
        active = self.activity.take_results(record)
        g = self.take_results(record)
        if g is None:
            return
        for value_id, part, mask, borrowed in self.contributions(plan, g, active, record):
            if part is None or value_id not in self.followed:
                continue
            if plan.keeps_value("unread"):
                note_undefined(self.undefined, plan, g if type(g) is tuple else (g,), part)
            self.activity.add_contribution(value_id, self.masks.for_parts_of(raw_of(part), mask))
            with self.data.on_device_of(part) if plan.op.moves else HERE:
                if mask is ALL:
                    (self.lend_contribution if borrowed else self.add_contribution)(value_id, part)
                else:
                    self.add_contribution(value_id, self.zero_inactive(mask, part))

    def contributions(
        self, plan: Plan, g: ResultCotangents, active: Masks, record: Record
    ) -> Iterator[Contribution]:
        """Return what a record's rules add to the inputs' cotangents, with masks of the active elements.

        The kind of the op selects one of the following four methods.

        plan : says what the record's items are.  g : the cotangent of the record's result.
        active : the mask of g, 0 at elements on which the target does not depend.  Both are tuples for
        several results.
        record : the tape's entry for one call of an op.
        """
        op, lifted = plan.op, self.data.lift(plan, record)
        masks = active if type(active) is tuple else (active,)
        if plan.keeps_value("limits"):
            lifted = plan.with_kept(lifted, {"limits": QuotientLimits(self, plan, record)})
        if selects(plan, record):
            return self.by_rule_of_op(plan, g, active, record, lifted)
        if all(mask is None or mask is ALL for mask in masks):
            return self.all_active(plan, g, record, lifted)
        if op.diagonal:
            return self.by_position(plan, g, active, record, lifted)
        if op.checked:  # a user's rule is never run on masks or generic values
            return self.all_active(plan, g, record, lifted)
        return self.by_probing(plan, g, active, record, lifted)

    # --- the four strategies; ``lifted`` is the record as ``RawData.lift`` prepares it for rules ------
    def by_rule_of_op(
        self, plan: Plan, g: ResultCotangents, active: Masks, record: Record, lifted: Record
    ) -> Iterator[Contribution]:
        """Yield the contributions of an op that only selects; its rule also computes the masks.

        A mask is 0 at elements on which the target does not depend.

        plan : says what the record's items are.
        g, active : the cotangent of its result, and the mask of g.
        record : the tape's entry for one call of an op.
        lifted : the record as the rules on cotangents need it, with Arrays as data if outer tapes record
        the pass.
        """
        counts = self.masks.as_counts(active, g)
        for pull in plan.pulls:
            parts = self.applied(plan, pull, g, record, lifted)
            found = self.masks.apply(plan, pull, counts, record)
            arrived = contributions(plan, pull, record, found)
            for (value_id, part), (_, count) in zip(parts, arrived, strict=True):
                mask = None if count is None else self.masks.as_mask(count)
                yield Contribution(value_id, part, mask, is_shared(plan, part, g))

    def all_active(
        self, plan: Plan, g: ResultCotangents, record: Record, lifted: Record
    ) -> Iterator[Contribution]:
        """Yield the contributions of a record's rules, each with the mask ALL: all elements are active.

        Either all elements of g are active, or the rule can run neither on masks nor on made-up values.

        plan : says what the record's items are.  g : the cotangent of its result.
        record : the tape's entry for one call of an op.
        lifted : the record as rules need it, with Arrays as data if outer tapes record the pass.
        """
        for pull in plan.pulls:
            for value_id, part in self.applied(plan, pull, g, record, lifted):
                yield Contribution(value_id, part, ALL, is_shared(plan, part, g))

    def by_position(
        self, plan: Plan, g: ResultCotangents, active: Any, record: Record, lifted: Record
    ) -> Iterator[Contribution]:
        """Yield the contributions of an elementwise op, each with the mask ``active`` of the result.

        An element of an input is active if the element at its position in the result is.  The mask is
        summed over broadcast axes, like the contribution.

        plan : says what the record's items are.  g : the cotangent of its result.
        record : the tape's entry for one call of an op.
        lifted : the record as rules need it, with Arrays as data if outer tapes record the pass.
        """
        for pull in plan.pulls:
            # Set inactive elements to 0 before the sum over broadcast axes adds them to active ones.
            part, counts = (
                self.zero_inactive(active, self.data.call_rule(plan, pull, g, lifted)),
                active,
            )
            if pull.fit is not None:
                shape, dtype = (record[place] for place in pull.fit)
                part = self.data.fit_contribution(part, shape, dtype, plan.op.name)
                counts = self.masks.fit_contribution(active, shape, active.dtype)
            yield Contribution(record[pull.at], part, self.masks.as_mask(counts))

    def by_probing(
        self, plan: Plan, g: ResultCotangents, active: Masks, record: Record, lifted: Record
    ) -> Iterator[Contribution]:
        """Yield the contributions of an op such as a matrix product, neither selection nor elementwise.

        Each rule runs on kept values with and without NaN, and one result is chosen for each element.

        A spoilt value is a kept NaN or infinity.  ``probe`` shows which elements of a contribution
        depend on a spoilt value and an active element.  These elements come from the rule on the kept
        values, and may rightly be NaN.  All other elements come from the rule on values in which made-up
        values replace the spoilt ones: a spoilt value times a cotangent of 0 would be NaN.  So an
        inactive row of a matrix product does not make the sums over the active rows NaN.

        plan : says what the record's items are.
        g, active : the cotangent of its result, and the mask of g.
        record : the tape's entry for one call of an op.
        lifted : the record as rules need it, with Arrays as data if outer tapes record the pass.
        """
        counts = self.masks.as_counts(active, g)
        # A rule with the parameter ``unread`` gets a mask of the result elements that no target reads.
        if plan.keeps_value("unread"):
            unread = tuple([a if a is None else self.data.of_raw(a == 0) for a in counts])
            lifted = plan.with_kept(lifted, {"unread": unread})
        probed = probe(self.masks, plan, counts, g, record)
        if probed is None:
            yield from self.all_active(plan, g, record, lifted)
            return
        kept = self.without_idle_inputs(plan, probed, record, lifted)
        clean = self.without_spoilt_values(plan, probed, kept)
        for pull, first, second in zip(plan.pulls, probed.first, probed.second, strict=True):
            from_kept = self.applied(plan, pull, g, record, kept)
            try:
                from_clean = self.applied(plan, pull, g, record, clean)
            except (ArithmeticError, ValueError):  # a matrix with generic values may be singular
                from_clean = from_kept
            for (value_id, part), (_, clean_part), one, two in zip(
                from_kept, from_clean, first, second, strict=True
            ):
                if part is not None:
                    spoilt = self.data.of_raw(one != two)
                    mask = self.masks.as_mask(self.masks.xp.abs(one))
                    yield Contribution(value_id, self.data.xp.where(spoilt, part, clean_part), mask)

    # --- parts of the strategies ----------------------------------------------------------------------
    def applied(
        self, plan: Plan, pull: Pull, g: ResultCotangents, record: Record, lifted: Record
    ) -> list[tuple[int, Any]]:
        """Call one rule of a record; return pairs (value id of an input, contribution to the input).

        plan : says what the record's items are.  pull : the description of the rule's call.
        record : the tape's entry for one call of an op.
        lifted : the record as rules need it, with Arrays as data if outer tapes record the pass.
        """
        return contributions(plan, pull, record, self.data.apply(plan, pull, g, lifted))

    def without_idle_inputs(
        self, plan: Plan, probed: Probe, record: Record, lifted: Record
    ) -> Record:
        """Return the record with made-up values at input elements that ``probed`` shows to be inactive.

        A NaN in such an element then does no harm; the gradients do not depend on these elements.

        plan : says what the record's items are.
        probed : the rules' results on made-up values, 0 where the rules pass nothing on.
        record : the tape's entry for one call of an op.
        lifted : the record, with Arrays as data if outer tapes record the pass.
        """
        changed = {}
        for x, found in probed_inputs(plan, probed).items():
            kept = plan.kept_value(record, x) if plan.keeps_value(x) else None
            if found is not None and found.shape == getattr(kept, "shape", None):
                idle, filler = (self.data.of_raw(data) for data in (found == 0, probed.values[x]))
                changed[x] = self.data.xp.where(idle, filler, plan.kept_value(lifted, x))
        return plan.with_kept(lifted, changed)

    def without_spoilt_values(self, plan: Plan, probed: Probe, lifted: Record) -> Record:
        """Return the record with made-up values of ``probed`` in place of kept NaN and infinities.

        The rules run on them for those elements of an input that do not depend on a NaN or infinity.

        plan : says what the record's items are.
        lifted : the record, with Arrays as data if outer tapes record the pass.
        """
        changed = {}
        for name, spoilt in probed.spoilt.items():
            where, filler = (self.data.of_raw(data) for data in (spoilt, probed.values[name]))
            changed[name] = self.data.xp.where(where, filler, plan.kept_value(lifted, name))
        return plan.with_kept(lifted, changed)

    def zero_inactive(self, mask: RawArray, part: RawArray) -> Any:
        """Return a rule's result, ``part``, with exact zeros at the elements where the mask is 0.

        The target does not depend on these elements, so that a NaN in them must not reach a gradient.
        """
        self.data.move_to(part)
        return self.data.xp.where(self.data.of_raw(mask != 0), part, 0.0)


def probed_inputs(plan: Plan, probed: Probe) -> dict[str, Any]:
    """Return the results of the rules on the first made-up values of ``probed``, by the input's name.

    An element that is 0 belongs to an input element on which no active element of the result depends.

    plan : describes the op's records and rules.
    """
    inputs = plan.op.inputs
    if plan.op.joint:
        return dict(zip(inputs, probed.first[0], strict=False))
    return {inputs[pull.at - 2]: f for pull, (f,) in zip(plan.pulls, probed.first, strict=True)}
