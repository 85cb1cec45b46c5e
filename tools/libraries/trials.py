"""Trials of all calls of a library on all backends."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from typing import NamedTuple

from peers.libraries import Library as Backend

from . import calls
from .facts import Call, Library
from .verdicts import RIGHT, Outcome, Reference, Trial


class Row(NamedTuple):
    """A call of a library and its outcome on each backend."""

    library: Library
    call: Call
    outcomes: dict[str, Outcome]

    def text(self) -> str:
        found = [f"{self.library.name}: {self.call.name}"]
        for name, outcome in self.outcomes.items():
            parts = ", ".join(part for part in outcome[:3] if part)
            found.append(f"    {name}: {parts}{outcome.detail and f' ({outcome.detail})'}")
            found += [f"    needless warning: {outcome.needless}"] * bool(outcome.needless)
        return "\n".join([*found, *([f"    FAULT: {self.fault()}"] if self.fault() else [])])

    @property
    def why(self) -> str:
        """Return the reason that the library's table states for a call that fails on Arrays, or ""."""
        return self.library.reasons.get(self.call.name, "")

    def is_right(self, backend: str) -> bool:
        """Return True if none of the checks that ran on a backend failed."""
        return all(part in (RIGHT, "") for part in self.outcomes[backend][:3])

    def fault(self) -> str:
        """Return the way in which arraytape's outcome contradicts the table, or ""."""
        right = self.is_right("arraytape")
        if right and self.why:
            return "it is right, but the table gives a reason for which it is not"
        return "" if right or self.why else "the table gives no reason"


MODULES = {"pot": "ot", "scikit_bio": "skbio"}  # tables whose file has not the name of the module


def installed(names: list[str]) -> list[Library]:
    """Return the ``LIBRARY`` of each installed library; with ``names`` only of those named."""
    modules = [module.name for module in pkgutil.iter_modules(calls.__path__)]
    found = []
    for name in modules:
        if importlib.util.find_spec(MODULES.get(name, name)) is None:
            continue
        library: Library = importlib.import_module(f"{calls.__name__}.{name}").LIBRARY
        if not names or library.name in names:
            found.append(library)
    return found


def tried(library: Library, backends: dict[str, Backend], part: str = "") -> Iterator[Row]:
    """Try the calls whose name contains ``part`` on each backend; yield a Row for each call."""
    chosen = {name: b for name, b in backends.items() if name in library.backends}
    for one in library.calls:
        if part in one.name:
            reference = Reference(library, one)
            found = {name: Trial(reference, b).outcome() for name, b in chosen.items()}
            yield Row(library, one, found)
            release_programs()


def release_programs() -> None:
    """Let JAX forget the programs that it compiled, which fill the memory otherwise."""
    if jax := sys.modules.get("jax"):
        jax.clear_caches()
