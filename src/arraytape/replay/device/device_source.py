"""The generated function of a program on a device, which calls CuPy's functions and fused kernels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from ..program import CONSTANT, INPUT, Node, Program, defined_function, operands, scope_name

NUMBER = count(1).__next__  # numbers the file names of generated functions
PLAIN = (int, bool, str, type(None))  # types of values that the text shows


class DeviceSource:
    """The Python text that makes a program's calls on a GPU, and the function that it defines.

    In the text, x and a number is an input, c a constant, v the value of a call, and k another argument.
    text : the Python source.
    function : a function that maps the data of the inputs to a tuple of the values of ``results``.
    """

    def __init__(self, program: Program, results: list[Node], name: str) -> None:
        self.scope: dict[str, Any] = {}
        self.names: dict[Node, str] = {}
        last = {x: node for node in program.nodes for x in operands(node)}
        last |= {x: x for x in results}  # results are kept until the end
        for i, node in enumerate(program.inputs):
            self.names[node] = f"x{i}"
        lines = []
        for i, node in enumerate(program.nodes):
            if node.op == CONSTANT:
                self.names[node] = f"c{i}"
                self.scope[f"c{i}"] = node.value
            if node.op in (INPUT, CONSTANT):
                continue
            self.names[node] = f"v{i}"
            lines.append(f"v{i} = {self.call(node)}")
            # Free each value after its last use, so that later results use its memory.
            dead = [
                x for x in dict.fromkeys(operands(node)) if last[x] is node and x.op != CONSTANT
            ]
            lines += [f"del {', '.join([self.names[x] for x in dead])}"] if dead else []
        given = ", ".join(self.names[node] for node in program.inputs)
        body = "\n    ".join([*lines, f"return ({''.join(f'{self.names[x]}, ' for x in results)})"])
        self.text = f"def {name}({given}):\n    {body}\n"
        file = f"<arraytape device program {NUMBER()} of {name}>"
        self.function: Callable[..., Any] = defined_function(self.text, file, name, self.scope)

    def call(self, node: Node) -> str:
        """Return the expression of a recorded call, for the generated text.

        The called function becomes a global of the text.
        """
        if node.op == "item":
            return f"{self.value(node.args[0])}[{node.args[1]}]"
        name = node.op.replace(".", "_")
        name = f"{name}{len(self.scope)}" if name.isidentifier() else f"f{len(self.scope)}"
        self.scope[name] = node.call
        parts = [self.value(x) for x in node.args]
        parts += [f"{option}={self.value(x)}" for option, x in node.keywords.items()]
        return f"{name}({', '.join(parts)})"

    def value(self, value: Any) -> str:
        """Return the text of a call's argument; nodes, also nested ones, appear by name."""
        kind = type(value)
        if kind is Node:
            return self.names[value]
        if kind is tuple:
            return f"({''.join(f'{self.value(x)}, ' for x in value)})"
        if kind is list:
            return f"[{', '.join([self.value(x) for x in value])}]"
        if kind is dict:
            return f"{{{', '.join([f'{key!r}: {self.value(x)}' for key, x in value.items()])}}}"
        if kind in PLAIN:
            return repr(value)
        return scope_name(self.scope, value)
