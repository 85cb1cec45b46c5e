"""Capturing a user's function: outer recorders suspended, one private recorder active.

What a function with a gradient of its own does is hidden from the tapes around it.  They must still
learn on which watched values the result depends, and what was computed on the way where ``grad_fn``
may use it: that is what the private recorder is for.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.exits import LEFT, LeftRecord
from .._array.unfinished import UNFINISHED
from .._array.views import current, root_of
from .._exits.journal import Journal
from .._record.mode_stack import Mode
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of
from .._record.stack import (
    BaseRecorder,
    Bystander,
    Recorder,
    SeesAssignments,
    SeesCalls,
    only_recorders,
    recorders,
    tell,
)
from .._tape.cusps import has_cusp
from .._tape.missing_rules import missing_rule
from .._util import nest
from .._util.array_types import RawArray
from .._util.errors import user_line
from .private_handles import Inputs, check_results


class OnCapture(enum.Enum):
    """The reaction to a watched Array that a function uses and that is not among its arguments."""

    REFUSE = "raise a ValueError"
    COLLECT = "count it among the inputs"
    CUT = "take it as a constant, as declared"


class FollowedIds(set[int]):
    """The value ids that a private recorder follows.

    In the set are those made of the function's inputs.  Those that hidden recorders follow are
    contained, too, so that the ops on captured values are handed to the private recorder.
    """

    def __init__(self, tids: Sequence[int], hidden: Sequence[Recorder]) -> None:
        super().__init__(tids)
        self.hidden = hidden

    made_of_inputs = set.__contains__

    def followed_outside(self, tid: int) -> bool:
        for recorder in self.hidden:  # noqa: SIM110  (asked for each input of each op)
            if tid in recorder.followed:
                return True
        return False

    def is_captured(self, tid: int) -> bool:
        """Return True if a hidden recorder follows a value that is not made of the inputs."""
        return not self.made_of_inputs(tid) and self.followed_outside(tid)

    def __contains__(self, tid: Any) -> bool:
        return self.made_of_inputs(tid) or self.followed_outside(tid)

    def __bool__(self) -> bool:
        return len(self) > 0 or any(recorder.followed for recorder in self.hidden)


class FunctionRecorder(BaseRecorder, SeesCalls, SeesAssignments):
    """The private recorder of one run of a user's function.

    Parameters
    ----------
    name
        How messages call the function.
    tids
        The ids of the inputs to follow; 0 for none.
    hidden
        The recorders that are suspended meanwhile.
    on_capture
        What to do about watched Arrays that are not among the arguments.
    keeps_records
        Whether ``records`` are kept, or only what is learned from them.
    first_values
        In a second run, the Variables that the first one read, with the data that they held.
    program_modes
        The modes that look at this run, besides those of the suspended recorders.

    Attributes
    ----------
    captures
        The ids of captured values, with ``OnCapture.COLLECT``.
    used
        The ids that went into some record or result.
    exits
        The records of where values made of the inputs left.
    variables
        The trainable Variables that the function reads.
    variable_values
        All Variables that it reads, with the data that they held.
    assigned_variables
        The Variables that the function assigns to, with the data that they held before.
    changed_variables
        Those that hold other values than in the first run.
    noticed
        The plans of notable records, by place in ``records``.
    """

    followed: FollowedIds

    def __init__(
        self,
        name: str,
        tids: Sequence[int],
        hidden: Sequence[Recorder] = (),
        on_capture: OnCapture = OnCapture.REFUSE,
        keeps_records: bool = True,
        first_values: Sequence[tuple[Any, Any]] = (),
        program_modes: Sequence[Mode] = (),
    ) -> None:
        self.name, self.on_capture = name, on_capture
        self.keeps_records, self.first_values = keeps_records, first_values
        self.followed = FollowedIds([tid for tid in tids if tid], hidden)
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
        self.cusped = self.careful = self.has_missing_rules = False

    def accessed(self, variable: Any, /) -> None:
        """Collect a Variable that the function reads, and follow it where it counts as an input."""
        if any(variable is other for other, _ in self.variable_values):
            return
        data = variable._data
        self.variable_values.append((variable, data))
        # What this run itself assigned is made anew: elsewhere than on the host nobody may compare it.
        own = any(variable is other for other, _ in self.assigned_variables)
        looked_at = not own or type(data) is np.ndarray
        changed = looked_at and any(
            variable is other and not same_values(data, first) for other, first in self.first_values
        )
        if changed:
            self.changed_variables.append(variable)
        if variable._trainable:
            self.variables.append(variable)
        if changed or variable._trainable:
            self.followed.add(variable._current_id())

    def assigned(self, variable: Any, value: Any, /) -> None:
        """Remember what a Variable held before the function assigned to it, here or in calls within."""
        if not any(variable is other for other, _ in self.assigned_variables):
            self.assigned_variables.append((variable, variable._data))
        for recorder in self.followed.hidden:
            if isinstance(recorder, SeesAssignments):
                recorder.assigned(variable, value)

    def record(self, record: Record) -> None:
        """Take one record: refuse or collect what is captured, and keep what the rest tells."""
        plan, tids = PLANS[record[0]], inputs_of(record)
        if plan is LEFT and not self.followed.made_of_inputs(tids[0]):
            self._pass_on(record)
            return
        if plan is UNFINISHED:
            self._pass_on(record)
        else:
            for tid in tids:
                if self.followed.is_captured(tid):
                    self.captured(tid, plan.name)
        self.used.update(tids)
        if plan is LEFT:
            self.exits.append(LeftRecord(*record))
            if self.journal is None:
                self.journal = Journal(self.followed, self.frames)
            self.journal.left(record)
        else:
            if self.journal is not None:
                self.journal.note(record, len(self.records), depth=2)
            self.cusped = self.cusped or may_have_cusp(plan, record)
        if self.keeps_records:
            self.records.append(record)

    def captured(self, tid: int, where: str) -> None:
        """Refuse, collect or pass over a value from outside that a hidden recorder follows."""
        if self.on_capture is OnCapture.REFUSE:
            raise ValueError(
                f"{self.name}: the function uses a watched Array that is not among its positional "
                f"arguments, in {where} [at {user_line()}]; its gradient would be lost. Pass it as "
                "a positional argument, or stop_gradient it to use it as a constant"
            )
        if self.on_capture is OnCapture.COLLECT:
            self.captures.append(tid)
            self.followed.add(tid)

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """Remember that the last record is notable, and why."""
        if plan is LEFT:
            return
        if missing_rule(plan, record) is not None:
            self.has_missing_rules = True
        else:
            self.careful = True
        if self.records:
            self.noticed[len(self.records) - 1] = plan

    def _pass_on(self, record: Record) -> None:
        """An exit of a captured value, or an unfinished write, is as if the function were not there."""
        for recorder in self.followed.hidden:
            if any(tid in recorder.followed for tid in inputs_of(record)):
                tell(recorder, record)
                recorder.notice(PLANS[record[0]], record)

    def result_ids(self, leaves: Sequence[Array]) -> list[int]:
        """Return the value ids of results, 0 for what does not depend on the inputs.

        To be called while this recorder is active, since a view's value is recorded when read.
        """
        tids = [current(leaf)[0] for leaf in leaves]
        for tid in tids:
            if tid and self.followed.is_captured(tid):
                self.captured(tid, "its result")
            self.used.add(tid)
        return [tid if self.followed.made_of_inputs(tid) else 0 for tid in tids]


def may_have_cusp(plan: Plan | Structural, record: Record) -> bool:
    """Return True if the slope of a record may be finite where its curvature is not."""
    if isinstance(plan, Plan):
        return has_cusp(plan, record)
    return bool(getattr(record[-1], "cusped", False))


def same_values(data: Any, other: Any) -> bool:
    """Return True if a Variable holds what it held.

    Only NumPy's values are compared: elsewhere a look would synchronise, so only the same data are
    the same there.
    """
    both = type(data) is type(other) is np.ndarray
    return data is other or (
        both and np.array_equal(data, other, equal_nan=data.dtype.kind in "fc")
    )


# --- running a function -------------------------------------------------------------------------------
class Trace:
    """The record of a hidden run of a user's function: what it was given, did and gave.

    arrays, tids
        The Arrays in its positional arguments, and the ids of the values that they held before.
    y, rule
        What the function gave: a nesting of Arrays, and its ``grad_fn`` or None.
    leaves
        The Arrays in ``y``.
    """

    def __init__(
        self,
        recorder: FunctionRecorder,
        arrays: list[Array],
        tids: list[int],
        y: RawArray,
        rule: Any,
    ) -> None:
        self.recorder, self.arrays, self.tids = recorder, arrays, tids
        self.y, self.rule, self.leaves = y, rule, nest.leaves(y)

    def input_ids(self) -> list[int]:
        """Return the value ids of arguments, captures and trainable Variables.

        The Variables are read for it where the function is called, so that tapes may watch them.
        """
        variables = [current(variable)[0] for variable in self.recorder.variables]
        return [*self.tids, *self.recorder.captures, *variables]

    def name_results(self) -> list[int]:
        """Return the value ids of the results inside the function, where each result gets one."""
        with only_recorders(self.recorder):
            return [ensured_id(leaf) for leaf in self.leaves]


def run_hidden(
    name: str,
    f: Callable[..., tuple[Any, Any]],
    inputs: Inputs,
    on_capture: OnCapture,
    keeps_records: bool,
    program_modes: Sequence[Mode] = (),
) -> Trace:
    """Run a function that gives ``(y, rule)``, outer recorders suspended, a private one active."""
    hidden = recorders()
    tids = [x._tid for x in inputs.arrays]
    followed = [tid for tid in tids if any(tid in recorder.followed for recorder in hidden)]
    recorder = FunctionRecorder(
        name, followed, hidden, on_capture, keeps_records, program_modes=program_modes
    )
    with only_recorders(recorder):
        y, rule = f(*inputs.args, **inputs.keywords)
        recorder.result_ids(check_results(name, y))
    return Trace(recorder, inputs.arrays, tids, y, rule)


def ensured_id(leaf: Array) -> int:
    """Return the id of the value that an Array holds, given one if it has none."""
    root_of(leaf)._ensure_id()
    return current(leaf)[0]


class RefuseChanged(Bystander):
    """Stands on the stack while ``grad_fn`` runs, and refuses reads of Variables assigned since."""

    def __init__(self, name: str, variables: Sequence[Any]) -> None:
        self.name, self.variables = name, variables

    def accessed(self, x: Any, /) -> None:
        """Raise if the Variable was assigned to since the function read it."""
        if any(x is variable for variable in self.variables):
            raise RuntimeError(
                f"{self.name}: grad_fn reads the Variable {x.name!r}, which was assigned to since the "
                f"function read it [at {user_line()}]; let the function take its `.value()` for it"
            )
