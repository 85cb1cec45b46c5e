"""Scopes of functions and modules: the possible values of names at the current statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .objects import ANY, NOTHING, Value

Names = dict[str, Value]


class Scope:
    """The variables of one call of a function, or of a module.

    names : dict from each variable to its possible values.  alive : True if the current statement can be
    reached.  jumps : list of ``names`` at each ``break`` and ``continue`` of the current loop.
    calls : the source locations of the calls that lead to this scope, outermost first.  outer : the
    names that are declared global or nonlocal.
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
        """Return the possible values of a name; None if neither this scope nor one around it has it."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.own(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def own(self, name: str) -> Value | None:
        """Return the possible values of a name in this scope alone; None if the scope lacks the name."""
        found = self.names.get(name)
        anywhere = self.names.get(ANY)
        return found if anywhere is None else (found or NOTHING) | anywhere

    def assign(self, name: str, value: Value) -> None:
        """Bind a name in this scope; for a global or nonlocal name, add the value in the outer scope."""
        if name not in self.outer:
            self.names[name] = value
            return
        scope = self.parent
        while scope is not None and name not in scope.names and scope.parent is not None:
            scope = scope.parent
        if scope is not None:
            scope.names[name] = (scope.own(name) or NOTHING) | value

    def bind_weakly(self, name: str, value: Value) -> None:
        """Add ``value`` to the possible values of a name; ``name`` is ``ANY`` if it is unknown."""
        self.names[name] = (self.own(name) or NOTHING) | value

    # --- branches ---------------------------------------------------------------------------------
    def branch(self, *ways: Callable[[], None]) -> None:
        """Run each branch on the current variables; join the variables of branches that end alive.

        A branch is alive at its end if no ``return``, ``raise``, ``break`` or ``continue`` left it.
        """
        before, ends = self.names, []
        for way in ways:
            self.names, self.alive = dict(before), True
            way()
            if self.alive:
                ends.append(self.names)
        self.alive = bool(ends)
        self.names = join_names(*ends) if ends else before

    def end_of_turn(self) -> None:
        """Join the variables' values at each ``break``, ``continue`` and the loop body's end."""
        self.names = join_names(*self.jumps, *([self.names] if self.alive else []))
        self.jumps, self.alive = [], True


class ModuleScope(Scope):
    """The globals of a module; a name that the analysis has not bound has the module's real value."""

    def __init__(
        self, file: str, actual: Mapping[str, Any], resolve: Callable[[Any], Value]
    ) -> None:
        super().__init__(file, None)
        self.actual, self.resolve = actual, resolve

    def own(self, name: str) -> Value | None:
        if name not in self.names and name in self.actual:
            self.names[name] = self.resolve(self.actual[name])
        return super().own(name)


def join_names(*ways: Names) -> Names:
    """Return the possible values of names after any of several branches."""
    if not ways:
        return {}
    found = dict(ways[0])
    for way in ways[1:]:
        for name, value in way.items():
            found[name] = found.get(name, NOTHING) | value
    return found
