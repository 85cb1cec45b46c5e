"""Arguments of NumPy's functions: what is given as Arrays, axes in NumPy's spelling, host values."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import IS_VIEW, SCALAR, Array, asarray_like, wrap
from .._array.views import current
from .._define.operands import first_array
from .._storage.batched.batched_data import axis_ids_of
from .._storage.batched.indexing import each_one
from .._storage.storage import STORAGES, storage_of
from .._util.errors import describe, failure, raise_documented, short_repr, stacklevel, user_line
from ..ops.creation_functions import asarray
from ..ops.data_type_functions import astype, reinterpreted
from ..ops.elementwise_functions import positive, real
from ..ops.manipulation_functions import normalize_axis_index, reshape, stack
from ..ops.writing import setitem

Axis = int | tuple[int, ...] | None
# Functions whose argument is a sequence of arrays, each of which may be a list of Arrays.
OF_SEQUENCES = {
    np.choose, np.column_stack, np.concatenate, np.dstack, np.hstack, np.linalg.multi_dot, np.select,
    np.stack, np.vstack,
}  # fmt: skip
INTEGERS = frozenset((int,))
# Options of which NumPy's functions take any type of number, and ours Python's.
OPTIONS = frozenset((
    "axis", "axes", "axis1", "axis2", "keepdims", "ddof", "correction", "k", "offset", "rcond", "rtol",
    "tol",
))  # fmt: skip
# Functions in whose arguments a list of integers is an array, never a shape, axes or places.
OF_INTEGERS = {np.bincount, np.take_along_axis}
# Functions in whose arguments lists have a meaning of their own, which they see to themselves.
OF_LISTS = {
    np.apply_along_axis, np.block, np.einsum_path, np.histogram2d, np.histogramdd, np.ix_, np.lexsort,
    np.pad, np.piecewise, np.ravel_multi_index, np.reshape,
}  # fmt: skip


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


def as_data(function: Any, value: Any) -> Any:
    """An argument of NumPy's function: where an array may stand, a list of Arrays becomes one."""
    if not isinstance(value, list | tuple) or function in OF_LISTS:
        return value
    if function in OF_SEQUENCES:
        return [assembled_data(part) for part in value]
    return assembled(value) if function in OF_INTEGERS else assembled_data(value)


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
        try:
            host = np.array(value, np.result_type(home.dtype, value) if weak else None)
        except Exception as error:  # lists of unequal lengths, or in themselves
            raise_documented(error, "asarray", value)
        return asarray_like(home, host)

    return [value if isinstance(value, Array) or value is None else made(value) for value in values]


def as_operands(*values: Any) -> list[Any]:
    """The same for functions that make arrays of numbers, whose precision then counts."""
    return as_arrays(*[np.asarray(x) if type(x) in (float, complex) else x for x in values])


def array_of(value: Any) -> Array:
    """One value as an Array."""
    value = assembled(value)
    found: Array = value if isinstance(value, Array) else asarray(np.asarray(value))
    return found


def complex_from_parts(real_part: Array, imaginary: Array) -> Array:
    """Return complex numbers of two parts; a product with 1j would have NaN beside an infinity."""
    found: Array = reinterpreted(stack([real_part, imaginary], axis=-1), "c")[..., 0]
    return found


def broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether an array of a shape broadcasts to the wanted one."""
    extra = len(wanted) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[extra:], strict=True))


def mask_of(name: str, x: Array, where: Any) -> Array:
    """The truths of ``where=`` for the elements of x: NumPy takes no arrays of numbers for them."""
    where = assembled(where)
    if not isinstance(where, np.ndarray | Array):  # lists and scalars of whatever is true or false
        where = np.asarray(where, bool)
    mask: Array = as_arrays(x, where)[1]
    if mask.dtype.kind != "b":
        raise TypeError(
            f"np.{name}: where= takes booleans, not {mask.dtype} [at {user_line()}]; compare first"
        )
    if not broadcasts(mask.shape, x.shape):
        raise ValueError(
            f"np.{name}: where= of shape {mask.shape} does not broadcast to {x.shape} [at {user_line()}]"
        )
    return mask


def scalar(y: Array) -> Array:
    """A result of shape () as an op's is: ``y += 1`` binds the name to a new Array."""
    if y._state & IS_VIEW and y.dtype.kind != "b":
        return positive(y)
    if not y._state & IS_VIEW:
        y._state |= SCALAR
    return y


def on_axis(name: str, x: Array, axis: int | None) -> tuple[Array, int]:
    """x and a non-negative axis; for axis=None all of x in one dimension, as NumPy takes it."""
    return (reshape(x, (-1,)), 0) if axis is None else (x, normalize_axis_index(name, x, axis))


def axes_of(name: str, x: Array, axis: Axis) -> list[int]:
    """The non-negative axes that an int, a tuple of ints or None (all axes) stands for."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return [normalize_axis_index(name, x, i) for i in axes]


def into(out: Array, result: Array, casting: Any = "same_kind") -> Array:
    """``out``, with a result of its shape in it."""
    if result.shape != out.shape:
        raise ValueError(
            f"out= must have the result's shape {result.shape}, got {describe(out)} [at {user_line()}]"
        )
    check_fits(out, result, casting)
    if out.dtype.kind in "iuf":
        result = real_part(result)
    setitem(out, ..., result)
    return out


def real_part(x: Array) -> Array:
    """x, or of complex numbers the real parts, with NumPy's warning that the others are lost."""
    if x.dtype.kind != "c":
        return x
    message = "Casting complex values to real discards the imaginary part"
    warnings.warn(message, np.exceptions.ComplexWarning, stacklevel=stacklevel())
    return real(x)


def check_fits(out: Array, result: Array, casting: Any) -> None:
    """TypeError when a result is not to be cast to the dtype of ``out``."""
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"a result of dtype {result.dtype} does not fit into {describe(out)} by "
            f"casting={short_repr(casting)} [at {user_line()}]"
        )


def shape_of(name: str, shape: Any) -> tuple[int, ...]:
    """A shape as NumPy takes it: one length or several, integers of any kind but no booleans."""
    if type(shape) is int:
        return (shape,)
    if type(shape) is tuple and INTEGERS.issuperset(map(type, shape)):
        return shape
    shape = on_host(shape) if isinstance(shape, Array) else shape
    shape = shape.tolist() if isinstance(shape, np.ndarray) else shape
    parts = tuple(shape) if np.iterable(shape) else (shape,)
    if any(isinstance(n, bool | np.bool) for n in parts):
        raise TypeError(f"{name}: a length is an integer, got {describe(shape)} [at {user_line()}]")
    try:
        return tuple([operator.index(n) for n in parts])
    except TypeError as error:
        raise failure(f"{name}(shape: {describe(shape)})", error) from error


def cast(name: str, x: Array, dtype: Any, casting: str) -> Array:
    """x in another dtype, if NumPy's rule of casting allows it."""
    try:
        dtype = np.dtype(dtype)
        fits = np.can_cast(x.dtype, dtype, casting)  # type: ignore[arg-type]
    except Exception as error:
        raise failure(f"{name}({describe(x)}, dtype={describe(dtype)})", error) from error
    if not fits:
        raise TypeError(
            f"{name}: {describe(x)} is no {dtype} by casting={short_repr(casting)} [at {user_line()}]"
        )
    return astype(x, dtype, copy=False)


def on_host(x: Any) -> Any:
    """The current values of an Array as a NumPy array; of others, what ``np.asarray`` makes."""
    x = assembled(x)
    if not isinstance(x, Array):
        return np.asarray(x)
    data = current(x)[1]
    return storage_of(data).host(data)


def wrapped(value: Any) -> Any:
    """Return data, or several, as Arrays."""
    return tuple([wrap(part) for part in value]) if isinstance(value, tuple | list) else wrap(value)


def without_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function whose answers are integers or truths: NumPy computes it, on the values.

    Under ``vmap`` on those of one example after the other.
    """

    def raw(value: Any) -> Any:
        if isinstance(value, tuple | list):  # such as the keys of np.lexsort
            return type(value)([raw(part) for part in value])
        return current(value)[1] if isinstance(value, Array) else value

    def plain(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)([plain(part) for part in value])
        return storage_of(value).host(value) if type(value) in STORAGES else value

    def of_one(*args: Any, **options: Any) -> Any:
        return function(*plain(args), **{n: plain(x) for n, x in options.items()})

    def call(*args: Any, **options: Any) -> Any:
        values = [*args, *options.values()]
        values += [part for x in values if isinstance(x, tuple | list) for part in x]
        home = next(x for x in values if isinstance(x, Array))
        given, named = raw(args), {n: raw(x) for n, x in options.items()}
        if axis_ids_of((*given, *named.values())):
            return wrapped(each_one(of_one, given, named))
        answer = of_one(*given, **named)
        if isinstance(answer, bool):
            return answer
        if isinstance(answer, tuple):
            return tuple([asarray_like(home, np.asarray(part)) for part in answer])
        return asarray_like(home, np.asarray(answer))

    return call
