"""Note the constants that enter recorded ops after a value was converted to untracked data.

A conversion such as ``float(x)`` is called an exit: the value leaves the tape.  An entry is a constant
that enters a recorded op after an exit.  If the constant was computed from the converted value, the
gradient lacks a part.  Each recorder has a ``Journal`` of both.  Before the first exit the journal costs
nothing.  After it the recorder passes each new record to ``Journal.note_constants``.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import ref

from .._array.exits import LEFT, STOPPED, LeftRecord
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of, results_of
from .._storage.storage import STORAGES, storage_of
from .._util.source_locations import Stack, stack_here

SAMPLE = 64  # only so many first elements of constants and of converted values are compared
REMEMBERED = 64  # the number of conversions whose values are kept for comparison
OPERATORS = "<arraytape"  # the beginning of the file name of a compiled op
WRITE = "record_write"  # the function that records ``x[key] = value`` and ``x += value``


class Entry(NamedTuple):
    """A recorded op that got a constant after a conversion, as by ``float(x)``, of a followed value.

    stack : the call stack at the op.  op : the op's name.  places : the indices of the inputs that are
    constants, because the recorder (a tape or an accumulator) does not follow them.  inputs : the names
    of all inputs.
    """

    stack: Stack
    op: str
    places: tuple[int, ...]
    inputs: tuple[str, ...]


class Seen(NamedTuple):
    """Floats of a converted value: a later constant with one of them was probably computed from it.

    numbers : the floats with many decimals, which are hardly equal by chance.
    data : a weak reference to the raw data of the converted value.
    """

    numbers: frozenset[Any]
    data: Any


class Journal:
    """The untracked conversions of one recorder (a tape or an accumulator), and later constants.

    A conversion such as ``float(x)`` takes a value off the tape.  A constant of a later op may be
    computed from the value, and the gradient then lacks a part.

    known : the value ids that the recorder follows.
    frames : the ``id()`` of each Python frame that entered the recorder's ``with`` block.  Noted call
    stacks end there.
    seen : a Seen for each of the first REMEMBERED conversions.
    entries : list of tuples (index of a record, Entry, True if the constant has a number of a converted
    value).
    """

    def __init__(self, known: Container[int], frames: Container[int]) -> None:
        self.known, self.frames = known, frames
        self.seen: list[Seen] = []
        self.entries: list[tuple[int, Entry, bool]] = []

    def note_exit(self, record: Sequence[Any]) -> None:
        """Keep some numbers of a value that was just converted, to recognize them in later constants.

        record : the record that marks the conversion (such as ``float(x)``) on the tape.
        """
        data = LeftRecord(*record).data()
        if data is not None and len(self.seen) < REMEMBERED:
            numbers = frozenset(numbers_of(data))
            if numbers:
                self.seen.append(Seen(numbers, ref(data)))

    def note_constants(self, record: Record, index: int, depth: int) -> None:
        """Note the op of a new record if it got a constant: an input that is not followed, or a float.

        Integer constants do not count, because an integer has no derivative.

        index : the number of the record.  depth : the number of Python frames from here to the function
        of the op, whose local variables hold the constants.
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
        came_back = any(map(self.has_converted_number, operands))
        self.entries.append((index, Entry(stack, plan.name, places, names), came_back))

    def entered_inside(self, event: Sequence[Any], records: Sequence[Record]) -> None:
        """Add the constants that entered ops in a user's function, with the number of its call.

        event : (ENTERED, tuples as in ``self.entries`` from the function's run, the id of a result).
        records : those of the recorder; the record of the call need not be the last one.  If it is not
        among them, as in a recorder that keeps no records, the number is -1.
        """
        _, entries, value_id = event
        places = range(len(records) - 1, -1, -1)
        index = next((i for i in places if value_id in results_of(records[i])), -1)
        self.entries += [(index, entry, came_back) for _, entry, came_back in entries]

    def has_converted_number(self, data: Any) -> bool:
        """Return True if a number in ``data``, a constant of an op, occurs in a converted value.

        A constant that shares memory with the converted value (such as ``float(x)``) does not count.
        Neither does a result of ``stop_gradient``, which the user means to be constant.
        """
        numbers = {*numbers_of(data)} if id(data) not in STOPPED else set()
        return any(
            not numbers.isdisjoint(seen.numbers) and not may_share_memory(data, seen.data())
            for seen in self.seen
        )


def has_numbers(plan: Plan, record: Record) -> bool:
    """Return True if a parameter (no input) of a recorded call was a float, as p in ``norm(x, p)``.

    Such a float is a constant, which may have been computed from a converted value.
    plan : the description of the op's inputs and parameters.
    """
    return any(
        plan.keeps_value(name) and type(plan.kept_value(record, name)) is float
        for name in plan.op.parameters
    )


def operands_of(plan: Plan | Structural, places: Sequence[int], depth: int) -> list[Any]:
    """Return the raw data (as of NumPy) of an op's inputs for a record that is just being made.

    plan : the description of the op's inputs.  places : the indices of the wanted inputs.  The data are
    local variables of the op's compiled function, or of ``record_write``, ``depth`` frames above.
    Return [] if that frame is neither.
    """
    frame = sys._getframe(depth)
    if frame.f_code.co_name == WRITE:
        return [frame.f_locals["value"]] if 1 in places else []
    if not isinstance(plan, Plan) or not frame.f_code.co_filename.startswith(OPERATORS):
        return []
    values = frame.f_locals
    if plan.op.variadic:
        data = values.get(f"d_{plan.op.inputs[0]}", ())
        return [data[i] for i in places if i < len(data)]
    names = [f"d_{plan.op.inputs[i]}" for i in places]
    return [values[name] for name in names if name in values]


def is_integral(data: Any) -> bool:
    """Return True if ``data`` is a Python int, or an array of an integer or boolean dtype.

    An integer has no derivative, so that such a constant loses no part of a gradient.
    """
    dtype = getattr(data, "dtype", None)
    return isinstance(data, int) if dtype is None else getattr(dtype, "kind", "f") in "biu"


def numbers_of(data: Any) -> Iterator[Any]:
    """Yield the numbers with more than four decimals among the first SAMPLE numbers of ``data``.

    They show whether a constant is a copy of a converted value.  Numbers with fewer decimals may be
    equal by chance.
    """
    if isinstance(data, float | complex):
        values = [data]
    elif data is not None and type(data) in STORAGES and data.dtype.kind in "fc":
        values = storage_of(data).first_numbers(data, SAMPLE).ravel().tolist()
    else:
        return
    for value in values:
        number = value.real if isinstance(value, complex) else value
        if number == number and abs(number) < 1e15 and number != round(number, 4):
            yield value


def may_share_memory(data: Any, other: Any) -> bool:
    both = type(data) in STORAGES and type(data) is type(other)
    return both and storage_of(data).shares(data, other)
