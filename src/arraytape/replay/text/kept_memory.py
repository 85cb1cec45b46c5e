"""The memory that a program keeps from call to call for intermediate results, and views of this memory.

``Memory`` assigns buffers to nodes while ``Source`` writes the text.  The other functions compute how
long the memory of a node is read, and which nodes need new memory because the caller gets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ..passes.nodes import same_layout
from ..passes.ufunc_calls import ufunc_of
from ..program import FOREIGN, Node, Program, operands

MOST = 1 << 27  # the maximum number of bytes that a program keeps between its calls


class Memory:
    """Named buffers of a program, each reused for later results of the same dtype and size.

    They are kept from call to call, so that a replay allocates little memory.
    lines : the lines of the generated function ``memory()``, which allocates the buffers and makes the
        views.
    names : the names of the buffers and views, which ``memory()`` returns.
    bytes : the total size.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: list[str] = []
        self.bytes = 0
        self.free: dict[tuple[str, int], list[str]] = {}  # (dtype, bytes) -> free buffers
        self.views: dict[str, str] = {}  # expression -> name of the view
        self.made: dict[str, str] = {}  # name -> expression that makes the buffer or view
        # Name of a buffer or view -> (name of the buffer, its key in ``free``).
        self.base: dict[str, tuple[str, tuple[str, int]]] = {}

    def take_memory(self, shape: tuple[int, ...], dtype: str, size: int) -> str:
        """Reserve a buffer of ``size`` bytes, and return its name.

        shape : the shape of the result that it holds.
        dtype : the name of the dtype in the text.
        """
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
        """Release the buffer ``name``, so that later results may use it."""
        base, key = self.base[name]
        self.free.setdefault(key, []).append(base)

    def view_memory(self, text: str) -> str:
        """Return the name of a view, whose expression is ``text``; each view is made once.

        A view, such as ``s1[:10]``, shows a part of a buffer.
        """
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
        """Return the text of the function ``memory()``, which allocates the buffers; "" for none."""
        if not self.names:
            return ""
        body = "\n    ".join([*self.lines, f"return {', '.join(self.names)},"])
        return f"\n\ndef memory():\n    {body}\n"

    def taken_memory(self) -> list[str]:
        """Return the lines by which a call takes a set of buffers that no concurrent call uses.

        ``idle`` is the list of sets that no call uses now.
        """
        names = ", ".join(self.names)
        return [
            "try:",
            "    kept = idle.pop()",
            "except IndexError:",
            "    kept = memory()",
            f"{names}, = kept",
        ]


def memory_of(program: Program) -> dict[Node, frozenset[Node]]:
    """Return for each node the nodes whose memory it may share.

    A node is a value of the program.  These are the node itself or, for a view, the nodes whose memory
    its operands may share.
    """
    memory: dict[Node, frozenset[Node]] = {}
    for node in program.nodes:
        if node.view:
            memory[node] = frozenset().union(*(memory[x] for x in operands(node)))
        else:
            memory[node] = frozenset((node,))
    return memory


def last_reads(program: Program, memory: Mapping[Node, frozenset[Node]]) -> dict[Node, int]:
    """Return for each node the number of the last call that reads its memory, which is free afterwards.

    If the memory may be referenced after the program has ended, the number is ``len(program.nodes)``.
    memory : node -> the nodes whose memory it may share.
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
    """Yield the values that may be referenced after the program has ended.

    Results, for example, are used by the caller.
    """
    yield from program.outputs
    yield from program.writes
    for node in program.nodes:
        if node.op.startswith(FOREIGN):  # a user's function may keep its arguments
            yield from operands(node)


def leaving(
    program: Program, memory: Mapping[Node, Iterable[Node]], last: Mapping[Node, int]
) -> set[Node]:
    """Return the nodes whose memory may be referenced after the program has ended.

    Such memory cannot be kept for the next call.  An operand of an output is among the nodes if the
    output may be written over the operand.
    memory : node -> the nodes whose memory it may share.
    last : node -> the number of the last call that reads its memory.
    """
    found = {root for node in kept_outside(program) for root in memory[node]}
    for place in reversed(range(len(program.nodes))):
        node = program.nodes[place]
        if node in found and node.op == "put":
            found.update(memory[node.args[0]])
        elif node in found and ufunc_of(node) is not None and node.op != "matmul":
            dying = (x for x in node.args if same_layout(x, node) and last.get(x, -1) == place)
            found.update(islice(dying, 1))
    return found
