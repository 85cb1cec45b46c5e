"""The usual statement of a table: a function whose value the library computes, with a rule of ours.

    recorded("scipy.linalg.expm", rule, arrays=["A"], cores=[2])

The op's signature and the hook's follow from the function's own.
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
from ._statements import hooks

Function = Callable[..., Any]

# Options that change how a value is computed, and so neither what it is nor its derivative.
INERT = ("check_finite", "driver", "lapack_driver", "lwork")
DROPPED = ("overwrite_a", "overwrite_ab", "overwrite_b", "overwrite_a_band")  # data of a tape


def recorded(
    path: str,
    *rules: Rule | None,
    arrays: Sequence[str],
    options: Sequence[str] = (),
    refuses: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    **statement: Any,
) -> LibraryOp:
    """Give a library's function a rule, and hook it.

    arrays : its parameters that take arrays.  options : the others that the rule knows of; one that
    it does not know of is refused unless it has its default.  refuses : values of options for which
    there is no rule.  rules, statement : as for
    ``library_op``, whose rules may ask for arrays, results and options by name.
    """
    function = of_path(path)
    signature = inspect.signature(function)
    known = [p for p in signature.parameters if p in options or p in INERT]

    def forward(*args: Any, **keywords: Any) -> Any:
        return function(**dict(zip(arrays, args, strict=True)), **keywords)

    positional, by_name = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
    forward.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(x, positional, annotation="Array") for x in arrays]
        + [inspect.Parameter(x, by_name) for x in known]
    )
    forward.__doc__ = function.__doc__
    op = library_op(path, forward, *rules, **statement)

    @functools.wraps(function)
    def rule(*args: Any, **keywords: Any) -> Any:
        given = arguments(path, signature, args, keywords, arrays, known)
        for option, values in refuses.items():
            if given[option] in values:
                raise no_rule(path, f"{option}={short_repr(given[option])}")
        found = op(*[data(given[x]) for x in arrays], **{x: given[x] for x in known})
        return tuple(found) if len(op.op.outputs) > 1 else found

    module, _, name = path.rpartition(".")
    hooks(module, name)(rule)
    return op


def refused(*paths: str) -> None:
    """Have these functions refuse Arrays, where they would leave the tape."""
    for path in paths:
        module, _, name = path.rpartition(".")

        def refuse(*args: Any, path: str = path, **keywords: Any) -> Any:
            raise no_rule(path)

        hooks(module, name, refuses=True)(refuse)


def of_path(path: str) -> Function:
    """A function by its full name; once it has a hook, it computes on NumPy data as before."""
    module, _, name = path.rpartition(".")
    found: Function = getattr(importlib.import_module(module), name)
    return found


def arguments(
    path: str, signature: inspect.Signature, args: Any, keywords: Any,
    arrays: Sequence[str], options: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """The arguments of a call by name; TypeError for options of which nothing is known."""
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


def data(value: Any) -> Any:
    """An argument as an Array or NumPy data."""
    if isinstance(value, Array):
        return value
    if has_array([value]):
        return arraytape.asarray(value)
    return np.asarray(value)
