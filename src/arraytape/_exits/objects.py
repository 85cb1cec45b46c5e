"""Objects of the user's program, as the analysis of its source code represents them.

There is a ``Thing`` for each expression that creates an object.  The taint of a Thing is an int with a
bit for each conversion to untracked data, such as ``float(x)``, whose value may be part of the object.
Bits are added to a taint and never removed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scopes import Scope

Value = frozenset["Thing"]  # the objects that an expression may evaluate to
Channel = frozenset[Any]  # names of a file, device or process: texts and objects
NOTHING: Value = frozenset()
VISITED = [0]  # the number of objects that ``taint_of`` visited in all analyses, a measure of time
ANY = "*"  # the field of elements under an unknown key
KEYS = "<keys>"  # the field of a dict's keys


class Thing:
    """An object in the analysis: one object of the running program, or all that one expression creates.

    taint : bits of the conversions (such as ``float(x)``) to untracked data whose values the object may
    contain.
    fields : dict from keys to possible values.  The key of an attribute is "." and its name.  The key of
    an item is a number, or "=" and a text.  Keys "<...>" are for other relations between objects.
    actual : the module, class or function of the running program that this object is, or None.
    of : the class of an instance, if it is known.
    closure : the syntax tree of a function or class, and the scope around it; None if the user's code
    does not define it.
    me : the possible ``self`` of a bound method.
    is_whole : True if all code that writes to the object is analysed, so that a read without a result
    shows a missed write.
    is_display : True for ``[...]`` and ``{...}``, which may be empty before the code fills them.
    is_view : True for ``vars(x)``, whose items are the attributes of x.
    is_fixed : True if nothing can be stored in the object.
    names : the scope whose variables are the items of ``globals()`` or ``locals()``, or None.
    text : the text of a string literal, or None.
    channel : the names of the file, device or process to which a path or open file leads.
    bases : the classes that ``super()`` searches.
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
        self.bases: Value = NOTHING


CONSTANT = Thing()  # one object that represents all literals
CONSTANT.is_fixed = True
CONSTANT.fields = MappingProxyType({})  # type: ignore[assignment]  # shared by all analyses
KNOWN: Value = frozenset((CONSTANT,))


def taint_of(values: Iterable[Value]) -> int:
    """Return an int with a bit for each converted value (as of ``float(x)``) in some objects.

    Objects to which they refer count, too.

    values : sets of Things (objects in the analysis).  The loop calls no function for each object,
    because the loop takes a third of an analysis's time.
    """
    seen: set[Thing] = set().union(*values)
    reached, found = list(seen), 0
    for thing in reached:  # the loop appends to the list that it walks
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
    """Return an int with a bit for each converted value that a function may read from outer scopes.

    function : the syntax tree.  scope : the scope in which the function is defined.
    """
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
