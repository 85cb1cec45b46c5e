"""The list of public names: every name that arraytape shows its users, as ``dir`` lists them.

A new public name is a promise: it appears in the difference that is reviewed.  ``make lint`` fails on
a name that came into a ``dir`` unnoticed, such as an imported helper's, and on a private one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import ModuleType

import arraytape as xp
import pages

PACKAGE = xp.__name__


def ours(value: object) -> bool:
    """Return True if a module or class is arraytape's own, and not NumPy's or Python's."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return name.partition(".")[0] == PACKAGE


def listing() -> list[str]:
    """Every public name; of a class that two modules list, the members are listed once."""
    names, classes = [], {}
    waiting = [(PACKAGE, xp)]
    while waiting:
        path, module = waiting.pop()
        for name in dir(module):
            value, full = getattr(module, name), f"{path}.{name}"
            names.append(full)
            if isinstance(value, ModuleType) and ours(value):
                waiting.append((full, value))
            elif isinstance(value, type) and ours(value):
                classes.setdefault(value, full)
    members = [f"{full}.{name}" for cls, full in classes.items() for name in own(cls, classes)]
    return sorted([*names, *members])


def own(cls: type, classes: Collection[type]) -> list[str]:
    """Return what ``dir`` lists of a class beyond its public bases, without names of underscores."""
    public_bases = [base for base in cls.__mro__[1:] if base in classes or not ours(base)]
    inherited = {name for base in public_bases for name in dir(base) if hasattr(base, name)}
    names = [name for name in dir(cls) if not name.startswith("_") and name not in inherited]
    return [name for name in names if hasattr(cls, name)]  # not names that only raise, with advice


def private(names: Iterable[str]) -> list[str]:
    """Return the names that a module lists though they begin with an underscore."""
    last = ((name, name.rpartition(".")[2]) for name in names)
    return [name for name, own in last if own.startswith("_") and not own.endswith("__")]


def page(_: str) -> str:
    names = listing()
    if found := private(names):
        raise pages.CannotBeWritten(f"dir() lists private names: {', '.join(found)}")
    head = "# Written by `python tools/pages.py public_names`: every public name; do not edit."
    return "".join(f"{line}\n" for line in [head, *names])


def listed() -> list[str]:
    """Return the names that the list has."""
    lines = pages.PAGES["public_names"].text().splitlines()
    return [line for line in lines if not line.startswith("#")]
