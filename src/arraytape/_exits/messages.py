"""Compose messages about conversions such as ``float(x)``: what to do, and the lines concerned.

The lines are those where a followed value was converted, and where it may have come back as a constant.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

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
# The conversions by which NumPy writes an Array into an array of its own.
WRITES = ("float()", "complex()", "int()", "np.asarray()")
# Packages for whose functions interop has rules.
INTEROP = ("scipy", "sklearn")
# Functions of SciPy without a rule, and functions with a rule that solve the same problem.
IN_PLACE = {
    "scipy.optimize.fsolve": "scipy.optimize.root",
    "scipy.optimize.leastsq": "scipy.optimize.least_squares",
    **{
        f"scipy.optimize.fmin{x}": "scipy.optimize.minimize"
        for x in ("", "_bfgs", "_cg", "_l_bfgs_b", "_ncg", "_powell", "_slsqp", "_tnc")
    },
}
# Functions of SciPy that search the least of several minima.
SEARCHES = {
    f"scipy.optimize.{x}"
    for x in ("basinhopping", "brute", "differential_evolution", "direct", "dual_annealing", "shgo")
}
# Packages that the INTEROP packages call with arrays.  A conversion in them counts as one of the INTEROP
# package that called them.
ARRAYS = ("numpy", "array_api_compat", "array_api_extra")


def library_call(stack: Stack) -> tuple[str, Place] | None:
    """Return the library function that converted a value, and the source location of its call.

    stack : the stack at the conversion (such as ``float(x)``), innermost first.  The result is
    ("module.name", Place of the user's call).  Return None if the user's own code converted the value.
    """
    inside = frames_in_library(stack)
    if not inside:
        return None
    place = stack[len(inside)]
    return library_function(inside, place), place


def library_function(inside: Sequence[Place], place: Place) -> str:
    """Return ``module.name`` of the library function that the user's call at ``place`` runs.

    inside : the frames in the library.  They name the function if the source text of the call does not.
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
    """Return the object that a dotted name such as "np.sin" means in a frame's globals, or None.

    Return None for a local name, too: the values of local variables are not kept.
    place : the source location of the frame.
    """
    if is_local_name(text, place):
        return None
    first, *rest = text.split(".")
    value = place.names.get(first)
    for part in rest:
        value = getattr(value, part, None)
    return value


def is_local_name(text: str, place: Place) -> bool:
    """Return True if a dotted name begins with a local variable, which may shadow a global."""
    code = place.code
    local = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    return text.partition(".")[0] in local


def called_text(place: Place) -> str:
    """Return the name of the called function as the user wrote it, such as "math.sin", or "".
    place : the source location of the call.
    """
    node = node_at(place)
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def module_of(place: Place, name: str) -> str:
    """Return the module that defines the function ``name``; if unknown, the first part of the name.

    Return "" for a local name.
    place : a source location, in whose globals the name is looked up.
    """
    first = "" if is_local_name(name, place) else name.partition(".")[0]
    return str(getattr(object_named(name, place), "__module__", None) or first)


def without_private_modules(name: str) -> str:
    """Return a function's name without the private modules: ``scipy.signal.lfilter``."""
    parts = [part for part in name.split(".") if part and not part.startswith(("_", "<"))]
    return ".".join(parts)


class Conversion(NamedTuple):
    """Two clauses for an error message about a conversion: what to do, and what happened."""

    advice: str
    fact: str


def last_exit(records: Sequence[Record]) -> Conversion | None:
    """Return clauses for an error about the last conversion on a tape, such as ``float(x)``, or None.

    The clauses are what to do and what happened.  records : those of the tape, in their order.
    """
    for record in reversed(records):
        if record[0] == LEFT.number:
            left = LeftRecord(*record)
            place = exit_text(left)
            fact = f"a value left this tape at {place}: what comes back from there is a constant"
            return Conversion(remedy(left), fact)
    return None


def exit_text(exit_: Exit | LeftRecord) -> str:
    """Return the source location and kind of a conversion as text: ``a.py:12 (float())``.

    For a conversion in a library, return ``a.py:12 (in scipy.f, at b.py:34 (float()))``.

    exit_ : the conversion, with its call stack.
    """
    call = library_call(exit_.stack)
    if call is None:
        return f"{innermost_user_place(exit_.stack) or 'an unknown line'} ({exit_.how})"
    return f"{call[1]} (in {without_private_modules(call[0])}, at {exit_.stack[0]} ({exit_.how}))"


def remedy(exit_: Exit | LeftRecord) -> str:
    """Return advice on how to avoid a conversion, such as "call the function on the Array itself".

    exit_ : the conversion (such as ``float(x)``), with its call stack.
    """
    call = library_call(exit_.stack)
    place = innermost_user_place(exit_.stack)
    if call is not None and (package := call[0].partition(".")[0]) in INTEROP:
        return by_interop(package, *call, exit_)
    if call is None and (written := by_written_code(place, exit_.how)):
        return written
    if call is not None:
        module = call[0]
    elif place is not None and (name := called_text(place)):
        module = module_of(place, name)
    else:
        module = ""
    advice = MODULES.get(module.partition(".")[0])
    return advice or "keep the computation in arraytape's own functions"


def by_written_code(place: Place | None, how: str) -> str:
    """Return advice on code such as ``a[0] = x``, where a is NumPy's and x an Array; "" for other code.

    place : the user's line.  how : the conversion in it, such as "float()".
    """
    node = node_at(place) if place is not None and how in WRITES else None
    if isinstance(node, ast.Assign):  # in some versions of Python, of which the target is known
        node = node.targets[0]
    if isinstance(node, ast.Subscript | ast.AugAssign):
        target = node.target if isinstance(node, ast.AugAssign) else node
        if isinstance(target, ast.Subscript):
            name = ast.unparse(target.value)
            return (
                f"make {name} an Array, by np.zeros_like(x, shape=...) of an Array x or by "
                f"{namespace().__name__}.zeros, or stack the results in a list: {name} is an array of "
                "NumPy's, which keeps values alone"
            )
    if isinstance(node, ast.Call) and node.args and place is not None:
        made = object_named(ast.unparse(node.func), place)
        listed = isinstance(node.args[0], ast.List | ast.Tuple | ast.ListComp)
        if made in (np.array, np.asarray, np.asanyarray) and (listed or how == "float()"):
            return (
                f"stack the Arrays with {namespace().__name__}.stack([...]): "
                f"{ast.unparse(node.func)} of a list keeps values alone"
            )
    return ""


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def callable_name(function: str, place: Place) -> str:
    """Return the name of a library function for a message: ``scipy.signal.lfilter``.

    A method is named as in the user's source line, for example ``norm.logpdf``.
    function : the full name, with private modules.  place : the user's call.
    """
    text = called_text(place)
    is_method = function.rpartition(".")[0] not in sys.modules
    return text if is_method and 0 < len(text) < 60 else without_private_modules(function)


def by_interop(package: str, function: str, place: Place, exit_: Exit | LeftRecord) -> str:
    """Return advice on a call of SciPy or scikit-learn that converted a value.

    The advice is to use ``arraytape.interop`` if it has a derivative rule for the function.

    package : "scipy" or "sklearn".  function : the full name of the called function.
    place : the user's call.  exit_ : the conversion (such as ``float(x)``) inside the function.
    """
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
    if any(itertools.starmap(returns_labels, zip(modules, inside, strict=True))):
        return (
            f"compute a loss of predict_proba or decision_function in place of {name}: class labels "
            "are constant in steps, so that their derivative is 0 wherever there is one"
        )
    if (other_name := IN_PLACE.get(without_private_modules(function))) is not None:
        return (
            f"call {other_name} in place of {name}, inside `with arraytape.interop.{package}():`, which "
            "has its derivatives"
        )
    if without_private_modules(function) in SEARCHES:
        return (
            f"pass what {name} finds to arraytape.implicit.minimum(f, x, *args, "
            "solver=arraytape.implicit.as_given), which has the derivatives of a minimum"
        )
    return (
        f"give {name}, of which arraytape.interop knows no derivative, a gradient with "
        "host_function(f, vjp)"
    )


def returns_labels(module: str, place: Place) -> bool:
    """Return True for a frame of scikit-learn that returns class labels, or compares them.

    Such are ``predict`` and ``score`` of a classifier, and metrics of predicted labels.
    module : the name of the frame's module.
    """
    kind, _, name = place.code.co_qualname.rpartition(".")
    bases = getattr(getattr(sys.modules.get(module), kind, None), "__mro__", ())
    of_classifier = "ClassifierMixin" in [base.__name__ for base in bases]
    arguments = place.code.co_varnames[: place.code.co_argcount]
    of_labels = module == "sklearn.metrics._classification" and "y_pred" in arguments
    return (of_labels and name != "log_loss") or (of_classifier and name in ("predict", "score"))


def exit_places(exits: Sequence[Exit]) -> str:
    """Return the source lines of conversions as text for a message: each once, at most SHOWN lines."""
    lines = [*dict.fromkeys(map(exit_text, exits))]
    more = f" and {len(lines) - SHOWN} more places" if len(lines) > SHOWN else ""
    return ", ".join(lines[:SHOWN]) + more


def ways_back(exits: Sequence[Exit]) -> str:
    """Return as text the source lines at which converted values may have come back as constants.

    The text has at most SHOWN lines.  exits : the conversions (such as ``float(x)``).
    """
    lines: dict[str, None] = {}
    for stack in itertools.chain.from_iterable(exit_.back for exit_ in exits):
        place = innermost_user_place(stack)
        if place is not None:
            lines[str(place)] = None
        if len(lines) > SHOWN:
            break
    return ", ".join([*lines][:SHOWN]) + (" ..." if len(lines) > SHOWN else "")


def lost_message(exits: Sequence[Exit], what: str) -> str:
    """Return the message that a derivative lacks a part because of the conversions ``exits``.

    what : the first clause, such as "gradient is None".
    """
    back = ways_back(exits)
    again = f", and what came of it went in again at {back}" if back else ""
    advice = sentence("; ".join(dict.fromkeys(map(remedy, exits[:SHOWN]))))
    return (
        f"{what}: the value left the tape at {exit_places(exits)}{again}. {advice}, {CONSTANT} "
        f"{see('value-left-the-tape')}"
    )
