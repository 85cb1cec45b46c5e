"""``explain``: one paragraph on why a gradient is None, zero, NaN or incomplete."""

from __future__ import annotations

from .._array.array import Array
from .._exits.messages import lost_message
from .._record.plan import Plan, plan_of
from .._tape.differentiation import Differentiation, gradients_have_nan
from .._tape.none_causes import join_words, name_with_layout, public_op_name
from .._tape.recording import USED_UP, Recording
from .._tape.tape import GradientTape
from .._util.errors import describe, entrance, user_line
from .causes import CAUSES, how_unrecorded, shorten_list
from .facts import GradientFacts
from .line_recorder import Lines
from .zeros import is_zero, why_zero

NEVER_ENTERED = "this tape never recorded. Compute the target inside `with tape:`."
GONE = f"There is no gradient any more: {USED_UP}. Call explain before gradient on a one-shot tape."


@entrance
def explain(tape: GradientTape, target: Array, source: Array, seen: Lines | None = None) -> str:
    """Return why ``tape.gradient(target, source)`` is None, zero or NaN, or that nothing is wrong.

    Parameters
    ----------
    tape : GradientTape
        A tape that recorded; nothing on it changes, and a one-shot tape is not used up.
    target : Array
        The value to differentiate.
    source : Array
        The value with respect to which it is differentiated.
    seen : Lines | None, default: None
        The result of `lines` from the run: source lines, and ops that a tape does not record.

    Returns
    -------
    str
        One paragraph.  Its first words are "The gradient" and then "is None", "is zero", "is there",
        "holds NaN" or "is an error".  For a tape without records they are "There is no gradient".

    Raises
    ------
    TypeError
        When ``tape`` is no GradientTape, or ``target`` or ``source`` is no Array.

    Notes
    -----
    ``explain`` runs a backward pass to compute the gradient.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> with xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = xp.where(x > 9.0, xp.exp(x), 0.0)
    >>> print(xp.diagnose.explain(tape, y, x))
    The gradient is zero: it came through exp and where, and where took the other operand in ...
    """
    recording = recording_of(tape)
    for x, what in ((target, "target"), (source, "source")):
        if not isinstance(x, Array):
            raise TypeError(
                f"explain(): the {what} must be one Array, got {describe(x)} [at {user_line()}]"
            )
    if recording.used_up:
        return GONE + explain_by_lines(recording, target, source, seen)
    if not recording.entered:
        return f"There is no gradient: {NEVER_ENTERED}"
    facts = GradientFacts(recording, target, source, seen)
    return explain_gradient(facts, facts.found_gradient)


def explain_by_lines(recording: Recording, target: Array, source: Array, seen: Lines | None) -> str:
    """Return a sentence on the ops between source and target, for a tape whose records were freed.

    ``diagnose.lines`` has noted the ops in ``seen``.  If ``seen`` is None, the sentence is "".

    recording : the tape's recorder.  seen : the ops with their lines, or None.
    """
    if seen is None:
        return ""
    facts = GradientFacts(recording, target, source, seen)
    unrecorded = [s for s in facts.noted_path if s.kind != "op" or id(recording) not in s.on]
    if unrecorded:
        return f" The noted steps show: {how_unrecorded(facts, unrecorded[0])}."
    names = shorten_list(
        [f"{public_op_name(step.name)} at {step.line}" for step in facts.noted_path]
    )
    if not names:
        return " The noted steps show: no op leads from the source to the target."
    return f" The noted steps show: {join_words(names)} led from the source to the target."


def recording_of(tape: GradientTape) -> Recording:
    """Return the recorder of a tape, which has its records; raise TypeError for anything else."""
    if not isinstance(tape, GradientTape):
        raise TypeError(f"the tape must be a GradientTape, got {describe(tape)} [at {user_line()}]")
    return tape._recording


def explain_gradient(facts: GradientFacts, gradient: Array | Exception | None) -> str:
    """Return the paragraph of ``explain`` about a gradient, or about the error raised instead."""
    if gradient is None:
        why = next(filter(None, (cause(facts) for cause in CAUSES)))
        return f"The gradient is None: {why}."
    if isinstance(gradient, Exception):
        return f"The gradient is an error, {type(gradient).__name__}: {gradient}"
    if gradients_have_nan([gradient]):
        return (
            f"The gradient holds NaN, also in the guarded rerun. It came {path_phrase(facts)}. "
            "diagnose.nans(tape, target, source) says which op made it."
        )
    if is_zero(gradient._data):
        why = why_zero(facts)
        return f"The gradient is zero: it came {path_phrase(facts)}" + (
            f", and {why}." if why else "."
        )
    return f"The gradient is there: it came {path_phrase(facts)}.{conversion_note(facts)}"


def path_phrase(facts: GradientFacts) -> str:
    """Return a phrase that names the ops on the path from the source to the target."""
    records = [record for record in facts.between if isinstance(plan_of(record), Plan)]
    if not facts.between:
        return f"to the target {name_with_layout(facts.target)} as its own source"
    names = [facts.op_and_line(record) for record in records or facts.between]
    return f"through {join_words(shorten_list(names))}"


def conversion_note(facts: GradientFacts) -> str:
    """Return a sentence if the gradient may lack a part because of untracked conversions.

    Return "" if no value that depends on the source was converted, as by ``float(x)``.
    """
    if not facts.conversions:
        return ""
    assert isinstance(facts.request, Differentiation)
    lacks = facts.request.lacks
    if lacks is None:  # a tape with exits="ignore"
        return (
            " A value that depends on the source also left the tape at "
            f"{join_words(facts.conversions)}: if it came back as a "
            "part of the target, that part counts as a constant."
        )
    suspected = lacks.suspected(lacks.describe_exits(()))
    if suspected:
        return f" But {lost_message(suspected, 'a part of it may be missing')}."
    return (
        f" A value that depends on the source left the tape at {join_words(facts.conversions)}, but the "
        "target is not computed from what left there, so the gradient lacks nothing."
    )
