"""Results with NumPy's own values, bit for bit, and the derivatives of our compositions.

A composition of ops agrees with NumPy's function but for rounding errors, dtypes that depend on how a
number was given, infinities and NaN.  On NumPy's data NumPy computes the value, warnings and errors
included; the composition tells the tapes where the value comes from.  Integers, which have no
derivatives, are NumPy's alone.  A replay calls NumPy's function, too.  Data of other storages have the
composition's values.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import SCALAR, Array, asarray_like, wrap
from .._array.cuts import cut_of
from .._array.views import current
from .._define.raw_calls import at_users_line
from .._storage.storage import HERE, STORAGES, storage_of
from .._util.blocks import Quiet, Setting
from .._util.errors import describe, explain, user_line
from .._util.options import unwrap_option
from ..ops import elementwise_functions as elementwise
from ..ops.data_type_functions import astype
from ..ops.manipulation_functions import broadcast_to
from ..ops.statistical_functions import sum as total
from .numpy_arguments import OPTIONS, arrays_like_first

# Whose arithmetic is not that of our ops.  None of them writes to its arguments, or makes views.
COMPOSED = frozenset((
    np.angle, np.append, np.clip, np.convolve, np.correlate, np.emath.logn, np.emath.power, np.interp,
    np.linalg.cond, np.linalg.lstsq, np.linalg.norm, np.nanmax, np.nanmin, np.polyfit, np.unique,
))  # fmt: skip
# Whose results have a dtype of their own when x is of integers, by ``initial=`` or at all.
OF_INTEGERS = frozenset((
    np.amax, np.amin, np.linalg.matrix_norm, np.linalg.vector_norm, np.max, np.min, np.prod, np.sum,
))  # fmt: skip


def is_numpys(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether NumPy computes the value of a call."""
    if function in COMPOSED:
        return True
    return function in OF_INTEGERS and bool(args) and is_of_integers(args[0])


def is_of_integers(x: Any) -> bool:
    return isinstance(x, Array) and x.dtype.kind in "biu"


# Whether NumPy has warned already of what the composition that runs would say again.
SAID: contextvars.ContextVar[bool] = contextvars.ContextVar("SAID", default=False)


def data_of(value: Any) -> Any:
    """An argument as NumPy's function gets it."""
    if isinstance(value, Array):
        return current(value)[1]
    if type(value) in (list, tuple):
        return type(value)([data_of(part) for part in value])
    return value


DEEPEST = 64  # lists in each other: a list may hold itself


def arrays_among(values: Any, depth: int = 0) -> list[Array]:
    """The Arrays in a nesting of lists and tuples."""
    if isinstance(values, Array):
        return [values]
    if not isinstance(values, list | tuple) or depth > DEEPEST:
        return []
    return [x for part in values for x in arrays_among(part, depth + 1)]


def exactly(
    function: Any, ours: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of NumPy's function; ``ours`` computes the same by recorded ops."""
    kwargs = kwargs | {name: unwrap_option(kwargs[name]) for name in OPTIONS & kwargs.keys()}
    given = arrays_among([*args, *kwargs.values()])
    if not given:
        return ours()
    data = [data_of(x) for x in args], {name: data_of(x) for name, x in kwargs.items()}
    elsewhere = [x for x in [current(x)[1] for x in given] if type(x) is not np.ndarray]
    try:
        if elsewhere:
            storages = [storage_of(x) for x in elsewhere]
            value = max(storages, key=lambda one: one.mixed).numpys_value(function, *data)
        else:
            value = at_users_line(function, ValueError())(*data[0], **data[1])
    except Warning:  # which the user made an error
        raise
    except Exception as error:
        try:
            ours()
        except built_in(error):  # which says more of what is wrong
            raise
        except Exception:
            pass
        raise explain(
            f"np.{function.__name__}", error, **number_arguments(args), **kwargs
        ) from error
    if elsewhere and value is None:
        return ours()
    if all(is_of_integers(x) for x in given):
        return numpys_result_as_arrays(value, given[0])
    try:
        with Setting(SAID, True), HERE if elsewhere else Quiet():
            found = ours()
    except (IndexError, ValueError):
        if any(x.size for x in given):
            raise
        with Setting(SAID, True):
            found = of_nothing(given[0], value)
    return join_numpys_values(found, value, function)


def built_in(error: Exception) -> type[BaseException]:
    """Python's type of an error of NumPy's."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def of_nothing(x: Array, value: Any) -> Any:
    """A composition that needs elements, without any: what depends on x as a sum does."""
    if isinstance(value, tuple | list):
        return numpys_result_as_arrays(value, x)
    return broadcast_to(total(x), np.shape(value))


def with_numpys_values(function: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """A composition as NumPy's function of the same arguments."""

    def call_with_numpys_values(*args: Any) -> Any:
        if not arrays_among(args):  # only ``out=`` is one
            args = tuple(arrays_like_first(*args))
        return exactly(function, lambda: ours(*args), args, {})

    return call_with_numpys_values


def named_as(name: str, function: Callable[..., Any], *first: Any) -> Callable[..., Any]:
    """A function of NumPy's under another name, perhaps with its first arguments."""
    found = functools.partial(function, *first)
    found.__name__ = name  # type: ignore[attr-defined]
    return found


def number_arguments(args: tuple[Any, ...]) -> dict[str, Any]:
    """Positional arguments for a message."""
    return {f"argument {i}": x for i, x in enumerate(args, start=1)}


def numpys_result_as_arrays(value: Any, home: Array) -> Any:
    """NumPy's result in Arrays."""
    if isinstance(value, tuple | list):
        parts = [numpys_result_as_arrays(part, home) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return asarray_like(home, owned(value)) if is_data(value) else value


def is_data(value: Any) -> bool:
    """Return True for data of a storage and NumPy's scalars."""
    return isinstance(value, np.generic) or type(value) in STORAGES


def owned(value: Any) -> Any:
    """Data with memory of its own."""
    if type(value) in STORAGES and type(value) is not np.ndarray:
        return value
    value = np.asarray(value)
    return value if value.base is None else value.copy(order="K")


def join_numpys_values(found: Any, value: Any, function: Any) -> Any:
    """What the ops found, with NumPy's value."""
    if isinstance(found, tuple | list):
        pairs = zip(found, value, strict=True)
        return type(found)([join_numpys_values(part, other, function) for part, other in pairs])
    if not isinstance(found, Array):
        return found
    traced = type(value) in STORAGES and type(value) is not np.ndarray
    state = found._state & SCALAR if traced else SCALAR if isinstance(value, np.generic) else 0
    value = owned(value)
    if value.dtype.kind not in "fc":
        return asarray_like(found, value)
    if found.shape != value.shape:
        raise TypeError(
            f"np.{function.__name__} of Arrays gives {describe(found)} where NumPy gives shape "
            f"{value.shape} [at {user_line()}]; compute it by the functions of the array API"
        )
    if found.dtype.kind == "c" and value.dtype.kind == "f":
        found = elementwise.real(found)
    y = wrap(value, current(astype(found, value.dtype, copy=False))[0], state)
    y._cut = cut_of(found)
    return y
