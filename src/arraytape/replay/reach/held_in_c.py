"""State that Python attributes do not show: the interpreter's settings, and objects held by C code."""

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
    """Return the value of a context variable, or its default; MISSING if there is neither.

    Replays compare it, because the function may read the variable.
    """
    try:
        return variable.get()
    except LookupError:
        return MISSING


def referents(value: Any) -> list[Any]:
    """Return the objects that an object written in C refers to, without its class and __dict__.

    For example, a list iterator refers to its list, but has no attribute that names it.  Replays compare
    these objects, too.
    """
    known = type(value), getattr(value, "__dict__", None)
    return [
        part for part in gc.get_referents(value) if part is not known[0] and part is not known[1]
    ]


def is_in_c(cls: type) -> bool:
    """Return True for a class of the standard library without Python methods, such as an iterator.

    Objects of such a class may refer to objects that no attribute shows: ``referents`` finds them.
    """
    module = str(cls.__module__).partition(".")[0]
    return (
        module in sys.stdlib_module_names
        and module != "_thread"
        and not issubclass(cls, io.IOBase)
        and not any(isinstance(value, types.FunctionType) for value in vars(cls).values())
    )


def decimal_context() -> str:
    import decimal  # imported here, because few functions need it

    return repr(decimal.getcontext())


def locale_set() -> str:
    import locale

    return locale.setlocale(locale.LC_ALL)


# Name in users' code -> function that returns the interpreter's setting which code with this name may
# read.  A replay compares the setting if the code has the name.
AMBIENT_STATE: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("geterr", "errstate", "seterr"), np.geterr),
    **dict.fromkeys(("decimal", "Decimal", "getcontext"), decimal_context),
    **dict.fromkeys(("localeconv", "setlocale", "getlocale", "format_string"), locale_set),
    "getrecursionlimit": sys.getrecursionlimit, "isenabled": gc.isenabled, "getcwd": os.getcwd,
}  # fmt: skip
