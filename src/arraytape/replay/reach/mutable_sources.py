"""Sources that give a new value each time they are asked: random generators, iterators."""

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
    """Return a function whose result changes when a source is asked; None for other objects.

    Iterators written in C show no such change: ``object`` is returned, whose results always differ.
    Iterators of Python classes have attributes, which are compared.  Files are not sources.
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
        return None  # its referent is watched
    if not isinstance(value, Iterator) or isinstance(value, itertools.repeat | IOBase):
        return None
    return None if isinstance(type(value).__next__, types.FunctionType) else object


def generator_state(value: Any) -> Any:
    found = look_of(value)
    return found and found()


def frozen_state(state: Any) -> Any:
    """Return the state of a generator as a value that can be compared."""
    if isinstance(state, dict):
        return {name: frozen_state(part) for name, part in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


class Moving:
    """The sources that a call can reach, among them the global ones of Python and NumPy."""

    def __init__(self) -> None:
        self.closed = False  # whether further sources are ignored
        self.looks: list[tuple[str, Callable[[], Any], Any]] = []
        self.watch_mutable("random", random._inst)
        if "numpy.random" in sys.modules:
            self.watch_mutable("np.random", sys.modules["numpy.random"].mtrand._rand)

    def watch_mutable(self, path: str, value: Any) -> bool:
        """Watch an object if it is a source; return True if its state can be compared."""
        found = None if self.closed else look_of(value)
        if found is not None:
            self.looks.append((path, found, found()))
        return found is not None and found is not object

    def moved_path(self) -> str:
        """Return the path of a source that may have been asked, or ""."""
        return next((path for path, look, before in self.looks if look() != before), "")
