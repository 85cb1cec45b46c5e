"""Find out whether the rules of interop apply to a call: interop is active, and the call has Arrays.

A context (``interop.scipy()``) is active in its own thread or asyncio task, because it is a ContextVar;
``interop.install()`` acts in all threads.  Replaced functions stay replaced; outside of a context they
run the library's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from .._array.array import Array
from .._dataframes import holds_arrays
from .._storage.storage import AMBIENT, CARRIED
from .._util.blocks import Context, Setting

ENTERED: ContextVar[frozenset[str]] = ContextVar("arraytape.interop", default=frozenset())
DISPATCHED = "dispatched"  # the library of rules that also act without a context
EVERYWHERE = {DISPATCHED}  # the libraries that were installed for all threads
AMBIENT.append(lambda: (ENTERED.get(), frozenset(EVERYWHERE)))


def note_entered() -> Callable[[], Setting[frozenset[str]]]:
    """Return a function that makes a context in which the libraries that are active now are active.

    A new thread enters such a context, because a thread does not inherit the contexts of its parent.
    """
    libraries = ENTERED.get()
    return lambda: Setting(ENTERED, libraries)


CARRIED.append(note_entered)


class entered(Context):
    """A context in which interop with ``libraries``, such as "scipy", is active in this thread."""

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
    return library in ENTERED.get() or library in EVERYWHERE


DEEPEST = 32  # levels of nesting that are searched: a limit, because a list may hold itself


def has_array(values: Iterable[Any], depth: int = 0) -> bool:
    """Return True if one of ``values`` is an Array, or a list, tuple, dict or table that holds one.

    depth : in how many containers the values are nested; beyond DEEPEST they are not searched.
    """
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
        if holds_arrays(value):
            return True
    return False


def rule_applies(library: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Return True if a call of a library's function has to run a rule in place of the library's code.

    This is so if interop with the library is active, and an argument is an Array or holds one.
    """
    return is_active(library) and (
        has_array(args)
        or has_array(keywords.values())
        or any(
            has_array(held_by(library, thing))
            for thing in (*args, *keywords.values())
            if is_of(library, thing)
        )
    )


def held_by(library: str, thing: object) -> Iterable[Any]:
    """Return all values in an object of a library: its attributes, and those of nested objects.

    The nested objects may lie in lists, tuples and dicts, like the steps of a pipeline.  An Array may be
    among the values, for example in the kernel of an estimator.  A rule has to run then.
    """
    found: list[Any] = []
    things, seen = [thing], {id(thing)}
    for _ in range(DEEPEST):
        own = [value for part in things for value in parts_of(library, part)]
        found += own
        things = []
        for value in own:
            if id(value) not in seen and (type(value) in CONTAINERS or is_of(library, value)):
                seen.add(id(value))
                things.append(value)
        if not things:
            break
    return found


CONTAINERS = (list, tuple, dict)
HOLDS = {"sklearn": "scipy"}  # objects of scikit-learn may refer to objects of SciPy


def is_of(library: str, thing: object) -> bool:
    """Return True if an object's class is defined in the library or in a package that belongs to it.

    ``HOLDS`` lists such packages.
    """
    return type(thing).__module__.partition(".")[0] in (library, HOLDS.get(library))


def parts_of(library: str, thing: Any) -> list[Any]:
    """Return the values in a container, or in the slots and ``__dict__`` of an object of the library.

    Return [] for other objects.
    """
    if type(thing) in CONTAINERS:
        return [*(thing.values() if type(thing) is dict else thing)]
    if not is_of(library, thing):
        return []
    slots = [name for base in type(thing).__mro__ for name in vars(base).get("__slots__", ())]
    found = [getattr(thing, name, None) for name in slots if name != "__dict__"]
    return [*found, *getattr(thing, "__dict__", {}).values()]
