"""Files, the environment and processes, through which a value that left the tape may come back."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from .known_names import NUMPY_FILES, PURE
from .objects import Channel, Thing, Value

PATHS = ("pathlib", "posixpath", "ntpath")
MODE = re.compile(r"[rwaxbtU+]{1,3}")  # of ``open``


class Channels:
    """The values that were written to files, devices and processes.

    taints : by the names that an operation had for them, the exits whose values it wrote.
    """

    def __init__(self) -> None:
        self.taints: dict[Channel, int] = {}

    def write(self, names: Channel, taint: int) -> bool:
        """Add taint to the values written under these names; return True if the taint is new."""
        before = self.taints.get(names, 0)
        self.taints[names] = before | taint
        return bool(taint & ~before)

    def read(self, names: Channel) -> int:
        """Return the taint of all values that may have been written under these names."""
        found = 0
        for written, taint in self.taints.items():
            if is_same_channel(written, names):
                found |= taint
        return found


def is_same_channel(written: Channel, read: Channel) -> bool:
    """Return True if names may mean the same: they share a text, or an object where one has no texts."""
    some, others = texts_of(written), texts_of(read)
    return not some.isdisjoint(others) if some and others else not written.isdisjoint(read)


def texts_of(names: Channel) -> frozenset[str]:
    """Return the texts among names, but for those that say how to open a file."""
    return frozenset(name for name in names if type(name) is str and not MODE.fullmatch(name))


def names_of(values: Iterable[Value]) -> Channel:
    """Return the names that objects are for files: texts and paths; the objects where there are none."""
    names: set[object] = set()
    others: set[object] = set()
    for thing in frozenset().union(*values):
        if thing.channel is not None:
            names |= thing.channel
        elif thing.text is not None:
            names.add(thing.text)
        elif not thing.is_fixed and thing.closure is None:
            others.add(thing)
    return frozenset(names or others)


def leads_outside(functions: Value, name: str) -> bool:
    """Return True if a function that is not the user's may read or write files, devices or processes."""
    for thing in functions:
        actual = thing.actual
        if actual is None or thing.closure is not None:
            continue
        module = getattr(actual, "__module__", None) or "builtins"
        package = module.partition(".")[0]
        if package == "numpy" and name.startswith(NUMPY_FILES):
            return True
        if package not in PURE or module.startswith("scipy.io"):
            return True
    return False


def makes_path(functions: Value) -> bool:
    """Return True if functions only put together the names of files."""
    modules = [getattr(thing.actual, "__module__", None) for thing in functions]
    return bool(modules) and all(module in PATHS for module in modules)


def globals_of(functions: Value) -> list[object]:
    """Return the objects that the modules of functions have, such as ``os.environ``."""
    names = {getattr(thing.actual, "__module__", None) or "" for thing in functions if thing.actual}
    modules = [sys.modules[name] for name in names if name in sys.modules]
    return [value for module in modules for value in vars(module).values()]


def is_data(thing: Thing) -> bool:
    """Return True for an object that the program had already, and that is no function or module."""
    return thing.actual is None and thing.of is not None and not thing.is_fixed
