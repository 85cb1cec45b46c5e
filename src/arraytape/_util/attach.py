"""Functions with which a package adds methods to a class that it does not define.

The module of Array must not import the ops.  So the modules of ops add the methods that call ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from .errors import user_line

F = TypeVar("F", bound=Callable[..., Any])

# The keys of these dicts are names of other libraries' modules, such as "scipy.special".  A function in
# UFUNCS_FOR returns a dict from the module's ufuncs to arraytape's ops.  A function in RULES_FOR
# installs rules for the module's functions.  A function in CONTAINERS_FOR enters the library's tables
# as containers.  ``arraytape/__init__.py`` fills the dicts, with functions that import the packages
# with the rules only when they are called.
UFUNCS_FOR: dict[str, Callable[[], Mapping[Any, Callable[..., Any]]]] = {}
RULES_FOR: dict[str, Callable[[], None]] = {}
CONTAINERS_FOR: dict[str, Callable[[], object]] = {}


def attach_method(cls: type, name: str) -> Callable[[F], F]:
    """Return a decorator that sets the function as the method ``name`` of ``cls``."""

    def attached(function: F) -> F:
        setattr(cls, name, function)
        return function

    return attached


def read_only_property(
    fget: Callable[[Any], Any], name: str, advice: str, doc: str | None = None
) -> property:
    """Return a property whose setter raises AttributeError.

    fget, doc : the getter and the docstring.
    name, advice : the name of the attribute, and the end of the error's message: what to do instead.
    """

    def fset(x: Any, _: Any) -> NoReturn:
        raise AttributeError(
            f"the {name} of an {type(x).__name__} cannot be set [at {user_line()}]; {advice}"
        )

    return property(fget, fset, doc=doc)


def attach(cls: type, methods: Mapping[str, Any]) -> None:
    for name, function in methods.items():
        setattr(cls, name, function)
