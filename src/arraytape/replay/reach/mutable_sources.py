"""Random generators and iterators ("sources"), which may return another value at each call.

A value that a traced call draws from a source becomes a constant of the program, so that replays would
repeat it.  So after the call, the state of each source that the call can reach is compared with the
state before.
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


def state_reader(value: Any) -> Callable[[], Any] | None:
    """Return a function that returns the present state of ``value``, a random generator or iterator.

    If the state cannot be read, as that of an iterator written in C, return ``object``, whose results
    always differ.  Return None for other objects, and for those whose attributes are compared anyway:
    iterators of a Python class, and files.
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


def source_state(value: Any) -> Any:
    """Return the present state of a random generator or iterator; None for another object."""
    found = state_reader(value)
    return found and found()


def frozen_state(state: Any) -> Any:
    """Return the state of a random generator as a value that == can compare.

    For example, arrays in it become bytes.
    """
    if isinstance(state, dict):
        return {name: frozen_state(part) for name, part in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


class MutableSources:
    """The random generators and iterators ("sources") that a call can reach.

    After the call, their states are compared: replays would repeat a number that was drawn.  The global
    generators of Python and NumPy are among them.
    states : list of (path, function that returns the source's state, state before the call).
    """

    def __init__(self) -> None:
        self.is_closed = False  # if True, ``watch_mutable`` ignores further sources
        self.states: list[tuple[str, Callable[[], Any], Any]] = []
        self.watch_mutable("random", random._inst)
        if "numpy.random" in sys.modules:
            self.watch_mutable("np.random", sys.modules["numpy.random"].mtrand._rand)

    def watch_mutable(self, path: str, value: Any) -> bool:
        """Add ``value`` if it is a random generator or iterator; return True if its state can be read.

        path : the name of the value in messages, such as "model.rng".
        """
        found = None if self.is_closed else state_reader(value)
        if found is not None:
            self.states.append((path, found, found()))
        return found is not None and found is not object

    def changed_path(self) -> str:
        """Return the path of the first source from which the call has drawn, or may have, else "".

        A source is a random generator or iterator.
        """
        return next(
            (path for path, read_state, before in self.states if read_state() != before), ""
        )
