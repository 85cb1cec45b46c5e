"""Arguments of NumPy's functions: what is given as Arrays, axes in NumPy's spelling, host values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array, asarray_like
from .._array.views import current
from .._define.operands import first_array
from .._storage.storage import storage_of
from .._util.errors import user_line
from ..ops.creation_functions import asarray
from ..ops.manipulation_functions import normalize_axis_index, reshape

Axis = int | tuple[int, ...] | None


def assembled(value: Any) -> Any:
    """Nested lists that hold Arrays as one recorded Array, as ``np.asarray`` joins arrays; others as
    they are.
    """
    holds = isinstance(value, list | tuple) and first_array(value) is not None
    return asarray(value) if holds else value


def assembled_data(value: Any) -> Any:
    """The same, except for lists whose Arrays are integers alone: lengths, axes and places."""
    holds = isinstance(value, list | tuple) and not is_plain(value)
    return asarray(value) if holds else value


def is_plain(nested: list[Any] | tuple[Any, ...]) -> bool:
    """Whether the Arrays in nested lists, if there are any, are integers of shape ()."""
    return all(
        is_plain(part) if isinstance(part, list | tuple)
        else not isinstance(part, Array) or (not part.ndim and part.dtype.kind in "iu")
        for part in nested
    )  # fmt: skip


def as_arrays(*values: Any) -> list[Any]:
    """Arrays as they are, plain arrays, scalars and lists as Arrays where the first Array lies.

    A Python float takes on the precision of that Array, as it does with NumPy's arrays.
    """
    values = tuple([assembled(value) for value in values])
    home = next((value for value in values if isinstance(value, Array)), None)

    def made(value: Any) -> Array:
        if home is None:
            return asarray(np.asarray(value))
        weak = type(value) in (float, complex)
        return asarray_like(
            home, np.asarray(value, np.result_type(home.dtype, value) if weak else None)
        )

    return [value if isinstance(value, Array) or value is None else made(value) for value in values]


def array_of(value: Any) -> Array:
    """One value as an Array."""
    value = assembled(value)
    found: Array = value if isinstance(value, Array) else asarray(np.asarray(value))
    return found


def on_axis(name: str, x: Array, axis: int | None) -> tuple[Array, int]:
    """x and a non-negative axis; for axis=None all of x in one dimension, as NumPy takes it."""
    return (reshape(x, (-1,)), 0) if axis is None else (x, normalize_axis_index(name, x, axis))


def axes_of(name: str, x: Array, axis: Axis) -> list[int]:
    """The non-negative axes that an int, a tuple of ints or None (all axes) stands for."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return [normalize_axis_index(name, x, i) for i in axes]


def check_only(name: str, parameter: str, value: Any, known: Any) -> None:
    """TypeError for a parameter's value that has no recorded counterpart."""
    if value != known:
        raise TypeError(
            f"np.{name} of Arrays has no {parameter}={value!r}, only {known!r} [at {user_line()}]"
        )


def on_host(x: Any) -> Any:
    """The current values of an Array as a NumPy array; of others, what ``np.asarray`` makes."""
    x = assembled(x)
    if not isinstance(x, Array):
        return np.asarray(x)
    data = current(x)[1]
    return storage_of(data).host(data)


def without_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function whose answers are integers or truths: NumPy computes it, on the values."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple | list):  # such as the keys of np.lexsort
            return type(value)([plain(part) for part in value])
        return on_host(value) if isinstance(value, Array) else value

    def call(*args: Any, **options: Any) -> Any:
        values = [*args, *options.values()]
        values += [part for x in values if isinstance(x, tuple | list) for part in x]
        home = next(x for x in values if isinstance(x, Array))
        answer = function(*plain(args), **{n: plain(x) for n, x in options.items()})
        if isinstance(answer, bool | np.bool):
            return answer
        if isinstance(answer, tuple):
            return tuple([asarray_like(home, np.asarray(part)) for part in answer])
        return asarray_like(home, np.asarray(answer))

    return call
