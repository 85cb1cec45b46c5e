"""Objects of a program as the analysis of flow sees them: one for each expression that makes one.

Taint is a set of bits, one for each exit: what left there may be a part of the object.  It only grows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

Value = frozenset["Thing"]  # the objects that an expression may give
NOTHING: Value = frozenset()
VISITED = [0]  # objects that were looked at, by all analyses: how long one takes
ANY = "*"  # the field of elements under a key that is not known


class Thing:
    """One object, or all those that one expression makes.

    taint : which exits' values it may be made of.  fields : attributes ("." before the name), items.
    actual : the module, class or function that it is.  of : the class of which it is an instance.
    closure : of a function, its tree, scope and file.  me : of a bound method, its ``self``.
    """

    __slots__ = ("actual", "closure", "fields", "me", "of", "taint")

    def __init__(self, actual: Any = None, of: type | None = None) -> None:
        self.taint = 0
        self.fields: dict[Any, Value] = {}
        self.actual, self.of = actual, of
        self.closure: tuple[ast.AST, Any, Any] | None = None
        self.me: Value = NOTHING


def everything(values: Iterable[Value]) -> Iterator[Thing]:
    """The objects of values, and all that can be reached from them through fields."""
    waiting = [thing for value in values for thing in value]
    seen = set(waiting)
    while waiting:
        thing = waiting.pop()
        VISITED[0] += 1
        yield thing
        for value in (*thing.fields.values(), thing.me):
            for part in value:
                if part not in seen:
                    seen.add(part)
                    waiting.append(part)


def taint_of(values: Iterable[Value]) -> int:
    """The taint of values with all that they hold."""
    found = 0
    for thing in everything(values):
        found |= thing.taint
        if thing.closure is not None:
            found |= taint_of_free_names(*thing.closure[:2])
    return found


def taint_of_free_names(function: ast.AST, scope: Any) -> int:
    """The taint of the variables that a function takes from the scope around it."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    found = 0
    while scope is not None:
        for name in names:
            for thing in scope.names.get(name, NOTHING):
                found |= thing.taint
                for value in thing.fields.values():
                    for part in value:
                        found |= part.taint
        scope = scope.parent
    return found
