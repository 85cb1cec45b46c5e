"""The forward pass: tangents along given directions, computed while the program runs.

The pass is a recorder, as a tape is, and gets the same records.  The tangent of a record's result is
computed from the tangents of its inputs, in one of three ways.  The rule of an elementwise op maps
tangents as well as cotangents.  A linear op is applied to the tangent itself.  For any other op the
Jacobian-vector product is the transpose of the VJP: a tape records the rule, and its gradient with
respect to the cotangent is the tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import get_ident
from typing import Any
from weakref import ref

from .._array.aliasing import AddRecord, PutRecord
from .._array.array import IS_VIEW, MOVING, SCALAR, Array, namespace
from .._array.exits import ENTERED, LEFT, record_exit_elsewhere
from .._array.paths import Path, add_through, walk_path
from .._array.views import current, lay_out_like, location, peek, private_handle
from .._exits.constant_entries import Journal
from .._exits.lost_parts import Doubt, LostParts
from .._record.plan import LAYOUT, PLANS, Plan, Record, Structural, inputs_of, results_of
from .._record.stack import OPEN, STACK, BaseRecorder, push_recorder, recorders, remove_recorder
from .._storage.batched.batched_data import REPLAY, axis_ids_of, open_hidden_axis
from .._storage.storage import storage_of
from .._util.blocks import quietly
from .._util.source_locations import innermost_outside_frame
from .arguments import UnconnectedGradients, differentiable, filled_like
from .backward import contributions
from .data import ArrayData
from .hidden_axes import with_ended_axes, with_hidden_axes
from .missing_rules import MissingRule, find_missing_rule
from .recording import UNFOLLOWED
from .reverse_tangents import KeptTail
from .tangents import Tangents
from .tape import GradientTape
from .undefined import is_nan, note_undefined, warn_of_undefined

# A function that applies a VJP and returns pairs (id of an input, contribution to its cotangent).
PullBack = Callable[[], Iterable[tuple[int, Any]]]


class ForwardPass(BaseRecorder):
    """The recorder of a ForwardAccumulator, which computes the tangent of each recorded value.

    tangents : mapping from value ids to tangents.
    missing : dict from the ids of values that depend on an op without a rule to the MissingRule error.
    undefined : a phrase for each matrix factorisation whose rule made a tangent NaN, for a warning.
    known : ids of the values that depend on the primals.
    followed : this set, or empty while the accumulator is not active.
    journal : the list of constants that enter ops and may come from a converted value; None until a
    value is converted to untracked data.
    after : list of the records since that conversion, without their kept values.
    home : the id of the thread of the accumulator's block.
    lost : pairs (value id, line) of followed values that another thread used at ``line``.
    tail : the records since the first undefined tangent, for reverse mode (KeptTail); None before.
    """

    def __init__(self) -> None:
        self.tangents = Tangents()
        self.missing: dict[int, MissingRule] = {}
        self.undefined: list[str] = []
        self.known: set[int] = set()
        self.followed: set[int] = UNFOLLOWED
        self.frames: list[int] = []
        self.journal: Journal | None = None
        self.after: list[Record] = []
        self.home = 0
        self.lost: set[tuple[int, str]] = set()
        self.tail: KeptTail | None = None

    # --- recording ------------------------------------------------------------------------------
    def begin_forward(self) -> None:
        """Put the recorder on the stack, at the beginning of the accumulator's block.

        Ops report their records to the recorders (tapes and accumulators) on it.
        """
        try:
            self.frames.append(id(innermost_outside_frame()))
            self.home = get_ident()
            self.followed = self.known
            push_recorder(self)
            OPEN[id(self)] = ref(self)
        except BaseException:  # an interruption, such as KeyboardInterrupt
            self.end_forward()
            raise

    def end_forward(self) -> None:
        OPEN.pop(id(self), None)
        self.frames.clear()
        self.followed = UNFOLLOWED
        remove_recorder(self)

    def used_elsewhere(self, value_ids: Sequence[int], /) -> None:
        """Note that another thread used values: the tangents of what it computed are missing."""
        if get_ident() != self.home:
            own = self.followed.intersection(value_ids)
            record_exit_elsewhere(self, own, self.lost, "in another thread")

    def watch_primal(self, x: Array, t: Array) -> None:
        """Follow the primal x with the tangent t: ops then compute tangents of values made from x."""
        xp: Any = namespace()
        root, path = (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())
        value_id = root._ensure_id()
        held = self.tangents.get(value_id)
        # The tangent of a view is added to a part of its root's tangent.  So tangents of primals that
        # share memory add up.
        whole = filled_like("zeros", root) if held is None else xp.asarray(held, copy=True)
        at = ArrayData(storage_of(peek(t)))
        self.tangents[value_id] = add_through(whole, path, t, at)
        self.known.add(value_id)

    def record(self, record: Record) -> None:
        """Compute the tangents of a record's results from those of its inputs.

        Ops call this function for each call on a value that depends on the primals.
        """
        plan = PLANS[record[0]]
        if self.journal is not None:
            with MOVING:
                self.journal.note_constants(record, len(self.after), depth=2)
                self.after.append(without_kept(plan, record))
        if self.tail is not None:
            self.tail.records.append(record)
        errors = [
            self.missing[value_id] for value_id in inputs_of(record) if value_id in self.missing
        ]
        if error := find_missing_rule(record, self.tangents):
            errors.append(error)
        if errors:
            self.missing |= dict.fromkeys(results_of(record), errors[0])
            return
        quietly(self.push_record, plan, record)

    def push_record(self, plan: Plan | Structural, record: Record) -> None:
        """Compute and store the tangents of a record's results; only outer recorders record these ops.

        ``quietly`` calls this method in a new ``contextvars`` context, so the stack need not be
        restored.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        self.leave_stack()
        found = plan.push_tangents(self, record)
        for value_id, tangent in zip(results_of(record), found, strict=True):
            if tangent is not None:
                # If the tangent is a view, read it now, so that only outer recorders record the read.
                current(tangent)
                self.tangents[value_id] = tangent

    def leave_stack(self) -> None:
        """Remove this recorder, and those entered after it, from the stack of this thread's recorders.

        The outer recorders (tapes and accumulators) stay, so that only they record the computation of
        tangents.  The caller runs inside ``quietly``, which restores the stack.
        """
        around = recorders()
        if self in around:
            around = around[: around.index(self)]
        STACK.set((get_ident(), around))

    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """Note in the journal a conversion such as ``float(x)``, or the constants of a user's function.

        The journal lists constants that may come from a converted value, and begins with the first
        conversion.  A user's function reports its constants (``ENTERED``), as its ops are not recorded.

        plan, record : the kind of the event, and its ids and data.
        """
        if plan is LEFT:
            if self.journal is None:
                self.journal = Journal(self.known, self.frames)
                self.after.append(tuple(record))
            self.journal.note_exit(record)
        elif plan is ENTERED and self.journal is not None:
            self.journal.entered_inside(record, self.after)

    def report_exits(
        self, y: Array, found: Array | None, mode: str, doubts: list[Doubt] | None
    ) -> None:
        """Warn of an undefined (NaN) derivative; warn or raise if a derivative may be incomplete.

        A derivative may be incomplete if a value was converted to untracked data.
        y, found : the target and its derivative, or None.
        mode : "warn", "raise" or "ignore", as for the parameter ``exits``.
        doubts : a list to which the warnings are added for a later check; None to give them at once.
        """
        if self.undefined:
            warn_of_undefined(self.undefined, (found,))
        value_id = y._current_id()
        if self.journal is not None and mode != "ignore":
            lacks = LostParts(self.after, self.journal, list(self.known), [value_id])
            unseen = value_id not in self.known
            absent = lacks.sources if found is None else frozenset()
            never = doubts is not None
            lacks.report(
                absent, "derivative", mode, never_zeros=never, unseen=unseen, doubts=doubts
            )

    # --- tangents ---------------------------------------------------------------------------------
    def tangents_of_op(self, plan: Plan, record: Record) -> list[Array | None]:
        """Return the tangent of each result of an op, from the tangents of its inputs.

        An elementwise op's rules map tangents, and a linear op is applied to the tangent.  For any other
        op the VJP is transposed.

        plan : says what the record's items are.  record : the tape's entry for one call of the op.
        """
        op = plan.op
        if not any(value_id in self.tangents for value_id in inputs_of(record)):
            # The inputs are followed but have no tangent: integers, such as indices from another op.
            return [None] * len(op.outputs)
        data = ArrayData(storage_of(self.some_tangent(record)._data))
        if op.kind == "linear":
            return [self.tangent_of_linear_op(plan, record)]
        lifted = data.lift(plan, record)
        if op.diagonal:
            return [self.tangent_of_elements(plan, record, lifted, data)]
        if op.linear_in and all(plan.keeps_value(name) for name in op.parameters):
            return [self.tangent_by_itself(plan, lifted)]
        return self.tangents_by_transpose(plan, record, lifted, data)

    def tangent_of_elements(
        self, plan: Plan, record: Record, lifted: Record, data: ArrayData
    ) -> Array | None:
        """Return the tangent of an elementwise op: the sum of its rules' results on input tangents.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        lifted : the record with Arrays in place of raw data, so that outer tapes record the rules.
        data : the operations on Arrays.
        """
        total: Any = None
        # False if the sum may share memory with another Array, such as one that a user's rule keeps.
        new = True
        for at, rule, _, asks, _ in plan.pulls:
            if record[at] not in self.tangents:
                continue
            tangent = self.tangents[record[at]]
            part = rule(tangent, *[lifted[i] if i else data.xp for i in asks])
            new = total is not None or not (part is tangent or plan.op.checked)
            total = part if total is None else total + part
        return None if total is None else self.lay_out_tangent(plan, record, total, new)

    def tangent_by_itself(self, plan: Plan, record: Record) -> Array:
        """Return the tangent of an op that is linear in each of its inputs, such as ``matmul``.

        The op runs once for each input with a tangent, on the tangent in place of that input.

        plan : says what the record's items are.
        record : the op's call, with Arrays in place of raw data.
        """
        op = plan.op
        assert op.public is not None
        parameters = plan.kept_parameters(record)
        total: Any = None
        for i, x in enumerate(op.inputs):
            tangent = self.tangents.get(record[2 + i])
            if tangent is None:
                continue
            given = [
                tangent if other == x else plan.kept_value(record, other) for other in op.inputs
            ]
            part = op.public(*given, **parameters)
            total = part if total is None else total + part
        found: Array = total
        return found

    def some_tangent(self, record: Record) -> Array:
        """Return the first tangent of a record's inputs, which shows the device and array library."""
        return next(
            self.tangents[value_id] for value_id in inputs_of(record) if value_id in self.tangents
        )

    def lay_out_tangent(self, plan: Plan, record: Record, tangent: Array, new: bool) -> Array:
        """Return a tangent in the shape and dtype of the record's result, in memory of its own.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        new : False if another Array may share the data of ``tangent``.  Views are copied in any case.
        """
        xp: Any = namespace()
        shape, dtype = plan.result_layout(record, "y")
        if shape is not None and tangent.shape != shape:
            tangent = xp.broadcast_to(tangent, shape)
        if dtype is not None and tangent.dtype != dtype:
            tangent = xp.astype(tangent, dtype)
        if not new or tangent._state & (IS_VIEW | SCALAR):
            tangent = xp.asarray(tangent, copy=True)
        found: Array = tangent
        return found

    def tangent_of_linear_op(self, plan: Plan, record: Record) -> Array:
        """Return the tangent of a linear op: the op applied to the input's tangent.

        plan : says what the record's items are.  record : the tape's entry for one call of the op.
        """
        op, xp = plan.op, namespace()
        assert op.public is not None
        parameters = plan.kept_parameters(record)
        given: Any
        if not op.variadic:
            given = self.tangents[record[2]]
            # A parameter, such as the key of an index, may differ between the examples of a vmap.
            if axis_ids_of(parameters.values()):
                given = with_hidden_axes(given, *parameters.values())
        else:
            x, device = op.inputs[0], self.some_tangent(record).device
            shapes, dtypes = (plan.kept_value(record, f"{what} {x}") for what in LAYOUT)
            given = [
                self.tangents[value_id] if value_id in self.tangents
                else xp.zeros(shape, dtype=dtype, device=device)
                for value_id, shape, dtype in zip(record[2], shapes, dtypes, strict=True)
            ]  # fmt: skip
        found: Array = op.public(given, **parameters)
        return found

    def tangents_by_transpose(
        self, plan: Plan, record: Record, lifted: Record, data: ArrayData
    ) -> list[Array | None]:
        """Return the tangents of an op's results, computed by the transpose of its VJP.

        The VJP is linear in the cotangents.  Its derivative with respect to them is thus the JVP.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        lifted : the record with Arrays in place of raw data.  data : the operations on Arrays.
        """
        op, xp = plan.op, data.xp
        device = self.some_tangent(record).device
        # ``unread=()`` tells the rule that the target reads all results.  The cotangents below are 0,
        # since only the linearity of the rule is used; they would suggest that it reads none.
        if plan.keeps_value("unread"):
            lifted = plan.with_kept(lifted, {"unread": ()})
        g = []
        for y in op.outputs:
            shape, dtype = plan.result_layout(record, y)
            g.append(with_ended_axes(xp.zeros(shape, dtype=dtype, device=device), shape))

        def pull_back() -> list[tuple[int, Any]]:
            pulled: list[tuple[int, Any]] = []
            for pull in plan.pulls:
                found = data.apply(plan, pull, tuple(g) if len(g) > 1 else g[0], lifted)
                pulled += contributions(plan, pull, record, found)
            return pulled

        found = self.transpose_rule(g, pull_back)
        if plan.keeps_value("unread"):
            given = [self.tangents.get(value_id) for value_id in inputs_of(record)]
            for tangent in found:
                note_undefined(self.undefined, plan, given, tangent)
            if self.undefined and self.tail is None and plan.keeps_value("limits"):
                self.tail = KeptTail(self.tangents.value_ids())
                self.tail.records.append(record)
        return found

    def transpose_rule(self, g: list[Array], pull_back: PullBack) -> list[Array | None]:
        """Return the tangents of an op's results by the transpose of its VJP.

        The VJP is linear in the cotangents g of the results.  So its derivative with respect to g, with
        the tangents of the inputs as seeds, is the tangent of each result.

        g : cotangents of the results; their values do not matter.
        pull_back : a function that applies the VJP to ``g``, and returns pairs (id of an input,
        contribution to its cotangent).
        """
        cotangents = [part for part in g if differentiable(part)]
        with GradientTape() as tape:
            tape.watch(cotangents)
            pulled = pull_back()
        pairs = [
            (v, self.tangents[value_id])
            for value_id, v in pulled
            if v is not None and value_id in self.tangents
        ]
        if not pairs:
            return [None] * len(g)
        found = iter(tape.gradient(
            [v for v, _ in pairs], cotangents, [t for _, t in pairs],
            unconnected_gradients=UnconnectedGradients.ZERO,
        ))  # fmt: skip
        return [next(found) if differentiable(part) else None for part in g]

    # --- for records of views, writes and calls of functions -----------------------------------------
    def tangent(self, value_id: int) -> Array | None:
        """Return the tangent of a value; None if it does not depend on the primals."""
        return self.tangents.get(value_id)

    def tangent_part(self, tangent: Array, path: Path) -> Array:
        """Return a copy of the part of a tangent that belongs to the view with this path.

        path : the steps, such as indexing and transposing, from the whole Array to the view.
        """
        found: Array = namespace().asarray(walk_path(tangent, path, namespace()), copy=True)
        return found

    def write_tangent(self, write: PutRecord | AddRecord) -> None:
        self.tangents.apply_write(write)

    def push_users_rule(
        self, outs: Sequence[int], cotangents: list[Array], pull_back: PullBack
    ) -> list[Array | None]:
        """Return the tangents of a function's results by the transpose of the VJP that its user wrote.

        If an op of the VJP has no derivative, return Nones; a derivative that needs one raises the
        error.

        outs : ids of the results.  cotangents : one of each result; their values do not matter.
        pull_back : the user's VJP as a function without parameters: it applies the VJP to
        ``cotangents``, and returns pairs (id of an input, contribution to its cotangent).
        """
        try:
            return self.transpose_rule(cotangents, pull_back)
        except MissingRule as error:
            self.missing |= dict.fromkeys(outs, error)
            return [None] * len(cotangents)

    def rerun(
        self, outs: Sequence[int], records: Sequence[Record], names: Sequence[int]
    ) -> list[Array | None]:
        """Return the tangents of the results of a ``recompute_grad`` function.

        The function has run a second time, because its first run left no records.

        outs : value ids of the results of the first run.  records : the records of the second run.
        names : value ids of the same results in the second run.
        """
        with open_hidden_axis(
            REPLAY
        ):  # permits kept values with hidden axes of a vmap that has ended
            for record in records:
                self.record(record)
        for out, name in zip(outs, names, strict=True):
            if name in self.missing:
                self.missing[out] = self.missing[name]
        return [self.tangents.get(name) for name in names]

    # --- results ----------------------------------------------------------------------------------
    def defined_tangent(self, y: Array, value_id: int) -> Array | None:
        """Return the tangent of y, whose value has this id; if it is NaN, try reverse mode.

        Where eigenvalues of a factorisation coincide, reverse mode may have a finite limit of the
        derivative.
        """
        tangent = self.tangents.get(value_id)
        if tangent is not None and self.tail is not None and is_nan(tangent):
            found = quietly(self.reverse_tangent, y, value_id)
            if found is not None:
                self.tangents[value_id] = tangent = found
        return tangent

    def reverse_tangent(self, y: Array, value_id: int) -> Array | None:
        """Return the tangent of y by reverse mode; None if y has no tangent or an undefined one.

        Reverse mode can compute limits where eigenvalues coincide; forward mode has NaN there.  Only
        outer recorders (tapes or accumulators) record the ops.

        value_id : the id of the value of y.
        """
        assert self.tail is not None
        self.leave_stack()
        try:
            with open_hidden_axis(REPLAY):
                return self.tail.tangent_of(y, value_id, self.tangents)
        # The target reads columns of a factorisation that are not unique, for which the rule raises
        # (``refuse_free_columns``).
        except ValueError:
            return None

    def tangent_of_target(self, y: Array) -> Array | None:
        """Return the tangent of a target; None if it does not depend on the primals.

        The result is a new Array with the tangent's data, not a copy.  A copy would be an op.  An outer
        tape that has stopped by now would not record the op, and so would not follow the copy.
        """
        value_id, _ = current(y)
        if value_id in self.missing:
            raise self.missing[value_id].rebuild_error()
        tangent = self.defined_tangent(y, value_id)
        if tangent is not None:
            return private_handle(tangent)
        root, path = location(y)
        whole = self.defined_tangent(root, root._value_id) if path else None
        if whole is not None:  # y is a view that was not read while this pass recorded
            # Give the tangent the memory layout of the root, so that each step of the path makes a view.
            # A step that copies would be an op.
            found: Array = walk_path(lay_out_like(private_handle(whole), root), path, namespace())
            # A private handle, so that the caller's writes do not change the tangent.
            return found if whole._value_id else private_handle(found)
        return None


def without_kept(plan: Plan | Structural, record: Record) -> Record:
    """Return a record without its kept values: plan number, result ids and input ids.

    Such short records show which values depend on a converted one.  A LEFT record, which marks the
    conversion of a value to untracked data, is returned unchanged.

    plan : says what the record's items are.
    """
    if plan is LEFT:
        return record
    end = plan.inputs.stop if isinstance(plan.inputs, slice) else plan.inputs + 1
    return record[:end]
