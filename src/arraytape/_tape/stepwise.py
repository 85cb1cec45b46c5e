"""The stepwise backward pass: one record at a time, for profiles, hooks and packed data.

A hook is a user's function that is called with the cotangent of a value, and may replace the cotangent.
Hooks of several values can form a group, whose function gets all cotangents after the pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

from .._array.aliasing import VIEW, has_other_views, views_made_from
from .._array.array import Array
from .._record.plan import PLANS, Record, results_of
from .._util.errors import describe, layout_text, user_line
from .activity import ALL, raw_of
from .backward import BackwardPass
from .guard import GuardedPass
from .packing import holds_packed, unpack_record
from .recording import Hook, Recording

if TYPE_CHECKING:
    from .._util.array_types import RawArray


def stepwise_backward(pass_: BackwardPass, recording: Recording) -> None:
    """Pass cotangents back through a tape's records, one at a time; time them, call hooks, unpack data.

    Tapes with a profile, with hooks (``on_gradient``) or with packed data (``saved_data``) need this in
    place of the fast loop.

    pass_ : the backward pass, with the cotangents of the targets.
    recording : the tape's records and hooks.
    """
    groups = groups_of(recording.hooks.values())
    for group in groups:
        group.begin_pass()
    try:
        walk_stepwise(pass_, recording)
    finally:
        found = [group.end_pass() for group in groups]
    for group, gradients in zip(groups, found, strict=True):
        group.call_with_cotangents(gradients)


def walk_stepwise(pass_: BackwardPass, recording: Recording) -> None:
    """Pass cotangents back through one record after the other; time it, and call the hooks.

    A hook is a user's function that gets the cotangent of a value, and may replace the cotangent.
    """
    hooks, profile = dict(recording.hooks), recording.profile
    makers = makers_of(recording.records, hooks)
    check_hooked_views(recording.records, makers)
    for i in range(len(recording.records) - 1, -1, -1):
        record = recording.records[i]
        # A cotangent is complete when the pass reaches the record that made the value: call its hooks.
        for value_id in results_of(record) if hooks else ():
            if makers.get(value_id) == i:
                call_hooks(pass_, value_id, hooks[value_id])
        since = time.perf_counter()
        if pass_.has_cotangent(record) and holds_packed(record):
            record = unpack_record(record)
        pass_.go_back(PLANS[record[0]], record)
        if profile is not None:
            profile.went_back(record, time.perf_counter() - since)
    for value_id in hooks.keys() - makers.keys():  # watched values, which no record made
        call_hooks(pass_, value_id, hooks[value_id])


class Group:
    """A group of hooks, of several values, that share one function, called once after each pass.

    count : the number of values.
    call : the function.  Its argument is a list with the cotangent of each value, or None for a value
    without a cotangent.
    """

    def __init__(self, count: int, call: Callable[[list[Array | None]], Any]) -> None:
        self.count, self.call = count, call
        self.passes: dict[int, list[list[Array | None]]] = {}  # cotangents of passes, by thread

    def begin_pass(self) -> None:
        """Push a list for the cotangents of a pass, which may run inside another pass of this thread."""
        self.passes.setdefault(get_ident(), []).append([None] * self.count)

    def end_pass(self) -> list[Array | None]:
        """Pop and return the list of cotangents of the innermost pass of this thread.

        The group's function is called with it.
        """
        return self.passes[get_ident()].pop()

    def call_with_cotangents(self, found: list[Array | None]) -> None:
        """Call the user's function with the cotangents of a pass, unless all are None.

        found : the cotangent of each value, or None.
        """
        if any(g is not None for g in found):
            self.call(found)


class Member:
    """A hook that stores the cotangent of one value for a Group.

    number : the index of the value in the list of cotangents that the group's function gets.
    """

    def __init__(self, group: Group, number: int) -> None:
        self.group, self.number = group, number

    def __call__(self, g: Array) -> None:
        self.group.passes[get_ident()][-1][self.number] = g


def groups_of(hooks: Iterable[Sequence[Hook]]) -> list[Group]:
    """Return the Groups to which hooks belong, each once.

    hooks : the hooks of each value.
    """
    members = [hook for several in hooks for hook in several if isinstance(hook, Member)]
    return list({id(member.group): member.group for member in members}.values())


def makers_of(records: Sequence[Record], value_ids: Collection[int]) -> dict[int, int]:
    """Return a dict from each of these value ids to the index of the record that made the value.

    The hooks of a value are called just before the pass goes through that record.
    """
    # From last to first, so that the entry of the first record with a result overwrites the others.
    places = reversed(range(len(records)))
    return {
        value_id: i for i in places for value_id in results_of(records[i]) if value_id in value_ids
    }


def check_hooked_views(records: Sequence[Record], makers: dict[int, int]) -> None:
    """Raise ValueError if a hook belongs to a view from which the tape has read further views.

    The cotangents of these go to the root of the view, so that the hook would get a part.

    makers : the result of ``makers_of`` for the ids of the values that have hooks.
    """
    for i in makers.values():
        if records[i][0] == VIEW.number and (path := records[i][4]):
            seen = records[i][2]
            if views_made_from(path, seen, records) or has_other_views(path, seen, records, False):
                raise ValueError(
                    "on_gradient: register the function with a copy, x = xp.asarray(x, copy=True), and "
                    "compute with this copy. The value is a view, from which other views were made, "
                    f"and their gradients do not go through it [at {user_line()}]"
                )


def call_hooks(pass_: BackwardPass, value_id: int, hooks: Sequence[Hook]) -> None:
    """Call the hooks of a value with its cotangent, one after the other.

    The result of a hook, unless None, replaces the cotangent.
    """
    g = pass_.cotangents.get(value_id)
    if g is None:
        return
    pass_.borrowed.add(value_id)  # a hook may keep the Array
    with pass_.data.on_device_of(g):
        pass_.data.move_to(g)
        first = x = pass_.data.array_of(g)
        for hook in hooks:
            x = replaced_cotangent(x, hook(x))
        if x is first:
            return
        pass_.cotangents[value_id] = pass_.data.of_array(x)
        if isinstance(pass_, GuardedPass):
            mark_nonzero_active(pass_, value_id, pass_.cotangents[value_id])


def replaced_cotangent(g: Array, found: Array | None) -> Array:
    """Return ``found``, the result of a hook for the cotangent g, or g if the result is None.

    Raise ValueError if the result is no Array of the shape and dtype of g.
    """
    if found is None:
        return g
    if not isinstance(found, Array) or (found.shape, found.dtype) != (g.shape, g.dtype):
        raise ValueError(
            "on_gradient: the function must return None or an Array of the cotangent's shape and dtype, "
            f"{layout_text(g)}, got {describe(found)} [at {user_line()}]"
        )
    return found


def mark_nonzero_active(pass_: GuardedPass, value_id: int, g: RawArray) -> None:
    """Mark as active, in a guarded pass, those elements of a cotangent that a hook set to nonzero.

    A guarded pass, the rerun after a NaN, treats elements that selections left out as inactive: they
    contribute 0.

    g : the cotangent that the hook returned.
    """
    held, masks = pass_.activity.cotangents, pass_.masks
    mask = held.get(value_id)
    if mask is not None and mask is not ALL:
        masks.move_to(raw_of(g))
        held[value_id] = masks.xp.where(raw_of(g) != 0, masks.mask_of_ones(raw_of(g)), mask)
