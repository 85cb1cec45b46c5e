"""Methods that are attached to a class from another room.

A class of a lower room knows no op; the room that has the function attaches it as a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def method(cls: type, name: str) -> Callable[[F], F]:
    """Decorator: the function is also the method ``name`` of ``cls``."""

    def attached(function: F) -> F:
        setattr(cls, name, function)
        return function

    return attached


def attach(cls: type, methods: Mapping[str, Any]) -> None:
    """Give ``cls`` these functions and properties, by name."""
    for name, function in methods.items():
        setattr(cls, name, function)
