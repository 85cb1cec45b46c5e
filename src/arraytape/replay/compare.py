"""Comparison of two traced calls with one signature, for ``Function.compare``.

``state_differs`` and ``first_unequal_guard`` compare the values that the calls read.  A guard is a
condition on a value that the function read, for example by ``float(x)``.  If these values are equal,
``describe_difference`` compares the programs and results.  Calls that read equal values must have equal
programs.  If their programs differ, they depend on a value that is not traced, and the function cannot
be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._storage.storage import storage_of
from .._util.array_types import RawArray
from .call import Call
from .callback import Effect
from .program import CONSTANT, Guard, Node, Program
from .reach.reasons import Changed, unreadable
from .reach.sameness import same_data, same_value


def state_differs(first: Call, second: Call) -> str:
    """Return a message on a Python value that differed between two recorded calls, else ""."""
    try:
        first.read(second.values)
    except Changed as change:
        return f"{change} had another value"
    except Exception as error:
        return unreadable(error)
    return ""


def first_unequal_guard(first: Call, second: Call) -> Guard | None:
    """Return the first guard that differs between two calls, or None if all guards are equal.

    A guard is a condition on a value that the function read, for example by ``float(x)``.  Of two
    different guards at the same position, the guard of the second call is returned.
    """
    a, b = first.trace.program.guards, second.trace.program.guards
    for before, guard in zip(a, b, strict=False):
        if (before.kind, before.expected, before.line) != (guard.kind, guard.expected, guard.line):
            return guard
    rest = [*a[len(b) :], *b[len(a) :]]  # the further guards of the call that has more
    return rest[0] if rest else None


def describe_difference(first: Call, second: Call) -> str:
    """Return a text on the first difference between two calls that read equal values; "" if none.

    Such calls must have the same program (recorded NumPy calls), results and writes. A difference means
    that the function cannot be replayed.
    """
    return (
        programs_differ(first, second)
        or records_differ(first, second)
        or results_differ(first, second)
        or other_arrays(first, second)
        or drawing_message(second)
    )


def programs_differ(one: Call, other: Call) -> str:
    """Return a text on the first difference of the NumPy calls recorded in two calls, else ""."""
    first, second = one.trace.program, other.trace.program
    places = [{node: i for i, node in enumerate(program.nodes)} for program in (first, second)]
    for a, b in zip(first.nodes, second.nodes, strict=False):
        if (a.op, a.shape, a.dtype, a.strides) != (b.op, b.shape, b.dtype, b.strides):
            return f"{a.op} of shape {a.shape} in one call, {b.op} of shape {b.shape} in the next"
        if a.op == CONSTANT:
            if not same_constant(a.value, b.value):
                return constant_message(other, b)
        elif comparable_arguments((a.args, a.keywords), places[0]) != comparable_arguments(
            (b.args, b.keywords), places[1]
        ):
            return f"{a.op} of shape {a.shape} has other arguments (a number that changes?)"
    if len(first.nodes) != len(second.nodes):
        return f"{len(first.nodes)} calls in one call, {len(second.nodes)} in the next"
    return ends_differ(first, second, places)


def same_constant(a: RawArray, b: RawArray) -> bool:
    """Return True if two constants have the same bits; data on a GPU is copied to the host."""
    return same_data(storage_of(a).host(a), storage_of(b).host(b))


def constant_message(call: Call, node: Node) -> str:
    """Return a message on a constant that differs between two calls, with the line that used it.

    call : the recorded call of the user's function.
    node : the constant in its program.
    """
    line = call.trace.lines.get(node, "")
    where = f" at {line}" if line else ""
    return (
        f"data of shape {node.shape} was made outside arraytape{where} (random numbers?). Pass it as "
        "an argument; it runs eagerly"
    )


def records_differ(one: Call, other: Call) -> str:
    """Return a message if a gradient tape around two calls recorded different ops, else ""."""
    same = recorded_in(one) == recorded_in(other)
    return "" if same else "a tape around it recorded something else"


def recorded_in(call: Call) -> Any:
    """Return the records that a gradient tape made in a call, in a form that ``==`` can compare.

    A node (recorded NumPy call) is represented by its number among the nodes of the call.
    """
    recorded = call.recorded
    if recorded is None:
        return None
    places = {node: i for i, node in enumerate(call.trace.program.nodes)}
    return comparable_arguments(tuple(recorded.records), places), call.recorded_ids()


def ends_differ(first: Program, second: Program, places: Sequence[Mapping[Node, int]]) -> str:
    """Return a message if the inputs, outputs or writes of two programs are different nodes, else "".

    A node is an input, a constant or a recorded NumPy call.
    places : for each program, a dict from a node to its number, by which nodes are compared.
    """
    for name in ("inputs", "outputs", "writes"):
        ends = [
            [places[i][node] for node in getattr(program, name)]
            for i, program in enumerate((first, second))
        ]
        if ends[0] != ends[1]:
            return f"its program has other {name}"
    return ""


def results_differ(first: Call, second: Call) -> str:
    """Return a text on a difference of results, written Arrays or callbacks of two calls, else ""."""
    if first.structure != second.structure:
        return "its result has another structure"
    for a, b in zip(first.origins, second.origins, strict=True):
        if a._replace(value=None) != b._replace(value=None) or not same_value(a.value, b.value):
            return "a part of its result differs. Return it as an Array"
    if first.writes != second.writes:
        return "it writes to another Array"
    return effects_differ(first.trace.effects, second.trace.effects)


def effects_differ(first: Sequence[Effect], second: Sequence[Effect]) -> str:
    """Return a message if the callbacks of two calls, or their Python arguments, differ; else ""."""
    if len(first) != len(second) or any(map(Effect.differs, first, second)):
        return (
            "a callback is another function, or is given another Python value. Make it outside of the "
            "function, and pass it Arrays"
        )
    return ""


def other_arrays(first: Call, second: Call) -> str:
    """Return a message if two calls used different Arrays that are no arguments, else ""."""
    if [*map(id, first.other_inputs)] != [*map(id, second.other_inputs)]:
        return "it uses another Array that is no argument. Pass it as an argument"
    return ""


def drawing_message(call: Call) -> str:
    """Return a message if a call may have drawn from a random generator or iterator, else "".

    Such a function cannot be replayed, because a replay would repeat the number that was drawn.
    """
    if not call.drawn_path:
        return ""
    return (
        f"it may draw from {call.drawn_path}, which returned equal values twice. Pass the value as an "
        "argument"
    )


def comparable_arguments(value: Any, places: dict[Node, int]) -> Any:
    """Return the arguments of a recorded NumPy call in a form that can be compared with ``==``.

    A node, the result of another recorded call, is represented by its number in ``places``.  A function
    is represented by its type only, another value by its type and repr.
    """
    kind = type(value)
    if kind is Node:
        return Node, places[value]
    if kind is tuple or kind is list:
        return kind, tuple([comparable_arguments(part, places) for part in value])
    if kind is dict:
        return kind, tuple(
            [(name, comparable_arguments(part, places)) for name, part in value.items()]
        )
    if callable(value):
        return kind
    return kind, repr(value)
