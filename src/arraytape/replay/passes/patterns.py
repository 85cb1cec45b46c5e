"""Patterns of nested calls, by which rules recognize the expressions that they replace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..program import Node, Operand
from .nodes import bare, pairs

COMMUTATIVE = ("add", "multiply")
# Ops whose calls a Pattern matches although they have keywords, which the rules check.
REDUCTIONS = ("any", "max", "sum")
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Pattern:
    """A pattern of a call of ``op``, with a pattern for each operand.

    An operand's pattern is another Pattern, a value such as True, or a name.  A name matches any
    operand at its first occurrence, and the same operand at further occurrences.

    name : the name for the call itself, or "".  reshaped : whether reshapes of the call match, too.
    """

    def __init__(self, op: str, *operands: Any, name: str = "", reshaped: bool = False) -> None:
        self.op, self.operands, self.name, self.reshaped = op, operands, name, reshaped

    def matches(
        self, x: Operand, known: Mapping[str, Any] = NOTHING
    ) -> Iterator[Mapping[str, Any]]:
        """Yield a dict from names to operands for each way in which x matches.

        Sums and products match in both orders of their operands.  known : the names matched so far.
        """
        call = bare(x) if self.reshaped else x
        if type(call) is not Node or call.op != self.op or len(call.args) != len(self.operands):
            return
        if self.op in COMMUTATIVE:
            orders: Sequence[Any] = pairs(call, self.op)
        else:
            orders = [call.args] if self.op in REDUCTIONS or not call.keywords else []
        named = {**known, self.name: x} if self.name else known
        for operands in orders:
            yield from matches_of_all(self.operands, operands, named)


def matches_of_all(
    patterns: Sequence[Any], operands: Sequence[Operand], known: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield a dict from names to operands for each way in which all operands match their patterns."""
    if not patterns:
        yield known
        return
    pattern, x = patterns[0], operands[0]
    if isinstance(pattern, Pattern):
        found: Any = pattern.matches(x, known)
    elif type(pattern) is str:
        found = [{**known, pattern: x}] if known.get(pattern, x) is x else []
    else:
        found = [known] if x is pattern else []
    for more in found:
        yield from matches_of_all(patterns[1:], operands[1:], more)
