"""Run a NumPy function for its exact value, and a composition of arraytape's ops for the derivative.

The composition alone may differ from NumPy in rounding errors, in the dtype of results, and at
infinities and NaN.  So NumPy's function computes the value from the raw data, and raises NumPy's
warnings and errors.  The composition runs, too, and is recorded.  For integers, which have no
derivative, the composition does not run.  On data of other libraries the composition computes the
values, unless the data's storage can call NumPy's function.
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
from .numpy_arguments import OPTIONS, arrays_like_first, raw_argument

# Functions whose values the composition of ops does not reproduce exactly.  None of these functions
# writes to its arguments or returns a view.
COMPOSED = frozenset((
    np.angle, np.append, np.clip, np.convolve, np.correlate, np.emath.logn, np.emath.power, np.interp,
    np.linalg.cond, np.linalg.lstsq, np.linalg.norm, np.nanmax, np.nanmin, np.polyfit, np.unique,
))  # fmt: skip
# Reductions of integers: for some arguments, such as ``initial=``, NumPy's result has another dtype than
# arraytape's.
OF_INTEGERS = frozenset((
    np.amax, np.amin, np.linalg.matrix_norm, np.linalg.vector_norm, np.max, np.min, np.prod, np.sum,
))  # fmt: skip


def needs_numpys_value(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Return True if ops alone may not give the exact value of a call of NumPy's ``function``."""
    if function in COMPOSED:
        return True
    return function in OF_INTEGERS and bool(args) and is_of_integers(args[0])


def is_of_integers(x: Any) -> bool:
    return isinstance(x, Array) and x.dtype.kind in "biu"


# True while a composition of ops runs only for the derivative: NumPy's function has issued the warnings.
WARNED: contextvars.ContextVar[bool] = contextvars.ContextVar("WARNED", default=False)


DEEPEST = 64  # the most levels of nested lists to search; limited because a list may hold itself


def arrays_among(values: Any, depth: int = 0) -> list[Array]:
    if isinstance(values, Array):
        return [values]
    if not isinstance(values, list | tuple) or depth > DEEPEST:
        return []
    return [x for part in values for x in arrays_among(part, depth + 1)]


def compute_by_numpy(
    function: Callable[..., Any], ours: Callable[[], Any], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """Call a function of NumPy for the value, and a composition of ops for the derivative.

    function : NumPy's function, called with the raw data of ``args`` and ``kwargs``.  ours : calls the
    composition with the same arguments; tapes record its ops.
    """
    kwargs = kwargs | {name: unwrap_option(kwargs[name]) for name in OPTIONS & kwargs.keys()}
    given = arrays_among([*args, *kwargs.values()])
    if not given:
        return ours()
    data = raw_argument(args), raw_argument(kwargs)
    # The data that is not NumPy's.  Of their storages (for one type of data each), the one with the
    # greatest ``mixed`` can combine the data of all, if any can.
    elsewhere = [x for x in [current(x)[1] for x in given] if type(x) is not np.ndarray]
    try:
        if elsewhere:
            storages = [storage_of(x) for x in elsewhere]
            value = max(storages, key=lambda storage: storage.mixed).numpys_value(function, *data)
        else:
            value = at_users_line(function, ValueError())(*data[0], **data[1])
    except Warning:  # the user's warning filters turn warnings into errors
        raise
    except Exception as error:
        try:
            ours()
        except built_in(error):
            raise  # the op's own message, which names the shapes and the user's line
        except Exception:
            pass
        named = {f"argument {i}": x for i, x in enumerate(args, start=1)}
        raise explain(f"np.{function.__name__}", error, **named, **kwargs) from error
    if elsewhere and value is None:
        return ours()
    if all(is_of_integers(x) for x in given):
        return numpys_result_as_arrays(value, given[0])
    try:
        with Setting(WARNED, True), HERE if elsewhere else Quiet():
            found = ours()
    except (IndexError, ValueError):  # the composition may fail for empty Arrays, such as at x[0]
        if any(x.size for x in given):
            raise
        with Setting(WARNED, True):
            found = result_for_empty(given[0], value)
    return join_numpys_values(found, value, function)


def built_in(error: Exception) -> type[BaseException]:
    """Return the nearest built-in base class of an error: ValueError for numpy.linalg.LinAlgError."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def result_for_empty(x: Array, value: Any) -> Any:
    """Return an Array that depends on the empty Array x, in place of a composition that fails for it.

    The Array is the sum over x, broadcast to the shape of ``value``, NumPy's result.  If NumPy returns
    several results, return these as Arrays that do not depend on x.
    """
    if isinstance(value, tuple | list):
        return numpys_result_as_arrays(value, x)
    return broadcast_to(total(x), np.shape(value))


def with_numpys_values(
    function: Callable[..., Any], ours: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function with the values of NumPy's ``function`` and the derivatives of ``ours``.

    ours : a composition of ops, called with the same arguments.
    """

    def call_with_numpys_values(*args: Any) -> Any:
        if not arrays_among(args):  # the only Array was given as ``out=``
            args = tuple(arrays_like_first(*args))
        return compute_by_numpy(function, lambda: ours(*args), args, {})

    return call_with_numpys_values


def named_as(name: str, function: Callable[..., Any], *first: Any) -> Callable[..., Any]:
    """Return ``functools.partial(function, *first)`` with a ``__name__``, for error messages."""
    found = functools.partial(function, *first)
    found.__name__ = name  # type: ignore[attr-defined]
    return found


def numpys_result_as_arrays(value: Any, home: Array) -> Any:
    """Convert the arrays and scalars in a result of NumPy to Arrays on the device of ``home``.

    home : an Array argument of the call.
    """
    if isinstance(value, tuple | list):
        parts = [numpys_result_as_arrays(part, home) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return asarray_like(home, copy_if_view(value)) if is_data(value) else value


def is_data(value: Any) -> bool:
    """Return True if a value is an array of NumPy, CuPy or another array library, or a NumPy scalar."""
    return isinstance(value, np.generic) or type(value) in STORAGES


def copy_if_view(value: Any) -> Any:
    """Return data that shares no memory with another array: copy ``value`` if it is a NumPy view."""
    if type(value) in STORAGES and type(value) is not np.ndarray:
        return value
    value = np.asarray(value)
    return value if value.base is None else value.copy(order="K")


def join_numpys_values(found: Any, value: Any, function: Callable[..., Any]) -> Any:
    """Replace the values of ``found``, the results of a composition of ops, by NumPy's: ``value``.

    The returned Arrays have the value ids of ``found``, so that tapes follow them with the derivatives
    of the composition.  function : the NumPy function, for messages.
    """
    if isinstance(found, tuple | list):
        pairs = zip(found, value, strict=True)
        return type(found)([join_numpys_values(part, other, function) for part, other in pairs])
    if not isinstance(found, Array):
        return found
    # The Array gets the flag SCALAR if NumPy's value is a scalar.  Others have the same type for
    # scalars and arrays of shape (), so the flag is taken from ``found``.
    traced = type(value) in STORAGES and type(value) is not np.ndarray
    state = found._state & SCALAR if traced else SCALAR if isinstance(value, np.generic) else 0
    value = copy_if_view(value)
    if value.dtype.kind not in "fc":
        return asarray_like(found, value)
    if found.shape != value.shape:
        raise TypeError(
            f"np.{function.__name__}: compute this with functions of the array API instead: for Arrays "
            f"the result is {describe(found)}, but NumPy's has the shape {value.shape} "
            f"[at {user_line()}]"
        )
    if found.dtype.kind == "c" and value.dtype.kind == "f":
        found = elementwise.real(found)
    y = wrap(value, current(astype(found, value.dtype, copy=False))[0], state)
    y._cut = cut_of(found)
    return y
