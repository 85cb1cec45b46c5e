"""The journal of a recorder: where constants enter its ops after a value has left.

Nothing is paid for before the first exit.  After it each record is looked at once, and the stack is kept
where an input is not followed and is no integer.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .._array.exits import LEFT, STOPPED, LeftRecord
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of
from .._util.places import Stack, stack_here

SAMPLE = 64  # elements of an array that left, or that entered, that are looked at
REMEMBERED = 64  # exits whose numbers are remembered
OPERATORS = "<arraytape"  # how the file name of a compiled op begins


class Entry(NamedTuple):
    """The entry of a constant into a recorded op.

    places : which of its inputs no recorder follows.  inputs : the names of all, in order.
    """

    stack: Stack
    op: str
    places: tuple[int, ...]
    inputs: tuple[str, ...]


class Seen(NamedTuple):
    """A value that left: its data, and some of its numbers that are hardly there by chance."""

    numbers: frozenset[Any]
    data: Any  # a weak reference


class Journal:
    """The exits' numbers, and the entries by the place of their record.

    frames : the addresses of the frames in which the recorder's blocks are.  entries : the place of a
    record, where a constant entered it, and whether that is a number that left.
    """

    def __init__(self, known: Container[int], frames: Container[int]) -> None:
        self.known, self.frames = known, frames
        self.seen: list[Seen] = []
        self.entries: list[tuple[int, Entry, bool]] = []

    def left(self, record: Sequence[Any]) -> None:
        """Remember a value that left."""
        data = LeftRecord(*record).data()
        if data is not None and len(self.seen) < REMEMBERED:
            numbers = frozenset(numbers_of(data))
            if numbers:
                self.seen.append(Seen(numbers, ref(data)))

    def note(self, record: Record, index: int, depth: int) -> None:
        """Look at a record: does a constant enter?

        depth : how many frames there are from here to the op's function.
        """
        plan = PLANS[record[0]]
        if plan is LEFT:
            return
        tids = inputs_of(record)
        places = tuple([i for i, tid in enumerate(tids) if tid not in self.known])
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
        """Note that constants entered inside the user's function of the record at ``index``."""
        self.entries += [(index, entry, came_back) for _, entry, came_back in entries]

    def left_before(self, data: Any) -> bool:
        """Return True if an operand has a number that left, and is not the very data that left."""
        numbers = {*numbers_of(data)} if id(data) not in STOPPED else set()
        return any(
            not numbers.isdisjoint(seen.numbers) and not may_share_memory(data, seen.data())
            for seen in self.seen
        )


def has_numbers(plan: Plan, record: Record) -> bool:
    """Return True if a parameter of an op is a floating-point number."""
    return any(
        plan.keeps_value(name) and type(plan.kept_value(record, name)) is float
        for name in plan.op.parameters
    )


def operands_of(plan: Plan | Structural, places: Sequence[int], depth: int) -> list[Any]:
    """Return the data of the operands of an op that is being recorded, if at hand."""
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
    """Return True if an operand is made of integers or truth values."""
    dtype = getattr(data, "dtype", None)
    return isinstance(data, int) if dtype is None else getattr(dtype, "kind", "f") in "biu"


def numbers_of(data: Any) -> Iterator[Any]:
    """Return the first numbers of data that are hardly there by chance: with more than four decimals."""
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
    """Return True if two arrays may share memory."""
    both = isinstance(data, np.ndarray) and isinstance(other, np.ndarray)
    return both and np.may_share_memory(data, other)
