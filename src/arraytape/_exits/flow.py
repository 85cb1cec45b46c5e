"""Decide from source code whether a converted value may be part of a constant of a later op.

An exit is a conversion of a followed value to untracked data, such as ``float(x)``.  An entry is a
constant that enters a recorded op afterwards.  The verdict on an exit and an entry is True if the
constant may contain the converted value, else False; it is None if the analysis fails.  ``verdicts`` is
the function that other modules call.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence

from .._util.source_locations import Stack, stack_key
from .calls import Calls
from .constant_entries import Entry
from .interpreter import Path, Spot, TooLong, path_of, subexpressions
from .objects import Value, taint_of
from .scopes import Scope

# From node classes to the attributes that hold the two operands.
OPERANDS = {ast.BinOp: ("left", "right"), ast.AugAssign: ("target", "value")}


Verdicts = list[list[bool | None]]  # a row for each conversion, an item for each constant


class Flow(Calls):
    """An analysis of the user's code that finds, for each constant of an op, the converted values in it.

    A conversion, such as ``float(x)``, makes untracked data.  An entry is an op that got a constant
    later.

    waiting : dict from source locations of ops to tuples (index of an entry, its Path, the entry).
    exactly, anyhow : dicts from the index of an entry to an int.  Bit i is set if the value of
    conversion i may be in the constant.  ``exactly`` counts only the chain of calls that led to the
    entry, ``anyhow`` all chains.
    """

    def __init__(self, exits: Sequence[Stack], entries: Sequence[Entry]) -> None:
        stacks = [*exits, *[entry.stack for entry in entries]]
        super().__init__([(1 << i, stack) for i, stack in enumerate(exits)], stacks)
        self.borders = borders_of(exits)
        self.waiting: dict[Spot, list[tuple[int, Path, Entry]]] = {}
        for i, entry in enumerate(entries):
            path = path_of(entry.stack)
            self.waiting.setdefault(path.spot, []).append((i, path, entry))
            self.look_out_for(path.spot)
        self.exactly: dict[int, int] = {}
        self.anyhow: dict[int, int] = {}

    def is_reached(self, exit_: int, entry: int) -> bool | None:
        """Return True if the converted value number ``exit_`` may be in the constant number ``entry``.

        Return None if the analysis has not come to the code of both.
        """
        arrived = self.exactly.get(entry, self.anyhow.get(entry))
        if arrived is None or not self.left >> exit_ & 1:
            return None
        return bool(arrived >> exit_ & 1)

    def arrive(self, spot: Spot, node: ast.AST, scope: Scope) -> None:
        for i, path, entry in self.waiting.get(spot, ()):
            operands = self.operands_of_node(node, entry, scope)
            # If the analysis found no object for an operand, it may contain any converted value.
            missed = 0 if all(operands) else self.left
            self.note_arrival(i, path, scope, taint_of(operands) | missed)

    def wrote(self, spot: Spot, owners: Value, value: Value, scope: Scope) -> None:
        for i, path, entry in self.waiting.get(spot, ()):
            sides = (owners, value)  # the inputs 0 and 1 of the recorded write: x and v of x[k] = v
            self.note_arrival(
                i, path, scope, taint_of([sides[at] for at in entry.places if at < 2])
            )

    def note_arrival(self, i: int, path: Path, scope: Scope, taint: int) -> None:
        """Note which converted values, the bits of ``taint``, may be in the constant of entry ``i``.

        path : the chain of calls that led to the entry in the program.  scope : the scope that the
        analysis is interpreting, with the calls that have led there.
        """
        self.anyhow[i] = self.anyhow.get(i, 0) | taint
        if not path.exact or path.calls == scope.calls:
            self.exactly[i] = self.exactly.get(i, 0) | taint

    def operands_of_node(self, node: ast.AST, entry: Entry, scope: Scope) -> list[Value]:
        """Evaluate the constant operands of an op; return for each the objects that it may be.

        node : the expression or statement that ran the op.  If it does not show which of its operands
        are the constants, return the objects of all operands.
        entry : the record of the op, with its name and the indices of its constants.
        """
        sides = OPERANDS.get(type(node))
        if sides is not None and len(entry.inputs) == 2:
            chosen = [getattr(node, sides[i]) for i in entry.places if i < 2]
            return self.evaluate_each(chosen, scope)
        if isinstance(node, ast.Call):
            return self.operands_of_call(node, entry, scope)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            return []  # ``wrote`` handles stores
        return self.evaluate_each(subexpressions(node), scope)

    def operands_of_call(self, node: ast.Call, entry: Entry, scope: Scope) -> list[Value]:
        """Evaluate the constant arguments of a call that ran an op; return what each of them may be.

        Inputs that the recorder (a tape or an accumulator) follows are left out.  Return the values of
        all arguments if they cannot be matched with inputs: the called name is not the op's, or
        ``*rest`` is passed.

        entry : the record of the op, with its name and the indices of its constants.
        """
        call = self.call_arguments(node, scope)
        values = [call.owner, *call.positional] if call.is_method else call.positional
        own = call.name == entry.op.rpartition(".")[2] and not call.rest and entry.places
        if not own:
            return [*values, *call.keywords.values(), *[call.rest] * bool(call.rest)]
        if entry.places[-1] >= len(entry.inputs) and values:  # operands in a list, as of concat
            return [self.item_of(values[0], i) for i in entry.places]
        found = [values[i] for i in entry.places if i < len(values)]
        names = {entry.inputs[i] for i in entry.places}
        followed = {*entry.inputs} - names
        later = [v for name, v in call.keywords.items() if name not in followed]
        return [*found, *values[len(entry.inputs) :], *later]


def verdicts(exits: Sequence[Stack], entries: Sequence[Entry]) -> Verdicts:
    """Decide for each conversion and each later constant whether the constant may contain the value.

    exits : the call stacks of the conversions, such as ``float(x)``.  entries : ops that got constants.
    Return a row for each conversion: a list of verdicts (True, False or None), one for each constant.  A
    verdict is None if it is unknown, for example because the stacks have no outermost frame in common.
    """
    rows: Verdicts = [[None] * len(entries) for _ in exits]
    roots: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for i, stack in enumerate(exits):
        if stack:
            roots.setdefault(root_of(stack), ([], []))[0].append(i)
    for j, entry in enumerate(entries):
        if entry.stack and root_of(entry.stack) in roots:
            roots[root_of(entry.stack)][1].append(j)
    for left, entered in roots.values():
        if not entered:
            continue
        found = analysed([exits[i] for i in left], [entries[j] for j in entered])
        for a, i in enumerate(left):
            for b, j in enumerate(entered):
                rows[i][j] = found[a][b] if found else None
    return rows


def root_of(stack: Stack) -> tuple[int, int]:
    """Return the ``id()`` of a stack's outermost frame and of its code, to group stacks.

    Conversions and constants are analysed together if their stacks have the same outermost frame.
    """
    return stack[-1].frame, id(stack[-1].code)


# A cache of verdicts, because each turn of a loop needs the same verdicts.  Keys hold the ``id`` of code
# objects, so each cached value keeps the code objects alive.  It does not keep the stacks, which would
# also keep the globals of functions from other processes alive.
KNOWN: dict[object, tuple[Verdicts | None, object]] = {}


def analysed(exits: Sequence[Stack], entries: Sequence[Entry]) -> Verdicts | None:
    """Return the verdicts on conversions and constants, or None, as ``flow_of`` does, from a cache.

    exits : the call stacks of the conversions.  entries : the ops that got constants.
    """
    key = (
        tuple([stack_key(stack) for stack in exits]),
        tuple([(stack_key(entry.stack), *entry[1:]) for entry in entries]),
    )
    if key not in KNOWN:
        if len(KNOWN) > 256:
            KNOWN.clear()
        stacks = *exits, *[entry.stack for entry in entries]
        codes = [place.code for stack in stacks for place in stack]
        KNOWN[key] = (flow_of(exits, entries), codes)
    return KNOWN[key][0]


def flow_of(exits: Sequence[Stack], entries: Sequence[Entry]) -> Verdicts | None:
    """Analyse the user's code for conversions and constants whose stacks have the same outermost frame.

    Return a list with a row for each conversion (such as ``float(x)``), of verdicts: True if the
    constant may contain the converted value, None if it is unknown.  If the analysis takes too many
    steps, try shorter ones.  Return None if all fail.

    exits : the call stacks of the conversions.  entries : the ops that got constants.
    """
    # The first analysis interprets all calls of the user's functions, the second only calls that were
    # seen to run, the third no function of a library.  Later ones decide what earlier ones left open.
    found: Verdicts | None = None
    for only_seen, opaque in ((False, False), (True, False), (False, True)):
        try:
            flow = OpaqueFlow(exits, entries) if opaque else Flow(exits, entries)
            flow.only_seen = only_seen
            flow.run_analysis(exits[0][-1])
        except TooLong:
            continue
        except Exception:  # an error in the analysis must not make the gradient raise
            return found
        rows: Verdicts = found or [[None] * len(entries) for _ in exits]
        found = [
            [flow.is_reached(i, j) if verdict is None else verdict for j, verdict in enumerate(row)]
            for i, row in enumerate(rows)
        ]
        if not any(None in row for row in found):
            break
    return found


class OpaqueFlow(Flow):
    """An analysis that skips the code of libraries, but interprets user functions that libraries call.

    It gives no verdict on a conversion (such as ``float(x)``) and a constant that are in functions of
    the same library.
    """

    def __init__(self, exits: Sequence[Stack], entries: Sequence[Entry]) -> None:
        self.packages = [*map(libraries_in, exits)], [libraries_in(one.stack) for one in entries]
        super().__init__(
            [*map(outside_libraries, exits)],
            [entry._replace(stack=outside_libraries(entry.stack)) for entry in entries],
        )
        self.borders = borders_of([*exits, *[entry.stack for entry in entries]])

    def is_reached(self, exit_: int, entry: int) -> bool | None:
        left, entered = self.packages
        both = left[exit_] & entered[entry]
        return None if both else super().is_reached(exit_, entry)

    def is_called_back(self, spot: Spot) -> bool:
        return spot in self.borders


def borders_of(stacks: Iterable[Stack]) -> set[Spot]:
    """Return the source locations in the user's code at which, on ``stacks``, a library was called.

    The analysis does not enter the library there, and treats the call as one unknown step.
    """
    return {
        path_of((outer,)).spot
        for stack in stacks
        for inner, outer in itertools.pairwise(stack)
        if inner.lies_in_library and not outer.lies_in_library
    }


def outside_libraries(stack: Stack) -> Stack:
    """Return a call stack without the frames in libraries, whose code the analysis skips.

    The outermost frame stays in any case, because the analysis starts there.
    """
    return tuple([place for place in stack if place is stack[-1] or not place.lies_in_library])


def libraries_in(stack: Stack) -> set[str]:
    """Return the names of the installed packages whose functions are on a stack."""
    names = [place.names.get("__name__", "") for place in stack if place.lies_in_library]
    return {name.partition(".")[0] for name in names}
