"""The list of public names: every name that ``dir`` lists in arraytape's modules and classes.

A new public name changes the list, so that a review sees it.  ``make lint`` fails if a name is not in
the list, such as that of an imported helper, or if ``dir`` lists a private name.
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
    """Return every public name; the members of a class are listed once, even if two modules list it."""
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
    """Return a class's public names without those that it inherits from public bases."""
    public_bases = [base for base in cls.__mro__[1:] if base in classes or not ours(base)]
    inherited = {name for base in public_bases for name in dir(base) if hasattr(base, name)}
    names = [name for name in dir(cls) if not name.startswith("_") and name not in inherited]
    return [
        name for name in names if hasattr(cls, name)
    ]  # without names that raise an error with advice


def private(names: Iterable[str]) -> list[str]:
    """Return the listed names that begin with an underscore, without dunder names."""
    last = ((name, name.rpartition(".")[2]) for name in names)
    return [name for name, own in last if own.startswith("_") and not own.endswith("__")]


def page(_: str) -> str:
    names = listing()
    if found := private(names):
        raise pages.CannotBeWritten(f"dir() lists private names: {', '.join(found)}")
    head = "# Written by `python tools/pages.py public_names`: every public name; do not edit."
    return "".join(f"{line}\n" for line in [head, *names])


def listed() -> list[str]:
    """Return the public names in the written list, for the website's reference."""
    lines = pages.PAGES["public_names"].text().splitlines()
    return [line for line in lines if not line.startswith("#")]
