"""The records of calls of functions with their own derivative (``custom_gradient``), and their rules.

A whole call becomes one record, whose fields ``CallRecord`` names.  If the plan (kind) of the record is
``CUSTOM``, a backward pass calls the user's ``grad_fn``.

``grad_fn`` may use values that the function computed.  Without records of these values a second
derivative would silently be wrong.  So a call also keeps the records of the ops inside the function
(``history``) if a recorder may record the gradient.  The recorders get these records just before
``grad_fn`` runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from .._array.array import KEPT, SCALAR, Array, wrap
from .._array.cuts import cut_of, note_cut
from .._array.exits import ENTERED, record_exit_at
from .._array.views import keep_data
from .._record.plan import Plan, Record, Structural, inputs_of, results_of
from .._record.stack import AWAITED, OPEN, Recorder, new_value_id, notify_other_threads, recorders
from .._storage.batched.batched_data import REPLAY, open_hidden_axis
from .._storage.storage import CARRIED, is_complex, storage_of
from .._tape.missing_rules import missing_rule_error
from .._util import nest
from .recorder import FunctionRecorder, Trace

if TYPE_CHECKING:
    from .._tape.backward import BackwardPass
    from .._tape.forward import ForwardPass


# --- records --------------------------------------------------------------------------------------
class CallRecord(NamedTuple):
    """The fields of a tape's record of one call of a user's function, such as a custom gradient.

    A record is a plain tuple.  ``CallRecord(*record)`` gives its items names.
    """

    plan: int
    outs: tuple[int, ...]  # value ids of the results
    value_ids: tuple[int, ...]  # value ids of the inputs, 0 for an input that no recorder follows
    call: Any  # a Call or one of its subclasses


def call_record(
    plan: Structural, outs: Sequence[int], value_ids: Sequence[int], call: Call
) -> Record:
    return plan.number, tuple(outs), tuple(value_ids), call


class SameValue(NamedTuple):
    """The fields of a record that says: the ids ``new`` and ``known`` denote the same value.

    An argument or a result of a function has one id inside the function, and another for the caller.
    """

    plan: int
    new: int
    known: int


def same_value_record(new: int, known: int) -> Record:
    return SAME.number, new, known


# --- the object that the record of a call keeps -------------------------------------------------------
class Layout:
    """The shape, dtype, storage (array library) and device of an Array, kept in place of the Array."""

    __slots__ = ("device", "dtype", "shape", "storage")

    def __init__(self, x: Array) -> None:
        self.storage, self.device = storage_of(x._data), x.device
        self.shape, self.dtype = x.shape, x.dtype

    def zeros(self) -> Array:
        return wrap(self.storage.create("zeros", self.device, self.shape, dtype=self.dtype))

    def fits_layout(self, x: Array) -> bool:
        return x.shape == self.shape and x.dtype == self.dtype and bool(x.device == self.device)

    def __str__(self) -> str:
        dims = ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "")
        return f"{self.dtype}({dims})" + (f" on {self.device}" if self.device != "cpu" else "")


class Call:
    """One call of a user's function: the object that its record keeps.

    Parameters
    ----------
    name
        The name of the function in messages.
    trace
        The run of the function.  The call keeps only the layouts of its results.
    pull
        The rule: accepts a list with one cotangent Array for each result, and returns the cotangent of
        each input, or None where there is none.  None if there is no rule.
    missing
        The name of the function if it has no rule, else None.
    reason
        An argument of the function and the reason why it has no derivative with respect to it, for the
        error; () if no reason is known.
    """

    cusped = False
    kept_arrays: Sequence[Array] = ()  # Arrays that the call keeps; a subclass sets this

    def __init__(
        self,
        name: str,
        trace: Trace,
        pull: Callable[..., Any] | None = None,
        missing: str | None = None,
        reason: tuple[str, ...] = (),
    ) -> None:
        self.name, self.pull, self.missing, self.reason = name, pull, missing, reason
        # A function from the tangents of the inputs to those of the results, if the rule has one.
        self.forward: Callable[..., Any] | None = getattr(pull, FORWARD, None)
        self.results = [Layout(y) for y in trace.leaves]
        self.careful = needs_care((*trace.arrays, *trace.leaves))
        self.history: list[tuple[Record, Plan | Structural | None]] = [
            (same_value_record(new, old), None) for new, old in trace.known.items()
        ]
        # An id that no value has.  ``_add_history_to`` makes each recorder that got the history follow
        # this id, so that no recorder gets the history twice.
        self.history_mark = new_value_id()
        self.surroundings = [note() for note in CARRIED]

    def remember_records(
        self, recorder: FunctionRecorder, inner: Sequence[int], outs: Sequence[int]
    ) -> None:
        """Keep the records of the ops inside the function as ``history``, for second derivatives.

        recorder : the private recorder of the function's run, with the records.
        inner : the ids of the results inside the function, 0 for a result that is an input.
        outs : the ids of the same results for the caller.
        """
        self.history += [(r, recorder.noticed.get(i)) for i, r in enumerate(recorder.records)]
        # These records carry a result's cotangent from its id inside the function to its id for the
        # caller.  They stand last, because a backward pass visits the records from the end.
        self.history += [
            (same_value_record(new, known), None)
            for new, known in zip(inner, outs, strict=True)
            if new
        ]

    def give_history(self) -> None:
        """Add the records of the ops inside the function to each current recorder (tape).

        The rule, ``grad_fn``, runs next.  So a gradient of the rule's result also reaches values of the
        function that the rule uses.
        """
        for recorder in recorders():
            if self.history_mark in recorder.followed:
                continue
            with open_hidden_axis(
                REPLAY
            ):  # permits data of a vmap that has ended, in which the function ran
                self._add_history_to(recorder)

    def _add_history_to(self, recorder: Recorder) -> None:
        """Add those records of the inner ops to a recorder that compute on a value which it follows."""
        for record, noticed in self.history:
            has_results = all(value_id in recorder.followed for value_id in results_of(record))
            if not has_results and any(
                value_id in recorder.followed for value_id in inputs_of(record)
            ):
                recorder.record(record)
                recorder.followed.update(results_of(record))
                if noticed is not None:
                    recorder.notice(noticed, record)
        if any(
            value_id in recorder.followed
            for record, _ in self.history
            for value_id in results_of(record)
        ):
            # Added after the loop: if an exception interrupts the loop, the next call repeats it.
            recorder.followed.add(self.history_mark)

    def gradients(self, cotangents: Sequence[Array | None]) -> list[Array | None]:
        """Call the user's rule; return the gradient of each input, or None where the rule returned None.

        cotangents : one for each result of the function; None stands for zeros.  Raise LookupError if
        there is no rule.
        """
        if self.pull is None:
            raise missing_rule_error(self.name, *self.reason)
        self.give_history()
        pairs = zip(cotangents, self.results, strict=True)
        given = [y.zeros() if g is None else g for g, y in pairs]
        found: list[Array | None] = self.run_inside(self.pull, given)
        return found

    def run_inside(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """Call a function with the context settings that applied when the Call was made.

        ``CARRIED`` lists the settings.  An example is whether SciPy's functions accept Arrays.
        """
        with ExitStack() as stack:
            for enter in self.surroundings:
                stack.enter_context(enter())
            return function(*args, **keywords)


def needs_care(arrays: Sequence[Array]) -> bool:
    """Return True if arrays are complex, or have data of several types or devices.

    Then a backward pass must call the general method for each record, not run its fast loop.
    """
    return (
        any(is_complex(x) for x in arrays)
        or len({(type(x._data), str(x.device)) for x in arrays}) > 1
    )


# --- handing a call to the recorders ------------------------------------------------------------------
def publish(
    trace: Trace, plan: Structural, make_call: Callable[[], Call], with_exits: bool = False
) -> Any:
    """Record a finished run of a user's function as one record, and return the function's results.

    Each recorder (a tape, say) that follows an input of the run gets the record.

    trace : the run, with its arguments and results.
    plan : the kind of the record, CUSTOM or RECOMPUTED.
    make_call : returns the object that the record keeps; not called if no recorder follows an input.
    with_exits : True if the function has no rule of its own.  Then these recorders are also notified of
    each ``np.asarray(x)`` inside the function, and of each constant that may contain its result.
    """
    keeps_records = trace.recorder.keeps_records
    inner = trace.name_results() if keeps_records else []
    value_ids = trace.input_ids()
    followers = followers_of(value_ids)
    outs = [new_value_id() if followers else 0 for _ in trace.leaves]
    ids = outs
    if with_exits:
        # A result that the function computed from constants alone, such as float(x), is a constant.
        ids = [out if i else 0 for out, i in zip(outs, trace.result_ids, strict=True)]
    results = [
        wrap(keep_data(y), value_id, KEPT | (y._state & SCALAR))
        for y, value_id in zip(trace.leaves, ids, strict=True)
    ]
    if AWAITED and not followers:
        cuts = [cut for x in trace.arrays if (cut := cut_of(x)) is not None]
        of_views = [value_id for cut in cuts for value_id in cut.value_ids]
        note_cut(trace.recorder.name, results, [*value_ids, *of_views], trace.arrays)
    if followers:
        call = make_call()
        if keeps_records:
            call.remember_records(
                trace.recorder,
                [0 if i in value_ids or i in trace.known else i for i in inner],
                outs,
            )
        if with_exits:
            tell_exits(trace.recorder, value_ids, followers)
        # The record holds 0 in place of an id that no recorder follows.  If a tape watches that input
        # later, the input must not seem to be one of this earlier call.
        known = [
            value_id if any(value_id in r.followed for r in followers) else 0
            for value_id in value_ids
        ]
        give_record_to(plan, call_record(plan, outs, known, call), followers)
        if with_exits and outs and trace.recorder.journal is not None:
            for recorder in followers:
                recorder.notice(ENTERED, (ENTERED.number, trace.recorder.journal.entries, outs[0]))
    return nest.pack_nesting(trace.y, results)


def followers_of(value_ids: Sequence[int]) -> list[Recorder]:
    """Return the recorders (tapes, say) of this thread that follow at least one of the values.

    If this thread has no recorder, the recorders of other threads are notified of the use of the values.
    """
    stack = recorders()
    if OPEN and not stack:
        notify_other_threads(value_ids)
    return [r for r in stack if any(value_id in r.followed for value_id in value_ids)]


def may_record_gradients(stack: Sequence[Recorder]) -> bool:
    """Return True if a recorder (tape) may record the backward pass through a user's function.

    The call then keeps the records of its inner ops.  Return False if a one-shot tape is alone on the
    stack, since it stops recording before its gradient.

    stack : the recorders of this thread.
    """
    return bool(stack) and not (len(stack) == 1 and stack[0].one_shot)


def give_record_to(plan: Structural, record: Record, followers: Sequence[Recorder]) -> None:
    """Add the record of a call to recorders (tapes, say), which then follow its results.

    plan : the kind of the record.  followers : the recorders that follow an input of the call.
    """
    call = CallRecord(*record).call
    for recorder in followers:
        recorder.record(record)
        recorder.followed.update(results_of(record))
        if call.careful or call.missing:
            recorder.notice(plan, record)


def tell_exits(
    inside: FunctionRecorder, value_ids: Sequence[int], followers: Sequence[Recorder]
) -> None:
    """Report the conversions of Arrays to NumPy data inside a function to the caller's tapes.

    The tapes do not know the converted values.  So each conversion is reported as a conversion of each
    followed input.

    inside : the private recorder of the function's run.  value_ids : the ids of the inputs.
    followers : the caller's recorders (tapes and accumulators) that follow an input.
    """
    if not inside.exits:
        return
    inputs = {value_id for value_id in value_ids if inside.followed.made_of_inputs(value_id)}
    for left in inside.exits:
        for value_id in inputs:
            record_exit_at(followers, value_id, left.how, left.stack, left.data)


# --- backward -------------------------------------------------------------------------------------
def pull_custom(pass_: BackwardPass, record: Record) -> None:
    """Pass cotangents back through a call of a user's function by its rule, ``grad_fn``.

    pass_ : the backward pass.  record : the entry of the call on the tape.
    """
    _, outs, value_ids, call = CallRecord(*record)
    pass_.pull_users_rule(outs, value_ids, call.gradients)


def pull_same(pass_: BackwardPass, record: Record) -> None:
    """Move a cotangent from the id that a result has inside the function to its id for the caller."""
    _, new, known = SameValue(*record)
    g = pass_.take_cotangent(new)
    if g is not None:
        pass_.lend_contribution(known, g)


def push_custom(pass_: ForwardPass, record: Record) -> list[Array | None]:
    """Return the tangents of a user's function's results by its JVP, or by the transpose of its VJP.

    pass_ : the forward pass.  record : the entry of the call.
    """
    _, outs, value_ids, call = CallRecord(*record)
    if call.forward is not None:
        call.give_history()
        tangents: list[Array | None] = call.run_inside(
            call.forward, [pass_.tangent(value_id) for value_id in value_ids]
        )
        return tangents
    g = [y.zeros() for y in call.results]
    return pass_.push_users_rule(outs, g, lambda: zip(value_ids, call.gradients(g), strict=True))


def push_same(pass_: ForwardPass, record: Record) -> list[Array | None]:
    return [pass_.tangent(SameValue(*record).known)]


FORWARD = "__arraytape_forward__"  # the attribute of a rule that holds the function for its JVP
CUSTOM = Structural("custom_gradient", pull_custom, push_custom, inputs=2, cusped=True)
SAME = Structural("same value", pull_same, push_same)
