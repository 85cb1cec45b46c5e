"""Random generators and iterators ("sources"), which may return another value at each call.

A traced call that draws from a source makes the drawn value a constant of the program.  So each source
that a call can reach is checked for a change of its state afterwards.
"""

from __future__ import annotations

import itertools
import random
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from io import IOBase
from typing import Any

import numpy as np


def look_of(value: Any) -> Callable[[], Any] | None:
    """Return a function without arguments that returns the present state of ``value``.

    Return None unless ``value`` is a random generator or iterator.  The state of an iterator written in
    C cannot be read.  For it, return ``object``, whose results always differ.  Return None also for an
    iterator of a Python class, because its attributes are compared, and for a file.
    """
    if isinstance(value, random.Random):
        return object if isinstance(value, random.SystemRandom) else value.getstate
    numbers = sys.modules.get("numpy.random")
    if numbers is not None:
        if isinstance(value, numbers.RandomState):
            return lambda: frozen_state(value.get_state(legacy=False))
        if isinstance(value, numbers.Generator | numbers.BitGenerator):
            source = getattr(value, "bit_generator", value)
            return lambda: frozen_state(source.state)
    if type(value) in weakref.ProxyTypes:
        return None  # a proxy has no state of its own: that of its object is compared elsewhere
    if not isinstance(value, Iterator) or isinstance(value, itertools.repeat | IOBase):
        return None
    return None if isinstance(type(value).__next__, types.FunctionType) else object


def generator_state(value: Any) -> Any:
    """Return the present state of a random generator or iterator; None for another object."""
    found = look_of(value)
    return found and found()


def frozen_state(state: Any) -> Any:
    """Return the state of a random generator as a value that == can compare."""
    if isinstance(state, dict):
        return {name: frozen_state(part) for name, part in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


class Moving:
    """The random generators and iterators ("sources") that a call can reach.

    The global generators of Python and NumPy are among them.  looks : list of (path, function that
    returns the source's state, state before the call).
    """

    def __init__(self) -> None:
        self.closed = False  # if True, ``watch_mutable`` ignores further sources
        self.looks: list[tuple[str, Callable[[], Any], Any]] = []
        self.watch_mutable("random", random._inst)
        if "numpy.random" in sys.modules:
            self.watch_mutable("np.random", sys.modules["numpy.random"].mtrand._rand)

    def watch_mutable(self, path: str, value: Any) -> bool:
        """Add ``value`` if it is a random generator or iterator; return True if a state can be read."""
        found = None if self.closed else look_of(value)
        if found is not None:
            self.looks.append((path, found, found()))
        return found is not None and found is not object

    def moved_path(self) -> str:
        """Return the path of the first generator or iterator that has changed, or may have; else ""."""
        return next((path for path, look, before in self.looks if look() != before), "")
