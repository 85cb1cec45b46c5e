"""Find conversions whose values may have come back as constants, so that a gradient lacks a part.

A conversion of a followed value to untracked data, such as ``float(x)``, is called an exit.  An exit is
suspected if later a constant enters an op on which the target depends, in one of three cases: the
constant equals a number of the converted value, or the code computes it from that value, or the code
cannot be analysed.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .._array.exits import LEFT, LeftRecord
from .._record.plan import Record, ids_made_of, inputs_of, results_of
from .._util.source_locations import Stack, stack_key
from .constant_entries import Entry, Journal
from .flow import verdicts
from .known_names import WRITES
from .sources import node_at, statement_at, tree_of_code

IN_PLACE = frozenset(("fill", "partition", "put", "setfield", "sort"))  # ndarray's writing methods
STEPS = frozenset(("int()", "round()"))  # conversions with the derivative 0, so no part is lost


class Exit(NamedTuple):
    """A conversion of a followed value to untracked data, such as ``float(x)``.

    stack : the call stack at the conversion.  how : its kind, such as "float()".
    absent : True if the value depends on a source whose gradient is None.
    present : True if the value depends on a source that has a gradient.
    back : where the value may have come back: the stacks of later ops that got a constant which may
    contain the value.
    """

    stack: Stack
    how: str
    absent: bool
    present: bool
    back: tuple[Stack, ...] = ()


def exits_between(
    records: Sequence[Record], sources: Iterable[int], targets: Iterable[int]
) -> list[tuple[int, LeftRecord]]:
    """Return pairs (record number, record) for conversions of values that depend on the sources.

    A conversion, such as ``float(x)``, has a record with the opcode LEFT.
    records : those of a tape.  sources, targets : value ids.  Conversions after the last record of a
    target are left out, because they cannot affect a target.
    """
    done = {*targets}
    ends = [i for i, record in enumerate(records) if not done.isdisjoint(results_of(record))]
    reached = ids_made_of(records, sources)
    return [
        (i, LeftRecord(*record))
        for i, record in enumerate(records[: ends[-1]] if ends else records)
        if record[0] == LEFT.number and record[2] in reached
    ]


def frames_in_library(stack: Stack) -> Stack:
    """Return the innermost frames of a call stack, those of the library that the user called.

    Return () if the user's code is innermost, or if no frame is the user's.
    """
    inside = tuple(itertools.takewhile(lambda place: place.lies_in_library, stack))
    return inside if len(inside) < len(stack) else ()


def writes_out(stack: Stack) -> bool:
    """Return True if a library function that converted a value was called with ``output=``.

    Then the converted value may come back in the array ``output``.  stack : the call stack of the
    conversion.  Return True also if the source of the call is missing.
    """
    inside = frames_in_library(stack)
    if not inside:
        return False
    call = node_at(stack[len(inside)])
    names = [keyword.arg for keyword in call.keywords] if isinstance(call, ast.Call) else []
    return call is None or "output" in names


def is_written_copy(stack: Stack) -> bool:
    """Return True if a user's statement writes to a NumPy copy of a followed value.

    The value itself does not change, so the write is lost.

    stack : the call stack at the conversion, which made the copy.  Examples are ``np.asarray(y)[0] =
    1``, ``data["y"].values[0] = 1`` and ``np.asarray(y).fill(0)``.
    """
    is_passed_on = False  # True if the library function of the inner frame returned the copy
    for place in stack:
        if place.lies_in_library:
            is_passed_on = True
            continue
        node, function = node_at(place), tree_of_code(place.code)
        if not isinstance(node, ast.expr) or function is None:
            return False
        if is_passed_on and not isinstance(node, ast.Attribute):
            return False
        statement = statement_at(function, place.line_number)
        if any(part is node for value in written_in(statement) for part in chain_of(value)):
            return True
        if not isinstance(statement, ast.Return) or statement.value is not node:
            return False
        is_passed_on = False
    return False


def written_in(statement: ast.stmt | None) -> list[ast.expr]:
    """Return the expressions for the arrays to which a statement writes: for ``y[0] = 1`` the name y."""
    written: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        written = [t.value for t in statement.targets if isinstance(t, ast.Subscript)]
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Subscript):
        written = [statement.target.value]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        written = [keyword.value for keyword in call.keywords if keyword.arg == "out"]
        if isinstance(call.func, ast.Attribute) and call.func.attr in IN_PLACE:
            written.append(call.func.value)
        if isinstance(call.func, ast.Attribute) and call.func.attr in WRITES:
            written += call.args[:1]
    return written


def chain_of(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an expression and the expressions that it reads from: ``a.b[0]``, ``a.b``, ``a``."""
    while True:
        yield node
        if not isinstance(node, ast.Attribute | ast.Subscript):
            return
        node = node.value


def records_on_the_way(records: Sequence[Record], targets: Sequence[int], first: int) -> set[int]:
    """Return the indices of the records after index ``first`` on whose results the targets depend."""
    wanted, found = {*targets}, set()
    for i in range(len(records) - 1, first, -1):
        if not wanted.isdisjoint(results_of(records[i])):
            wanted.update(inputs_of(records[i]))
            found.add(i)
    return found


def find_suspected(
    records: Sequence[Record],
    journal: Journal,
    exits: Sequence[tuple[int, Exit]],
    targets: Sequence[int],
) -> list[Exit]:
    """Return those conversions in ``exits`` whose values may have come back to a target, as constants.

    The gradient of such a target may lack a part.
    records : those of one recorder (a tape or an accumulator).
    journal : its conversions (such as ``float(x)``), and the constants that entered ops after them.
    exits : pairs (record number, Exit).  targets : value ids.  The field ``back`` of a returned Exit has
    the stacks of the ops that got such constants.
    """
    left = [(i, exit_) for i, exit_ in exits if exit_.how not in STEPS]
    if not left:
        return []
    on_the_way = records_on_the_way(records, targets, left[0][0])
    last: dict[object, tuple[int, Entry, bool]] = {}
    for i, entry, came_back in journal.entries:
        if i in on_the_way:
            key = (stack_key(entry.stack), *entry[1:])
            came_back = came_back or (key in last and last[key][2])
            last[key] = (i, entry, came_back)
    entered = [*last.values()]
    first: dict[object, tuple[int, Exit]] = {}
    for i, exit_ in left:
        first.setdefault((stack_key(exit_.stack), exit_.absent, exit_.present), (i, exit_))
    rows = verdicts(
        [exit_.stack for _, exit_ in first.values()], [entry for _, entry, _ in entered]
    )
    found = []
    for (i, exit_), row in zip(first.values(), rows, strict=True):
        back = [
            entry.stack
            for (j, entry, came_back), flows in zip(entered, row, strict=True)
            if j > i and (came_back or flows is not False)
        ]
        if back or writes_out(exit_.stack):
            found.append(exit_._replace(back=tuple(back)))
    return found
