"""Replays under a tape: a replayed call is one record of the tape, with a pullback of its own.

A plan calls its ``Taped`` object with the Arrays.  The object runs the program and adds the record.  At
the first backward pass, ``pull_function`` traces the pass through the records that the function's ops
made (``Recorded``).  The program of that trace is the pullback of later replays (``pull.py``).

In some passes, the records of the function's ops are computed again from the call's inputs ("unfolded"):
in guarded reruns, under outer recorders, with several cotangents at once, and for tangents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from .._array.array import Array
from .._array.views import current, keep_data
from .._custom.recompute import UnionOfIds
from .._custom.recorded_calls import Call as CallOfUser
from .._custom.recorded_calls import CallRecord, call_record, give_record_to
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of, results_of
from .._record.stack import new_value_id, only_recorders, recorders
from .._storage.storage import MAKING
from .._tape.backward import BackwardPass, backward
from .._tape.data import RawData
from .._tape.recording import Recording
from .._util.blocks import Quiet, Setting
from .call import Call
from .error_state import run_silently
from .passes.simplify import without_dead_code
from .program import Node, Program, nodes_in, replaced
from .pull import ProgramWithPullback
from .recorded import followed_here, rename_ids, tape_here
from .tracing.trace import Trace
from .tracing.traced import ACTIVE
from .tracing.traced_storage import TRACED


class Taped:
    """The callable that runs a function's program under a gradient tape, as one record of the tape.

    results : the ids of outputs and writes in ``records`` (see ``Recorded``).
    made_ids : the ids in ``results`` of values that are no inputs.  Each replay gives them value ids.
    kept_nodes : the nodes (values of the program) that the records of the function's ops keep for their
        backward pass.
    kept_program : a program that computes only ``kept_nodes``.
    traceable : whether the backward pass may be traced.
    pulled : the program together with its pullback; None until a backward pass was traced.
    """

    def __init__(
        self, call: Call, run: Callable[..., Any], name: str, compile: bool | None = None
    ) -> None:
        recorded, program = call.recorded, call.trace.program
        assert recorded is not None
        self.compile = compile
        self.name, self.program, self.quiet = name, program, call.trace.quiet
        self.run = self.silenced(run)
        self.records, self.pattern = recorded.records, recorded.pattern
        self.results = call.recorded_ids()
        self.made_ids = [*dict.fromkeys(i for i in self.results if i > len(self.pattern))]
        self.followed = range(1, 1 + max(recorded.ids.values(), default=0))
        self.kept_nodes = [*dict.fromkeys(nodes_in(tuple(self.records)))]
        self.kept_program = without_dead_code(
            Program(program.inputs, program.nodes, [], self.kept_nodes)
        )
        self.traceable = not any(
            isinstance(plan := PLANS[record[0]], Plan) and plan.op.checked
            for record in self.records
        )
        self.careful = any(
            node.dtype.kind == "c" for node in (*program.inputs, *program.outputs, *program.writes)
        )
        self.pulled: ProgramWithPullback | None = None
        self.forward: Callable[..., Any] = self.run_without_saving

    def silenced(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``run``, wrapped to suppress NumPy's warnings if the user's function used np.errstate.

        run : a function that runs a program.
        """
        return functools.partial(run_silently, run) if self.quiet else run

    def run_without_saving(self, data: Sequence[Any]) -> Any:
        """Run the program before any backward pass was traced, so that no values need be saved for one.

        Return outputs, writes and ().
        """
        return *self.run(*data), ()

    def __call__(self, handles: Sequence[Array]) -> Any:
        """Run the program on Arrays and add a record to the tape around the call.

        Return outputs, writes and the value ids by which the tape follows them.  Return None without
        running the program if no tape can take the record, or if the tape follows other Arrays than in
        the traced call.
        """
        tape = tape_here()
        if tape is None:
            return None
        for x, followed in zip(handles, self.pattern, strict=True):
            if followed and x._has_state:
                current(x)  # reads a Variable, so that the tape may begin to follow its value
        if followed_here(handles, tape) != self.pattern:
            return None
        value_ids = tuple([x._current_id() for x in handles])
        data = [keep_data(x) for x in handles]
        pulled, forward = self.pulled, self.forward
        outputs, writes, saved = forward(data)
        outs = [new_value_id() for _ in self.made_ids]
        names = self.replay_ids(value_ids, outs)
        if outs:
            call = TapedCall(self, data, pulled, saved, tape)
            give_record_to(FUNCTION, call_record(FUNCTION, outs, value_ids, call), [tape])
        return outputs, writes, [names[number] for number in self.results]

    def replay_ids(self, value_ids: Sequence[int], outs: Sequence[int]) -> dict[int, int]:
        """Return a dict from ids in ``records`` (see ``Recorded``) to the value ids of one replay.

        It has the ids of inputs and results.
        value_ids : the value ids of the replay's inputs.
        outs : the new value ids for ``made_ids``.
        """
        return {**dict(enumerate((0, *value_ids))), **dict(zip(self.made_ids, outs, strict=True))}

    def taped_values(self, data: Sequence[Any]) -> dict[Node, Any]:
        """Return the values that the ops' records keep, as a dict node (of the program) -> value.

        data : the inputs, from which the values are computed.
        """
        return dict(zip(self.kept_nodes, self.kept_program.run(data)[0], strict=True))

    def trace_pull(self, data: Sequence[Any], seeds: Sequence[Any]) -> None:
        """Record the NumPy calls of the backward pass for ``seeds``, and set ``pulled``.

        If the recorded pass cannot be replayed, ``traceable`` becomes False.
        data : the inputs of a call.
        seeds : the cotangents of the values in ``made_ids``, None where there is none.
        """
        trace, values = Trace(), self.taped_values(data)
        trace.program.inputs, trace.program.nodes = [*self.program.inputs], [*self.program.nodes]
        records = [
            replaced(record, lambda node: trace.traced(node, values[node]))
            for record in self.records
        ]
        pass_ = BackwardPass(RawData(TRACED), self.followed)
        try:
            with Setting(ACTIVE, trace), Setting(MAKING, TRACED), only_recorders():
                for name, g in zip(self.made_ids, seeds, strict=True):
                    if g is not None:
                        pass_.lend_contribution(name, trace.input(np.array(g, order="C")))
                backward(pass_, records, careful=True)
                found = [pass_.cotangents.get(place) for place in range(1, 1 + len(data))]
                parts = [None if g is None else trace.node_of(g) for g in found]
        finally:
            trace.open = False
        self.traceable = not (trace.spoiled or trace.users_arrays or trace.quiet)
        if self.traceable:
            given = tuple([g is not None for g in seeds])
            pulled = ProgramWithPullback(
                self.program, trace.program, parts, given, self.name, self.compile
            )
            self.forward = functools.partial(pulled.forward_outputs, self.silenced(pulled.run))
            self.pulled = pulled


class TapedCall(CallOfUser):
    """The data that a tape's record of a replayed call keeps for the backward pass.

    data : the inputs.
    saved : the values that the pullback needs.
    records : the records of the function's ops with this call's data, or None before ``unfold`` was
        called.
    on_tape : whether ``add_to_tape`` has added these records to the tape.
    """

    cusped = True  # because an op within the function may have a cusp

    def __init__(
        self,
        taped: Taped,
        data: Sequence[Any],
        pulled: ProgramWithPullback | None,
        saved: Sequence[Any],
        tape: Recording,
    ) -> None:
        self.taped, self.data, self.pulled, self.saved = taped, data, pulled, saved
        self.name, self.pull, self.missing = f"function {taped.name}", None, None
        self.careful, self.tape, self.on_tape = taped.careful, ref(tape), False
        self.records: list[Record] | None = None
        self.kept_arrays = [*data, *saved]

    def pull_by_program(self, seeds: Sequence[Any]) -> Any:
        """Return the cotangents of the inputs, computed by the recorded program of the backward pass.

        Return None if there is no such program for these cotangents, or if it fails.
        seeds : the cotangents of the results, None where there is none.
        """
        pulled = self.pulled
        if pulled is None or tuple([g is not None for g in seeds]) != pulled.has_cotangent:
            return None
        if not are_plain(seeds):
            return None
        try:
            return pulled.run_pullback(self.data, self.saved, seeds)
        except Exception:  # the caller goes on with the records, which may raise the error again
            return None

    def unfold(self, value_ids: Sequence[int], outs: Sequence[int]) -> list[Record]:
        """Return the records that the tape would have made if the function itself had run.

        value_ids : the value ids of the inputs.
        outs : the value ids of the results.
        """
        if self.records is None:
            with Quiet():
                values = self.taped.taped_values(self.data)
            names = self.taped.replay_ids(value_ids, outs)

            def unfolded_id(number: int) -> int:
                return (
                    names[number] if number in names else names.setdefault(number, new_value_id())
                )

            self.records = [
                rename_ids(replaced(record, values.__getitem__), unfolded_id)
                for record in self.taped.records
            ]
        return self.records

    def add_to_tape(self, records: Sequence[Record], outs: Sequence[int]) -> None:
        """Add the records of the function's ops to the tape, if the tape is still active.

        An active tape also records the backward pass, which computes with intermediate values of the
        function.  The tape follows these values only if it has the records that made them.
        records : the records, with this call's data.
        outs : the value ids of the call's results.
        """
        tape = self.tape()
        if self.on_tape or tape is None or tape not in recorders():
            return
        self.on_tape = True
        for record in records:
            if any(value_id in tape.followed for value_id in inputs_of(record)):
                tape.record(renamed_results(record, outs))
                tape.followed.update(results_of(record))


def renamed_results(record: Record, known: Sequence[int]) -> Record:
    """Return a record with a new id for each result whose id is in ``known``.

    ``known`` has the result ids of the replayed call's record, which is on the tape already.  A tape
    must not have two records of one result.
    """
    new = tuple(
        [new_value_id() if value_id in known else value_id for value_id in results_of(record)]
    )
    return record[0], new if type(record[1]) is tuple else new[0], *record[2:]


def are_plain(seeds: Sequence[Any]) -> bool:
    """Return True if each cotangent is NumPy data or None.

    seeds : the cotangents.
    """
    return all(g is None or isinstance(g, np.ndarray | np.generic) for g in seeds)


def pull_function(at: Any, record: Record) -> None:
    """Pass cotangents back through a tape's record of a replayed call, in the backward pass ``at``.

    The recorded program of the backward pass runs if ``at`` is a plain ``BackwardPass`` over NumPy data.
    In other passes, or if there is no such program yet, the records of the function's ops are used.
    """
    _, outs, value_ids, call = CallRecord(*record)
    seeds = [at.peek(out) for out in outs]
    if all(g is None for g in seeds):
        return
    plain = type(at) is BackwardPass and type(at.data) is RawData
    parts = call.pull_by_program(seeds) if plain else None
    if parts is None:
        taped = call.taped
        if plain and taped.traceable and taped.pulled is None and are_plain(seeds):
            taped.trace_pull(call.data, seeds)
        pull_unfolded(at, call, value_ids, outs)
        return
    for out in outs:
        at.take_cotangent(out)
    for value_id, part in zip(value_ids, parts, strict=True):
        if part is not None and value_id in at.followed:
            at.add_contribution(value_id, part)


def pull_unfolded(at: Any, call: TapedCall, value_ids: Sequence[int], outs: Sequence[int]) -> None:
    """Pass cotangents back through the records of the single ops of a replayed function.

    at : the backward pass.
    call : the data of the replayed call.
    value_ids, outs : the value ids of its inputs and results.
    """
    records = call.unfold(value_ids, outs)
    call.add_to_tape(records, outs)
    made = {value_id for record in records for value_id in results_of(record)}
    passes, followed = at.passes(), at.followed
    for one in passes:
        one.followed = UnionOfIds(followed, made)
    try:
        backward(at, records, careful=True)
    finally:
        for one in passes:
            one.followed = followed


def push_function(at: Any, record: Record) -> list[Array | None]:
    """Return the tangents of a replayed call's results, computed op by op (forward mode).

    at : the pass, which has the tangents of the inputs.
    record : the tape's record of the call.
    """
    _, outs, value_ids, call = CallRecord(*record)
    found: list[Array | None] = at.rerun(outs, call.unfold(value_ids, outs), outs)
    return found


FUNCTION = Structural("function", pull_function, push_function, inputs=2, cusped=True, unfolds=True)
