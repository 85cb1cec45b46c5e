"""The memory that a program keeps from call to call, and views of it, made once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ..passes.nodes import same_layout
from ..passes.ufunc_calls import ufunc_of
from ..program import FOREIGN, Node, Program, operands

MOST = 1 << 27  # bytes that a program keeps, at most


class Memory:
    """Buffers with names, each used again for data of the same dtype and size.

    lines : of the function that allocates all of it.  names : what that function returns.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: list[str] = []
        self.bytes = 0
        self.free: dict[tuple[str, int], list[str]] = {}  # by dtype and bytes
        self.views: dict[str, str] = {}
        self.made: dict[str, str] = {}  # by name, how it was made
        self.base: dict[str, tuple[str, tuple[str, int]]] = {}  # by name, whose memory it is

    def take_memory(self, shape: tuple[int, ...], dtype: str, size: int) -> str:
        """Return a name for a buffer of a shape and dtype; size : in bytes."""
        key, made = (dtype, size), f"empty({shape!r}, {dtype})"
        if self.free.get(key):
            base = self.free[key].pop()
            name = (
                base if self.made[base] == made else self.view_memory(f"{base}.reshape({shape!r})")
            )
        else:
            self.bytes += size
            name = base = self.memory_name("s", made)
        self.base[name] = base, key
        return name

    def give_memory(self, name: str) -> None:
        """Allow a buffer to be taken again."""
        base, key = self.base[name]
        self.free.setdefault(key, []).append(base)

    def view_memory(self, text: str) -> str:
        """Return a name for a view of a buffer, given as text."""
        if text not in self.views:
            self.views[text] = self.memory_name("w", text)
        return self.views[text]

    def memory_name(self, kind: str, made: str) -> str:
        name = f"{kind}{len(self.names)}"
        self.names.append(name)
        self.lines.append(f"{name} = {made}")
        self.made[name] = made
        return name

    def memory_source(self) -> str:
        """Return the text of the function that allocates the buffers."""
        if not self.names:
            return ""
        body = "\n    ".join([*self.lines, f"return {', '.join(self.names)},"])
        return f"\n\ndef memory():\n    {body}\n"

    def taken_memory(self) -> list[str]:
        """Return the lines with which a call takes buffers that no concurrent call uses."""
        names = ", ".join(self.names)
        return [
            "try:",
            "    kept = idle.pop()",
            "except IndexError:",
            "    kept = memory()",
            f"{names}, = kept",
        ]


def memory_of(program: Program) -> dict[Node, frozenset[Node]]:
    """Return the nodes in whose memory each node may lie.

    That is the node itself or, for a view, the nodes in whose memory its operands lie.
    """
    memory: dict[Node, frozenset[Node]] = {}
    for node in program.nodes:
        if node.view:
            memory[node] = frozenset().union(*(memory[x] for x in operands(node)))
        else:
            memory[node] = frozenset((node,))
    return memory


def last_reads(program: Program, memory: Mapping[Node, frozenset[Node]]) -> dict[Node, int]:
    """Return the place of the last call that reads the memory of each node.

    For memory that outlives the program this is the number of its nodes.
    """
    last: dict[Node, int] = {}
    for place, node in enumerate(program.nodes):
        for x in operands(node):
            for root in memory[x]:
                last[root] = place
    for node in kept_outside(program):
        for root in memory[node]:
            last[root] = len(program.nodes)
    return last


def kept_outside(program: Program) -> Iterator[Node]:
    """Yield the values that may be referenced after the program has ended."""
    yield from program.outputs
    yield from program.writes
    for node in program.nodes:
        if node.op.startswith(FOREIGN):  # a user's function may keep its arguments
            yield from operands(node)


def leaving(
    program: Program, memory: Mapping[Node, Iterable[Node]], last: Mapping[Node, int]
) -> set[Node]:
    """Return the nodes in whose memory outputs and writes may lie, also by reuse of memory."""
    found = {root for node in kept_outside(program) for root in memory[node]}
    for place in reversed(range(len(program.nodes))):
        node = program.nodes[place]
        if node in found and node.op == "put":
            found.update(memory[node.args[0]])
        elif node in found and ufunc_of(node) is not None and node.op != "matmul":
            dying = (x for x in node.args if same_layout(x, node) and last.get(x, -1) == place)
            found.update(islice(dying, 1))
    return found
