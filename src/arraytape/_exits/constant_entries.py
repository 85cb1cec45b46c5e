"""The journal of a recorder: the constants that enter its ops after an exit.

An exit is an untracked conversion, such as ``float(x)``: a value leaves the tape.  An entry is a
constant that enters a recorded op after an exit, and may be made of the value that left.  Before the
first exit a journal costs nothing.  After it each record is checked once, and the stack is kept if an
input is not followed and is no integer.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .._array.exits import LEFT, STOPPED, LeftRecord
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of
from .._util.source_locations import Stack, stack_here

SAMPLE = 64  # the number of an array's elements that are compared
REMEMBERED = 64  # the number of exits whose values are kept for comparison
OPERATORS = "<arraytape"  # the beginning of the file name of a compiled op


class Entry(NamedTuple):
    """An op to which a constant was passed after an exit, and which the recorder recorded.

    places : the indices of the inputs that no recorder follows.  inputs : the names of all inputs.
    """

    stack: Stack
    op: str
    places: tuple[int, ...]
    inputs: tuple[str, ...]


class Seen(NamedTuple):
    """The data that an exit converted, and the numbers in it that are unlikely to be equal by chance."""

    numbers: frozenset[Any]
    data: Any  # a weak reference


class Journal:
    """The exits and entries of one recorder.

    known : the value ids that the recorder follows.  frames : the ``id`` of each frame with a block of
    the recorder.  seen : list of a Seen for each of the first REMEMBERED exits.  entries : list of
    tuples (index of a record, Entry, True if its constant has a number of an exit's value).
    """

    def __init__(self, known: Container[int], frames: Container[int]) -> None:
        self.known, self.frames = known, frames
        self.seen: list[Seen] = []
        self.entries: list[tuple[int, Entry, bool]] = []

    def left(self, record: Sequence[Any]) -> None:
        """Keep the numbers of the converted value, to recognize them in later constants.

        record : a LEFT record, which marks an exit.
        """
        data = LeftRecord(*record).data()
        if data is not None and len(self.seen) < REMEMBERED:
            numbers = frozenset(numbers_of(data))
            if numbers:
                self.seen.append(Seen(numbers, ref(data)))

    def note(self, record: Record, index: int, depth: int) -> None:
        """Add an entry if the record has a constant among its inputs or parameters.

        depth : the number of frames from here to the op's function.
        """
        plan = PLANS[record[0]]
        if plan is LEFT:
            return
        value_ids = inputs_of(record)
        places = tuple([i for i, value_id in enumerate(value_ids) if value_id not in self.known])
        if not places and not (isinstance(plan, Plan) and has_numbers(plan, record)):
            return
        operands = operands_of(plan, places, depth + 1)
        if places and operands and all(map(is_integral, operands)):
            return
        stack = stack_here(self.frames)
        names = tuple(plan.op.inputs) if isinstance(plan, Plan) else ()
        came_back = any(map(self.left_before, operands))
        self.entries.append((index, Entry(stack, plan.name, places, names), came_back))

    def entered_inside(self, entries: Sequence[tuple[int, Entry, bool]], index: int) -> None:
        """Add the entries from inside a call of a user's function that is one record, at ``index``."""
        self.entries += [(index, entry, came_back) for _, entry, came_back in entries]

    def left_before(self, data: Any) -> bool:
        """Return True if ``data`` holds a number of a value that an exit converted, in other memory."""
        numbers = {*numbers_of(data)} if id(data) not in STOPPED else set()
        return any(
            not numbers.isdisjoint(seen.numbers) and not may_share_memory(data, seen.data())
            for seen in self.seen
        )


def has_numbers(plan: Plan, record: Record) -> bool:
    """Return True if a record keeps a float as the value of one of its op's parameters."""
    return any(
        plan.keeps_value(name) and type(plan.kept_value(record, name)) is float
        for name in plan.op.parameters
    )


def operands_of(plan: Plan | Structural, places: Sequence[int], depth: int) -> list[Any]:
    """Return the operands at ``places`` of the op that runs ``depth`` frames above; [] without an op."""
    frame = sys._getframe(depth)
    if not isinstance(plan, Plan) or not frame.f_code.co_filename.startswith(OPERATORS):
        return []
    values = frame.f_locals
    if plan.op.variadic:
        data = values.get(f"d_{plan.op.inputs[0]}", ())
        return [data[i] for i in places if i < len(data)]
    names = [f"d_{plan.op.inputs[i]}" for i in places]
    return [values[name] for name in names if name in values]


def is_integral(data: Any) -> bool:
    """Return True if an operand has an integer or boolean dtype."""
    dtype = getattr(data, "dtype", None)
    return isinstance(data, int) if dtype is None else getattr(dtype, "kind", "f") in "biu"


def numbers_of(data: Any) -> Iterator[Any]:
    """Yield the numbers with more than four decimals among the first SAMPLE numbers of ``data``.

    Numbers with fewer decimals are skipped, because they may be equal by chance.
    """
    if isinstance(data, float | complex):
        values = [data]
    elif isinstance(data, np.ndarray) and data.dtype.kind in "fc":
        values = data.flat[:SAMPLE].tolist()
    else:
        return
    for value in values:
        number = value.real if isinstance(value, complex) else value
        if number == number and abs(number) < 1e15 and number != round(number, 4):
            yield value


def may_share_memory(data: Any, other: Any) -> bool:
    both = isinstance(data, np.ndarray) and isinstance(other, np.ndarray)
    return both and np.may_share_memory(data, other)
