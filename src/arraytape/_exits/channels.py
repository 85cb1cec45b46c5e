"""Files, devices and processes ("channels") through which a converted value may come back to the tape.

For example, a program writes ``float(x)`` to a file, reads the file, and computes with the number.
A channel is identified by a set of texts and objects, such as paths and open files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from .known_names import NUMPY_FILES, PURE
from .objects import NOTHING, Channel, Thing, Value

PATHS = ("pathlib", "posixpath", "ntpath")
MODE = re.compile(r"[rwaxbtU+]{1,3}")  # a mode of ``open`` such as "rb", which is not a file's name


class Channels:
    """The converted values (as of ``float(x)``) that were written to files, devices and processes.

    taints : dict from the names of a file, device or process to an int.  The int has a bit for each
    converted value that may be there.
    """

    def __init__(self) -> None:
        self.taints: dict[Channel, int] = {}

    def write(self, names: Channel, taint: int) -> bool:
        """Add converted values to those that were written to a file, device or process.

        Return True if one of them is new there.

        names : the texts and objects that identify the file, such as its path.  taint : an int with a
        bit for each converted value.
        """
        before = self.taints.get(names, 0)
        self.taints[names] = before | taint
        return bool(taint & ~before)

    def read(self, names: Channel) -> int:
        """Return an int with a bit for each converted value that may be in a file, device or process.

        names : the texts and objects that identify the file, such as its path.
        """
        found = 0
        for written, taint in self.taints.items():
            if is_same_channel(written, names):
                found |= taint
        return found


def is_same_channel(written: Channel, read: Channel) -> bool:
    """Return True if two sets of names may mean the same file, device or process (a "channel").

    written, read : the names where values were written, and where they are read.  If both have texts,
    such as paths, they have to share a text.  Otherwise they have to share an object.
    """
    some, others = texts_of(written), texts_of(read)
    return not some.isdisjoint(others) if some and others else not written.isdisjoint(read)


def texts_of(names: Channel) -> frozenset[str]:
    """Return the strings, such as paths, that name a file, without modes of ``open`` such as "rb"."""
    return frozenset(name for name in names if type(name) is str and not MODE.fullmatch(name))


def names_of(values: Iterable[Value]) -> Channel:
    """Return the names of the file, device or process that a call may use.

    values : for each argument of the call the objects that it may be.  The names are the texts and paths
    among these objects; if there are none, the objects themselves.
    """
    names: set[object] = set()
    others: set[object] = set()
    for thing in NOTHING.union(*values):
        if thing.channel is not None:
            names |= thing.channel
        elif thing.text is not None:
            names.add(thing.text)
        elif not thing.is_fixed and thing.closure is None:
            others.add(thing)
    return frozenset(names or others)


def leads_outside(functions: Value, name: str) -> bool:
    """Return True if one of ``functions`` may read or write files, devices or processes.

    A converted value may be written there and come back.  name : the name of the function in the call.
    """
    for thing in functions:
        actual = thing.actual
        if actual is None or thing.closure is not None:
            continue
        module = getattr(actual, "__module__", None) or "builtins"
        package = module.partition(".")[0].lstrip("_")  # ``_heapq`` is the C part of ``heapq``
        if package == "numpy" and name.startswith(NUMPY_FILES):
            return True
        if package not in PURE or module.startswith("scipy.io"):
            return True
    return False


def makes_path(functions: Value) -> bool:
    """Return True if all functions are from modules such as ``pathlib``, which only compose paths.

    A call of them neither reads nor writes a file.
    """
    modules = [getattr(thing.actual, "__module__", None) or "" for thing in functions]
    return bool(modules) and all(module.partition(".")[0] in PATHS for module in modules)


def globals_of(functions: Value) -> list[object]:
    """Return data that the functions' modules hold in their globals, such as ``os.environ``.

    A function may read what the program stored in them.
    """
    names = {getattr(thing.actual, "__module__", None) or "" for thing in functions if thing.actual}
    modules = [sys.modules[name] for name in names if name in sys.modules]
    return [value for module in modules for value in vars(module).values()]


def is_data(thing: Thing) -> bool:
    """Return True if ``thing`` is an existing instance, such as ``os.environ``, that can be written to.

    Classes, functions and modules are no such instances.
    """
    return thing.actual is None and thing.of is not None and not thing.is_fixed
