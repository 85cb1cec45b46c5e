"""The records that a tape around a traced call makes of the function's ops.

The tape records the traced call as usual.  After the call, ``Recorded.end_records`` copies these
records, with nodes of the program in place of data.  From the copies, ``taped.py`` makes the backward
pass of replays.  In the tape's own records, traced data is replaced by its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.aliasing import ADD, PUT, VIEW
from .._array.array import Array
from .._record.plan import PLANS, Plan, Record, results_of
from .._record.stack import Bystander, recorders
from .._storage.batched.batched_data import Batched
from .._tape.recording import Recording
from .tracing.lift import Lifted
from .tracing.trace import Trace
from .tracing.traced import AS_IT_IS, Traced


def tape_here() -> Recording | None:
    """Return the tape around a call, if a replay of the call can add a single record to it, else None.

    The tape must be the only recorder, and must not need the record of each op in the function, as a
    tape with observers, packing of data or NaN diagnosis does.
    """
    found = [one for one in recorders() if not isinstance(one, Bystander)]
    tape = found[0] if len(found) == 1 else None
    if type(tape) is not Recording or tape.observers or tape.accounts or tape.journal:
        return None
    needs_records = tape.packing is not None or tape.numerics is not None or tape.shared
    return None if needs_records else tape


def followed_here(handles: Sequence[Array], tape: Recording) -> tuple[bool, ...]:
    """Return for each Array whether the tape follows it.

    Variables are not read, because the tape would begin to follow a Variable that is read.  A replay
    needs a tape that follows the same inputs as in the recorded call.
    """
    return tuple([x._current_id() in tape.followed for x in handles])


class Refused(Exception):
    """The error for a call that cannot be one record of the tape in replays; its text is the reason."""


class Recorded:
    """The records that a tape made of the ops in a traced call (one whose NumPy calls are recorded).

    records : copies of the tape's records, with nodes (values of the program) in place of data.  They
        have new ids: 0 for values that the tape does not follow, 1, 2, ... for the program's inputs,
        and the next numbers for the results of the records.
    ids : value id of the tape -> new id.
    pattern : for each input, whether the tape follows it.
    why : the reason why one record cannot replace the function's records in a replay, or "".
    """

    def __init__(self, tape: Recording, trace: Trace) -> None:
        self.tape, self.trace = tape, trace
        self.tape_records, self.start, self.watched = (
            tape.records,
            len(tape.records),
            len(tape.leaves),
        )
        self.records: list[Record] = []
        self.ids: dict[int, int] = {}
        self.pattern: tuple[bool, ...] = ()
        self.why = ""
        self.ended = False

    def note_start(self) -> None:
        """Note how many records and watched values the tape has before the function starts.

        What comes later belongs to the function.
        """
        self.start, self.watched = len(self.tape_records), len(self.tape.leaves)

    def end_records(self, lifted: Sequence[Lifted]) -> None:
        """Copy the tape's records of the function's ops, and then put real values into the originals.

        While the function runs, these hold traced data, a stand-in that records NumPy calls.  After an
        interrupt, a second call only replaces the traced data.
        lifted : the Arrays that the function used, with their own data.
        """
        tape = self.tape
        if tape.records is not self.tape_records:
            self.tape_records, self.start = tape.records, 0
            self.why = "it stops or resets the tape around it"
        if not self.ended:
            try:
                self.take_records(lifted)
            except Refused as why:
                self.why = str(why)
            self.ended = True
        for place in range(self.start, len(self.tape_records)):
            self.tape_records[place] = settled_record(self.tape_records[place])

    def take_records(self, lifted: Sequence[Lifted]) -> None:
        """Set ``pattern``, ``ids`` and ``records`` from what the tape has recorded of the function.

        Raise Refused if a single record cannot replace these records in replays.
        lifted : the Arrays that the function used, with their own data.
        """
        known, tape = self.ids, self.tape
        self.pattern = tuple([one.followed_id in tape.known for one in lifted])
        for place, (one, followed) in enumerate(zip(lifted, self.pattern, strict=True)):
            if followed and known.setdefault(one.followed_id, place + 1) != place + 1:
                raise Refused("two of its Arrays hold one value")
        variables = sum([one.handle._has_state for one in lifted])
        if len(tape.leaves) - self.watched > variables:
            raise Refused("it watches Arrays on the tape around it")
        for record in self.tape_records[self.start :]:
            plan = PLANS[record[0]]
            if plan not in (VIEW, PUT, ADD) and (not isinstance(plan, Plan) or plan.notable):
                raise Refused(f"it has a record of {plan.name}, which a replay cannot make")
            for value_id in results_of(record):
                known.setdefault(value_id, len(lifted) + len(known) + 1)
            named = rename_ids(record, lambda value_id: known.get(value_id, 0))
            self.records.append(tuple([self.with_nodes(item) for item in named]))

    def with_nodes(self, value: Any) -> Any:
        """Return a record of the tape, or an item of a record, with nodes in place of data.

        Raise Refused for objects of unknown types.  A node is a value of the program: an input, a
        constant or a recorded call.
        """
        kind = type(value)
        if isinstance(value, Traced) or kind is np.ndarray:
            return self.trace.node_of(value)
        if kind is tuple or kind is list:
            return kind([self.with_nodes(part) for part in value])
        if kind in AS_IT_IS or kind is slice or isinstance(value, np.dtype | np.generic):
            return value
        raise Refused(f"a record of the tape keeps a {kind.__name__}")


def rename_ids(record: Record, name: Callable[[int], int]) -> Record:
    """Return a tape's record with ``name(id)`` in place of each result id and input id.

    The records of the traced call are renamed so that they serve as the records of a replay.
    """
    items = list(record)
    several = type(record[1]) is tuple
    items[1] = tuple(map(name, record[1])) if several else name(record[1])
    at = PLANS[record[0]].inputs
    items[at] = tuple(map(name, record[at]))
    return tuple(items)


def settled_record(value: Any) -> Any:
    """Return a tape's record, or an item of a record, with ndarrays in place of traced data.

    Traced data records NumPy calls, but the tape keeps the record after the end of the trace.
    """
    kind = type(value)
    if isinstance(value, Traced):
        return value.value
    if kind is Batched:
        if isinstance(value._data, Traced):
            value._data = value._data.value
        if value.diagonal is not None and isinstance(value.diagonal[0], Traced):
            value.diagonal = (value.diagonal[0].value, *value.diagonal[1:])
        return value
    if kind is tuple or kind is list:
        parts = [settled_record(part) for part in value]
        same = all(a is b for a, b in zip(parts, value, strict=True))
        return value if same else kind(parts)
    return value
