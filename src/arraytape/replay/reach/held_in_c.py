"""State that is held in C: for the whole program, and in objects that have no attributes for it."""

from __future__ import annotations

import gc
import io
import os
import sys
import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

MISSING = object()


def value_of(variable: ContextVar[Any]) -> Any:
    """Return the value of a context variable, or its default; MISSING where it has none."""
    try:
        return variable.get()
    except LookupError:
        return MISSING


def referents(value: Any) -> list[Any]:
    """Return what an object written in C holds, but its class and its attributes."""
    known = type(value), getattr(value, "__dict__", None)
    return [
        part for part in gc.get_referents(value) if part is not known[0] and part is not known[1]
    ]


def is_in_c(cls: type) -> bool:
    """Return True if objects of a class hold what has no name: caches, iterators, contexts."""
    module = cls.__module__.partition(".")[0]
    return (
        module in sys.stdlib_module_names
        and module != "_thread"
        and not issubclass(cls, io.IOBase)
        and not any(isinstance(value, types.FunctionType) for value in vars(cls).values())
    )


def decimal_context() -> str:
    """Return the thread's decimal context, as text; imported late, since few functions need it."""
    import decimal

    return repr(decimal.getcontext())


def locale_set() -> str:
    """Return the names of the locale in force."""
    import locale

    return locale.setlocale(locale.LC_ALL)


AMBIENT_STATE: dict[str, Callable[[], Any]] = {  # by the names of what reads it, what is held in C
    **dict.fromkeys(("geterr", "errstate", "seterr"), np.geterr),
    **dict.fromkeys(("decimal", "Decimal", "getcontext"), decimal_context),
    **dict.fromkeys(("localeconv", "setlocale", "getlocale", "format_string"), locale_set),
    "getrecursionlimit": sys.getrecursionlimit, "isenabled": gc.isenabled, "getcwd": os.getcwd,
}  # fmt: skip
