"""Passes that shorten a program and keep the bits of its results, except for the sign of a zero.

Equal calls are made once, calls on constants become constants, a read of a slice that was just written
becomes the written value, and algebraic rules replace calls.  A rule is a function ``rule(node, new)``
that returns a replacement of the node, or None.  If the replacement has other new nodes as operands, the
rule applies ``new`` to these, which simplifies them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np

from ..._record.op_facts import facts_of, state_facts
from ..._storage import numpy_namespace
from ..._util.array_types import Index
from ..._util.blocks import Quiet
from ..program import CONSTANT, INPUT, Node, Operand, Program, key_of, operands, put, replaced
from .nodes import SMALL, New, again, like, number_of, packed, same_layout, with_operand
from .rewriting import Rewrite

Rules = Mapping[str, tuple[Callable[[Node, New], Node | None], ...]]  # op -> its rules
NONE: Mapping[Node, Node] = MappingProxyType({})
MASKED = "masked"  # the op of a choice between floats by operations on bits
INTEGERS: dict[Any, np.dtype[Any]] = {
    np.dtype(np.float32): np.dtype(np.int32),
    np.dtype(np.float64): np.dtype(np.int64),
}
WORTH_BITS = 256  # the least number of elements for which ``masked`` is faster than ``where``
WORTH_TWO = 4096  # the least number of elements for which ``merged`` is faster than ``where``
MOST = 8  # the maximum number of rules that are applied to one node, one after the other


def simplified(program: Program) -> Program:
    """Return the program, shortened without a change of results except for the sign of a zero.

    Equal calls are made once, calls on constants become constants, and algebraic rules are applied.
    """
    known: dict[Any, Node] = {}

    def simple(node: Node) -> Node:
        return shared(rewritten(folded(node), simple), known)

    return with_signs_joined(mapped(program, lambda node, _: simple(node)))


def mapped(
    program: Program, new_of: Callable[[Node, Node], Node], instead: Mapping[Node, Node] = NONE
) -> Program:
    """Return the program with ``new_of(node, old)`` in place of each node, without dead code.

    Passes are made of such maps.  A node is an input, a constant or a recorded call.
    new_of : a function that returns the new node, which may be one that it has returned before.  Its
        argument ``old`` is a node of the given program; ``node`` is the copy of ``old`` on new operands,
        or ``old`` itself if no operand changed.
    instead : old node -> a call on nodes of the given program, which takes the place of ``old`` first.
    """
    of: dict[Node, Node] = {}
    nodes: dict[Node, None] = {}
    for node in program.nodes:
        call = instead.get(node, node)
        moved = any(of[x] is not x for x in operands(call))
        new = of[node] = new_of(copied(call, of.__getitem__) if moved else call, node)
        insert(new, nodes)
    return without_dead_code(program.renamed(of, nodes))


def insert(node: Node, nodes: dict[Node, None]) -> None:
    """Add a node to the ordered dict ``nodes``; before it, add the operands that are not in the dict.

    Each node then stands after its operands.
    """
    if node not in nodes:
        for operand in operands(node):
            insert(operand, nodes)
        nodes[node] = None


def copied(node: Node, of: Callable[[Node], Any]) -> Node:
    """Return a new node for the same call, with ``of(x)`` in place of each operand x.

    A pass that replaces nodes uses it for the nodes that read them.
    """
    args, keywords = replaced((node.args, node.keywords), of)
    new = Node(node.op, node.call, args, keywords)
    new.shape, new.dtype, new.strides, new.view = node.shape, node.dtype, node.strides, node.view
    new.device = node.device
    return new


# --- dead code ----------------------------------------------------------------------------------------
def without_dead_code(program: Program) -> Program:
    """Return the program without nodes that no output, write or guard needs.

    All inputs are kept.  A guard is a condition on a value that replays check.  Repeated guards, and
    guards of constants, are left out.
    """
    guards = {
        (guard.kind, guard.node, guard.expected): guard
        for guard in program.guards
        if guard.node.op != CONSTANT
    }
    program = replace(program, guards=[*guards.values()])
    live = program.reached(program.roots())
    program.nodes = [node for node in program.nodes if node in live or node.op == INPUT]
    return program


# --- equal calls --------------------------------------------------------------------------------------
def shared(node: Node, known: dict[Any, Node]) -> Node:
    """Return the node in ``known`` for an equal call or constant, so that equal calls are made once.

    If there is none, add `node` to ``known`` and return it.  known : key of a call or constant -> the
    first node with this key.
    """
    if node.op == INPUT:
        return node
    if node.op == CONSTANT:
        value = node.value
        small = value.nbytes <= SMALL
        key: Any = (
            (value.shape, value.strides, value.dtype.str, value.tobytes()) if small else id(value)
        )
    else:
        keywords = key_of(dict(node.keywords)) if node.keywords else None
        key = node.op, key_of(node.args), keywords, node.strides, node.dtype
    if key not in known and node.op == "multiply":
        other = opposite(node, known)
        node = node if other is None else other
    return known.setdefault(key, node)


def opposite(node: Node, known: dict[Any, Node]) -> Node | None:
    """Return a node ``-(c * x)`` for ``-c * x`` if ``known`` has a node ``c * x``, else None.

    The product is then computed once.
    known : key of a call -> node.
    """
    found = factors(node)
    if found is None:
        return None
    number, x = found
    for pair in ((-number, x), (x, -number)):
        other = known.get((node.op, key_of(pair), None, node.strides, node.dtype))
        if other is not None and other.op == node.op:
            return like(node, "negative", np.negative, other)
    return None


# --- calls on constants -------------------------------------------------------------------------------
def folded(node: Node) -> Node:
    """Return a constant for a call whose operands are all constants; other nodes as they are.

    A result of more than SMALL bytes stays a call, so that it does not occupy memory all the time.
    """
    if node.op in (INPUT, CONSTANT, "item", "empty") or node.shape is None or node.dtype is None:
        return node
    if any(operand.op != CONSTANT for operand in operands(node)):
        return node
    if node.size * node.dtype.itemsize > SMALL:
        return node
    args, keywords = replaced((node.args, node.keywords), lambda constant: constant.value)
    assert node.call is not None
    with Quiet():
        value = np.asarray(node.call(*args, **keywords))
    return Node(CONSTANT, like=value, value=value)


# --- algebraic rules ----------------------------------------------------------------------------------
def rewritten(node: Node, new_of: New, rules: Rules | None = None) -> Node:
    """Apply the rules of the node's op until no rule matches, at most MOST times; return the result.

    rules : op -> its rules; RULES if None.
    new_of : a function that simplifies new operands.
    """
    if node.op in (INPUT, CONSTANT):
        return node
    rules = RULES if rules is None else rules
    for _ in range(MOST):
        by_facts = () if node.op in RULES else rules_by_facts(node.op)
        for rule in (*rules.get(node.op, ()), *by_facts):
            new = rule(node, new_of)
            if new is not None:
                break
        else:
            return node
        if new.op in (INPUT, CONSTANT) or new is node:
            return new
        node = new
    return node


def nothing_changed(node: Node, new: New) -> Node | None:
    """Replace a cast, reshape, broadcast or copy by its operand, if both have the same layout.

    Return None for other nodes.  The rule needs no ``new``.
    """
    x = node.args[0]
    return x if same_layout(x, node) else None


def mean(node: Node, new: New) -> Node | None:
    """Replace a mean of floats by a sum divided by the count, which is how NumPy computes it.

    Return None for other nodes.
    new : a function that simplifies the nodes that the rule makes.
    """
    if node.dtype is None or node.dtype not in (np.float64, np.float32):
        return None
    if {*node.keywords} - {"axis", "keepdims"} or len(node.args) != 1:
        return None
    x = node.args[0]
    count = math.prod(x.shape) // max(1, math.prod(node.shape))
    if not count or x.dtype != node.dtype:  # NumPy adds integers as floats
        return None
    whole = like(node, "sum", numpy_namespace.sum, x)
    whole.keywords = dict(node.keywords)
    return like(node, "divide", np.true_divide, new(whole), node.dtype.type(count))


def without_broadcast(node: Node, new: New) -> Node | None:
    """Replace ``y + broadcast_to(x, y.shape)`` by ``y + x``, for each op that ``broadcasts_exactly``.

    The operand y must have the full shape, so that the result keeps its shape.  Return None if no
    operand is a broadcast.
    new : a function that simplifies the nodes that the rule makes.
    """
    for i in (0, 1):
        x, y = node.args[i], node.args[1 - i]
        if type(y) is Node and y.shape == node.shape and y.strides == node.strides:
            inner = before_broadcast(x, new)
            if inner is not None:
                return again(node, *with_operand(node, i, inner))
    return None


def before_broadcast(x: Operand, new: New) -> Node | None:
    """Return the array of which the operand x is a broadcast, or None if x is no broadcast.

    If x is a number plus or times a broadcast scalar, return the number plus or times the scalar.
    new : a function that simplifies the nodes that the rule makes.
    """
    if type(x) is not Node:
        return None
    if x.op in ("broadcast_to", "broadcast_view") or has_more_axes(x):
        inner = x.args[0]
        return inner if type(inner) is Node and inner.dtype == x.dtype else None
    if not broadcasts_exactly(x.op) or x.keywords:
        return None
    for i in (0, 1):
        number = x.args[1 - i]
        inner = before_broadcast(x.args[i], new) if type(number) in (int, float) else None
        if inner is not None and inner.shape == ():
            product = Node(x.op, x.call, with_operand(x, i, inner), like=inner)
            product.dtype = x.dtype
            return new(product)
    return None


def broadcasts_exactly(op: str) -> bool:
    """Return True for a binary elementwise function whose results are correctly rounded.

    So an operand may be broadcast before or after the call, with the same bits.
    """
    facts = facts_of(op)
    return facts.per_element and facts.correctly_rounded and len(facts.cores[0]) == 2


def has_more_axes(x: Node) -> bool:
    """Return True if x is a reshape of its operand that only adds axes of length 1 in front."""
    if x.op not in ("expand_dims", "reshape", "reshaped") or type(x.args[0]) is not Node:
        return False
    shape = x.args[0].shape
    return bool(shape) and x.shape == (1,) * (len(x.shape) - len(shape)) + shape


# --- rules for reads and writes -----------------------------------------------------------------------
def is_basic(key: Index) -> bool:
    """Return True if a key consists only of integers, slices, None and Ellipsis."""
    parts = key if type(key) is tuple else (key,)
    return all(part is None or part is Ellipsis or type(part) in (int, slice) for part in parts)


def apart(key: Index, other: Index, shape: tuple[int, ...]) -> bool:
    """Return True if two keys surely select different elements: they differ in an integer index.

    A read of one is then independent of a write to the other.
    shape : the shape of the indexed array.
    """
    pair = [x if type(x) is tuple else (x,) for x in (key, other)]
    for first, second, count in zip(*pair, shape, strict=False):
        if not {type(first), type(second)} <= {int, slice}:
            return False
        if type(first) is type(second) is int and first % count != second % count:
            return True
    return False


def read_of_write(node: Node, new: New) -> Node | None:
    """Replace ``x[key]`` by the value that an earlier write has put at this key.

    Later writes that do not overlap the key are ignored.  If there is no such value, read from x as it
    was before these writes.  Return None for other nodes.
    new : a function that simplifies the nodes that the rule makes.
    """
    if not is_basic(node.args[1]):
        return None
    x, key = node.args
    before = x
    while x.op == "put" and x.args[0].strides == x.strides:
        if apart(x.args[1], key, x.shape):
            x = x.args[0]
            continue
        written = x.args[2]
        if same_layout(written, node) and key_of(x.args[1]) == key_of(key):
            return written  # type: ignore[no-any-return]
        break
    if x is before:
        return None
    read = like(node, "getitem", node.call, x, key)
    read.view = node.view
    return new(read)


def write_over_write(node: Node, new: New) -> Node | None:
    """Leave out a write that another write at the same key follows, or that writes back what it read.

    A write to all elements is replaced by the written value.  Return None for other nodes.
    new : a function that simplifies the nodes that the rule makes.
    """
    if not is_basic(node.args[1]):
        return None
    x, key, value = node.args
    if (key is Ellipsis or key == ()) and same_layout(value, node):
        return value  # type: ignore[no-any-return]
    read = type(value) is Node and value.op == "getitem" and value.args[0] is x
    if read and key_of(value.args[1]) == key_of(key):
        return x  # type: ignore[no-any-return]
    if x.op == "put" and key_of(x.args[1]) == key_of(key):
        return like(node, "put", put, x.args[0], key, value)
    return None


def is_zero(x: Operand) -> TypeGuard[Node]:
    """Return True if an operand is 0 in each element."""
    if type(x) is not Node:
        return False
    return x.op == "zeros" or (x.op == CONSTANT and x.dtype is not None and not x.value.any())


def part_of_zeros(node: Node, new: New) -> Node | None:
    """Replace a read of a part of ``zeros`` by ``zeros`` in the shape of the part.

    Return None for other nodes.  The rule needs no ``new``.
    """
    x, key = node.args
    if x.op != "zeros" or not is_basic(key):
        return None
    return like(node, "zeros", np.zeros, node.shape, node.dtype)


# --- choices by masks ----------------------------------------------------------------------------------
@state_facts(continuous=True, range=lambda n, x, mask, other: x.hull(other).with_zero())
def masked(x: np.ndarray[Any, Any], mask: np.ndarray[Any, Any], chosen: bool) -> Any:
    """Return x where the mask equals ``chosen``, elsewhere 0.0, by operations on the bits of x."""
    integer = INTEGERS[x.dtype]
    bits = -mask.astype(integer) if chosen else mask.astype(integer) - 1
    return np.bitwise_and(x.view(integer), bits).view(x.dtype)


def is_choice(node: Node, least: int) -> bool:
    """Return True for a ``where`` on floats that operations on bits compute faster.

    Its mask must have the result's shape, and its result ``least`` or more elements.
    """
    mask = node.args[0]
    if node.dtype not in INTEGERS or node.size < least or type(mask) is not Node:
        return False
    return bool(mask.shape == node.shape and mask.dtype == np.bool_)


def where_zero(node: Node, new: New) -> Node | None:
    """Replace ``where(mask, x, 0)`` or ``where(mask, 0, x)`` on floats by ``masked``.

    ``where`` branches at each element, so that it takes ten times as long as ``masked`` for a random
    mask.  Return None for other nodes.  The rule needs no ``new``.
    """
    mask, x, y = node.args
    if not is_choice(node, WORTH_BITS):
        return None
    for chosen, kept, zero in ((True, x, y), (False, y, x)):
        if type(kept) is not Node or kept.dtype != node.dtype or not is_positive_zero(zero):
            continue
        if same_layout(kept, node) or node.strides == packed(node.shape, node.dtype.itemsize):
            return like(node, MASKED, masked, kept, mask, chosen)
    return None


def merged(x: np.ndarray[Any, Any], mask: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> Any:
    """Return ``where(mask, x, other)`` for floats, by operations on their bits.

    Where the mask is true, the bits of ``other`` that differ from those of x are flipped.
    """
    integer = INTEGERS[x.dtype]
    differ = np.bitwise_xor(x.view(integer), other.view(integer)) & -mask.astype(integer)
    return np.bitwise_xor(other.view(integer), differ).view(x.dtype)


def where_of_two(node: Node, new: New) -> Node | None:
    """Replace ``where(mask, x, y)`` on many floats by ``merged``, which works on bits and is faster.

    Return None for other nodes.  The rule needs no ``new``.
    """
    mask, x, y = node.args
    if not is_choice(node, WORTH_TWO):
        return None
    if not same_layout(x, node) or not same_layout(y, node):
        return None
    return x if x is y else like(node, MASKED, merged, x, mask, y)


def triangle(node: Node, new: New) -> Node | None:
    """Replace ``tril`` and ``triu`` of float matrices by ``masked`` with a constant mask.

    Return None for other nodes.  ``masked`` selects elements by their bits.
    new : a function that simplifies the nodes that the rule makes.
    """
    x = node.args[0]
    if node.dtype not in INTEGERS or len(node.shape) != 2 or not same_layout(x, node):
        return None
    diagonal = node.keywords.get("k", 0) if len(node.args) == 1 else node.args[1]
    if type(diagonal) is not int or not WORTH_BITS <= node.size <= SMALL:
        return None
    ones = np.ones(node.shape, np.bool_)
    mask = np.tril(ones, diagonal) if node.op == "tril" else np.triu(ones, diagonal)
    return like(node, MASKED, masked, x, new(Node(CONSTANT, like=mask, value=mask)), True)


def is_positive_zero(x: Operand) -> bool:
    """Return True if each element of an operand is 0, and none is -0.0.

    Only such an operand of ``where`` may be replaced by the 0.0 of ``masked``.
    """
    if type(x) is int or type(x) is float:
        return x == 0 and math.copysign(1.0, x) > 0
    if not is_zero(x):
        return False
    if x.op == "zeros":
        return True
    parts = (x.value.real, x.value.imag) if x.dtype.kind == "c" else (x.value,)
    return x.dtype.kind in "biu" or not any(np.signbit(part).any() for part in parts)


# --- rules for signs and factors ----------------------------------------------------------------------
def factors(x: Operand) -> tuple[float, Node] | None:
    """Return c and y if x is a product ``c * y`` of a number and a float array, else None."""
    if type(x) is not Node or x.op != "multiply" or x.keywords or x.dtype.kind != "f":
        return None
    for number, rest in (x.args, x.args[::-1]):
        found = number_of(number)
        if found is not None and same_layout(rest, x):
            return found, rest
    return None


def with_signs_joined(program: Program) -> Program:
    """Return the program with ``-c * x`` in place of ``-(c * x)``, if nothing else uses ``c * x``.

    This saves a call and a temporary array.
    """
    uses = program.uses()
    joined = {}
    for node in program.nodes:
        if is_negative(node) and uses[node.args[0]] == 1:
            found = factors(node.args[0])
            if found is not None:
                joined[node] = like(node, "multiply", np.multiply, -found[0], found[1])
    if not joined:
        return program
    return mapped(program, lambda node, _: node, joined)


def is_array(x: Operand) -> bool:
    """Return True if an operand is a node that has axes."""
    return type(x) is Node and bool(x.shape)


def keeps_dtype(x: Operand, node: Node) -> bool:
    """Return True if an operand is a node with the dtype of `node`."""
    return type(x) is Node and x.dtype == node.dtype


def is_negative(y: Operand) -> bool:
    """Return True if an operand is a call of ``negative`` on floats, in the layout of its operand."""
    if type(y) is not Node or y.op != "negative" or y.keywords or y.dtype.kind != "f":
        return False
    return same_layout(y.args[0], y)


def rules_by_facts(op: str) -> tuple[Callable[[Node, New], Node | None], ...]:
    """Return the rules for an op without a row in RULES, chosen by its Facts (declared properties)."""
    if facts_of(op).in_order:
        return (nothing_changed,)
    return (without_broadcast,) if broadcasts_exactly(op) else ()


def joined(*parts: Rules) -> Rules:
    """Merge tables of rules, each of which maps an op to its rules."""
    ops = dict.fromkeys(op for rules in parts for op in rules)
    return {op: tuple([rule for part in parts for rule in part.get(op, ())]) for op in ops}


def by_op(*rewrites: Rewrite) -> Rules:
    """Return a table from an op to the rules that replace calls of this op, in their order."""
    return joined(*({rule.pattern.op: (rule,)} for rule in rewrites))


ALGEBRA = by_op(
    # For complex x, the product is NaN where a part of x is infinite.
    Rewrite("x * ONE", "x", lambda node, x, ONE: ONE == 1.0 and same_layout(x, node), "fiu"),
    # For x = -0.0 the sum would be 0.0; the change of this sign is accepted.
    Rewrite("x + zero", "x", lambda node, x, zero: is_zero(zero) and same_layout(x, node), "fciub"),
    # NumPy itself computes x ** 2 in this way.
    Rewrite("x ** n", "square(x)", lambda x, n: type(n) in (int, float) and n == 2 and is_array(x)),
    Rewrite("x * x", "square(x)", lambda x: is_array(x)),
    # Other rules can join the factor 2 with further factors.
    Rewrite("x + x", "2.0 * x", lambda x: is_array(x)),
    Rewrite("x + (n := -y)", "x - y", lambda node, x, n: keeps_dtype(x, node) and is_negative(n)),
    Rewrite("x - (n := -y)", "x + y", lambda node, x, n: keeps_dtype(x, node) and is_negative(n)),
    # The sign moves out, so that a sum of products can become a difference.
    Rewrite("(n := -x) * y", "-(x * y)", lambda node, n: is_negative(n) and same_layout(n, node)),
)  # fmt: skip
OTHER: Rules = {
    "add": (without_broadcast,),
    "getitem": (read_of_write, part_of_zeros),
    "mean": (mean,),
    "multiply": (without_broadcast,),
    "put": (write_over_write,),
    "subtract": (without_broadcast,),
    "tril": (triangle,),
    "triu": (triangle,),
    "where": (where_zero, where_of_two),
}
RULES = joined(ALGEBRA, OTHER)
