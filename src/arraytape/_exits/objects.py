"""Objects of a program as the analysis of flow sees them: one for each expression that makes one.

Taint is a set of bits, one for each exit: what left there may be a part of the object.  It only grows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scopes import Scope

Value = frozenset["Thing"]  # the objects that an expression may give
Channel = frozenset[Any]  # texts and objects
NOTHING: Value = frozenset()
VISITED = [0]  # objects that were looked at, by all analyses: how long one takes
ANY = "*"  # the field of elements under a key that is not known
KEYS = "<keys>"  # the field of a dict's keys


class Thing:
    """One object, or all those that one expression makes.

    taint : which exits' values it may be made of.  fields : attributes ("." before the name), items.
    actual : the module, class or function that it is.  of : the class of which it is an instance.
    closure : of a function, its tree, scope and file.  me : of a bound method, its ``self``.
    is_whole : whether all that it has was put there before the analysis' eyes, so that a read that
    finds nothing shows a write that was missed.  is_display : whether it was written as ``[...]`` or
    ``{...}``, and may be empty before the code fills it.  names : of what ``globals()`` gives, the
    scope.  is_view : of what ``vars(x)`` gives, which shares the fields of x: its items are attributes.
    is_fixed : whether nothing can be put there.  text : of a literal, its text.  channel : of what leads
    to files, devices and processes, such as a path or an open file, the names that tell them apart.
    """

    __slots__ = (
        "actual",
        "bases",
        "channel",
        "closure",
        "fields",
        "is_display",
        "is_fixed",
        "is_view",
        "is_whole",
        "me",
        "names",
        "of",
        "taint",
        "text",
    )

    def __init__(self) -> None:
        self.taint = 0
        self.fields: dict[Any, Value] = {}
        self.actual: Any = None
        self.of: type | None = None
        self.closure: tuple[ast.AST, Scope] | None = None
        self.me: Value = NOTHING
        self.is_whole = self.is_view = self.is_fixed = self.is_display = False
        self.names: Scope | None = None
        self.text: str | None = None
        self.channel: Channel | None = None
        self.bases: Value = NOTHING  # of what ``super()`` gives: the classes in place of its own


CONSTANT = Thing()  # a literal
CONSTANT.is_fixed = True
CONSTANT.fields = MappingProxyType({})  # type: ignore[assignment]  # all analyses share it
KNOWN: Value = frozenset((CONSTANT,))


def taint_of(values: Iterable[Value]) -> int:
    """Return the taint of values with all that can be reached from them through fields.

    One loop over sets: it takes a third of an analysis.
    """
    seen: set[Thing] = set().union(*values)
    reached, found = list(seen), 0
    for thing in reached:  # which grows meanwhile
        found |= thing.taint
        if thing.closure is not None:
            found |= taint_of_free_names(*thing.closure)
        for value in thing.fields.values():
            if not value <= seen:
                more = value - seen
                seen |= more
                reached += more
        if thing.me and not thing.me <= seen:
            more = thing.me - seen
            seen |= more
            reached += more
    VISITED[0] += len(reached)
    return found


def taint_of_free_names(function: ast.AST, scope: Scope | None) -> int:
    """Return the taint of the variables that a function takes from the scope around it."""
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
