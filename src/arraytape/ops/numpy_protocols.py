"""NumPy's functions on Arrays: ``np.sin(x)``, ``np.sum(x)``, ``plain @ x`` are the recorded ops.

What has no op of the same meaning raises a TypeError that names it: nothing leaves in silence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import Array, namespace
from .._errors import user_line
from .._op import REGISTRY
from . import numpy_functions, numpy_shapes, numpy_sums
from .writing import setitem

# NumPy's ufuncs, by identity: np.arcsin is np.asin.
UFUNCS = {
    function: op.public
    for name, op in REGISTRY.items()
    if isinstance(function := getattr(np, name, None), np.ufunc)
}
REDUCTIONS = {
    np.add: "sum",
    np.logical_and: "all",
    np.logical_or: "any",
    np.maximum: "max",
    np.minimum: "min",
    np.multiply: "prod",
}
# What the standard has not, or with less in it.
COUNTERPARTS = numpy_functions.FUNCTIONS | numpy_shapes.FUNCTIONS | numpy_sums.FUNCTIONS
# NumPy's other names for functions of the standard, and for their parameters.
FUNCTIONS = {
    "amax": "max",
    "amin": "min",
    "concatenate": "concat",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
}
PARAMETERS = {"ddof": "correction", "newshape": "shape", "dtype": "dtype"}
FACTS: dict[str, Callable[[Any], Any]] = {
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isrealobj": lambda x: x.dtype.kind != "c",
    "ndim": lambda x: x.ndim,
    "shape": lambda x: x.shape,
    "size": lambda x: x.size,
}


def unknown(name: str, why: str = "has no recorded counterpart in arraytape") -> TypeError:
    return TypeError(
        f"np.{name} {why} [at {user_line()}]; use the array API's name on the Arrays, or "
        "np.asarray first if no gradient is needed"
    )


def array_ufunc(x: Array, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """``np.sin(x)``, ``plain + x``, ``np.add.reduce(x)``: the recorded op."""
    out = options.pop("out", None)
    if out is not None and not isinstance(out[0], Array):
        raise unknown(ufunc.__name__, "cannot write a recorded result into a NumPy array")
    if method == "__call__" and ufunc in UFUNCS and not options:
        result = UFUNCS[ufunc](*inputs)  # type: ignore[misc]
    elif (
        method == "reduce"
        and ufunc in REDUCTIONS
        and not options.keys() - {"axis", "keepdims", "dtype"}
    ):
        options.setdefault("axis", 0)
        kept = {
            name: value for name, value in options.items() if value is not None or name == "axis"
        }
        result = getattr(namespace[0], REDUCTIONS[ufunc])(*inputs, **kept)
    else:
        call = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise unknown(call + (f" with {', '.join(options)}" if options else ""))
    if out is None:
        return result
    setitem(out[0], ..., result)
    return out[0]


def array_function(x: Array, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """``np.sum(x, axis=0)``, ``np.linalg.svd(x)``: the recorded op of the same meaning."""
    name = function.__name__
    if name in FACTS:
        return FACTS[name](*args, **kwargs)
    if function in COUNTERPARTS:
        return COUNTERPARTS[function](*args, **kwargs)
    chapter = function.__module__.rpartition(".")[2]
    home: Any = (
        getattr(namespace[0], chapter, None) if chapter in ("linalg", "fft") else namespace[0]
    )
    ours = getattr(home, FUNCTIONS.get(name, name), None)
    if ours is None:
        raise unknown(name)
    try:
        given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except ValueError:  # written in C, such as np.where: NumPy's positions are the standard's
        return ours(*args, **kwargs)
    expected = inspect.signature(ours).parameters.values()
    first = [p.name for p in expected if p.kind is not p.KEYWORD_ONLY]
    named = {p.name for p in expected if p.kind is not p.POSITIONAL_ONLY}
    positional, options = [], {}
    for i, (parameter, value) in enumerate(given.items()):
        parameter = PARAMETERS.get(parameter, parameter)
        if i < len(first) and parameter not in named:
            positional.append(value)
        elif parameter in named:
            options[parameter] = value
        elif value is not None:
            raise unknown(name, f"has a parameter {parameter!r} that arraytape's has not")
    return ours(*positional, **options)


setattr(Array, "__array_ufunc__", array_ufunc)  # noqa: B010
setattr(Array, "__array_function__", array_function)  # noqa: B010
