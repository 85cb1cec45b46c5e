"""The names of globals, attributes and modules that the bytecode of a function looks up.

``state.py`` compares the values that have these names before each replay.
"""

from __future__ import annotations

import dis
import functools
import re
import types
from importlib.util import resolve_name
from typing import Any

GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")
LONG = 200  # strings with at least this many characters are not searched for names
MODULES = re.compile(r"[^\W\d][\w.]*\w")
WORDS = re.compile(r"[^\W\d]\w*")
# Code with one of these names may read any global, or any attribute, by a name that it computes.
ALL_GLOBALS = frozenset(("globals", "eval", "exec", "locals", "vars", "__globals__", "f_globals"))
ANY_ATTRIBUTE = frozenset(
    ("getattr", "hasattr", "vars", "eval", "exec", "__dict__", "__getattribute__", "attrgetter",
     "methodcaller", "getmembers", "getattr_static", "dir", "resolve_name", "locate", "format")
)  # fmt: skip
# Names of functions that read state which cannot be compared -> a description of that state.
UNSEEN = {
    "_getframe": "the frames of its callers", "currentframe": "the frames of its callers",
    "f_back": "the frames of its callers", "get_objects": "what the collector knows",
    "get_referrers": "what the collector knows", "open": "a file", "__import__": "sys.modules",
}  # fmt: skip


class Names:
    """The names that a code object and its inner functions look up.

    The values with these names are the state that a replay compares.
    globals, attributes : sets of names.  The words of constant strings count as attributes, because of
        ``getattr(x, "rate", 1.0)`` and ``"{0.rate}"``.
    imports : names of modules, with leading dots for relative imports.
    strings : the constant strings.
    inner : the code objects of inner functions.
    all_globals : whether the code may read globals by names that it computes.
    any_attribute : whether the code may read attributes by names that it computes.
    unseen : a description of state that the code may read but nothing can compare, or "".
    """

    def __init__(self, code: types.CodeType) -> None:
        self.globals: set[str] = set()
        self.imports: set[str] = set()
        self.attributes: set[str] = set()
        self.strings: set[str] = set()
        self.inner: set[types.CodeType] = set()
        level = 0
        for one in dis.get_instructions(code):
            if one.opname in GLOBALS:
                self.globals.add(one.argval)
            elif "ATTR" in one.opname or one.opname in ("LOAD_METHOD", "IMPORT_FROM"):
                self.attributes.add(one.argval)
            elif one.opname == "IMPORT_NAME":
                self.imports.add("." * level + one.argval)
            elif type(one.argval) is int:  # the level of an import is the last integer before it
                level = one.argval
        names = frozenset(code.co_names)
        self.unseen = next((what for name, what in UNSEEN.items() if name in names), "")
        if names >= {"sys", "modules"}:
            self.unseen = self.unseen or UNSEEN["__import__"]
        self.all_globals = not names.isdisjoint(ALL_GLOBALS)
        self.any_attribute = not names.isdisjoint(ANY_ATTRIBUTE)
        for constant in code.co_consts:
            self.add_constant(constant)

    def add_constant(self, constant: Any) -> None:
        """Add the names in a constant of the code: in a string, an inner function or a tuple."""
        if type(constant) is str:
            self.strings.add(constant)
            self.attributes.update(words_in(constant))
        elif type(constant) is tuple or type(constant) is frozenset:
            for part in constant:
                self.add_constant(part)
        elif isinstance(constant, types.CodeType):
            inner = code_names(constant)
            self.inner |= {constant, *inner.inner}
            self.globals |= inner.globals
            self.imports |= inner.imports
            self.attributes |= inner.attributes
            self.strings |= inner.strings
            self.unseen = self.unseen or inner.unseen
            self.all_globals = self.all_globals or inner.all_globals
            self.any_attribute = self.any_attribute or inner.any_attribute


def words_in(text: str) -> list[str]:
    """Return the words of a string, which may be names of attributes; [] for a long string.

    An example of such a string is the second argument of ``getattr``.
    """
    return WORDS.findall(text) if len(text) < LONG else []


@functools.lru_cache(maxsize=1000)
def code_names(code: types.CodeType) -> Names:
    return Names(code)


def absolute_module(name: str, names: dict[str, Any]) -> str:
    """Return the absolute name of an imported module; "" if a relative import cannot be resolved.

    name : the name in the import statement, such as "..settings".
    names : the globals of the code that imports the module.
    """
    try:
        return resolve_name(name, names.get("__package__"))
    except ImportError:
        return ""
