"""Causes of a gradient that is None although the tape follows the source: a function for each cause.

Each function returns a sentence for a warning, or "" if its cause does not apply.  A target may well not
depend on one of several sources, so most functions ask for evidence of a mistake: an op on the way that
was not recorded, say.  Some apply only if no source at all has a gradient.

In this module ``records`` are those of the tape, and times are on the scale of value ids: ids are handed
out in ascending order, so a greater id was made later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .._array.aliasing import VIEW
from .._array.array import IS_VIEW, Array
from .._array.cuts import Cut, cut_of
from .._record.op import REGISTRY
from .._record.plan import Plan, ids_made_of, ids_needed_for, inputs_of, plan_of, results_of
from .._util.errors import layout_text
from .arguments import differentiable
from .recording import Pause, Recording

# Names for messages, by the names of records and ops that are not public.
PUBLIC = {
    "cast": "astype", "discretized": "astype", "setitem": "a write",
    "in-place add": "an in-place addition", "view": "a view",
}  # fmt: skip


def public_op_name(name: str) -> str:
    op = REGISTRY.get(name)
    return PUBLIC.get(name, op.name if op else name)


def name_with_layout(x: Array) -> str:
    """Return ``Array float64(3,)`` or ``Variable 'w' float64(2,)``, for messages."""
    name = f" {x.name!r}" if x._has_state else ""  # type: ignore[attr-defined]
    return f"{type(x).__name__}{name} {layout_text(x)}"


class Request(NamedTuple):
    """A source without a gradient, and the targets of the same call of ``gradient``.

    value_id : the value id of the source.  starts : the value ids of the targets.
    alone : True if no source of the call has a gradient.
    """

    recording: Recording
    source: Array
    value_id: int
    targets: Sequence[Array]
    starts: Sequence[int]
    alone: bool

    @property
    def reached_ids(self) -> set[int]:
        """Return the ids of the source and of all recorded values that were computed from it."""
        entry = self.recording.watched.get(id(self.source))
        starts = {self.value_id} if entry is None else {self.value_id, entry.root}
        return ids_made_of(self.recording.records, starts)

    @property
    def since(self) -> int:
        """Return the time of the call ``tape.watch(source)``, as the value id that the call drew.

        Ids increase, so that a value with a smaller id is older than the watch.  Return 0 if the source
        was not watched, or is a Variable that was watched because it was read.
        """
        entry = self.recording.watched.get(id(self.source))
        return 0 if entry is None else entry.since


# --- sentences; ``where`` is an op and its line ---------------------------------------------------
def used_too_early(where: str, x: Array) -> str:
    return (
        f"{where} used {name_with_layout(x)} before it was watched, and watching does not reach back. "
        "Call tape.watch(x) before the first use"
    )


def ran_outside(where: str) -> str:
    return f"{where} ran outside the tape's block. Move it into the block"


def ran_elsewhere(where: str) -> str:
    return (
        f"{where} ran in another thread or task, which the tape does not record. Run it inside "
        "`with tape.in_this_thread():`"
    )


def ran_stopped(where: str, pause: Pause | None = None) -> str:
    if pause is not None and pause.generator:
        return (
            f"{where} ran inside stop_recording, which the generator {pause.generator!r} at "
            f"{pause.line} leaves open while it yields, so its result is a constant. Yield outside of "
            "that block"
        )
    return f"{where} ran inside stop_recording, so its result is a constant. Move it out of there"


def was_assigned(name: str, line: str) -> str:
    return (
        f"{name} was assigned to at {line}, and assignments are never recorded, so the gradient ends "
        "there. Compute with the assigned value itself, not with the Variable"
    )


def unused_view(x: Array) -> str:
    return (
        f"{name_with_layout(x)} is a view that no op on the tape used, but an op may have used another "
        "view of the same part: each x[key] is a new Array. Give the Array that was used as source"
    )


def swapped_words(x: Array, target: Array) -> str:
    return (
        f"the source {name_with_layout(x)} was computed from the target {name_with_layout(target)}, "
        "and not the target from the source: they are swapped. Call tape.gradient(target, sources)"
    )


# --- causes -------------------------------------------------------------------------------------------
def watched_late(request: Request) -> str:
    """Return a sentence if an op used the source, or made the target, before the source was watched.

    request : the source without a gradient, and the targets.
    """
    x, recording, since = request.source, request.recording, request.since
    used, periods = cut_of(x), recording.periods
    if used is not None and not used.value_ids and periods and periods[0] <= used.time < since:
        return used_too_early(where_of(used), x)
    starts = [start for start in request.starts if start in recording.known]
    if not starts or len(starts) < len(request.starts) or request.value_id in starts:
        return ""
    if all(start < since for start in starts):
        return used_too_early(f"what made the target {name_with_layout(request.targets[0])}", x)
    data = x._view.root._data if x._state & IS_VIEW else x._data
    keeping = [
        r for r in recording.records if results_of(r)[0] < since and any(y is data for y in r)
    ]
    if keeping and not {y for r in keeping for y in results_of(r)}.isdisjoint(
        ids_needed_for(recording.records, starts)
    ):
        return used_too_early(public_op_name(plan_of(keeping[0]).name), x)
    return ""


def watched_anew(request: Request) -> str:
    """Return a sentence if the source was watched only after the last op on the way to the target.

    The tape followed the value already, for another view, say.  The watch gave the source a new id.

    request : the source without a gradient, and the targets.
    """
    entry, records = request.recording.watched.get(id(request.source)), request.recording.records
    if entry is None or entry.root == entry.source:
        return ""
    above = ids_needed_for(records, request.starts)
    used = [
        r for r in records if entry.root in inputs_of(r) and not above.isdisjoint(results_of(r))
    ]
    ops = [public_op_name(plan_of(r).name) for r in used if isinstance(plan_of(r), Plan)]
    if not used or entry.source in above:
        return ""
    return used_too_early([*ops, "a view"][0], request.source)


def target_not_recorded(request: Request) -> str:
    """Return a sentence if the tape did not record the op that computed a target.

    request : the source without a gradient, and the targets.
    """
    recording, reached = request.recording, None
    for target, start in zip(request.targets, request.starts, strict=True):
        if start in recording.known or not differentiable(target):
            continue
        cut = cut_of(target)
        if cut is not None and cut.value_ids:
            reached = request.reached_ids if reached is None else reached
            if not reached.isdisjoint(cut.value_ids):
                return why_not_recorded(request, cut.time, where_of(cut))
        elif start and request.alone:  # the target has an id, so another tape recorded its op
            time = time_of(target)
            return why_not_recorded(
                request, time, f"what made the target {name_with_layout(target)}"
            )
    return ""


def why_not_recorded(request: Request, time: int, where: str) -> str:
    """Return a sentence on why the tape did not record an op that ran at ``time``; "" if unknown.

    request : the source without a gradient, and the targets.  time : a value id drawn when the op ran.
    where : the op and its line, for the sentence.
    """
    recording = request.recording
    bounds = [*recording.periods, time + 1]
    if recording.reset_at and time < bounds[0]:
        return (
            f"{where} ran before tape.reset() at {recording.reset_at}, which drops all records. Move it "
            "below that line"
        )
    periods = zip(bounds[::2], bounds[1::2], strict=False)
    if not any(begun <= time < ended for begun, ended in periods):
        return ran_outside(where)
    pause = pause_at(recording, time)
    if pause is not None:
        return ran_stopped(where, pause)
    if is_read_by(recording, request.source):
        return ran_elsewhere(where)
    return used_too_early(where, request.source) if time < request.since else ""


def is_read_by(recording: Recording, x: Array) -> bool:
    """Return True if x is a Variable that the tape would watch if an op in its thread read x."""
    return recording.watches_variables and x._has_state and getattr(x, "_trainable", False)


def pause_at(recording: Recording, time: int) -> Pause | None:
    for pause in recording.pauses:
        if pause.begun <= time and (not pause.ended or time < pause.ended):
            return pause
    return None


def where_of(cut: Cut) -> str:
    return f"{public_op_name(cut.name)} at {cut.used_at}"


def assigned_between(request: Request) -> str:
    """Return a sentence if a value computed from the source was assigned to a Variable.

    The target depends on the Variable, but assignments are not recorded, so the gradient ends there.

    request : the source without a gradient, and the targets.
    """
    recording = request.recording
    if not recording.assigned_to:
        return ""
    reached, above = request.reached_ids, ids_needed_for(recording.records, request.starts)
    for assignment in reversed(recording.assigned_to):
        if assignment.value_id in reached and any(
            assignment.variable in inputs_of(record) and not above.isdisjoint(results_of(record))
            and max(results_of(record)) > assignment.time
            for record in recording.records
        ):  # fmt: skip
            return was_assigned(f"Variable {assignment.name!r}", assignment.line)
    return ""


def another_view(request: Request) -> str:
    """Return a sentence if the source is a view, and the target used another view of the same part.

    request : the source without a gradient, and the targets.
    """
    x, recording = request.source, request.recording
    if not request.alone or not x._state & IS_VIEW or id(x) in recording.watched:
        return ""
    above = ids_needed_for(recording.records, request.starts)
    if request.value_id in above or not any(
        record[0] == VIEW.number and record[4] == x._view.path and record[1] in above
        and record[2] == x._view.seen
        for record in recording.records
    ):  # fmt: skip
        return ""
    return unused_view(x)


def made_after_target(request: Request) -> str:
    """Return a sentence if the source was computed after the target, which thus cannot depend on it.

    The source was computed from the target, or from the same watched Arrays.

    request : the source without a gradient, and the targets.
    """
    recording, value_id = request.recording, request.value_id
    if not request.alone or value_id in recording.leaves or request.source._state & IS_VIEW:
        return ""
    starts = [start for start in request.starts if start in recording.known]
    if (
        len(starts) < len(request.starts)
        or not starts
        or value_id < max(map(time_of, request.targets))
    ):
        return ""
    above = ids_needed_for(recording.records, [value_id])
    for target, start in zip(request.targets, starts, strict=True):
        if start in above:
            return swapped_words(request.source, target)
    return computed_of_others(recording, request.source, value_id, starts)


def time_of(x: Array) -> int:
    """Return the time at which an Array got its value; for a view, at which the viewed Array did.

    The time is the value id, since ids are handed out in ascending order.
    """
    return x._view.seen if x._state & IS_VIEW else x._current_id()


def computed_of_others(recording: Recording, x: Array, value_id: int, starts: Sequence[int]) -> str:
    """Return a sentence if source and target were computed from the same watched Arrays.

    The caller has checked that neither was computed from the other.

    x, value_id : the source and its value id.  starts : the value ids of the targets.
    """
    above = ids_needed_for(recording.records, [value_id]) & ids_needed_for(
        recording.records, starts
    )
    parents = [name_with_layout(e.handle) for e in recording.watched.values() if e.source in above]
    if not parents:
        return ""
    return (
        f"the target was computed from {join_words([*dict.fromkeys(parents)])}, as the source "
        f"{name_with_layout(x)} was, but not from this source. Perhaps a name now refers to another "
        "Array, as after x = x + 1. Give the Array that the target was computed from"
    )


def not_trainable(request: Request) -> str:
    """Return a sentence if the source is a Variable that is not trainable and was not watched.

    request : the source without a gradient, and the targets.
    """
    x = request.source
    trainable = getattr(x, "_trainable", True) if x._has_state else True
    if not request.alone or trainable or request.value_id in request.recording.known:
        return ""
    return f"{name_with_layout(x)} is not trainable, so it has to be watched: call tape.watch(v)"


def join_words(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


CAUSES: tuple[Callable[[Request], str], ...] = (
    watched_late,
    watched_anew,
    target_not_recorded,
    assigned_between,
    another_view,
    made_after_target,
    not_trainable,
)


def why_unconnected(request: Request) -> str:
    """Return a sentence on why a gradient is None, for the warning: the first cause that applies, or "".

    request : the source without a gradient, and the targets.
    """
    return next(filter(None, (cause(request) for cause in CAUSES)), "")
