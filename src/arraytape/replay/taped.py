"""A function under a tape: a replayed call is one record, with a pullback of its own.

The pullback is a program: the backward pass through the records of a traced call, traced when it
first runs.  Other passes use the records themselves, made again from the call's inputs: guarded
reruns, outer recorders, several cotangents at once, and tangents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from .._array.array import Array
from .._array.views import current, keep_data
from .._custom.recompute import Either
from .._custom.recorded_calls import Call as CallOfUser
from .._custom.recorded_calls import CallRecord, call_record, hand_over
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of, results_of
from .._record.stack import new_value_id, only_recorders, recorders
from .._storage.storage import MAKING
from .._tape.backward import BackwardPass, backward
from .._tape.data import RawData
from .._tape.recording import Recording
from .._util.blocks import Quiet, Setting
from .call import Call
from .error_state import silently
from .passes.simplify import without_dead_code
from .program import Node, Program, nodes_in, replaced
from .pull import Pulled
from .recorded import followed_here, renamed, tape_here
from .tracing.trace import Trace
from .tracing.traced import ACTIVE
from .tracing.traced_storage import TRACED


class Taped:
    """The recording of the replays of one plan.

    results : the ids of outputs and writes, as ``Recorded`` has them.  made : those among them that
    are not an input's.  pulled : the program together with its pullback; None until a backward pass
    was traced.
    """

    def __init__(self, call: Call, run: Callable[..., Any], name: str) -> None:
        recorded, program = call.recorded, call.trace.program
        assert recorded is not None
        self.name, self.program, self.quiet = name, program, call.trace.quiet
        self.run = self.as_called(run)
        self.records, self.pattern = recorded.records, recorded.pattern
        self.results = call.given_ids()
        self.made = [*dict.fromkeys(i for i in self.results if i > len(self.pattern))]
        self.followed = range(1, 1 + max(recorded.ids.values(), default=0))
        self.kept = [*dict.fromkeys(nodes_in(tuple(self.records)))]
        self.computing = without_dead_code(Program(program.inputs, program.nodes, [], self.kept))
        self.traceable = not any(
            isinstance(plan := PLANS[record[0]], Plan) and plan.op.checked
            for record in self.records
        )
        self.careful = any(
            node.dtype.kind == "c" for node in (*program.inputs, *program.outputs, *program.writes)
        )
        self.pulled: Pulled | None = None
        self.forward: Callable[..., Any] = self.without_pull

    def as_called(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return a program's function; without warnings if the user's code set np.errstate."""
        return functools.partial(silently, run) if self.quiet else run

    def without_pull(self, data: Sequence[Any]) -> Any:
        """Return outputs and writes, and nothing saved for a pullback."""
        return *self.run(*data), ()

    def __call__(self, handles: Sequence[Array]) -> Any:
        """Return outputs, writes and their ids for Arrays; None if the tape around differs."""
        tape = tape_here()
        if tape is None:
            return None
        for x, followed in zip(handles, self.pattern, strict=True):
            if followed and x._has_state:
                current(x)  # a read of a Variable, which a tape may then follow
        if followed_here(handles, tape) != self.pattern:
            return None
        value_ids = tuple([x._current_id() for x in handles])
        data = [keep_data(x) for x in handles]
        pulled, forward = self.pulled, self.forward
        outputs, writes, saved = forward(data)
        outs = [new_value_id() for _ in self.made]
        names = self.names(value_ids, outs)
        if outs:
            call = TapedCall(self, data, pulled, saved, tape)
            hand_over(FUNCTION, call_record(FUNCTION, outs, value_ids, call), [tape])
        return outputs, writes, [names[number] for number in self.results]

    def names(self, value_ids: Sequence[int], outs: Sequence[int]) -> dict[int, int]:
        """Return the ids of a call's inputs and results, by the ids in the records of this plan."""
        return {**dict(enumerate((0, *value_ids))), **dict(zip(self.made, outs, strict=True))}

    def taped_values(self, data: Sequence[Any]) -> dict[Node, Any]:
        """Return the values that records keep, computed from the inputs of a call."""
        return dict(zip(self.kept, self.computing.run(data)[0], strict=True))

    def trace_pull(self, data: Sequence[Any], seeds: Sequence[Any]) -> None:
        """Trace the backward pass for cotangents of these shapes, and make its program.

        seeds : the cotangents of ``made``, None where there is none.
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
                for name, g in zip(self.made, seeds, strict=True):
                    if g is not None:
                        pass_.lend_contribution(name, trace.input(np.array(g, order="C")))
                backward(pass_, records, careful=True)
                found = [pass_.cotangents.get(place) for place in range(1, 1 + len(data))]
                parts = [None if g is None else trace.node_of(g) for g in found]
        finally:
            trace.open = False
        self.traceable = not (trace.spoiled or trace.foreign or trace.quiet)
        if self.traceable:
            given = tuple([g is not None for g in seeds])
            pulled = Pulled(self.program, trace.program, parts, given, self.name)
            self.forward = functools.partial(pulled.forward_outputs, self.as_called(pulled.run))
            self.pulled = pulled


class TapedCall(CallOfUser):
    """The data that the record of a replayed call keeps: inputs, and values for the pullback."""

    cusped = True  # since some op in the function may be

    def __init__(
        self,
        taped: Taped,
        data: Sequence[Any],
        pulled: Pulled | None,
        saved: Sequence[Any],
        tape: Recording,
    ) -> None:
        self.taped, self.data, self.pulled, self.saved = taped, data, pulled, saved
        self.name, self.pull, self.missing = f"function {taped.name}", None, None
        self.careful, self.tape, self.told = taped.careful, ref(tape), False
        self.records: list[Record] | None = None
        self.kept_arrays = [*data, *saved]

    def back(self, seeds: Sequence[Any]) -> Any:
        """Return cotangents of the inputs by the program; None if the program does not serve."""
        pulled = self.pulled
        if pulled is None or tuple([g is not None for g in seeds]) != pulled.given:
            return None
        if not are_plain(seeds):
            return None
        try:
            return pulled.back(self.data, self.saved, seeds)
        except (
            Exception
        ):  # a guard failed, or the records raise the same error with a better message
            return None

    def unfold(self, value_ids: Sequence[int], outs: Sequence[int]) -> list[Record]:
        """Return the records that the function itself would have made."""
        if self.records is None:
            with Quiet():
                values = self.taped.taped_values(self.data)
            names = self.taped.names(value_ids, outs)

            def unfolded_id(number: int) -> int:
                return (
                    names[number] if number in names else names.setdefault(number, new_value_id())
                )

            self.records = [
                renamed(replaced(record, values.__getitem__), unfolded_id)
                for record in self.taped.records
            ]
        return self.records

    def tell_tape(self, records: Sequence[Record], outs: Sequence[int]) -> None:
        """Pass the records to the tape, if the tape records its own gradient."""
        tape = self.tape()
        if self.told or tape is None or tape not in recorders():
            return
        self.told = True
        for record in records:
            if any(value_id in tape.followed for value_id in inputs_of(record)):
                tape.record(renamed_results(record, outs))
                tape.followed.update(results_of(record))


def renamed_results(record: Record, known: Sequence[int]) -> Record:
    """Return a record with new ids for results that are among ``known``."""
    new = tuple(
        [new_value_id() if value_id in known else value_id for value_id in results_of(record)]
    )
    return record[0], new if type(record[1]) is tuple else new[0], *record[2:]


def are_plain(seeds: Sequence[Any]) -> bool:
    return all(g is None or isinstance(g, np.ndarray | np.generic) for g in seeds)


def pull_function(at: Any, record: Record) -> None:
    """Pull cotangents back by the program, or through the records of the function itself."""
    _, outs, value_ids, call = CallRecord(*record)
    seeds = [at.peek(out) for out in outs]
    if all(g is None for g in seeds):
        return
    plain = type(at) is BackwardPass and type(at.data) is RawData
    parts = call.back(seeds) if plain else None
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
    """Pull cotangents back through the records of the function itself."""
    records = call.unfold(value_ids, outs)
    call.tell_tape(records, outs)
    made = {value_id for record in records for value_id in results_of(record)}
    passes, followed = at.passes(), at.followed
    for one in passes:
        one.followed = Either(followed, made)
    try:
        backward(at, records, careful=True)
    finally:
        for one in passes:
            one.followed = followed


def push_function(at: Any, record: Record) -> list[Array | None]:
    """Push tangents through the records of the function itself."""
    _, outs, value_ids, call = CallRecord(*record)
    found: list[Array | None] = at.rerun(outs, call.unfold(value_ids, outs), outs)
    return found


FUNCTION = Structural("function", pull_function, push_function, inputs=2, cusped=True, unfolds=True)
