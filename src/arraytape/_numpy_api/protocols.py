"""NumPy's functions on Arrays: ``np.sin(x)``, ``np.sum(x)``, ``plain @ x`` are the recorded ops.

What has no op of the same meaning raises a TypeError that names it: nothing leaves in silence.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array, namespace
from .._record.op import REGISTRY
from .._storage.storage import STORAGES
from .._util.attach import method
from .._util.errors import describe, user_line
from ..ops.data_type_functions import astype
from ..ops.searching_functions import where
from ..ops.writing import setitem
from . import functions, pieces, products, reductions, selection, shapes, sums, ufuncs
from .functions import as_arrays

# NumPy's ufuncs, by identity: np.arcsin is np.asin.
UFUNCS = {
    function: op.public
    for name, op in REGISTRY.items()
    if isinstance(function := getattr(np, name, None), np.ufunc)
}
UFUNCS |= ufuncs.UFUNCS
REDUCTIONS = {
    np.add: reductions.sum,
    np.logical_and: reductions.FUNCTIONS[np.all],
    np.logical_or: reductions.FUNCTIONS[np.any],
    np.maximum: reductions.amax,
    np.minimum: reductions.amin,
    np.multiply: reductions.prod,
}
# What the standard has not, or with less in it.  The first two positions are those of NumPy.
COUNTERPARTS = {
    function: ours
    for module in (
        functions, pieces, products, reductions, selection,
        shapes, sums,
    )
    for function, ours in module.FUNCTIONS.items()
}  # fmt: skip
# NumPy's other names for functions of the standard, and for their parameters.
FUNCTIONS = {
    "concatenate": "concat",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "fix": "trunc",
}
PARAMETERS = {"a_max": "max", "a_min": "min"}
# What NumPy makes like an Array (``np.zeros(3, like=x)``), and where that lies.
LIKE = {
    np.arange, np.array, np.asarray, np.empty, np.eye, np.full, np.identity, np.ones, np.zeros,
}  # fmt: skip
# Parameters that say how to do it, or where in memory, and not what is to be found.
SILENT = frozenset(("casting", "kind", "order", "overwrite_input", "subok"))
FACTS: dict[str, Callable[[Any], Any]] = {
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isrealobj": lambda x: x.dtype.kind != "c",
    "ndim": lambda x: x.ndim,
    "shape": lambda x: x.shape,
    "size": lambda x: x.size,
}


signature = functools.lru_cache(1024)(inspect.signature)


def unknown(
    name: str, why: str = "has no recorded counterpart in arraytape", home: str = "np."
) -> TypeError:
    return TypeError(
        f"{home}{name} {why} [at {user_line()}]; use the array API's name on the Arrays, or "
        "np.asarray first if no gradient is needed"
    )


@method(Array, "__array_ufunc__")
def array_ufunc(x: Array, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Run a NumPy ufunc as the recorded op: ``np.sin(x)``, ``plain + x``, ``np.add.reduce(x)``.

    Parameters
    ----------
    ufunc : numpy.ufunc
        The ufunc.
    method : str
        "__call__", "reduce", "outer", "accumulate" or "at".
    *inputs : object
        Its arguments.
    **options : object
        Its keyword arguments.

    Returns
    -------
    Array
        The result.

    Raises
    ------
    TypeError
        When no op says the same: nothing leaves the tape in silence.
    """
    for value in inputs:
        kind = type(value)
        if kind is not Array and kind is not np.ndarray and not known(kind):
            return NotImplemented
    if not options and method == "__call__" and ufunc in UFUNCS:
        return UFUNCS[ufunc](*inputs)  # type: ignore[misc]
    out = options.pop("out", None)
    if out is not None and not isinstance(out[0], Array):
        raise unknown(ufunc.__name__, "cannot write a recorded result into a NumPy array")
    casting = options.pop("casting", "same_kind")
    options = {name: value for name, value in options.items() if name not in SILENT}
    if method == "__call__" and ufunc in UFUNCS and [*options] == ["dtype"]:
        dtype = np.dtype(options.pop("dtype"))
        inputs = tuple([astype(x, dtype, copy=False) for x in as_arrays(*inputs)])
        if dtype.kind not in "fc":
            raise unknown(ufunc.__name__, f"has no dtype={dtype} on Arrays")
    if method == "__call__" and ufunc in UFUNCS and not options:
        result = UFUNCS[ufunc](*inputs)  # type: ignore[misc]
    elif method == "__call__" and ufunc in UFUNCS and [*options] == ["where"] and out is not None:
        with np.errstate(all="ignore"):  # NumPy does not compute what is not taken
            result = UFUNCS[ufunc](*inputs)  # type: ignore[misc]
        result = where(as_arrays(out[0], options["where"])[1], result, out[0])
    elif method == "reduce" and ufunc in REDUCTIONS:
        said = {name: value for name, value in options.items() if value is not np._NoValue}
        result = REDUCTIONS[ufunc](*inputs, **{"axis": 0, **said})
    elif method == "outer" and ufunc in UFUNCS and not options:
        result = ufuncs.outer(ufunc, *inputs)
    elif method == "accumulate" and ufunc in ufuncs.ACCUMULATED:
        result = ufuncs.accumulate(ufunc, *inputs, **options)
    elif method == "at" and ufunc in ufuncs.ADDED and isinstance(inputs[0], Array):
        return ufuncs.at(ufunc, *inputs)
    else:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        home = "np." if getattr(np, ufunc.__name__, None) is ufunc else "the ufunc "
        raise unknown(name + (f" with {', '.join(options)}" if options else ""), home=home)
    return result if out is None else written(out[0], result, casting)


def written(out: Array, result: Any, casting: Any = "same_kind") -> Array:
    """``out``, with a result in it."""
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"a result of dtype {result.dtype} does not fit into {describe(out)} by "
            f"casting={casting!r} [at {user_line()}]"
        )
    setitem(out, ..., result)
    return out


@method(Array, "__array_function__")
def array_function(x: Array, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function as the recorded op: ``np.sum(x, axis=0)``, ``np.linalg.svd(x)``.

    Parameters
    ----------
    function : Callable
        The function.
    types : Collection[type]
        The types of the arguments that take part.
    args : tuple
        Its arguments.
    kwargs : dict
        Its keyword arguments.

    Returns
    -------
    object
        The result.

    Raises
    ------
    TypeError
        When no op says the same: nothing leaves the tape in silence.
    """
    if not all(known(kind) for kind in types):
        return NotImplemented
    result = call(function, *args, **kwargs)
    return result.to_device(x.device) if function in LIKE else result


def known(kind: type) -> bool:
    """Whether we compute with such values; what wraps arrays (units, labels) computes with ours."""
    if not hasattr(kind, "__array_ufunc__") and not hasattr(kind, "__array_function__"):
        return True
    return issubclass(kind, Array | np.ndarray | np.generic) or kind in STORAGES


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What NumPy's function does, by the op or the counterpart of the same meaning."""
    name = function.__name__
    if name in FACTS:
        return FACTS[name](*args, **kwargs)
    ours = COUNTERPARTS.get(function)
    if ours is None:
        ours = op_of(function)
    elif not kwargs and len(args) <= 2:  # the first two positions are NumPy's
        return ours(*args)
    try:
        given = signature(function).bind(*args, **kwargs)
    except ValueError:  # written in C, such as np.where: NumPy's positions are ours
        return ours(*args, **kwargs)
    out = given.arguments.pop("out", None)
    if out is not None:
        selection.target(name, out)
    positional, options = matched(name, given, ours)
    result = ours(*positional, **options)
    return result if out is None else written(out, result)


def matched(
    name: str, given: inspect.BoundArguments, ours: Callable[..., Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of NumPy's function as those of ours; what says nothing may be missing there."""
    places, named, takes_any = accepted(ours)
    positional: list[Any] = []
    options: dict[str, Any] = {}
    for i, (parameter, p) in enumerate(given.signature.parameters.items()):
        if parameter not in given.arguments:
            continue
        value, parameter = given.arguments[parameter], PARAMETERS.get(parameter, parameter)
        silent = is_default(value, p.default)
        if p.kind is p.VAR_POSITIONAL:
            positional += value
        elif p.kind is p.VAR_KEYWORD:
            options |= value
        elif parameter in named:
            if not silent:
                options[parameter] = value
        elif i == len(positional) and i < places:
            positional.append(value)
        elif silent or value is None or parameter in SILENT:
            continue
        elif takes_any:
            options[parameter] = value
        else:
            raise unknown(name, f"has a parameter {parameter!r} that arraytape's has not")
    return positional, options


@functools.lru_cache(1024)
def accepted(function: Callable[..., Any]) -> tuple[float, set[str], bool]:
    """How many positions a function has, the names that it takes, and whether it takes any name."""
    parameters = signature(function).parameters.values()
    places = sum(p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters)
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    kinds = {p.kind for p in parameters}
    more = inspect.Parameter.VAR_POSITIONAL in kinds
    return (math.inf if more else places), named, inspect.Parameter.VAR_KEYWORD in kinds


def is_default(value: Any, default: Any) -> bool:
    """Whether a caller said what NumPy would do anyway."""
    if value is default or value is np._NoValue:
        return True
    return (
        type(value) is type(default) and type(value) in (bool, float, int, str) and value == default
    )


def op_of(function: Any) -> Callable[..., Any]:
    """The function of the namespace that has the name of NumPy's."""
    name, chapter = function.__name__, function.__module__.rpartition(".")[2]
    home: Any = getattr(namespace(), chapter, None) if chapter in ("linalg", "fft") else namespace()
    ours = getattr(home, FUNCTIONS.get(name, name), None)
    if ours is None:
        raise unknown(name)
    return ours
