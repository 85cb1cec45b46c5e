"""Causes of a gradient that is None, with one function for each cause.

Each function gets the facts about a tape, a target and a source (``GradientFacts``).  It returns a
sentence for the user if its cause applies, else "".  ``explain`` calls the functions in the order of
``CAUSES`` and reports the first sentence.  Causes that are certain come before causes that are only
likely.
"""

from __future__ import annotations

from collections.abc import Callable

from .._array.array import IS_VIEW
from .._record.plan import Plan, ids_made_of, inputs_of, plan_of, results_of
from .._tape.arguments import differentiable
from .._tape.none_causes import (
    Request,
    computed_of_others,
    join_words,
    name_with_layout,
    pause_at,
    public_op_name,
    ran_outside,
    ran_stopped,
    swapped_words,
    unused_view,
    used_too_early,
    was_assigned,
    why_unconnected,
)
from .._tape.unfollowed import is_followed_by, why_not_followed
from ..variable import Variable
from .facts import GradientFacts
from .line_recorder import Step

Cause = Callable[[GradientFacts], str]
WITH_LINES = (
    "To see which, and at which line, run the program within `with diagnose.lines() as seen:` and call "
    "explain(tape, target, source, seen)"
)


# --- the dtypes -----------------------------------------------------------------------------------
def source_has_no_gradient(facts: GradientFacts) -> str:
    """Return a sentence if the dtype of the source is integer or boolean, else ""."""
    if differentiable(facts.source):
        return ""
    return (
        f"the source {name_with_layout(facts.source)} has a dtype without gradient. Give it a "
        "floating-point dtype where it is made, before it is watched"
    )


def target_has_no_gradient(facts: GradientFacts) -> str:
    """Return a sentence if the dtype of the target is integer or boolean, else ""."""
    if differentiable(facts.target):
        return ""
    step = facts.first_unrecorded
    made = f", made by {public_op_name(step.name)} at {step.line}" if step else ""
    return (
        f"the target {name_with_layout(facts.target)} has a dtype without gradient{made}. Take the "
        "gradient of a floating-point value, such as what the integers were computed from"
    )


# --- the source -----------------------------------------------------------------------------------
def swapped_arguments(facts: GradientFacts) -> str:
    """Return a sentence if the source was computed from the target, as after swapped arguments."""
    if not facts.target_is_on_tape or facts.origin not in facts.after_target:
        return ""
    return swapped_words(facts.source, facts.target)


def source_made_outside(facts: GradientFacts) -> str:
    """Return a sentence if the source was made of followed values while the tape did not record."""
    if facts.lines is None or is_followed_by(facts.recording, facts.source):
        return ""
    origins, _ = facts.noted_ids
    made = [s for s in facts.lines.steps if not {*origins}.isdisjoint(s.outs) and s.kind == "op"]
    known = ids_made_of(facts.recording.records, facts.recording.leaves)
    if not made or known.isdisjoint(made[-1].ins):
        return ""
    return (
        f"the source {name_with_layout(facts.source)} was computed from a value that the tape follows, "
        f"but {how_unrecorded(facts, made[-1])}"
    )


def never_watched(facts: GradientFacts) -> str:
    """Return the text of the usual warning if the tape does not follow the source, else ""."""
    return why_not_followed(facts.recording, facts.source)


def variable_not_followed(facts: GradientFacts) -> str:
    """Return a sentence if the source is an untrainable Variable, or was not read while recording."""
    x = facts.source
    if not isinstance(x, Variable) or is_followed_by(facts.recording, x):
        return ""
    if not x.trainable:
        return (
            f"{name_with_layout(x)} is not trainable, so it has to be watched: call tape.watch(v)"
        )
    if facts.first_unrecorded:
        return ""
    return (
        f"{name_with_layout(x)} was not read while the tape recorded, so the target does not "
        "depend on it. If it should, use it inside the block"
    )


# --- the path from the source to the target -------------------------------------------------------
def watched_after_use(facts: GradientFacts) -> str:
    """Return a sentence if the source was watched only after the target had used it.

    If the tape follows an Array already, ``watch`` gives the Array a new number (value id),
    ``entry.source``.  Records from before that call have the old value id (``entry.root``) as input.
    """
    entry = facts.recording.watched.get(id(facts.source))
    if entry is None or entry.root == entry.source:
        return ""
    records = facts.recording.records
    used = [
        r
        for r in records
        if entry.root in inputs_of(r) and not facts.needed_ids.isdisjoint(results_of(r))
    ]
    if facts.target_id not in ids_made_of(records, [entry.root]) or facts.connected or not used:
        return ""
    ops = [record for record in used if isinstance(plan_of(record), Plan)]
    return used_too_early(facts.op_and_line((ops or used)[0]), facts.source)


def cause_in_warning(facts: GradientFacts) -> str:
    """Return the cause that ``tape.gradient`` names in its warning about a gradient of None.

    Return "" if ``diagnose.lines`` noted an op that the tape did not record: ``step_not_recorded`` names
    the line of that op.
    """
    if facts.first_unrecorded is not None:
        return ""
    request = Request(
        facts.recording, facts.source, facts.origin, [facts.target], [facts.target_id], alone=True
    )
    return why_unconnected(request)


def step_not_recorded(facts: GradientFacts) -> str:
    """Return a sentence on the first op between source and target that the tape did not record.

    Return "" if ``diagnose.lines``, which notes all ops of a block, noted no such op.
    """
    step = facts.first_unrecorded
    return "" if step is None else how_unrecorded(facts, step)


def how_unrecorded(facts: GradientFacts, step: Step) -> str:
    """Return a sentence on why the tape did not record ``step``, which ``diagnose.lines`` noted.

    step : an op with its line.
    """
    where = f"{public_op_name(step.name)} at {step.line}"
    tape = id(facts.original)
    if step.kind == "assign":
        return was_assigned(step.name, step.line)
    if tape in step.paused:
        return ran_stopped(where, pause_at(facts.original, step.outs[0]))
    if tape not in step.on:
        return ran_outside(where)
    if step.name == "stop_gradient":
        return f"{where} makes a constant of it, on purpose"
    if step.kind == "constant" and step.dtype[0] not in "fc":
        return (
            f"{where} makes {step.dtype} of it, and integers and booleans have no gradient. Keep the "
            "computation floating-point up to the target"
        )
    if step.kind == "constant":
        return (
            f"{where} has no derivative, by declaration, so its result is a constant. Use a smooth "
            "function in its place, or pass its gradient on with grad_pass_through"
        )
    return used_too_early(where, facts.source)


def rule_is_none(facts: GradientFacts) -> str:
    """Return a sentence on an op whose rule returns None, so that no cotangent reaches the source.

    This is the cause if records lead from the source to the target.  The sentence names the last call of
    a user's function among these records, or the last op if there is no such call.
    """
    if not facts.connected:
        return ""
    names = [facts.op_and_line(r) for r in facts.between if isinstance(plan_of(r), Plan)]
    calls = [facts.op_and_line(r) for r in facts.between if hasattr(r[-1], "pull")]
    last = (calls or names or ["an op"])[-1]
    return f"{last} passes no gradient on towards the source: its rule returns None for that input"


def left_the_tape(facts: GradientFacts) -> str:
    """Return a sentence if values computed from the source left the tape.

    They do so if they are converted, as by ``float(x)``, or used in another thread.
    """
    if not facts.conversions:
        return ""
    threads = [line for line in facts.conversions if "(in another thread" in line]
    if threads:
        lines = [line.partition(" (in another thread")[0] for line in threads]
        return (
            f"a value that depends on the source was used in another thread, which the tape does not "
            f"see, at {join_words(lines)}. Open `with tape.in_this_thread():` there"
        )
    return (
        f"a value that depends on the source left the tape at {join_words(facts.conversions)}: what "
        "comes back from there is a constant. Keep the computation in arraytape's own functions, or "
        "call a NumPy function through host_function, which takes a gradient"
    )


def view_of_its_own(facts: GradientFacts) -> str:
    """Return a sentence if the source is a view that no op used.

    The target may depend on another view of the same elements, since each ``x[key]`` makes a new view.
    """
    is_watched = id(facts.source) in facts.recording.watched
    if not facts.source._state & IS_VIEW or is_watched or facts.using_records:
        return ""
    return unused_view(facts.source)


def common_ancestor_only(facts: GradientFacts) -> str:
    """Return a sentence if the target depends on inputs of the source, but not on the source."""
    recording = facts.recording
    if not facts.target_is_on_tape or facts.origin in recording.leaves:
        return ""
    return computed_of_others(recording, facts.source, facts.origin, [facts.target_id])


def never_used(facts: GradientFacts) -> str:
    """Return a sentence if the source is an input of no record, else ""."""
    if facts.using_records:
        return ""
    return (
        f"{name_with_layout(facts.source)} is watched, but no op on the tape used it. "
        f"{possible_reasons(facts)}"
    )


def source_used_elsewhere(facts: GradientFacts) -> str:
    """Return a sentence with the ops that used the source, none of which led to the target.

    As the last cause, this function never returns "".
    """
    ends = [facts.op_and_line(record) for record in facts.using_records]
    return (
        f"{name_with_layout(facts.source)} was used by {join_words(shorten_list(ends))}, but no record "
        f"leads from there to the target. {possible_reasons(facts)}"
    )


def possible_reasons(facts: GradientFacts) -> str:
    """Return a sentence with possible reasons why no record leads from the source to the target."""
    if facts.lines is not None:
        return (
            "No op that was noted leads from it to the target either: the target does not depend on "
            "it, for these values and branches"
        )
    if facts.target_is_on_tape:
        return (
            "Either the target does not depend on it, for these values and branches, or it does "
            "through ops without derivative (floor, argmax, comparisons, casts to integers), "
            f"stop_gradient or stop_recording{by_assignment(facts)}. {WITH_LINES}"
        )
    return (
        f"The target {name_with_layout(facts.target)} is no value of the tape: it was computed outside "
        "the block, inside stop_recording, before the source was watched, by ops without derivative "
        f"(floor, argmax, comparisons, casts to integers), or of constants. {WITH_LINES}"
    )


def by_assignment(facts: GradientFacts) -> str:
    """Return a clause that names the Variables on which the target depends; "" if there are none.

    An assignment to a Variable is never recorded, so the assigned value may depend on the source.
    """
    read = [v for v in facts.recording.variables if v._current_id() in facts.needed_ids]
    if not read:
        return ""
    names = join_words(shorten_list([name_with_layout(v) for v in read]))
    return f", or by an assignment to {names}, which is never recorded (state cuts history)"


def shorten_list(names: list[str]) -> list[str]:
    """Return each name once; of more than six, the first three, "<n> others", and the last two."""
    names = [*dict.fromkeys(names)]
    return names if len(names) <= 6 else [*names[:3], f"{len(names) - 5} others", *names[-2:]]


CAUSES: tuple[Cause, ...] = (
    source_has_no_gradient,
    target_has_no_gradient,
    swapped_arguments,
    source_made_outside,
    never_watched,
    watched_after_use,
    cause_in_warning,
    variable_not_followed,
    rule_is_none,
    step_not_recorded,
    left_the_tape,
    view_of_its_own,
    common_ancestor_only,
    never_used,
    source_used_elsewhere,
)
