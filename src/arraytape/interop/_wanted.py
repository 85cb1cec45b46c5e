"""Check whether the derivative of a solver's result may be needed, before its slower rule is used.

A tape may need the derivative if it follows an Array among the arguments, or an Array that a function
among them reads from its closure or globals.  Arrays that ``vmap`` maps count as followed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from .._array.array import Array
from .._array.exits import followers
from .._array.views import current
from .._storage.batched.batched_data import lengths_of
from .._util import nest
from ._context import has_array, held_by, is_of

DEEPEST = 4  # ``used_by`` searches a function, the functions that it uses, and so on to this depth
LIBRARIES = ("scipy", __name__.partition(".")[0])


def is_wanted(values: Iterable[Any]) -> bool:
    """Return True if the derivative of a result computed from ``values`` may be needed.

    Otherwise the library's own function, which is faster, suffices.  The derivative may be needed if a
    recorder (a tape or an accumulator) follows an Array among them, or ``vmap`` maps it.
    """
    arrays = [x for value in values for x in nested_leaves(value) if isinstance(x, Array)]
    return any(followers(x) or lengths_of((current(x)[1],)) for x in arrays)


def uses_arrays(function: Callable[..., Any], values: Iterable[Any]) -> bool:
    """Return True if a solver's call computes with Arrays.

    The arguments ``values`` hold them, or the user's ``function`` reads them from outside.
    """
    return has_array(values) or (not is_library_function(function) and has_array(used_by(function)))


def nested_leaves(value: object) -> list[Any]:
    """Return the objects in nested containers, or an empty list if a container holds itself."""
    try:
        return nest.leaves(value)
    except ValueError:
        return []


def used_by(function: Callable[..., Any], depth: int = DEEPEST) -> list[Any]:
    """Return the objects that a function reads from its closure, defaults, globals and ``self``.

    Functions and objects among them, such as a fitted spline, are searched, too, down to ``depth``
    levels.
    """
    if isinstance(function, functools.partial):
        return [*function.args, *function.keywords.values(), *used_by(function.func, depth)]
    found: list[Any] = values_in_object(function)
    if isinstance(function, MethodType):
        found.append(function.__self__)
        function = function.__func__
    if not isinstance(function, FunctionType) or not depth:
        return found
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # the cell is empty
            continue
    found += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    found += [function.__globals__.get(name) for name in function.__code__.co_names]
    inner = [
        part for part in found if isinstance(part, FunctionType | MethodType | functools.partial)
    ]
    held = [value for part in found for value in values_in_object(part)]
    return [*found, *held, *[value for part in inner for value in used_by(part, depth - 1)]]


def values_in_object(value: object) -> list[Any]:
    """Return the attributes of an object of a user's class, and all that one of a library holds."""
    if is_of("sklearn", value):  # or of SciPy, such as a spline
        return [*held_by("sklearn", value)]
    kinds: tuple[type, ...] = (
        Array, ModuleType, type, FunctionType, MethodType, functools.partial,
    )  # fmt: skip
    return [] if isinstance(value, kinds) else [*getattr(value, "__dict__", {}).values()]


def is_library_function(function: Callable[..., Any]) -> bool:
    """Return True if a function was defined in SciPy or arraytape, so that it is not the user's.

    Such a function passes NumPy data to a solver, so that SciPy's solver runs without a rule.  An object
    of a public class that holds Arrays, such as a spline, is no such function; one of a private class,
    such as ``_FunctionWrapper``, is.
    """
    if type(function).__name__[0] != "_" and has_array(values_in_object(function)):
        return False
    return (getattr(function, "__module__", None) or "").partition(".")[0] in LIBRARIES
