"""The last pass: a program as the text of a Python function that calls NumPy.

Results go into memory of values that are not read any more where NumPy can write there, so that a large
program touches little memory.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .._storage import numpy_namespace
from .blocks import BLOCKED
from .loops import Loop
from .program import CONSTANT, INPUT, Guard, GuardFailed, Node, Program, key_of, operands
from .simplify import is_basic, same_layout
from .ufuncs import ufunc_of

# Of scalars, with the bits that arrays have.
EXACT = {"add": "+", "divide": "/", "multiply": "*", "negative": "-", "subtract": "-"}
LARGE = 4096  # elements of data that is let go of as soon as it can be
NUMBER = new_number = count(1).__next__


class Source:
    """A program's text, and the function that it is.

    text : for people to read.  function : takes the inputs, gives outputs and writes; GuardFailed where
    the program does not hold.
    """

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self.names: dict[Node, str] = {}
        self.scope: dict[str, Any] = {
            "array": np.array, "asarray": np.asarray, "failed": failed, "guards": program.guards,
        }  # fmt: skip
        self.scalars: set[Node] = set()  # what is one of NumPy's scalars, not an array
        self.lines: list[str] = []
        self.looks: dict[Node, str] = {}  # by result of a loop, what is NaN where a part of it is
        self.memory = memory_of(program)
        self.last = last_reads(program, self.memory)
        self.places: dict[Node, Node] = {}  # whose memory a node has taken over
        self.taken_over: set[Node] = set()
        self.written: set[Node] = set()  # what was computed straight into its place
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
        if node.shape == () and node.dtype.kind in "fc":
            self.scalars.add(node)
            self.lines.append(f"{name} = {name}[()]")
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
        value = node.value
        if node.shape == () and value.dtype.kind in "fc":
            value = value[()]
            self.scalars.add(node)
        self.names[node] = self.named(f"c{len(self.scope)}", value)

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
            return f"array({name})"
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
        """The line, or lines, of a call."""
        if node.op == BLOCKED:
            Loop(self, place, node.call)  # type: ignore[arg-type]
            return
        if node in self.names:  # the item of a loop
            return
        if node.op == "put":
            self.put(place, node)
            return
        if node.op == "where" and self.choose(place, node):
            return
        ufunc = ufunc_of(node)
        if ufunc is not None:
            self.ufunc(place, node, ufunc)
            return
        spelled = SPELLINGS.get((node.op, node.call))
        if node.op in ("getitem", "item"):
            value, scalar = self.part(node), False
        elif spelled is not None and spelled.fits(node):
            args = [self.text_of(x, spelled.arrays) for x in spelled.arguments(node)]
            value, scalar = spelled.text.format(*args), spelled.scalar
            self.scope.update(spelled.names)
        else:
            args = [self.text_of(x, True) for x in node.args]
            args += [f"{name}={self.text_of(x, True)}" for name, x in node.keywords.items()]
            value, scalar = f"{self.function_of(node)}({', '.join(args)})", False
        if node.shape == ():
            if scalar:
                self.scalars.add(node)
            else:
                value = f"asarray({value})"
        self.assign(node, value)

    def assign(self, node: Node, value: str) -> None:
        name = self.names[node] = f"v{len(self.names)}"
        self.lines.append(f"{name} = {value}")

    def ufunc(self, place: int, node: Node, ufunc: np.ufunc) -> None:
        """A ufunc, into memory of an operand that is not read any more where there is one."""
        args = ", ".join([self.text_of(x, False) for x in node.args])
        if node.shape == () and self.infix(node):
            return
        function = self.named(node.op.replace(".", "_"), ufunc)
        if node.shape and self.accumulate(place, node, function, args):
            return
        into = None if node.shape == () or node.op == "matmul" else self.free_operand(place, node)
        if into is None:
            if node.shape == ():
                self.scalars.add(node)
            self.assign(node, f"{function}({args})")
        else:
            self.take_over(node, into)
            self.lines.append(f"{function}({args}, out={self.names[node]})")

    def infix(self, node: Node) -> bool:
        """Arithmetic of scalars as Python writes it, where NumPy's scalars have a ufunc's bits."""
        sign = EXACT.get(node.op)
        if sign is None or not all(self.is_scalar(x) for x in node.args):
            return False
        args = [self.text_of(x, False) for x in node.args]
        self.scalars.add(node)
        self.assign(node, f"{args[0]} {sign} {args[1]}" if len(args) == 2 else f"{sign}{args[0]}")
        return True

    def is_scalar(self, x: Any) -> bool:
        return x in self.scalars if type(x) is Node else type(x) in (int, float)

    def take_over(self, node: Node, x: Node) -> None:
        """A node lies in the memory of another one from here on."""
        self.names[node] = self.names[x]
        self.places[node] = x
        self.taken_over.add(x)

    def part(self, node: Node) -> str:
        """An element or view of data, or one of several results."""
        whole = self.text_of(node.args[0], True)
        if node.op == "item":
            return f"{whole}[{node.args[1]}]"
        return f"{whole}[{self.key(node.args[1])}]"

    def choose(self, place: int, node: Node) -> bool:
        """``where`` in place of its last operand, where that is not read any more."""
        condition, x, y = node.args
        other = getattr(x, "dtype", node.dtype)
        if getattr(condition, "dtype", None) != np.bool_:
            return False
        if not same_layout(y, node) or not self.is_free(place, y) or other != node.dtype:
            return False
        if type(x) is Node and self.memory[x] & self.memory[y]:
            return False
        mask, new = self.text_of(condition, True), self.text_of(x, True)
        self.take_over(node, y)
        self.scope["copyto"] = np.copyto
        self.lines.append(f"copyto({self.names[node]}, {new}, where={mask})")
        return True

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

    def put(self, place: int, node: Node) -> None:
        """Write in place where the data before the write is not read any more, or to a copy."""
        x, key, value = node.args
        if self.may_write(place, node):
            self.take_over(node, x)
            if value in self.written:
                return
        else:
            self.assign(node, f"{self.text_of(x, True)}.copy('K')")
        name = self.names[node]
        self.lines.append(f"{name}[{self.key(key)}] = {self.text_of(value, False)}")

    def may_write(self, place: int, node: Node) -> bool:
        """Whether a write may change the memory that it is a write to."""
        x, key, value = node.args
        if not self.is_free(place, x) or x.strides != node.strides:
            return False
        overlap = type(value) is Node and bool(self.memory[value] & self.memory[x])
        return not overlap or is_basic(key)

    def accumulate(self, place: int, node: Node, function: str, args: str) -> bool:
        """``x[key] = x[key] + y`` in place, where this is the sum and the next call the write."""
        after = self.program.nodes[place + 1 : place + 2]
        if not after or after[0].op != "put" or after[0].args[2] is not node:
            return False
        x, key, _ = after[0].args
        if self.last[node] != place + 1 or not self.may_write(place + 1, after[0]):
            return False
        part, rest = self.split(node, x, key)
        if part is None or (type(rest) is Node and self.memory[rest] & self.memory[x]):
            return False
        self.names[node] = self.names[part]
        self.written.add(node)
        self.lines.append(f"{function}({args}, out={self.names[part]})")
        return True

    def split(self, node: Node, x: Node, key: Any) -> tuple[Node | None, Any]:
        """The operand that is a view of x at a key, and the other one."""
        for part, rest in (node.args, node.args[::-1]) if len(node.args) == 2 else ():
            view = type(part) is Node and part.op == "getitem" and part.view and part.args[0] is x
            if not view or (part.shape, part.dtype) != (node.shape, node.dtype):
                continue
            if is_basic(key) and key_of(part.args[1]) == key_of(key):
                return part, rest
        return None, None

    def free_operand(self, place: int, node: Node) -> Node | None:
        """An operand of the result's layout whose memory is not read any more after this call."""
        for x in node.args:
            if same_layout(x, node) and self.is_free(place, x):
                return x  # type: ignore[no-any-return]
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
            if guard.node not in self.scalars and guard.node.shape:
                whole = self.looks.get(guard.node, f"{name}.ravel()")
                self.lines.append(f"q = {whole}; q = q.dot(q)")
                name = "q"
            look = f"{name} != {name}"  # NaN alone differs from itself
        elif guard.kind == "shape":
            look = f"{name}.shape != {guard.expected!r}"
        elif guard.node in self.scalars and guard.node.dtype.kind == "b":
            look = f"not {name}" if any(guard.expected) else name
        else:
            look = f"{name}.tobytes() != {self.named(f'k{len(self.scope)}', guard.expected)}"
        self.lines.append(f"if {look}: failed(guards[{i}])")


class Spelling(NamedTuple):
    """How code has a call that a wrapper would make slower.

    text : with a place for each argument.  arguments : of a node, in their order; None where it does not
    fit.  arrays : whether NumPy's scalars will not do.  scalar : whether 0-d results are such.
    """

    text: str
    arguments: Callable[[Node], Sequence[Any]]
    fits: Callable[[Node], bool] = lambda node: True
    arrays: bool = True
    scalar: bool = False
    names: Mapping[str, Any] = MappingProxyType({})


def reduction(name: str, ufunc: np.ufunc) -> Spelling:
    """``sum`` and its kin as the method of the ufunc that they end in."""

    def arguments(node: Node) -> Sequence[Any]:
        options = node.keywords
        return (
            node.args[0],
            options.get("axis"),
            options.get("dtype"),
            options.get("keepdims", False),
        )

    return Spelling(
        f"{name}({{}}, {{}}, {{}}, None, {{}})", arguments, scalar=True,
        names={name: ufunc.reduce},
    )  # fmt: skip


def plain(node: Node) -> bool:
    return not node.keywords


SPELLINGS: dict[tuple[str, Any], Spelling] = {
    ("sum", numpy_namespace.sum): reduction("add_reduce", np.add),
    ("prod", numpy_namespace.prod): reduction("multiply_reduce", np.multiply),
    ("max", numpy_namespace.max): reduction("maximum_reduce", np.maximum),
    ("min", numpy_namespace.min): reduction("minimum_reduce", np.minimum),
    ("any", numpy_namespace.any): Spelling(
        "{}.any()", lambda node: node.args, lambda node: not node.keywords, scalar=True
    ),
    ("reshape", numpy_namespace.reshape): Spelling("{}.reshape({})", lambda node: node.args, plain),
    ("astype", numpy_namespace.astype): Spelling("{}.astype({})", lambda node: node.args, plain),
    ("cast", numpy_namespace.cast): Spelling("{}.astype({})", lambda node: node.args, plain),
    ("permute_dims", np.permute_dims): Spelling("{}.transpose({})", lambda node: node.args, plain),
    ("matrix_transpose", numpy_namespace.matrix_transpose): Spelling(
        "{}.mT", lambda node: node.args, plain
    ),
}


def failed(guard: Guard) -> None:
    """Raise what says that the program does not hold."""
    raise GuardFailed(guard)


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


__all__ = ["Source"]
