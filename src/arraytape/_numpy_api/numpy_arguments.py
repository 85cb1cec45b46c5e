"""Convert and check arguments of NumPy's functions: arrays, axes, shapes, dtypes, masks, ``out=``."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as np

from .._array.array import IS_VIEW, SCALAR, Array, asarray_like, wrap
from .._array.views import current
from .._define.operands import first_array
from .._storage.batched.batched_data import axis_ids_of
from .._storage.batched.indexing import each_one
from .._storage.storage import STORAGES, storage_of
from .._util.container_kinds import mapped_leaves
from .._util.errors import describe, failure, raise_documented, short_repr, stacklevel, user_line
from ..ops.creation_functions import asarray
from ..ops.data_type_functions import astype, reinterpreted
from ..ops.elementwise_functions import positive, real
from ..ops.manipulation_functions import normalize_axis_index, reshape, stack
from ..ops.writing import setitem

if TYPE_CHECKING:
    import numpy.typing as npt
    from numpy._globals import _NoValueType

ArrayLike: TypeAlias = "Array | npt.ArrayLike"
Axis = int | tuple[int, ...] | None
Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
DType: TypeAlias = "npt.DTypeLike | None"
NoValue: TypeAlias = "_NoValueType"  # the type of np._NoValue, NumPy's default for "not given"
ShapeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex] | np.ndarray[Any, Any] | Array"
# Functions with an argument that is a sequence of arrays.  Each of these arrays may be a list of Arrays.
OF_SEQUENCES = {
    np.choose, np.column_stack, np.concatenate, np.dstack, np.hstack, np.linalg.multi_dot, np.select,
    np.stack, np.vstack,
}  # fmt: skip
INTEGERS = frozenset((int,))
# Options that NumPy's functions also accept as scalars of NumPy.  They are converted to Python's int and
# bool, which arraytape's functions require.
OPTIONS = frozenset((
    "axis", "axes", "axis1", "axis2", "keepdims", "ddof", "correction", "k", "offset", "rcond", "rtol",
    "tol",
))  # fmt: skip
# Functions for which a list of integers is always an array, never a shape, axes or an index.
OF_INTEGERS = {np.bincount, np.take_along_axis}
# Functions that process the lists in their arguments themselves, so that these are not joined to arrays.
OF_LISTS = {
    np.apply_along_axis, np.block, np.einsum_path, np.histogram2d, np.histogramdd, np.ix_, np.lexsort,
    np.pad, np.piecewise, np.ravel_multi_index, np.reshape,
}  # fmt: skip


def assembled(value: Any) -> Any:
    """Join nested lists that hold Arrays to one Array by recorded ops; return other values unchanged."""
    holds = isinstance(value, list | tuple) and first_array(value) is not None
    return asarray(value) if holds else value


def assembled_data(value: Any) -> Any:
    """Join nested lists of Arrays to one Array, but return lists of lengths, axes or indices unchanged.

    These are lists in which all Arrays are integers of shape (), or which hold no Array.
    """
    holds = isinstance(value, list | tuple) and not are_integer_scalars(value)
    return asarray(value) if holds else value


def assemble_argument(function: Callable[..., Any], value: Any) -> Any:
    """Join an argument of a NumPy function to one Array if it is a list of Arrays.

    Lists for functions that process lists, and lists of lengths or axes, are returned unchanged.
    """
    if not isinstance(value, list | tuple) or function in OF_LISTS:
        return value
    if function in OF_SEQUENCES:
        return [assembled_data(part) for part in value]
    return assembled(value) if function in OF_INTEGERS else assembled_data(value)


def are_integer_scalars(nested: list[Any] | tuple[Any, ...]) -> bool:
    """Return True if each Array in nested lists is an integer of shape (), or if there is no Array."""
    return all(
        are_integer_scalars(part) if isinstance(part, list | tuple)
        else not isinstance(part, Array) or (not part.ndim and part.dtype.kind in "iu")
        for part in nested
    )  # fmt: skip


@overload
def arrays_like_first(*values: ArrayLike) -> list[Array]: ...
@overload
def arrays_like_first(*values: ArrayLike | None) -> list[Any]: ...
def arrays_like_first(*values: Any) -> list[Any]:
    """Convert the operands of a function to Arrays on the device of the first Array among them.

    Arrays and None are returned unchanged.  A Python float gets the precision of the first Array, as in
    NumPy's arithmetic.
    """
    values = tuple([assembled(value) for value in values])
    home = next((value for value in values if isinstance(value, Array)), None)

    def array_beside_home(value: npt.ArrayLike) -> Array:
        if home is None:
            return asarray(np.asarray(value))
        weak = type(value) in (float, complex)
        try:
            host = np.array(value, np.result_type(home.dtype, value) if weak else None)
        except Exception as error:  # lists of unequal lengths, or lists that hold themselves
            raise_documented(error, "asarray", value)
        return asarray_like(home, host)

    return [
        value if isinstance(value, Array) or value is None else array_beside_home(value)
        for value in values
    ]


def as_operands(*values: ArrayLike) -> list[Array]:
    """Convert the operands of a function to Arrays on the device of the first Array among them.

    Unlike in ``arrays_like_first``, Python floats get double precision, as in NumPy's functions that
    call ``np.asarray`` on each argument.
    """
    return arrays_like_first(*[np.asarray(x) if type(x) in (float, complex) else x for x in values])


def array_of(value: ArrayLike) -> Array:
    value = assembled(value)
    found: Array = value if isinstance(value, Array) else asarray(np.asarray(value))
    return found


def complex_from_parts(real_part: Array, imaginary: Array) -> Array:
    """Build complex numbers from real and imaginary parts.

    ``real_part + 1j * imaginary`` would be NaN where a part is infinite.
    """
    found: Array = reinterpreted(stack([real_part, imaginary], axis=-1), "c")[..., 0]
    return found


def broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return True if an array of this shape can be broadcast to the shape ``wanted``."""
    extra = len(wanted) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[extra:], strict=True))


def mask_of(name: str, x: Array, where: ArrayLike) -> Array:
    """Check the argument ``where=`` of a NumPy function, and return it as a boolean Array.

    name : the function, for messages.  The mask must broadcast to the shape of x.  Lists and scalars are
    converted to booleans.  As in NumPy, an array of another dtype raises TypeError.
    """
    where = assembled(where)
    if not isinstance(where, np.ndarray | Array):
        where = np.asarray(where, bool)
    mask: Array = arrays_like_first(x, where)[1]
    if mask.dtype.kind != "b":
        raise TypeError(
            f"np.{name}: pass booleans as where=, such as x != 0, not {mask.dtype} [at {user_line()}]"
        )
    if not broadcasts(mask.shape, x.shape):
        raise ValueError(
            f"np.{name}: where= of shape {mask.shape} does not broadcast to {x.shape} [at {user_line()}]"
        )
    return mask


def mark_as_scalar(y: Array) -> Array:
    """Make a result of shape () immutable like a NumPy scalar, so that ``y += 1`` makes a new Array.

    A view is copied, since the Array whose memory it shows may change.  A boolean view is returned
    unchanged.
    """
    if y._state & IS_VIEW and y.dtype.kind != "b":
        return positive(y)
    if not y._state & IS_VIEW:
        y._state |= SCALAR
    return y


def on_axis(name: str, x: Array, axis: int | None) -> tuple[Array, int]:
    """Return x and the axis as a non-negative int; for ``axis=None``, return the flattened x and 0.

    name : the function, for messages about a wrong axis.
    """
    return (reshape(x, (-1,)), 0) if axis is None else (x, normalize_axis_index(name, x, axis))


def normalize_axes(name: str, x: Array, axis: Axis) -> list[int]:
    """Return the argument ``axis``, an int, a tuple of ints or None (all axes), as non-negative ints."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return [normalize_axis_index(name, x, i) for i in axes]


def write_into(out: Array, result: Array, casting: Casting = "same_kind") -> Array:
    """Write a result into the Array ``out``, the argument ``out=`` of a function, and return it.

    Raise ValueError if the shapes differ, TypeError if ``casting`` forbids the cast.
    """
    if result.shape != out.shape:
        raise ValueError(
            f"out= must have the result's shape {result.shape}, got {describe(out)} [at {user_line()}]"
        )
    check_fits(out, result, casting)
    if out.dtype.kind in "iuf":
        result = discard_imaginary(result)
    setitem(out, ..., result)
    return out


def discard_imaginary(x: Array) -> Array:
    """Return the real part of x; if x is complex, issue NumPy's ComplexWarning."""
    if x.dtype.kind != "c":
        return x
    message = "Casting complex values to real discards the imaginary part"
    warnings.warn(message, np.exceptions.ComplexWarning, stacklevel=stacklevel())
    return real(x)


def check_fits(out: Array, result: Array, casting: Casting) -> None:
    """Raise TypeError if ``casting`` forbids the cast of a result to the dtype of ``out``."""
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"a result of dtype {result.dtype} does not fit into {describe(out)}: "
            f"casting={short_repr(casting)} forbids the cast [at {user_line()}]"
        )


def normalize_shape(name: str, shape: ShapeLike | None) -> tuple[int, ...]:
    """Return the argument ``shape``, an integer or several, as a tuple of ints.

    Raise TypeError for other values.  name : the function, for the message.
    """
    if type(shape) is int:
        return (shape,)
    if type(shape) is tuple and INTEGERS.issuperset(map(type, shape)):
        return shape
    shape = host_values(shape) if isinstance(shape, Array) else shape
    shape = shape.tolist() if isinstance(shape, np.ndarray) else shape
    parts = tuple(shape) if np.iterable(shape) else (shape,)
    if any(isinstance(n, bool | np.bool) for n in parts):
        raise TypeError(f"{name}: a length is an integer, got {describe(shape)} [at {user_line()}]")
    try:
        return tuple([operator.index(n) for n in parts])
    except TypeError as error:
        raise failure(f"{name}(shape: {describe(shape)})", error) from error


def cast_checked(name: str, x: Array, dtype: DType, casting: Casting) -> Array:
    """Cast x to a dtype; raise TypeError if ``casting`` forbids it."""
    try:
        dtype = np.dtype(dtype)
        fits = np.can_cast(x.dtype, dtype, casting)
    except Exception as error:
        raise failure(f"{name}({describe(x)}, dtype={describe(dtype)})", error) from error
    if not fits:
        raise TypeError(
            f"{name}: casting={short_repr(casting)} forbids the cast of {describe(x)} to {dtype} "
            f"[at {user_line()}]"
        )
    return astype(x, dtype, copy=False)


def host_values(x: ArrayLike) -> np.ndarray[Any, Any]:
    """Return the values of an Array or array-like object as a NumPy array that no tape follows."""
    x = assembled(x)
    if not isinstance(x, Array):
        return np.asarray(x)
    data = current(x)[1]
    return storage_of(data).host(data)


def wrapped(value: Any) -> Any:
    return tuple([wrap(part) for part in value]) if isinstance(value, tuple | list) else wrap(value)


def raw_argument(value: Any) -> Any:
    """Replace each Array in an argument, or in nested lists, tuples and dicts, by its raw data."""
    return mapped_leaves(value, lambda x: current(x)[1] if isinstance(x, Array) else x)


def without_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function on Arrays that calls NumPy's ``function`` and is not recorded.

    It serves functions whose results are integers or booleans, which have no derivative.  Under ``vmap``
    NumPy is called for one example after the other.
    """

    def host_argument(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)([host_argument(part) for part in value])
        return storage_of(value).host(value) if type(value) in STORAGES else value

    def of_one(*args: Any, **options: Any) -> Any:
        return function(*host_argument(args), **{n: host_argument(x) for n, x in options.items()})

    def call_without_gradient(*args: Any, **options: Any) -> Any:
        values = [*args, *options.values()]
        values += [part for x in values if isinstance(x, tuple | list) for part in x]
        home = next(x for x in values if isinstance(x, Array))
        given, named = raw_argument(args), raw_argument(options)
        if axis_ids_of((*given, *named.values())):
            return wrapped(each_one(of_one, given, named))
        answer = of_one(*given, **named)
        if isinstance(answer, bool):
            return answer
        if isinstance(answer, tuple):
            return tuple([asarray_like(home, np.asarray(part)) for part in answer])
        return asarray_like(home, np.asarray(answer))

    return call_without_gradient
