"""The names that a function's code looks up."""

from __future__ import annotations

import dis
import functools
import types
from importlib.util import resolve_name
from typing import Any

GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")


class Names:
    """What code looks up: globals, attributes, and modules that it imports, dots for their levels.

    A constant string that may be a name counts as an attribute: ``getattr(x, "rate", 1.0)``.
    """

    def __init__(self, code: types.CodeType) -> None:
        self.globals: set[str] = set()
        self.imports: set[str] = set()
        self.attributes: set[str] = set()
        level = 0
        for one in dis.get_instructions(code):
            if one.opname in GLOBALS:
                self.globals.add(one.argval)
            elif "ATTR" in one.opname or one.opname in ("LOAD_METHOD", "IMPORT_FROM"):
                self.attributes.add(one.argval)
            elif one.opname == "IMPORT_NAME":
                self.imports.add("." * level + one.argval)
            elif type(one.argval) is int:  # the second last constant before it is the level
                level = one.argval
        for constant in code.co_consts:
            if type(constant) is str and constant.isidentifier():
                self.attributes.add(constant)
            elif isinstance(constant, types.CodeType):
                inner = names_of(constant)
                self.globals |= inner.globals
                self.imports |= inner.imports
                self.attributes |= inner.attributes


@functools.lru_cache(maxsize=1000)
def names_of(code: types.CodeType) -> Names:
    return Names(code)


def resolved(name: str, names: dict[str, Any]) -> str:
    """The name of a module that code with these globals imports, with a dot for each level."""
    try:
        return resolve_name(name, names.get("__package__"))
    except ImportError:
        return ""
