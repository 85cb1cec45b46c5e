"""Capture: a run of a user's function with one private recorder in place of all others.

Tapes do not record the ops inside a function that has a gradient of its own.  They still need to know on
which watched values the result depends, and which values ``grad_fn`` may use.  The private recorder
finds out both.  The recorders that it replaces, which get no records of the run, are called hidden.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._array.exits import ENTERED, LEFT, LeftRecord, record_exit_elsewhere
from .._array.unfinished_writes import UNFINISHED
from .._array.views import current, root_of
from .._exits.constant_entries import Journal
from .._record.mode_stack import Mode
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of
from .._record.stack import (
    BaseRecorder,
    Bystander,
    Recorder,
    SeesAssignments,
    SeesCalls,
    add_structural_record,
    entered,
    only_recorders,
    recorders,
)
from .._tape.cusps import has_cusp
from .._tape.missing_rules import missing_rule
from .._util import nest
from .._util.array_types import RawArray
from .._util.errors import user_line
from .._util.nest import Nesting
from .private_handles import Inputs, check_results

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..variable import Variable


class OnCapture(enum.Enum):
    """The reaction if a function uses a watched Array that is not among its arguments (a capture)."""

    REFUSE = "raise a ValueError"
    COLLECT = "make it an input of the call"
    CUT = "treat it as a constant"


class FollowedIds(set[int]):
    """The set of value ids that the private recorder of a function's run follows.

    The elements of the set are the ids of the inputs and of values computed from them.  ``in`` is also
    True for ids that the caller's tapes follow.  So the private recorder also gets the ops on captured
    values, which are no inputs.
    """

    def __init__(self, value_ids: Sequence[int], hidden: Sequence[Recorder]) -> None:
        super().__init__(value_ids)
        self.hidden = hidden

    made_of_inputs = set.__contains__

    def followed_outside(self, value_id: int) -> bool:
        """Return True if a recorder outside of the user's function, such as a tape, follows a value."""
        for recorder in self.hidden:  # noqa: SIM110  (a loop is quicker, and this runs for each op)
            if value_id in recorder.followed:
                return True
        return False

    def is_captured(self, value_id: int) -> bool:
        """Return True if the caller's tapes follow a value that was not computed from the inputs.

        The function uses such a value without getting it as an argument.
        """
        return not self.made_of_inputs(value_id) and self.followed_outside(value_id)

    def __contains__(self, value_id: Any) -> bool:
        return self.made_of_inputs(value_id) or self.followed_outside(value_id)

    def __bool__(self) -> bool:
        return len(self) > 0 or any(recorder.followed for recorder in self.hidden)


class FunctionRecorder(BaseRecorder, SeesCalls, SeesAssignments):
    """The private recorder of one run of a user's function.

    Parameters
    ----------
    name
        The name of the function in messages.
    value_ids
        The ids of the inputs to follow.  Zeros are ignored.
    hidden
        The recorders that are suspended during the run.
    on_capture
        The reaction to watched Arrays that are not among the arguments.
    keeps_records
        True to keep ``records``; the other attributes are set in any case.
    first_values
        In a second run: pairs of a Variable that the first run read and the data that it held.
    program_modes
        Modes that see the calls of ops in this run, besides the modes of the hidden recorders.

    Attributes
    ----------
    captures
        The ids of captured values, in order, if ``on_capture`` is ``OnCapture.COLLECT``.
    used
        The ids of the inputs of all records, and of the results of the function.
    exits
        The LEFT records of values that were computed from the inputs.
    variables
        The trainable Variables that the function reads.
    variable_values
        Pairs of each Variable that the function reads and the data that it held at the first read.
    assigned_variables
        Pairs of each Variable to which the function assigns and the data that it held before.
    changed_variables
        The Variables whose values differ from those of the first run.
    noticed
        A dict from the index in ``records`` to the plan, for records that were passed to ``notice``.
    home, lost
        The id of the thread of the run, and pairs (value id, line) of values that another thread used.
    cusped, careful, has_missing_rules
        True if a record has a cusp; needs a careful pass; belongs to an op without a rule.
    """

    followed: FollowedIds

    def __init__(
        self,
        name: str,
        value_ids: Sequence[int],
        hidden: Sequence[Recorder] = (),
        on_capture: OnCapture = OnCapture.REFUSE,
        keeps_records: bool = True,
        first_values: Sequence[tuple[Any, Any]] = (),
        program_modes: Sequence[Mode] = (),
    ) -> None:
        self.name, self.on_capture = name, on_capture
        self.keeps_records, self.first_values = keeps_records, first_values
        self.followed = FollowedIds([value_id for value_id in value_ids if value_id], hidden)
        self.records: list[Record] = []
        self.noticed: dict[int, Plan | Structural] = {}
        self.used: set[int] = set()
        self.captures: list[int] = []
        self.exits: list[LeftRecord] = []
        self.journal: Journal | None = None
        self.frames = [frame for recorder in hidden for frame in recorder.frames]
        around = [one for r in hidden if isinstance(r, SeesCalls) for one in r.program_modes]
        self.program_modes = (*around, *program_modes)
        self.variables: list[Any] = []
        self.variable_values: list[tuple[Any, Any]] = []
        self.assigned_variables: list[tuple[Any, Any]] = []
        self.changed_variables: list[Any] = []
        self.home, self.lost = get_ident(), set[tuple[int, str]]()
        self.cusped = self.careful = self.has_missing_rules = False

    def used_elsewhere(self, value_ids: Sequence[int], /) -> None:
        """Note that another thread used values of the run, as conversions to untracked data are noted.

        Outer recorders (tapes) are themselves notified of values that they follow.
        """
        if get_ident() != self.home:
            own = [value_id for value_id in value_ids if self.followed.made_of_inputs(value_id)]
            record_exit_elsewhere(self, own, self.lost, "in another thread")

    def accessed(self, variable: Variable, /) -> None:
        """Note a read of a Variable; follow it if trainable, or changed since the first run.

        A trainable Variable that the function reads is an input of its call.
        """
        if any(variable is other for other, _ in self.variable_values):
            return
        data = variable._data
        self.variable_values.append((variable, data))
        # Data that this run itself assigned is a new object.  ``same_values`` can compare it with the
        # data of the first run only if it is NumPy data; other data does not count as changed.
        own = any(variable is other for other, _ in self.assigned_variables)
        comparable = not own or type(data) is np.ndarray
        changed = comparable and any(
            variable is other and not same_values(data, first) for other, first in self.first_values
        )
        if changed:
            self.changed_variables.append(variable)
        if variable._trainable:
            self.variables.append(variable)
        if changed or variable._trainable:
            self.followed.add(variable._current_id())

    def assigned(self, variable: Variable, value: RawArray | npt.ArrayLike, /) -> None:
        """Store the data that a Variable held before its first assignment; notify the caller's tapes.

        ``recompute_grad`` gives the Variable this data again for the second run.
        """
        if not any(variable is other for other, _ in self.assigned_variables):
            self.assigned_variables.append((variable, variable._data))
        for recorder in self.followed.hidden:
            if isinstance(recorder, SeesAssignments):
                recorder.assigned(variable, value)

    def record(self, record: Record) -> None:
        """Take the record of an op inside the function, and keep it if ``keeps_records`` is True.

        Handle captured inputs as ``on_capture`` says.  Note conversions to untracked data, and cusps.
        """
        plan, value_ids = PLANS[record[0]], inputs_of(record)
        if plan is LEFT and not self.followed.made_of_inputs(value_ids[0]):
            self._pass_on(record)
            return
        if plan is UNFINISHED:
            self._pass_on(record)
        else:
            for value_id in value_ids:
                if self.followed.is_captured(value_id):
                    self.captured(value_id, plan.name)
        self.used.update(value_ids)
        if plan is LEFT:
            self.exits.append(LeftRecord(*record))
            if self.journal is None:
                self.journal = Journal(self.followed, self.frames)
            self.journal.note_exit(record)
        else:
            if self.journal is not None:
                self.journal.note_constants(record, len(self.records), depth=2)
            self.cusped = self.cusped or has_cusp(plan, record)
        if self.keeps_records:
            self.records.append(record)

    def captured(self, value_id: int, where: str) -> None:
        """Handle a captured value: an op inside the function uses it, but it is no argument.

        A tape of the caller follows the value.  As ``on_capture`` says, raise ValueError, make the value
        an input of the call, or ignore it.

        where : the op that uses the value, or "its result", for the message.
        """
        if self.on_capture is OnCapture.REFUSE:
            raise ValueError(
                f"{self.name}: the function uses a watched Array that is not among its positional "
                f"arguments, in {where} [at {user_line()}]; its gradient would be lost. Pass it as "
                "a positional argument and use that argument, or stop_gradient it for a constant"
            )
        if self.on_capture is OnCapture.COLLECT:
            self.captures.append(value_id)
            self.followed.add(value_id)

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """Note that the last record has no rule (``has_missing_rules``), or else that it is ``careful``.

        A careful pass calls the general method for each record, as complex data need.  Constants that
        entered ops in an inner user's function are added to the journal (``ENTERED``).
        """
        if plan is ENTERED and self.journal is not None:
            self.journal.entered_inside(record, self.records)
        if plan is LEFT or plan is ENTERED:
            return
        if missing_rule(plan, record) is not None:
            self.has_missing_rules = True
        else:
            self.careful = True
        if self.records:
            self.noticed[len(self.records) - 1] = plan

    def _pass_on(self, record: Record) -> None:
        """Send a record to those of the caller's recorders (tapes) that follow one of its inputs.

        Of all ops inside the function, only conversions and interrupted writes of a tape's own values
        concern these recorders.
        """
        for recorder in self.followed.hidden:
            if any(value_id in recorder.followed for value_id in inputs_of(record)):
                add_structural_record(recorder, record)
                recorder.notice(PLANS[record[0]], record)

    def result_ids(self, leaves: Sequence[Array]) -> list[int]:
        """Return the value id of each result, or 0 for a result that does not depend on the inputs.

        A value id is the number by which recorders follow a value.

        Call this while the recorder is active, because ``current`` may record that a view was read.
        """
        value_ids = [current(leaf)[0] for leaf in leaves]
        for value_id in value_ids:
            if value_id and self.followed.is_captured(value_id):
                self.captured(value_id, "its result")
            self.used.add(value_id)
        return [value_id if self.followed.made_of_inputs(value_id) else 0 for value_id in value_ids]


def same_values(data: Any, other: Any) -> bool:
    """Return True if ``data`` and ``other``, held by a Variable at two times, have the same values.

    A function that is run a second time must read the same values.

    Only the elements of NumPy data are compared.  On another device a comparison would have to wait for
    the device, so other data are the same only if they are one object.
    """
    both = type(data) is type(other) is np.ndarray
    return data is other or (
        both and np.array_equal(data, other, equal_nan=data.dtype.kind in "fc")
    )


NO_IDS: Mapping[int, int] = {}


# --- running a function -------------------------------------------------------------------------------
class Trace:
    """A finished run of a user's function by ``run_hidden``: its arguments, recorder and results.

    recorder
        The private recorder of the run.
    arrays, value_ids
        The Arrays in the positional arguments, and the ids of the caller's values.
    known
        The id of the caller's value, for each id of an argument that is new in the run.
    result_ids
        The id of each result inside the function; 0 for a result that does not depend on the inputs.
    y, rule
        The two results of the function: a nesting of Arrays, and the ``grad_fn`` or None.
    leaves
        The Arrays in ``y``.
    """

    def __init__(
        self,
        recorder: FunctionRecorder,
        arrays: list[Array],
        value_ids: list[int],
        result_ids: list[int],
        y: Nesting,
        rule: Any,
        known: Mapping[int, int],
    ) -> None:
        self.recorder, self.arrays, self.value_ids = recorder, arrays, value_ids
        self.known = known
        self.result_ids = result_ids
        self.y, self.rule, self.leaves = y, rule, nest.leaves(y)

    def input_ids(self) -> list[int]:
        """Return the ids of the values that the run used: arguments, captured Arrays and Variables.

        Captured Arrays are Arrays that the function used without getting them as arguments.
        Call this while the caller's tapes are active: it reads the trainable Variables, so that these
        tapes watch them.
        """
        variables = [current(variable)[0] for variable in self.recorder.variables]
        return [*self.value_ids, *self.recorder.captures, *variables]

    def name_results(self) -> list[int]:
        """Return the value ids that the results have inside the function.

        A value without an id gets a new one.
        """
        with only_recorders(self.recorder):
            return [ensured_id(leaf) for leaf in self.leaves]


def run_hidden(
    name: str,
    f: Callable[..., tuple[Any, Any]],
    inputs: Inputs,
    on_capture: OnCapture,
    keeps_records: bool,
    program_modes: Sequence[Mode] = (),
    known: Mapping[int, int] = NO_IDS,
) -> Trace:
    """Run f, which returns ``(y, rule)``, with a private recorder in place of the caller's tapes.

    Return the run as a Trace.  Raise TypeError if y contains anything but Arrays.

    name : the name of the user's function in messages.
    on_capture : the reaction to watched Arrays that are not among the arguments.
    keeps_records : True to keep the records of the ops inside f.
    program_modes : modes that observe or answer the calls of ops in this run.
    known : the result of ``Arguments.give_new_ids``.
    """
    hidden = recorders()
    inner_ids = [x._value_id for x in inputs.arrays]
    value_ids = [known.get(value_id, value_id) for value_id in inner_ids]
    followed = [
        inner
        for inner, value_id in zip(inner_ids, value_ids, strict=True)
        if any(value_id in recorder.followed for recorder in hidden)
    ]
    recorder = FunctionRecorder(
        name, followed, hidden, on_capture, keeps_records, program_modes=program_modes
    )
    with only_recorders(), entered(recorder):
        y, rule = f(*inputs.args, **inputs.keywords)
        result_ids = recorder.result_ids(check_results(name, y))
    return Trace(recorder, inputs.arrays, value_ids, result_ids, y, rule, known)


def ensured_id(leaf: Array) -> int:
    """Return the id of an Array's value; give the value an id if it has none."""
    root_of(leaf)._ensure_id()
    return current(leaf)[0]


class RefuseChanged(Bystander):
    """An observer of ``grad_fn``, which raises RuntimeError at a read of the changed ``variables``.

    ``grad_fn`` would use the new value, but the derivative needs the one that the function read.
    """

    def __init__(self, name: str, variables: Sequence[Variable]) -> None:
        self.name, self.variables = name, variables

    def accessed(self, x: Variable, /) -> None:
        if any(x is variable for variable in self.variables):
            raise RuntimeError(
                f"{self.name}: grad_fn reads the Variable {x.name!r}, which was assigned to since the "
                f"function read it [at {user_line()}]; store its `.value()` in the function, and use "
                "that in grad_fn"
            )
