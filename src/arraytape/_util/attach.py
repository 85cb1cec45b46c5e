"""Attachment of methods: a higher room sets its functions as methods of a lower room's class.

So the lower room imports no op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from .errors import user_line

F = TypeVar("F", bound=Callable[..., Any])

# By name of another library's module: a function that returns our ufuncs for its own, and one that
# installs our rules for its functions.  The package's ``__init__`` fills both; the functions import
# higher rooms when they are called.
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
    """Return a property whose setter raises AttributeError with this advice."""

    def fset(x: Any, _: Any) -> NoReturn:
        raise AttributeError(
            f"the {name} of an {type(x).__name__} cannot be set [at {user_line()}]; {advice}"
        )

    return property(fget, fset, doc=doc)


def attach(cls: type, methods: Mapping[str, Any]) -> None:
    for name, function in methods.items():
        setattr(cls, name, function)
