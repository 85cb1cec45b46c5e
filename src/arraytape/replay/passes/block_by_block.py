"""A pass that groups elementwise calls on arrays of one large shape, and computes them block by block.

A block is some rows of the arrays.  All calls of a group are made on a block before the next block is
read, so that intermediate values stay in the cache and need no memory of the whole shape.
``text/loops.py`` writes the loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import getitem
from typing import Any

import numpy as np

from ..._util.array_types import Index
from ..program import CONSTANT, INPUT, Node, Operand, Program, key_of, operands, result_of
from .nodes import like, packed
from .simplify import MASKED, copied, is_basic, is_positive_zero, mapped
from .sums_by_blas import is_sum
from .ufunc_calls import CASTS, ufunc_of

LEAST = 1 << 17  # the least number of elements for which a loop pays: fewer fit in the cache
BLOCK = 16384  # the number of elements of a block, roughly
ALIGNED = 64  # blocks have a multiple of 64 rows, so that they begin at a line of the cache
# Ops of new nodes: a group of calls, one result of a group, and zeros to whose slices results are added.
BLOCKED, ITEM, ADDED = "blocks", "item", "added_parts"
FIRST = (INPUT, CONSTANT, "zeros")  # ops of the nodes that ``order_group`` puts first


class Blocks:
    """A group of recorded calls on arrays of one shape, computed block by block.

    A block is some rows of the arrays, so that intermediate values stay in the cache.  Sums of all
    elements may be in the group, too.
    members : the calls, in their order.
    inputs : the operands that are no members.
    results : the members that other nodes read.
    items : for each result, the node that stands for it outside of the group.
    shape : the shape of the calls.
    rows : the number of rows of a block.
    """

    def __init__(self, members: list[Node], results: list[Node]) -> None:
        self.members, self.results = members, results
        inside = set(members)
        found = {x: None for member in members for x in operands(member) if x not in inside}
        self.inputs = [*found]
        self.shape: Any = next(x.shape for x in members if not is_sum(x))
        self.rows = rows_per_block(self.shape)
        self.items: list[Node] = []

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Return the results, computed without blocks; this is the reference for the generated loop.

        values : the values of ``inputs``.
        """
        known = dict(zip(self.inputs, values, strict=True))
        for node in self.members:
            known[node] = result_of(node, known)
        return tuple([known[node] for node in self.results])

    def is_cut(self, x: Node) -> bool:
        """Return True if each step of the loop over blocks reads some rows of x, False for all of x."""
        return len(x.shape) == len(self.shape) and x.shape[0] == self.shape[0]


def rows_per_block(shape: tuple[int, ...]) -> int:
    """Return the number of rows of a block; 0 if a single row is larger than a block.

    A block is some rows of an array, small enough for the cache.  The rows are divided about equally
    among blocks, so that the last block is not very short.  Blocks of many rows begin at a line of the
    cache.
    """
    row = int(np.prod(shape[1:], dtype=int))
    rows = BLOCK // row if row else 0
    if rows < ALIGNED:
        return rows
    even = -(-shape[0] // max(1, round(shape[0] / rows)))
    return -(-even // ALIGNED) * ALIGNED


def is_member(node: Node) -> bool:
    """Return True if a node is a large elementwise call, which can be computed block by block."""
    if node.op in (INPUT, CONSTANT) or not node.shape or node.size < LEAST:
        return False
    if node.strides != packed(node.shape, node.dtype.itemsize) or not rows_per_block(node.shape):
        return False
    if any(x.shape is None or x.dtype is None for x in operands(node)) or node.keywords:
        return False
    if node.op == MASKED:
        return True
    if node.op == "where":
        return len(node.args) == 3 and getattr(node.args[0], "dtype", None) == np.bool_
    if node.op in CASTS:
        x = node.args[0]
        return len(node.args) == 2 and type(x) is Node and x.dtype.kind != "c" and not node.view
    ufunc = ufunc_of(node)
    return ufunc is not None and ufunc.signature is None


def blocked(program: Program) -> Program:
    """Replace each group of elementwise calls by one BLOCKED node, which computes them block by block.

    The node's value is a tuple, from which ITEM nodes take the results of the group.  A block is some
    rows of the arrays.  Their intermediate values stay in the cache.
    """
    if not any(map(is_member, program.nodes)):
        return program
    program = with_added_parts(program)
    group = groups_of(program)
    wanted = read_outside(program, group)
    of: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in order_group(program, group):
        if node not in group:
            of[node] = node
            if any(of[x] is not x for x in operands(node)):
                of[node] = copied(node, of.__getitem__)
            nodes.append(of[node])
        elif node is group[node][0]:
            nodes += collapsed(group[node], wanted, of)
    return program.renamed(of, nodes)


def groups_of(program: Program) -> dict[Node, list[Node]]:
    """Return a dict from each call in a group to the list of all calls of the group.

    A group has elementwise calls of one shape and level, which one loop over blocks (some rows) will
    compute.  A call that reads a result of another group has a greater level than that group.  So no
    group has to wait for a value that is computed from its own results.
    """
    level: dict[Node, int] = {}
    shape: dict[Node, Any] = {}  # member of a group -> its shape; full sum -> its operand's shape
    groups: dict[Any, list[Node]] = {}
    for node in program.nodes:
        own = node.shape if is_member(node) else None
        # A full sum joins the group of its operand: each block adds to it.
        if own is None and is_sum(node) and not is_sum(node.args[0]):
            own = shape.get(node.args[0])
        ups = [level[x] + (x in shape and (shape[x] != own or is_sum(x))) for x in operands(node)]
        level[node] = max(ups, default=0)
        if own is not None:
            shape[node] = own
            groups.setdefault((own, level[node]), []).append(node)
    return {node: members for members in groups.values() if len(members) > 1 for node in members}


def read_outside(program: Program, group: dict[Node, list[Node]]) -> set[Node]:
    """Return the nodes whose values are used outside of their group of calls.

    These are operands of nodes outside the group, outputs, writes, and nodes that a replay checks.
    group : member -> the calls of its group, which one loop computes.
    """
    wanted = set(program.roots())
    for node in program.nodes:
        own = group.get(node)
        wanted.update(x for x in operands(node) if group.get(x) is not own)
    return wanted


def collapsed(members: list[Node], wanted: set[Node], of: dict[Node, Node]) -> list[Node]:
    """Return a BLOCKED node, which computes ``members`` block by block, and an ITEM node per result.

    wanted : nodes that are read outside of their group; the results are the members in ``wanted``.
    of : old node -> new node; this function adds the ITEM node of each result.
    """
    inside = {x: of[x] for node in members for x in operands(node) if x in of}
    for node in members:
        inside[node] = copied(node, inside.__getitem__)
    results = [node for node in members if node in wanted]
    blocks = Blocks([inside[node] for node in members], [inside[node] for node in results])
    whole = Node(BLOCKED, blocks, tuple(blocks.inputs))
    for i, node in enumerate(results):
        of[node] = Node(ITEM, getitem, (whole, i), like=node)
        blocks.items.append(of[node])
    return [whole, *blocks.items]


def order_group(program: Program, group: dict[Node, list[Node]]) -> list[Node]:
    """Return all nodes in an order where the calls of each group follow one another.

    A group has the calls that one loop computes.  It stands after the values that it reads.
    group : member -> the members of its group.
    """
    done: dict[Node, None] = {}
    for root in sorted(program.nodes, key=lambda node: node.op not in FIRST):
        waiting = [root]
        while waiting:
            if waiting[-1] in done:
                waiting.pop()
                continue
            members = group.get(waiting[-1]) or waiting[-1:]
            own = {*members}
            before = [x for y in members for x in operands(y) if x not in done and x not in own]
            if before:
                waiting += before
            else:
                done.update(dict.fromkeys(members))
    return [*done]


# --- values that are added to slices of zeros --------------------------------------------------------
Part = tuple[Any, slice, bool]  # value, its rows in the array of zeros, True if it is added there


def with_added_parts(program: Program) -> Program:
    """Replace each chain of writes that adds values to slices of zeros by one ADDED node.

    Backward passes have such chains: a slice's cotangent is added to zeros, as for ``x[1:] - x[:-1]``.
    All values of the chain must be results of one group (calls that are computed block by block).
    """
    group = groups_of(program)
    readers: dict[Node, set[Node]] = defaultdict(set)
    for node in program.nodes:
        for x in operands(node):
            readers[x].add(node)
    outside = Node("outside")
    for node in program.roots():
        readers[node].add(outside)
    instead: dict[Node, Node] = {}
    for node in program.nodes:
        parts, chain = write_chain(node, readers)
        own = group.get(parts[0][0]) if parts else None
        turn = None if own is None else in_loop_order(node.shape, parts)
        if own is None or turn is None:
            continue
        if all(group.get(x) is own and readers[x] <= {*own, *chain} for x, _, _ in parts):
            instead[node] = like(node, ADDED, added_parts, node.shape, turn)
    return mapped(program, lambda node, _: node, instead) if instead else program


def write_chain(node: Node, readers: Mapping[Node, set[Node]]) -> tuple[list[Part], set[Node]]:
    """Return the values that a chain of "put" nodes (writes) adds to zeros, and the nodes of the chain.

    The values come as Parts, with their rows.  node : the last "put".  readers : node -> the nodes that
    read the node.  The chain is, for example, ``z[1:] += a; z[:-1] -= b``.  The list of Parts is empty
    if `node` is not the end of such a chain.
    """
    parts: list[Part] = []
    chain = {node}
    while node.op == "put":
        x, key, value = node.args
        if is_positive_zero(x) and fills(value, x, key):
            plain = x.strides == packed(x.shape, x.dtype.itemsize)
            return ([(value, key, True), *reversed(parts)] if plain else []), chain
        total, more = added_value(node) or (node, node)
        reads = {y for y in readers[x] if y.op == "getitem" and readers[y] == {total}}
        if readers[total] != {node} or readers[x] != {node, *reads} or not fills(more, x, key):
            break
        parts.append((more, key, total.op == "add"))
        chain |= {x, total}
        node = x
    return [], chain


def added_value(node: Node) -> tuple[Node, Node] | None:
    """Return the nodes ``x[key] + more`` and ``more`` if a "put" node computes ``x[key] += more``.

    The same holds for ``x[key] -= more``.  For another "put" node, return None.
    """
    x, key, total = node.args
    if type(total) is not Node or total.op not in ("add", "subtract") or not is_basic(key):
        return None
    for read, more in (total.args, total.args[::-1])[: 2 if total.op == "add" else 1]:
        own = type(read) is type(more) is Node and read.op == "getitem" and read.args[0] is x
        if own and key_of(read.args[1]) == key_of(key):
            return total, more
    return None


def fills(value: Operand, x: Node, key: Index) -> bool:
    """Return True if a key is a slice of rows of x with step 1, and the value has this slice's shape.

    value : the operand that is written to ``x[key]``.
    """
    if type(key) is not slice or key.step not in (None, 1) or type(value) is not Node:
        return False
    rows = len(range(*key.indices(x.shape[0]))) if x.shape else 0
    return bool(value.dtype == x.dtype and value.shape == (rows, *x.shape[1:]))


def in_loop_order(shape: tuple[int, ...], parts: Sequence[Part]) -> list[Part] | None:
    """Return ``parts``, values to be added to slices of zeros, in descending order of their first rows.

    The generated loop stores the rows of the first part.  It adds the rows of the others to rows that
    it has stored already, which needs this order.  All parts have equally many rows.  Return None if
    the order would change the last bits of a sum of three terms, or if the first part is subtracted.
    """
    turn = sorted(parts, key=lambda part: -part[1].indices(shape[0])[0])
    if turn[0] is not parts[0]:  # the first two terms may be swapped: their sum has the same bits
        parts = [parts[1], parts[0], *parts[2:]]
    return turn if turn[0][2] and all(x is y for x, y in zip(turn, parts, strict=True)) else None


def added_parts(shape: tuple[int, ...], parts: Sequence[Part]) -> Any:
    """Return zeros of a shape after ``zeros[key] += value`` (``-=`` if not plus) for each part."""
    whole = np.zeros(shape, parts[0][0].dtype)
    for value, key, plus in parts:
        (np.add if plus else np.subtract)(whole[key], value, whole[key])
    return whole
