"""Hooks by which a higher room gives a lower one methods and parts that are loaded on demand.

A class of a lower room knows no op; the room that has the function attaches it as a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from .errors import user_line

F = TypeVar("F", bound=Callable[..., Any])

# By another library's module: what gives our ufuncs in place of its own, and what makes our rules act on
# its functions.  The public namespace enters both, which load higher rooms when they are called.
UFUNCS_FOR: dict[str, Callable[[], Mapping[Any, Callable[..., Any]]]] = {}
RULES_FOR: dict[str, Callable[[], None]] = {}


def attach_method(cls: type, name: str) -> Callable[[F], F]:
    """Return a decorator that sets the function as the method ``name`` of ``cls``."""

    def attached(function: F) -> F:
        setattr(cls, name, function)
        return function

    return attached


def read_only_property(
    fget: Callable[[Any], Any], name: str, advice: str, doc: str | None = None
) -> property:
    """Return a property that cannot be set: the AttributeError gives advice."""

    def fset(x: Any, value: Any) -> NoReturn:
        raise AttributeError(
            f"the {name} of an {type(x).__name__} cannot be set [at {user_line()}]; {advice}"
        )

    return property(fget, fset, doc=doc)


def attach(cls: type, methods: Mapping[str, Any]) -> None:
    for name, function in methods.items():
        setattr(cls, name, function)
