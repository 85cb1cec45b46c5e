"""Scopes of functions and modules: what a name may stand for at the statement at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .objects import ANY, NOTHING, Value

Names = dict[str, Value]


class Scope:
    """The variables of one call of a function, or of a module.

    names : what each stands for now.  alive : whether the statement at hand is reached.  jumps : the
    variables at each ``break`` and ``continue`` of the loop at hand.  calls : the places of the calls
    that lead here, outermost first.  outer : names that are declared global or nonlocal.
    """

    def __init__(self, file: str, parent: Scope | None, calls: tuple[Any, ...] = ()) -> None:
        self.file, self.parent, self.calls = file, parent, calls
        self.names: Names = {}
        self.alive = True
        self.jumps: list[Names] = []
        self.returns: Value = NOTHING
        self.yields: Value = NOTHING
        self.outer: set[str] = set()

    def lookup(self, name: str) -> Value | None:
        """Return the values of a name; None where no scope has the name."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.own(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def own(self, name: str) -> Value | None:
        """Return the values of a name of this very scope."""
        found = self.names.get(name)
        anywhere = self.names.get(ANY)
        return found if anywhere is None else (found or NOTHING) | anywhere

    def assign(self, name: str, value: Value) -> None:
        """Bind a name here, or, weakly, where it is declared to be."""
        if name not in self.outer:
            self.names[name] = value
            return
        scope = self.parent
        while scope is not None and name not in scope.names and scope.parent is not None:
            scope = scope.parent
        if scope is not None:
            scope.names[name] = (scope.own(name) or NOTHING) | value

    def bind_weakly(self, name: str, value: Value) -> None:
        """Bind a name beside what it stands for; ``ANY`` for one that is not known."""
        self.names[name] = (self.own(name) or NOTHING) | value

    # --- branches ---------------------------------------------------------------------------------
    def branch(self, *ways: Callable[[], None]) -> None:
        """Take each way from the state at hand, and go on from all that end alive."""
        before, ends = self.names, []
        for way in ways:
            self.names, self.alive = dict(before), True
            way()
            if self.alive:
                ends.append(self.names)
        self.alive = bool(ends)
        self.names = joined(*ends) if ends else before

    def end_of_turn(self) -> None:
        """End one turn of a loop: join the branches that jumped."""
        self.names = joined(*self.jumps, *([self.names] if self.alive else []))
        self.jumps, self.alive = [], True


class ModuleScope(Scope):
    """The globals of a module: what the program has not bound yet is what the module has."""

    def __init__(
        self, file: str, actual: Mapping[str, Any], resolve: Callable[[Any], Value]
    ) -> None:
        super().__init__(file, None)
        self.actual, self.resolve = actual, resolve

    def own(self, name: str) -> Value | None:
        if name not in self.names and name in self.actual:
            self.names[name] = self.resolve(self.actual[name])
        return super().own(name)


def joined(*ways: Names) -> Names:
    """Return the values of names after one of several branches."""
    if not ways:
        return {}
    found = dict(ways[0])
    for way in ways[1:]:
        for name, value in way.items():
            found[name] = found.get(name, NOTHING) | value
    return found
