"""The text of a loop that computes a group of elementwise calls block by block.

``passes/block_by_block.py`` forms the groups (``Blocks``); ``Source`` makes a ``Loop`` for each group,
which adds its lines to the text.  In the text, a block has the rows from i to j, without j.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..passes.block_by_block import ADDED, Blocks
from ..passes.nodes import same_layout
from ..passes.simplify import INTEGERS, MASKED
from ..passes.sums_by_blas import DOT, is_sum
from ..passes.ufunc_calls import (
    CASTS,
    SLOW_BESIDE_NUMBERS,
    call_into,
    may_overwrite_operands,
    same_beside_numbers,
    ufunc_of,
)
from ..program import Node, Operand, operands
from .bits import Bits
from .number_operands import as_operand


class Loop:
    """A writer of the loop that computes one group of elementwise calls block by block.

    A block is some rows of the arrays, so that intermediate values stay in the cache.
    source : the ``Source`` of the program, the writer of the whole text.
    place : the number of the group's node in the program.
    names : node -> name of a block of its value, or of the whole value.
    lines : the lines of the loop's body.
    """

    def __init__(self, source: Any, place: int, blocks: Blocks) -> None:
        self.source, self.place, self.blocks = source, place, blocks
        self.names: dict[Node, str] = {}
        self.lines: list[str] = []
        self.scratch: dict[str, list[str]] = {}  # dtype -> free buffers of the size of a block
        self.own: set[Node] = set()  # values whose memory is a buffer of ``scratch``
        self.taken: list[str] = []  # names of the kept buffers that the loop uses
        self.spreads: set[str] = set()  # names of blocks that are filled with one number
        self.last = {x: i for i, node in enumerate(blocks.members) for x in operands(node)}
        self.items = dict(zip(blocks.results, blocks.items, strict=True))
        self.guarded = {guard.node for guard in source.program.guards if guard.kind == "no NaN"}
        choices = [node for node in blocks.members if node.op == MASKED]
        self.bits = Bits(choices, self.room_for_bits, self.give_bits, source.named, False)
        source.scope |= {"copyto": np.copyto, "add_reduce": np.add.reduce}
        for x in blocks.inputs:
            self.loop_input(x)
        # Pairs (result, line that reads the result at the end of a block).
        self.later: list[tuple[Node, str]] = []
        for node in source.program.nodes:
            if node.op == ADDED and {*operands(node)} <= {*blocks.items}:
                self.added_memory(node)
        for i, node in enumerate(blocks.members):
            if not is_sum(node) and node in self.items and self.items[node] not in source.written:
                self.result_memory(i, node)
        for i, node in enumerate(blocks.members):
            self.write_member(i, node)
        self.write_loop()
        for name in self.taken:
            source.kept.give_memory(name)

    def write_loop(self) -> None:
        rows, count = self.blocks.rows, self.blocks.shape[0]
        source = self.source
        sums = [node for node in self.blocks.members if is_sum(node)]
        source.lines += [f"{self.names[node]} = []" for node in sums]
        source.lines.append(f"for i in range(0, {count}, {rows}):")
        source.lines.append(f"    j = min(i + {rows}, {count})")
        self.lines += [line.format(self.names[node]) for node, line in self.later]
        source.lines += [f"    {line}" for line in self.lines]
        for node in sums:
            item = self.items[node]
            source.scalars.add(item)
            source.assign(item, f"add_reduce({self.names[node]})")

    # --- memory of inputs, results and blocks -----------------------------------------------------
    def loop_input(self, x: Node) -> None:
        name = self.source.text_of(x, True)
        self.names[x] = name
        if self.blocks.is_cut(x):
            self.cut_block(x, name)

    def cut_block(self, x: Node, name: str) -> None:
        self.names[x] = f"{name}_"
        self.lines.append(f"{name}_ = {name}[i:j]")

    def result_memory(self, i: int, node: Node) -> None:
        """Choose memory for a result: that of an input that is not read any more, or new memory.

        i : the number of the call in the loop.
        node : the call.
        """
        item = self.items[node]
        for x in self.blocks.inputs:
            if self.last[x] <= i and self.may_go(x, node, item):
                self.source.take_over(item, x)
                self.names[node] = self.names[x]
                return
        self.cut_block(node, self.new(item))

    def added_memory(self, node: Node) -> None:
        """Choose memory for an ADDED node: an array of zeros to whose row slices results are added.

        The slices may overlap, and are in descending order of their first rows.  In each step, the loop
        writes the first result to its slice.  At the end of the step, it adds the other results to rows
        that are written by then.
        """
        shape, parts = node.args
        source, name = self.source, self.new(node)
        start, stop, _ = parts[0][1].indices(shape[0])
        source.zero_rows_outside(name, start, stop, shape[0])
        member = dict(zip(self.blocks.items, self.blocks.results, strict=True))
        alone = [x for x, _, _ in parts].count(parts[0][0]) == 1
        for i, (x, key, plus) in enumerate(parts):
            start, stop, _ = key.indices(shape[0])
            view = source.names[x] = source.view(name, f"{name}[{start}:{stop}]")
            source.written.add(x)
            self.last[member[x]] = len(self.blocks.members)
            self.lines.append(f"{view}_ = {view}[i:j]")
            if i:
                ufunc = np.add if plus else np.subtract
                function = source.named(ufunc.__name__, ufunc)
                self.later.append((member[x], f"{function}({view}_, {{}}, {view}_)"))
            elif alone:
                self.names[member[x]] = f"{view}_"
            else:
                self.later.append((member[x], f"copyto({view}_, {{}})"))

    def new(self, node: Node) -> str:
        """Return the name of new memory for a result, which is kept memory if possible."""
        if self.source.room(node) is None:
            self.source.scope["empty"] = np.empty
            self.source.assign(node, f"empty({node.shape!r}, {self.source.dtype(node.dtype)})")
        return str(self.source.names[node])

    def may_go(self, x: Node, node: Node, item: Node) -> bool:
        """Return True if a result may be written into the memory of the input x of the loop.

        This requires that no other input shares the memory.
        x : the input.
        node : the call in the loop that computes the result.
        item : the program's node for the result.
        """
        source = self.source
        if not same_layout(x, node) or not source.is_free(self.place, x, item):
            return False
        if x in source.taken_over or (x in node.args and not may_overwrite_operands(node)):
            return False
        if node.op == "where" and any(y is x for y in node.args[:2]):
            return False
        place = source.place_of(x)
        return not any(
            y is not x and place in {source.place_of(root) for root in source.memory[y]}
            for y in self.blocks.inputs
        )

    def room(self, i: int, node: Node) -> str:
        """Return the name of memory for a block of the i-th call's result.

        It is the memory of an operand not read later, or a free buffer.
        """
        for x in node.args[2 * (node.op == "where") :] if may_overwrite_operands(node) else ():
            if x in self.own and self.last[x] <= i and x.dtype == node.dtype:
                self.own.remove(x)
                return self.names[x]
        return self.scratch_of(node.dtype)

    def scratch_of(self, dtype: np.dtype[Any]) -> str:
        """Return the name of a free buffer for a block (some rows of an array) of a dtype."""
        kind = self.source.dtype(dtype)
        if self.scratch.setdefault(kind, []):
            return self.scratch[kind].pop()
        shape = (self.blocks.rows, *self.blocks.shape[1:])
        whole = str(self.source.kept.take_memory(shape, kind, math.prod(shape) * dtype.itemsize))
        self.taken.append(whole)
        self.lines.append(f"{whole}_ = {whole}[:j - i]")
        return f"{whole}_"

    def room_for_bits(self, node: Node) -> str:
        return self.scratch_of(INTEGERS[node.dtype])

    def give_bits(self, node: Node, name: str) -> None:
        self.scratch[self.source.dtype(INTEGERS[node.dtype])].append(name)

    # --- lines of calls ---------------------------------------------------------------------------
    def operand_text(self, x: Operand, node: Node) -> str:
        """Return the expression for the rows of operand x that one step of the loop reads.

        node : the call that has x as an operand.
        """
        if type(x) is Node:
            return self.names[x]
        number = as_operand(x, node)
        if number is None or node.op not in SLOW_BESIDE_NUMBERS or not same_beside_numbers():
            return str(self.source.operand(x, node))
        name = str(self.source.spread(number, (self.blocks.rows, *self.blocks.shape[1:])))
        if f"{name}_" not in self.spreads:
            self.spreads.add(f"{name}_")
            self.lines.append(f"{name}_ = {name}[:j - i]")
        return f"{name}_"

    def write_member(self, i: int, node: Node) -> None:
        """Write the lines that compute a block (some rows) of ``node``, the i-th call of the loop.

        Afterwards release the memory of operands that no later call of the loop reads.
        """
        args = [self.operand_text(x, node) for x in node.args]
        if is_sum(node):
            self.names[node] = f"p{i}"
            if node.op == DOT:
                args = args if len(self.blocks.shape) == 1 else [f"{x}.ravel()" for x in args]
                self.lines.append(f"p{i}.append({args[0]}.dot({args[1]}))")
            else:
                self.lines.append(f"p{i}.append(add_reduce({args[0]}, None))")
        else:
            if node not in self.names:
                self.names[node] = self.room(i, node)
                self.own.add(node)
            self.loop_call(node, args, self.names[node])
            self.check_block(i, node)
        for x in {*operands(node)}:
            if x in self.own and self.last[x] <= i:
                self.own.remove(x)
                self.scratch.setdefault(self.source.dtype(x.dtype), []).append(self.names[x])

    def check_block(self, i: int, node: Node) -> None:
        """Write the NaN check of a block of a result, if replays check the result for NaN.

        The check is made here because the block is still in the cache.  The sum of squares of a block
        is NaN if an element is NaN.
        """
        item = self.items.get(node)
        if item not in self.guarded or node.dtype.kind != "f":
            return
        name = self.names[node]
        self.source.lines.append(f"n{i} = []")
        self.lines.append(f"q = {name}.ravel(); n{i}.append(q.dot(q))")
        self.source.squares[item] = f"array(n{i})"

    def loop_call(self, node: Node, args: list[str], into: str) -> None:
        """Write the call of `node`, one of the calls in the loop, on the blocks ``args``.

        into : the expression for the memory that receives the result.
        """
        if node.op == "where":
            if args[2] != into:
                self.lines.append(f"copyto({into}, {args[2]})")
            self.lines.append(f"copyto({into}, {args[1]}, where={args[0]})")
        elif node.op == MASKED:
            kind = self.source.dtype(INTEGERS[node.dtype])
            two = type(node.args[2]) is Node
            other: Any = f"{args[2]}.view({kind})" if two else node.args[2]
            x, into = f"{args[0]}.view({kind})", f"{into}.view({kind})"
            bits, lines = self.bits.mask_bits(node, args[1], into != other if two else other)
            self.lines += lines + self.source.by_bits(x, bits, other, into)
        elif node.op in CASTS:
            self.lines.append(f"copyto({into}, {args[0]}, 'unsafe')")
        else:
            ufunc = ufunc_of(node)
            function = self.source.named(node.op.replace(".", "_"), ufunc)
            self.lines.append(call_into(ufunc, function, ", ".join(args), into))
