"""Segments: the parts of a program, each of which runs wholly as machine code or as calls of NumPy.

A segment is a program of its own.  Its inputs are inputs of the program, or values of earlier segments.
If a value in machine code is unusual, such as NaN, NumPy computes the same segment again from the same
inputs.  Calls of earlier segments need not be repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..passes.simplify import copied, is_basic
from ..program import (
    CONSTANT,
    FOREIGN,
    INPUT,
    Guard,
    Node,
    Program,
    key_of,
    operands,
)
from .lowering import ARRANGES, CallRefused, Lowered, Lowering
from .machine import Unsupported

LEAST = 2  # the least number of calls of NumPy that a segment of machine code must replace


class Segment:
    """A part of a program that runs wholly as machine code, or wholly as calls of NumPy.

    program : the part as a program.
    origin : node (call, input or constant) of ``program`` -> node of the whole program.
    native : whether the part shall run as machine code.
    lowered : the machine code, or None.
    """

    def __init__(self, program: Program, origin: dict[Node, Node], native: bool) -> None:
        self.program, self.origin, self.native = program, origin, native
        self.lowered: Lowered | None = None


class Segments:
    """The parts of a program, in the order in which they run.

    A segment has neighbouring calls that run wholly as machine code, or wholly as calls of NumPy.
    reasons : the reasons why some calls are not machine code.
    numpys : call that NumPy makes -> the reason.
    views : the nodes that are views.  Each segment that reads such a node makes the view again.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.numpys: dict[Node, str] = {}
        self.views: set[Node] = set()
        known: dict[Any, str] = {}  # key that is equal for similar calls -> their ``why_numpy``
        for node in program.nodes:
            if not node.is_call:
                continue
            key = node.op, id(node.call), call_key(node)
            if key not in known:
                known[key] = why_numpy(node)
            if known[key]:
                self.numpys[node] = known[key]
            elif only_arranges(node):
                self.views.add(node)
        self.segments = self.lowered_parts()
        self.reasons = sorted({*self.numpys.values()})

    def lowered_parts(self) -> list[Segment]:
        """Cut the program into parts ("segments"), generate their machine code, and return them.

        If a call cannot become machine code, NumPy computes it, and the program is cut again.
        """
        while True:
            segments = self.cut_program()
            lowerings: list[Lowering | None] = []
            for segment in segments:
                lowering = None
                try:
                    lowering = Lowering(segment.program) if segment.native else None
                except CallRefused as refusal:
                    self.leave_to_numpy([segment.origin[refusal.node]], str(refusal))
                except Unsupported as error:
                    calls = [segment.origin[x] for x in segment.program.nodes if x.is_call]
                    self.leave_to_numpy(calls, str(error))
                lowerings.append(lowering)
            if all((x is None) != y.native for x, y in zip(lowerings, segments, strict=True)):
                for segment, lowering in zip(segments, lowerings, strict=True):
                    segment.lowered = Lowered(lowering) if lowering is not None else None
                return segments

    def leave_to_numpy(self, nodes: Iterable[Node], why: str) -> None:
        """Mark the calls ``nodes`` as calls that NumPy computes, not machine code.

        The caller then cuts the program into parts once more.  Raise Unsupported if all of ``nodes`` are
        marked already, because the same parts would fail once more.
        why : the reason.
        """
        new = [node for node in nodes if node not in self.numpys]
        if not new:
            raise Unsupported(why)
        self.numpys.update(dict.fromkeys(new, why))
        self.views.difference_update(new)

    def cut_program(self) -> list[Segment]:
        """Return the segments, parts of the program, in the order in which they run.

        A segment of machine code with fewer than LEAST calls is left to NumPy.  A segment runs wholly as
        machine code or wholly as calls of NumPy.
        """
        taken = {*self.numpys}
        while True:
            levels = self.levels_of(taken)
            counts = Counter(level for node, level in levels.items() if node.op not in ARRANGES)
            small = {level for level in levels.values() if level % 2 == 0 and counts[level] < LEAST}
            if not small:
                return self.parts_by_level(levels)
            taken.update(node for node, level in levels.items() if level in small)

    def levels_of(self, numpys: Collection[Node]) -> dict[Node, int]:
        """Return a dict node -> number of the part of the program that computes the node.

        The parts run in the order of these numbers.  Even numbers become machine code, odd numbers calls
        of NumPy.  Views and constants have no number, because each part that needs them makes them.  A
        user's function (FOREIGN) keeps its position among all calls, because it may have side effects.
        numpys : the calls that NumPy computes.
        """
        levels: dict[Node, int] = {}
        least = 0
        for node in self.program.nodes:
            if not node.is_call or node in self.views:
                continue
            level = max([least, *[levels.get(self.root_of_view(x), 0) for x in operands(node)]])
            foreign = node.op.startswith(FOREIGN)
            if foreign:
                level = max([level, *levels.values()])
            levels[node] = level + (level % 2 != (node in numpys))
            if foreign:
                least = levels[node]
        return levels

    def root_of_view(self, x: Node) -> Node:
        """Return the node whose data the view x shows, or x itself if x is no view."""
        while x in self.views:
            x = operands(x)[0]
        return x

    def parts_by_level(self, levels: Mapping[Node, int]) -> list[Segment]:
        """Return a segment (a part of the program) for each number in ``levels``.

        ``levels`` is a dict node -> number of its segment.  A segment also makes the views and constants
        that its nodes read.
        """
        numbers = sorted({*levels.values()})
        if not numbers:
            return []
        guards: dict[int, list[Guard]] = {number: [] for number in numbers}
        for guard in self.program.guards:
            guards[levels.get(self.root_of_view(guard.node), numbers[0])].append(guard)
        found: list[Segment] = []
        read: dict[int, set[Node]] = {}
        for number in numbers:
            inside = {node for node, level in levels.items() if level == number}
            inside.update(guard.node for guard in guards[number])
            for node in reversed(self.program.nodes):
                if node in inside:
                    inside.update(x for x in operands(node) if x.op == CONSTANT or x in self.views)
            read[number] = {x for node in inside for x in (node, *operands(node))
                            if x not in levels or levels[x] != number}  # fmt: skip
            read[number] = {x for x in read[number] if x.op != CONSTANT and x not in self.views}
            of: dict[Node, Node] = {}
            nodes: list[Node] = []
            for node in self.program.nodes:
                if node in read[number]:
                    of[node] = Node(INPUT, like=node)
                elif node in inside:
                    same = all(of[x] is x for x in operands(node))
                    of[node] = node if same else copied(node, of.__getitem__)
                else:
                    continue
                nodes.append(of[node])
            part = Program(
                [of[node] for node in self.program.nodes if node in read[number]], nodes,
                [guard._replace(node=of[guard.node]) for guard in guards[number]],
            )  # fmt: skip
            found.append(Segment(part, {new: node for node, new in of.items()}, number % 2 == 0))
        asked = {self.root_of_view(node) for node in (*self.program.outputs, *self.program.writes)}
        for number, segment in zip(numbers, found, strict=True):
            later = asked.union(*[read[other] for other in numbers if other > number])
            segment.program.outputs = [
                new for new, node in segment.origin.items()
                if levels.get(node) == number and node in later
            ]  # fmt: skip
        return found


def only_arranges(node: Node) -> bool:
    """Return True if a node is a view of its only operand, as a transpose or a slice is."""
    if node.op not in ARRANGES or not node.view or len(operands(node)) != 1:
        return False
    return node.op != "getitem" or is_basic(node.args[1])


def call_key(node: Node) -> Any:
    """Return a hashable key that is equal for recorded calls of equal options and layouts of arrays.

    One test decides for all calls of one key whether they can become machine code.
    """

    def layout_key(x: Node) -> Any:
        return x.op == CONSTANT, x.shape, x.dtype, x.strides

    return key_of((node.args, node.keywords), layout_key), layout_key(node)


def why_numpy(node: Node) -> str:
    """Return the reason why a recorded call can never become machine code, or "" if it can."""
    if node.op.startswith(FOREIGN):
        return node.op.removeprefix(f"{FOREIGN}.").rpartition(".")[0] or node.op
    of = {x: x if x.op == CONSTANT else Node(INPUT, like=x) for x in operands(node)}
    new, inputs = copied(node, of.__getitem__), [x for x in of.values() if x.op == INPUT]
    # A view is no result here, because results with gaps between their elements are refused.
    results = [] if only_arranges(node) else [new]
    try:
        Lowering(Program(inputs, [*of.values(), new], [], results))
    except Unsupported as error:
        return str(error)
    return ""
