"""arraytape with a persistent tape open that watches everything: for the array API suite.

A module with the names of arraytape.  Each of its functions (and those of ``linalg`` and ``fft``)
is arraytape's own; every floating-point array that one returns is watched, so that whatever the
arrays' operators and methods do is recorded too.  What an array calls its namespace
(``__array_namespace__``) is still arraytape.

It is a plugin of pytest as well (``-p arraytape_taped``): each test runs on a tape of its own, so
that no tape grows over the whole suite, and when a test is over its tape must still give a right
gradient.  Outside a test no tape is open, and then this is arraytape.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest

import arraytape

FLOATING = ("real floating", "complex floating")
EXTENSIONS = ("linalg", "fft")


class Taping:
    """The tape of the running test, and how much all tapes have watched."""

    def __init__(self) -> None:
        self.tape: arraytape.GradientTape | None = None
        self.tapes = self.watched = 0

    def watch(self, result: Any) -> None:
        """Watch the floating-point arrays in what a function returned."""
        if self.tape is None:
            return
        if isinstance(result, tuple | list):
            for part in result:
                self.watch(part)
        elif isinstance(result, arraytape.Array) and arraytape.isdtype(result.dtype, FLOATING):
            self.tape.watch(result)
            self.watched += 1

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            self.watch(result)
            return result

        return call

    def namespace(self, module: ModuleType, name: str) -> dict[str, Any]:
        """Return the public names of a namespace, with its functions wrapped."""
        names = {}
        for key, value in vars(module).items():
            if key in EXTENSIONS and isinstance(value, ModuleType):
                value = self.extension(value, f"{name}.{key}")
            elif isinstance(value, FunctionType) and not key.startswith("_"):
                value = self.wrap(value)
            if not key.startswith("_") or key.startswith("__array_"):
                names[key] = value
        return names

    def extension(self, module: ModuleType, name: str) -> ModuleType:
        made = ModuleType(name, module.__doc__)
        vars(made).update(self.namespace(module, name))
        sys.modules[name] = made
        return made


taping = Taping()
globals().update(taping.namespace(arraytape, __name__))
__version__ = arraytape.__version__


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    with arraytape.GradientTape(persistent=True) as tape:
        x = arraytape.asarray(3.0)
        tape.watch(x)
        taping.tape = tape
        taping.tapes += 1
        try:
            result = yield
        finally:
            taping.tape = None
        y = x * x
    assert tape.gradient(y, x) == 6.0, "the test's tape gives a wrong gradient"
    return result


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"{taping.tapes} tapes watched {taping.watched} arrays")
