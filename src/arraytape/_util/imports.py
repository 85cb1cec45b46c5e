"""Actions on modules once they are imported: at once if a module is there, else when it is imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .locks import reentrant_lock

Action = Callable[[ModuleType], None]

WAITING: dict[str, list[Action]] = {}  # by the module that they wait for
RAN: set[str] = set()  # the awaited modules that have run, though their import may go on
LOCK = reentrant_lock()  # of WAITING; held for no import and no action


def when_imported(name: str, action: Action) -> None:
    """Call ``action(module)`` when the module has run: now if it has, else after its import.

    An action may be asked for, and run, more than once.
    """
    if name not in sys.modules:
        await_module(name, action)
    if name in sys.modules:  # also if it came meanwhile
        # Another thread may be about to run it: the import waits for that, and raises as it does.
        module = importlib.import_module(name)
        if is_running(module):
            await_module(name, action)
            tell_when_initialized(module)
        else:
            action(module)


def await_module(name: str, action: Action) -> None:
    with LOCK:
        waiting = WAITING.setdefault(name, [])
        if action not in waiting:
            waiting.append(action)
        if FINDER not in sys.meta_path:
            sys.meta_path.insert(0, FINDER)


def is_running(module: ModuleType) -> bool:
    """Return True if a module has not run to its end: this thread is importing it further up."""
    initializing = getattr(module.__spec__, "_initializing", False)
    return bool(initializing) and module.__name__ not in RAN


def run_actions(module: ModuleType) -> None:
    with LOCK:
        actions = WAITING.pop(module.__name__, ())
    for action in actions:
        action(module)


class Finder:
    """A finder that finds nothing itself: it makes the loaders of awaited modules run actions.

    No MetaPathFinder: ``importlib.abc`` takes longer to import than the rest.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in WAITING:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(fullname, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    tell_when_done(spec.loader)
                return spec
        return None


FINDER = Finder()


def tell_when_done(loader: Any) -> None:
    """Make a loader run what waits for its module, once, when the module has run.

    The method is replaced on this one loader and put back, so that the module keeps its own loader.
    """
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        execute(module)
        RAN.add(module.__name__)
        run_actions(module)

    loader.exec_module = exec_module


class RunningSpec(ModuleSpec):
    """The spec of a module that was running before it was awaited, until it has run."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_initializing" and not value:
            self.__class__ = ModuleSpec  # type: ignore[assignment]
            module = sys.modules.get(self.name)
            if module is not None:  # else it has failed
                run_actions(module)


def tell_when_initialized(module: ModuleType) -> None:
    """Make the spec of a running module run what waits for it, once, when the module has run."""
    if type(module.__spec__) is ModuleSpec:
        module.__spec__.__class__ = RunningSpec
