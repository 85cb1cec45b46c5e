"""Functions ("actions") that run as soon as a module of another library has been imported.

``when_imported(name, action)`` runs the action at once if the module's body has run.  If the module was
not imported yet, a finder in ``sys.meta_path`` runs the action after the import.  If this thread is just
running the module's body, the module's spec runs the action when the import ends.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .locks import reentrant_lock

Action = Callable[[ModuleType], None]

WAITING: dict[str, list[Action]] = {}  # from the name of an awaited module to its actions
RAN: set[str] = set()  # awaited modules whose body has run, even if their import is not complete
LOCK = reentrant_lock()  # protects WAITING; never held during an import or an action


def import_or_advise(name: str, advice: str) -> Any:
    """Import a module; if it cannot be imported, raise ImportError with ``advice``."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(advice) from error


def when_imported(name: str, action: Action) -> None:
    """Call ``action(module)`` as soon as the module's body has run: now, or after its import.

    Other libraries are thus prepared for Arrays without being imported.

    The action may be called several times, and must allow that.
    """
    if name not in sys.modules:
        await_module(name, action)
    if name in sys.modules:  # also if another thread has imported it since the test above
        # If another thread is running the body, this import waits for its end.
        module = importlib.import_module(name)
        if is_running(module):
            await_module(name, action)
            if type(module.__spec__) is ModuleSpec:
                module.__spec__.__class__ = RunningSpec
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
    """Return True if this thread is importing the module further up the stack.

    Its contents are then not complete.
    """
    initializing = getattr(module.__spec__, "_initializing", False)
    return bool(initializing) and module.__name__ not in RAN


def run_actions(module: ModuleType) -> None:
    with LOCK:
        actions = WAITING.pop(module.__name__, ())
    for action in actions:
        action(module)


class Finder:
    """A finder in ``sys.meta_path`` that makes modules in WAITING run their actions after the import.

    The other finders of ``sys.meta_path`` provide the modules' loaders.  The class does not derive from
    MetaPathFinder, because the import of ``importlib.abc`` takes longer than that of this module.
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
                    run_actions_after(spec.loader)
                return spec
        return None


FINDER = Finder()


def run_actions_after(loader: Any) -> None:
    """Make a loader run the actions in WAITING after it has run the body of its module.

    ``exec_module`` is replaced on this one instance.  The replacement removes itself at its first call.
    """
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        execute(module)
        RAN.add(module.__name__)
        run_actions(module)

    loader.exec_module = exec_module


class RunningSpec(ModuleSpec):
    """The spec of a module whose body is running; it runs the module's actions after the import.

    Python's import system sets ``_initializing`` to False at the end of an import.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_initializing" and not value:
            self.__class__ = ModuleSpec  # type: ignore[assignment]
            module = sys.modules.get(self.name)
            if module is not None:  # None: the import has failed
                run_actions(module)
