"""The backward pass: one loop over a tape's records, from the last to the first.

For each record the pass takes the cotangent of the result and calls the op's rules with it.  Each rule
returns a contribution to the cotangent of one input.  The pass conjugates the contribution for complex
data, sums it over broadcast axes, and casts it to the input's dtype.  Contributions to one value are
added up, in place where the pass owns the buffer.  All arithmetic goes through the ``data`` of the
pass: ``RawData`` (of ``data.py``), or ``ArrayData`` if an outer recorder records the pass.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from .._array.array import Array
from .._array.paths import sum_to
from .._record.plan import (
    PLANS,
    STEPS,
    Plan,
    Pull,
    Record,
    Structural,
    inputs_of,
    results_of,
)
from .._storage.batched.batched_data import REPLAY, Batched, open_hidden_axis
from .._storage.storage import HERE
from .data import RawData

if TYPE_CHECKING:
    from .._util.array_types import RawArray, ResultCotangents

iadd: Any = operator.iadd  # ``data += contribution`` as an expression
# A user's rule: a function from the cotangents of the results to the contributions to the inputs.  Each
# cotangent and each contribution may be None.
Gradients = Callable[[Sequence[Array | None]], Sequence[Array | None]]


class BackwardPass:
    """The state of one backward pass, and the methods that pass cotangents back through a record.

    data : the operations on cotangents: RawData, or ArrayData if an outer recorder (a tape or
    accumulator) records the pass.
    cotangents : dict by value id: the sum of the contributions to the value so far.
    borrowed : ids of cotangents whose memory may have other references, as after a rule that returned
    its cotangent unchanged.  Sums are formed in place in all other cotangents that own their memory.
    wanted : ids of the cotangents that the caller asks for.  They are kept when their record is done.
    followed : ids of the values that get a cotangent at all.
    """

    picks = False  # True if the seeds select some elements of the targets, and are 0 at all others
    frugal = False  # True if the system is slow to provide new memory, so that blocks are smaller

    def __init__(self, data: RawData, followed: Container[int]) -> None:
        self.data, self.followed = data, followed
        self.cotangents: dict[int, Any] = {}
        self.borrowed: set[int] = set()
        self.wanted: Collection[int] = ()

    def seed_target(self, value_id: int, seed: RawArray) -> None:
        self.lend_contribution(value_id, seed)

    def passes(self) -> list[BackwardPass]:
        """Return the passes that run together: a guarded pass also has a pass of masks.

        A mask tells on which elements of a cotangent the target depends.  Both passes go through the
        same records.
        """
        return [self]

    # --- cotangents: added up until the loop reaches the record that made the value ------------------
    def take_cotangent(self, value_id: int) -> Any:
        """Return a value's cotangent, and remove it from ``cotangents``; return None if there is none.

        The cotangent of a value in ``wanted`` is not removed, but marked as borrowed.
        """
        if value_id in self.wanted:
            self.borrowed.add(value_id)
            held = self.cotangents.get(value_id)
        else:
            held = self.cotangents.pop(value_id, None)
        if held is not None and type(held) is not self.data.kind:
            self.data.move_to(held)
        return held

    def peek(self, value_id: int) -> Any:
        """Return the sum of the contributions to a value so far, without removing it."""
        held = self.cotangents.get(value_id)
        if held is not None and type(held) is not self.data.kind:
            self.data.move_to(held)
        return held

    def take_results(self, record: Record) -> Any:
        """Remove and return the cotangent of a record's result; None if no result has a cotangent.

        For several results, return a tuple with None for each result without a cotangent.
        """
        out = record[1]
        if type(out) is not tuple:
            return self.take_cotangent(out)
        g = tuple([self.take_cotangent(value_id) for value_id in out])
        return None if all(part is None for part in g) else g

    def take_owned(self, value_id: int) -> Any:
        """Return a value's complete cotangent in memory that the caller may write to, or None.

        The cotangent is removed from ``cotangents``, unless the value is in ``wanted``.  It is copied if
        the value is in ``wanted``, or if other objects may refer to its memory.
        """
        if value_id not in self.wanted:
            return self.take_buffer(value_id)
        held = self.take_cotangent(value_id)
        return None if held is None else self.data.copy_data(held)

    def take_buffer(self, value_id: int) -> Any:
        """Remove and return the sum of the contributions to a value so far, as a buffer to write to.

        The caller adds to the buffer in place, and puts it back by ``give_buffer``.  The buffer is a
        copy if the pass does not own the memory.  Return None if there is no contribution yet.
        """
        held = self.cotangents.pop(value_id, None)
        if held is None:
            return None
        if type(held) is not self.data.kind:
            self.data.move_to(held)
        owned = value_id not in self.borrowed and self.data.owns_memory(held)
        return held if owned else self.data.copy_data(held)

    def owned_sum(self, value_id: int) -> Any:
        """Return a value's cotangent so far if it is a NumPy array that the pass owns; else None.

        The caller may add to this array in place.
        """
        held = self.cotangents.get(value_id)
        owned = type(held) is ndarray and held.base is None and value_id not in self.borrowed
        return held if owned else None

    def take_owned_sum(self, value_id: int) -> Any:
        """Remove and return a value's cotangent if it is a NumPy array that the caller may write to.

        The caller needs memory for a result.  Otherwise remove nothing and return None.
        """
        held = None if value_id in self.wanted else self.owned_sum(value_id)
        if held is not None:
            del self.cotangents[value_id]
            if ndarray is not self.data.kind:
                self.data.move_to(held)
        return held

    def give_buffer(self, value_id: int, buffer: RawArray) -> None:
        """Add ``buffer``, an array to which nothing else refers, to a value's cotangent.

        The sum is formed in the buffer, which becomes the cotangent.
        """
        self.borrowed.discard(value_id)
        held = self.cotangents.get(value_id)
        self.cotangents[value_id] = buffer if held is None else iadd(buffer, held)

    def add_contribution(self, value_id: int, contribution: RawArray) -> None:
        """Add a contribution, the result of one rule, to a value's cotangent.

        Nothing else may refer to the memory of the contribution, since later ones are added in place.
        """
        cotangents = self.cotangents
        held = cotangents.get(value_id)
        if held is None:
            cotangents[value_id] = contribution
        elif value_id in self.borrowed:
            cotangents[value_id] = held + contribution
            self.borrowed.discard(value_id)
        elif self.data.sums_in(held):
            cotangents[value_id] = iadd(held, contribution)
        else:
            cotangents[value_id] = held + contribution

    def lend_contribution(self, value_id: int, contribution: Any) -> None:
        """Add a contribution, to whose memory other objects may refer, to a value's cotangent.

        A first contribution is marked as borrowed, so that later ones are not added to it in place.
        """
        if self.cotangents.get(value_id) is None:
            self.cotangents[value_id] = contribution
            self.borrowed.add(value_id)
        else:
            self.add_contribution(value_id, contribution)

    def has_cotangent(self, record: Record) -> bool:
        return any(self.cotangents.get(value_id) is not None for value_id in results_of(record))

    # --- one record, of any kind --------------------------------------------------------------------
    def go_back(self, plan: Plan | Structural, record: Record) -> None:
        """Pass the cotangents of a record's results back to its inputs, for a record of any kind.

        The rules run on the device of the first cotangent.

        plan : the description of the record's items and rules.  record : the tape's entry for one call.
        """
        for value_id in results_of(record):
            held = self.cotangents.get(value_id)
            if held is not None:
                with self.data.on_device_of(held):
                    if isinstance(plan, Structural):
                        self.pull_structural(plan, record)
                    else:
                        self.pull_op(plan, record)
                return

    def pull_structural(self, plan: Structural, record: Record) -> None:
        plan.pull_cotangents(self, record)

    def pull_op(self, plan: Plan, record: Record) -> None:
        """Pass the cotangents of an op's results back to its inputs, on data of any dtype and library.

        The fast loop in the function ``backward`` does the same for real data of one library.

        plan : the description of the record's items and rules.
        record : the tape's entry for the op's call.
        """
        if plan.reading is not None:
            self.add_part(plan.reading, plan, record)
            return
        g = self.take_results(record)
        if g is not None:
            self.pull_rules(plan, g, record)

    def pull_rules(self, plan: Plan, g: ResultCotangents, record: Record) -> None:
        """Call the rules of a record, and add their results to the cotangents of the inputs.

        plan : the description of the record's items and rules.
        g : the cotangent of the record's result, or a tuple of cotangents for several results.
        """
        record = self.data.lift(plan, record)
        for pull in plan.pulls:
            found = self.data.apply(plan, pull, g, record)
            for value_id, part in contributions(plan, pull, record, found):
                if part is not None and value_id in self.followed:
                    shared = is_shared(plan, part, g)
                    with self.data.on_device_of(part) if plan.op.moves else HERE:
                        (self.lend_contribution if shared else self.add_contribution)(
                            value_id, part
                        )

    def add_part(self, reading: Pull, plan: Plan, record: Record) -> None:
        """Add the cotangent of ``x[key]``, the record's result, to the cotangent of x, at ``key``.

        Only the part at ``key`` is changed, whereas the rule would make zeros in the size of x.

        reading : the description of the rule's call, whose ``key_from`` finds the key in the record.
        """
        value_id = record[reading.at]
        g = self.take_cotangent(record[1])
        if g is None or value_id not in self.followed:
            return
        record = self.data.lift(plan, record)
        kept = [record[place] if place else self.data.xp for place in reading.asks]
        key = reading.rule.key_from(kept)  # type: ignore[attr-defined]
        if not self.data.adds_at(key, g):
            self.add_contribution(value_id, self.data.apply(plan, reading, g, record))
            return
        buffer = self.owned_sum(value_id)
        if buffer is None or type(g) is Batched:
            buffer = self.take_buffer(value_id)
            if buffer is None:
                shape = record[plan.positions[f"shape {plan.op.inputs[reading.at - 2]}"]]
                buffer = self.data.xp.zeros(shape, dtype=g.dtype, device=g.device)
            self.give_buffer(
                value_id, self.data.add_at_key(self.data.widen_buffer(buffer, g), key, g)
            )
        elif type(key) is int:  # x[i] in a loop, the usual case: save the call of ``add_at_key``
            buffer[key] += g
        else:
            self.data.add_at_key(buffer, key, g)

    def pull_users_rule(
        self, outs: Sequence[int], value_ids: Sequence[int], gradients: Gradients
    ) -> None:
        """Pass cotangents back through a call of a user's function (``custom_gradient``) by its rule.

        outs, value_ids : the ids of the results and of the inputs.
        gradients : the rule, a function of Arrays.  Its argument is a list with the cotangent of each
        result, or None for a result without one.  It returns a contribution, or None, for each input.
        """
        held = [self.take_cotangent(out) for out in outs]
        if all(g is None for g in held):
            return
        cotangents = [None if g is None else self.data.array_of(g) for g in held]
        with open_hidden_axis(
            REPLAY
        ):  # permits the rule to use values with hidden axes of a vmap that has ended
            found = gradients(cotangents)
        for value_id, part in zip(value_ids, found, strict=True):
            if part is not None and value_id in self.followed:
                self.lend_contribution(value_id, self.data.of_array(part))


def is_shared(plan: Plan, part: RawArray, g: ResultCotangents) -> bool:
    """Return True if ``part``, a contribution, may share memory with g or with another contribution.

    The pass must not add to such memory in place.

    plan : describes the op's records and rules.  g : the cotangent of the result.
    """
    return part is g or bool(plan.op.joint) or plan.op.moves


def contributions(plan: Plan, pull: Pull, record: Record, found: Any) -> list[tuple[int, Any]]:
    """Return the result of a rule as pairs (value id of an input, contribution to the input).

    plan : says what the record's items are.
    pull : the description of the rule's call, with the position of the input's id in the record.
    record : the tape's entry for one call of an op.
    found : the result of the rule.  A joint rule serves all inputs, and returns a list.
    """
    if plan.op.joint:
        return list(zip(inputs_of(record), found, strict=True))
    return [(record[pull.at], found)]


def backward(pass_: BackwardPass, records: list[Record], careful: bool) -> None:
    """Pass cotangents back through the records of a tape, from the last to the first.

    The caller has put the seeds, the cotangents of the targets, into ``pass_.cotangents``.  Afterwards
    this dict has the gradients.
    careful : True if data may be complex or of several array libraries.

    A careful pass, and a subclass of BackwardPass, calls the general method ``go_back`` for each record.
    Any other pass runs the fast loop: ``STEPS`` lists the calls of rules for each kind of record.  The
    loop is inlined, because a function call takes longer than most rules.
    """
    if careful or type(pass_) is not BackwardPass:
        for record in reversed(records):
            pass_.go_back(PLANS[record[0]], record)
        return
    data, lifts = pass_.data, pass_.data.recorded
    cotangents, borrowed = pass_.cotangents, pass_.borrowed
    wanted = pass_.wanted or None  # a test for None takes less time than one for emptiness
    take, get = cotangents.pop, cotangents.get
    for record in reversed(records):
        steps = STEPS[record[0]]
        if steps is None:  # for a view, a write, a read x[key], several results, or a user's rule
            PLANS[record[0]].pull_cotangents(pass_, record)
            continue
        out = record[1]
        g = take(out, None)
        if g is None:
            continue
        if wanted is not None and out in wanted:
            cotangents[out] = g
            borrowed.add(out)
        if lifts:
            record = data.lift(PLANS[record[0]], record)
        for at, rule, only, general, fit in steps:
            # See ``plan_step``.  ``only`` is the index in the record of a kept value, if the rule's
            # arguments are just g and this value.  ``general`` is None for a rule that returns g.
            if only:
                part = rule(g, record[only])
            elif general is None:
                part = g
            else:
                pick, with_xp = general
                part = rule(g, *pick(record), data.xp) if with_xp else rule(g, *pick(record))
            if part is None:
                continue
            if fit is not None:
                raw = part._data if lifts else part  # properties of an Array are slow
                shape, dtype = record[fit[0]], record[fit[1]]
                if raw.dtype is not dtype or raw.shape != shape:
                    part = fit_to_input(data, part, shape, dtype, PLANS[record[0]].name)
            value_id = record[at]
            held = get(value_id)
            if held is None:
                cotangents[value_id] = part
                # ``g`` may be wanted, too, or may become the cotangent of another input as well.
                if part is g:
                    borrowed.add(value_id)
            elif type(held) is ndarray and held.base is None and value_id not in borrowed:
                held += part
            else:
                pass_.add_contribution(value_id, part)


def fit_to_input(
    data: RawData, part: Any, shape: tuple[int, ...], dtype: np.dtype[Any], op: str
) -> Any:
    """Return ``part``, a contribution to an input, summed over broadcast axes and cast to its dtype.

    A fast branch serves the usual case: an input, such as a bias, that was broadcast along a new first
    axis.

    shape, dtype : those of the input.  op : the name of the op, for messages.
    """
    raw = part._data if data.recorded else part
    if type(raw) is not ndarray or raw.dtype is not dtype:
        return data.fit_contribution(part, shape, dtype, op)
    if raw.shape[1:] != shape:
        return sum_to(part, shape, data.xp)
    return data.xp.sum(part, axis=0) if data.recorded else np.add.reduce(part, 0)
