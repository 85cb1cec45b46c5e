"""Guards of programs as checks of elements, which machine code makes while it computes the elements."""

from __future__ import annotations

import math
from dataclasses import replace

from ..passes.nan_checks import is_unknown, lazy_checks, most_of
from ..passes.simplify import without_dead_code
from ..passes.ties import FALSE
from ..program import CONSTANT, Guard, Node, Program, operands

# Kinds of guards that only machine code has: no element of a mask is True; the absolute value of each
# element is below ``expected``.
NO_TRUE, BELOW = "no True", "below"


def with_element_checks(program: Program) -> Program:
    """Return the program with checks of single elements in place of some guards.

    A guard is a condition on a value, checked in each replay. Machine code checks elements while it
    computes them. If a guard requires ``any(mask)`` to be False, the elements of the mask are checked.
    If a value is computed only to be checked for NaN, its operands are compared with a limit instead.
    Below the limit, the value has no NaN; above it, NumPy's program computes the value and checks it.
    """
    masks: dict[Guard, Node] = {}
    for guard in program.guards:
        if guard.kind == "value" and guard.expected == FALSE and guard.node.op == "any":
            (mask, *more) = operands(guard.node)
            if mask.dtype.kind == "b" and mask.op != CONSTANT and not more:
                masks[guard] = mask
    places = {node: place for place, node in enumerate(program.nodes)}
    lazy: set[Guard] = set()
    bounds: dict[Node, float] = {}
    for check in lazy_checks(program):
        most = most_of(check.given, sorted(check.nodes, key=places.__getitem__))
        if most is not None:
            lazy.add(check.guard)
            for x in filter(is_unknown, check.given):
                bounds[x] = min(math.sqrt(most), bounds.get(x, math.inf))
    guards = [
        Guard(NO_TRUE, masks[guard], None, guard.line) if guard in masks else guard
        for guard in program.guards
        if guard not in lazy
    ]
    guards += [Guard(BELOW, x, bound, "") for x, bound in bounds.items()]
    return without_dead_code(replace(program, guards=guards))
