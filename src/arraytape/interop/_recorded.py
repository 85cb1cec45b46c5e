"""The usual statement of a table: the library computes a function's value, our rule its derivative.

    recorded_function("scipy.linalg.expm", rule, arrays=["A"], cores=[2])

The signatures of the op and of the hook follow from the function's own.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
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


def recorded_function(
    path: str, *rules: Rule | None, arrays: Sequence[str], options: Sequence[str] = (),
    refuses: Mapping[str, Sequence[Any]] = MappingProxyType({}), **statement: Any,
) -> LibraryOp:  # fmt: skip
    """Give a library's function a rule, hook it, and return its op.

    arrays : the function's parameters that take arrays.  options : further parameters that the rule
    handles; all others must have their defaults.  refuses : values of options for which there is no
    rule.  rules, statement : as for ``library_op``; a rule gets arrays, results and options by name.
    """
    function = of_path(path)
    signature = inspect.signature(function)
    known = [p for p in signature.parameters if p in options or p in INERT]

    def call_library(*args: Any, **keywords: Any) -> Any:
        return function(**dict(zip(arrays, args, strict=True)), **keywords)

    positional, by_name = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
    call_library.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(x, positional, annotation="Array") for x in arrays]
        + [inspect.Parameter(x, by_name) for x in known]
    )
    call_library.__doc__ = function.__doc__
    op = library_op(path, call_library, *rules, **statement)

    @functools.wraps(function)
    def record_call(*args: Any, **keywords: Any) -> Any:
        given = bind_arguments(path, signature, args, keywords, arrays, known)
        for option, values in refuses.items():
            if given[option] in values:
                raise no_rule(path, f"{option}={short_repr(given[option])}")
        found = op(*[operand_of(given[x]) for x in arrays], **{x: given[x] for x in known})
        return tuple(found) if len(op.op.outputs) > 1 else found

    module, _, name = path.rpartition(".")
    hooks(module, name)(record_call)
    return op


def refused_functions(*paths: str) -> None:
    """Make these functions raise TypeError for Arrays, whose derivatives they would lose."""
    for path in paths:
        module, _, name = path.rpartition(".")

        def refuse_call(*args: Any, path: str = path, **keywords: Any) -> Any:
            raise no_rule(path)

        hooks(module, name, refuses=True)(refuse_call)


def of_path(path: str) -> Function:
    """Return a function by its full name; once it has a hook, NumPy data still goes to the original."""
    module, _, name = path.rpartition(".")
    found: Function = getattr(importlib.import_module(module), name)
    return found


def bind_arguments(
    path: str, signature: inspect.Signature, args: tuple[Any, ...], keywords: Mapping[str, Any],
    arrays: Sequence[str], options: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the arguments of a call by name, or raise TypeError for an option without a rule."""
    bound = signature.bind(*args, **keywords)
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if name in arrays:
            if value is None:
                raise no_rule(path, f"{name}=None")
        elif has_array([value]):
            raise no_rule(path, f"an Array as {name}")
        elif name in options or name in DROPPED:
            continue
        elif value is not signature.parameters[name].default:
            raise no_rule(path, f"{name}={short_repr(value)}")
    return bound.arguments


def operand_of(value: ArrayInput) -> Array | NumpyData:
    """Return an argument as an Array, or as NumPy data if it holds no Array."""
    if isinstance(value, Array):
        return value
    if has_array([value]):
        return arraytape.asarray(value)
    return np.asarray(value)
