"""Messages about conversions: the lines where a value was converted and came back, and what to do."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from .._array.array import namespace
from .._array.exits import LEFT, LeftRecord
from .._record.plan import Record
from .._util.errors import see
from .._util.source_locations import Place, Stack, innermost_user_place
from .sources import node_at
from .suspected_exits import Exit, frames_in_library

SHOWN = 4  # the most source lines that a message lists
CONSTANT = "or stop_gradient the value to say that this is meant"
# Advice on functions without a gradient, by their module: what to call in their place.
MODULES = {
    "statistics": "use the function of arraytape's own: mean, var, std, median",
    "math": "use arraytape's function of that name",
    "cmath": "use arraytape's function of that name",
    "copy": "copy with arraytape's asarray(x, copy=True)",
    "pickle": "copy with arraytape's asarray(x, copy=True)",
    "numpy": "call the function on the Array itself: NumPy's functions take Arrays",
    "pandas": "take columns by .to_numpy() and compute with Arrays: pandas uses their values alone here",
    "polars": "pass the Array itself on: tables of polars keep its values alone",
}
# Packages for whose functions interop has rules.
INTEROP = ("scipy", "sklearn")
# Packages that the INTEROP packages call with arrays.  A conversion in them counts as one of the INTEROP
# package that called them.
ARRAYS = ("numpy", "array_api_compat", "array_api_extra")


def library_call(stack: Stack) -> tuple[str, Place] | None:
    """Return the name of the library function that the user called, and the Place of the call.

    Return None if no library function converted the value.
    """
    inside = frames_in_library(stack)
    if not inside:
        return None
    place = stack[len(inside)]
    return library_function(inside, place), place


def library_function(inside: Sequence[Place], place: Place) -> str:
    """Return ``module.name`` of the library function that the call at ``place`` runs.

    ``inside`` has the frames in the library. They name the function if the source text does not.
    """
    text = called_text(place)
    function = object_named(text, place)
    if hasattr(function, "__module__") and hasattr(function, "__qualname__"):
        return f"{function.__module__}.{function.__qualname__}"
    name, outer = text.rpartition(".")[2], inside[::-1]
    named = [frame for frame in outer if frame.code.co_name == name]
    whole = [frame for frame in outer if "<locals>" not in frame.code.co_qualname]
    frame = next(itertools.chain(named, whole, outer))
    return f"{frame.names.get('__name__', '')}.{frame.code.co_qualname}"


def object_named(text: str, place: Place) -> Any:
    """Return the object with the dotted name ``text`` in the globals of a function; None without one."""
    first, *rest = text.split(".")
    value = place.names.get(first)
    for part in rest:
        value = getattr(value, part, None)
    return value


def called_text(place: Place) -> str:
    """Return the source text of the called function at a place, such as ``math.sin``, or ""."""
    node = node_at(place)
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def module_of(place: Place, name: str) -> str:
    """Return the module of the named function; if it is unknown, the first part of the name."""
    return str(getattr(object_named(name, place), "__module__", None) or name.partition(".")[0])


def without_private_modules(name: str) -> str:
    """Return a function's name without the private modules: ``scipy.signal.lfilter``."""
    parts = [part for part in name.split(".") if part and not part.startswith(("_", "<"))]
    return ".".join(parts)


class Conversion(NamedTuple):
    """Two clauses of a message about a conversion: advice, and what happened."""

    advice: str
    fact: str


def last_exit(records: Sequence[Record]) -> Conversion | None:
    """Return the clauses about the last conversion among these records; None if there is none."""
    for record in reversed(records):
        if record[0] == LEFT.number:
            left = LeftRecord(*record)
            place = exit_text(left)
            fact = f"a value left this tape at {place}: what comes back from there is a constant"
            return Conversion(remedy(left), fact)
    return None


def exit_text(exit_: Exit | LeftRecord) -> str:
    """Return the source location of a conversion as text: ``a.py:12 (float())``.

    For a conversion in a library, return ``a.py:12 (in scipy.f, at b.py:34 (float()))``.
    """
    call = library_call(exit_.stack)
    if call is None:
        return f"{innermost_user_place(exit_.stack) or 'an unknown line'} ({exit_.how})"
    return f"{call[1]} (in {without_private_modules(call[0])}, at {exit_.stack[0]} ({exit_.how}))"


def remedy(exit_: Exit | LeftRecord) -> str:
    """Return advice, as a clause, on how to avoid a conversion."""
    call = library_call(exit_.stack)
    place = innermost_user_place(exit_.stack)
    if call is not None and (package := call[0].partition(".")[0]) in INTEROP:
        return by_interop(package, *call, exit_)
    if call is not None:
        module = call[0]
    elif place is not None and (name := called_text(place)):
        module = module_of(place, name)
    else:
        module = ""
    advice = MODULES.get(module.partition(".")[0])
    return advice or "keep the computation in arraytape's own functions"


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def callable_name(function: str, place: Place) -> str:
    """Return the public name of a function, or of a method as in the user's line: ``norm.logpdf``."""
    text = called_text(place)
    is_method = function.rpartition(".")[0] not in sys.modules
    return text if is_method and 0 < len(text) < 60 else without_private_modules(function)


def by_interop(package: str, function: str, place: Place, exit_: Exit | LeftRecord) -> str:
    """Return advice on a call of SciPy or scikit-learn: to use interop if that has a rule for it."""
    inside = frames_in_library(exit_.stack)
    modules = [str(place.names.get("__name__", "")) for place in inside]
    name = callable_name(function, place)
    other = modules[0].partition(".")[0]
    if other == "polars" and package == "sklearn":
        return (
            f"let {name} return tables of pandas, by set_output(transform='pandas'), or Arrays: tables "
            "of polars keep values alone"
        )
    if other not in (*INTEROP, *ARRAYS):
        return (
            f"call {name} in a way that does not use {other}, which takes the values alone, or give "
            f"{name} a gradient with host_function(f, vjp)"
        )
    statements, context = [  # imported by name: the import contract forbids imports of interop here
        import_module(f"{namespace().__name__}.interop.{part}")
        for part in ("_statements", "_context")
    ]
    names = [f"{m}.{place.code.co_qualname}" for m, place in zip(modules, inside, strict=True)]
    known = statements.function_with_rule([function, *names], modules, exit_.how)
    if known is not None and not context.is_active(package):
        within = f"call {name} inside `with arraytape.interop.{package}():`"
        if without_private_modules(known).rpartition(".")[2] == name.rpartition(".")[2]:
            return (
                f"{within}, which has its derivatives, or raises for options of which it has none"
            )
        return f"{within}, which has the derivatives of {without_private_modules(known)} in it"
    return (
        f"give {name}, of which arraytape.interop knows no derivative, a gradient with "
        "host_function(f, vjp)"
    )


def exit_places(exits: Sequence[Exit]) -> str:
    """Return the source lines of conversions as text, each line once, at most SHOWN lines."""
    lines = [*dict.fromkeys(map(exit_text, exits))]
    more = f" and {len(lines) - SHOWN} more places" if len(lines) > SHOWN else ""
    return ", ".join(lines[:SHOWN]) + more


def ways_back(exits: Sequence[Exit]) -> str:
    """Return the first SHOWN source lines at which converted values may have come back, as text."""
    lines: dict[str, None] = {}
    for stack in itertools.chain.from_iterable(exit_.back for exit_ in exits):
        place = innermost_user_place(stack)
        if place is not None:
            lines[str(place)] = None
        if len(lines) > SHOWN:
            break
    return ", ".join([*lines][:SHOWN]) + (" ..." if len(lines) > SHOWN else "")


def lost(exits: Sequence[Exit], what: str) -> str:
    """Return the message about conversions.  It begins with ``what``, which says what is missing."""
    back = ways_back(exits)
    again = f", and what came of it went in again at {back}" if back else ""
    advice = sentence("; ".join(dict.fromkeys(map(remedy, exits[:SHOWN]))))
    return (
        f"{what}: the value left the tape at {exit_places(exits)}{again}. {advice}, {CONSTANT} "
        f"{see('value-left-the-tape')}"
    )
