"""Rewrite rules: a pattern of nested calls, and the expression that replaces the calls that match.

Both are written as Python expressions of ops and operands:

    Rewrite("x + (n := -y)", "x - y", lambda n, y: same_layout(y, n))

- A name matches any operand.  Where it stands again, it matches the same operand only.
- ``(n := call)`` also names the node of a call.  In the replacement, it makes the new call like the node
  that has this name: with its shape, dtype and strides, and with its keywords if the op is the same.
- The operators are ufuncs of NumPy.  Sums and products match in both orders of their operands.
- A name in capital letters matches numbers, and float constants whose elements are equal.
- ``~call`` matches reshapes of the call, too.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..program import Node, Operand
from .nodes import New, again, bare, like, number_of, with_shape, zeros

COMMUTATIVE = ("add", "multiply")
# Ops whose calls a Pattern matches although they have keywords, which the rules check.
REDUCTIONS = ("any", "max", "sum")
NOTHING: Mapping[str, Any] = MappingProxyType({})
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.USub: "negative",
    ast.Pow: "power_operator", ast.MatMult: "matmul", ast.NotEq: "not_equal",
}  # fmt: skip


class Pattern:
    """A pattern of a recorded call of ``op``, with a pattern for each operand.

    An operand's pattern is another Pattern, a name, which matches any operand, or a value such as True,
    which only this value matches.

    name : the name for the call itself, or "".  reshaped : whether reshapes of the call match, too.
    """

    def __init__(self, op: str, *operands: Any, name: str = "", reshaped: bool = False) -> None:
        self.op, self.operands, self.name, self.reshaped = op, operands, name, reshaped

    def matches(
        self, x: Operand, known: Mapping[str, Any] = NOTHING
    ) -> Iterator[Mapping[str, Any]]:
        """Yield a dict from names to operands for each way in which x matches.

        A call may match in several ways, because sums and products match in both orders.
        known : the names matched so far.
        """
        call = bare(x) if self.reshaped else x
        if type(call) is not Node or call.op != self.op or len(call.args) != len(self.operands):
            return
        if call.keywords and self.op not in REDUCTIONS:
            return
        orders = [call.args, call.args[::-1]] if self.op in COMMUTATIVE else [call.args]
        named = {**known, self.name: x} if self.name else known
        for operands in orders:
            yield from matches_of_all(self.operands, operands, named)


def matches_of_all(
    patterns: Sequence[Any], operands: Sequence[Operand], known: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield a dict from names to operands for each way in which all operands match their patterns.

    known : the names matched so far.
    """
    if not patterns:
        yield known
        return
    pattern, x = patterns[0], operands[0]
    found: Any = []
    if isinstance(pattern, Pattern):
        found = pattern.matches(x, known)
    elif type(pattern) is not str:
        found = [known] if x is pattern else []
    else:
        value = number_of(x) if pattern.isupper() else x
        if value is not None and (pattern not in known or known[pattern] is value):
            found = [{**known, pattern: value}]
    for more in found:
        yield from matches_of_all(patterns[1:], operands[1:], more)


def parse_pattern(text: str) -> Pattern:
    """Return the Pattern that a text describes, such as "x + -y".

    Names match any operand, capital names match numbers, ``~call`` matches reshapes of a call, too.
    """
    found = pattern_of(ast.parse(text, mode="eval").body)
    assert isinstance(found, Pattern), text
    return found


def pattern_of(tree: ast.expr, name: str = "", reshaped: bool = False) -> Any:
    """Return the pattern of one expression: a Pattern, a name or a value.

    tree : the expression.
    name : the name that the pattern gives to the matched call, or "".
    reshaped : whether reshapes of the call match, too.
    """
    match tree:
        case ast.NamedExpr(ast.Name(name), value):
            return pattern_of(value, name, reshaped)
        case ast.UnaryOp(ast.Invert(), value):
            return pattern_of(value, name, True)
        case ast.Name(name):
            return name
        case ast.Constant(value):
            return value
    op, inner = op_and_operands(tree)
    return Pattern(op, *map(pattern_of, inner), name=name, reshaped=reshaped)


def op_and_operands(tree: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return the name of the op that an expression calls, and the expressions of the operands."""
    match tree:
        case ast.BinOp(x, operator, y):
            return OPERATORS[type(operator)], [x, y]
        case ast.UnaryOp(operator, x):
            return OPERATORS[type(operator)], [x]
        case ast.Compare(x, [operator], [y]):
            return OPERATORS[type(operator)], [x, y]
        case ast.Call(ast.Name(op), operands, []):
            return op, operands
    raise ValueError(ast.unparse(tree))


class Rewrite:
    """A rule that replaces recorded calls which match a pattern, such as "x + -y" by "x - y".

    pattern, result : the texts of both; a name in them stands for an operand.
    where : the condition for a match, a function of some of the names; ``node`` is the whole call.
    kinds : the kinds of dtypes for which the rule holds.

    Call a rule with a node and the function ``new``, which simplifies new operands; the result is the
    replacement, or None.
    """

    def __init__(
        self, pattern: str, result: str, where: Callable[..., Any] | None = None, kinds: str = "f"
    ) -> None:
        self.text = f"{pattern} -> {result}"
        self.pattern, self.kinds = parse_pattern(pattern), kinds
        self.result = ast.parse(result, mode="eval").body
        self.where = where
        self.asked = [*inspect.signature(where).parameters] if where is not None else []

    def __repr__(self) -> str:
        return self.text

    def __call__(self, node: Node, new: New) -> Node | None:
        if node.dtype is None or node.dtype.kind not in self.kinds:
            return None
        for found in self.pattern.matches(node):
            names = {**found, "node": node}
            if self.where is None or self.where(*map(names.__getitem__, self.asked)):
                made: Node = self.replacement(self.result, names, new)
                return made
        return None

    def replacement(self, tree: ast.expr, names: Mapping[str, Any], new: New) -> Any:
        """Return the operand that an expression describes: the result of the rule, or a part of it.

        If the whole result is a name, its operand gets the shape of the replaced node.
        new : the function that simplifies the nodes of operands; the outermost call is not simplified.
        tree : the expression.
        names : name -> operand that it matched.
        """
        likeness = names["node"]
        match tree:
            case ast.Name(name):
                x = names[name]
                return with_shape(x, likeness.shape, new) if tree is self.result else x
            case ast.Constant(0) if tree is self.result:
                return zeros(likeness)
            case ast.Constant(value):
                return value
            case ast.NamedExpr(ast.Name(name), call):
                likeness = names[name]
            case _:
                call = tree
        op, inner = op_and_operands(call)
        operands = [self.replacement(x, names, new) for x in inner]
        function = getattr(np, "true_divide" if op == "divide" else op)
        if all(isinstance(x, float) for x in operands):
            return function(*operands).item()
        same = likeness.op == op
        made = again(likeness, *operands) if same else like(likeness, op, function, *operands)
        return made if tree is self.result else new(made)
