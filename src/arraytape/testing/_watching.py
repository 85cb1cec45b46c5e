"""A tape that watches every floating-point array which the namespace creates, for the backend "taped".

While a block of ``watching`` is open, wrappers replace the functions of the namespace that create
arrays.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .._array.array import namespace
from .._record.op import REGISTRY
from .._tape.tape import GradientTape
from .._util.locks import reentrant_lock

TAPE: ContextVar[GradientTape | None] = ContextVar("TAPE", default=None)
LOCK = reentrant_lock()
REPLACED: dict[str, Any] = {}  # the namespace's original functions, by name, while a block is open
BLOCKS: list[object] = []  # the open blocks of all threads


@contextmanager
def watching() -> Iterator[GradientTape]:
    """Open a persistent tape that watches every floating-point array which the namespace makes.

    The backend "taped" runs tests so, to find code that fails on recorded arrays.
    """
    with GradientTape(persistent=True) as tape, watch_new_arrays():
        token = TAPE.set(tape)
        try:
            yield tape
        finally:
            TAPE.reset(token)


@contextmanager
def watch_new_arrays() -> Iterator[None]:
    """Open a block in which the tape of a thread or task watches each array that it creates.

    The namespace's functions that create arrays are replaced by wrappers meanwhile.  Blocks of several
    threads share the wrappers.  The last block to end removes the wrappers.
    """
    xp, block = namespace(), object()
    with LOCK:
        if not BLOCKS:
            makers = [op.name for op in REGISTRY.values() if op.creates]
            REPLACED.update({name: operator.attrgetter(name)(xp) for name in makers})
        BLOCKS.append(block)
        for name, make in REPLACED.items():
            replace_function(name, watch_results(make))
    try:
        yield
    finally:
        with LOCK:
            BLOCKS.remove(block)
            if not BLOCKS:
                for name, make in REPLACED.items():
                    replace_function(name, make)
                REPLACED.clear()


def replace_function(name: str, function: Callable[..., Any]) -> None:
    """Set a function of the namespace by its dotted name, such as "asarray" or "fft.fftfreq"."""
    extension, _, own = name.rpartition(".")
    setattr(getattr(namespace(), extension) if extension else namespace(), own, function)


def watch_results(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``make``, which creates arrays, so that the thread's or task's tape watches floating ones."""

    @functools.wraps(make)
    def make_watched(*args: Any, **keywords: Any) -> Any:
        made = make(*args, **keywords)
        tape = TAPE.get()
        if tape is not None and made.dtype.kind in "fc":
            tape.watch(made)
        return made

    return make_watched
