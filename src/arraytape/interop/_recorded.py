"""Let tapes record a library's function: the library computes the value, a rule the derivative.

    recorded_function("scipy.linalg.expm", rule, arrays=["A"], cores=[2])

The op and the hook get their parameters from the signature of the library's function.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import arraytape

from .._array.array import Array
from .._record.plan import Rule
from .._util.errors import short_repr
from ._context import has_array
from ._facades import no_rule
from ._ops import LibraryOp, library_op
from ._plain import ArrayInput, NumpyData
from ._statements import hooks

Function = Callable[..., Any]

# Options that change how a value is computed, but neither the value nor its derivative.
INERT = ("check_finite", "driver", "lapack_driver", "lwork")
# Options that are ignored, because an Array is never overwritten.
DROPPED = ("overwrite_a", "overwrite_ab", "overwrite_b")
Packed = Mapping[str, Sequence[str]]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def function_op(
    path: str, *rules: Rule | None, arrays: Sequence[str], options: Sequence[str] = (),
    packed: Packed = NOTHING, **statement: Any,
) -> LibraryOp:  # fmt: skip
    """Return an op that runs a library's function, with its derivative given by ``rules``.

    path : the function's full name.  arrays : names of its parameters that take arrays.  options :
    names of further parameters that the rules can handle, besides those in INERT.  packed : splits
    parameters that take a tuple into several, as ``{"c_and_lower": ["c", "lower"]}``.  rules : a
    function for each array that returns its cotangent; it gets arrays, results and options by name.
    statement : further arguments of ``library_op``, such as ``joint``.
    """
    function = import_function(path)
    parameters = inspect.signature(function).parameters
    leads = [*parameters][: len(arrays)] == [*arrays]

    def call_library(*args: Any, **keywords: Any) -> Any:
        if leads:  # SciPy functions that broadcast over stacks accept arrays only by position
            return function(*args, **keywords)
        given = dict(zip(arrays, args, strict=True)) | keywords
        for name, parts in packed.items():
            given[name] = tuple([given.pop(part) for part in parts])
        return function(**given)

    def parameter(name: str) -> inspect.Parameter:
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)

    positional = inspect.Parameter.POSITIONAL_ONLY
    call_library.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(x, positional, annotation="Array") for x in arrays]
        + [parameter(x) for x in known_options(parameters, options)]
    )
    call_library.__doc__ = function.__doc__
    return library_op(path, call_library, *rules, **statement)


def known_options(parameters: Iterable[str], options: Sequence[str]) -> list[str]:
    return [*options, *[p for p in parameters if p in INERT and p not in options]]


def recorded_function(
    path: str, *rules: Rule | None, arrays: Sequence[str], options: Sequence[str] = (),
    packed: Packed = NOTHING, refuses: Mapping[str, Sequence[Any]] = NOTHING, **statement: Any,
) -> LibraryOp:  # fmt: skip
    """Define an op for a library's function, make the function call the op on Arrays, and return the op.

    path, rules, arrays, options, packed, statement : as in ``function_op``.

    A call with Arrays raises TypeError if it sets a parameter that is in neither ``arrays`` nor
    ``options``.  refuses : maps an option to further values for which the rules do not hold, so that
    calls raise TypeError, too.
    """
    op = function_op(path, *rules, arrays=arrays, options=options, packed=packed, **statement)
    function = import_function(path)
    bind, defaults = argument_binder(function)
    known = known_options(defaults, options)

    @functools.wraps(function)
    def record_call(*args: Any, **keywords: Any) -> Any:
        given = bind(*args, **keywords)
        for name, parts in packed.items():
            given |= zip(parts, given.pop(name), strict=True)
        refuse_options(path, given, defaults, arrays, known)
        for option, values in refuses.items():
            if given[option] in values:
                raise no_rule(path, f"{option}={short_repr(given[option])}")
        found = op(*[operand_of(given[x]) for x in arrays], **{x: given[x] for x in known})
        return tuple(found) if len(op.op.outputs) > 1 else found

    module, _, name = path.rpartition(".")
    hooks(module, name)(record_call)
    return op


def refused_functions(*paths: str) -> None:
    """Make functions raise TypeError for Arrays, because their results would have no derivative.

    paths : their full names, such as "scipy.linalg.expm".
    """
    for path in paths:
        module, _, name = path.rpartition(".")

        def refuse_call(*args: Any, path: str = path, **keywords: Any) -> Any:
            raise no_rule(path)

        hooks(module, name, refuses=True)(refuse_call)


def import_function(path: str) -> Function:
    """Import and return the function with a full name, such as "scipy.linalg.expm".

    It may be hooked.  Then it runs a rule for Arrays, and the library's own code for NumPy data.
    """
    module, _, name = path.rpartition(".")
    found: Function = getattr(importlib.import_module(module), name)
    return found


def argument_binder(function: Function) -> tuple[Callable[..., dict[str, Any]], dict[str, Any]]:
    """Return a function ``bind``, and the defaults of the parameters of ``function``.

    ``bind(*args, **keywords)`` returns the arguments of a call of ``function`` as a dict by name.  It is
    compiled, which is much faster than ``inspect.Signature.bind``.
    """
    parameters = inspect.signature(function).parameters
    defaults = {name: p.default for name, p in parameters.items()}
    texts = [
        name if p.default is p.empty else f"{name}=defaults[{name!r}]"
        for name, p in parameters.items()
    ]
    named = [i for i, p in enumerate(parameters.values()) if p.kind is p.KEYWORD_ONLY]
    if named:
        texts.insert(named[0], "*")
    scope: dict[str, Any] = {"defaults": defaults}
    exec(f"def {function.__name__}({', '.join(texts)}): return locals()", scope)
    return scope[function.__name__], defaults


def refuse_options(
    path: str, arguments: Mapping[str, Any], defaults: Mapping[str, Any], arrays: Sequence[str],
    options: Sequence[str],
) -> None:  # fmt: skip
    """Raise TypeError if the arguments of a library's function have no derivative rule here.

    This is so if an array is None, an option is an Array, or an option without a rule is set.
    path : the function's name.  arguments : the arguments by name.  defaults : those of the parameters.
    arrays, options : the names of the arrays, and of the options that the rule handles.
    """
    for name, value in arguments.items():
        if name in arrays:
            if value is None:
                raise no_rule(path, f"{name}=None")
        elif has_array([value]):
            raise no_rule(path, f"an Array as {name}")
        elif name not in options and name not in DROPPED and value is not defaults[name]:
            raise no_rule(path, f"{name}={short_repr(value)}")


def operand_of(value: ArrayInput) -> Array | NumpyData:
    """Convert an array argument to an Array if it is or holds an Array, else to NumPy data."""
    if isinstance(value, Array):
        return value
    if has_array([value]):
        return arraytape.asarray(value)
    return np.asarray(value)
