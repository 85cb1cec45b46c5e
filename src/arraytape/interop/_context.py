"""Where interop is active, and whether a call concerns it.

A context (``interop.scipy()``) is active in its thread or asyncio task, as every ContextVar is;
``interop.install()`` is for all threads.  What was put in place for it stays in place: each
replacement asks here first, and runs the original where the answer is no.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from .._array.array import Array
from .._storage.storage import AMBIENT
from .._util.blocks import Context, Setting

ENTERED: ContextVar[frozenset[str]] = ContextVar("arraytape.interop", default=frozenset())
EVERYWHERE: set[str] = set()  # the libraries that were installed for all threads
AMBIENT.append(lambda: (ENTERED.get(), frozenset(EVERYWHERE)))


class entered(Context):
    """Within it interop with these libraries is active in this thread or task."""

    def __init__(self, libraries: Iterable[str]) -> None:
        self.libraries = [*libraries]
        self.setting: Setting[frozenset[str]] | None = None

    def _begin(self) -> None:
        self.setting = Setting(ENTERED, frozenset([*ENTERED.get(), *self.libraries]))
        self.setting._begin()

    def _end(self) -> None:
        if self.setting is not None:
            self.setting._end()


def is_active(library: str) -> bool:
    """Whether interop with a library is active here."""
    return library in ENTERED.get() or library in EVERYWHERE


DEEPEST = 32  # a list may hold itself


def has_array(values: Iterable[Any], depth: int = 0) -> bool:
    """Whether an Array is among values, or in lists, tuples and dicts among them."""
    if depth > DEEPEST:
        return False
    for value in values:
        kind = type(value)
        if kind is Array or isinstance(value, Array):
            return True
        if (kind is list or kind is tuple) and has_array(value, depth + 1):
            return True
        if kind is dict and has_array(value.values(), depth + 1):
            return True
    return False


def concerned(library: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether a call of a replaced function is ours: the context is active, and it has an Array.

    Also a method's, whose object is one of the library and holds an Array.
    """
    return is_active(library) and (
        has_array(args)
        or has_array(keywords.values())
        or (bool(args) and has_array(held_by(library, args[0])))
    )


def held_by(library: str, thing: Any) -> Iterable[Any]:
    """What an object of a library holds, and what those hold of which it has a list: its components."""
    own = attributes_of(library, thing)
    lists = [value for value in own if type(value) is list or type(value) is tuple]
    return [*own, *[x for parts in lists for part in parts for x in attributes_of(library, part)]]


def attributes_of(library: str, thing: Any) -> list[Any]:
    """The attributes of an object of a library, by name or in slots; of another object none."""
    kind = type(thing)
    if kind.__module__.partition(".")[0] != library:
        return []
    slots = [name for base in kind.__mro__ for name in vars(base).get("__slots__", ())]
    found = [getattr(thing, name, None) for name in slots if name != "__dict__"]
    return [*found, *getattr(thing, "__dict__", {}).values()]
