"""Scopes for the analysis of source code: the variables of a function or module, with possible values.

A value in the analysis is a set of ``Thing`` objects, those to which the variable may be bound at the
statement that is now interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .objects import ANY, NOTHING, Value

Names = dict[str, Value]


class Scope:
    """The variables of one call of a function, or of a module, during the analysis.

    file : the file of the source code.  parent : the scope around this one, None for a module.
    names : dict from each variable to the objects that it may be.
    alive : True if the current statement can be reached.
    jumps : the ``names`` at each ``break`` and ``continue`` of the current loop, in a list.
    returns, yields : the objects that the function may return or yield.
    calls : the source locations of the calls that lead to this scope, outermost first.
    outer : the names that are declared global or nonlocal.
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
        """Return the objects that a variable of this scope, or of one around it, may be, or None."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.own(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def own(self, name: str) -> Value | None:
        """Return the objects that a variable of this scope itself may be; None if it has none."""
        found = self.names.get(name)
        anywhere = self.names.get(ANY)
        return found if anywhere is None else (found or NOTHING) | anywhere

    def assign(self, name: str, value: Value) -> None:
        """Bind a name in this scope, which may now be any object in ``value``.

        For a global or nonlocal name, add the objects to those that the name may be in its own scope.
        """
        if name not in self.outer:
            self.names[name] = value
            return
        scope = self.parent
        while scope is not None and name not in scope.names and scope.parent is not None:
            scope = scope.parent
        if scope is not None:
            scope.names[name] = (scope.own(name) or NOTHING) | value

    def bind_weakly(self, name: str, value: Value) -> None:
        """Add ``value`` to the possible values of a name, because the old ones may still be bound.

        An unknown name is ``ANY``.
        """
        self.names[name] = (self.own(name) or NOTHING) | value

    # --- branches ---------------------------------------------------------------------------------
    def branch(self, *ways: Callable[[], None]) -> None:
        """Interpret alternative branches of the code, each from the current variables.

        Afterwards a variable may have the value of any branch whose end is reached: of one without
        ``return``, ``raise``, ``break`` or ``continue``.
        ways : functions that interpret one branch each.
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
        """End an iteration of a loop: join the variables at its end, ``break`` and ``continue``."""
        self.names = join_names(*self.jumps, *([self.names] if self.alive else []))
        self.jumps, self.alive = [], True


class ModuleScope(Scope):
    """The globals of a module during the analysis.

    A name that the analysed code has not bound has its value in the running module.

    actual : the globals of the running module.  resolve : a function from a value to its ``Thing``s.
    """

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
    """Return the possible values of each name after several branches of code: those of all branches.

    ways : for each branch, a dict from names to their possible values.
    """
    if not ways:
        return {}
    found = dict(ways[0])
    for way in ways[1:]:
        for name, value in way.items():
            found[name] = found.get(name, NOTHING) | value
    return found
