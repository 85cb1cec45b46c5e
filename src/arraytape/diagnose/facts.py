"""Facts about a tape, a target and a source, from which ``explain`` finds out why a gradient is None.

Each fact is computed once, on a copy of the recording, so that the tape stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._array.array import Array
from .._array.exits import LEFT, LeftRecord
from .._array.views import current
from .._exits.messages import exit_text
from .._record.plan import Record, ids_made_of, ids_needed_for, inputs_of, plan_of, results_of
from .._record.stack import only_recorders
from .._storage.storage import storage_of
from .._tape.arguments import default_seed
from .._tape.backward import BackwardPass
from .._tape.data import RawData
from .._tape.differentiation import Differentiation, gradients_have_nan
from .._tape.guard import GuardedPass
from .._tape.none_causes import public_op_name
from .._tape.recording import Recording
from .._util.blocks import Quiet
from .._util.remembered import remembered
from .line_recorder import Lines, Step

PassOf = Callable[[RawData, set[int]], BackwardPass]


def copy_of(recording: Recording) -> Recording:
    """Return an inactive copy of a tape's recorder: backward passes on it leave the tape unchanged."""
    copy = object.__new__(Recording)
    vars(copy).update(vars(recording))
    copy.records, copy.known = list(recording.records), set(recording.known)
    copy.implied, copy.leaves = set(recording.implied), set(recording.leaves)
    copy.persistent = copy.active = copy.open = False
    copy.workers = []
    return copy


@dataclass
class GradientFacts:
    """The facts about a target and a source on a tape.

    ``explain`` finds out from them why a gradient is None.

    original : the tape's recorder, with its records.
    recording : an inactive copy of ``original``.
    lines : the steps that ``diagnose.lines`` noted, or None.
    request : the Differentiation that computes the gradient, or the LookupError for a missing rule.
    """

    original: Recording
    target: Array
    source: Array
    lines: Lines | None

    def __post_init__(self) -> None:
        self.recording = copy_of(self.original)
        with only_recorders():
            self.request = self.make_request()

    def make_request(self) -> Differentiation | LookupError:
        """Return the request for the gradient of the source, or the error if an op has no rule."""
        try:
            return Differentiation(self.recording, [self.target], [self.source])
        except LookupError as error:
            return error

    @property
    def made_at(self) -> dict[int, str]:
        """Return a dict from value ids to the ``file:line`` that made the value, where it is known."""
        if self.lines is not None:
            return self.lines.made_at
        checks = self.original.numerics
        found: dict[int, str] = {} if checks is None else checks.lines
        return found

    # --- the gradient -----------------------------------------------------------------------------
    def run(self, pass_of: PassOf = BackwardPass) -> tuple[Any, Any]:
        """Run a backward pass of the class ``pass_of``; return the pass and the gradient.

        A caller may read notes from the pass, for example on the origin of zeros.
        """
        assert isinstance(self.request, Differentiation)
        with only_recorders():
            seed = default_seed(self.target)
            storage = storage_of(seed._data)
            with Quiet(), storage.at(seed._data):
                pass_ = pass_of(RawData(storage), self.recording.known)
                (found,) = self.request.gradients_through(pass_, [seed])
        return pass_, found

    @remembered
    def found_gradient(self) -> Any:
        """Return the gradient, or the exception that its computation raised.

        A gradient with NaN is computed again, with 0 from elements that a selection left out, as
        ``tape.gradient`` does.
        """
        if isinstance(self.request, LookupError):
            return self.request
        try:
            _, found = self.run()
            if gradients_have_nan([found]):
                _, found = self.run(GuardedPass)
        except Exception as error:  # a user's rule may raise anything
            return error
        return found

    # --- target and source on the tape ------------------------------------------------------------
    @remembered
    def target_id(self) -> int:
        """Return the value id of the target; 0 if the tape does not follow the target."""
        with only_recorders():
            return self.recording.value_id_of(self.target, current_value=True)

    @remembered
    def origin(self) -> int:
        """Return the value id of the source; 0 if the tape does not follow the source."""
        with only_recorders():
            return self.recording.value_id_of(self.source)

    @property
    def origins(self) -> list[int]:
        """Return the source's value id, and the id that it had before ``watch`` replaced it, if any."""
        entry = self.recording.watched.get(id(self.source))
        value_ids = {self.origin, 0 if entry is None else entry.root} - {0}
        return sorted(value_ids)

    @remembered
    def target_is_on_tape(self) -> bool:
        return self.target_id in self.recording.known

    @remembered
    def reached_ids(self) -> set[int]:
        """Return the value ids of the source and of all recorded values computed from the source."""
        return ids_made_of(self.recording.records, [self.origin] if self.origin else [])

    @remembered
    def needed_ids(self) -> set[int]:
        """Return the value ids of the target and of all recorded values that the target depends on."""
        return ids_needed_for(self.recording.records, [self.target_id] if self.target_id else [])

    @remembered
    def after_target(self) -> set[int]:
        """Return the value ids of all recorded values computed from the target, without the target.

        If the source is among them, source and target were swapped.
        """
        return ids_made_of(self.recording.records, [self.target_id]) - {self.target_id}

    @remembered
    def between(self) -> list[Record]:
        """Return the records on the paths from the source to the target, in the order of execution."""
        forward, backward = self.reached_ids, self.needed_ids
        return [
            record
            for record in self.recording.records
            if not forward.isdisjoint(inputs_of(record))
            and not backward.isdisjoint(results_of(record))
        ]

    @remembered
    def connected(self) -> bool:
        """Return True if records lead from the source to the target."""
        return self.origin != 0 and self.target_id in self.reached_ids

    @remembered
    def using_records(self) -> list[Record]:
        """Return the records of ops with an input that depends on the source.

        Records of conversions, as by ``float(x)``, are left out.
        """
        records = self.recording.records
        used = [record for record in records if not self.reached_ids.isdisjoint(inputs_of(record))]
        return [record for record in used if plan_of(record) is not LEFT]

    @remembered
    def conversions(self) -> list[str]:
        """Return the untracked conversions of values that depend on the source: ``file:line (how)``."""
        found = [LeftRecord(*r) for r in self.recording.records if plan_of(r) is LEFT]
        return [*dict.fromkeys(exit_text(left) for left in found if left.value in self.reached_ids)]

    # --- steps that ``lines`` noted ---------------------------------------------------------------
    @remembered
    def noted_ids(self) -> tuple[list[int], int]:
        """Return the source's value ids, and the target's, as ``diagnose.lines`` uses them in its steps.

        ``Lines`` also gives ids to values that the tape does not follow.
        """
        with only_recorders():
            return [*{*self.origins, current(self.source)[0]} - {0}], current(self.target)[0]

    @remembered
    def noted_path(self) -> list[Step]:
        """Return the ops between source and target, as ``diagnose.lines`` noted them, in order.

        They include ops that the tape did not record.
        """
        if self.lines is None:
            return []
        origins, start = self.noted_ids
        steps = self.lines.steps
        reached, needed = {*origins}, {start} - {0}
        for step in steps:
            if not reached.isdisjoint(step.ins):
                reached.update(step.outs)
        for step in reversed(steps):
            if not needed.isdisjoint(step.outs):
                needed.update(step.ins)
        return [s for s in steps if not reached.isdisjoint(s.ins) and not needed.isdisjoint(s.outs)]

    @remembered
    def first_unrecorded(self) -> Step | None:
        """Return the first op from source to target that the tape did not record, or None.

        ``diagnose.lines`` noted the ops.
        """
        reached = ids_made_of(self.recording.records, self.noted_ids[0])
        for step in self.noted_path:
            if step.kind != "op" or reached.isdisjoint(step.outs):
                return step
        return None

    # --- texts ------------------------------------------------------------------------------------
    def op_and_line(self, record: Record) -> str:
        """Return the name of a record's op, with " at file:line" if the line is known."""
        line = self.made_at.get(results_of(record)[0])
        name = public_op_name(name_of(record))
        return f"{name} at {line}" if line else name


def name_of(record: Record) -> str:
    """Return the name of a record's op, or of the user's function that the record calls."""
    users_call = hasattr(record[-1], "missing")
    return str(record[-1].name) if users_call else plan_of(record).name
