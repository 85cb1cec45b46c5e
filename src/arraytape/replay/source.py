"""The last pass: a program as the text of a Python function that calls NumPy.

Results go into memory of values that are not read any more where NumPy can write there, so that a large
program touches little memory.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import numpy as np

from .._storage.numpy_storage import NUMPY
from .program import CONSTANT, INPUT, Guard, GuardFailed, Node, Program, operands, put
from .simplify import is_basic

EXACT = frozenset(("add", "divide", "multiply", "negative", "subtract"))  # of scalars, as of arrays
LARGE = 4096  # elements of data that is let go of as soon as it can be
NUMBER = new_number = count(1).__next__


class Source:
    """A program's text, and the function that it is.

    text : for people to read.  function : takes the inputs, gives outputs and writes; GuardFailed where
    the program does not hold.
    """

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.names: dict[Node, str] = {}
        self.scope: dict[str, Any] = {
            "asarray": np.asarray, "failed": failed, "has_nan": NUMPY.has_nan, "guards": program.guards,
        }  # fmt: skip
        self.scalars: set[Node] = set()  # what is one of NumPy's scalars, not an array
        self.lines: list[str] = []
        self.memory = memory_of(program)
        self.last = last_reads(program, self.memory)
        self.places: dict[Node, Node] = {}  # whose memory a node has taken over
        self.taken_over: set[Node] = set()
        self.within: dict[Node, list[Node]] = {}  # by root, what lies in its memory
        self.dying: dict[int, list[Node]] = {}  # by place, the roots of which it is the last read
        for node, roots in self.memory.items():
            for root in roots:
                self.within.setdefault(root, []).append(node)
        for root, place in self.last.items():
            if root.shape is not None and root.size >= LARGE and root.op not in (INPUT, CONSTANT):
                self.dying.setdefault(place, []).append(root)
        parameters = ", ".join(self.input(node) for node in program.inputs)
        self.body()
        body = "\n    ".join(self.lines)
        self.text = f"def {name}({parameters}):\n    {body}\n"
        file = f"<arraytape replay {NUMBER()} of {name}>"
        exec(compile(self.text, file, "exec"), self.scope)
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(True), file)
        self.function: Callable[..., Any] = self.scope[name]

    def input(self, node: Node) -> str:
        self.names[node] = name = f"x{len(self.names)}"
        return name

    def body(self) -> None:
        guards: dict[Node, list[int]] = {}
        for i, guard in enumerate(self.program.guards):
            guards.setdefault(guard.node, []).append(i)
        for place, node in enumerate(self.program.nodes):
            if node.op == CONSTANT:
                self.constant(node)
            elif node.op != INPUT:
                self.call(place, node)
            for i in guards.get(node, ()):
                self.guard(i, self.program.guards[i])
            self.drop(place)
        taken: set[Node] = set()
        outputs = [self.given(node, taken) for node in self.program.outputs]
        writes = [self.text_of(node, True) for node in self.program.writes]
        self.lines.append(f"return [{', '.join(outputs)}], [{', '.join(writes)}]")

    # --- values -----------------------------------------------------------------------------------
    def constant(self, node: Node) -> None:
        self.names[node] = self.named(f"c{len(self.scope)}", node.value)

    def named(self, name: str, value: Any) -> str:
        """A name in the function's globals for a value."""
        if self.scope.get(name, value) is not value:
            name = f"{name}_{len(self.scope)}"
        self.scope[name] = value
        return name

    def text_of(self, value: Any, arrays: bool) -> str:
        """An argument as text; arrays : whether NumPy's scalars will not do."""
        kind = type(value)
        if kind is Node:
            name = self.names[value]
            return f"asarray({name})" if arrays and value in self.scalars else name
        if kind is tuple or kind is list:
            parts = [self.text_of(part, arrays) for part in value]
            inner = ", ".join(parts)
            if kind is list:
                return f"[{inner}]"
            return f"({inner},)" if len(parts) == 1 else f"({inner})"
        if kind in (int, bool, str, type(None)) or (kind is float and math.isfinite(value)):
            return repr(value)
        if kind is slice and all(
            type(x) in (int, type(None)) for x in (value.start, value.stop, value.step)
        ):
            return repr(value)
        if value is Ellipsis:
            return "..."
        return self.named(f"k{len(self.scope)}", value)

    def given(self, node: Node, taken: set[Node]) -> str:
        """An output, in memory of its own."""
        name = self.names[node]
        if node in self.scalars:
            return f"asarray({name})"
        roots = {self.place_of(root) for root in self.memory[node]}
        own = not node.view and node.op not in (INPUT, CONSTANT) and roots.isdisjoint(taken)
        taken |= roots
        return name if own else f"{name}.copy(order='K')"

    def place_of(self, node: Node) -> Node:
        """The node whose memory a node is in."""
        while node in self.places:
            node = self.places[node]
        return node

    # --- calls ------------------------------------------------------------------------------------
    def call(self, place: int, node: Node) -> None:
        if node.op == "put" and self.put(place, node):
            return
        ufunc = ufunc_of(node)
        scalar = node.shape == () and (ufunc is not None or node.op in ("sum", "item"))
        if ufunc is not None:
            args = [self.text_of(x, False) for x in node.args]
            function = self.named(node.op.replace(".", "_"), ufunc)
            into = None if node.shape == () else self.free_operand(place, node)
            if into is not None:
                self.names[node] = name = self.names[into]
                self.places[node] = into
                self.taken_over.add(into)
                self.lines.append(f"{function}({', '.join(args)}, out={name})")
                return
        else:
            args = [self.text_of(x, True) for x in node.args]
            args += [f"{name}={self.text_of(x, True)}" for name, x in node.keywords.items()]
            function = self.function_of(node)
        name = self.names[node] = f"v{len(self.names)}"
        if node.op == "getitem":
            value = f"{args[0]}[{self.key(node.args[1])}]"
        elif node.op == "item":
            value = f"{args[0]}[{args[1]}]"
        else:
            value = f"{function}({', '.join(args)})"
        if node.shape == () and not scalar:
            value = f"asarray({value})"
        elif scalar:
            self.scalars.add(node)
        self.lines.append(f"{name} = {value}")

    def function_of(self, node: Node) -> str:
        return self.named(node.op.replace(".", "_"), node.call)

    def key(self, key: Any) -> str:
        """A key as code has it."""
        parts = key if type(key) is tuple else (key,)
        return ", ".join(map(self.part_of_key, parts)) or "()"

    def part_of_key(self, part: Any) -> str:
        if type(part) is slice:
            ends = [part.start, part.stop, part.step]
            if all(type(x) in (int, type(None)) for x in ends):
                words = ["" if x is None else repr(x) for x in ends]
                return ":".join(words if words[2] else words[:2])
        return self.text_of(part, True)

    def put(self, place: int, node: Node) -> bool:
        """Write in place where the data before the write is not read any more."""
        x, key, value = node.args
        if not self.is_free(place, x) or (x.op == "put" and x not in self.names):
            return False
        if type(value) is Node and self.memory[value] & self.memory[x] and not is_basic(key):
            return False
        if x.strides != node.strides:
            return False
        self.names[node] = name = self.names[x]
        self.places[node] = x
        self.taken_over.add(x)
        self.lines.append(f"{name}[{self.key(key)}] = {self.text_of(value, False)}")
        return True

    def free_operand(self, place: int, node: Node) -> Node | None:
        """An operand of the result's layout whose memory is not read any more after this call."""
        for x in node.args:
            if type(x) is Node and (x.shape, x.dtype, x.strides) == (
                node.shape,
                node.dtype,
                node.strides,
            ):
                if self.is_free(place, x):
                    return x
        return None

    def is_free(self, place: int, x: Node) -> bool:
        """Whether a node has memory of its own that nothing reads after a place."""
        if x.view or x.op in (INPUT, CONSTANT) or x in self.scalars or x.shape in (None, ()):
            return False
        return self.last.get(x, -1) <= place and x not in self.scalars

    def drop(self, place: int) -> None:
        """Let go of large data after its last read."""
        gone = [node for node in self.dying.get(place, ()) if node not in self.taken_over]
        names = {self.names[one] for node in gone for one in self.within[node] if one in self.names}
        if names:
            self.lines.append(f"del {', '.join(sorted(names))}")

    def guard(self, i: int, guard: Guard) -> None:
        name = self.names[guard.node]
        if guard.kind == "no NaN":
            look = f"{name} != {name}" if guard.node in self.scalars else f"has_nan({name})"
        elif guard.kind == "shape":
            look = f"{name}.shape != {guard.expected!r}"
        else:
            look = f"{name}.tobytes() != {self.named(f'k{len(self.scope)}', guard.expected)}"
        self.lines.append(f"if {look}: failed(guards[{i}])")


def failed(guard: Guard) -> None:
    """Raise what says that the program does not hold."""
    raise GuardFailed(guard)


def ufunc_of(node: Node) -> np.ufunc | None:
    """NumPy's ufunc for a node, where it is a plain call of one with one result."""
    if node.keywords or node.shape is None:
        return None
    found = node.call if isinstance(node.call, np.ufunc) else getattr(np, node.op, None)
    if not isinstance(found, np.ufunc) or (found is not node.call and node.op not in OPERATORS):
        return None
    return found if found.nin == len(node.args) and found.nout == 1 else None


# Ops that Python's operators compute by ufuncs of the same name.
OPERATORS = frozenset(
    ("abs", "add", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
     "bitwise_right_shift", "bitwise_xor", "divide", "equal", "greater", "greater_equal", "less",
     "less_equal", "multiply", "negative", "not_equal", "subtract")
)  # fmt: skip


def memory_of(program: Program) -> dict[Node, frozenset[Node]]:
    """The nodes in whose memory each node may lie: itself, or for views, those of its operands."""
    memory: dict[Node, frozenset[Node]] = {}
    for node in program.nodes:
        if node.view:
            memory[node] = frozenset().union(*(memory[x] for x in operands(node)))
        else:
            memory[node] = frozenset((node,))
    return memory


def last_reads(program: Program, memory: Mapping[Node, frozenset[Node]]) -> dict[Node, int]:
    """The place of the last call that reads a node's memory; those that outlive the program, the end."""
    last: dict[Node, int] = {}
    for place, node in enumerate(program.nodes):
        for x in operands(node):
            for root in memory[x]:
                last[root] = place
    end = len(program.nodes)
    for node in (*program.outputs, *program.writes):
        for root in memory[node]:
            last[root] = end
    return last


__all__ = ["Source", "put"]
